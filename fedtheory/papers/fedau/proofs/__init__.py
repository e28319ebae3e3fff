"""The proofs of FedAU: its displays (appendix B), and its theorems composed by the kernel."""

from __future__ import annotations

from ....proof.steps import Step
from .. import displays
from . import conclusions, cor4, single_weights, thm1_thm2, thm3

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = displays.STEPS
"""The printed displays."""

DERIVATIONS = (
    *single_weights.DERIVATIONS,
    *thm1_thm2.DERIVATIONS,
    *thm3.DERIVATIONS,
    *cor4.DERIVATIONS,
    *conclusions.DERIVATIONS,
)
