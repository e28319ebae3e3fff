"""The proofs of Theorems 1 to 3: a step of the mean, how far clients move in a round, the draws, all steps together."""

from .thm1_to_thm3 import DERIVATIONS

__all__ = ["DERIVATIONS"]
