"""Arithmetic of expressions, piece by piece: chunks, powers, Fractions with infinity."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb

from fedtheory.claims import arithmetic
from fedtheory.claims.arithmetic import Compiled, compiled_slack, compiled_term
from fedtheory.claims.balls import LONGEST_POWER, _Extended, _real_power, _whole_power, fold, is_rational, whole_power

x, y = sympy.symbols("x y")
HALF, INF = Fraction(1, 2), math.inf


@pytest.mark.parametrize(
    ("shapes", "pieces"),
    [
        (((), ()), [()]),
        (((8,), ()), [(8,)]),  # twice a chunk is one piece
        (((9,), (1,)), [(4,), (4,), (1,)]),
        (((3, 1), (6,)), [(3, 1)] * 6),  # 4 * 6 // 18 = 1 column at a time
        (((5, 1), (1, 6)), [(5, 1)] * 6),  # fewer than one would do: one
        (((10, 1), (1, 2)), [(2, 2)] * 5),
        (((2, 9), (2, 1)), [(2, 2)] * 4 + [(2, 1)]),
    ],
)
def test_pieces_along_the_longest_axis(shapes, pieces, monkeypatch):
    monkeypatch.setattr(arithmetic, "CHUNK", 4)
    seen = []

    class Seen(Compiled):
        def _plain_or_wide(self, entries):
            found = super()._plain_or_wide(entries)
            seen.append(np.shape(found[0]))
            return found

    rng = np.random.default_rng(0)
    values = {name: rng.uniform(1, 2, shape) for name, shape in zip("xy", shapes, strict=True)}
    found = Seen(x * y + 1 / x)(values)
    np.testing.assert_allclose(found, values["x"] * values["y"] + 1 / values["x"], rtol=1e-15)
    assert seen == pieces and np.shape(found) == np.broadcast_shapes(*shapes)


@pytest.mark.parametrize(("left", "right", "total", "product", "quotient"), [
    (HALF, Fraction(3), Fraction(7, 2), Fraction(3, 2), Fraction(1, 6)),
    (INF, HALF, INF, INF, INF), (HALF, INF, INF, INF, Fraction(0)), (-INF, Fraction(-2), -INF, INF, INF),
    (Fraction(-2), INF, INF, -INF, Fraction(0)), (INF, INF, INF, INF, None), (INF, -INF, None, -INF, None),
    (-INF, -INF, -INF, INF, None), (Fraction(0), INF, INF, None, Fraction(0)), (INF, Fraction(0), INF, None, INF),
    (HALF, Fraction(0), HALF, Fraction(0), INF), (-HALF, Fraction(0), -HALF, Fraction(0), -INF),
    (Fraction(0), Fraction(0), Fraction(0), Fraction(0), None), (-INF, HALF, -INF, -INF, -INF),
])  # fmt: skip
def test_fractions_with_infinity(left, right, total, product, quotient):
    """``None``: undefined."""
    one, other = _Extended(left), _Extended(right)
    for expected, operation in (
        (total, lambda: one + other), (product, lambda: one * other), (quotient, lambda: one / other),
    ):  # fmt: skip
        if expected is None:
            with pytest.raises(ZeroDivisionError):
                operation()
        else:
            assert operation() == _Extended(expected)
    assert one.min(other).value == min(left, right) and one.max(other).value == max(left, right)
    assert abs(one).value == abs(left) and (one**2).value == left**2


def test_whole_powers_of_balls_hold_those_of_their_points():
    for ball, ends in (
        (arb(0, 0.5), (-0.5, 0.0, 0.5)),
        (arb(0.25, 0.5), (-0.25, 0.0, 0.75)),
        (arb(3, 0.5), (2.5, 3.5)),
    ):
        for exponent in range(8):
            power = whole_power(ball, exponent)
            assert power.is_finite() and all(power.contains(arb(end) ** exponent) for end in ends)
            assert ball.contains(0) or power.overlaps(ball**exponent)
            farthest = max(map(abs, ends)) ** exponent
            assert abs(power) <= farthest * (1 + 1e-6)  # the ends are rounded outwards
    assert whole_power(Fraction(-2, 3), 3) == Fraction(-8, 27) and whole_power(Fraction(0), 0) == 1
    assert whole_power(arb(0), 5) == 0 and whole_power(arb(0, 1), 1).rad() <= 1.1


def test_powers_with_a_whole_exponent_that_is_a_quantity():
    power = sympy.Pow(x, sympy.Symbol("n", integer=True))
    for base in (HALF, -HALF, Fraction(1), Fraction(-1), Fraction(0)):
        assert _whole_power(power, base, Fraction(3)) == base**3
    assert isinstance(_whole_power(power, HALF, Fraction(40)), Fraction)
    for base, cube in ((Fraction(3, 2), Fraction(27, 8)), (Fraction(-3, 2), Fraction(-27, 8))):
        assert _whole_power(power, base, Fraction(3)) == cube and _whole_power(power, base, Fraction(-3)) == 1 / cube
        at = arb(int(base * 2)) / 2
        assert _whole_power(power, at, arb(3)).contains(arb(int(cube * 8)) / 8)
        for known, unknown in ((base, arb(3, 0.5)), (at, arb(3, 0.5)), (base, Fraction(LONGEST_POWER + 1))):
            with pytest.raises(
                ValueError, match=r"x = .*: allowed is a number in \[-1, 1\], or a known .* raised to n"
            ):
                _whole_power(power, known, unknown)
    longest = Fraction(LONGEST_POWER - 1)  # so many times 2 has as many binary digits as are allowed
    assert _whole_power(power, Fraction(2), longest).numerator.bit_length() == LONGEST_POWER
    with pytest.raises(ValueError, match="binary digits"):
        _whole_power(power, Fraction(-2), longest + 1)
    held = _whole_power(power, arb(-0.5, 0.001), arb(3))
    assert held.contains(-0.125) and held.rad() < 0.01 and held < 0


def test_real_powers_of_nothing():
    nothing, two = arb(0), arb(2)
    assert _real_power(nothing, arb(0.5)) == 0 and _real_power(nothing, arb(0)) == 1
    assert not _real_power(nothing, arb(-0.5)).is_finite()
    assert _real_power(two, arb(-1)) == arb(0.5) and _real_power(two, arb(0)) == 1 and _real_power(two, two) == 4


def test_real_powers_in_balls_need_a_base_that_is_not_negative():
    def at(base, exponent):
        return fold(x**y, {"x": arb(base), "y": arb(exponent)}, lambda c: arb(int(c.p)) / int(c.q))

    assert at(0, 0.5) == 0 and at(0.5, 2) == 0.25 and at(4, 0.5) == 2
    with pytest.raises(ValueError, match="no exact arithmetic for Pow"):
        at(-0.5, 2)


def test_terms_are_infinite_where_they_are_undefined_alone():
    values = {"x": np.array([1.0, 2.0, 0.5]), "y": np.array([1.0, 1.0, 1.0])}
    with np.errstate(divide="ignore"):
        assert compiled_term(1 / (x - y))(values).tolist() == [INF, 1, -2]
        assert compiled_slack(1 / (x - y))(values).tolist() == [-INF, 1, -2]


def test_what_is_rational():
    for expression in (x, x**3 / y, sympy.Min(x, 1 / y), sympy.Abs(x) + 2, x**-2):
        assert is_rational(expression)
    for expression in (sympy.sqrt(x), sympy.exp(y) + x, sympy.log(x), x**y, x / sympy.sqrt(1 + y)):
        assert not is_rational(expression)


def test_expressions_at_fractions():
    def at(expression):
        known = {"x": Fraction(-2), "y": HALF}
        return fold(expression, known, lambda c: Fraction(int(c.p), int(c.q)))

    assert at(x**3 * y - 1 / x**2 + 3) == Fraction(-8) / 2 - Fraction(1, 4) + 3
    assert at(sympy.Min(x, y)) == -2 and at(sympy.Max(x, y, 0)) == HALF and at(sympy.Abs(x)) == 2
    assert at(sympy.Integer(7) / 3) == Fraction(7, 3) and at(1 / (x + y)) == Fraction(-2, 3)
    for expression in (sympy.sqrt(y), sympy.exp(x), sympy.ceiling(x), sympy.sin(x)):
        with pytest.raises(ValueError, match="no exact arithmetic for"):
            at(expression)
