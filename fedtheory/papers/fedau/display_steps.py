"""The printed displays of FedAU (appendix B) that do not hold; what repairs them is a theorem of the kernel, or beside
them."""

from __future__ import annotations

from ...proof.steps import Step
from .displays import b6_b7_weights
from .proofs import thm3

STEPS: tuple[Step, ...] = (*b6_b7_weights.ALL, *thm3.STEPS)
"""The displays in the paper's order, then theorems of the kernel."""
