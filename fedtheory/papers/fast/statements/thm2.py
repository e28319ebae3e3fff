"""FAST, Theorem 2: strongly convex objectives.

With the free parameter epsilon > 0 of the Young inequality in (33), the proof's chain (26) to (40) gives the family

    (1 - q) 4 K eta epsilon <= mu K eta - 16 L^2 K^2 eta^2   =>   floor (1 - q) sigma_G^2 / (2 mu epsilon),

and each printed edition is one choice: epsilon = sigma_G^2 / (K eta) in the main text, whose units do not match
(epsilon is a curvature), and epsilon = 1 / (K eta) in the appendix's statement, whose units do. Both force q to 1 as
the step size goes to 0. The repaired edition is the choice epsilon = mu / (8 (1 - q)), which asks nothing of q.
"""

from __future__ import annotations

from sympy import Rational, exp

from ....assumptions import COHORT_BEFORE_NOISE, UNCORRELATED_NOISE
from ....claims.statement import Claim, Hypothesis, Term, least, at_least, at_most
from ....functionals import FINAL_SQUARED_DISTANCE, of_values
from ....quantities import symbols
from .common import (
    CORRECTED_STRONGLY_CONVEX, COHORT_DRAW, COHORT_IS_A_SET, PERIODIC_SNAPSHOTS, RANDOM_SNAPSHOTS, SNAPSHOT_RULE,
    STRONGLY_CONVEX, K, L, R, assumptions, eta, inverse_cohort, m, n, period, q, z,
)  # fmt: skip

mu, sigma, sigma_G, distance = symbols("strong_convexity", "gradient_noise", "dissimilarity", "initial_distance")

progress = mu * K * eta - 16 * L**2 * K**2 * eta**2
_cohort_caps = (1 / (20 * m * L * K), 1 / (20 * n * L * K))

MAIN = Claim(
    id="fast.thm2",
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
        Hypothesis("step_cap", at_most(eta, least(*_cohort_caps)), "Theorem 2"),
        Hypothesis("q_condition", at_least(q, 1 - progress / (4 * sigma_G**2)), "Theorem 2"),
    ),
    assumptions=assumptions(*STRONGLY_CONVEX),
    ambiguities=(SNAPSHOT_RULE, COHORT_DRAW),
)

APPENDIX = MAIN.edited(
    "appendix",
    "FAST, appendix A.3, Theorem 2, (25)",
    terms={"arbitrary_rounds": (1 - q) / (2 * mu) * K * eta * sigma_G**2},
    hypotheses={"q_condition": at_least(q, 1 - progress / 4)},
)

# Not printed: a - 16 z^2 is largest at z = mu/(32 L), where it is mu^2/(64 L^2).
ROOM = Claim(
    id="fast.thm2",
    edition="room",
    title="How often a round may be arbitrary at all",
    source="FAST, appendix A.3, Theorem 2: a consequence of its condition on q, not printed",
    functional=of_values("arbitrary_probability", "1 - q, the probability of an arbitrary round", 1 - q, "1-q"),
    terms=(Term("room", mu**2 / (256 * L**2)),),
    hypotheses=(APPENDIX.hypothesis("q_condition"),),
)

CORRECTED = MAIN.edited(
    "corrected",
    "FAST, Theorem 2, repaired",
    title="FAST on strongly convex objectives, for every q, with the floor of arbitrary rounds",
    terms={"arbitrary_rounds": 4 * (1 - q) ** 2 * sigma_G**2 / mu**2},
    hypotheses=(Hypothesis("step_cap", at_most(eta, least(*_cohort_caps, mu / (32 * L**2 * K))), "repaired"),),
    ambiguities=(RANDOM_SNAPSHOTS, COHORT_IS_A_SET),
    assumptions=CORRECTED_STRONGLY_CONVEX,
)

# As the step size goes to 0 and R eta to infinity this is (1 - q)^2 sigma_G^2 / mu^2, which a pair of clients attains.
_rate = mu - 18 * L**2 * K * eta
SHARP = CORRECTED.edited(
    "sharp",
    "FAST, Theorem 2, with the exact floor",
    title="FAST on strongly convex objectives: the exact floor of arbitrary rounds as the step size goes to 0",
    terms={
        "initial": exp(-_rate * K * R * eta) * distance**2,
        "arbitrary_rounds": (1 - q) ** 2 * sigma_G**2 / mu / _rate,
        "heterogeneity": 17 * K * eta * sigma_G**2 / _rate,
        "noise": (inverse_cohort + Rational(21, 10)) * eta * sigma**2 / _rate,
    },
    hypotheses=(Hypothesis("step_cap", at_most(eta, mu / (36 * L**2 * K)), "repaired"),),
)

