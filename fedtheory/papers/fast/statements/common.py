"""Quantities, assumptions and hypotheses that FAST's statements share."""

from __future__ import annotations


from ....assumptions import (
    COHORT_BEFORE_NOISE, INDEPENDENT_NOISE, UNBIASED_NOISE, UNCORRELATED_NOISE, UNIFORM_COHORTS,
)  # fmt: skip
from ....claims import readings
from ....claims.statement import Ambiguity, Assumption, Hypothesis, numbered, at_least, at_most
from ....quantities import symbols

L, m, n, K, R = symbols("smoothness", "cohort", "arbitrary_cohort", "local_steps", "rounds")
eta, q, period = symbols("local_lr", "snapshot_probability", "snapshot_period")

z = L * K * eta
"""Length of local training, relative to the length on which gradients change."""

inverse_cohort = (q * n + (1 - q) * m) / (m * n)
"""q/m + (1 - q)/n, as printed."""

assumptions = numbered(
    Assumption("assumption_1", "smoothness", "Assumption 1"),
    Assumption("assumption_2", "gradient_noise", "Assumption 2"),
    Assumption("assumption_3", "dissimilarity", "Assumption 3"),
    Assumption("assumption_4", "strong_convexity", "Assumption 4", from_below=True),
    Assumption("assumption_2_mean", kind=UNBIASED_NOISE, source="Assumption 2"),
    Assumption("uniform_cohorts", kind=UNIFORM_COHORTS, source="Algorithm 1, line 4"),
    Assumption("uncorrelated_noise", kind=UNCORRELATED_NOISE, source="not printed"),
    Assumption("independent_noise", kind=INDEPENDENT_NOISE, source="not printed"),
    Assumption("cohort_before_noise", kind=COHORT_BEFORE_NOISE, source="not printed"),
)
NONCONVEX = ("smoothness", "gradient_noise", "dissimilarity", UNBIASED_NOISE, UNIFORM_COHORTS)
STRONGLY_CONVEX = (*NONCONVEX, "strong_convexity")
CORRECTED_NONCONVEX = assumptions(*NONCONVEX, UNCORRELATED_NOISE, COHORT_BEFORE_NOISE)
CORRECTED_STRONGLY_CONVEX = assumptions(*STRONGLY_CONVEX, INDEPENDENT_NOISE, COHORT_BEFORE_NOISE)
"""Assumptions of corrected editions: the printed ones, and those that the printed proofs take beside them."""

SNAPSHOT_RULE = Ambiguity(
    readings.SNAPSHOTS,
    (readings.PERIOD, readings.PROBABILITY),
    "Algorithm 1, line 3: every I-th round, or with probability q = 1/I",
)
COHORT_DRAW = Ambiguity(
    readings.UNIFORM_COHORT,
    (readings.WITHOUT_REPLACEMENT, readings.WITH_REPLACEMENT),
    "'uniformly random clients', a set of m of them; cited analyses draw with replacement",
)
RANDOM_SNAPSHOTS = Ambiguity(
    readings.SNAPSHOTS, (readings.PROBABILITY,), "every round is a snapshot with probability q, on its own"
)
EXACT_SHARES = Ambiguity(
    readings.KINDS_OF_ROUNDS, (readings.EXACT_SHARES,), "appendix A.3: 'R_u = qR rounds under uniform' participation"
)
PERIODIC_SNAPSHOTS = Ambiguity(readings.SNAPSHOTS, (readings.PERIOD,), "the rounds 0, I, 2I, ... are snapshots")
COHORT_IS_A_SET = Ambiguity(readings.UNIFORM_COHORT, (readings.WITHOUT_REPLACEMENT,), "m different clients")

ONE_ROUND = Hypothesis("one_round", at_most(R, 1), "one round, from x_0 = x_r")
SNAPSHOT_ROUND = Hypothesis("snapshot_round", at_least(q, 1), "'uniformly samples clients'")
ARBITRARY_ROUND = Hypothesis("arbitrary_round", at_most(q, 0), "'arbitrarily samples clients'")
DRIFT_CAP = Hypothesis("drift_cap", at_most(eta, 1 / (8 * L * K)), "Lemma 3 of Reddi et al. 2020")
EQUAL_COHORTS = Hypothesis("equal_cohorts", at_most((m - n) ** 2, 0), "'supposing m = n'")
