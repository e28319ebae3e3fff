"""Ambiguities of papers' words, and their readings: names that statements, derivations and evidence share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..functionals import AVERAGES

SNAPSHOTS = "snapshots"
PERIOD, PROBABILITY = "period", "probability"
UNIFORM_COHORT = "uniform cohort"
WITHOUT_REPLACEMENT, WITH_REPLACEMENT = "without replacement", "with replacement"
AVERAGE = "average"
FROM_ROUND_1, FROM_ROUND_0 = AVERAGES
LOCAL_GRADIENTS = "local gradients"
FROM_STEP_1, FROM_STEP_0, FROM_STEP_1_OF_K = "k = 1..K", "k = 0..K-1", "k = 1..K-1"
SUMS = "G_1 to G_3"
HELD, OF_RUNS_OF_EACH_SIZE = "held fixed", "of runs at each dissimilarity"
Q_CONDITION = "q-condition"
QUOTIENT, PRODUCT = "quotient", "product"
QUOTIENT_ETA_S, PRODUCT_ETA_S = "quotient with 2 L eta_s", "product with 2 L eta_s"
THIRD_LAYOUT = "N/(1 + N/D)"
KINDS_OF_ROUNDS = "kinds of rounds"
EXACT_SHARES = "exact shares"
ROOT = "root"
ROOT_OF_30_L_K, ROOT_OF_30 = "root of 30 L K", "root of 30"
CONDITION = "condition"
GIVEN_AN_INTERVAL, IN_EXPECTATION = "given an interval", "in expectation"
CONDITIONING = "conditioning"
OF_THE_ROUND, OF_ALL_ROUNDS = "weights of round t", "weights of all rounds"
WEIGHTS = "weights"
GIVEN, ESTIMATED = "given", "estimated on the run"
SCALE = "Q"
OF_THE_RUN, KNOWN_BEFOREHAND = "of the run", "a bound known beforehand"
FRACTIONS = "fractions"
BELOW_THE_LINE, BESIDE_IT = "8/(9 p_n)", "(8/9) p_n"
LINE_14 = "line 14"
DIVIDED, NOT_DIVIDED = "divided", "not divided"
COUNTS = "counts"
RECEIVED, PLANNED = "received", "planned"
START = "start"
FORGOTTEN, COUNTED = "forgotten", "counted"
MINIMUM = "minimum"
FROM_T_1, FROM_T_0 = "t = 1..T", "t = 0..T-1"
FACTOR = "factor"
ONE_PLUS_EPSILON, EPSILON = "1 + epsilon^", "epsilon^"
SIGMA = "Sigma"
COVARIANCE, CORRELATION = "covariance", "correlation"
CONSTANTS = "constants of the O(.)"
UNIFORM, OF_THE_PROBLEM = "uniform", "may depend on the problem"
OF_THE_CONDITIONS = "may depend on the constants of the conditions"
SIGMA_T = "sigma_T"
THRESHOLDS = "thresholds"
ANYWHERE, IN_THE_SUPPORT = "anywhere on the line", "in the support of Q"
CONFIDENCE_TERM = "confidence term"
IN_THE_LOGARITHM, BESIDE_WITH_MAX = "inside the logarithm", "beside it, with max(m, d)"
OF_COROLLARY_1_1, OF_THE_PROOF, OF_THE_POLICY = "of Corollary 1.1", "of the proof", "the policy's objective"
WHO = "cohort"
EVERYONE, BY_WEIGHT, UNIFORMLY = "everyone", "S with replacement by p_k", "S without replacement, p_k = 1/N"

OPTIONS: Mapping[str, tuple[str, ...]] = {
    SNAPSHOTS: (PERIOD, PROBABILITY),
    UNIFORM_COHORT: (WITHOUT_REPLACEMENT, WITH_REPLACEMENT),
    AVERAGE: AVERAGES,
    LOCAL_GRADIENTS: (FROM_STEP_1, FROM_STEP_0, FROM_STEP_1_OF_K),
    SUMS: (HELD, OF_RUNS_OF_EACH_SIZE),
    Q_CONDITION: (QUOTIENT, QUOTIENT_ETA_S, PRODUCT, PRODUCT_ETA_S, THIRD_LAYOUT),
    KINDS_OF_ROUNDS: (PROBABILITY, EXACT_SHARES),
    ROOT: (ROOT_OF_30_L_K, ROOT_OF_30),
    CONDITION: (GIVEN_AN_INTERVAL, IN_EXPECTATION),
    CONDITIONING: (OF_THE_ROUND, OF_ALL_ROUNDS),
    WEIGHTS: (GIVEN, ESTIMATED),
    SCALE: (OF_THE_RUN, KNOWN_BEFOREHAND),
    FRACTIONS: (BELOW_THE_LINE, BESIDE_IT),
    LINE_14: (DIVIDED, NOT_DIVIDED),
    COUNTS: (RECEIVED, PLANNED),
    START: (FORGOTTEN, COUNTED),
    MINIMUM: (FROM_T_1, FROM_T_0),
    FACTOR: (ONE_PLUS_EPSILON, EPSILON),
    SIGMA: (COVARIANCE, CORRELATION),
    CONSTANTS: (UNIFORM, OF_THE_PROBLEM, OF_THE_CONDITIONS),
    THRESHOLDS: (ANYWHERE, IN_THE_SUPPORT),
    CONFIDENCE_TERM: (IN_THE_LOGARITHM, BESIDE_WITH_MAX),
    SIGMA_T: (OF_COROLLARY_1_1, OF_THE_PROOF, OF_THE_POLICY),
}
"""Options of each ambiguity, by its name; a claim has some of them. Another paper may have ambiguities of its own."""


def check_options(name: str, options: Iterable[str]) -> None:
    """Refuse an option that an ambiguity known here does not have.

    >>> check_options("snapshots", ["perid"])
    Traceback (most recent call last):
    ValueError: snapshots = 'perid': allowed is 'period' or 'probability'
    """
    for option in options:
        if option not in OPTIONS.get(name, (option,)):
            raise ValueError(f"{name} = {option!r}: allowed is {' or '.join(map(repr, OPTIONS[name]))}")
