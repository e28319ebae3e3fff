"""The proofs of FedAU (appendix B), display by display, and what they show."""

from __future__ import annotations

from ....proof.steps import Step
from . import (
    composed,
    composed_corollary,
    composed_intervals,
    corollary,
    derivations,
    intervals,
    rounds,
    theorems,
    weights,
)

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (
    *rounds.ALL, *theorems.ALL, *intervals.ALL, *weights.ALL, *corollary.ALL, *composed.STEPS,
    *composed_intervals.STEPS, *composed_corollary.STEPS,
)  # fmt: skip
"""Every step in the paper's order; those that are not printed are beside those that they repair."""

DERIVATIONS = (*derivations.DERIVATIONS, *composed.DERIVATIONS, *composed_intervals.DERIVATIONS,
               *composed_corollary.DERIVATIONS)  # fmt: skip
