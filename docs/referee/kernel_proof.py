"""A theorem of one's own that the kernel proves: local SGD on identical data, with steps twice as long.

Khaled, Mishchenko and Richtarik take gamma <= 1/(4 L). The same two inductions, over the steps of a round and over
those of all rounds, allow gamma <= 1/(2 L): with X_k the mean of the clients' iterates, in expectation over the run,

    mean |x_{i,k} - X_k|^2 <= k gamma^2 sigma^2
    E|X_{k+1} - x*|^2 <= (1 - mu gamma) E|X_k - x*|^2 + 2 (K - 1) L gamma^3 sigma^2 + gamma^2 sigma^2/M.

A step of the proof is a goal, the theorems that it follows from, and squares; their multipliers are found by
`find_multipliers`, which is told the vectors of the squares and no number. (With gamma <= 1/L it names the term that
fails.) The kernel makes the theorem from them, and rules make the bound on the run: nothing of it is declared.
"""

from dataclasses import replace
from functools import cache

from sympy import Le

from fedtheory.papers import claim
from fedtheory.papers.paper import Paper
from fedtheory.proof.kernel.axioms import ITERATE, MEAN_ITERATE, NEXT, NOISE, OPTIMUM, Axioms, at
from fedtheory.proof.kernel.client_means import LAST, MeanAxioms
from fedtheory.proof.kernel.forms import Form, square
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import weaken
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.step_run_bounds import iterate_steps
from fedtheory.proof.kernel.theorems import at_step, combine, induct, over_clients
from fedtheory.proof.multiplier_search import find_multipliers
from fedtheory.proof.translate.claim_bounds import made_bounds
from fedtheory.quantities import symbols

gamma, L = symbols("local_lr", "smoothness")
PRINTED = claim("khaled2020.thm1")
CLAIM = replace(
    PRINTED.edited("main", "main", hypotheses={"step_cap": Le(gamma, 1 / (2 * L))}),
    id="longer.thm1", title="Local SGD on identical data, steps twice as long", source="mine, Theorem 1",
    algorithm="local_sgd",
)  # fmt: skip

# The letters of the proof, the region on which it holds, and the quantities that the letters stand for.
RING = Ring("eta L mu K k n sigma sigma_G")
eta, L_, mu, K, k, n, sigma, sigma_G = RING.symbols
WHERE = Where(RING, (
    Condition("eta", "capped", 1 / (2 * L_)), Condition("L", "at_least", mu), Condition("mu", "positive"),
    Condition("K", "count"), Condition("n", "count"), Condition("sigma", "nonnegative"),
    Condition("sigma_G", "interval", RING.number(0)),
))  # fmt: skip
LETTERS = {
    "eta": "local_lr", "L": "smoothness", "mu": "strong_convexity", "K": "local_steps", "n": "clients",
    "sigma": "gradient_noise", "sigma_G": "dissimilarity", "R": "rounds", "d": "initial_distance",
    "S": "arbitrary_cohort",
}  # fmt: skip
AXIOMS, MEANS = Axioms(WHERE, eta, n, "run"), MeanAxioms(WHERE, eta)

# Vectors: a client's iterate x and the clients' mean X, gradients g there, h at the mean and b at x*, and the noise N.
x, best, N = AXIOMS.vector(ITERATE), AXIOMS.vector(OPTIMUM), AXIOMS.vector(NOISE)
g, h, b = AXIOMS.gradient(ITERATE), AXIOMS.gradient(MEAN_ITERATE), AXIOMS.gradient(OPTIMUM)
X, G, noise, after = x.under("M"), g.under("M"), N.under("M"), AXIOMS.vector(at(ITERATE, 1))


@cache
def drift():
    """The first line, by induction over the steps k of a round."""
    bound = Form.constant(k * eta**2 * sigma**2) - square(x).under("M") + square(X)
    ahead, flat, far = after.under("M"), g - h, h - h.under("M")
    step = find_multipliers(
        at_step(bound, 1, 0, 1) - bound,
        [
            over_clients(AXIOMS.local_step(after + x - (g + N) * eta), "M"),
            over_clients(AXIOMS.local_step(ahead + X - (G + noise) * eta), "M"),
            over_clients(AXIOMS.unbiased(x - g * eta - X + G * eta), "M"),
            over_clients(AXIOMS.variance(sigma**2), "M"),
            over_clients(AXIOMS.cocoercive(ITERATE, MEAN_ITERATE, mu, L_), "M"),
            MEANS.mean_iterate((g - h).under("M") * (mu + L_) + (AXIOMS.vector(MEAN_ITERATE) - X) * (mu * L_)),
            over_clients(AXIOMS.dissimilar(MEAN_ITERATE, sigma_G**2), "M"),
        ],
        where=WHERE,
        context="run",
        squares=[(noise, ""), ((x - X) * (2 * mu * L_ / (mu + L_)) + far, "M"), (flat - far, "M"),
                 (G - h.under("M"), ""), (flat, "M")],
    )  # fmt: skip
    return induct(combine([], where=WHERE, context="run"), step.theorem, bound, RING.number(1))


@cache
def one_step():
    """The second line."""
    ahead, apart = after.under("M") - best, X - best
    addition = 2 * (K - 1) * L_ * eta**3 * sigma**2 + eta**2 * sigma**2 / n
    return find_multipliers(
        square(apart) * (1 - mu * eta) + Form.constant(addition) - square(ahead),
        [
            over_clients(AXIOMS.local_step(ahead + apart - (G + noise) * eta), "M"),
            over_clients(AXIOMS.unbiased(apart - G * eta), "M"),
            over_clients(AXIOMS.variance(sigma**2), "M"),
            MEANS.uncorrelated_clients(n),
            over_clients(AXIOMS.cocoercive(ITERATE, OPTIMUM, mu, L_), "M"),
            MEANS.optimal_along(apart * (2 * eta) - (G * 2 - b.under("M")) * eta**2),
            drift(),
        ],
        where=WHERE,
        context="run",
        squares=[((x - X) * (2 * L_) - (g - b), "M"), (g - b - (g - b).under("M"), "M"), (g - b, "M"), (x - X, "M"),
                 (x - best, "M")],
    ).theorem  # fmt: skip


@cache
def round_end():
    """|x+ - x*|^2 = |X_K - x*|^2, as everyone takes part."""
    whole = AXIOMS.vector(NEXT) + AXIOMS.vector(LAST).under("M") - best * 2
    return combine([(MEANS.everyone(whole), -1)], where=WHERE, context="run")


RUN = Ring(" ".join([*RING.names, "R", "d", "S", "power"]))


def all_steps():
    """The bound on the run: all steps of all rounds, and what is subtracted in it left out."""
    bound = iterate_steps(one_step(), round_end(), RUN, "R", "d", "power")
    return weaken(bound, RUN["power"] * RUN["d"] ** 2 + bound.bound.coefficients("power")[0])


PAPER = Paper(
    name="longer",
    title="Local SGD on identical data, steps twice as long",
    algorithm="local_sgd",
    claims=(CLAIM,),
    derivations=made_bounds(
        "longer", {"thm1@main": (all_steps, LETTERS, "final_squared_distance")}, of_rounds=True
    ),
)  # fmt: skip
