"""From a worst case above a claim's bound to an instance: what holds on quadratics only falls beyond them.

A semidefinite program says at which quantities a bound is exceeded, not by which simple functions. Where it is, a
search starts there, from gradients with one kink at the optimum: curvature mu on one side, L on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, cast

from ..claims.statement import Claim
from ..papers.whose import subject_of
from ..subjects.base import Space
from ..subjects.kinked_runs import KinkedCandidate, searched, structured
from .judge import Judgement
from .refute import confirmed
from .search import search_in
from .tightness import NOT_APPLICABLE, Tightness, tightness
from .tightness_class import of_gradients, of_one_round

CLIENTS, LOCAL_STEPS = (4, 100), (2, 5)
"""What a lead is looked for at, beside the defaults."""

SEARCHED = (4, 25)
"""Climbs and steps of each in a search from a lead's starts."""

SIZES = (1.0, 0.5, 0.2)
"""Of the lead's step size: nearer to 0 the noise averages out, and what is left is the drift."""


def leads(statement: Claim) -> list[Tightness]:
    """Where a worst case exceeds the claim's bound and no quadratics do, the most exceeded first."""
    if of_gradients(statement) or of_one_round(statement):
        return []  # one round, or a few at the caps: far from where errors settle
    found = []
    for clients, steps in product(CLIENTS, LOCAL_STEPS):
        asked = {"clients": clients, "local_steps": steps}
        asked |= {} if _partial(statement) else {"arbitrary_cohort": clients}
        try:
            entry = tightness(statement, **{n: v for n, v in asked.items() if n in {*statement.quantities, "clients"}})
        except ValueError:
            continue
        if entry.status == NOT_APPLICABLE:
            return []
        if entry.exceeded and not entry.refuted:
            found.append(entry)
    return sorted(found, key=lambda entry: entry.looseness if entry.looseness is not None else 0.0)


def _partial(statement: Claim) -> bool:
    """Whether the claim speaks of sets of clients that are smaller than all."""
    return not {"clients", "arbitrary_cohort"} <= set(statement.quantities)


def starts(statement: Claim, lead: Tightness) -> Iterator[KinkedCandidate]:
    """Candidates at the lead's quantities, at the optimum, with a kink there; none where the claim's space has no such
    runs."""
    values, wanted = lead.values or {}, getattr(subject_of(statement).space(statement), "demands", None)
    if wanted is None or not searched(wanted):
        return
    condition = float(values["strong_convexity"] / values["smoothness"])
    noisy, alike = bool(values["gradient_noise"]), values["dissimilarity"] == 0
    drawn = float(values["snapshot_probability"]) if "snapshot_probability" in statement.quantities else 0.0
    plain = replace(next(structured(wanted)), clients=int(values["clients"]), local_steps=int(values["local_steps"]),
                    smoothness=float(values["smoothness"]), left=condition, right=1.0, width=0.0, start=0.0,
                    noise=1.0 if noisy else 0.0, present=(1.0, 1.0), probability=drawn,
                    cohort=int(values["cohort"]) if drawn else 1, share=1.0 if alike else 0.5,
                    offset=0.0 if alike else 1.0)  # fmt: skip
    for share in SIZES:
        yield replace(plain, step_share=share)


class _From:
    """A space whose first candidates are these."""

    def __init__(self, space: Space, first: list[KinkedCandidate]) -> None:
        self._space, self._first = space, first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)

    def structured(self) -> Iterator[KinkedCandidate]:
        """The starts alone."""
        return iter(self._first)


def refuted_from_leads(statement: Claim, seed: int = 0) -> Judgement | None:
    """An instance that refutes the claim under every reading, found from a lead; ``None`` if there is none.

    >>> from fedtheory.papers import claim
    >>> refuted_from_leads(claim("fast.thm1@sharp")) is None  # nothing is sought of squared gradients
    True
    """
    for lead in leads(statement):
        space = subject_of(statement).space(statement)
        first = list(starts(statement, lead))
        if not first:
            return None
        report = search_in(cast(Space, _From(space, first)), statement, len(first), *SEARCHED, seed=seed)
        if report.lead is not None:
            judgement, _ = confirmed(statement, report.lead)
            if judgement is not None:
                return judgement
    return None
