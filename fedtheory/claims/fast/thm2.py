"""FAST, Theorem 2: strongly convex objectives.

With the free parameter epsilon > 0 of the Young inequality in (33), the proof's chain (26) to (40) gives the family

    (1 - q) 4 K eta epsilon <= mu K eta - 16 L^2 K^2 eta^2   =>   floor (1 - q) sigma_G^2 / (2 mu epsilon),

and each edition is one choice: epsilon = sigma_G^2 / (K eta) in the main text, whose units do not match (epsilon
is a curvature), and epsilon = 1 / (K eta) in the appendix's statement, whose units do.
"""

from __future__ import annotations

from sympy import Ge, Le, Min, exp

from ...functionals import FINAL_SQUARED_DISTANCE
from ...quantities import symbols
from ..statement import Claim, Hypothesis, Term
from .common import COHORT_DRAW, SNAPSHOT_RULE, assumptions

L, mu, sigma, sigma_G = symbols("smoothness", "strong_convexity", "gradient_noise", "dissimilarity")
m, n, K, R = symbols("cohort", "arbitrary_cohort", "local_steps", "rounds")
eta, q, distance = symbols("local_lr", "snapshot_probability", "initial_distance")

_progress = mu * K * eta - 16 * L**2 * K**2 * eta**2

MAIN = Claim(
    id="fast.thm2",
    edition="main",
    title="FAST on strongly convex objectives",
    source="FAST, section 4.2, Theorem 2",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("initial", exp(-mu * K * R * eta) * distance**2),
        Term("arbitrary_rounds", (1 - q) / (2 * mu) * K * eta),
        Term("heterogeneity", 8 / mu * K * eta * sigma_G**2),
        Term("noise", 2 * (q * n + (1 - q) * m) / (m * n * mu) * eta * sigma**2),
    ),
    hypotheses=(
        Hypothesis("step_cap", Le(eta, Min(1 / (20 * m * L * K), 1 / (20 * n * L * K), evaluate=False)), "Theorem 2"),
        Hypothesis("q_condition", Ge(q, 1 - _progress / (4 * sigma_G**2)), "Theorem 2"),
    ),
    assumptions=assumptions("smoothness", "gradient_noise", "dissimilarity", "strong_convexity"),
    ambiguities=(SNAPSHOT_RULE, COHORT_DRAW),
)

APPENDIX = MAIN.edited(
    "appendix",
    "FAST, appendix A.3, Theorem 2, (25)",
    terms={"arbitrary_rounds": (1 - q) / (2 * mu) * K * eta * sigma_G**2},
    hypotheses={"q_condition": Ge(q, 1 - _progress / 4)},
)

EDITIONS = (MAIN, APPENDIX)
