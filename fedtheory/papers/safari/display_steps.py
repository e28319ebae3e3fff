"""The printed displays of SAFARI (section 3, appendix A), and steps that repair them."""

from __future__ import annotations

from ...proof.steps import Step
from .displays import (
    eq65_three_steps,
    learnability,
    lemmas,
    thm4,
    thm5,
    thm5_repaired,
)

STEPS: tuple[Step, ...] = (
    *learnability.ALL,
    *lemmas.ALL,
    *thm4.ALL,
    *thm5.ALL,
    *thm5_repaired.ALL,
    *eq65_three_steps.ALL,
)
"""Steps in the paper's order: learnability and the lemmas first, the steps that are not printed last."""
