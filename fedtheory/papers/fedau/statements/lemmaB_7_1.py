"""FedAU, Lemma B.7.1: Theorem 3 with Corollary 4's cutoff, K = ceil(log_c T), c = 1/(1 - min p_n)^2.

The paper adds O(R log^2 T / T) and O(log^2 T / T), R = 1/log c; the second is not O(R log^2 T / T) with one constant
for all p, since R goes to 0 as p goes to 1. The lemma holds with one all the same:

- K >= 2: then R log T > 1, so that K <= R log T + 1 <= 2 R log T and 1/T <= R log T / T. With (B.6.9) and a bias of at
  most 1/T that is R log T (7 + 4 log T) / T, at most (4 + 7/log 2) R log^2 T / T from T = 2 on.
- K = 1: then every weight is 1 and the error at most q^2, where q = 1 - p and T <= 1/q^2. As T / log^2 T is largest at
  an end of [2, 1/q^2], the error is at most 4 q^2 |log q| / log^2 2 <= 1.54 or 1/log T <= 1.45 times R log^2 T / T.

The sharper form of Theorem 3 gives R log T (5 + 2 log T) / T instead.
"""

from __future__ import annotations

from sympy import log

from ....claims.statement import Claim, Hypothesis, Term, at_least
from ....functionals import AVERAGE_WEIGHT_ERROR, LONG_RUN_BIAS
from .common import EXPLICIT, OF_WEIGHTS, LOGARITHMIC_CUTOFF, R, T

_two_rounds = Hypothesis("two_rounds", at_least(T, 2), "'When T >= 2'")
_rate = R * log(T) ** 2 / T

MAIN = Claim(
    id="fedau.lemmaB_7_1",
    title="The error of FedAU's weights with a logarithmic cutoff",
    source="FedAU, appendix B.7, Lemma B.7.1, (B.7.1)",
    functional=AVERAGE_WEIGHT_ERROR,
    assumptions=OF_WEIGHTS,
    terms=(Term("error", (4 + 7 / log(2)) * _rate),),
    hypotheses=(_two_rounds,),
    choices=LOGARITHMIC_CUTOFF,
    rates=(Term("error", _rate),),
    constants=EXPLICIT,
)

SHARP = MAIN.edited(
    "sharp", "FedAU, Lemma B.7.1, sharpened", terms={"error": (2 + 5 / log(2)) * _rate}, rates=(), constants=""
)  # fmt: skip

# Equal at T = 2 where (1 - p)^(2K) = 1/2; with natural logarithms it would fail there.
BIAS = Claim(
    id="fedau.eqB_7_2",
    title="The bias that a logarithmic cutoff leaves",
    source="FedAU, appendix B.7, (B.7.2)",
    functional=LONG_RUN_BIAS,
    assumptions=OF_WEIGHTS,
    terms=(Term("bias", (log(T) / log(2)) ** 2 / T),),
    hypotheses=(_two_rounds,),
    choices=LOGARITHMIC_CUTOFF,
)

EDITIONS = (MAIN, SHARP, BIAS)
