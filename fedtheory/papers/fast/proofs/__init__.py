"""The proofs of FAST: its theorems composed by the kernel, and what its displays (appendix A.1 to A.3) show."""

from __future__ import annotations

from ....proof.steps import Step
from . import conclusions, thm1_thm2

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = thm1_thm2.STEPS
"""Steps that the kernel composes."""

DERIVATIONS = (*conclusions.DERIVATIONS,)
