"""Ratios written in a region's parameters: by polynomials as by expressions, and whatever an expression looks like."""

from __future__ import annotations

import random

import sympy
from sympy import Rational

from fedtheory.proof.polynomial_data import Polynomial, Ratio
from fedtheory.proof.symbol_regions import Part, Region, at_least, capped, count, equal, interval, positive, region

NAMES = sympy.symbols("a b c d e")


def some(rng: random.Random, symbols: tuple[sympy.Symbol, ...], depth: int) -> sympy.Expr:
    """A rational function."""
    if depth == 0:
        return rng.choice([*symbols, sympy.Integer(rng.randint(1, 5)), Rational(rng.randint(-5, 5), 3)])
    left, right = some(rng, symbols, depth - 1), some(rng, symbols, depth - 1)
    results = [left + right, left - right, left * right, left ** rng.randint(1, 2)]
    return rng.choice(results if right == 0 else [*results, left / right])


def some_region(rng: random.Random) -> Region:
    parts: list[Part] = []
    for i, symbol in enumerate(NAMES):
        value = some(rng, NAMES[i + 1 :], 2)
        kinds = (capped(symbol.name, value), at_least(symbol.name, value), equal(symbol.name, value),
                 count(symbol.name), interval(symbol.name), positive(symbol.name))  # fmt: skip
        parts.append(rng.choice(kinds))
    return region(*parts)


def test_a_ratio_is_pulled_back_as_its_expression_is() -> None:
    rng, compared, refused = random.Random(0), 0, 0
    while compared < 150:
        try:
            where, ratio = some_region(rng), Ratio.of(some(rng, NAMES, 3))
        except ValueError:  # a division by 0
            continue
        try:
            expected = Ratio.of(where.pull_back(ratio.expression()))
        except ValueError:
            expected = None
        try:
            assert where.pulled(ratio) == expected
        except ValueError:
            refused += 1
            assert expected is None
        compared += 1
    assert 0 < refused < compared / 2


def test_coefficients_need_not_be_whole() -> None:
    half = Ratio(Polynomial.of(NAMES[0] / 2 + Rational(1, 3)), Polynomial.of(Rational(2, 5) * NAMES[1]))
    where = region(equal("a", NAMES[1] + 1), positive("b"))
    assert where.pulled(half) == Ratio.of(where.pull_back(half.expression()))
