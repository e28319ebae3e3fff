"""A theorem for the referee: `fedtheory referee docs/referee/my_theorem.py --save report.md`.

A file for the referee defines CLAIM, and STEPS if the proof's inequalities are to be checked too. This example states a
bound for local SGD with a uniformly drawn cohort of m clients in every round, which is FAST with q = 1: `algorithm`
says so, and `bound` that q is 1.

    E|x_R - x*|^2 <= exp(-mu K R eta) |x_0 - x*|^2 + 8 L K^2 eta^2 sigma_G^2 / mu + 2 eta sigma^2 / (m mu)

It looks like the bounds of the literature, and it is wrong: a cohort of m < M clients has its own minimiser, so the
dissimilarity enters at first order in the step size. The referee finds an instance that shows it.

Symbols come from the vocabulary (`fedtheory quantities` lists it), so that units can be checked; the left side is one
of `fedtheory functionals`. Hypotheses are sympy relations `Le(a, b)` or `Ge(a, b)`. Assumptions name the constants that
have to be the federation's own (or larger; smaller for strong convexity), or a kind of `fedtheory assumptions`.
"""

from sympy import Le, Rational, exp

from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.proof.steps import Nonnegative, Step
from fedtheory.proof.symbol_regions import capped, count, positive, region
from fedtheory.quantities import symbols

L, mu, sigma, sigma_G = symbols("smoothness", "strong_convexity", "gradient_noise", "dissimilarity")
m, K, R, eta = symbols("cohort", "local_steps", "rounds", "local_lr")
(distance,) = symbols("initial_distance")

CLAIM = Claim(
    id="example.thm1",
    edition="main",
    title="Local SGD with a sampled cohort",
    source="example, Theorem 1",
    functional=FINAL_SQUARED_DISTANCE,
    terms=(
        Term("initial", exp(-mu * K * R * eta) * distance**2),
        Term("heterogeneity", 8 * L * K**2 * eta**2 * sigma_G**2 / mu),
        Term("noise", 2 * eta * sigma**2 / (m * mu)),
    ),
    hypotheses=(Hypothesis("step_cap", Le(eta, 1 / (20 * m * L * K)), "Theorem 1"),),
    assumptions=(
        Assumption("smooth", "smoothness", "Assumption 1"),
        Assumption("noise", "gradient_noise", "Assumption 2"),
        Assumption("alike", "dissimilarity", "Assumption 3"),
        Assumption("strongly_convex", "strong_convexity", "Assumption 4", from_below=True),
        Assumption("unbiased", kind="unbiased_noise", source="Assumption 2"),
        Assumption("uncorrelated", kind="uncorrelated_noise", source="Assumption 2"),
        Assumption("cohort", kind="uniform_cohorts", source="section 2"),
    ),
    algorithm="fast",
    bound={"snapshot_probability": 1},
)

# A step of a proof: what its author believes to be >= 0, on the region where that is needed. A step of the kind
# "polynomial" is decided by a certificate of positivity, by a counterexample, or not at all.
under_the_cap = region(
    capped("local_lr", 1 / (20 * m * L * K)), positive("smoothness"), count("local_steps"), count("cohort")
)
z = L * K * eta
STEPS = (
    Step(
        name="absorption",
        equation="(7)",
        says="60 z^3 + 4 z^2 + 60 z^4 <= 8 z^2",
        kind="polynomial",
        checks=(Nonnegative(4 * z**2 - 60 * z**3 - 60 * z**4, (under_the_cap,)),),
    ),
    Step(
        name="dropped_term",
        equation="(9)",
        says="z <= z^2 / 20, absorbing a term of lower order",  # wrong: the powers are the other way round
        kind="polynomial",
        checks=(Nonnegative(Rational(1, 20) * z**2 - z, (under_the_cap,)),),
    ),
)
