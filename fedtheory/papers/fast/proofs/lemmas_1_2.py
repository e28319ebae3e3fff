"""Lemmas 1 and 2, composed by the kernel: inequalities of a function at any points x, y, z."""

from __future__ import annotations

from functools import cache

from ....proof.kernel.axioms import POINTS, Axioms
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.round_bounds import bound_at_points
from ....proof.kernel.run_bounds import RunBound
from ....proof.kernel.scalars import Ring
from ....proof.kernel.tactics import follow
from ....proof.kernel.theorems import Theorem
from .kinds_of_round import LETTERS, RING, L, eta, mu, size

_POSITIVE = tuple(Condition(name, "positive") for name in ("eta", "size"))
SMOOTH = Where(RING, (Condition("L", "positive"), *_POSITIVE))
CONVEX = Where(RING, (Condition("L", "at_least", mu), Condition("mu", "positive"), *_POSITIVE))
_x, _y, _z = POINTS


@cache
def upper_model() -> Theorem:
    """F(y) - F(x) - <grad F(x), y - x> <= L/2 |y - x|^2."""
    return Axioms(SMOOTH, eta, size).descent(_y, _x, L)


@cache
def perturbed() -> Theorem:
    """F(z) - F(y) - <grad F(x), z - y> <= -mu/4 |z - y|^2 + L |z - x|^2."""
    ax = Axioms(CONVEX, eta, size)
    x, y, z = map(ax.vector, POINTS)
    squares = [(y + z - x * 2, "", mu / 4), (z - x, "", (L - mu) / 2)]
    return follow([(ax.convex(_y, _x, mu), 1), (ax.descent(_z, _x, L), 1)], squares)


POINT_LETTERS = Ring(" ".join([*RING.names, "d", "p"]))
"""The letters above, and distances of points."""


def _upper_model() -> RunBound:
    return bound_at_points(upper_model(), POINT_LETTERS, "linearization_error", ("d",))


def _perturbed() -> RunBound:
    return bound_at_points(perturbed(), POINT_LETTERS, "perturbed_linearization_error", ("d", "p"))


_AT_POINTS = LETTERS | {"d": "displacement", "p": "perturbation"}
BOUNDS = {
    "lemma1@main": (_upper_model, _AT_POINTS, "linearization_error"),
    "lemma2@main": (_perturbed, _AT_POINTS, "perturbed_linearization_error"),
}
