"""The printed displays of FAST (appendix A.1 to A.3), and steps that repair them."""

from __future__ import annotations

from ...proof.steps import Step
from .displays import appendix_a2, appendix_a3, lemmas, repairs, thm1_minima

STEPS: tuple[Step, ...] = (*lemmas.ALL, *appendix_a2.STEPS, *appendix_a3.STEPS, *repairs.ALL, *thm1_minima.STEPS)
"""Steps in the paper's order: the lemmas first, those that are not printed last."""
