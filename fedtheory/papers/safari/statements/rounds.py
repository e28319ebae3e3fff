"""SAFARI, appendix: bounds on one round from x_0 = x_r that the proofs of Theorems 4 and 5 show.

Sums of local gradients and drifts are random, and read in expectation over the round, as the sides they come from.
"""

from __future__ import annotations


from ....claims.statement import Claim, Hypothesis, Term, at_most
from ....functionals import FINAL_SQUARED_DISTANCE, SQUARED_GRADIENT
from ....quantities import symbols
from .common import (
    CLIENT_NOISE, CLIENT_ROUND, ONE_ROUND, ROOT, SERVER_CAP, SERVER_NOISE, SERVER_ROUND, STEP_CAP, STRONGLY_CONVEX,
    K, L, assumptions, distance, eta_c, eta_s, m, mu, q, sigma, sigma_G, sigma_s,
)  # fmt: skip
from .thm5 import SERVER_STEP, client_cost, rate, tied_rate

gradient, decrease = symbols("gradient_norm", "objective_decrease")
pseudogradient, excess, drift = symbols("arbitrary_pseudogradient", "arbitrary_excess", "arbitrary_drift")

EQ_28 = Claim(
    id="safari.eq28",
    title="A server round decreases the objective",
    source="SAFARI, appendix, (28)",
    functional=SQUARED_GRADIENT,
    terms=(
        Term("decrease", 2 / eta_s * decrease),
        Term("gradient", (L * eta_s - 1) * gradient**2),
        Term("server_noise", L * eta_s * sigma_s**2),
    ),
    hypotheses=(ONE_ROUND, SERVER_ROUND),
    assumptions=assumptions("smoothness", *SERVER_NOISE),
)

EQ_50 = Claim(
    id="safari.eq50",
    title="A client round decreases the objective, up to the dissimilarity",
    source="SAFARI, appendix, (50)",
    functional=SQUARED_GRADIENT,
    terms=(
        Term("decrease", 2 / eta_s * decrease),
        Term("dissimilarity", 4 * sigma_G**2),
        Term("pseudogradient", (8 * L * eta_s / K**2 - 2 / K**2) * pseudogradient),
        Term("drift", 80 * L**2 * eta_s**2 / K * (sigma**2 + 6 * K * sigma_G**2)),
        Term("noise", 8 * L * eta_s / (m * K) * sigma**2),
    ),
    hypotheses=(ONE_ROUND, CLIENT_ROUND, STEP_CAP),
    assumptions=assumptions("smoothness", *CLIENT_NOISE, "dissimilarity"),
    ambiguities=(ROOT,),
    choices={"local_lr": 2 * eta_s / K},
)

EQ_58 = Claim(
    id="safari.eq58",
    title="A server round contracts",
    source="SAFARI, appendix, (58)",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("distance", (1 - tied_rate) * distance**2),
        Term("gradient", eta_s * (eta_s - 2 / (L + mu)) * gradient**2),
        Term("server_noise", eta_s**2 * sigma_s**2),
    ),
    hypotheses=(ONE_ROUND, SERVER_ROUND, SERVER_CAP),
    assumptions=assumptions("smoothness", *SERVER_NOISE, "strong_convexity"),
)

# (65) and (77) are steps of Theorem 5, whose step sizes are tied.
EQ_65 = Claim(
    id="safari.eq65",
    title="A client round contracts, up to its drift",
    source="SAFARI, appendix, (65)",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("distance", (1 - rate) * distance**2),
        Term("pseudogradient", eta_c**2 * pseudogradient),
        Term("noise", K * eta_c**2 / m * sigma**2),
        Term("excess", -2 * eta_c * K * excess),
        Term("drift", 2 * eta_c * L * drift),
    ),
    hypotheses=(ONE_ROUND, CLIENT_ROUND, SERVER_CAP),
    assumptions=assumptions("smoothness", *CLIENT_NOISE, "strong_convexity"),
    choices={"server_lr": SERVER_STEP},
)

_z = eta_c * K * L
_drift = 2 * eta_c * K * L * (1 + _z) * 5 * K * eta_c**2 * (sigma**2 + 6 * K * sigma_G**2)

EQ_77 = EQ_65.edited(
    "main",
    "SAFARI, appendix, (77)",
    id="safari.eq77",
    title="A client round contracts, up to the dissimilarity and the gradient",
    terms=(
        Term("distance", (1 - rate) * distance**2),
        Term("client_bias", 4 * eta_c**2 * K**2 * sigma_G**2),
        Term("gradient", 4 * eta_c**2 * K**2 * (1 + 15 * _z * (1 + _z)) * gradient**2),
        Term("noise", K * eta_c**2 / m * sigma**2),
        Term("excess", -2 * eta_c * K * excess),
        Term("drift", _drift),
    ),
    assumptions=assumptions("smoothness", *CLIENT_NOISE, "dissimilarity", "strong_convexity"),
)

# The condition after (83), with the factor 4 that (81) prints where (78) gives 16.
_server_part = (L + mu) / (2 * L * mu) * ((L + mu) * tied_rate / (2 * L * mu) - 2 / (L + mu))
EQ_83 = EQ_77.edited(
    "main",
    "SAFARI, appendix, (83)",
    id="safari.eq83",
    title="A round of either kind contracts, in expectation over the kinds",
    terms=(
        Term("distance", (1 - rate) * distance**2),
        Term("client_bias", 4 * q * eta_c**2 * K**2 * sigma_G**2),
        Term("noise", q * K * eta_c**2 / m * sigma**2),
        Term("drift", q * _drift),
        Term("server_noise", (1 - q) * SERVER_STEP**2 * sigma_s**2),
    ),
    hypotheses=(
        ONE_ROUND,
        SERVER_CAP,
        Hypothesis(
            "q_condition",
            at_most(
                (4 * q * tied_rate / mu**2 * client_cost + (1 - q) * _server_part) * gradient**2, 4 * q / mu * excess
            ),
            "after (83)",
        ),
    ),
    assumptions=assumptions(*STRONGLY_CONVEX),
)

NONCONVEX = (EQ_28, EQ_50)
CONVEX = (EQ_58, EQ_65, EQ_77, EQ_83)
EDITIONS = (*NONCONVEX, *CONVEX)
