"""The proofs of FAST: its theorems composed by the kernel."""

from __future__ import annotations

from . import numbers, thm1_thm2

__all__ = ["DERIVATIONS"]

DERIVATIONS = (*thm1_thm2.DERIVATIONS, *numbers.DERIVATIONS)