# Composed of the axioms by the kernel: a larger step size, and smaller constants in every term but the floor's.
_sharper_rate = mu - 2 * L**2 * K * eta - 4 * mu**2 * K * eta
_spread = (6 * q / (5 * m) + 3 * q / 4 + 4 * (1 - q)) * K * eta * sigma_G**2
SHARPER = SHARP.edited(
    "sharper",
    "FAST, Theorem 2, composed by the kernel",
    title="FAST on strongly convex objectives: the exact floor, larger steps and smaller constants",
    terms={
        "initial": exp(-_sharper_rate * K * R * eta) * distance**2,
        "arbitrary_rounds": (1 - q) ** 2 * sigma_G**2 / mu / _sharper_rate,
        "heterogeneity": _spread / _sharper_rate,
        "noise": (Rational(9, 8) * inverse_cohort + Rational(3, 5)) * eta * sigma**2 / _sharper_rate,
    },
    hypotheses=(Hypothesis("step_cap", at_most(eta, mu / (8 * L**2 * K)), "composed"),),
    assumptions=assumptions(*STRONGLY_CONVEX, UNCORRELATED_NOISE, COHORT_BEFORE_NOISE),
)

# With steps that fall with the cohorts all of the noise does.
_averaged_rate = mu - 2 * L**2 * K * eta / inverse_cohort - 4 * mu**2 * K * eta
AVERAGED = SHARPER.edited(
    "averaged",
    "FAST, Theorem 2, composed by the kernel",
    title="FAST on strongly convex objectives: noise that falls with the cohorts",
    terms={
        "initial": exp(-_averaged_rate * K * R * eta) * distance**2,
        "arbitrary_rounds": (1 - q) ** 2 * sigma_G**2 / mu / _averaged_rate,
        "heterogeneity": _spread / _averaged_rate,
        "noise": Rational(7, 4) * inverse_cohort * eta * sigma**2 / _averaged_rate,
    },
    hypotheses=(Hypothesis("step_cap", at_most(eta, inverse_cohort * mu / (8 * L**2 * K)), "composed"),),
)

# By the clients' values in the place of Young's inequality between x - x* and the drift: no L^2/mu is in the rate or in
# the cap, and noise falls with the cohorts as the step does. Dissimilarity is used at the optimum alone.
_wide_rate = mu - Rational(5, 2) * mu**2 * K * eta
WIDE = SHARPER.edited(
    "wide",
    "FAST, Theorem 2, composed by the kernel",
    title="FAST on strongly convex objectives: steps that the curvature does not cap, noise that falls with cohorts",
    terms={
        "initial": exp(-_wide_rate * K * R * eta) * distance**2,
        "arbitrary_rounds": (1 - q) ** 2 * sigma_G**2 / _wide_rate**2,
        "heterogeneity": (1 + 10 * z) * K * eta * sigma_G**2 / _wide_rate,
        "noise": ((1 + z) * inverse_cohort + Rational(8, 3) * (1 - 1 / K) * z) * eta * sigma**2 / _wide_rate,
    },
    hypotheses=(Hypothesis("step_cap", at_most(eta, 1 / (8 * L * K)), "composed"),),
)

# Snapshots in the rounds 0, I, 2I, ...: the rounds of either kind are weighed by how much of them is left in the end,
# so that the last I - 1, which may all be arbitrary, count for a little more than their share.
_fall = K * eta * _sharper_rate
_others = (1 - 1 / period) * (1 + _fall)
_snapshots = 1 / period + (1 - 1 / period) * _fall
PERIODIC = SHARPER.edited(
    "periodic",
    "FAST, Theorem 2, composed by the kernel",
    title="FAST on strongly convex objectives, with snapshots in every I-th round",
    terms={
        "arbitrary_rounds": _others * sigma_G**2 / mu / _sharper_rate,
        "heterogeneity": (_snapshots * (6 / (5 * m) + Rational(3, 4)) + 4 * _others)
        * K
        * eta
        * sigma_G**2
        / _sharper_rate,
        "noise": (Rational(9, 8) * (_snapshots / m + _others / n) + Rational(3, 5) * (_snapshots + _others))
        * eta
        * sigma**2
        / _sharper_rate,
    },
    ambiguities=(PERIODIC_SNAPSHOTS, COHORT_IS_A_SET),
)

EDITIONS = (MAIN, APPENDIX, ROOM, CORRECTED, SHARP, SHARPER, AVERAGED, WIDE, PERIODIC)
