"""Inequalities with exponentials and logarithms in one variable on a compact interval, by ball arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import sympy
from flint import arb, ctx, fmpq

_BITS = 128
_FUNCTIONS = {sympy.exp: arb.exp, sympy.log: arb.log}


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

    def holds(self, depth: int = 10) -> bool:
        """Whether it is shown with ``depth`` bisections; ``False`` is no refutation."""
        x = sympy.Symbol(self.variable)
        # What jumps, or has floats, may have a derivative that is allowed: the expression itself is looked at first.
        _evaluate(self.expression, x, _ball(self.low))
        start = sympy.Rational(self.low.numerator, self.low.denominator)
        derivative = self.expression
        for _ in range(self.order):
            if sympy.simplify(derivative.subs(x, start)) != 0:
                return False
            derivative = sympy.diff(derivative, x)
        before, ctx.prec = ctx.prec, _BITS
        try:
            return _nonnegative(derivative, x, self.low, self.high, depth)
        finally:
            ctx.prec = before

    def counterexample(self, points: int = 64) -> Fraction | None:
        """Return a point of the interval at which the expression is enclosed below 0, or ``None``."""
        x = sympy.Symbol(self.variable)
        before, ctx.prec = ctx.prec, _BITS
        try:
            for i in range(points + 1):
                point = self.low + (self.high - self.low) * Fraction(i, points)
                value = _evaluate(self.expression, x, _ball(point))
                if value.is_finite() and value < 0:
                    return point
        finally:
            ctx.prec = before
        return None


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _nonnegative(expression: sympy.Expr, x: sympy.Symbol, low: Fraction, high: Fraction, depth: int) -> bool:
    value = _evaluate(expression, x, _ball(low).union(_ball(high)))
    if value.is_finite() and value >= 0:
        return True
    middle = (low + high) / 2
    return depth > 0 and all(_nonnegative(expression, x, a, b, depth - 1) for a, b in ((low, middle), (middle, high)))


def _evaluate(expression: sympy.Expr, x: sympy.Symbol, value: arb) -> arb:
    if expression == x:
        return value
    if expression.is_Rational:
        return _ball(Fraction(int(expression.p), int(expression.q)))
    parts = [_evaluate(argument, x, value) for argument in expression.args]
    if expression.is_Add:
        return sum(parts[1:], parts[0])
    if expression.is_Mul:
        total = parts[0]
        for part in parts[1:]:
            total = total * part
        return total
    if expression.is_Pow and expression.exp.is_Integer:
        return parts[0] ** int(expression.exp)
    if expression.func in _FUNCTIONS:
        return _FUNCTIONS[expression.func](parts[0])
    raise ValueError(f"expression = {expression}: allowed are sums, products, whole powers, exp and log of {x}")
