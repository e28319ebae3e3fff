"""The proofs of SAFARI: its displays (section 3, appendix A), and its theorems composed by the kernel."""

from __future__ import annotations

from ....proof.steps import Step
from .. import displays
from . import conclusions, samples

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*displays.STEPS,)
"""Steps of the printed displays."""

DERIVATIONS = (*samples.DERIVATIONS, *conclusions.DERIVATIONS)
