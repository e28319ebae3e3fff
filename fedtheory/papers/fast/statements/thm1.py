"""FAST, Theorem 1: non-convex objectives."""

from __future__ import annotations

from sympy import Rational

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, least, at_least, at_most
from ....functionals import AVERAGE_SQUARED_GRADIENT, AVERAGES, of_values
from ....quantities import symbols
from ....units import SQUARED_SLOPE
from .common import (
    CORRECTED_NONCONVEX, COHORT_DRAW, COHORT_IS_A_SET, EXACT_SHARES, NONCONVEX, PERIODIC_SNAPSHOTS,
    RANDOM_SNAPSHOTS, SNAPSHOT_RULE, K, L, R, assumptions, eta, inverse_cohort, m, n, period, q, z,
)  # fmt: skip

sigma, sigma_G, zeta = symbols("gradient_noise", "dissimilarity", "initial_gap")
least_G1, least_G2, gradient = symbols("least_full_pseudogradient", "least_arbitrary_pseudogradient", "gradient_norm")
G1, G2, G3 = symbols("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")

SUM_OVER_ROUNDS = Ambiguity(
    readings.AVERAGE,
    AVERAGES,
    "the statement sums r = 1..R, the algorithm and the proof's descent step run over r = 0..R-1",
)
SUM_OF_THE_PROOF = Ambiguity(readings.AVERAGE, AVERAGES[1:], "the iterates whose gradients the descent step bounds")
LOCAL_INDEX = Ambiguity(
    readings.LOCAL_GRADIENTS,
    (readings.FROM_STEP_1, readings.FROM_STEP_0),
    "G_1 to G_3 sum k = 1..K, the algorithm takes its local steps at k = 0..K-1",
)
Q_CONDITION = Ambiguity(
    readings.Q_CONDITION,
    (readings.QUOTIENT, readings.PRODUCT),
    "the proof derives the condition before dividing by a denominator whose sign it does not settle",
)

numerator = (2 * L * K * eta - 1) * G2 + 2 * K**2 * sigma_G**2
denominator = G1 + (2 * L * K * eta - 1) * G2 - 2 * L * K * eta * G3 + 2 * K**2 * sigma_G**2
NOISE_CAP = (n * q + m * (1 - q)) / (5 * m * n * L * K)

MAIN = Claim(
    id="fast.thm1",
    title="FAST on non-convex objectives",
    source="FAST, section 4.2, Theorem 1, (2)",
    functional=AVERAGE_SQUARED_GRADIENT,
    terms=(
        Term("optimization", 4 * zeta / (K * R * eta)),
        Term("noise", 4 * inverse_cohort * L * eta * sigma**2),
        Term("heterogeneity", (120 * (1 - q) + 60 * q) * L**2 * K**2 * eta**2 * sigma_G**2),
    ),
    hypotheses=(
        Hypothesis("step_cap", at_most(eta, least(1 / (8 * L * K), NOISE_CAP)), "Theorem 1"),
        Hypothesis(
            "q_condition",
            at_least(q, numerator / denominator),
            "Theorem 1; G_1 to G_3 after (24)",
            alternatives={readings.PRODUCT: at_least(q * denominator, numerator)},
        ),
    ),
    assumptions=assumptions(*NONCONVEX),
    ambiguities=(SUM_OVER_ROUNDS, LOCAL_INDEX, Q_CONDITION, SNAPSHOT_RULE, COHORT_DRAW),
)

# The appendix restates the theorem with the same mathematics: zeta is written out as F(x_0) - F(x*).
APPENDIX = MAIN.edited("appendix", "FAST, appendix A.2, Theorem 1, (24)")

