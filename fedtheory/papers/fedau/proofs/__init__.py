"""The proofs of FedAU: the displays of appendix B that do not hold, and its theorems composed by the kernel."""

from __future__ import annotations

from ....proof.steps import Step
from .. import displays
from . import cor4, single_weights, thm1_thm2, thm3

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*displays.STEPS, *thm3.STEPS)
"""The printed displays that do not hold, and what holds in their place."""

DERIVATIONS = (
    *single_weights.DERIVATIONS,
    *thm1_thm2.DERIVATIONS,
    *thm3.DERIVATIONS,
    *cor4.DERIVATIONS,
)
