"""The proofs of SAFARI (appendix A), display by display, and what they show."""

from __future__ import annotations

from ....proof.steps import Step
from . import beside, composed, constants, dimension, learnability, lemmas, repaired5, shares, thm4, thm5, three_steps
from .derivations import DERIVATIONS

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (
    *learnability.ALL,
    *constants.HIDDEN,
    *dimension.LEMMA_1,
    *dimension.VC,
    *beside.PAIRS,
    *lemmas.ALL,
    *thm4.ALL,
    *thm5.ALL,
    *repaired5.ALL,
    *three_steps.ALL,
    *shares.STEPS,
    *composed.STEPS,
)
"""Every step in the paper's order: learnability and the lemmas first, the steps that are not printed last."""
