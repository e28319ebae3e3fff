"""Identities between rational functions, decided exactly."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from flint import Ordering, fmpz_mpoly, fmpz_mpoly_ctx


def is_identity(left: sympy.Expr, right: sympy.Expr) -> bool:
    """Whether two rational functions agree wherever both are defined: as quotients of polynomials with whole
    coefficients, left numerator times right denominator is right numerator times left denominator.

    Raises:
        ValueError: a side is no rational function with rational coefficients.

    >>> x, y = sympy.symbols("x y")
    >>> is_identity(1 / x + 1 / y, (x + y) / (x * y)), is_identity(1 / x + 1 / y, 2 / (x + y))
    (True, False)
    """
    sides = [sympy.sympify(side, strict=True) for side in (left, right)]
    for side in sides:
        check_rational(side)
    symbols = sorted(sides[0].free_symbols | sides[1].free_symbols, key=str)  # of one name there may be several
    context = fmpz_mpoly_ctx.get(tuple(f"x{i}" for i in range(len(symbols))) or ("unused",), Ordering.lex)
    known = dict(zip(symbols, context.gens(), strict=False))
    (top, bottom), (other_top, other_bottom) = (quotient(side, known, context) for side in sides)
    return bool(top * other_bottom == other_top * bottom)


def quotient(
    expression: sympy.Expr, symbols: Mapping[sympy.Symbol, fmpz_mpoly], context: fmpz_mpoly_ctx
) -> tuple[fmpz_mpoly, fmpz_mpoly]:
    """Numerator and denominator of a rational function, without a common factor.

    Raises:
        ValueError: a division by 0.
    """
    one = context.constant(1)
    if expression.is_Symbol:
        return symbols[expression], one
    if expression.is_Rational:
        return context.constant(int(expression.p)), context.constant(int(expression.q))
    if expression.is_Pow:
        top, bottom = quotient(expression.base, symbols, context)
        power = int(expression.exp)
        if power < 0:
            top, bottom = bottom, top
        if bottom.is_zero():
            raise ValueError(f"expression = {expression}: allowed is what does not divide by 0")
        return top ** abs(power), bottom ** abs(power)
    top, bottom = one if expression.is_Mul else context.constant(0), one
    for part in expression.args:
        other_top, other_bottom = quotient(part, symbols, context)
        if expression.is_Mul:
            top, bottom = top * other_top, bottom * other_bottom
        elif bottom == other_bottom:
            top = top + other_top
        else:
            common = bottom.gcd(other_bottom)
            missing = other_bottom / common
            top, bottom = top * missing + other_top * (bottom / common), bottom * missing
    common = top.gcd(bottom)
    return top / common, bottom / common


def check_rational(expression: sympy.Expr) -> None:
    """Refuse an expression that is not made of symbols and rational numbers by sums, products and whole powers.

    >>> check_rational(sympy.sqrt(2) * sympy.Symbol("x"))
    Traceback (most recent call last):
    ValueError: expression = sqrt(2)*x: allowed is a rational function with rational coefficients
    """
    if not _is_rational(expression):
        raise ValueError(f"expression = {expression}: allowed is a rational function with rational coefficients")


def _is_rational(expression: sympy.Expr) -> bool:
    if expression.is_Symbol or expression.is_Rational:
        return True
    if expression.is_Pow:
        return bool(expression.exp.is_Integer) and _is_rational(expression.base)
    return (expression.is_Add or expression.is_Mul) and all(map(_is_rational, expression.args))
