"""Theorem 2 of FAST for every q, composed by the kernel from its axioms: one round contracts.

With p = 1 - q, h = q/m + p/n and eta <= mu/(8 L^2 K):

    E|x+ - x*|^2 <= (1 - K eta (mu - 2 L^2 K eta - 4 mu^2 K eta)) |x - x*|^2
                    + K eta (p^2/mu + (6/5 q/m + 3/4 q + 4 p) K eta) sigma_G^2 + K eta^2 (9/8 h + 3/5) sigma^2

The bias of arbitrary rounds enters through the projection of their cohorts' mean gradient on what the start knows,
hence p^2 and not p; co-coercivity pays for the squares of gradients, hence no L^2 in their price.
"""

from __future__ import annotations

from functools import lru_cache

from ....proof.composed import Contraction
from ....proof.kernel.axioms import OPTIMUM, START_POINT, Axioms
from ....proof.kernel.forms import Vector
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.rounds import (
    ARBITRARY, UNIFORM, conditional_mean, contraction, expect_arbitrary, expect_uniform, mix, project,
)  # fmt: skip
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.tactics import atom_of, coefficient
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate, over_clients
from ....proof.local_sgd import LocalSGD

RING = Ring("a q share eta s L mu K k m n sigma sigma_G size")
a, q, share, eta, _, L, mu, K, k, m, n, sigma, sigma_G, size = RING.symbols
p = 1 - q


def _where(cap: Scalar, *more: Condition) -> Where:
    one = RING.number(1)
    counts = tuple(Condition(name, "count") for name in ("K", "m", "n", "size"))
    return Where(RING, (
        Condition("eta", "capped", cap), *more, Condition("q", "interval", one), Condition("share", "interval", 1 / m),
        Condition("L", "at_least", mu), Condition("mu", "positive"), *counts, Condition("sigma", "nonnegative"),
        Condition("sigma_G", "nonnegative"),
    ))  # fmt: skip


PLAIN = _where(1 / (8 * L * K))
WITH_YOUNG = _where(1 / (8 * L * K), Condition("a", "positive"))


@lru_cache(maxsize=1)
def mixed_round() -> Theorem:
    """A round of either kind, with the Young parameter a between x - x* and the drift still free."""
    axioms = Axioms(PLAIN, eta, size)
    sgd = LocalSGD(axioms, L, sigma**2)
    whole = sgd.one_round(a, RING.number(1) / 5, RING.number(1) / 8, WITH_YOUNG)
    near = axioms.dissimilar(START_POINT, sigma_G**2)
    return mix(_snapshot(instantiate(whole, {"size": m}, WITH_YOUNG), near, sgd),
               _arbitrary(instantiate(whole, {"size": n}, WITH_YOUNG), near, sgd), q, WITH_YOUNG)  # fmt: skip


def _snapshot(whole: Theorem, near: Theorem, sgd: LocalSGD) -> Theorem:
    """Under a uniform cohort the squares of its clients' gradients are at most |grad F|^2 + sigma_G^2."""
    drawn = expect_uniform(whole, m, share, WITH_YOUNG)
    g0 = sgd.gradient_at_start
    return combine([(drawn, 1), (over_clients(near, "M"), coefficient(drawn.form, g0, g0, "M"))], where=WITH_YOUNG,
                   context="kind", kind=UNIFORM)  # fmt: skip


def _arbitrary(whole: Theorem, near: Theorem, sgd: LocalSGD) -> Theorem:
    """Under an arbitrary cohort they are at most 2 |grad F|^2 + 2 sigma_G^2; its mean gradient is projected."""
    g0, G, g = sgd.gradient_at_start, sgd.cohort_gradient, sgd.gradient_at_start.under("M")
    each, together = coefficient(whole.form, g0, g0, "S"), coefficient(whole.form, G, G)
    squares = [(g * 2 - g0, "S", each), (g * 2 - G, "", together), (g0 - G, "S", together * 2)]
    bounded = combine([(whole, 1), (over_clients(near, "S"), (each + together) * 2)], where=WITH_YOUNG,
                      context="cohort", kind=ARBITRARY, squares=squares)  # fmt: skip
    return combine([(expect_arbitrary(bounded, n), 1), (_projected(sgd, sgd.distance), 2 * eta * K)],
                   where=WITH_YOUNG, context="kind", kind=ARBITRARY)  # fmt: skip


def _projected(sgd: LocalSGD, other: Vector) -> Theorem:
    return project(atom_of(sgd.gradient_at_start).atom, other, ARBITRARY, PLAIN)


