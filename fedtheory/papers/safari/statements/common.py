"""Quantities, assumptions and hypotheses that SAFARI's statements share.

A round is the server's, one step of size server_lr on its own stochastic gradient of F, or (with probability
client_round_probability, another thing than FAST's q) the clients': whoever takes part makes local_steps steps of size
local_lr, and the results are averaged. The clients' rounds are the vocabulary's arbitrary ones: the m participants of
S_r are its ``arbitrary_cohort``.
"""

from __future__ import annotations

from sympy import sqrt

from ....assumptions import (
    COHORT_BEFORE_NOISE, INDEPENDENT_NOISE, UNBIASED_NOISE, UNBIASED_SERVER_NOISE, UNCORRELATED_NOISE,
)  # fmt: skip
from ....claims import readings
from ....claims.statement import Ambiguity, Assumption, Hypothesis, numbered, at_least, at_most
from ....functionals import AVERAGES
from ....quantities import symbols

L, mu, m, K, R = symbols("smoothness", "strong_convexity", "arbitrary_cohort", "local_steps", "rounds")
eta_c, eta_s, q = symbols("local_lr", "server_lr", "client_round_probability")
sigma, sigma_s, sigma_G = symbols("gradient_noise", "server_noise", "dissimilarity")
zeta, distance = symbols("initial_gap", "initial_distance")

client_step = q * K * eta_c
mean_step = (1 - q) * eta_s + client_step
"""Mean movement of a round along the gradients, over both kinds of round; ``client_step`` is the clients' part.

The clients' share client_step/mean_step multiplies their bias.
"""

assumptions = numbered(
    Assumption("assumption_3", "smoothness", "Assumption 3"),
    Assumption("assumption_4", "gradient_noise", "Assumption 4"),
    Assumption("assumption_4_server", "server_noise", "Assumption 4"),
    Assumption("assumption_5", "dissimilarity", "Assumption 5"),
    Assumption("strongly_convex", "strong_convexity", "Theorem 5", from_below=True),
    Assumption("assumption_4_mean", kind=UNBIASED_NOISE, source="Assumption 4"),
    Assumption("assumption_4_server_mean", kind=UNBIASED_SERVER_NOISE, source="Assumption 4"),
    Assumption("uncorrelated_noise", kind=UNCORRELATED_NOISE, source="not printed"),
    Assumption("independent_noise", kind=INDEPENDENT_NOISE, source="not printed"),
    Assumption("cohort_before_noise", kind=COHORT_BEFORE_NOISE, source="not printed"),
)
SERVER_NOISE, CLIENT_NOISE = ("server_noise", UNBIASED_SERVER_NOISE), ("gradient_noise", UNBIASED_NOISE)
NONCONVEX = ("smoothness", *CLIENT_NOISE, *SERVER_NOISE, "dissimilarity")
STRONGLY_CONVEX = (*NONCONVEX, "strong_convexity")
CORRECTED_NONCONVEX = assumptions(*NONCONVEX, UNCORRELATED_NOISE, COHORT_BEFORE_NOISE)
CORRECTED_STRONGLY_CONVEX = assumptions(*STRONGLY_CONVEX, INDEPENDENT_NOISE, COHORT_BEFORE_NOISE)
"""Assumptions of corrected editions: the printed ones, and those that the proofs need beside them."""

KINDS = Ambiguity(
    readings.KINDS_OF_ROUNDS,
    (readings.PROBABILITY, readings.EXACT_SHARES),
    "Algorithm 1: with probability q; the proof of Theorem 4: 'in expectation, we define that there are totally' "
    "(1-q)R server and qR client rounds",
)
RANDOM_KINDS = Ambiguity(
    readings.KINDS_OF_ROUNDS, (readings.PROBABILITY,), "each round is the clients' with probability q, alone"
)
SUM_OVER_ROUNDS = Ambiguity(
    readings.AVERAGE,
    AVERAGES,
    "the statement sums r = 1..R, the algorithm and the proof's descent step run over r = 0..R-1",
)
SUM_OF_THE_PROOF = Ambiguity(readings.AVERAGE, AVERAGES[1:], "the iterates whose gradients the descent step bounds")
LOCAL_INDEX = Ambiguity(
    readings.LOCAL_GRADIENTS,
    (readings.FROM_STEP_1, readings.FROM_STEP_0),
    "local training starts from x_{r,0}; G_2 sums over k in [K]",
)
ROOT = Ambiguity(
    readings.ROOT,
    (readings.ROOT_OF_30_L_K, readings.ROOT_OF_30),
    "printed sqrt(30 L K), whose units clash with the step's; the proof's 'i.e.' needs L K outside the root",
)

STEP_CAP = Hypothesis(
    "step_cap",
    at_most(eta_c, 1 / (4 * sqrt(30 * L * K))),
    "Theorem 4",
    alternatives={readings.ROOT_OF_30: at_most(eta_c, 1 / (4 * sqrt(30) * L * K))},
)
MEANT_STEP_CAP = Hypothesis(
    "step_cap", at_most(eta_c, 1 / (4 * sqrt(30) * L * K)), "Theorem 4, with 30 alone in the root"
)
SERVER_CAP = Hypothesis("server_cap", at_most(eta_s, 2 / (L + mu)), "Theorem 5")

ONE_ROUND = Hypothesis("one_round", at_most(R, 1), "one round, from x_0 = x_r")
SERVER_ROUND = Hypothesis("server_round", at_most(q, 0), "'when server updates'")
CLIENT_ROUND = Hypothesis("client_round", at_least(q, 1), "'when clients update'")
