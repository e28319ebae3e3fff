"""FAST, Remark 1 and Table 1: a rate that gains from participants and local steps.

It is said of FAST, with snapshots, and of uniform participation in every round.

Part a is Corollary 2's rate, which Table 1 prints for FAST. Part b is what it is said to match, Table 1's row of
federated averaging: its participation condition is q = 1, so that nothing is asked of q. A gain from K is said of both,
so constants may depend on the problem, and not on m, K and R. Those here are Theorem 1's at q = 1.
"""

from __future__ import annotations

from sympy import sqrt

from ....claims.statement import Hypothesis, at_least
from .common import COHORT_DRAW, K, L, R, m, q
from .cor1 import COROLLARY_2, c, one_size
from .thm1 import MAIN as THEOREM_1
from .thm1 import SUM_OVER_ROUNDS, sigma, sigma_G, zeta

WITH_SNAPSHOTS = COROLLARY_2.edited(
    "main",
    "FAST, section 4.2, Remark 1; section 1, Table 1, last row but one",
    id="fast.rem1.a",
    title="FAST gains from participants and local steps",
)

# With one cohort of m clients in every round the step of Corollary 1 is c sqrt(m)/sqrt(RK).
UNIFORM = COROLLARY_2.edited(
    "main",
    "FAST, section 4.2, Remark 1; section 1, Table 1, FedAvg",
    id="fast.rem1.b",
    title="Federated averaging of uniform cohorts gains from participants and local steps",
    terms={
        "optimization": 4 * zeta / c * one_size,
        "noise": 4 * L * c * sigma**2 * one_size,
        "heterogeneity": 60 * L**2 * c**2 * sigma_G**2 * one_size,
    },
    hypotheses=(
        THEOREM_1.hypothesis("step_cap"),
        Hypothesis("every_round_uniform", at_least(q, 1), "Table 1: 'Uniform participation in every round'"),
        Hypothesis("many_rounds", at_least(R, (m * K) ** 3), "before Corollary 2, at q = 1"),
    ),
    choices={"local_lr": c * sqrt(m) / sqrt(R * K)},
    ambiguities=(SUM_OVER_ROUNDS, COHORT_DRAW),
    constants="no constant of any problem will do: the problem stays along the family of instances, left/right grows "
              "with the local steps without bound",
)  # fmt: skip

EDITIONS = (WITH_SNAPSHOTS, UNIFORM)
