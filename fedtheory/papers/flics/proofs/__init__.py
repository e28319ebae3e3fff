"""The proofs of FLICS-OPT (appendices B and C, display (7)), display by display, and what they show."""

from __future__ import annotations

from ....proof.steps import Step
from . import composed, eq7, lemmas, limit, received, repaired, thm1, thm2
from .derivations import DERIVATIONS as DECLARED

__all__ = ["DERIVATIONS", "STEPS"]

STEPS: tuple[Step, ...] = (*repaired.ALL, *received.ALL, *lemmas.ALL, *thm1.ALL, *eq7.ALL, *thm2.ALL, *limit.ALL,
                           *composed.STEPS)  # fmt: skip
"""Every step: first what the repaired statements rest on, which some printed displays use too."""

DERIVATIONS = (*DECLARED, *composed.DERIVATIONS)
