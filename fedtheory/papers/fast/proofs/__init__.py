"""The proofs of FAST: its displays (appendix A.1 to A.3), and its theorems composed by the kernel."""

from __future__ import annotations

from ....proof.steps import Step
from .. import displays
from . import conclusions, thm1_thm2

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*displays.STEPS, *thm1_thm2.STEPS)
"""Steps of the printed displays, then those that the kernel composes."""

DERIVATIONS = (*conclusions.DERIVATIONS,)
