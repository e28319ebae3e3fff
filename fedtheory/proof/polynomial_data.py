"""Polynomials and their quotients as plain data: lists of (exponents, "p/q"), read back without evaluating anything."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import sympy
from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpz_mpoly, fmpz_mpoly_ctx

from .. import numerals
from . import checker
from .identity import check_rational, quotient

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RATIONAL = re.compile(r"-?[0-9]+(?:/[0-9]+)?")
_DIGITS = 2000
_LARGEST_EXPONENT = 100


def to_rational(text: object) -> Fraction:
    """Read a rational number from a text 'p' or 'p/q'; raise ``ValueError`` for anything else."""
    if isinstance(text, str) and _RATIONAL.fullmatch(text):
        with contextlib.suppress(ValueError):
            return numerals.rational(text, _DIGITS)
    raise ValueError(f"number = {str(text)[:80]!r}: allowed is a string 'p' or 'p/q'")


def plain(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression with every symbol known by its name alone, without assumptions."""
    expression = sympy.sympify(expression, strict=True)
    check_rational(expression)
    used = expression.free_symbols
    if len({symbol.name for symbol in used}) < len(used):
        raise ValueError(f"expression = {expression}: two different symbols of it have the same name")
    return expression.xreplace({symbol: sympy.Symbol(symbol.name) for symbol in used})


def to_name(text: object) -> str:
    """Return the text if it is a name: a letter, then letters, digits and _."""
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise ValueError(f"name = {text!r}: allowed is a letter, then letters, digits and _")
    return text


