"""FedAU, Corollary 4: the rate with a logarithmic cutoff and chosen steps.

The terms carry the constants that follow from Theorem 2, under either option of Assumption 5, and from Lemma B.7.1.
"""

from __future__ import annotations

from sympy import Rational, log, sqrt

from ....claims import readings
from ....claims.statement import Ambiguity, Hypothesis, Term, least, at_least
from ....quantities import symbols
from .common import LOGARITHMIC_CUTOFF, TWO_ROUNDS, G, I, K, L, N, R, T, delta, initial_gap, sigma
from .rounds import Q
from .thm2 import CORRECTED as THEOREM_2_CORRECTED
from .thm2 import MAIN as THEOREM_2
from .thm2 import NEARLY_OPTIMAL as THEOREM_2_NEARLY_OPTIMAL
from .thm2 import SUM_OVER_ROUNDS, Q_expected

# Q is a maximum over the run, and the step depends on it.
SCALE = Ambiguity(
    readings.SCALE,
    (readings.OF_THE_RUN, readings.KNOWN_BEFOREHAND),
    "Q is a maximum over the run, by which the step is chosen before it",
)

local_step = least(1 / (L * I * sqrt(T)), 1 / (4 * sqrt(15) * L * I))
_share = Rational(27, 8)
_weight_error = (4 + 7 / log(2)) * R * log(T) ** 2 / T
_slope = I * delta**2 + sigma**2


def _choices(step):
    return {"local_lr": local_step, "global_lr": step / local_step, **LOGARITHMIC_CUTOFF}


_leading = sqrt(L * initial_gap * Q * _slope / (N * I * T))
MAIN = THEOREM_2.edited(
    "main",
    "FedAU, section 4, Corollary 4, (8), Option 2",
    id="fedau.cor4",
    title="The rate of FedAU",
    terms=(
        Term("leading", 35 * _leading),
        Term("weights", 12 * (15 * sigma**2 / (I * T) + _share * (delta**2 + G**2)) * _weight_error),
        Term("optimization", 32 * L * initial_gap / T + 432 * L * initial_gap * Q / (N * T)),
        Term("drift", 20 * (sigma**2 / I + 6 * delta**2) / T),
    ),
    hypotheses=(TWO_ROUNDS,),
    ambiguities=(SUM_OVER_ROUNDS, SCALE),
    choices=_choices(
        least(sqrt(initial_gap * N / (Q * _slope * L * I * T)), 1 / (4 * L * I), N / (54 * L * I * Q))
    ),
    rates=(
        Term("noise", sigma * sqrt(L * initial_gap * Q) / sqrt(N * I * T)),
        Term("dissimilarity", delta * sqrt(L * initial_gap * Q) / sqrt(N * T)),
        Term("weights", (G**2 + delta**2 + sigma**2 / (I * T)) * R * log(T) ** 2 / T),
        Term("rest", (L * initial_gap * (1 + Q / N) + delta**2 + sigma**2 / I) / T),
    ),
)  # fmt: skip

# Every step is known from the participation probabilities before the run.
_wide_slope = I * (delta**2 + G**2) + sigma**2
CORRECTED = THEOREM_2_CORRECTED.edited(
    "corrected",
    "FedAU, Corollary 4, Option 2, repaired",
    id="fedau.cor4",
    title="The rate of FedAU, with steps that are known before the run",
    terms=(
        Term("leading", Rational(70, 3) * sqrt(L * initial_gap * Q_expected * _wide_slope / (N * I * T))),
        Term("weights", 8 * (15 * sigma**2 / (I * T) + _share * (delta**2 + G**2)) * _weight_error),
        Term("optimization", Rational(64, 3) * L * initial_gap / T),
        Term("drift", Rational(40, 3) * (sigma**2 / I + 6 * delta**2) / T),
    ),
    hypotheses=(TWO_ROUNDS,),
    choices=_choices(least(sqrt(initial_gap * N / (Q_expected * _wide_slope * L * I * T)), 1 / (4 * L * I))),
)

# Option 1 asks for weights that are nearly optimal in every round. Those of Algorithm 2 can be so in short runs, of
# T <= c and with the cutoff 1, and where all but a few clients are always there.
NEARLY_OPTIMAL = MAIN.edited(
    "main",
    "FedAU, section 4, Corollary 4, (8), Option 1",
    id="fedau.cor4.nearly_optimal",
    title="The rate of FedAU with nearly optimal weights",
    terms=(
        Term("leading", 70 * _leading),
        Term("weights", 24 * (15 * sigma**2 / (I * T) + _share * delta**2) * _weight_error),
        Term("optimization", 64 * L * initial_gap / T + 864 * L * initial_gap * Q / (N * T)),
        Term("drift", 40 * (sigma**2 / I + 6 * delta**2) / T),
    ),
    hypotheses=(TWO_ROUNDS, THEOREM_2_NEARLY_OPTIMAL.hypothesis("nearly_optimal")),
    assumptions=THEOREM_2_NEARLY_OPTIMAL.assumptions,
    rates=tuple(
        Term(t.name, (delta**2 + sigma**2 / (I * T)) * R * log(T) ** 2 / T) if t.name == "weights" else t
        for t in MAIN.rates
    ),
)

# In longer ones they are not: all clients that may be absent have weight 1 in round 0 and, at times, weight
# min(K, T - 1) >= 2 later. So the corollary is about no run there.
(_ever_absent,) = symbols("ever_absent")
LONG_RUNS = NEARLY_OPTIMAL.edited(
    "long_runs",
    "FedAU, Corollary 4, Option 1, where T > c and an eighth of the clients may be absent; not printed",
    title="The rate of FedAU with nearly optimal weights, in long runs",
    hypotheses=(
        *NEARLY_OPTIMAL.hypotheses,
        Hypothesis("three_rounds", at_least(T, 3), "T > c"),
        Hypothesis("intervals_are_seen", at_least(K, 2), "T > c, so that K = ceil(log_c T) >= 2"),
        Hypothesis(
            "some_may_be_absent", at_least(_ever_absent, Rational(1, 8)), "p_n < 1 for an eighth of the clients"
        ),
    ),
)

EDITIONS = (MAIN, CORRECTED, NEARLY_OPTIMAL, LONG_RUNS)
