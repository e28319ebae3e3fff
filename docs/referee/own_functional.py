"""A left side of one's own: how far from x* FedAvg settles with full participation and exact gradients.

With noise 0 the models tend to the point w at which the clients' ways cancel. The way of client i is there
-gamma K S_i grad F_i(w), with S_i = (1/K) sum_{k<K} (I - gamma H_i)^k, so

    mean S_i grad F_i(w) = 0,    hence    H (w - x*) = mean (I - S_i) grad F_i(w).

If gamma <= 1/L, then 0 <= I - S_i <= gamma (K - 1) H_i/2. With zeta the largest |grad F_i(x*)|, each |grad F_i(w)| is
at most zeta + L |w - x*|. So, if gamma (K - 1) L^2 <= mu,

    |w - x*| <= gamma (K - 1) L (zeta + L |w - x*|)/(2 mu),    and    |w - x*|^2 <= (gamma (K - 1) L zeta/mu)^2.

The second claim has it that this error is of the second order in the step size. It is of the first.
"""

from dataclasses import replace

from sympy import Ge, Le

from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import Functional
from fedtheory.papers.paper import Paper
from fedtheory.quantities import SQUARED_LENGTH, symbols

L, mu, sigma, zeta = symbols("smoothness", "strong_convexity", "gradient_noise", "dissimilarity_at_optimum")
M, K, gamma, server = symbols("clients", "local_steps", "local_lr", "global_lr")


def squared_distance_of_the_limit(asked):
    gap = asked.setting.fixed_point(exact=True).point - asked.setting.federation.exact_optimum
    return gap @ gap


LIMIT = Functional("squared_distance_of_the_limit", "|w - x*|^2, w the point to which the expected model tends",
                   SQUARED_LENGTH, r"\|w-x^*\|^2", compute=squared_distance_of_the_limit)  # fmt: skip
THEOREM = Claim(
    id="limit.thm1",
    title="Where FedAvg settles",
    source="limit, Theorem 1",
    functional=LIMIT,
    terms=(Term("bias", (gamma * (K - 1) * L * zeta / mu) ** 2),),
    hypotheses=(
        Hypothesis("step_cap", Le(gamma, 1 / L), "Theorem 1"),
        Hypothesis("drift_cap", Le(gamma * (K - 1), mu / L**2), "Theorem 1"),
        Hypothesis("server_at_most", Le(server, 1), "section 1"),
        Hypothesis("server_at_least", Ge(server, 1), "section 1"),
        Hypothesis("no_noise", Le(sigma, 0), "section 1"),
    ),
    assumptions=(
        Assumption("smooth", "smoothness", "section 1"),
        Assumption("strongly_convex", "strong_convexity", "section 1", from_below=True),
        Assumption("noise", "gradient_noise", "section 1"),
    ),
    algorithm="fedavg",
    bound={"arbitrary_cohort": M},
)
SECOND_ORDER = replace(
    THEOREM, id="limit.thm2", source="limit, Theorem 2",
    terms=(Term("bias", (gamma**2 * (K - 1) ** 2 * L**2 * zeta / mu) ** 2),),
)  # fmt: skip

PAPER = Paper(name="limit", title="Where FedAvg settles", claims=(THEOREM, SECOND_ORDER))
