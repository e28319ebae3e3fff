"""What SAFARI states."""

from . import corollaries, rem5, rounds, thm4, thm5

CLAIMS = (
    *rounds.NONCONVEX,
    *thm4.EDITIONS,
    *corollaries.COROLLARY_1,
    *rounds.CONVEX,
    *thm5.EDITIONS,
    corollaries.COROLLARY_2,
    *rem5.EDITIONS,
)
"""Every edition of every statement, in the paper's order."""
