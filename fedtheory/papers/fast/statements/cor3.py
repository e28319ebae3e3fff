"""FAST, Corollary 3: Theorem 2 with the step size chosen after (40).

Its soft-O hides constants and logarithms. The terms here carry those that follow from Theorem 2 with the chosen step
size. Let l = log(max(|x_0 - x*|^2 mu K R / a, 1)) and a as in (40). Then both the initial term exp(-mu K R eta) and the
floors a eta are at most (1 + l) a / (mu K R), but for exp(-mu R / (20 m L)). That gives mu^2 R in the denominators,
where the paper prints mu R; ``rates`` are the printed ones.
"""

from __future__ import annotations

from sympy import Max, exp, log

from ....claims.statement import Hypothesis, Term, least, at_least
from .common import CORRECTED_STRONGLY_CONVEX, EQUAL_COHORTS, K, L, R, inverse_cohort, m, n, q
from .thm2 import APPENDIX as THEOREM_2_APPENDIX
from .thm2 import MAIN as THEOREM_2
from .thm2 import distance, mu, sigma, sigma_G


def _floor_rate(arbitrary_rounds):
    """a of (40)."""
    return arbitrary_rounds * K / (2 * mu) + 8 * K * sigma_G**2 / mu + 2 * inverse_cohort * sigma**2 / mu


def _logarithm(a):
    return log(Max(distance**2 * mu * K * R / a, 1))


def _step(logarithm):
    """The step size chosen after (40)."""
    return least(logarithm / (mu * K * R), 1 / (20 * m * L * K), 1 / (20 * n * L * K))


_log = _logarithm(_floor_rate(1 - q))
_logs = 1 + _log
MAIN = THEOREM_2.edited(
    "main",
    "FAST, section 4.2, Corollary 3",
    id="fast.cor3",
    title="The rate of FAST on strongly convex objectives",
    terms={
        "initial": exp(-mu * R / (20 * m * L)) * distance**2,
        "arbitrary_rounds": _logs * (1 - q) / (2 * mu * R),
        "heterogeneity": _logs * 8 * sigma_G**2 / (mu * R),
        "noise": _logs * 2 * sigma**2 / (mu * m * K * R),
    },
    hypotheses=(
        *THEOREM_2.hypotheses, EQUAL_COHORTS, Hypothesis("many_rounds", at_least(R, 20 * m * L), "Corollary 3"),
    ),
    choices={"local_lr": _step(_log)},
    rates=(
        Term("initial", exp(-mu * R / (20 * m * L))),
        Term("arbitrary_rounds", (1 - q) / (mu * R)),
        Term("heterogeneity", sigma_G**2 / (mu * R)),
        Term("noise", sigma**2 / (mu * m * K * R)),
    ),
    constants="mu and L stand in the rate, that no constant depends on them is claimed, and only they and the rounds "
              "change along the family of instances, left/right without bound",
)  # fmt: skip

_corrected_log = _logarithm(_floor_rate((1 - q) * sigma_G**2))
_corrected_logs = 1 + _corrected_log
CORRECTED = MAIN.edited(
    "corrected",
    "FAST, Corollary 3, repaired",
    terms={
        "arbitrary_rounds": _corrected_logs * (1 - q) * sigma_G**2 / (2 * mu**2 * R),
        "heterogeneity": _corrected_logs * 8 * sigma_G**2 / (mu**2 * R),
        "noise": _corrected_logs * 2 * sigma**2 / (mu**2 * m * K * R),
    },
    hypotheses=(*THEOREM_2_APPENDIX.hypotheses, EQUAL_COHORTS),
    choices={"local_lr": _step(_corrected_log)},
    rates=(),
    constants="",
    assumptions=CORRECTED_STRONGLY_CONVEX,
)

# Remark 3 has the rate in R alone, so that its constants may depend on the problem: those here are Theorem 2's. It
# speaks of ever larger q: the step goes to 0 with R, and then the condition on q asks for q -> 1.
REMARK_3 = CORRECTED.edited(
    "main",
    "FAST, section 4.2, Remark 3",
    id="fast.rem3",
    title="FAST has the rate 1/R of ideal participation, up to logarithms",
    rates=(Term("only", 1 / R),),
    constants="the rate is in R alone, they may depend on the problem; its terms have them as numbers of it, and "
              "nothing refutes it with these where noise is uncorrelated",
    assumptions=MAIN.assumptions,
)  # fmt: skip

EDITIONS = (MAIN, CORRECTED, REMARK_3)
