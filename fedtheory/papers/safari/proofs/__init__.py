"""The proofs of SAFARI: its theorems composed by the kernel."""

from __future__ import annotations

from . import numbers, samples, thm4_thm5

__all__ = ["DERIVATIONS"]

DERIVATIONS = (*samples.DERIVATIONS, *thm4_thm5.DERIVATIONS, *numbers.DERIVATIONS)
