"""The printed displays of SAFARI (section 3, appendix A), and steps that repair them."""

from __future__ import annotations

from ....proof.steps import Step
from . import (
    eq65_three_steps,
    hidden_constants,
    learnability,
    lemma1_beside,
    lemmas,
    round_shares,
    thm4,
    thm5,
    thm5_repaired,
    vc_dimension,
)

STEPS: tuple[Step, ...] = (
    *learnability.ALL,
    *hidden_constants.HIDDEN,
    *vc_dimension.LEMMA_1,
    *vc_dimension.VC,
    *lemma1_beside.PAIRS,
    *lemmas.ALL,
    *thm4.ALL,
    *thm5.ALL,
    *thm5_repaired.ALL,
    *eq65_three_steps.ALL,
    *round_shares.STEPS,
)
"""Steps in the paper's order: learnability and the lemmas first, the steps that are not printed last."""
