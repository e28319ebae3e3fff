"""The proofs of SAFARI: its displays (section 3, appendix A), and its theorems composed by the kernel."""

from __future__ import annotations

from ....proof.steps import Step
from .. import displays
from . import conclusions, samples, thm4_thm5

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*displays.STEPS, *samples.STEPS, *thm4_thm5.STEPS)
"""The printed displays, then what the kernel composes."""

DERIVATIONS = (*samples.DERIVATIONS, *conclusions.DERIVATIONS)
