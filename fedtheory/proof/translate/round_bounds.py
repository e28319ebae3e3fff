"""Derivations from theorems about one round, of one round from x_0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import sympy

from ..composition import OfRounds
from ..kernel.axioms import ITERATE, NEXT, OPTIMUM, START_POINT, gradient_at
from ..kernel.forms import ONE, Atom, Form, Product, Term, Value, Vector, dot, square
from ..kernel.scalars import Ring, Scalar
from ..kernel.theorems import Refused, Theorem


def _atom(ring: Ring, atom: Atom, bound: str = "") -> Vector:
    return Vector(ring, {Term(bound, atom): ring.number(1)})


def _distance(ring: Ring) -> Vector:
    return _atom(ring, START_POINT) - _atom(ring, OPTIMUM)


def _gradient(ring: Ring) -> Vector:
    return _atom(ring, gradient_at(START_POINT), "M")


def _full_progress(ring: Ring) -> Form:
    return dot(_atom(ring, gradient_at(ITERATE)).under("M").under("K"), _distance(ring)) * -1


BOUNDED: dict[str, Callable[[Ring], Form]] = {
    "final_squared_distance": lambda ring: square(_atom(ring, NEXT) - _atom(ring, OPTIMUM)),
    "squared_gradient": lambda ring: square(_gradient(ring)),
    "squared_movement": lambda ring: square(_atom(ring, NEXT) - _atom(ring, START_POINT)),
    "local_gradient_error": lambda ring: square(_atom(ring, gradient_at(ITERATE)) - _gradient(ring)),
    "negated_full_progress": _full_progress,
}
"""Functionals of one round, as forms; one with an index is the largest over clients and steps."""


@dataclass(frozen=True)
class OneRound(OfRounds):
    """Bound from form >= 0, given a round's start or its kind: functional <= functional + form. The sum has to be a
    combination of |x_0 - x*|^2, |grad F(x_0)|^2, F(x_0) - E F(x_1) and numbers."""

    _: KW_ONLY
    bounded: str

    @property
    def functional(self) -> str:
        return self.bounded

    def right_side(self) -> sympy.Expr:
        return self._right_side(self.theorem, BOUNDED[self.bounded](self.theorem.where.ring))

    def _right_side(self, theorem: Theorem, bounded: Form) -> sympy.Expr:
        """Return the upper bound of the bounded form."""
        if theorem.context not in ("start", "kind"):
            raise Refused(f"{theorem}: allowed is a theorem given a round's start, or its start and its kind")
        ring, rest = theorem.where.ring, theorem.form + bounded
        end = Value("M", NEXT)
        parts = (
            ("initial_distance", 2, square(_distance(ring)), Product("", *[Term("", START_POINT)] * 2)),
            ("gradient_norm", 2, square(_gradient(ring)), Product("", *[Term("M", gradient_at(START_POINT))] * 2)),
            (
                "objective_decrease",
                1,
                Form.of(ring, {Value("M", START_POINT): ring.number(1), end: -ring.number(1)}),
                end,
            ),
        )
        right = sympy.S.Zero
        for name, power, form, entry in parts:
            factor = self._factor(rest, entry) * (-1 if entry == end else 1)
            rest = rest - form * factor
            right += self.own.read(factor) * sympy.Symbol(name) ** power
        constant = rest.entries.get(ONE, ring.number(0))
        if rest != Form.constant(constant):
            raise Refused(f"{rest - Form.constant(constant)}: no quantity of one round's start is that")
        return right + self.own.read_apart(constant)

    @staticmethod
    def _factor(form: Form, entry: Product | Value) -> Scalar:
        return form.entries.get(entry, form.ring.number(0))

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the needs of the theorem, and that there is one round."""
        return (("one_round", 1 - sympy.Symbol("rounds")), *super().needs())
