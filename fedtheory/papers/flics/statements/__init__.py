"""FLICS-OPT's statements."""

from . import eq7, lemmas, thm1, thm2

CLAIMS = (
    *lemmas.EDITIONS,
    *thm1.EDITIONS,
    *eq7.EDITIONS,
    *thm2.EDITIONS,
)
"""Every edition of every statement, in the paper's order."""
