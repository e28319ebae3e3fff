"""The way from a worst case above a claim's bound to an instance: what holds on quadratics only falls beyond them.

A semidefinite program says at which quantities a bound is exceeded, not by which simple functions. Where it is, a
search starts there, from quadratics whose participants pull one way and from gradients with one kink at the optimum:
curvature mu on one side, L on the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from ..claims.statement import Claim
from ..papers.registry import from_setting, subject_of
from ..subjects.kinked_search import MOST_COPIES, MOST_STEPS, KinkedCandidate, searched, structured
from ..subjects.protocol import Instance, Space
from ..tightness.function_class import of_gradients, of_one_round
from ..tightness.matched_problem import comparison, own_quantities
from ..tightness.measure import NOT_APPLICABLE, Tightness, constant_alone
from ..tightness.quadratics import line_setting
from ..tightness.step_tightness import step_of
from .confirm import confirmed
from .judge import Judgement, judge
from .search import search_in

SETTINGS = tuple({"clients": M, "local_steps": K} for M, K in ((4, 2), (4, 5), (100, 2), (100, 5), (4, 12)))
"""Settings at which a lead is looked for, beside the defaults."""

FLAT = {"clients": 1000, "local_steps": 12, "strong_convexity": Fraction(1, 100), "local_lr": Fraction(1, 100)}
"""A setting in which noise alone makes clients differ.

The drift that noise allows grows the most with local steps where curvature is small and steps are short.
"""

SETTLED = 10**6
"""Number of rounds after which errors have settled, for a claim on any number of them."""

SEARCHED = (4, 25)
"""Numbers of climbs and of steps of each, in a search from a lead's starts."""

SIZES = (1.0, 0.5, 0.2)
"""Shares of the step size at the caps. Nearer to 0 the noise averages out, and only the drift is left."""

LONGER = 8
"""Factor by which local steps are more numerous than the lead's, and as much shorter, where noise drifts.

Kinks at one place need more of them than a worst case does.
"""


def leads(statement: Claim) -> list[Tightness]:
    """List the settings at which a worst case exceeds the claim's bound, the most exceeded first."""
    if of_gradients(statement) or of_one_round(statement) or step_of(statement):
        return []  # one round, or a few at the caps: far from where errors settle
    found: list[Tightness] = []
    settled = {} if statement.choices else {"rounds": SETTLED}
    settings: list[dict[str, Any]] = [each | settled for each in SETTINGS]
    noise_alone = False
    for asked in settings:
        known = {n: v for n, v in asked.items() if n in {*statement.quantities, "clients"}}
        ways = (
            known,
            known | {"arbitrary_cohort": known["clients"]},
            {n: v for n, v in known.items() if n != "rounds"},
        )
        entry = next((each for way in ways if (each := _compared(statement, way))), None)
        if entry is None:
            continue
        if entry.status == NOT_APPLICABLE:
            return []
        if _by_noise(entry) and not noise_alone and "local_lr" not in statement.choices:
            settings.append(FLAT | settled)
            noise_alone = True
        if entry.exceeded:
            found.append(entry)
    return sorted(found, key=lambda entry: entry.looseness if entry.looseness is not None else 0.0)


def _by_noise(entry: Tightness) -> bool:
    """Whether noise alone makes clients differ."""
    values = entry.values or {}
    return bool(values["gradient_noise"]) and values["dissimilarity"] == 0


def _compared(statement: Claim, asked: Mapping[str, Any]) -> Tightness | None:
    """``None`` where the hypotheses refuse what is asked."""
    try:
        return constant_alone(statement, **asked)
    except ValueError:
        return None


def of_quadratics(statement: Claim, lead: Tightness) -> Judgement | None:
    """Judge the quadratics on a line, at the lead's quantities, whose participants all pull one way.

    They are returned if they refute the claim.
    """
    given = {n: v for n, v in (lead.values or {}).items() if n in own_quantities(statement) - {*statement.choices}}
    try:
        compared = comparison(statement, given)
        for curvature in sorted({compared.functions.smoothness, compared.functions.strong_convexity} - {Fraction(0)}):
            setting = line_setting(compared, curvature)
            point = from_setting(statement, setting, int(compared.values["rounds"]))
            judgement = judge(Instance(statement.ref, point), statement=statement)
            if judgement.refutes:
                return judgement
    except ValueError:
        return None
    return None


def starts(statement: Claim, lead: Tightness) -> Iterator[KinkedCandidate]:
    """Yield candidates at the lead's quantities, at the optimum, with a kink there; none if the claim's space has no
    such runs."""
    values, wanted = lead.values or {}, getattr(subject_of(statement).space(statement), "demands", None)
    if wanted is None or not searched(wanted):
        return
    condition = float(values["strong_convexity"] / values["smoothness"])
    noisy, alike = bool(values["gradient_noise"]), values["dissimilarity"] == 0
    drawn = float(values["snapshot_probability"]) if "snapshot_probability" in statement.quantities else 0.0
    plain = replace(
        next(structured(wanted)),
        clients=int(values["clients"]),
        local_steps=int(values["local_steps"]),
        smoothness=float(values["smoothness"]),
        left=condition,
        right=1.0,
        width=0.0,
        start=0.0,
        noise=1.0 if noisy else 0.0,
        present=(1.0, 1.0),
        probability=drawn,
        cohort=int(values["cohort"]) if drawn else 1,
        share=1.0 if alike else 0.5,
        offset=0.0 if alike else 1.0,
    )
    for share in SIZES:
        yield replace(plain, step_share=share)
    if noisy:  # by so many clients that its mean hardly varies
        crowd = replace(plain, clients=MOST_COPIES, local_steps=min(MOST_STEPS, LONGER * plain.local_steps))
        for share in SIZES:
            for left in (condition, condition**0.5):
                yield replace(crowd, step_share=share / LONGER, left=left)


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
    """Find an instance, from a lead, that refutes the claim under every reading; ``None`` if there is none.

    >>> from fedtheory.papers import claim
    >>> refuted_from_leads(claim("fast.thm1@sharp")) is None  # nothing is sought of squared gradients
    True
    """
    for lead in leads(statement):
        judgement = of_quadratics(statement, lead)
        if judgement is not None:
            return judgement
        space = subject_of(statement).space(statement)
        first = list(starts(statement, lead))
        if not first:
            continue
        for effort in ((0, 0), SEARCHED):  # the starts alone, then from there
            report = search_in(cast(Space, _From(space, first)), statement, len(first), *effort, seed=seed)
            judgement = None if report.lead is None else confirmed(statement, report.lead)[0]
            if judgement is not None:
                return judgement
    return None
