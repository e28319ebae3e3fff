"""The proofs of FAST (appendix A.1 to A.3), display by display, and what they show."""

from __future__ import annotations

from ....proof.steps import Step
from . import a2, a3, composed, lemmas, minima, repaired
from .derivations import DERIVATIONS

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*lemmas.ALL, *a2.STEPS, *a3.STEPS, *repaired.ALL, *minima.STEPS, *composed.STEPS)
"""Every step in the paper's order: the lemmas first, those that are not printed last."""
