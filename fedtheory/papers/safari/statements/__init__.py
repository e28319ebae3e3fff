"""SAFARI's statements."""

from . import corollaries, learnability, lemmas, rem5, rounds, shares, thm4, thm5

CLAIMS = (
    *learnability.EDITIONS,
    *lemmas.EDITIONS,
    *rounds.NONCONVEX,
    *thm4.EDITIONS,
    shares.FLOOR,
    *corollaries.COROLLARY_1,
    shares.RATIO,
    *rounds.CONVEX,
    *thm5.EDITIONS,
    corollaries.COROLLARY_2,
    *rem5.EDITIONS,
)
"""Every edition of every statement, in the paper's order."""
