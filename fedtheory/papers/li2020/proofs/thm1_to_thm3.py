"""Theorems 1 to 3, composed by the kernel from its axioms: every step of the weighted mean of all clients' models.

Let X_k = sum p_i x_{i,k}, V_k = sum p_i |x_{i,k} - X_k|^2, S = s + t + k and eta = 2/(mu S) at the step k of a round
whose first step has the number t. In expectation over the run, for s >= 8 L/mu and s >= K:

    E|x_{i,k} - x|^2 <= k (k + 1/2) (2/(mu (s + t)))^2 G^2,   so that V_k <= 4 (K - 1)^2 eta^2 G^2
    E|X_{k+1} - x*|^2 <= (1 - mu eta) E|X_k - x*|^2 + eta^2 (B + 6 L Gamma + 8 (K - 1)^2 G^2),

B the weighted noise. A round ends in X_K, or in the mean of clients drawn, which adds share 4 K^2 eta^2 G^2 at its last
step. The gradients at x* take the place of those at X_k: their squares are at most 2 L Gamma, and their mean is 0.
"""

from __future__ import annotations

from functools import cache, partial

from fedtheory.proof.kernel.axioms import ITERATE, NEXT, NOISE, OPTIMUM, START_POINT, Axioms, at
from fedtheory.proof.kernel.forms import Form, square
from fedtheory.proof.kernel.client_means import LAST, MeanAxioms
from fedtheory.proof.kernel.regions import Condition, Where
from fedtheory.proof.kernel.run_bounds import RunBound, restrict
from fedtheory.proof.kernel.scalars import Ring
from fedtheory.proof.kernel.step_run_bounds import bound_gap, iterate_decaying_steps
from fedtheory.proof.kernel.tactics import Square, show, show_by_induction
from fedtheory.proof.kernel.theorems import Multiples, Theorem, combine, last_step, over_clients
from fedtheory.proof.translate.claim_bounds import made_bounds

from ..statements.theorems import BY_WEIGHT, EDITIONS, EVERYONE, UNIFORM

RING = Ring("L mu K k s t G Gamma B n share")
L, mu, K, k, s, t, G, Gamma, B, n, share = RING.symbols
WHERE = Where(RING, (
    Condition("L", "capped", mu * s / 8), Condition("mu", "positive"), Condition("s", "at_least", K),
    Condition("K", "count"), *(Condition(name, "nonnegative") for name in ("t", "G", "Gamma", "B", "share")),
))  # fmt: skip

eta, first = 2 / (mu * (s + t + k)), 2 / (mu * (s + t))
_last = 2 / (mu * (s + t + K - 1))
AXIOMS, MEANS = Axioms(WHERE, eta, n, "run"), MeanAxioms(WHERE, eta)
_x, _start, _optimum = (AXIOMS.vector(point) for point in (ITERATE, START_POINT, OPTIMUM))
_N, _g, _b = AXIOMS.vector(NOISE), AXIOMS.gradient(ITERATE), AXIOMS.gradient(OPTIMUM)
_X, _G, _noise = _x.under("M"), _g.under("M"), _N.under("M")
_D, _next = _X - _optimum, AXIOMS.vector(at(ITERATE, 1))
_half = RING.number(1) / 2


@cache
def moved() -> Theorem:
    """E|x_{i,k} - x|^2 <= k (k + 1/2) first^2 G^2 for k <= K, by induction with Young's parameter 1/(k + 1/2)."""
    d, q = _x - _start, _g + _N
    bound = Form.constant(k * (k + _half) * first**2 * G**2) - square(d)
    premises: Multiples = [
        (AXIOMS.local_step(_next + _x - _start * 2 - q * eta), -1),
        (MEANS.stochastic_gradient(G**2), (1 + k + _half) * eta**2),
    ]
    squares: list[Square] = [(d / (k + _half) + q * eta, "", k + _half)]
    return show_by_induction(bound, 1 + 1 / (k + _half), premises, squares)


@cache
def one_step() -> Theorem:
    """E|X_{k+1} - x*|^2 <= (1 - mu eta) E|X_k - x*|^2 + eta^2 (B + 6 L Gamma + 8 (K - 1)^2 G^2) for k < K."""
    after, a, u = _next.under("M") - _optimum, _x - _optimum, _x - _X
    slope = 2 * eta * (1 - 2 * L * eta)
    drift = 1 + slope / (2 * eta)
    premises: Multiples = [
        (over_clients(AXIOMS.local_step(after + _D - (_G + _noise) * eta), "M"), -1),
        (over_clients(AXIOMS.unbiased(_D - _G * eta), "M"), 2 * eta),
        (MEANS.weighted_noise(B), eta**2),
        (over_clients(AXIOMS.convex(OPTIMUM, ITERATE, mu), "M"), 2 * eta),
        (over_clients(MEANS.lowest(ITERATE, mu, L), "M"), 2 * eta**2),
        (over_clients(AXIOMS.convex(ITERATE, OPTIMUM, mu), "M"), slope),
        (over_clients(MEANS.lowest(OPTIMUM, mu, L), "M"), slope * eta / 2),
        (MEANS.heterogeneity(Gamma, mu), 4 * L * eta**2 + slope * eta * L),
        (MEANS.optimal_along(_D), slope),
        (over_clients(moved(), "M"), drift),
    ]
    goal = square(_D) * (1 - mu * eta) - square(after)
    goal = goal + Form.constant(eta**2 * (B + 6 * L * Gamma + 8 * (K - 1) ** 2 * G**2))
    squares: list[Square] = [
        (_g - _G, "M", eta**2),
        (u - _g * eta, "M", 1),
        (u / eta + _b, "M", slope * eta / 2),
        (_X - _start, "", drift),
        (a - _D, "M", mu * eta),
        (a, "M", slope * mu / 2),
    ]
    return show(goal, premises, squares=squares)


