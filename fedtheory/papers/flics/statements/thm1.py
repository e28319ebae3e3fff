"""FLICS, Theorem 1 and Corollary 1.1: FLICS-AVG on non-convex objectives."""

from __future__ import annotations

from sympy import Rational, sqrt

from ....assumptions import INDEPENDENT_ANSWERS
from ....claims import readings
from ....claims.hidden_constants import may_depend_on_the_problem
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_most
from ....functionals import LEAST_SQUARED_GRADIENT, MEAN_SQUARED_GRADIENT
from .common import (
    ESTIMATES, LEAST_PARTICIPATION, LINE_14, LOCAL_CAP, UNDIVIDED, G, K, L, M, NOISE, P, ROUNDS, SIGMA, T,
    answer_mismatch, answer_proxy, assumptions, c, drift, eta, eta_L, gap, inflation, mean_mismatch, mismatch, proxy,
    rate_spread, sigma, sigma_G, spread,
)  # fmt: skip

COUNTS = Ambiguity(
    readings.COUNTS, (readings.RECEIVED, readings.PLANNED), "s^ counts answers in line 7, and the rates in display (6)"
)
START = Ambiguity(
    readings.START,
    (readings.FORGOTTEN, readings.COUNTED),
    "line 7 divides by t - 1 and starts from beta; (6) is the mean of the rounds, or beta counts as one of them",
)
MINIMUM = Ambiguity(
    readings.MINIMUM, (readings.FROM_T_1, readings.FROM_T_0), "[T] is 1..T; the descent bounds the gradients at 0..T-1"
)

CONSTANT_CAP = Hypothesis(
    "constant_cap", at_most(c, Rational(1, 2) - 15 * L**2 * K**2 * eta_L**2 * M * P), "appendix B, proof of Theorem 1",
    implicit=True,
)  # fmt: skip
STEP_CAP = Hypothesis("step_cap", at_most(eta * eta_L, 1 / (K * L)), "appendix B, proof of Theorem 1", implicit=True)

# The sum over t of the selection term is T times the mean over the rounds: no 1/T is printed.
MAIN = Claim(
    id="flics.thm1",
    title="FLICS-AVG on non-convex objectives",
    source="FLICS, section III-B, Theorem 1",
    functional=LEAST_SQUARED_GRADIENT,
    terms=(
        Term("optimization", gap / (c * eta * eta_L * K * T)),
        Term("noise", L * eta * eta_L * inflation * sigma**2 * P / (2 * c)),
        Term("drift", 5 * L**2 * eta_L**2 * K * M * P / (2 * c) * (sigma**2 + 6 * K * sigma_G**2)),
        Term("selection", L * eta * eta_L / (2 * K * c * inflation) * (sigma**2 + G**2) * T * spread),
    ),
    hypotheses=(
        ESTIMATES,
        LEAST_PARTICIPATION,
        STEP_CAP,
        Hypothesis(
            "drift_cap", at_most(eta_L, 1 / (sqrt(30) * K * L * M * P)), "appendix B, proof of Theorem 1", implicit=True
        ),
        CONSTANT_CAP,
        LOCAL_CAP,
    ),
    assumptions=assumptions("smoothness", *ROUNDS, *NOISE, "local_gradient_bound", "dissimilarity"),
    ambiguities=(LINE_14, COUNTS, START, MINIMUM, SIGMA),
)
APPENDIX = MAIN.edited(
    "appendix",
    "FLICS, appendix B, Theorem 1",
    terms={"selection": L * eta * eta_L / (2 * K * c * inflation) * T * spread},
)

# No sigma_G, no c, no epsilon, and nothing of Assumption 1: weights known before the answers, and the objective of the
# selection problem as the variance, along any availability.
CORRECTED = MAIN.edited(
    "corrected",
    "FLICS, Theorem 1, repaired",
    title="FLICS-AVG on non-convex objectives, with the variance of the selection and the error of its estimates",
    functional=MEAN_SQUARED_GRADIENT,
    terms=(
        Term("optimization", 2 * gap / (eta * eta_L * K * T)),
        Term("drift", 2 * drift),
        Term("mismatch", 2 * G**2 * mismatch**2),
        Term("selection", L * eta * eta_L * K * G**2 * proxy),
    ),
    hypotheses=(STEP_CAP,),
    assumptions=assumptions("smoothness", INDEPENDENT_ANSWERS, *NOISE, "local_gradient_bound"),
    ambiguities=(
        UNDIVIDED,
        Ambiguity(readings.COUNTS, (readings.PLANNED,), "the weights are known before the answers"),
        START,
    ),
)