def bias(sgd: LocalSGD) -> Theorem:
    """|E[mean_S grad F_i(x) | start, arbitrary] - grad F(x)| <= sigma_G."""
    g0, G, g = sgd.gradient_at_start, sgd.cohort_gradient, sgd.gradient_at_start.under("M")
    mean = expected_gradient(sgd)
    near = over_clients(sgd.axioms.dissimilar(START_POINT, sigma_G**2), "S")
    cohort = combine([(near, 1)], where=PLAIN, context="cohort", kind=ARBITRARY, squares=[(g0 - G, "S", 1)])
    return combine([(expect_arbitrary(cohort, n), 1), (_projected(sgd, mean - g), 2)], where=PLAIN, context="kind",
                   kind=ARBITRARY, squares=[(G - mean, "", 1)])  # fmt: skip


def expected_gradient(sgd: LocalSGD) -> Vector:
    return conditional_mean(atom_of(sgd.gradient_at_start).atom, ARBITRARY, RING)


def monotone(axioms: Axioms) -> Theorem:
    """<grad F(x), x - x*> >= mu |x - x*|^2."""
    both = [(over_clients(axioms.convex(*points, mu), "M"), 1) for points in
            ((START_POINT, OPTIMUM), (OPTIMUM, START_POINT))]  # fmt: skip
    distance = axioms.vector(START_POINT) - axioms.vector(OPTIMUM)
    return combine([*both, (axioms.optimal(distance), 1)], where=axioms.where, context="start")


def cocoercive(axioms: Axioms) -> Theorem:
    """(mu + L) <grad F(x), x - x*> >= mu L |x - x*|^2 + |grad F(x)|^2."""
    distance = axioms.vector(START_POINT) - axioms.vector(OPTIMUM)
    g, g_opt = axioms.global_gradient(START_POINT), axioms.global_gradient(OPTIMUM)
    spread = axioms.gradient(START_POINT) - axioms.gradient(OPTIMUM) - g + g_opt
    premises: Multiples = [(over_clients(axioms.cocoercive(START_POINT, OPTIMUM, mu, L), "M"), 1),
                (axioms.optimal(distance), mu + L), (axioms.optimal(g), -2)]  # fmt: skip
    return combine(premises, where=axioms.where, context="start", squares=[(spread, "M", 1), (g_opt, "", 1)])


@lru_cache(maxsize=1)
def strongly_convex_round() -> Theorem:
    """The contraction of a round at a = 2 L^2 K eta, under eta <= mu/(8 L^2 K), with short constants."""
    where = _where(mu / (8 * L**2 * K))
    sgd = LocalSGD(Axioms(PLAIN, eta, size), L, sigma**2)
    mixed = instantiate(mixed_round(), {"a": 2 * L**2 * K * eta}, where)
    g, D = sgd.gradient_at_start.under("M"), sgd.distance
    price = coefficient(mixed.form, g, g)
    premises: Multiples = [
        (mixed, 1),
        (monotone(sgd.axioms), 2 * eta * K - price * (mu + L)),
        (cocoercive(sgd.axioms), price),
        (bias(sgd), p**2 * eta * K / mu),
    ]
    squares = [(D * mu + (expected_gradient(sgd) - g) * p, "", eta * K / mu)]
    exact = combine(premises, where=where, context="start", squares=squares)
    factor, addition = contraction(exact)
    return combine([(exact, 1)], where=where, context="start", constant=ADDITION - addition,
                   squares=[(D, "", FACTOR - factor)])  # fmt: skip


_h = q / m + p / n
FACTOR = 1 - K * eta * (mu - 2 * L**2 * K * eta - 4 * mu**2 * K * eta)
ADDITION = (
    K
    * eta
    * (
        (p**2 / mu + (q / m * 6 / 5 + q * 3 / 4 + p * 4) * K * eta) * sigma_G**2
        + (_h * 9 / 8 + RING.number(3) / 5) * eta * sigma**2
    )
)
"""What a round multiplies the squared distance by, and what it adds."""

LETTERS = {
    "eta": "local_lr", "q": "snapshot_probability", "L": "smoothness", "mu": "strong_convexity", "K": "local_steps",
    "m": "cohort", "n": "arbitrary_cohort", "sigma": "gradient_noise", "sigma_G": "dissimilarity",
}  # fmt: skip
"""The quantities that the letters stand for."""

STRONGLY_CONVEX = Contraction(strongly_convex_round, LETTERS)

STEPS = (STRONGLY_CONVEX.step("thm2.sharper.round", "composed", "one round contracts, composed from the axioms"),)
