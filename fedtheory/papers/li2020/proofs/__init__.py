"""The proofs of Theorems 1 to 3: one step of the mean, the drift in a round and the draws, all steps together."""

from . import thm1_to_thm3, conclusions
from ..displays import one_step, drift_and_draws, sums

STEPS = (*one_step.STEPS, *drift_and_draws.LEMMA_3, *drift_and_draws.LEMMAS_4_AND_5, *sums.STEPS)
DERIVATIONS = (*thm1_to_thm3.DERIVATIONS, *conclusions.DERIVATIONS)

__all__ = ["DERIVATIONS", "STEPS"]
