"""The proofs of FLICS-OPT: its theorems composed by the kernel."""

from __future__ import annotations

from . import draws, thm1

__all__ = ["DERIVATIONS"]

DERIVATIONS = (*thm1.DERIVATIONS, *draws.DERIVATIONS)
