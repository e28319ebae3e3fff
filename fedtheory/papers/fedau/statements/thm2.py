"""FedAU, Theorem 2: Algorithm 1 with any given weights, by their error W and scale Q.

The terms carry the constants that follow from summing (B.5.3), under Option 2 of Assumption 5 (a bounded gradient), and
(B.5.5), under Option 1 (nearly optimal weights).
"""

from __future__ import annotations

from sympy import Rational

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, least, at_most
from ....functionals import AVERAGE_SQUARED_GRADIENT, AVERAGES
from ....quantities import symbols
from .common import EXPLICIT, NONCONVEX, G, I, L, N, T, assumptions, delta, gamma, initial_gap, sigma
from .rounds import GLOBAL_CAP, LOCAL_CAP, Q, W, step

Q_expected, peak_error = symbols("expected_weight_scale", "peak_weight_error")

SUM_OVER_ROUNDS = Ambiguity(readings.AVERAGE, AVERAGES[1:], "the sum in (6) runs over t = 0..T-1")

# With Algorithm 2's weights Q is known after the run only. A step chosen by it depends on who takes part later, and the
# first step of the proof, (B.3.6), does not hold.
KNOWN_SCALE = Ambiguity(
    readings.WEIGHTS,
    (readings.GIVEN, readings.ESTIMATED),
    "'arbitrary (but given) weights'; Corollary 4 uses the theorem with those of Algorithm 2, whose Q is random",
)
GIVEN_WEIGHTS = Ambiguity(readings.WEIGHTS, (readings.GIVEN,), "Q is a number that is known beforehand")

STEP_CAP = Hypothesis("global_cap", at_most(step, least(1 / (4 * L * I), N / (54 * L * I * Q))), "Theorem 2")
_share = Rational(27, 8)

MAIN = Claim(
    id="fedau.thm2",
    title="FedAvg with given weights and a bounded gradient",
    source="FedAU, section 4, Theorem 2, (6), Option 2; (B.5.3)",
    functional=AVERAGE_SQUARED_GRADIENT,
    terms=(
        Term("optimization", 8 * initial_gap / (step * I * T)),
        Term("weights", 12 * (15 * L**2 * I * gamma**2 * sigma**2 + _share * (delta**2 + G**2)) * W),
        Term("scale", step * L / N * (Rational(17, 2) * sigma**2 + 27 * I * delta**2) * Q),
        Term("drift", 20 * gamma**2 * L**2 * I * (sigma**2 + 6 * I * delta**2)),
    ),
    hypotheses=(LOCAL_CAP, STEP_CAP),
    assumptions=assumptions(*NONCONVEX, "global_gradient_bound"),
    ambiguities=(SUM_OVER_ROUNDS, KNOWN_SCALE),
    rates=(
        Term("optimization", initial_gap / (step * I * T)),
        Term("weights", (G**2 + delta**2 + gamma**2 * L**2 * I * sigma**2) * W),
        Term("scale", step * L * Q * (I * delta**2 + sigma**2) / N),
        Term("drift", gamma**2 * L**2 * I * (I * delta**2 + sigma**2)),
    ),
    constants=EXPLICIT,
)

# No cap by Q: (27/8) step L I Q |grad f|^2 / N is bounded in expectation, by G^2. The steps are fixed beforehand.
CORRECTED = MAIN.edited(
    "corrected",
    "FedAU, Theorem 2, Option 2, repaired",
    title="FedAvg with estimated weights and a bounded gradient: no step depends on the run",
    terms=(
        Term("optimization", Rational(16, 3) * initial_gap / (step * I * T)),
        Term("weights", 8 * (15 * L**2 * I * gamma**2 * sigma**2 + _share * (delta**2 + G**2)) * W),
        Term("scale", Rational(16, 3) * step * L / N
             * (Rational(17, 16) * sigma**2 + _share * I * (delta**2 + G**2)) * Q_expected),
        Term("drift", Rational(40, 3) * gamma**2 * L**2 * I * (sigma**2 + 6 * I * delta**2)),
    ),
    hypotheses=(LOCAL_CAP, GLOBAL_CAP),
    ambiguities=(SUM_OVER_ROUNDS,),
    rates=(),
    constants="",
)  # fmt: skip

# Under Algorithm 2 this says nothing for K >= 2, T >= 3 and 0 < p_n < 1: round 0 asks mean (1 - p_n)^2 <= 1/81, and
# round 2, if all were away in round 0 and there in round 1, mean (2 p_n - 1)^2 <= 1/81.
NEARLY_OPTIMAL = MAIN.edited(
    "main",
    "FedAU, section 4, Theorem 2, (6), Option 1; (B.5.5)",
    id="fedau.thm2.nearly_optimal",
    title="FedAvg with given, nearly optimal weights",
    terms=(
        Term("optimization", 16 * initial_gap / (step * I * T)),
        Term("weights", 24 * (15 * L**2 * I * gamma**2 * sigma**2 + _share * delta**2) * W),
        Term("scale", step * L / N * (17 * sigma**2 + 54 * I * delta**2) * Q),
        Term("drift", 40 * gamma**2 * L**2 * I * (sigma**2 + 6 * I * delta**2)),
    ),
    hypotheses=(
        LOCAL_CAP,
        STEP_CAP,
        Hypothesis("nearly_optimal", at_most(peak_error, Rational(1, 81)), "Assumption 5, Option 1"),
    ),
    assumptions=assumptions(*NONCONVEX),
    rates=(
        MAIN.rates[0],
        Term("weights", (delta**2 + gamma**2 * L**2 * I * sigma**2) * W),
        *MAIN.rates[2:],
    ),
)

EDITIONS = (MAIN, CORRECTED, NEARLY_OPTIMAL)
