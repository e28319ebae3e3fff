"""Roots of polynomials of one variable, and the signs between them.

A root is exact or enclosed so closely that the floats around it are known. Coefficients are rational here;
``algebraic`` has those with roots.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

from flint import arb, ctx, fmpq, fmpq_poly, fmpz_poly

from ..rationals import nearest_float


def float_inside(end: Fraction | float, direction: int) -> float:
    """Return the float nearest to ``end`` among those >= it (direction 1) or <= it (direction -1).

    >>> float_inside(Fraction(1, 10), -1) < Fraction(1, 10) < float_inside(Fraction(1, 10), 1)
    True
    """
    nearest = nearest_float(end)
    if (nearest - end if math.isinf(nearest) else Fraction(nearest) - end) * direction < 0 and nearest != end:
        return math.nextafter(nearest, direction * math.inf)
    return nearest


class Field(Protocol):
    """The ring of an inequality's polynomials: their factors, each by some key, and their signs."""

    def at_least_0(self, polynomial: Any, at: Fraction) -> bool:
        """Whether a polynomial is >= 0 at a point."""

    def factors(self, polynomial: Any) -> frozenset:
        """Return the keys of a polynomial's irreducible factors."""

    def linear(self, end: Fraction) -> Any:
        """Return the key of the linear factor that vanishes at ``end``."""

    def enclosures(self, factor: Any, precision: int) -> list[tuple[Fraction, Fraction]] | None:
        """Enclose the real roots of a factor, in this precision; ``None`` if it is not enough to tell them apart."""


class Rational:
    """Ring of polynomials over the rationals; a factor's key has its coefficients."""

    def at_least_0(self, polynomial: fmpq_poly, at: Fraction) -> bool:
        """Whether a polynomial is >= 0 at a point, exactly."""
        return polynomial(fmpq(at.numerator, at.denominator)) >= 0

    def factors(self, polynomial: fmpq_poly) -> frozenset[tuple[int, ...]]:
        """Return the irreducible factors over the rationals, each by its integer coefficients."""
        return factors_of(polynomial)

    def linear(self, end: Fraction) -> tuple[int, ...]:
        """Return the factor that vanishes at ``end``, by its integer coefficients."""
        return (-end.numerator, end.denominator)

    def enclosures(self, factor: tuple[int, ...], precision: int) -> list[tuple[Fraction, Fraction]]:
        """Enclose the real roots of a factor in balls of this precision; a rational root of a linear factor is
        exact."""
        return _roots(factor, precision)


@dataclass(frozen=True)
class Sign:
    """Condition that product/denominator^2 >= 0."""

    field: Field
    product: Any
    denominator: Any

    @cached_property
    def zeros(self) -> frozenset:
        """The irreducible factors of the product."""
        return self.field.factors(self.product)

    @cached_property
    def poles(self) -> frozenset:
        """The irreducible factors of the denominator."""
        return self.field.factors(self.denominator)

    def between(self, x: Fraction) -> bool:
        """Whether it holds at a point that is no root of any factor."""
        return self.field.at_least_0(self.product, x)

    def at(self, factor: Any, beside: Fraction) -> bool:
        """Whether it holds at a root of the irreducible ``factor``; no other root may lie between it and ``beside``."""
        return factor not in self.poles and (factor in self.zeros or self.between(beside))


def factors_of(polynomial: fmpq_poly) -> frozenset[tuple[int, ...]]:
    """Return the irreducible factors over the rationals, as integer coefficients from the constant one up.

    Two different ones have no root in common.
    """
    if polynomial == 0:
        return frozenset()
    return frozenset(tuple(map(int, factor.coeffs())) for factor, _ in polynomial.numer().factor()[1])


@dataclass(frozen=True)
class Point:
    """A real root of ``factor``, in [low, high]; ``below`` and ``above`` are its neighbours among the floats (or
    among the whole numbers), or itself if it is rational."""

    factor: Any
    low: Fraction
    high: Fraction
    below: Fraction | float
    above: Fraction | float

    @property
    def rational(self) -> bool:
        """Whether the root is known exactly, as a rational number."""
        return self.low == self.high


def real_roots(field: Field, factors: Iterable[Any], integer: bool) -> list[Point]:
    """Return all real roots in increasing order, with disjoint enclosures."""
    precision = 128
    while True:
        enclosures = {factor: field.enclosures(factor, precision) for factor in factors}
        found = [_enclosed(f, *ends, integer) for f, roots in enclosures.items() for ends in roots or ()]
        if None not in found and None not in enclosures.values():
            points = sorted((point for point in found if point), key=lambda point: point.low)
            if all(p.high < q.low for p, q in itertools.pairwise(points)):
                return points
        precision *= 2


def _roots(factor: tuple[int, ...], precision: int) -> list[tuple[Fraction, Fraction]]:
    if len(factor) == 2:
        return [(Fraction(-factor[0], factor[1]),) * 2]
    with ctx.workprec(precision):
        roots: Any = fmpz_poly(list(factor)).complex_roots()
        balls = [root.real for root, _ in roots if root.imag == 0]
        return [(_dyadic(ball.lower()), _dyadic(ball.upper())) for ball in balls]


def _dyadic(exact: arb) -> Fraction:
    mantissa, exponent = map(int, exact.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def _enclosed(factor: Any, low: Fraction, high: Fraction, integer: bool) -> Point | None:
    """The point with its neighbours; ``None`` if the enclosure is too wide to tell them."""
    if low == high:
        return Point(factor, low, high, low, low)
    below: Fraction | float = Fraction(math.floor(low)) if integer else float_inside(low, -1)
    above = below + 1 if integer else math.nextafter(below, math.inf)
    return Point(factor, low, high, below, above) if below < low and high < above else None
