"""The proofs of FAST: its displays (appendix A.1 to A.3), and its theorems composed by the kernel."""

from __future__ import annotations

from ....proof.steps import Step
from .. import displays
from . import conclusions

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*displays.STEPS,)
"""Steps of the printed displays."""

DERIVATIONS = (*conclusions.DERIVATIONS,)
