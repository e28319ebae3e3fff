"""Lemmas 1 and 2, composed by the kernel: inequalities of a function at any points x, y, z."""

from __future__ import annotations

from functools import cache

from ....proof.kernel.axioms import POINTS, Axioms
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.theorems import Theorem, combine
from ....proof.translate.points import OfPoints
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
    return combine(
        [(ax.convex(_y, _x, mu), 1), (ax.descent(_z, _x, L), 1)], where=CONVEX, context="start", squares=squares
    )


THEOREMS = {
    "lemma1.main": OfPoints(upper_model, {"L": LETTERS["L"]}, bounded="linearization_error"),
    "lemma2.main": OfPoints(perturbed, {name: LETTERS[name] for name in ("L", "mu")},
                            bounded="perturbed_linearization_error"),
}  # fmt: skip
