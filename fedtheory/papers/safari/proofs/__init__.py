"""The proofs of SAFARI: its theorems composed by the kernel, and what its displays (section 3, appendix A) show."""

from __future__ import annotations

from ....proof.steps import Step
from . import conclusions, samples, thm4_thm5

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*samples.STEPS, *thm4_thm5.STEPS)
"""Steps that the kernel composes."""

DERIVATIONS = (*samples.DERIVATIONS, *conclusions.DERIVATIONS)
