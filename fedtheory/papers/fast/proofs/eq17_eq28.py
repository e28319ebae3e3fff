"""Displays (17) and (28) of FAST, composed by the kernel from its axioms: of the clients' virtual paths given a round's
start, whatever its cohort.

With d_k = x_{i,k} - x, g_k = grad F_i(x_{i,k}), g_i = grad F_i(x), g = grad F(x), D = x - x* and z = L K eta <= 1/8,
for every client i and every step k < K:

    E|g_k - g|^2 <= 12 z^2 |g|^2 + (2 + 12 z^2) sigma_G^2 + 6 L^2 K eta^2 sigma^2,

by the paths' lengths; and for strongly convex clients, by strong convexity between x* and x_{i,k} and between x and x*
and the descent lemma from x_{i,k} to x,

    sum_k mean E<g_k, D> >= (3/4 mu K - 5 L^3 K^3 eta^2) |D|^2 - 5 L K^3 eta^2 sigma_G^2 - 5/6 L K^2 eta^2 sigma^2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from ....proof.curved_sgd import CurvedSGD
from ....proof.kernel.axioms import ITERATE, OPTIMUM, START_POINT, Axioms
from ....proof.kernel.forms import ONE
from ....proof.kernel.round_bounds import bound_round
from ....proof.kernel.run_bounds import RunBound
from ....proof.kernel.scalars import Ring
from ....proof.kernel.tactics import coefficient, follow, rounded, with_letters
from ....proof.kernel.theorems import Multiples, Theorem, over_clients, over_steps
from ....proof.local_sgd import LocalSGD
from .kinds_of_round import LETTERS, RING, K, Kinds, L, eta, mu, sigma, sigma_G, size, z


def _paths(convex: bool) -> LocalSGD:
    """Local training, given a round's start alone."""
    return LocalSGD(Axioms(Kinds(convex).plain, eta, size, given="start"), L, sigma**2, convex)


@cache
def gradient_error() -> Theorem:
    """Display (17), at every local step."""
    sgd = _paths(False)
    ax, each, along = sgd.axioms, sgd.gradient_at_start, sgd.gradient_along
    g = each.under("M")
    longest = coefficient(sgd.rough_path.form, each, each) * L**2 * 4
    premises: Multiples = [
        (ax.smooth(ITERATE, START_POINT, L), 2),
        (sgd.rough_path, L**2 * 2),
        (ax.dissimilar(START_POINT, sigma_G**2), longest + 2),
    ]
    exact = follow(premises, [(along - each * 2 + g, "", 1), (each - g * 2, "", longest / 2)])
    claimed = (2 + 12 * z**2) * sigma_G**2 + 6 * L**2 * K * eta**2 * sigma**2
    return rounded(exact, ax.where, [(g, "", 12 * z**2 - longest)], claimed - exact.form.entries[ONE])


@cache
def full_progress() -> Theorem:
    """Display (28), summed over the local steps."""
    sgd = _paths(True)
    ax, D, d, each = sgd.axioms, sgd.distance, sgd.moved, sgd.gradient_at_start
    curved = CurvedSGD(sgd, mu, sigma_G**2)
    along: Multiples = [
        (ax.convex(OPTIMUM, ITERATE, mu), 1),
        (ax.descent(START_POINT, ITERATE, L), 1),
        (ax.convex(START_POINT, OPTIMUM, mu), 1),
        (sgd.path, (L + mu) / 2),
    ]
    steps = over_steps(over_clients(follow(along, [(D + d * 2, "", mu / 4)]), "M"))
    paid, b = coefficient(steps.form, each, each, "M"), curved.at_optimum
    premises: Multiples = [
        (steps, 1),
        (ax.optimal(D), K),
        (over_clients(curved.near_optimum, "M"), 2 * paid),
        (over_clients(ax.smooth(START_POINT, OPTIMUM, L), "M"), 2 * paid),
    ]
    exact = follow(premises, [(each - b * 2, "M", paid)])
    lost = 5 * L * K**3 * eta**2
    claimed = lost * sigma_G**2 + L * K**2 * eta**2 * 5 / 6 * sigma**2
    return rounded(exact, ax.where, [(D, "", (lost - 2 * paid) * L**2)], claimed - exact.form.entries[ONE])


ROUND = Ring(" ".join([*RING.names, "R", "start", "slope"]))
"""The letters above; rounds, |x - x*| and |grad F(x)|."""


def of_round(
    make: Callable[[], Theorem], functional: str, letters: str, unused: str = "share size", ring: Ring = ROUND
) -> RunBound:
    """The functional of one round, whoever takes part: the theorem does not depend on the letters that are unused."""
    made = bound_round(make(), ring, functional, tuple(letters.split()), plain=True)
    return with_letters(made, {name: int(name == "size") for name in unused.split()}, made.given)


_OF_ROUND = LETTERS | {"R": "rounds", "start": "initial_distance", "slope": "gradient_norm"}
BOUNDS = {
    "eq17@main": (partial(of_round, gradient_error, "local_gradient_error", "slope R"), _OF_ROUND,
                  "local_gradient_error"),
    "eq28@main": (partial(of_round, full_progress, "negated_full_progress", "start R"), _OF_ROUND,
                  "negated_full_progress"),
}  # fmt: skip