class Written:
    """Base of dataclasses that are kept as plain data, by ``data`` and ``from_data``, and as JSON. Nothing that is read
    is evaluated."""

    def data(self) -> dict:
        """Return the object as plain data for JSON."""
        return {name: _plain_data(getattr(self, name)) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Read an object from what ``data`` gives; raise ``ValueError`` for anything else."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the object as a JSON text."""
        return json.dumps(self.data())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote; ``ValueError`` for anything else."""
        return cls.from_data(parse_text(text))


def _plain_data(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_data(part) for part in value]
    return value.data() if isinstance(value, Written) else value


@dataclass(frozen=True)
class Polynomial(Written):
    """Polynomial with rational coefficients, as data: names, and (exponents, "p/q") in descending order.

    >>> x, y = sympy.symbols("x y")
    >>> Polynomial.of(x**2 - y / 2).terms
    (((2, 0), '1'), ((0, 1), '-1/2'))
    """

    names: tuple[str, ...]
    terms: tuple[tuple[tuple[int, ...], str], ...]

    def __post_init__(self) -> None:
        names, exponents = list(self.names), [powers for powers, _ in self.terms]
        if not all(isinstance(n, str) and _NAME.fullmatch(n) for n in names) or names != sorted(set(names)):
            raise ValueError(f"names = {names}: allowed are different names in alphabetical order")
        for powers in exponents:
            if len(powers) != len(names) or not all(type(p) is int and 0 <= p <= _LARGEST_EXPONENT for p in powers):
                raise ValueError(f"exponents = {powers}: allowed are {len(names)} integers in [0, {_LARGEST_EXPONENT}]")
        if len(set(exponents)) < len(exponents):
            raise ValueError(f"exponents = {exponents}: a power product occurs twice")
        self.coefficients  # noqa: B018 - read, so that what is no number is refused

    @classmethod
    def of(cls, expression: sympy.Expr) -> Polynomial:
        """Make the data of a polynomial expression."""
        names = sorted(symbol.name for symbol in expression.free_symbols)
        poly = sympy.Poly(expression, *map(sympy.Symbol, names) if names else [sympy.Symbol("unused")], domain="QQ")
        terms = ((powers if names else (), str(Fraction(int(c.p), int(c.q)))) for powers, c in poly.terms())
        return cls(tuple(names), tuple(terms))

    @cached_property
    def coefficients(self) -> tuple[Fraction, ...]:
        """Coefficients, in the order of the terms."""
        return tuple(to_rational(coefficient) for _, coefficient in self.terms)

    @cached_property
    def by_powers(self) -> dict[tuple[int, ...], Fraction]:
        """Coefficient of each power product, in the order of the terms."""
        return dict(zip((powers for powers, _ in self.terms), self.coefficients, strict=True))

    def expression(self) -> sympy.Expr:
        """Return the polynomial as a sympy expression with plain symbols."""
        symbols = [sympy.Symbol(name) for name in self.names]
        terms = (
            (sympy.Rational(c.numerator, c.denominator), *(s**p for s, p in zip(symbols, powers, strict=True)))
            for powers, c in self.by_powers.items()
        )
        return sympy.Add(*(sympy.Mul(*factors) for factors in terms))

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """Return the exact value at a rational point."""
        point = [fmpq(values[name].numerator, values[name].denominator) for name in self.names]
        total = fmpq(0)
        for powers, coefficient in self.by_powers.items():
            product = fmpq(coefficient.numerator, coefficient.denominator)
            for x, p in zip(point, powers, strict=True):
                if p:
                    product *= x**p
            total += product
        return Fraction(int(total.p), int(total.q))

    @classmethod
    def from_data(cls, data: object) -> Self:
        names, terms = fields(data, "names", "terms")
        return cls(tuple(list_of(names)), tuple((tuple(list_of(p)), c) for p, c in map(pair_of, list_of(terms))))


@dataclass(frozen=True)
class Ratio(Written):
    """Rational function, as data."""

    numerator: Polynomial
    denominator: Polynomial

    @classmethod
    def of(cls, expression: sympy.Expr) -> Ratio:
        """Make the data of an expression in lowest terms, with whole coefficients. A denominator whose coefficients
        have one sign gets the sign +.

        Raises:
            ValueError: no rational function with rational coefficients, or a division by 0.
        """
        return _ratio_of(expression) if isinstance(expression, sympy.Basic) else _lowest_terms(plain(expression))

    @property
    def names(self) -> set[str]:
        """Names that occur in the numerator or the denominator."""
        return {*self.numerator.names, *self.denominator.names}

    def expression(self) -> sympy.Expr:
        """Return the ratio as a sympy expression with plain symbols."""
        return self.numerator.expression() / self.denominator.expression()

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """Return the exact value at a rational point; raise ``ZeroDivisionError`` if it is undefined."""
        return self.numerator.at(values) / self.denominator.at(values)

    @classmethod
    def from_data(cls, data: object) -> Self:
        ratio = cls(*map(Polynomial.from_data, fields(data, "numerator", "denominator")))
        if not any(ratio.denominator.coefficients):
            raise ValueError("denominator = 0: allowed is a polynomial other than 0")
        return ratio


@lru_cache(maxsize=20000)
def _ratio_of(expression: sympy.Expr) -> Ratio:
    return _lowest_terms(plain(expression))


@lru_cache(maxsize=20000)
def _lowest_terms(expression: sympy.Expr) -> Ratio:
    symbols = sorted(expression.free_symbols, key=str)
    names = tuple(s.name for s in symbols)
    context = fmpz_mpoly_ctx.get(names or ("unused",), Ordering.lex)
    return _ratio(*quotient(expression, dict(zip(symbols, context.gens(), strict=False)), context), names)


def _ratio(top: fmpz_mpoly, bottom: fmpz_mpoly, names: tuple[str, ...]) -> Ratio:
    if bottom.leading_coefficient() < 0:
        top, bottom = -top, -bottom
    return Ratio(_polynomial(top, names), _polynomial(bottom, names))


def _polynomial(found: fmpz_mpoly | fmpq_mpoly, names: tuple[str, ...]) -> Polynomial:
    monomials = [(tuple(map(int, powers)), str(c)) for powers, c in found.to_dict().items()]
    used = [i for i in range(len(names)) if any(powers[i] for powers, _ in monomials)]
    terms = ((tuple(powers[i] for i in used), c) for powers, c in sorted(monomials, reverse=True))
    return Polynomial(tuple(names[i] for i in used), tuple(terms))


def substituted(ratio: Ratio, substitutions: Iterable[tuple[str, Ratio]]) -> Ratio:
    """Replace every name of the ratio, one after another, and return the result in lowest terms. This is as
    ``Ratio.of``, without an expression.

    Raises:
        ValueError: a division by 0.

    >>> x, y = sympy.symbols("x y")
    >>> substituted(Ratio.of(1 / x + y), [("x", Ratio.of(y / (1 + y)))]).expression()
    (y**2 + y + 1)/y
    """
    made = tuple(substitutions)
    names = tuple(sorted({*ratio.names, *(n for name, put_in in made for n in (name, *put_in.names))}))
    context = fmpz_mpoly_ctx.get(names or ("unused",), Ordering.lex)
    top, bottom = _whole(ratio, names, context)
    for name, put_in in made:
        index = names.index(name)
        degree = max(p.degrees()[index] for p in (top, bottom))
        if degree > 0:
            over, under = _whole(put_in, names, context)
            top, bottom = (_put_in(p, index, over, under, degree, context) for p in (top, bottom))
            if bottom.is_zero():
                raise ValueError(f"{name} = {put_in.expression()}: allowed is what does not divide by 0")
            common = top.gcd(bottom)
            top, bottom = top / common, bottom / common
    return _ratio(top, bottom, names)


def _whole(ratio: Ratio, names: tuple[str, ...], context: fmpz_mpoly_ctx) -> tuple[fmpz_mpoly, fmpz_mpoly]:
    """Numerator and denominator, times the least number that makes all coefficients whole."""
    parts = (ratio.numerator, ratio.denominator)
    scale = math.lcm(*(c.denominator for part in parts for c in part.coefficients))
    found = []
    for part in parts:
        places = [names.index(name) for name in part.names]
        terms = {}
        for powers, c in part.by_powers.items():
            exponents = [0] * max(len(names), 1)
            for place, power in zip(places, powers, strict=True):
                exponents[place] = power
            terms[tuple(exponents)] = int(c * scale)
        found.append(context.from_dict(terms))
    return found[0], found[1]


def _put_in(
    polynomial: fmpz_mpoly, index: int, over: fmpz_mpoly, under: fmpz_mpoly, degree: int, context: fmpz_mpoly_ctx
) -> fmpz_mpoly:
    """under^degree times the polynomial at over/under in the place of the variable of this index."""
    parts: dict[int, dict[tuple[int, ...], int]] = {}
    for powers, c in polynomial.to_dict().items():
        parts.setdefault(int(powers[index]), {})[(*powers[:index], 0, *powers[index + 1 :])] = int(c)
    total, power = context.constant(0), context.constant(1)
    for k in range(degree, -1, -1):
        total = total * over + (context.from_dict(parts[k]) * power if k in parts else 0)
        power = power * under
    return total


def times_power(polynomial: Polynomial, exponent: int) -> Polynomial:
    """Return the polynomial times (1 + sum of its names)^exponent.

    >>> times_power(Polynomial.of(sympy.Symbol("x") - 1), 1).expression()
    x**2 - 1
    """
    if not polynomial.names or exponent == 0:
        return polynomial
    context = fmpq_mpoly_ctx.get(polynomial.names, Ordering.lex)
    start = context.from_dict({p: fmpq(c.numerator, c.denominator) for p, c in polynomial.by_powers.items()})
    total = start * (1 + sum(context.gens())) ** exponent
    return _polynomial(total, polynomial.names)


def parse_text(text: str) -> Any:
    """Read a JSON text in which no key stands twice."""
    return checker.read(text)


def fields(data: object, *names: str) -> list:
    """Return the values of an object that has exactly these keys; raise ``ValueError`` for anything else."""
    if not isinstance(data, dict) or set(data) != set(names):
        raise ValueError(f"allowed is an object with exactly the fields {', '.join(names)}")
    return [data[name] for name in names]


def list_of(data: Any) -> list:
    """Return the data if it is a list; raise ``ValueError`` for anything else."""
    if not isinstance(data, list):
        raise ValueError(f"{data!r}: allowed is a list")
    return data


def pair_of(data: Any) -> list:
    """Return the data if it is a list of two; raise ``ValueError`` for anything else."""
    if len(list_of(data)) != 2:
        raise ValueError(f"{data!r}: allowed is a pair")
    return list_of(data)
