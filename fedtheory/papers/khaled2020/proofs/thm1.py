"""Theorem 1, composed by the kernel from its axioms: every step of the clients' mean, whatever the round.

With X_k = mean x_{i,k}, V_k = mean |x_{i,k} - X_k|^2, of M clients that weigh the same and have the same data, in
expectation over the run, for eta <= 1/(4 L):

    V_k <= k eta^2 sigma^2        (a step on the same F brings no client further from the mean)
    E|X_{k+1} - x*|^2 <= (1 - mu eta) E|X_k - x*|^2 + 2 L eta V_k + eta^2 sigma^2/M

and the round ends in X_K. That the data are the same is a dissimilarity of 0.
"""

from __future__ import annotations

from functools import cache

from fedtheory.proof.kernel.axioms import ITERATE, MEAN_ITERATE, NEXT, NOISE, OPTIMUM, Axioms, at
from fedtheory.proof.kernel.forms import Form, square
from fedtheory.proof.kernel.client_means import LAST, MeanAxioms
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import RunBound, weaken
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.step_run_bounds import iterate_steps
from fedtheory.proof.kernel.tactics import Square, show, show_by_induction
from fedtheory.proof.kernel.theorems import Multiples, Theorem, combine, over_clients
from fedtheory.proof.translate.claim_bounds import made_bounds

RING = Ring("eta L mu K k n sigma sigma_G")
eta, L, mu, K, k, n, sigma, sigma_G = RING.symbols
WHERE = Where(RING, (
    Condition("eta", "capped", 1 / (4 * L)), Condition("L", "at_least", mu), Condition("mu", "positive"),
    Condition("K", "count"), Condition("n", "count"), Condition("sigma", "nonnegative"),
    Condition("sigma_G", "interval", RING.number(0)),
))  # fmt: skip
LETTERS = {
    "eta": "local_lr", "L": "smoothness", "mu": "strong_convexity", "K": "local_steps", "n": "clients",
    "sigma": "gradient_noise", "sigma_G": "dissimilarity",
}  # fmt: skip
"""The quantities that the letters stand for."""

AXIOMS, MEANS = Axioms(WHERE, eta, n, "run"), MeanAxioms(WHERE, eta)
_x, _y, _N = AXIOMS.vector(ITERATE), AXIOMS.vector(MEAN_ITERATE), AXIOMS.vector(NOISE)
_X, _noise = _x.under("M"), _N.under("M")
_g, _b, _h = AXIOMS.gradient(ITERATE), AXIOMS.gradient(OPTIMUM), AXIOMS.gradient(MEAN_ITERATE)
_D = _X - AXIOMS.vector(OPTIMUM)
_next = AXIOMS.vector(at(ITERATE, 1))
_G = _g.under("M")


@cache
def drift() -> Theorem:
    """V_k <= k eta^2 sigma^2 for k <= K, by induction."""
    bound = Form.constant(k * eta**2 * sigma**2) - square(_x).under("M") + square(_X)
    after, change, far = _next.under("M"), _g - _h, _h - _h.under("M")
    contracts = 2 * eta / (mu + L)
    near = contracts * mu * L
    price = eta**2 / near + 2 * eta**2
    premises: Multiples = [
        (over_clients(AXIOMS.local_step(_next + _x - (_g + _N) * eta), "M"), -1),
        (over_clients(AXIOMS.local_step(after + _X - (_G + _noise) * eta), "M"), 1),
        (over_clients(AXIOMS.unbiased(_x - _g * eta - _X + _G * eta), "M"), 2 * eta),
        (over_clients(AXIOMS.variance(sigma**2), "M"), eta**2),
        (over_clients(AXIOMS.cocoercive(ITERATE, MEAN_ITERATE, mu, L), "M"), contracts),
        (MEANS.mean_iterate(change.under("M") * (mu + L) + (_y - _X) * (mu * L)), contracts),
        (over_clients(AXIOMS.dissimilar(MEAN_ITERATE, sigma_G**2), "M"), price),
    ]
    u = _x - _X
    squares: list[Square] = [
        (_noise, "", eta**2),
        (u * near + far * eta, "M", 1 / near),
        (change - far, "M", eta**2),
        (_G - _h.under("M"), "", eta**2),
        (change, "M", contracts - 2 * eta**2),
    ]
    return show_by_induction(bound, RING.number(1), premises, squares)


@cache
def one_step() -> Theorem:
    """E|X_{k+1} - x*|^2 <= (1 - mu eta) E|X_k - x*|^2 + 2 (K - 1) L eta^3 sigma^2 + eta^2 sigma^2/M for k < K."""
    after = _next.under("M") - AXIOMS.vector(OPTIMUM)
    gain = _g - _b
    contracts = 2 * eta / (mu + L)
    premises: Multiples = [
        (over_clients(AXIOMS.local_step(after + _D - (_G + _noise) * eta), "M"), -1),
        (over_clients(AXIOMS.unbiased(_D - _G * eta), "M"), 2 * eta),
        (over_clients(AXIOMS.variance(sigma**2), "M"), eta**2 / n),
        (MEANS.uncorrelated_clients(n), -(eta**2)),
        (over_clients(AXIOMS.cocoercive(ITERATE, OPTIMUM, mu, L), "M"), contracts),
        (MEANS.optimal_along(_D * (2 * eta) - (_G * 2 - _b.under("M")) * eta**2), 1),
        (drift(), 2 * L * eta),
    ]
    addition = 2 * (K - 1) * L * eta**3 * sigma**2 + eta**2 * sigma**2 / n
    goal = square(_D) * (1 - mu * eta) + Form.constant(addition) - square(after)
    a = _x - AXIOMS.vector(OPTIMUM)
    squares: list[Square] = [
        ((_x - _X) * (2 * L) - gain, "M", eta / (2 * L)),
        (gain - gain.under("M"), "M", eta**2),
        (gain, "M", contracts - eta**2 - eta / (2 * L)),
        (a - _D, "M", mu * eta),
        (a, "M", contracts * mu * L - mu * eta),
    ]
    return show(goal, premises, squares=squares)


@cache
def round_end() -> Theorem:
    """|x+ - x*|^2 = |X_K - x*|^2."""
    last, end = AXIOMS.vector(LAST).under("M"), AXIOMS.vector(NEXT)
    whole = end + last - AXIOMS.vector(OPTIMUM) * 2
    return combine([(MEANS.everyone(whole), -1)], where=WHERE, context="run")


RUNS = Ring(" ".join([*RING.names, "R", "d", "S", "power"]))
"""The letters of a run: its rounds, |x_0 - x*|, how many take part, and (1 - mu eta)^(K R)."""


@cache
def all_steps() -> RunBound:
    """E|x_R - x*|^2 <= (1 - mu eta)^(K R) |x_0 - x*|^2 + what a step adds, over mu eta."""
    bound = iterate_steps(one_step(), round_end(), RUNS, "R", "d", "power")
    return weaken(bound, RUNS["power"] * RUNS["d"] ** 2 + bound.bound.coefficients("power")[0])


DERIVATIONS = made_bounds(
    "khaled2020",
    {
        "thm1@main": (
            all_steps,
            LETTERS | {"R": "rounds", "d": "initial_distance", "S": "arbitrary_cohort"},
            "final_squared_distance",
        )
    },
    of_rounds=True,
)
"""The claim's theorem, from those on a step and on a round's end."""
