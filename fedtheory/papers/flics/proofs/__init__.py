"""The proofs of FLICS-OPT: its displays (appendices B and C), and its theorems composed by the kernel."""

from __future__ import annotations

from ....proof.steps import Step
from .. import displays
from . import conclusions, draws, thm1

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*displays.STEPS,)
"""The printed displays."""

DERIVATIONS = (*conclusions.DERIVATIONS, *thm1.DERIVATIONS, *draws.DERIVATIONS)
