"""A derivation: steps, and what they show of a functional, before any claim is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from .. import functionals
from ..claims.statement import Claim
from ..functionals import Functional
from ..papers import MODULES
from ..quantities import SERVER_RUN_QUANTITIES
from .domain import bare
from .identity import is_identity

OF_ONE_ALGORITHM = {
    "fast": (
        "cohort", "snapshot_probability", "snapshot_period", "adaptivity", "peak_full_pseudogradient",
        "peak_cohort_pseudogradient", "full_pseudogradient", "cohort_pseudogradient",
    ),
    "safari": ("server_lr", "server_noise", "client_round_probability", *SERVER_RUN_QUANTITIES),
    "fedau": (
        "participation_probability", "least_participation_probability", "aggregation_weight", "weight_error",
        "peak_weight_error", "weight_scale", "expected_weight_scale", "update_weight", "objective_error",
        "least_objective_weight", "gradient_bound", "global_lr", "cutoff", "history",
    ),
}  # fmt: skip
"""Quantities of which only one paper's algorithm knows."""


SHARED = (
    "smoothness", "strong_convexity", "gradient_noise", "dissimilarity", "dissimilarity_at_optimum", "initial_gap",
    "initial_distance", "clients", "arbitrary_cohort", "local_steps", "rounds", "local_lr", "gradient_norm",
    "objective_decrease", "arbitrary_pseudogradient", "arbitrary_excess", "arbitrary_drift",
    "peak_arbitrary_pseudogradient", "young_parameter", "step_constant", "displacement", "perturbation",
)  # fmt: skip
"""Quantities that mean the same for both."""


def algorithm_of(claim: Claim) -> str | None:
    """The algorithm whose runs or rounds a claim is about: its paper's, else the one whose own quantities it uses, else
    FAST's; ``None`` for a claim of another paper, or one that speaks of quantities that this algorithm does not know.

    >>> from fedtheory.papers import claim
    >>> algorithm_of(claim("fast.eq28"))
    'fast'
    """
    used = [name for name, own in OF_ONE_ALGORITHM.items() if {*own} & {*claim.quantities}]
    papers = {id.partition(".")[0] for id in MODULES}
    found = claim.paper if claim.paper in papers | OF_ONE_ALGORITHM.keys() else (used or ["fast"])[0]
    known = {*SHARED, *OF_ONE_ALGORITHM.get(found, ())}
    return found if found in OF_ONE_ALGORITHM and {*claim.quantities} <= known else None


@dataclass(frozen=True)
class Derivation:
    """Steps that show: functional <= right_side, wherever every need is >= 0.

    Attributes:
        name: in code and in reports.
        functional: the name of what it bounds.
        steps: names of the steps; those that they rest on come along.
        right_side: over bare symbols; ``None`` where the functional is an expression of quantities, to be
            compared itself.
        needs: (name, expression that has to be >= 0).
        assumptions: the quantities whose standing assumptions it uses.
        readings: the option that it needs of an ambiguity, or several that all do.
        proves: refs of the claims that it was written for; it is tried on every claim with the same functional.
        algorithm: whose runs and rounds it is about.
        left_side: the functional, where it is an expression of quantities and ``right_side`` is given.
        choices: the quantities that it chooses, and how; the claim has to choose the same.
    """

    name: str
    functional: str
    steps: tuple[str, ...]
    right_side: sympy.Expr | None
    needs: tuple[tuple[str, sympy.Expr], ...] = ()
    assumptions: tuple[str, ...] = ()
    readings: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    proves: tuple[str, ...] = ()
    algorithm: str = "fast"
    left_side: sympy.Expr | None = None
    choices: Mapping[str, sympy.Expr] = field(default_factory=dict, hash=False)

    def options(self, name: str) -> tuple[str, ...] | None:
        """The options of an ambiguity under which it holds; ``None`` if it says nothing of it."""
        allowed = self.readings.get(name)
        return (allowed,) if isinstance(allowed, str) else allowed

    def fits(self, claim: Claim) -> bool:
        """Whether it bounds what the claim bounds, for the claim's algorithm."""
        of_runs = claim.functional.scope in ("run", "round")
        return self.bounds(claim.functional) and (not of_runs or self.algorithm == algorithm_of(claim))

    def bounds(self, functional: Functional) -> bool:
        """Whether it is about this functional, and not only about one of the same name."""
        if functional.name != self.functional:
            return False
        if self.left_side is not None:
            return functional.expression is not None and is_identity(bare(functional.expression), self.left_side)
        known = [f for f in vars(functionals).values() if isinstance(f, Functional) and f.name == functional.name]
        return functional in known if self.right_side is not None else functional.expression is not None
