"""What SAFARI states."""

from . import corollaries, learnability, lemmas, rem5, rounds, thm4, thm5

CLAIMS = (
    *learnability.EDITIONS,
    *lemmas.EDITIONS,
    *rounds.NONCONVEX,
    *thm4.EDITIONS,
    *corollaries.COROLLARY_1,
    *rounds.CONVEX,
    *thm5.EDITIONS,
    corollaries.COROLLARY_2,
    *rem5.EDITIONS,
)
"""Every edition of every statement, in the paper's order."""
