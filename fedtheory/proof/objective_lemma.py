"""Lemmas on the global objective at a round's start, made by the kernel from the clients' properties."""

from __future__ import annotations

from .kernel.axioms import OPTIMUM, START_POINT, Axioms
from .kernel.scalars import Scalar
from .kernel.theorems import Multiples, Theorem, combine, over_clients


def monotone(axioms: Axioms, mu: Scalar) -> Theorem:
    """Prove <grad F(x), x - x*> >= mu |x - x*|^2."""
    both = [
        (over_clients(axioms.convex(*points, mu), "M"), 1)
        for points in ((START_POINT, OPTIMUM), (OPTIMUM, START_POINT))
    ]
    distance = axioms.vector(START_POINT) - axioms.vector(OPTIMUM)
    return combine([*both, (axioms.optimal(distance), 1)], where=axioms.where, context="start")


def cocoercive(axioms: Axioms, mu: Scalar, L: Scalar) -> Theorem:
    """Prove (mu + L) <grad F(x), x - x*> >= mu L |x - x*|^2 + |grad F(x)|^2."""
    distance = axioms.vector(START_POINT) - axioms.vector(OPTIMUM)
    g, g_opt = axioms.global_gradient(START_POINT), axioms.global_gradient(OPTIMUM)
    spread = axioms.gradient(START_POINT) - axioms.gradient(OPTIMUM) - g + g_opt
    premises: Multiples = [
        (over_clients(axioms.cocoercive(START_POINT, OPTIMUM, mu, L), "M"), 1),
        (axioms.optimal(distance), mu + L),
        (axioms.optimal(g), -2),
    ]
    return combine(premises, where=axioms.where, context="start", squares=[(spread, "M", 1), (g_opt, "", 1)])
