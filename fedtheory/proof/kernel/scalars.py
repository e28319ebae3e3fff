"""Scalars of theorems: quotients of polynomials with rational coefficients, always in lowest terms."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import sympy
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

Number = int | Fraction


class Ring:
    """Field of fractions of the polynomials in some names.

    >>> ring = Ring("a b")
    >>> a, b = ring.symbols
    >>> (a * a - b * b) / (a - b)
    a + b
    """

    def __init__(self, names: str) -> None:
        self.names = tuple(names.split())
        self.context = fmpq_mpoly_ctx.get(self.names, Ordering.lex)
        self.symbols = tuple(Scalar(self, p, self.context.constant(1)) for p in self.context.gens())

    def __getitem__(self, name: str) -> Scalar:
        return self.symbols[self.names.index(name)]

    def number(self, value: Number) -> Scalar:
        """Return a number as a scalar."""
        value = Fraction(value)
        constant = self.context.constant(fmpq(value.numerator, value.denominator))
        return Scalar(self, constant, self.context.constant(1))


class Scalar:
    """Quotient of two polynomials in lowest terms, with a denominator whose leading coefficient is 1."""

    __slots__ = ("_names", "denominator", "numerator", "ring")

    def __init__(self, ring: Ring, numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> None:
        if denominator.is_zero():
            raise ZeroDivisionError("a scalar divided by 0")
        if not denominator.is_one():
            if not (common := numerator.gcd(denominator)).is_one():
                numerator, denominator = numerator / common, denominator / common
            if (lead := denominator.leading_coefficient()) != 1:
                numerator, denominator = numerator / lead, denominator / lead
        self.ring, self.numerator, self.denominator = ring, numerator, denominator
        self._names: frozenset[str] | None = None

    def _other(self, other: Scalar | Number) -> Scalar:
        if isinstance(other, Scalar):
            if other.ring is not self.ring:
                raise ValueError("scalars of two rings: allowed are those of one")
            return other
        return self.ring.number(other)

    def __add__(self, other: Scalar | Number) -> Scalar:
        o = self._other(other)
        if self.denominator == o.denominator:
            return Scalar(self.ring, self.numerator + o.numerator, self.denominator)
        top = self.numerator * o.denominator + o.numerator * self.denominator
        return Scalar(self.ring, top, self.denominator * o.denominator)

    def __neg__(self) -> Scalar:
        return Scalar(self.ring, -self.numerator, self.denominator)

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return self + -self._other(other)

    def __rsub__(self, other: Scalar | Number) -> Scalar:
        return self._other(other) + -self

    def __mul__(self, other: Scalar | Number) -> Scalar:
        if not isinstance(other, Scalar | int | Fraction):
            return NotImplemented
        o = self._other(other)
        return Scalar(self.ring, self.numerator * o.numerator, self.denominator * o.denominator)

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        o = self._other(other)
        return Scalar(self.ring, self.numerator * o.denominator, self.denominator * o.numerator)

    def __rtruediv__(self, other: Scalar | Number) -> Scalar:
        return self._other(other) / self

    def __pow__(self, power: int) -> Scalar:
        return Scalar(self.ring, self.numerator**power, self.denominator**power)

    __radd__, __rmul__ = __add__, __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scalar | int | Fraction):
            return NotImplemented
        o = self._other(other)
        return self.numerator == o.numerator and self.denominator == o.denominator

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def is_zero(self) -> bool:
        """Whether the scalar is 0."""
        return bool(self.numerator.is_zero())

    @property
    def is_polynomial(self) -> bool:
        """Whether the denominator is 1."""
        return bool(self.denominator.is_one())

    @property
    def bottom(self) -> Scalar:
        """Denominator, as a scalar."""
        return Scalar(self.ring, self.denominator, self.ring.context.constant(1))

    @property
    def names(self) -> frozenset[str]:
        """Names that occur."""
        if self._names is None:
            of = (self.numerator,) if self.is_polynomial else (self.numerator, self.denominator)
            used = (zip(self.ring.names, polynomial.degrees(), strict=True) for polynomial in of)
            self._names = frozenset(name for each in used for name, degree in each if degree > 0)
        return self._names

    def replace(self, values: Mapping[str, Scalar]) -> Scalar:
        """Replace names by expressions, all at once."""
        if self.names.isdisjoint(values):
            return self
        return self._value(self.numerator, values) / self._value(self.denominator, values)

    def _value(self, polynomial: fmpq_mpoly, values: Mapping[str, Scalar]) -> Scalar:
        """Replace names in a polynomial, in all terms with the same powers of them at once."""
        put = [(at, values[name]) for at, name in enumerate(self.ring.names) if name in values]
        parts: dict[tuple[int, ...], dict] = {}
        for powers, coefficient in polynomial.to_dict().items():
            rest, of = list(powers), tuple(int(powers[at]) for at, _ in put)
            for at, _ in put:
                rest[at] = 0
            parts.setdefault(of, {})[tuple(rest)] = coefficient
        total, one = self.ring.number(0), self.ring.context.constant(1)
        for of, part in parts.items():
            term = Scalar(self.ring, self.ring.context.from_dict(part), one)
            for power, (_, value) in zip(of, put, strict=True):
                term = term * value**power if power else term
            total = total + term
        return total

    def within(self, ring: Ring) -> Scalar:
        """Return the scalar in a ring that has all names of this one."""
        return Scalar(ring, *(p.project_to_context(ring.context) for p in (self.numerator, self.denominator)))

    def coefficients(self, name: str) -> dict[int, Scalar]:
        """Return {power: coefficient} in a name that does not occur in the denominator."""
        at = self.ring.names.index(name)
        if name not in self.names:
            return {} if self.is_zero else {0: self}
        if self.denominator.degrees()[at] > 0:
            raise ValueError(f"{self} divides by what depends on {name}: allowed is a polynomial in it")
        parts = by_power(self.numerator, self.ring, at)
        return {power: Scalar(self.ring, part, self.denominator) for power, part in parts.items()}

    def at(self, values: Mapping[str, Number]) -> Fraction:
        """Return the exact value at a rational point."""
        top, bottom = (_at(p, self.ring.names, values) for p in (self.numerator, self.denominator))
        return top / bottom

    def expression(self) -> sympy.Expr:
        """Return the scalar as a sympy expression."""
        return _expression(self.numerator, self.ring.names) / _expression(self.denominator, self.ring.names)

    def __repr__(self) -> str:
        return f"{self.numerator}" if self.is_polynomial else f"({self.numerator})/({self.denominator})"


def by_power(polynomial: fmpq_mpoly, ring: Ring, at: int) -> dict[int, fmpq_mpoly]:
    """Return {power: coefficient} of a polynomial in the name number ``at``."""
    parts: dict[int, dict] = {}
    for powers, c in polynomial.to_dict().items():
        parts.setdefault(int(powers[at]), {})[(*powers[:at], 0, *powers[at + 1 :])] = c
    return {power: ring.context.from_dict(part) for power, part in parts.items()}


def _at(polynomial: fmpq_mpoly, names: tuple[str, ...], values: Mapping[str, Number]) -> Fraction:
    total = Fraction(0)
    for powers, coefficient in polynomial.to_dict().items():
        term = Fraction(int(coefficient.p), int(coefficient.q))
        for name, power in zip(names, powers, strict=True):
            if power:
                term *= Fraction(values[name]) ** int(power)
        total += term
    return total


def _expression(polynomial: fmpq_mpoly, names: tuple[str, ...]) -> sympy.Expr:
    symbols = [sympy.Symbol(name) for name in names]
    return sympy.Add(
        *(
            sympy.Mul(sympy.Rational(int(c.p), int(c.q)), *(s ** int(p) for s, p in zip(symbols, powers, strict=True)))
            for powers, c in polynomial.to_dict().items()
        )
    )


@lru_cache
def power_sum(ring: Ring, power: int, count: str) -> Scalar:
    """Return sum_{k=0}^{K-1} k^p as a polynomial in the name K, by telescoping (k + 1)^(p + 1) - k^(p + 1).

    >>> ring = Ring("K")
    >>> power_sum(ring, 2, "K") * 6
    2*K^3 - 3*K^2 + K
    """
    total = ring[count] ** (power + 1)
    for lower in range(power):
        total = total - power_sum(ring, lower, count) * int(sympy.binomial(power + 1, lower))
    return total / (power + 1)
