"""An algorithm of one's own, with a theorem on its runs and one that is false.

`own` makes an algorithm of one function, the step: from the model x, what is remembered, and the round, to x and the
memory after it. The same lines run on tensors in the engine and on exact forms that are affine in the state, which is
how the referee knows that these rounds are linear, and computes their errors exactly. This one reports an average: a
fast iterate z makes a stochastic gradient step with everyone, and x moves a share a of the way to it,

    z_{r+1} = z_r - gamma mean_i g_i(z_r),    x_{r+1} = (1 - a) x_r + a z_{r+1},    z_0 = x_0.

With rho = 1 - gamma mu and gamma <= 1/L, E|z_s - x*|^2 <= rho^s |x_0 - x*|^2 + gamma sigma^2/(mu M), as for gradient
descent. x_R is a convex combination, (1 - a)^R x_0 + sum_s a (1 - a)^(R - s) z_s, and where gamma mu <= a each
(1 - a)^(R - s) rho^s is at most rho^R. So, by convexity,

    E|x_R - x*|^2 <= (1 + a R) rho^R |x_0 - x*|^2 + gamma sigma^2/(mu M).

The second claim has it that averaging divides the noise too, by 1/a. It does not: where gamma mu is small next to a, z
wanders slowly, and the average follows it.
"""

from dataclasses import replace

from sympy import Le

from fedtheory.algorithms import own
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.own import define
from fedtheory.papers.paper import Paper
from fedtheory.quantities import DIMENSIONLESS, Quantity, symbols

a = define(Quantity("averaging_share", "how far the reported model moves to the fast iterate", DIMENSIONLESS,
                    upper=1.0, positive=True))  # fmt: skip
L, mu, sigma = symbols("smoothness", "strong_convexity", "gradient_noise")
M, R, gamma, distance = symbols("clients", "rounds", "local_lr", "initial_distance")


def step(x, memory, round, *, local_lr, averaging_share):
    z = memory["fast"] - local_lr * (round.share * round.gradient(memory["fast"])).sum(1)
    return x + averaging_share * (z - x), {"fast": z}


ALGORITHM = own(step, name="averaged", memory={"fast": "model"}, local_lr="1/10", averaging_share="1/2")

THEOREM = Claim(
    id="averaged.thm1",
    title="The average of a fast iterate",
    source="averaged, Theorem 1",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("initial", (1 + a * R) * (1 - gamma * mu) ** R * distance**2),
        Term("noise", gamma * sigma**2 / (mu * M)),
    ),
    hypotheses=(
        Hypothesis("step_cap", Le(gamma, 1 / L), "Theorem 1"),
        Hypothesis("slower_than_average", Le(gamma, a / mu), "Theorem 1"),
    ),
    assumptions=(
        Assumption("smooth", "smoothness", "section 1"),
        Assumption("strongly_convex", "strong_convexity", "section 1", from_below=True),
        Assumption("noise", "gradient_noise", "section 1"),
        Assumption("unbiased", kind="unbiased_noise", source="section 1"),
        Assumption("uncorrelated", kind="uncorrelated_noise", source="section 1"),
    ),
    algorithm="averaged",
    bound={"arbitrary_cohort": M},
)
DIVIDED = replace(
    THEOREM,
    id="averaged.thm2",
    source="averaged, Theorem 2",
    terms=(THEOREM.term("initial"), Term("noise", a * gamma * sigma**2 / (mu * M))),
)

PAPER = Paper(name="averaged", title="Averages of a fast iterate", claims=(THEOREM, DIVIDED))
