"""FedAU's statements."""

from . import asm5, cor4, eqB_6_8, lemmaB_6_1, lemmaB_7_1, rounds, thm1, thm2, thm3

CLAIMS = (
    *rounds.THEOREM_1,
    *thm1.EDITIONS,
    *rounds.THEOREM_2,
    *thm2.EDITIONS,
    asm5.INTERVAL,
    *lemmaB_6_1.EDITIONS,
    *eqB_6_8.EDITIONS,
    *thm3.EDITIONS,
    *lemmaB_7_1.EDITIONS,
    *cor4.EDITIONS,
    asm5.KNOWN,
    asm5.KNOWN_ERROR,
)
"""Every edition of every statement, in the paper's order."""
