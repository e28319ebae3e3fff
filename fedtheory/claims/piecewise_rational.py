"""Piecewise rational functions of one variable, with rational coefficients, as minima of quotients are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from flint import fmpq, fmpq_poly


@dataclass(frozen=True)
class Ratio:
    """numerator/denominator, polynomials of one kind; the denominator keeps every factor that was ever divided by."""

    numerator: Any
    denominator: Any

    def __add__(self, other: Ratio) -> Ratio:
        top = self.numerator * other.denominator + other.numerator * self.denominator
        return Ratio(top, self.denominator * other.denominator)

    def __mul__(self, other: Ratio) -> Ratio:
        return Ratio(self.numerator * other.numerator, self.denominator * other.denominator)

    def __truediv__(self, other: Ratio) -> Ratio:
        if other.numerator == 0:
            raise ZeroDivisionError
        # (1/d)^-1 is d/1 but divides by d: d^2/d.
        bottom = self.denominator * other.numerator * other.denominator
        return Ratio(self.numerator * other.denominator**2, bottom)

    def __neg__(self) -> Ratio:
        return Ratio(-self.numerator, self.denominator)


@dataclass(frozen=True)
class Cases:
    """A piecewise rational function: (value, conditions) each, the value holding where all conditions are >= 0."""

    cases: tuple[tuple[Ratio, tuple[Ratio, ...]], ...]

    def __add__(self, other: Cases) -> Cases:
        return self._with(other, Ratio.__add__)

    def __mul__(self, other: Cases) -> Cases:
        return self._with(other, Ratio.__mul__)

    def __truediv__(self, other: Cases) -> Cases:
        return self._with(other, Ratio.__truediv__)

    def __pow__(self, exponent: int) -> Cases:
        return Cases(tuple((Ratio(r.numerator**exponent, r.denominator**exponent), c) for r, c in self.cases))

    def min(self, other: Cases) -> Cases:
        """Return the minimum of two functions, by cases."""
        pairs = [(a, b, (*c, *d)) for a, c in self.cases for b, d in other.cases]
        first = [(a, (*conditions, b + -a)) for a, b, conditions in pairs]
        second = [(b, (*conditions, a + -b)) for a, b, conditions in pairs]
        return Cases((*first, *second))

    def _with(self, other: Cases, operation: Callable[[Ratio, Ratio], Ratio]) -> Cases:
        return Cases(tuple((operation(a, b), (*c, *d)) for a, c in self.cases for b, d in other.cases))


def constant(value: Fraction | sympy.Rational) -> Cases:
    """Return the constant function."""
    number = fmpq(int(value.numerator), int(value.denominator))
    return Cases(((Ratio(fmpq_poly([number]), fmpq_poly([1])), ()),))


VARIABLE = Cases(((Ratio(fmpq_poly([0, 1]), fmpq_poly([1])), ()),))
"""The function x."""
