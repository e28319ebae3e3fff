"""The proofs of FLICS-OPT: its theorems composed by the kernel, and what its displays (appendices B and C) show."""

from __future__ import annotations

from . import conclusions, draws, thm1

__all__ = ["DERIVATIONS"]

DERIVATIONS = (*conclusions.DERIVATIONS, *thm1.DERIVATIONS, *draws.DERIVATIONS)
