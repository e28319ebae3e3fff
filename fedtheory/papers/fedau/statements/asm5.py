"""FedAU, Assumption 5: weights within a ninth of 1/p_n; and appendix A.3: what weights of 1/p_n mean for Q."""

from __future__ import annotations

from sympy import Integer, Rational

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_least, at_most
from ....functionals import of_values
from ....quantities import symbols
from .common import N, p

(omega,) = symbols("aggregation_weight")
(S,) = symbols("cohort")
_NINTH = Rational(1, 9)

FRACTION = Ambiguity(
    readings.FRACTIONS,
    (readings.BELOW_THE_LINE, readings.BESIDE_IT),
    "printed 8/9p_n and 10/9p_n, 'a toleration of a relative error of 1/9 from the optimal weight 1/p_n'",
)

INTERVAL = Claim(
    id="fedau.asm5.interval",
    title="Weights that are nearly optimal",
    source="FedAU, section 4, after Assumption 5",
    functional=of_values("squared_weight_error", "(p_n omega_t - 1)^2", (p * omega - 1) ** 2, r"(p_n\omega_t^n-1)^2"),
    terms=(Term("tolerance", _NINTH**2),),
    hypotheses=(
        Hypothesis("from_below", at_least(omega, 8 * _NINTH / p), "after Assumption 5",
                   alternatives={readings.BESIDE_IT: at_least(omega, 8 * _NINTH * p)}),
        Hypothesis("from_above", at_most(omega, 10 * _NINTH / p), "after Assumption 5",
                   alternatives={readings.BESIDE_IT: at_most(omega, 10 * _NINTH * p)}),
    ),
    ambiguities=(FRACTION,),
)  # fmt: skip

# p_n omega_n^2 at omega_n = 1/p_n, p_n = S/N; the mean over clients is the same, since all are alike.
_COHORT = Hypothesis("cohort", at_most(S, N), "'sampling of S clients out of a total of N'")
KNOWN = Claim(
    id="fedau.appA_3.scale",
    title="Known probabilities and S of N clients: Q = N/S",
    source="FedAU, appendix A.3",
    functional=of_values("known_scale", "p_n omega_n^2 at omega_n = 1/p_n and p_n = S/N", (p / p**2).subs(p, S / N),
                         r"\frac{1}{N}\sum_{n=1}^N\frac{1}{p_n}"),
    terms=(Term("scale", N / S),),
    hypotheses=(_COHORT,),
)  # fmt: skip
KNOWN_ERROR = Claim(
    id="fedau.appA_3.error",
    title="Known probabilities: no weight error",
    source="FedAU, appendix A.3",
    functional=of_values("known_error", "(p_n omega_n - 1)^2 at omega_n = 1/p_n",
                         ((p * omega - 1) ** 2).subs(omega, 1 / p), r"\mathbb{E}[(p_n\omega_t^n-1)^2]"),
    terms=(Term("zero", Integer(0)),),
)  # fmt: skip

EDITIONS = (INTERVAL, KNOWN, KNOWN_ERROR)