# As SAFARI's submitted version has it in its Theorem 4, with the least G_1 and G_2 of the rounds. G_3 stands on the
# other side and stays a maximum. The condition is the proof's, before dividing: as a quotient a far start meets it,
# whose G_3 makes the denominator negative.
MINIMA = MAIN.edited(
    "minima",
    "FAST, Theorem 1, with minima over the rounds as in SAFARI's submitted version; not printed",
    title="FAST on non-convex objectives, under a condition that every round has to meet",
    hypotheses=(
        MAIN.hypotheses[0],
        Hypothesis(
            "q_condition",
            at_least(q * (least_G1 - 2 * z * G3), (1 - q) * (2 * K**2 * sigma_G**2 - (1 - 2 * z) * least_G2)),
            "Theorem 1, before dividing",
        ),
    ),
    ambiguities=(
        SUM_OF_THE_PROOF,
        Ambiguity(readings.LOCAL_GRADIENTS, (readings.FROM_STEP_0,), "the steps that the algorithm takes"),
        PERIODIC_SNAPSHOTS, EXACT_SHARES, COHORT_IS_A_SET,
    ),
    assumptions=CORRECTED_NONCONVEX,
)  # fmt: skip

# What that condition makes of every run that meets it, with one local step, not printed. Let a be |grad F| in an
# arbitrary round, the least over them: then G_2 <= (a + sigma_G)^2, and so q G_1 >= (1 - q) (2 sigma_G^2 - (a +
# sigma_G)^2). The mean of |grad F|^2 over the rounds, at least q G_1 + (1 - q) a^2, is above (1 - q) (sigma_G^2 - 2 a
# sigma_G) and above (1 - q) a^2, and the larger of these is least at a = (sqrt(2) - 1) sigma_G: the floor is
# (3 - 2 sqrt(2)) (1 - q) sigma_G^2, with 3 - 2 sqrt(2) = .17157, here rounded down.
_LARGEST_G2 = (gradient + sigma_G) ** 2
FLOOR = Claim(
    id="fast.thm1",
    edition="floor",
    title="Runs that meet a condition on every round do not converge",
    source="FAST, Theorem 1, with minima over the rounds: a consequence of its condition on q, not printed",
    functional=of_values(
        "floor_of_snapshots", "343/2000 (1 - q) sigma_G^2, of the mean of |grad F|^2 over the rounds",
        Rational(343, 2000) * (1 - q) * sigma_G**2, r"\frac{343}{2000}(1-q)\sigma_G^2", units=SQUARED_SLOPE,
    ),
    terms=(Term("snapshots", q * least_G1), Term("arbitrary_rounds", (1 - q) * gradient**2)),
    hypotheses=(
        Hypothesis("one_step", at_most(K, 1), "one local step"),
        Hypothesis("step_cap", at_most(eta, 1 / (8 * L * K)), "Theorem 1"),
        Hypothesis(
            "q_condition",
            at_least(q * (least_G1 - 2 * z * G3), (1 - q) * (2 * K**2 * sigma_G**2 - (1 - 2 * z) * _LARGEST_G2)),
            "Theorem 1, before dividing, with G_2 as large as it can be",
        ),
    ),
)  # fmt: skip

_proved_reading = (SUM_OF_THE_PROOF, RANDOM_SNAPSHOTS, COHORT_IS_A_SET)

# No condition on q: the bias of the arbitrary rounds and the spread of the cohorts stay as floors.
CORRECTED = MAIN.edited(
    "corrected",
    "FAST, Theorem 1, repaired",
    title="FAST on non-convex objectives, for every q, with the floors of arbitrary rounds and of cohorts",
    terms=(
        Term("optimization", 4 * zeta / (K * R * eta)),
        Term("noise", 6 * inverse_cohort * L * eta * sigma**2),
        Term("arbitrary_rounds", 4 * (1 - q) ** 2 * sigma_G**2),
        Term("cohorts", 8 * (q / m + 2 * (1 - q)) * z * sigma_G**2),
        Term("heterogeneity", 53 * z**2 * sigma_G**2),
    ),
    hypotheses=(Hypothesis("step_cap", at_most(eta, least(1 / (20 * L * K), NOISE_CAP)), "repaired"),),
    ambiguities=_proved_reading,
    assumptions=CORRECTED_NONCONVEX,
)

