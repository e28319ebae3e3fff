"""The proofs of SAFARI: its theorems composed by the kernel, and what its displays (section 3, appendix A) show."""

from . import conclusions, samples

DERIVATIONS = (*samples.DERIVATIONS, *conclusions.DERIVATIONS)

__all__ = ["DERIVATIONS"]
