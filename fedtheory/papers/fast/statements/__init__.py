"""FAST's statements."""

from . import cor1, cor3, lemmas, rem1, rem2, rounds_convex, rounds_nonconvex, thm1, thm2

CLAIMS = (
    *lemmas.EDITIONS,
    *rounds_nonconvex.EDITIONS,
    *thm1.EDITIONS,
    *cor1.EDITIONS,
    *rem1.EDITIONS,
    *rem2.EDITIONS,
    *rounds_convex.EDITIONS,
    *thm2.EDITIONS,
    *cor3.EDITIONS,
)
"""Claims: every edition of every statement, in the paper's order."""
