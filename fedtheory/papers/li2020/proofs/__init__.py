"""The proofs of Theorems 1 to 3: one step of the mean, how far clients move in a round, the draws, all steps together.

The steps say where the printed proofs break.
"""

from .. import displays
from . import thm1_to_thm3

STEPS = displays.STEPS
DERIVATIONS = thm1_to_thm3.DERIVATIONS

__all__ = ["DERIVATIONS", "STEPS"]
