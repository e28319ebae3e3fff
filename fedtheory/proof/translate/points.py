"""Derivations from theorems about a function at any points. F_i is any function that meets the assumptions, as one of
several clients, or the only one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

import sympy

from ...claims.statement import OF_RUNS, Claim
from ..algorithm_match import Rounds
from ..composition import OfRounds
from ..kernel.axioms import POINTS, gradient_at
from ..kernel.forms import ONE, Form, Product, Term, Value, Vector, dot, square
from ..kernel.scalars import Ring
from ..kernel.sealed import ancestry
from ..kernel.theorems import Refused


def _at(ring: Ring, j: int) -> Vector:
    return Vector(ring, {Term("", POINTS[j]): ring.number(1)})


def _error(ring: Ring, at: int, of: int, slope: int) -> Form:
    """F_i at one point, less that at another one and what a slope says of the way."""
    one = ring.number(1)
    values = Form.of(ring, {Value("", POINTS[at]): one, Value("", POINTS[of]): -one})
    gradient = Vector(ring, {Term("", gradient_at(POINTS[slope])): one})
    return values - dot(gradient, _at(ring, at) - _at(ring, of))


BOUNDED: dict[str, tuple[Callable[[Ring], Form], dict[str, tuple[int, int]]]] = {
    "linearization_error": (lambda ring: _error(ring, 1, 0, 0), {"displacement": (0, 1)}),
    "perturbed_linearization_error": (
        lambda ring: _error(ring, 2, 1, 0), {"displacement": (1, 2), "perturbation": (0, 2)},
    ),
}  # fmt: skip
"""Forms of the functionals, and the quantities that are distances of two points, by functional. The three points in
order are x, y and z."""


@dataclass(frozen=True)
class OfPoints(OfRounds):
    """Bound from form >= 0 about any points: functional <= functional + form, of squared distances and numbers."""

    _: KW_ONLY
    bounded: str

    @property
    def functional(self) -> str:
        return self.bounded

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """Return no difference: an algorithm has no part in it."""
        if claim.functional.scope in OF_RUNS or any(each.parameters for each in ancestry(self.theorem)):
            yield f"it is about a function, and {claim.functional.name} or what it is made of is of an algorithm's runs"

    def right_side(self) -> sympy.Expr:
        if self.theorem.context != "start":
            raise Refused(f"{self.theorem}: allowed is a theorem about points")
        ring, (form, distances) = self.theorem.where.ring, BOUNDED[self.bounded]
        rest, right = self.theorem.form + form(ring), sympy.S.Zero
        for name, (p, q) in distances.items():
            factor = rest.entries.get(Product("", *sorted((Term("", POINTS[p]), Term("", POINTS[q])))), ring.number(0))
            rest = rest - square(_at(ring, p) - _at(ring, q)) * (factor / -2)
            right += self.own.read(factor / -2) * sympy.Symbol(name) ** 2
        constant = rest.entries.get(ONE, ring.number(0))
        if rest != Form.constant(constant):
            raise Refused(f"{rest - Form.constant(constant)}: no quantity of these points is that")
        return right + self.own.read_apart(constant)
