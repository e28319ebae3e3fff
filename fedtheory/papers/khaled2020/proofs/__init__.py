"""The proof of Theorem 1: one step of the mean, the drift between synchronisations, all steps together."""

from . import thm1

DERIVATIONS = thm1.DERIVATIONS

__all__ = ["DERIVATIONS"]
