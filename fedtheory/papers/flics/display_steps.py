"""The printed displays of FLICS-OPT (appendices B and C), and steps that repair them."""

from __future__ import annotations

from ...proof.steps import Step
from .displays import eq7, lemmas, repairs, thm1, thm2, thm2_limit

STEPS: tuple[Step, ...] = (
    *repairs.ALL,
    *lemmas.ALL,
    *thm1.ALL,
    *eq7.ALL,
    *thm2.ALL,
    *thm2_limit.ALL,
)
"""Steps: first the facts that several displays use."""