@cache
def end_of_all() -> Theorem:
    """|x+ - x*|^2 = |X_K - x*|^2 where all clients take part."""
    whole = AXIOMS.vector(NEXT) + AXIOMS.vector(LAST).under("M") - _optimum * 2
    return combine([(MEANS.everyone(whole), -1)], where=WHERE, context="run")


@cache
def end_of_draw() -> Theorem:
    """E|x+ - x*|^2 <= E|X_K - x*|^2 + share 4 K^2 eta^2 G^2, eta that of the round's last step."""
    last, end = AXIOMS.vector(LAST), AXIOMS.vector(NEXT)
    mean = last.under("M")
    goal = square(mean - _optimum) - square(end - _optimum) + Form.constant(4 * share * K**2 * _last**2 * G**2)
    premises: Multiples = [
        (MEANS.drawn_mean(mean - _optimum, share), -2),
        (MEANS.spread_of_draw(share), -1),
        (over_clients(last_step(moved()), "M"), share),
    ]
    return show(goal, premises, squares=[(mean - _start, "", share)])


@cache
def gap() -> Theorem:
    """F(x) - F(x*) <= L/2 |x - x*|^2."""
    premises: Multiples = [
        (over_clients(AXIOMS.descent(START_POINT, OPTIMUM, L), "M"), 1),
        (AXIOMS.optimal(_start - _optimum), -1),
    ]
    return combine(premises, where=WHERE, context="start")


RUNS = Ring(" ".join([*RING.names, "shift", "R", "d", "N", "S"]))
"""The letters of a run: gamma, its rounds, |x_0 - x*|, how many clients there are, and how many take part."""
_L, _mu, _K, _shift, _clients, _drawn = (RUNS[name] for name in ("L", "mu", "K", "shift", "N", "S"))
_DATA = [Condition(name, "nonnegative") for name in ("d", "t", "G", "Gamma", "B")]
_SHARES = {BY_WEIGHT: 1 / _drawn, UNIFORM: (_clients - _drawn) / (_drawn * (_clients - 1))}
"""Variance of the mean of S clients drawn, over that of one."""
_OF_DRAWS = {
    EVERYONE: [],
    BY_WEIGHT: [Condition("S", "count")],
    UNIFORM: [Condition("S", "capped", _clients), Condition("N", "at_least", RUNS.number(2))],
}


def all_steps(number: int, edition: str) -> RunBound:
    """E F(x_R) - F(x*) <= L/2 ((s - 1)/(s + K R - 1) |x_0 - x*|^2 + (b + c)/(s + K R)), b/(s + t + k)^2 what a step
    adds and c/(s + t + K - 1)^2 a round's end; with gamma or gamma + 1 for s, and the claim's hypotheses on gamma."""
    who, first_step, less = (EVERYONE, BY_WEIGHT, UNIFORM)[number - 1], edition != "from_0", edition == "appendix"
    end = end_of_all() if who == EVERYONE else end_of_draw()
    bound = bound_gap(iterate_decaying_steps(one_step(), end, RUNS, "R", "d", "t"), gap())
    where = Where(RUNS, (
        *_OF_DRAWS[who], Condition("R", "count"), *_DATA, Condition("shift", "at_least", 8 * _L / _mu - int(less)),
        Condition("L", "at_least", _mu), Condition("mu", "positive"), Condition("K", "count"),
    ))  # fmt: skip
    values = {"s": _shift + int(first_step), "share": _SHARES.get(who, 0 * _L)}
    return restrict(bound, where, values, [_shift - _K + int(less)])


_LETTERS = {
    "L": "smoothness", "mu": "strong_convexity", "K": "local_steps", "G": "gradient_bound",
    "Gamma": "heterogeneity_gap", "B": "weighted_noise", "shift": "step_shift", "t": "step_index", "R": "rounds",
    "d": "initial_distance", "N": "clients", "S": "arbitrary_cohort",
}  # fmt: skip

DERIVATIONS = made_bounds(
    "li2020",
    {f"thm{n}@{edition}": (partial(all_steps, n, edition), _LETTERS, "final_gap") for n, edition in EDITIONS},
    of_rounds=True,
)
"""The claims' theorems, each from those on a step, on a round's end, and on F(x) - F(x*)."""
