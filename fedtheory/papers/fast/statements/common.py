"""What FAST's statements share."""

from __future__ import annotations

import sympy
from sympy import Ge, Le, Min

from ....claims.statement import Ambiguity, Assumption, Hypothesis
from ....quantities import symbols

L, m, n, K, R = symbols("smoothness", "cohort", "arbitrary_cohort", "local_steps", "rounds")
eta, q = symbols("local_lr", "snapshot_probability")

z = L * K * eta
"""How far local training moves, relative to the length on which gradients change."""

inverse_cohort = (q * n + (1 - q) * m) / (m * n)
"""q/m + (1 - q)/n, as printed."""

_ASSUMPTIONS = {
    "smoothness": Assumption("assumption_1", "smoothness", "Assumption 1"),
    "gradient_noise": Assumption("assumption_2", "gradient_noise", "Assumption 2"),
    "dissimilarity": Assumption("assumption_3", "dissimilarity", "Assumption 3"),
    "strong_convexity": Assumption("assumption_4", "strong_convexity", "Assumption 4", from_below=True),
}
NONCONVEX = ("smoothness", "gradient_noise", "dissimilarity")
STRONGLY_CONVEX = (*NONCONVEX, "strong_convexity")

SNAPSHOT_RULE = Ambiguity(
    "snapshots",
    ("period", "probability"),
    "Algorithm 1, line 3: every I-th round, or with probability q = 1/I",
)
COHORT_DRAW = Ambiguity(
    "uniform cohort",
    ("without replacement", "with replacement"),
    "'uniformly random clients', a set of m of them; cited analyses draw with replacement",
)
RANDOM_SNAPSHOTS = Ambiguity("snapshots", ("probability",), "every round is a snapshot with probability q, on its own")
COHORT_IS_A_SET = Ambiguity("uniform cohort", ("without replacement",), "m different clients")

ONE_ROUND = Hypothesis("one_round", Le(R, 1), "one round, from x_0 = x_r")
SNAPSHOT_ROUND = Hypothesis("snapshot_round", Ge(q, 1), "'uniformly samples clients'")
ARBITRARY_ROUND = Hypothesis("arbitrary_round", Le(q, 0), "'arbitrarily samples clients'")
DRIFT_CAP = Hypothesis("drift_cap", Le(eta, 1 / (8 * L * K)), "Lemma 3 of Reddi et al. 2020")
EQUAL_COHORTS = Hypothesis("equal_cohorts", Le((m - n) ** 2, 0), "'supposing m = n'")


def assumptions(*quantities: str) -> tuple[Assumption, ...]:
    """FAST's numbered assumptions about these quantities."""
    return tuple(_ASSUMPTIONS[name] for name in quantities)


def least(*caps: sympy.Expr) -> sympy.Expr:
    """The smallest of several caps, as printed: sympy is not to compare them."""
    return Min(*caps, evaluate=False)
