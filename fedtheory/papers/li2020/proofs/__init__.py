"""The proofs of Theorems 1 to 3: one step of the mean, the drift in a round and the draws, all steps together."""

from . import composed, derivations, one_step, rounds, sums

STEPS = (*one_step.STEPS, *rounds.LEMMA_3, *rounds.LEMMAS_4_AND_5, *sums.STEPS, *composed.STEPS)
DERIVATIONS = (*composed.DERIVATIONS, *derivations.DERIVATIONS)

__all__ = ["DERIVATIONS", "STEPS"]
