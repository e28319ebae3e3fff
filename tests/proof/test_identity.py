"""Identities of rational functions, against sympy's own expansion."""

from __future__ import annotations

import random

import pytest
import sympy

from fedtheory.proof.identity import is_identity

x, y = sympy.symbols("x y")
positive = sympy.Symbol("x", positive=True)


def some_function(draw: random.Random, depth: int) -> sympy.Expr:
    if depth == 0:
        return draw.choice([x, y, positive, sympy.Rational(draw.randint(-3, 3), draw.randint(1, 3))])
    left, right = some_function(draw, depth - 1), some_function(draw, depth - 1)
    kind = draw.randrange(4)
    if kind == 3:
        return left / right if right != 0 else left
    return (left + right, left - right, left * right)[kind]


@pytest.mark.parametrize("seed", range(60))
def test_against_expansion(seed: int) -> None:
    draw = random.Random(seed)
    left = some_function(draw, 3)
    if left.has(sympy.zoo, sympy.nan) or sympy.fraction(sympy.cancel(left))[1] == 0:
        return
    assert is_identity(left, sympy.factor(sympy.together(left)))
    assert not is_identity(left, left + sympy.Rational(1, 10**30))
    assert not is_identity(left, left + positive - x)  # of one name, and not the same


def test_what_divides_by_zero_is_refused() -> None:
    hidden = (x + 1) ** 2 - x**2 - 2 * x - 1
    with pytest.raises(ValueError, match="does not divide by 0"):
        is_identity(1 / hidden, x)


def test_what_is_no_rational_function_is_refused() -> None:
    """Constants too, such as sin(1), of which no symbol shows that they are none."""
    for other in (sympy.sin(1), x + sympy.exp(2), sympy.log(3) * y, sympy.pi, x**y, sympy.sqrt(2), sympy.oo, 0.5 * x):
        with pytest.raises(ValueError, match="allowed is a rational function"):
            is_identity(other, other)
