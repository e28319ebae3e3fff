"""The proofs of FedAU: its theorems composed by the kernel."""

from __future__ import annotations

from . import cor4, single_weights, thm1_thm2, thm3

__all__ = ["DERIVATIONS"]

DERIVATIONS = (
    *single_weights.DERIVATIONS,
    *thm1_thm2.DERIVATIONS,
    *thm3.DERIVATIONS,
    *cor4.DERIVATIONS,
)
