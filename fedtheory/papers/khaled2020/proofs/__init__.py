"""The proof of Theorem 1: one step of the mean, the drift between synchronisations, the noise of a mean, the sum."""

from . import thm1, conclusions
from ..displays import drift, mean

STEPS = (*mean.ONE_STEP, *drift.STEPS, *mean.UNROLLED)
DERIVATIONS = (*thm1.DERIVATIONS, *conclusions.DERIVATIONS)

__all__ = ["DERIVATIONS", "STEPS"]