# Expectations are over the round's availability too, given the past: with rates r_j and weights p_j/s^_j whose ratio
# has the mean 1 over it in every round, whatever came before, the mismatch is 0 although groups are absent from some
# rounds. Where availability is drawn once for all rounds, the first round tells it, and the mismatch is what it is
# then; an expectation over all runs would not do. No cap on the steps.
INTERMITTENT = CORRECTED.edited(
    "intermittent",
    "FLICS, Theorem 1, repaired for random availability",
    title="FLICS-AVG on non-convex objectives, where groups may be absent at random",
    terms={"mismatch": 2 * G**2 * mean_mismatch**2, "selection": L * eta * eta_L * K * G**2 * (proxy + rate_spread)},
    hypotheses=(),
)

# As Algorithm 1 has it, line 14 aside: s^ counts the round's own answers, so that weights and answers depend on each
# other. What they make of a group is S_j/s^_j, and its mean and variance given the past take the place of r_j/s^_j.
RECEIVED = CORRECTED.edited(
    "received",
    "FLICS, Theorem 1, repaired for received counts",
    title="FLICS-AVG on non-convex objectives, where the estimate counts the answers that come",
    terms={"mismatch": 2 * G**2 * answer_mismatch**2, "selection": L * eta * eta_L * K * G**2 * answer_proxy},
    ambiguities=(
        UNDIVIDED,
        Ambiguity(readings.COUNTS, (readings.RECEIVED,), "line 7: the answers, this round's too"),
        START,
    ),
)

# Neither K, M, c nor what bounds the participation stands in the printed rate: where the O(.) may hide all of them, an
# instance, which fixes them, refutes nothing.
CONSTANTS = may_depend_on_the_problem(
    "O((1 + sigma_T)/sqrt(T) + 1/T) does not say whether its constants are the theorem's or may be any that do not "
    "depend on T"
)

# The constants are the theorem's, with the 1/T before its selection term that the printed rate needs: as printed, the
# theorem gives sqrt(T) in place of 1/sqrt(T) there.
COROLLARY = MAIN.edited(
    "main",
    "FLICS, section III-B, Corollary 1.1",
    id="flics.cor1_1",
    title="The rate of FLICS-AVG",
    terms={
        "optimization": L * gap / (c * sqrt(M * K * T)),
        "noise": inflation * sigma**2 * P * sqrt(M / (K * T)) / (2 * c),
        "drift": 5 * M * P * (sigma**2 + 6 * K * sigma_G**2) / (2 * c * K * T),
        "selection": sqrt(M / (K**3 * T)) * spread * (sigma**2 + G**2) / (2 * c * inflation),
    },
    choices={"local_lr": 1 / (sqrt(T) * K * L), "global_lr": sqrt(K * M)},
    ambiguities=(*MAIN.ambiguities, CONSTANTS),
    rates=(Term("first", (1 + spread) / sqrt(T)), Term("second", 1 / T)),
)
COROLLARY_CORRECTED = CORRECTED.edited(
    "corrected",
    "FLICS, Corollary 1.1, repaired",
    id="flics.cor1_1",
    title="The rate of FLICS-AVG, down to the error of its estimates",
    terms={
        "optimization": 2 * L * gap / sqrt(M * K * T),
        "drift": G**2 * (K - 1) * (2 * K - 1) / (3 * K**2 * T),
        "selection": sqrt(M * K / T) * G**2 * proxy,
    },
    choices=COROLLARY.choices,
)

COROLLARY_INTERMITTENT = COROLLARY_CORRECTED.edited(
    "intermittent",
    "FLICS, Corollary 1.1, repaired for random availability",
    title="The rate of FLICS-AVG where groups may be absent at random",
    terms={"mismatch": 2 * G**2 * mean_mismatch**2, "selection": sqrt(M * K / T) * G**2 * (proxy + rate_spread)},
    hypotheses=(),
)
COROLLARY_RECEIVED = COROLLARY_CORRECTED.edited(
    "received",
    "FLICS, Corollary 1.1, repaired for received counts",
    title="The rate of FLICS-AVG where the estimate counts the answers that come",
    terms={"mismatch": 2 * G**2 * answer_mismatch**2, "selection": sqrt(M * K / T) * G**2 * answer_proxy},
    ambiguities=RECEIVED.ambiguities,
)

EDITIONS = (
    MAIN, APPENDIX, CORRECTED, INTERMITTENT, RECEIVED, COROLLARY, COROLLARY_CORRECTED, COROLLARY_INTERMITTENT,
    COROLLARY_RECEIVED,
)  # fmt: skip
