"""Inequalities ``expression >= 0`` on a region, by certificates of positivity.

Every symbol is written through nonnegative parameters: a count as 1 + k, a cap 0 < x <= c as c / (1 + u), an interval
[a, b] as a + (b - a) s / (s + t), an ordering x >= y as y + s. If the expression becomes a quotient of polynomials
without negative coefficients, where needed after multiplying by (1 + sum of the parameters)^N (Polya), the inequality
holds wherever the expression is defined. Counts are treated as real numbers, which proves more.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import sympy

from .identity import is_identity
from .polynomial_data import (
    Polynomial,
    Ratio,
    Written,
    fields,
    list_of,
    pair_of,
    plain,
    times_power,
    to_name,
    to_rational,
)
from .symbol_regions import Region

POLYA = 3
"""Largest exponent N that ``prove`` tries."""


@dataclass(frozen=True)
class Certificate(Written):
    """Proof of ``inequality >= 0`` on ``region``: with every substitution made,

        inequality * (1 + sum of the numerator's parameters)^polya = numerator / denominator,

    and neither polynomial has a negative coefficient.
    """

    inequality: Ratio
    region: Region
    polya: int
    numerator: Polynomial
    denominator: Polynomial

    def verify(self) -> bool:
        """Whether this is a proof. It substitutes and expands anew and checks the signs; it searches nothing."""
        parameters = {name for name, _ in self.region.kinds}
        if not {*self.numerator.names, *self.denominator.names} <= parameters:
            return False
        if type(self.polya) is not int or not 0 <= self.polya <= 20:
            return False
        if any(c < 0 for c in self.numerator.coefficients + self.denominator.coefficients):
            return False
        if not any(self.denominator.coefficients):
            return False
        try:
            pulled = self.region.pull_back(self.inequality.expression())
        except ValueError:
            return False
        quotient = self.numerator.expression() / self.denominator.expression()
        whole = 1 + sympy.Add(*map(sympy.Symbol, self.numerator.names))
        return is_identity(pulled * whole**self.polya, quotient)

    def proves(self, expression: sympy.Expr, where: Region) -> bool:
        """Whether this is a proof of exactly this inequality on exactly this region."""
        if self.region != where:
            return False
        same = Ratio.of(plain(expression)) == self.inequality  # lowest terms: far cheaper than to expand a difference
        return (same or is_identity(self.inequality.expression(), plain(expression))) and self.verify()

    @classmethod
    def from_data(cls, data: object) -> Self:
        parts = fields(data, "inequality", "region", "polya", "numerator", "denominator")
        inequality, where, polya, *fraction = parts
        if type(polya) is not int:
            raise ValueError(f"polya = {polya!r}: allowed is an integer")
        numerator, denominator = map(Polynomial.from_data, fraction)
        return cls(Ratio.from_data(inequality), Region.from_data(where), polya, numerator, denominator)


@dataclass(frozen=True)
class Counterexample(Written):
    """Rational point of ``region`` at which ``inequality`` is negative: its parameters, the point itself, and the
    value."""

    inequality: Ratio
    region: Region
    parameters: tuple[tuple[str, str], ...]
    point: tuple[tuple[str, str], ...]
    value: str

    def verify(self) -> bool:
        """Whether the point is in the region and the exact value there is the one given, and negative."""
        parameters = {name: to_rational(text) for name, text in self.parameters}
        if not self.region.admits(parameters):
            return False
        try:
            point = self.region.image(parameters)
            value = self.inequality.at(point)
        except (ZeroDivisionError, KeyError):
            return False
        return point == {name: to_rational(text) for name, text in self.point} and value == to_rational(self.value) < 0

    def refutes(self, expression: sympy.Expr, where: Region) -> bool:
        """Whether this refutes exactly this inequality on exactly this region."""
        return self.region == where and is_identity(self.inequality.expression(), plain(expression)) and self.verify()

    @classmethod
    def from_data(cls, data: object) -> Self:
        inequality, where, *pairs, value = fields(data, "inequality", "region", "parameters", "point", "value")
        parameters, point = map(named_numbers, pairs)
        return cls(Ratio.from_data(inequality), Region.from_data(where), parameters, point, str(to_rational(value)))


def named_numbers(data: object) -> tuple[tuple[str, str], ...]:
    """Read pairs (name, rational number as text) from plain data."""
    return tuple((to_name(name), str(to_rational(number))) for name, number in map(pair_of, list_of(data)))


def prove(
    expression: sympy.Expr, where: Region, polya: int = POLYA, samples: int = 1000, seed: int = 0
) -> Certificate | Counterexample | None:
    """Return a proof of ``expression >= 0`` on the region, a point of the region at which that fails, or ``None``
    (unknown).

    Raises:
        ValueError: no rational function with rational coefficients, or a symbol of which the region says nothing.

    >>> from fedtheory.proof.symbol_regions import nonnegative, region
    >>> x = sympy.Symbol("x")
    >>> prove(x**2 - x + 1, region(nonnegative("x"))).polya
    1
    >>> prove(x**2 - 3 * x + 2, region(nonnegative("x")), seed=1).verify()
    True
    >>> prove((x - 1) ** 2, region(nonnegative("x"))) is None
    True
    """
    return certify(expression, where, polya) or refute(expression, where, samples, seed)


def certify(expression: sympy.Expr, where: Region, polya: int = POLYA) -> Certificate | None:
    """Return a proof of ``expression >= 0`` on the region, or ``None``; no counterexample is looked for."""
    inequality = Ratio.of(expression)
    pulled = where.pulled(inequality)
    if any(c < 0 for c in pulled.denominator.coefficients):
        return None
    top = pulled.numerator
    for exponent in range(polya + 1):
        numerator = times_power(top, exponent)
        if all(c >= 0 for c in numerator.coefficients):
            return Certificate(inequality, where, exponent, numerator, pulled.denominator)
    return None


def refute(expression: sympy.Expr, where: Region, samples: int = 1000, seed: int = 0) -> Counterexample | None:
    """Return the first point of the region that is found at which the expression is negative, or ``None``."""
    inequality = Ratio.of(expression)
    pulled = where.pulled(inequality)
    for parameters in draws(where, samples, seed):
        try:
            if pulled.at(parameters) >= 0:
                continue
            point = where.image(parameters)
            value = inequality.at(point)
        except ZeroDivisionError:
            continue
        given, image = (tuple((n, str(x)) for n, x in sorted(each.items())) for each in (parameters, point))
        found = Counterexample(inequality, where, given, image, str(value))
        if found.verify():
            return found
    return None


_SHORT: dict[str, tuple[int | Fraction, ...]] = {
    "nonnegative": (0, 0, 1, Fraction(1, 3), 9),
    "positive": (1, 2, Fraction(1, 2), Fraction(1, 10), 10),
    "integer": (0, 0, 1, 9, 99),
}


_LARGEST = 1000
"""Largest whole number that is drawn."""


def draws(where: Region, samples: int, seed: int) -> Iterator[dict[str, Fraction]]:
    """Yield parameters of points: corners, then random points, first of short numbers, then of any, and last corners
    beyond all whole numbers that are drawn."""
    yield from _corners(where, 1, 1)
    yield from _corners(where, 1, 2, Fraction(1, 2))
    rng = random.Random(seed)
    for _ in range(samples):
        yield {name: Fraction(rng.choice(_SHORT[kind])) for name, kind in where.kinds}
    for _ in range(samples):
        yield {name: _draw(rng, kind) for name, kind in where.kinds}
    yield from _corners(where, _LARGEST + 1, 1)


def _corners(where: Region, size: int, *positive: int | Fraction) -> Iterator[dict[str, Fraction]]:
    """Yield points whose parameters are 0 or of this size, where they have to be positive one of these."""
    values = [positive if kind == "positive" else (0, size) for _, kind in where.kinds]
    for corner in itertools.islice(itertools.product(*values), 1024):
        yield {name: Fraction(value) for (name, _), value in zip(where.kinds, corner, strict=True)}


def _draw(rng: random.Random, kind: str) -> Fraction:
    if kind != "positive" and rng.random() < 0.3:
        return Fraction(0)
    if kind == "integer":
        return Fraction(rng.choice((rng.randint(1, 5), rng.randint(1, _LARGEST))))
    return Fraction(rng.randint(1, 20), rng.randint(1, 20)) * Fraction(10) ** rng.randint(-2, 2)
