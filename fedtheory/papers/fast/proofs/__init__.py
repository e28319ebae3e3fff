"""The proofs of FAST: its theorems composed by the kernel, and what its displays (appendix A.1 to A.3) show."""

from . import conclusions

DERIVATIONS = conclusions.DERIVATIONS

__all__ = ["DERIVATIONS"]
