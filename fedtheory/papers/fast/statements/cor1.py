"""FAST, Corollaries 1 and 2: Theorem 1 with a step size of order 1 / sqrt(R).

An O(.) hides constants. The terms here carry those that follow from Theorem 1 with local_lr = c sqrt(mn) /
sqrt(RK(nq + m(1-q))), c any constant; ``rates`` are the printed O(.).
"""

from __future__ import annotations

from sympy import sqrt

from ....claims.statement import Hypothesis, Term, at_least
from .common import EQUAL_COHORTS, K, L, R, inverse_cohort, m, n, q
from .thm1 import CORRECTED as THEOREM_1_CORRECTED
from .thm1 import MAIN as THEOREM_1
from .thm1 import sigma, sigma_G, symbols, zeta

(c,) = symbols("step_constant")
step = c * sqrt(m * n) / sqrt(R * K * (n * q + m * (1 - q)))
_rate = sqrt((n * q + m * (1 - q)) / (n * m * K * R))
_faster = m * n * K / ((n * q + (1 - q) * m) * R)

COROLLARY_1 = THEOREM_1.edited(
    "main",
    "FAST, section 4.2, Corollary 1, (3)",
    id="fast.cor1",
    title="The rate of FAST on non-convex objectives",
    terms={
        "optimization": 4 * zeta / c * _rate,
        "noise": 4 * L * c * sigma**2 * _rate,
        "heterogeneity": (120 * (1 - q) + 60 * q) * L**2 * c**2 * sigma_G**2 * _faster,
    },
    choices={"local_lr": step},
    rates=(Term("first", _rate), Term("second", _faster)),
    constants="no constant of any problem will do: the problem stays along the family of instances, left/right grows "
              "with the rounds without bound",
)  # fmt: skip

# The end of appendix A.2 prints the factors sigma^2 and sigma_G^2.
COROLLARY_1_APPENDIX = COROLLARY_1.edited(
    "appendix",
    "FAST, appendix A.2, after (24)",
    rates=(Term("first", _rate), Term("noise", _rate * sigma**2), Term("second", _faster * sigma_G**2)),
)

# Theorem 1 as repaired: the floor of arbitrary rounds stays, that of the cohorts fades like the rate.
COROLLARY_1_CORRECTED = THEOREM_1_CORRECTED.edited(
    "corrected",
    "FAST, Corollary 1, repaired",
    id="fast.cor1",
    title="The rate of FAST on non-convex objectives, down to the floor of arbitrary rounds",
    terms=(
        Term("optimization", 4 * zeta / c * _rate),
        Term("noise", 6 * L * c * sigma**2 * _rate),
        Term("arbitrary_rounds", 4 * (1 - q) ** 2 * sigma_G**2),
        Term("cohorts", 8 * (q / m + 2 * (1 - q)) * L * K * c * sigma_G**2 * _rate / inverse_cohort),
        Term("heterogeneity", 53 * L**2 * c**2 * sigma_G**2 * _faster),
    ),
    choices={"local_lr": step},
)

one_size = 1 / sqrt(m * R * K)
"""Return the rate of cohorts of one size."""

# With R >= (K / h)^3, h = inverse_cohort, the second rate is below the first; here h = 1/m.
COROLLARY_2 = COROLLARY_1.edited(
    "main",
    "FAST, section 4.2, Corollary 2, (4)",
    id="fast.cor2",
    title="The rate of FAST on non-convex objectives, cohorts of one size",
    terms=(
        Term("optimization", 4 * zeta / c * one_size),
        Term("noise", 4 * L * c * sigma**2 * one_size),
        Term("heterogeneity", (120 * (1 - q) + 60 * q) * L**2 * c**2 * sigma_G**2 * one_size),
    ),
    hypotheses=(
        *THEOREM_1.hypotheses,
        EQUAL_COHORTS,
        Hypothesis("many_rounds", at_least(R, (m * n * K) ** 3 / (n * q + m * (1 - q)) ** 3), "before Corollary 2"),
    ),
    rates=(Term("only", one_size),),
)

# Theorem 1 as repaired, with n = m. It needs no many rounds: the faster rate is kept as a term of its own.
COROLLARY_2_CORRECTED = COROLLARY_1_CORRECTED.edited(
    "corrected",
    "FAST, Corollary 2, repaired",
    id="fast.cor2",
    title="The rate of FAST on non-convex objectives, cohorts of one size, down to the floor of arbitrary rounds",
    terms=(
        Term("optimization", 4 * zeta / c * one_size),
        Term("noise", 6 * L * c * sigma**2 * one_size),
        Term("arbitrary_rounds", 4 * (1 - q) ** 2 * sigma_G**2),
        Term("cohorts", 8 * (q + 2 * m * (1 - q)) * L * K * c * sigma_G**2 * one_size),
        Term("heterogeneity", 53 * L**2 * c**2 * sigma_G**2 * m * K / R),
    ),
    hypotheses=(*COROLLARY_1_CORRECTED.hypotheses, EQUAL_COHORTS),
    choices={"local_lr": c * sqrt(m) / sqrt(R * K)},
)

EDITIONS = (COROLLARY_1, COROLLARY_1_APPENDIX, COROLLARY_1_CORRECTED, COROLLARY_2, COROLLARY_2_CORRECTED)
