"""The printed displays of FedAU (appendix B), and steps that repair them."""

from __future__ import annotations

from ....proof.steps import Step
from . import b1_b3_rounds, b4_b5_theorems, b6_b7_weights, b6_intervals, cor4

STEPS: tuple[Step, ...] = (*b1_b3_rounds.ALL, *b4_b5_theorems.ALL, *b6_intervals.ALL, *b6_b7_weights.ALL, *cor4.ALL)
"""Steps in the paper's order; those that are not printed are beside those that they repair."""
