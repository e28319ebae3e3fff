"""The proof of Theorem 1: one step of the mean, the drift between synchronisations, all steps together."""

from .thm1 import DERIVATIONS

__all__ = ["DERIVATIONS"]
