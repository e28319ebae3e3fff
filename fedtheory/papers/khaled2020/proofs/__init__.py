"""The proof of Theorem 1: one step of the mean, the drift between synchronisations, the noise of a mean, the sum."""

from . import composed, derivations, drift, mean

STEPS = (*mean.ONE_STEP, *drift.STEPS, *mean.UNROLLED, *composed.STEPS)
DERIVATIONS = (*composed.DERIVATIONS, *derivations.DERIVATIONS)

__all__ = ["DERIVATIONS", "STEPS"]