# As the step size goes to 0 and R eta to infinity this is (1 - q)^2 sigma_G^2, which a pair of clients attains.
SHARP = CORRECTED.edited(
    "sharp",
    "FAST, Theorem 1, with the exact floor",
    title="FAST on non-convex objectives: the exact floor of arbitrary rounds as the step size goes to 0",
    terms=(
        Term("optimization", 2 * zeta / (K * R * eta) / (1 - 21 * z)),
        Term("noise", (2 * inverse_cohort + Rational(11, 5)) * L * eta * sigma**2 / (1 - 21 * z)),
        Term("arbitrary_rounds", (1 - q) ** 2 * sigma_G**2 / (1 - 21 * z)),
        Term("heterogeneity", 22 * z * sigma_G**2 / (1 - 21 * z)),
    ),
    hypotheses=(Hypothesis("step_cap", at_most(eta, 1 / (42 * L * K)), "repaired"),),
)

# Composed of the axioms by the kernel: a larger step size, and smaller constants in the first and the last term.
_spread = (6 * q / (5 * m) + 7 * q / 4 + 6 * (1 - q)) * z * sigma_G**2
SHARPER = SHARP.edited(
    "sharper",
    "FAST, Theorem 1, composed by the kernel",
    title="FAST on non-convex objectives: the exact floor and larger steps",
    terms=(
        Term("optimization", 2 * zeta / (K * R * eta) / (1 - 7 * z)),
        Term("noise", (Rational(9, 8) * inverse_cohort + 3 * (1 - 1 / K)) * L * eta * sigma**2 / (1 - 7 * z)),
        Term("arbitrary_rounds", (1 - q) ** 2 * sigma_G**2 / (1 - 7 * z)),
        Term("heterogeneity", _spread / (1 - 7 * z)),
    ),
    hypotheses=(Hypothesis("step_cap", at_most(eta, 1 / (8 * L * K)), "composed"),),
)

# With steps that fall with the cohorts all of the noise does.
_left = 1 - 7 * z / inverse_cohort
AVERAGED = SHARPER.edited(
    "averaged",
    "FAST, Theorem 1, composed by the kernel",
    title="FAST on non-convex objectives: noise that falls with the cohorts",
    terms=(
        Term("optimization", 2 * zeta / (K * R * eta) / _left),
        Term("noise", 3 * inverse_cohort * L * eta * sigma**2 / _left),
        Term("arbitrary_rounds", (1 - q) ** 2 * sigma_G**2 / _left),
        Term("heterogeneity", _spread / _left),
    ),
    hypotheses=(Hypothesis("step_cap", at_most(eta, inverse_cohort / (16 * L * K)), "composed"),),
)

# Snapshots in the rounds 0, I, 2I, ...: every round is of a known kind, and the floor is the mean of 0 and sigma_G^2
# over the rounds. Of R rounds a share of at most 1/I + (1 - 1/I)/R are snapshots, and of at most 1 - 1/I are none.
_others = 1 - 1 / period
_snapshots = 1 / period + _others / R
PERIODIC = SHARPER.edited(
    "periodic",
    "FAST, Theorem 1, composed by the kernel",
    title="FAST on non-convex objectives, with snapshots in every I-th round",
    terms={
        "noise": (Rational(9, 8) * (_snapshots / m + _others / n) + 3 * (1 - 1 / K) * (_snapshots + _others))
        * L
        * eta
        * sigma**2
        / (1 - 7 * z),
        "arbitrary_rounds": _others * sigma_G**2 / (1 - 7 * z),
        "heterogeneity": (_snapshots * (6 / (5 * m) + Rational(7, 4)) + 6 * _others) * z * sigma_G**2 / (1 - 7 * z),
    },
    ambiguities=(SUM_OF_THE_PROOF, PERIODIC_SNAPSHOTS, COHORT_IS_A_SET),
)

EDITIONS = (MAIN, APPENDIX, MINIMA, FLOOR, CORRECTED, SHARP, SHARPER, AVERAGED, PERIODIC)
