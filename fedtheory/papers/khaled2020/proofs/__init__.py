"""The proof of Theorem 1: one step of the mean, the drift between synchronisations, the noise of a mean, the sum."""

from . import drift, mean
from .derivations import DERIVATIONS

STEPS = (*mean.ONE_STEP, *drift.STEPS, *mean.UNROLLED)

__all__ = ["DERIVATIONS", "STEPS"]
