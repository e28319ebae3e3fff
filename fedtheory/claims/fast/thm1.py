"""FAST, Theorem 1: non-convex objectives."""

from __future__ import annotations

from sympy import Ge, Le, Min

from ...functionals import AVERAGE_SQUARED_GRADIENT, AVERAGES
from ...quantities import symbols
from ..statement import Ambiguity, Claim, Hypothesis, Term
from .common import COHORT_DRAW, SNAPSHOT_RULE, assumptions

L, sigma, sigma_G, zeta = symbols("smoothness", "gradient_noise", "dissimilarity", "initial_gap")
m, n, K, R = symbols("cohort", "arbitrary_cohort", "local_steps", "rounds")
eta, q = symbols("local_lr", "snapshot_probability")
G1, G2, G3 = symbols("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")

SUM_OVER_ROUNDS = Ambiguity(
    "average",
    AVERAGES,
    "the statement sums r = 1..R, the algorithm and the proof's descent step run over r = 0..R-1",
)
LOCAL_INDEX = Ambiguity(
    "local gradients",
    ("k = 1..K", "k = 0..K-1"),
    "G_1 to G_3 sum k = 1..K, the algorithm takes its local steps at k = 0..K-1",
)
Q_CONDITION = Ambiguity(
    "q-condition",
    ("quotient", "product"),
    "the proof derives the condition before dividing by a denominator whose sign it does not settle",
)

_numerator = (2 * L * K * eta - 1) * G2 + 2 * K**2 * sigma_G**2
_denominator = G1 + (2 * L * K * eta - 1) * G2 - 2 * L * K * eta * G3 + 2 * K**2 * sigma_G**2

MAIN = Claim(
    id="fast.thm1",
    edition="main",
    title="FAST on non-convex objectives",
    source="FAST, section 4.2, Theorem 1, (2)",
    functional=AVERAGE_SQUARED_GRADIENT,
    terms=(
        Term("optimization", 4 * zeta / (K * R * eta)),
        Term("noise", 4 * (q * n + (1 - q) * m) / (m * n) * L * eta * sigma**2),
        Term("heterogeneity", (120 * (1 - q) + 60 * q) * L**2 * K**2 * eta**2 * sigma_G**2),
    ),
    hypotheses=(
        Hypothesis(
            "step_cap",
            Le(eta, Min(1 / (8 * L * K), (n * q + m * (1 - q)) / (5 * m * n * L * K), evaluate=False)),
            "Theorem 1",
        ),
        Hypothesis(
            "q_condition",
            Ge(q, _numerator / _denominator),
            "Theorem 1; G_1 to G_3 after (24)",
            alternatives={"product": Ge(q * _denominator, _numerator)},
        ),
    ),
    assumptions=assumptions("smoothness", "gradient_noise", "dissimilarity"),
    ambiguities=(SUM_OVER_ROUNDS, LOCAL_INDEX, Q_CONDITION, SNAPSHOT_RULE, COHORT_DRAW),
)

# The appendix restates the theorem with the same mathematics: zeta is written out as F(x_0) - F(x*).
APPENDIX = MAIN.edited("appendix", "FAST, appendix A.2, Theorem 1, (24)")

EDITIONS = (MAIN, APPENDIX)
