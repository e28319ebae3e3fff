"""Identities between rational functions, decided exactly."""

from __future__ import annotations

import sympy


def is_identity(left: sympy.Expr, right: sympy.Expr) -> bool:
    """Whether two rational functions agree wherever both are defined: over a common denominator the difference has the
    zero polynomial as its numerator.

    Raises:
        ValueError: a side is no rational function with rational coefficients.

    >>> x, y = sympy.symbols("x y")
    >>> is_identity(1 / x + 1 / y, (x + y) / (x * y)), is_identity(1 / x + 1 / y, 2 / (x + y))
    (True, False)
    """
    for side in (left, right):
        check_rational(sympy.sympify(side, strict=True))
    numerator, _ = sympy.fraction(sympy.together(left - right))
    return sympy.expand(numerator) == 0


def check_rational(expression: sympy.Expr) -> None:
    """Refuse what is not a quotient of polynomials with rational coefficients.

    >>> check_rational(sympy.sqrt(2) * sympy.Symbol("x"))
    Traceback (most recent call last):
    ValueError: expression = sqrt(2)*x: allowed is a rational function with rational coefficients
    """
    powers = expression.atoms(sympy.Pow)
    ok = all(
        atom.is_Rational
        for atom in expression.atoms(sympy.Number, sympy.NumberSymbol, sympy.core.numbers.ImaginaryUnit)
    )
    ok = ok and all(power.exp.is_Integer for power in powers)
    ok = ok and not expression.has(sympy.zoo, sympy.nan, sympy.oo)
    if not (ok and expression.is_rational_function(*expression.free_symbols)):
        raise ValueError(f"expression = {expression}: allowed is a rational function with rational coefficients")
