"""FAST, appendix A.3: bounds on one round from x_0 = x_r that the proof of Theorem 2 shows.

(28) is the last line of the chain for A_7, which prints the number (27) only. Where a Young inequality is used, its
parameter is a free number > 0.
"""

from __future__ import annotations


from ....claims.statement import Claim, Hypothesis, Term, at_most
from ....functionals import (
    FINAL_SQUARED_DISTANCE,
    NEGATED_ARBITRARY_PROGRESS,
    NEGATED_FULL_PROGRESS,
    SQUARED_MOVEMENT,
)
from ....quantities import symbols
from .common import (
    ARBITRARY_ROUND, COHORT_DRAW, DRIFT_CAP, ONE_ROUND, RANDOM_SNAPSHOTS, SNAPSHOT_ROUND, STRONGLY_CONVEX, K, L,
    assumptions, eta, inverse_cohort, m, n, q, z,
)  # fmt: skip
from .thm2 import MAIN as THEOREM_2

mu, sigma, sigma_G = symbols("strong_convexity", "gradient_noise", "dissimilarity")
distance, epsilon = symbols("initial_distance", "young_parameter")

EQ_28 = Claim(
    id="fast.eq28",
    title="The full mean of the local gradients points to the optimum",
    source="FAST, appendix A.3, (27) to (28)",
    functional=NEGATED_FULL_PROGRESS,
    terms=(
        Term("distance", -(3 * mu * K / 4 - 30 * L**3 * K**3 * eta**2) * distance**2),
        Term("noise", 5 * L * K**2 * eta**2 * sigma**2),
        Term("heterogeneity", 30 * L * K**3 * eta**2 * sigma_G**2),
    ),
    hypotheses=(ONE_ROUND, DRIFT_CAP),
    assumptions=assumptions(*STRONGLY_CONVEX),
)

EQ_29 = Claim(
    id="fast.eq29",
    title="How far a snapshot round moves",
    source="FAST, appendix A.3, (29)",
    functional=SQUARED_MOVEMENT,
    terms=(
        Term("distance", (4 * L**2 * K**2 * eta**2 + 60 * L**4 * K**4 * eta**4) * distance**2),
        Term("heterogeneity", (4 * K**2 * eta**2 + 60 * L**2 * K**4 * eta**4) * sigma_G**2),
        Term("noise", (K * eta**2 / m + 10 * L**2 * K**3 * eta**4) * sigma**2),
    ),
    hypotheses=(ONE_ROUND, SNAPSHOT_ROUND, DRIFT_CAP),
    assumptions=assumptions(*STRONGLY_CONVEX),
    ambiguities=(COHORT_DRAW,),
)

EQ_30 = Claim(
    id="fast.eq30",
    title="A snapshot round contracts",
    source="FAST, appendix A.3, (30)",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("distance", (1 - 3 * mu * K * eta / 2 + 8 * L**2 * K**2 * eta**2) * distance**2),
        Term("heterogeneity", 8 * K**2 * eta**2 * sigma_G**2),
        Term("noise", 2 * K * eta**2 / m * sigma**2),
    ),
    hypotheses=(ONE_ROUND, SNAPSHOT_ROUND, Hypothesis("step_cap", at_most(eta, 1 / (20 * m * L * K)), "after (30)")),
    assumptions=assumptions(*STRONGLY_CONVEX),
    ambiguities=(COHORT_DRAW,),
)

EQ_35 = Claim(
    id="fast.eq35",
    title="An arbitrary cohort's local gradients point to the optimum, up to the dissimilarity",
    source="FAST, appendix A.3, (35)",
    functional=NEGATED_ARBITRARY_PROGRESS,
    terms=(
        Term("heterogeneity", (K * eta / (2 * epsilon) + 60 * L * K**3 * eta**3) * sigma_G**2),
        Term("distance", (2 * K * eta * epsilon + 60 * L**3 * K**3 * eta**3 - 3 * mu * K * eta / 2) * distance**2),
        Term("noise", 10 * L * K**2 * eta**3 * sigma**2),
    ),
    hypotheses=(ONE_ROUND, ARBITRARY_ROUND, DRIFT_CAP),
    assumptions=assumptions(*STRONGLY_CONVEX),
)

EQ_38 = Claim(
    id="fast.eq38",
    title="An arbitrary round contracts, up to the dissimilarity",
    source="FAST, appendix A.3, (38)",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("distance", (1 - 3 * mu * K * eta / 2 + 2 * K * eta * epsilon + 8 * z**2) * distance**2),
        Term("heterogeneity", (K * eta / (2 * epsilon) + 8 * K**2 * eta**2) * sigma_G**2),
        Term("noise", 2 * K * eta**2 / n * sigma**2),
    ),
    hypotheses=(ONE_ROUND, ARBITRARY_ROUND, Hypothesis("step_cap", at_most(eta, 1 / (20 * n * L * K)), "after (38)")),
    assumptions=assumptions(*STRONGLY_CONVEX),
)

# The appendix prints (39) with the main text's q-condition and floor, not those of its own statement (25).
EQ_39 = Claim(
    id="fast.eq39",
    title="A round of either kind contracts, in expectation over the kinds",
    source="FAST, appendix A.3, (39)",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("distance", (1 - mu * K * eta) * distance**2),
        Term("arbitrary_rounds", (1 - q) / 2 * K**2 * eta**2),
        Term("heterogeneity", 8 * K**2 * eta**2 * sigma_G**2),
        Term("noise", 2 * inverse_cohort * K * eta**2 * sigma**2),
    ),
    hypotheses=(ONE_ROUND, *THEOREM_2.hypotheses),
    assumptions=assumptions(*STRONGLY_CONVEX),
    ambiguities=(RANDOM_SNAPSHOTS, COHORT_DRAW),
)

EDITIONS = (EQ_28, EQ_29, EQ_30, EQ_35, EQ_38, EQ_39)
