"""Quantities, assumptions and hypotheses that FLICS-OPT's statements share.

Clients come in groups. In every round the server asks for r_j(t) of the a_j(t) clients of group j that are there. Every
one of them answers on its own with probability r_j(t) / a_j(t). What group j sends is multiplied by p_j / s^_j(t),
where s^_j(t) estimates the group's long-term participation s_j. K is the main text's T_L, M the number of groups.

What the paper prints and cannot mean is read as its proofs have it: Assumption 4 bounds a norm by G, not by G^2; S_i is
the random number of answers; the server's step is w + eta Delta; line 7's first step, which divides by zero, is display
(6)'s. The dissimilarity sigma_G, which no assumption introduces, is that of Lemma 2 of the analysis that the proof
cites, and local_lr <= 1/(8LK) is that lemma's.
"""

from __future__ import annotations

from sympy import Rational

from ....assumptions import INDEPENDENT_ANSWERS, INDEPENDENT_NOISE, STATIONARY_AVAILABILITY, UNBIASED_NOISE
from ....claims import readings
from ....claims.statement import Ambiguity, Assumption, Hypothesis, numbered, at_least, at_most
from ....quantities import symbols

L, M, K, T = symbols("smoothness", "groups", "local_steps", "rounds")
eta, eta_L = symbols("global_lr", "local_lr")
sigma, sigma_G, G = symbols("gradient_noise", "dissimilarity", "local_gradient_bound")
P, epsilon, r_min, worst, s_min = symbols(
    "weight_concentration", "estimate_error", "least_participation", "largest_estimate_error",
    "least_group_participation",
)  # fmt: skip
gap, c = symbols("initial_gap", "descent_constant")
gradient, pseudogradient = symbols("gradient_norm", "weighted_pseudogradient")
spread, proxy, mismatch, mean_mismatch, rate_spread, answer_proxy, answer_mismatch = symbols(
    "selection_variance", "selection_proxy", "weight_mismatch", "mean_mismatch", "rate_spread", "answer_proxy",
    "answer_mismatch",
)  # fmt: skip

inflation = 1 + epsilon / r_min
"""epsilon^."""

drift = L**2 * eta_L**2 * G**2 * (K - 1) * (2 * K - 1) * Rational(1, 6)
"""A bound on (L^2/K) sum_k E|w_k - w_0|^2, since |w_k - w_0| is at most k eta_L G in the mean square."""

assumptions = numbered(
    Assumption("assumption_2", "smoothness", "Assumption 2"),
    Assumption("assumption_3", "gradient_noise", "Assumption 3"),
    Assumption("assumption_4", "local_gradient_bound", "Assumption 4"),
    Assumption("dissimilarity", "dissimilarity", "Lemma 2 of Yang et al. 2020"),
    Assumption("assumption_1", kind=STATIONARY_AVAILABILITY, source="Assumption 1"),
    Assumption("assumption_3_mean", kind=UNBIASED_NOISE, source="Assumption 3"),
    Assumption("assumption_3_independent", kind=INDEPENDENT_NOISE, source="Assumption 3, 'independently'"),
    Assumption("answers", kind=INDEPENDENT_ANSWERS, source="Definition 1, Algorithm 1"),
)
NOISE = ("gradient_noise", UNBIASED_NOISE, INDEPENDENT_NOISE)
ROUNDS = (STATIONARY_AVAILABILITY, INDEPENDENT_ANSWERS)

ESTIMATES = Hypothesis("estimates", at_most(worst, epsilon), "Theorem 1, Lemma 4: |s - s^(t)| is at most epsilon")
ERROR_ITSELF = Hypothesis(
    "error_itself", at_least(worst, epsilon), "an equality in epsilon: of all bounds on the error, it is the error",
    implicit=True,
)  # fmt: skip
LEAST_PARTICIPATION = Hypothesis("least_participation", at_most(r_min, s_min), "Theorem 1, (10)")
LOCAL_CAP = Hypothesis("local_cap", at_most(eta_L, 1 / (8 * L * K)), "Lemma 2 of Yang et al. 2020", implicit=True)

LINE_14 = Ambiguity(
    readings.LINE_14,
    (readings.DIVIDED, readings.NOT_DIVIDED),
    "Algorithm 1 divides the sum of the updates by the number of answers, the proofs from (24) on do not",
)
SIGMA = Ambiguity(
    readings.SIGMA,
    (readings.COVARIANCE, readings.CORRELATION),
    "Theorem 1 calls Sigma 'the correlation matrix' of the numbers of answers, Lemma 6, on which it rests, their "
    "covariance matrix",
)
UNDIVIDED = Ambiguity(readings.LINE_14, (readings.NOT_DIVIDED,), "as in the proofs")
