"""Theorem 1: local SGD on identical, strongly convex data.

The paper counts the T steps of all rounds, and bounds E|xhat_T - x*|^2 for the mean xhat_T of the clients' models at
any of them. It is stated here where the clients are synchronised, T = R H with ``local_steps`` H and ``rounds`` R, and
where xhat_T is the server's model. That all clients have the same data is said by a dissimilarity of 0, that
all take part by ``arbitrary_cohort`` = ``clients``.
"""

from __future__ import annotations


from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term, at_least, at_most
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.quantities import symbols

L, mu, sigma, spread = symbols("smoothness", "strong_convexity", "gradient_noise", "dissimilarity")
M, taking_part, H, R = symbols("clients", "arbitrary_cohort", "local_steps", "rounds")
gamma, distance = symbols("local_lr", "initial_distance")

MAIN = Claim(
    id="khaled2020.thm1",
    title="Local SGD on identical, strongly convex data",
    source="Khaled et al. 2020, Theorem 1, at the synchronisations T = R H",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("initial", (1 - gamma * mu) ** (H * R) * distance**2),
        Term("noise", gamma * sigma**2 / (mu * M)),
        Term("drift", 2 * L * gamma**2 * (H - 1) * sigma**2 / mu),
    ),
    hypotheses=(
        Hypothesis("step_cap", at_most(gamma, 1 / (4 * L)), "Theorem 1"),
        Hypothesis("identical_data", at_most(spread, 0), "identical data: f_1 = ... = f_M"),
        Hypothesis("everyone", at_least(taking_part, M), "local SGD"),
    ),
    assumptions=(
        Assumption("smooth", "smoothness", "smoothness"),
        Assumption("strongly_convex", "strong_convexity", "strong convexity", from_below=True),
        Assumption("noise", "gradient_noise", "bounded variance"),
        Assumption("identical", "dissimilarity", "identical data"),
        Assumption("unbiased", kind="unbiased_noise", source="bounded variance"),
        Assumption("uncorrelated", kind="uncorrelated_noise", source="independent clients"),
    ),
)

EDITIONS = (MAIN,)
