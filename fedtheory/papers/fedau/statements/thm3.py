"""FedAU, Theorem 3: the weight error, averaged over clients and rounds."""

from __future__ import annotations

from sympy import log

from ....claims.statement import Claim, Hypothesis, Term, at_least
from ....functionals import AVERAGE_WEIGHT_ERROR
from .common import EXPLICIT, OF_WEIGHTS, TWO_ROUNDS, K, T, absence, cutoff_bias

# The proof's last line. Its natural logarithm is stated there.
APPENDIX = Claim(
    id="fedau.thm3",
    edition="appendix",
    title="The error of FedAU's weights",
    source="FedAU, appendix B.6, (B.6.9), averaged over clients",
    functional=AVERAGE_WEIGHT_ERROR,
    assumptions=OF_WEIGHTS,
    terms=(Term("variance", (3 * K + 2 * K * log(T)) / T), Term("bias", cutoff_bias)),
    hypotheses=(TWO_ROUNDS,),
)

# From T = 2 on 1 is at most log T / log 2: the constants that the O(.) hides.
MAIN = APPENDIX.edited(
    "main",
    "FedAU, section 4, Theorem 3, (7)",
    terms={"variance": (2 + 3 / log(2)) * K * log(T) / T},
    rates=(Term("variance", K * log(T) / T), Term("bias", cutoff_bias)),
    constants=EXPLICIT,
)

# E[(p omega_t - 1)^2] is at most q = 1 - p in the K rounds t < K, and q/floor(t/K) + q^(2K) from then on; the sum of
# 1/floor(t/K) over t = K..T-1 is at most K (1 + log(T/K)).
SHARP = APPENDIX.edited(
    "sharp",
    "FedAU, Theorem 3, sharpened",
    title="The error of FedAU's weights, smaller for clients that take part often",
    terms={"variance": absence * K * (2 + log(T / K)) / T},
    hypotheses=(Hypothesis("cutoff_in_time", at_least(T, K), "sharpened"),),
)

EDITIONS = (MAIN, APPENDIX, SHARP)
