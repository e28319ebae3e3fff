"""Expressions with roots as polynomials: in u = x^(1/n), where x is what is sought, and in the irrational constants.

sqrt(30) is a letter of its own, with a value that balls enclose as closely as needed; sqrt(x) is a power of u. So a
condition with roots is solved as one without.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from flint import Ordering, acb, acb_poly, arb, ctx, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from ..quantities import symbol
from .balls import fold
from .piecewise_rational import Cases, Ratio

PRECISION, MOST_PRECISION = 128, 2**14

_U = sympy.Symbol("u", positive=True)


@dataclass(frozen=True)
class Algebra:
    """Polynomials in u and the constants.

    Attributes:
        root: n, with u = x^(1/n).
        constants: irrational numbers, by the names of their letters.
    """

    root: int
    constants: Mapping[str, sympy.Expr]

    @functools.cached_property
    def context(self) -> Any:
        """The ring of polynomials in u and the constants, with the lexicographic order of monomials."""
        return fmpq_mpoly_ctx.get(("u", *self.constants), Ordering.lex)

    def cases(self, expression: sympy.Expr) -> Cases:
        """Turn a rational expression in u and the constants' letters into a piecewise rational function."""
        letters = dict(zip(("u", *self.constants), self.context.gens(), strict=True))
        return fold(expression, {name: self._of(letter) for name, letter in letters.items()}, self.constant)

    def constant(self, number: sympy.Rational | Fraction) -> Cases:
        """Return a rational number as a function without cases."""
        return self._of(self.context.constant(fmpq(int(number.numerator), int(number.denominator))))

    def _of(self, polynomial: fmpq_mpoly) -> Cases:
        return Cases(((Ratio(polynomial, self.context.constant(1)), ()),))

    def sign(self, polynomial: fmpq_mpoly, at: Fraction) -> int:
        """Return the sign of a polynomial at x = ``at``.

        Raises:
            ValueError: it cannot be told from 0.
        """
        if polynomial == 0:
            return 0
        precision = PRECISION
        while precision <= MOST_PRECISION:
            with ctx.workprec(precision):
                u = _ball(at) if self.root == 1 else _ball(at).root(self.root)
                value = sum((c * u**i for i, c in enumerate(self._coefficients(polynomial))), arb(0))
                if value > 0 or value < 0:
                    return 1 if value > 0 else -1
            precision *= 2
        raise ValueError(f"a sign at {float(at):g} cannot be told from 0")

    def _coefficients(self, polynomial: fmpq_mpoly) -> list[arb]:
        """Enclose the coefficients of the powers of u, from the constant one up."""
        values = [self._value(name) for name in self.constants]
        found: dict[int, arb] = {}
        for (power, *others), c in polynomial.to_dict().items():
            product = arb(c)
            for value, exponent in zip(values, others, strict=True):
                product = product * value ** int(exponent)
            found[int(power)] = found.get(int(power), arb(0)) + product
        return [found.get(i, arb(0)) for i in range(max(found, default=0) + 1)]

    def _value(self, name: str) -> arb:
        return fold(self.constants[name], {}, lambda c: _ball(Fraction(int(c.p), int(c.q))))

    def at_least_0(self, polynomial: fmpq_mpoly, at: Fraction) -> bool:
        """Whether a polynomial is >= 0 at x = ``at``."""
        return self.sign(polynomial, at) >= 0

    def factors(self, polynomial: fmpq_mpoly) -> frozenset[str]:
        """Return the irreducible factors with u in them, each as text.

        Two different ones have no root in common unless the constants conspire.
        """
        if polynomial == 0:
            return frozenset()
        with_u = [f for f, _ in polynomial.factor()[1] if any(power[0] for power in f.to_dict())]
        self._known.update((str(factor), factor) for factor in with_u)
        return frozenset(map(str, with_u))

    def linear(self, end: Fraction) -> str:
        """Return the factor that vanishes at x = ``end`` alone."""
        u = self.context.gens()[0]
        factor = u if end == 0 else u**self.root * end.denominator - end.numerator
        self._known[str(factor)] = factor
        return str(factor)

    def enclosures(self, factor: str, precision: int) -> list[tuple[Fraction, Fraction]] | None:
        """Enclose the roots x of a factor; a root is exact where it is seen to be rational.

        Raises:
            ValueError: they are not told apart by any precision.
        """
        if precision > MOST_PRECISION:
            raise ValueError("roots of it cannot be told apart")
        exact = self.exact_root(self._known[factor])
        return [(exact, exact)] if exact is not None else self.roots(self._known[factor], precision)

    @functools.cached_property
    def _known(self) -> dict[str, fmpq_mpoly]:
        return {}

    def exact_root(self, factor: fmpq_mpoly) -> Fraction | None:
        """Return the root x of a factor of two terms, or of degree 1 in u, where it is seen to be rational."""
        powers = sorted({int(power[0]) for power in factor.to_dict()})
        if len(powers) == 1 and powers[0]:
            return Fraction(0)
        if len(powers) != 2 or powers[0] != 0 or self.root % powers[1] or (self.root > 1 and powers[1] > self.root):
            return None
        low, high = (self._written(factor, power) for power in powers)
        quotient = sympy.radsimp(sympy.expand(-low / high))
        value = sympy.radsimp(sympy.expand(quotient ** (self.root // powers[1])))
        if not value.is_Rational or (self.root > 1 and not quotient.is_positive):
            return None
        return Fraction(int(value.p), int(value.q))

    def _written(self, factor: fmpq_mpoly, power: int) -> sympy.Expr:
        total = sympy.Integer(0)
        for (of_u, *others), c in factor.to_dict().items():
            if int(of_u) == power:
                product = sympy.Rational(int(c.p), int(c.q))
                for number, exponent in zip(self.constants.values(), others, strict=True):
                    product *= number ** int(exponent)
                total += product
        return total

    def roots(self, factor: fmpq_mpoly, precision: int) -> list[tuple[Fraction, Fraction]] | None:
        """Enclose the roots x of a factor, for u >= 0 if n > 1; ``None`` if the precision does not suffice."""
        with ctx.workprec(precision):
            coefficients = self._coefficients(factor)
            if len(coefficients) == 1:
                return []
            if coefficients[-1].contains(0):
                return None
            linear = len(coefficients) == 2
            found = [-coefficients[0] / coefficients[1]] if linear else _real_roots(coefficients)
            if found is None:
                return None
            enclosures = []
            for u in found:
                if self.root > 1 and not (u >= 0 or u < 0):
                    return None
                if self.root == 1 or u >= 0:
                    x = u**self.root
                    enclosures.append((_dyadic(x.lower()), _dyadic(x.upper())))
            return enclosures


def _real_roots(coefficients: list[arb]) -> list[arb] | None:
    """Isolate the real roots of a polynomial without double roots; ``None`` if the precision does not suffice."""
    bits = ctx.prec
    try:
        roots = acb_poly([acb(c) for c in coefficients]).roots(tol=arb(2) ** -(bits // 2), maxprec=2 * bits)
    except ValueError:
        return None
    real = [root.real for root in roots if root.imag.contains(0)]
    return None if any(a.overlaps(b) for i, a in enumerate(real) for b in real[:i]) else real


def algebraic(slack: sympy.Expr, name: str, values: Mapping[str, Fraction]) -> tuple[Algebra, Cases]:
    """Turn a slack into a piecewise rational function of u and of the irrational constants.

    Raises:
        ValueError: an exponential, a logarithm or a root of a sum contains the quantity that is sought.
    """
    given = {symbol(n): sympy.Rational(v.numerator, v.denominator) for n, v in values.items()}
    letters: dict[sympy.Expr, sympy.Symbol] = {}
    rational = _rewritten(slack, symbol(name), given, letters)
    powers = [p for p in rational.atoms(sympy.Pow) if p.base == _U]
    root = math.lcm(*(int(p.exp.q) for p in powers if p.exp.is_Rational)) if powers else 1
    whole = _in_powers(rational, root)
    algebra = Algebra(root, {letter.name: number for number, letter in letters.items()})
    return algebra, algebra.cases(whole)


def _in_powers(expression: sympy.Expr, root: int) -> sympy.Expr:
    """x as u^root."""
    if expression == _U:
        return sympy.Pow(_U, root)
    if expression.is_Pow and expression.base == _U:
        return sympy.Pow(_U, expression.exp * root)
    if not expression.has(_U):
        return expression
    return expression.func(*(_in_powers(part, root) for part in expression.args), evaluate=False)


def _rewritten(
    expression: sympy.Expr,
    x: sympy.Symbol,
    given: Mapping[sympy.Symbol, sympy.Rational],
    letters: dict[sympy.Expr, sympy.Symbol],
) -> sympy.Expr:
    """Rewrite an expression with u for x, numbers for what is given, and a letter for each irrational constant."""
    if expression == x:
        return _U
    if expression.is_Symbol:
        return given[expression]
    if not expression.args:
        return expression
    irrational = isinstance(expression, (sympy.exp, sympy.log)) or (expression.is_Pow and not expression.exp.is_Integer)
    if not irrational:
        parts = [_rewritten(part, x, given, letters) for part in expression.args]
        return expression.func(*parts, evaluate=False) if expression.args else expression
    if not expression.has(x):
        return _letter(expression.xreplace(dict(given)), letters)
    if not expression.is_Pow or not expression.exp.is_Rational:
        raise ValueError(f"no exact arithmetic for {expression}")
    factor, rest = sympy.powsimp(sympy.powdenest(expression.base.xreplace(dict(given)), force=True)).as_independent(
        x, as_Add=False
    )
    base, power = rest.as_base_exp()
    if base != x or not power.is_Rational:
        raise ValueError(f"no exact arithmetic for a root of {expression.base}")
    return sympy.Mul(_letter(factor**expression.exp, letters), sympy.Pow(_U, power * expression.exp), evaluate=False)


def _letter(number: sympy.Expr, letters: dict[sympy.Expr, sympy.Symbol]) -> sympy.Expr:
    """A rational number as it is, times a letter for what is left."""
    if not number.is_real or not number.is_finite:
        raise ValueError(f"no exact arithmetic for {number}")
    rational, rest = number.as_coeff_Mul()
    if rest == 1:
        return rational
    if not rational.is_Rational:
        rational, rest = sympy.Integer(1), number
    return rational * letters.setdefault(rest, sympy.Symbol(f"c{len(letters)}"))


def _ball(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def _dyadic(exact: arb) -> Fraction:
    mantissa, exponent = map(int, exact.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent
