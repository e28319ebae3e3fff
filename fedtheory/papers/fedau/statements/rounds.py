"""FedAU, Lemmas B.3.1 to B.3.3 and B.5.1: one round, for any objective f~ = sum of phi_n F_n.

``gradient_norm`` is |grad f~(x_0)|, ``weight_scale`` the mean over clients of p_n omega_n^2 in the round,
``objective_error`` the sum over clients of (p_n omega_n/N - phi_n)^2. As f is one such objective (phi_n = 1/N), where
Assumption 3 gives delta itself, Lemma B.5.1 has delta for the 2 delta of B.3.1.
"""

from __future__ import annotations

from sympy import Rational, sqrt

from ....claims import readings
from ....claims.statement import Ambiguity, Claim, Hypothesis, Term, at_most
from ....functionals import LOCAL_DRIFT, WEIGHTED_DIVERGENCE, WEIGHTED_INCREASE
from ....quantities import symbols
from .common import NONCONVEX, I, L, N, T, assumptions, delta, eta, gamma, sigma

gradient, objective_error, Q, W = symbols("gradient_norm", "objective_error", "weight_scale", "weight_error")
(least_weight,) = symbols("least_objective_weight")
step = gamma * eta

ONE_ROUND = Hypothesis("one_round", at_most(T, 1), "one round, from x_0 = x_t")
LOCAL_CAP = Hypothesis("local_cap", at_most(gamma, 1 / (4 * sqrt(15) * L * I)), "Lemma B.3.3; Theorem 2")
GLOBAL_CAP = Hypothesis("global_cap", at_most(step, 1 / (4 * L * I)), "Lemma B.3.3")

# A weight of a later round tells who took part in this one. Given all weights the lemma fails: N = L = I = 1,
# F = x^2/2, no noise, p = 9/10, K >= 2, weights of Algorithm 2. If omega_2 = 2, round 0 had nobody and x_1 = x_0.
CONDITIONING = Ambiguity(
    readings.CONDITIONING,
    (readings.OF_THE_ROUND, readings.OF_ALL_ROUNDS),
    "E_t is the expectation given x_t and {omega_t^n}, which may stand for the weights of one round or of all",
)

LEMMA_B_3_1 = Claim(
    id="fedau.lemmaB_3_1",
    title="Clients differ from any weighted objective by at most 2 delta",
    source="FedAU, appendix B.3, Lemma B.3.1, (B.3.2)",
    functional=WEIGHTED_DIVERGENCE,
    terms=(Term("dissimilarity", (2 * delta) ** 2),),
    hypotheses=(ONE_ROUND,),
    assumptions=assumptions("dissimilarity"),
)

# grad F_n - grad f~ = sum over m of phi_m (grad F_n - grad F_m), of which n itself is no part; equal for two clients.
LEMMA_B_3_1_SHARP = LEMMA_B_3_1.edited(
    "sharp", "FedAU, Lemma B.3.1, sharpened", terms={"dissimilarity": (2 * (1 - least_weight) * delta) ** 2}
)

LEMMA_B_3_2 = Claim(
    id="fedau.lemmaB_3_2",
    title="How far local training moves",
    source="FedAU, appendix B.3, Lemma B.3.2, (B.3.3)",
    functional=LOCAL_DRIFT,
    terms=(
        Term("noise", 5 * I * gamma**2 * sigma**2),
        Term("dissimilarity", 30 * I**2 * gamma**2 * (2 * delta) ** 2),
        Term("gradient", 30 * I**2 * gamma**2 * gradient**2),
    ),
    hypotheses=(ONE_ROUND, Hypothesis("local_cap", at_most(gamma, 1 / (sqrt(30) * L * I)), "Lemma B.3.2")),
    assumptions=assumptions(*NONCONVEX),
)


# The geometric sum with the constant e - 1 <= 7/4, to which it tends for I -> infinity; 6 I gamma^2 L^2 has room.
LEMMA_B_3_2_SHARP = LEMMA_B_3_2.edited(
    "sharp",
    "FedAU, Lemma B.3.2, sharpened",
    terms={
        "noise": Rational(7, 4) * I * gamma**2 * sigma**2,
        "dissimilarity": Rational(21, 2) * I**2 * gamma**2 * (2 * delta) ** 2,
        "gradient": Rational(21, 2) * I**2 * gamma**2 * gradient**2,
    },
    hypotheses={"local_cap": at_most(gamma, 1 / (4 * L * I))},
)


def _descent(divergence, error) -> tuple[Term, ...]:
    """The right side of (B.3.5) and (B.5.1); ``error`` is N times the objective error."""
    share = Rational(27, 8)
    away = 15 * L**2 * I * gamma**2 * sigma**2 + share * divergence**2
    bracket = Rational(81, 16) * error + 15 * L**2 * I**2 * gamma**2 + share * step * L * I * Q / N - Rational(1, 4)
    return (
        Term("weights", Rational(3, 2) * step * I * away * error),
        Term("drift", Rational(5, 2) * gamma**2 * step * L**2 * I**2 * (sigma**2 + 6 * I * divergence**2)),
        Term("scale", step**2 * L * I / N * (Rational(17, 16) * sigma**2 + share * I * divergence**2) * Q),
        Term("decrease", step * I * bracket * gradient**2),
    )


LEMMA_B_3_3 = Claim(
    id="fedau.lemmaB_3_3",
    title="The decrease of a weighted objective in one round",
    source="FedAU, appendix B.3, Lemma B.3.3, (B.3.5)",
    functional=WEIGHTED_INCREASE,
    terms=_descent(2 * delta, N * objective_error),
    hypotheses=(ONE_ROUND, LOCAL_CAP, GLOBAL_CAP),
    assumptions=assumptions(*NONCONVEX),
    ambiguities=(CONDITIONING,),
)

LEMMA_B_5_1 = LEMMA_B_3_3.edited(
    "main", "FedAU, appendix B.5, Lemma B.5.1, (B.5.1)", id="fedau.lemmaB_5_1",
    title="The decrease of the objective in one round", terms=_descent(delta, W),
)  # fmt: skip

THEOREM_1 = (LEMMA_B_3_1, LEMMA_B_3_1_SHARP, LEMMA_B_3_2, LEMMA_B_3_2_SHARP, LEMMA_B_3_3)
THEOREM_2 = (LEMMA_B_5_1,)
EDITIONS = (*THEOREM_1, *THEOREM_2)
