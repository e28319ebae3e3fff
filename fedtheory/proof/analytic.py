"""Inequalities with exponentials and logarithms in one variable on a compact interval, by ball arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import sympy

from ..claims.balls import evaluate_in_balls, interval, working_precision

_BITS = 128


@dataclass(frozen=True)
class Enclosed:
    """Statement ``expression >= 0`` for low <= variable <= high.

    It is shown thus: the expression and its first ``order - 1`` derivatives vanish at ``low``, exactly, and the
    derivative of that order, enclosed in balls on pieces of the interval, is >= 0; so Taylor's formula gives the sign.
    With order 0 the expression itself is enclosed.

    >>> a = sympy.Symbol("a")
    >>> Enclosed(sympy.exp(-a) - 1 + a, "a", Fraction(0), Fraction(1), order=2).holds()
    True
    >>> Enclosed(sympy.exp(-a) - 1 + a - a**2 / 2, "a", Fraction(0), Fraction(1), order=2).holds()
    False
    """

    expression: sympy.Expr
    variable: str
    low: Fraction
    high: Fraction
    order: int = 0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"low = {self.low}: allowed is at most high = {self.high}")
        # What jumps, or has floats, may have a derivative that is allowed.
        for part in sympy.preorder_traversal(self.expression):
            whole_power = part.is_Pow and part.exp.is_Integer
            known = part.is_Add or part.is_Mul or whole_power or part.func in (sympy.exp, sympy.log)
            if not (known or part.is_Rational or part == sympy.Symbol(self.variable)):
                raise ValueError(
                    f"expression = {part}: allowed are sums, products, whole powers, exp and log of {self.variable}"
                )

    def holds(self, depth: int = 10) -> bool:
        """Whether it is shown with ``depth`` bisections; ``False`` is no refutation."""
        x, derivative = sympy.Symbol(self.variable), self.expression
        start = sympy.Rational(self.low.numerator, self.low.denominator)
        for _ in range(self.order):
            if sympy.simplify(derivative.subs(x, start)) != 0:
                return False
            derivative = sympy.diff(derivative, x)
        with working_precision(_BITS):
            return self._nonnegative(derivative, self.low, self.high, depth)

    def counterexample(self, points: int = 64) -> Fraction | None:
        """Return a point of the interval at which the expression is enclosed below 0, or ``None``."""
        with working_precision(_BITS):
            for i in range(points + 1):
                point = self.low + (self.high - self.low) * Fraction(i, points)
                value = evaluate_in_balls(self.expression, {self.variable: point})
                if value.is_finite() and value < 0:
                    return point
        return None

    def _nonnegative(self, expression: sympy.Expr, low: Fraction, high: Fraction, depth: int) -> bool:
        value = evaluate_in_balls(expression, {self.variable: interval(low, high)})
        if value.is_finite() and value >= 0:
            return True
        middle = (low + high) / 2
        return depth > 0 and all(
            self._nonnegative(expression, a, b, depth - 1) for a, b in ((low, middle), (middle, high))
        )
