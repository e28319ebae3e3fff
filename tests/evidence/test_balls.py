"""Ball arithmetic: what it returns holds what it stands for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb, ctx, fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedtheory.claims import balls
from fedtheory.claims.balls import (
    PRECISION,
    Ball,
    ball,
    ball_matrix,
    decimal,
    evaluate_exactly,
    evaluate_in_balls,
    evaluate_or_limit,
    exact_slack,
    interval,
    lower_bound_over_box,
    matrix_product,
    working_precision,
)
from fedtheory.claims.statement import Hypothesis, Term
from fedtheory.papers import claim
from fedtheory.quantities import symbol
from tests.loops import looped

X = sympy.Symbol("x")

numbers = st.fractions(-9, 9, max_denominator=1000)
precisions = st.sampled_from([20, 53, PRECISION])


@dataclass(frozen=True)
class Both:
    """One formula twice: for sympy, which is kept from simplifying it, and as a function of Fractions."""

    sympy: sympy.Expr
    function: Callable[[dict[str, Fraction]], Fraction]

    def at(self, values: dict[str, Fraction]) -> Fraction | None:
        """The value; ``None`` where it divides by zero."""
        try:
            return self.function(values)
        except ZeroDivisionError:
            return None

    def __add__(self, number: Fraction) -> Both:
        return Both(
            sympy.Add(self.sympy, sympy.Rational(number.numerator, number.denominator), evaluate=False),
            lambda v: self.function(v) + number,
        )


@st.composite
def formulas(draw, depth: int = 4, quotients: bool = True) -> Both:
    """Sums, products, integer powers, quotients and minima of x, y, z and rational numbers."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.booleans()):
            name = draw(st.sampled_from("xyz"))
            return Both(sympy.Symbol(name), lambda v: v[name])
        number = draw(st.fractions(-5, 5, max_denominator=7))
        return Both(sympy.Rational(number.numerator, number.denominator), lambda v: number)
    one, other = (draw(formulas(depth - 1, quotients)) for _ in range(2))
    kind = draw(st.sampled_from(["+", "*", "**", "min", "/"][: None if quotients else -1]))
    if kind == "**":
        power = draw(st.sampled_from([-2, -1, 1, 2, 3] if quotients else [1, 2, 3]))
        return Both(sympy.Pow(one.sympy, power, evaluate=False), lambda v: one.function(v) ** power)
    if kind == "/":
        inverse = sympy.Pow(other.sympy, -1, evaluate=False)
        return Both(
            sympy.Mul(one.sympy, inverse, evaluate=False), lambda v: one.function(v) / Fraction(other.function(v))
        )
    head, combine = {
        "+": (sympy.Add, lambda a, b: a + b),
        "*": (sympy.Mul, lambda a, b: a * b),
        "min": (sympy.Min, min),
    }[kind]
    return Both(head(one.sympy, other.sympy, evaluate=False), lambda v: combine(one.function(v), other.function(v)))


def rational_in(value: Fraction, enclosure: arb) -> bool:
    """Whether the ball holds the number; both ends are exact, so this comparison is."""
    with working_precision(4000):
        return bool(enclosure.contains(arb(fmpq(value.numerator, value.denominator))))


# Enclosures.


@settings(deadline=None, max_examples=200)
@given(formulas(), st.tuples(numbers, numbers, numbers), precisions)
def test_exact_value_is_in_the_ball(formula, values, bits):
    at = dict(zip("xyz", values, strict=True))
    expected = formula.at(at)
    with working_precision(bits):
        enclosure = evaluate_in_balls(formula.sympy, at)
    if expected is None:
        assert not enclosure.is_finite()
        with pytest.raises(ZeroDivisionError):
            evaluate_exactly(formula.sympy, at)
        return
    assert evaluate_exactly(formula.sympy, at) == expected
    assert rational_in(expected, enclosure)
    # What is not finite would hold everything; only few bits can fail to tell a divisor from 0.
    assert enclosure.is_finite() or bits < PRECISION


@settings(deadline=None, max_examples=100)
@given(formulas(), st.lists(st.tuples(numbers, numbers, st.fractions(0, 1)), min_size=3, max_size=3), precisions)
def test_balls_over_intervals_hold_the_values_at_their_points(formula, sides, bits):
    """Also where the variables themselves are balls; a point of an interval is low + t (high - low)."""
    point = {name: low + t * (high - low) for name, (low, high, t) in zip("xyz", sides, strict=True)}
    expected = formula.at(point)
    assume(expected is not None)
    with working_precision(bits):
        enclosure = evaluate_in_balls(
            formula.sympy, {n: interval(low, high) for n, (low, high, _) in zip("xyz", sides, strict=True)}
        )
    assert not enclosure.is_finite() or rational_in(expected, enclosure)


@given(st.fractions(), precisions)
def test_ball_of_a_number(value, bits):
    with working_precision(bits):
        enclosure = ball(value)
    assert rational_in(value, enclosure)
    # one rounding, to the nearest of so many bits or next to it
    assert float(enclosure.rad()) <= 2.0 ** (1 - bits) * abs(float(value))


@given(numbers, numbers, st.fractions(0, 1), precisions)
def test_interval_holds_all_between_its_ends(low, high, t, bits):
    with working_precision(bits):
        for side in (interval(low, high), interval(high, low), interval(ball(low), high)):
            assert rational_in(low, side) and rational_in(high, side) and rational_in(low + t * (high - low), side)
            # as wide as its ends are apart, up to the rounding of both
            slack = 2.0 ** (3 - bits) * (abs(float(low)) + abs(float(high)))
            assert 2 * float(side.rad()) <= abs(float(high - low)) * (1 + 1e-6) + slack


def test_matrices():
    """A vector is a column."""
    matrix = np.array([[Fraction(1, 3), Fraction(2)], [Fraction(-1, 7), Fraction(0)]])
    with working_precision():
        found = ball_matrix(matrix)
        assert (found.nrows(), found.ncols()) == (2, 2)
        assert all(rational_in(matrix[i, j], found[i, j]) for i, j in itertools.product(range(2), repeat=2))
        column = ball_matrix(matrix[0])
        assert (column.nrows(), column.ncols()) == (2, 1) and rational_in(Fraction(2), column[1, 0])
        product = found * column
    assert rational_in(Fraction(1, 9) + 4, product[0, 0]) and rational_in(Fraction(-1, 21), product[1, 0])


def test_products_of_fractions_are_those_of_their_entries(monkeypatch):
    """In whole numbers, or entry by entry where denominators are said to be too long; some entries are integers."""
    rng = np.random.default_rng(0)

    def drawn(*shape):
        tops, bottoms = rng.integers(-5, 6, shape), rng.integers(1, 8, shape)
        return np.vectorize(lambda top, bottom: Fraction(top, bottom) if top else 0, otypes=[object])(tops, bottoms)

    for longest in (balls.LONGEST, 0):
        monkeypatch.setattr(balls, "LONGEST", longest)
        for one, other in ((drawn(3, 4), drawn(4, 2)), (drawn(2, 3, 5), drawn(5, 1)), (drawn(1, 2), drawn(2, 3))):
            entries = (one[..., :, :, None] * other[..., None, :, :]).sum(axis=-2)
            assert matrix_product(one, other).tolist() == entries.tolist()


def test_precision_is_put_back():
    before = ctx.prec
    with pytest.raises(RuntimeError), working_precision(100):
        assert ctx.prec == 100
        raise RuntimeError
    assert ctx.prec == before


def test_exponentials():
    """exp(-1/3) to 256 bits, between two partial sums of its alternating series."""
    with working_precision():
        enclosure = evaluate_in_balls(sympy.exp(-X), {"x": Fraction(1, 3)})
    term, total, sums = Fraction(1), Fraction(1), []
    for k in range(1, 60):
        term *= Fraction(-1, 3 * k)
        total += term
        sums.append(total)
    assert float(enclosure.rad()) < 1e-70
    with working_precision(1000):
        assert ball(min(sums[-2:])) < enclosure.upper() and ball(max(sums[-2:])) > enclosure.lower()


def test_decimal():
    assert decimal(Fraction(1, 3)) == "0.333333333333"
    assert decimal(Fraction(2)) == "2.00000000000" and decimal(Fraction(0)) == "0"


# Lower bounds over boxes.


def bound_of(expression: sympy.Expr, box: list[tuple], depth: int = 16) -> arb | None:
    """``lower_bound_over_box`` of an expression in x, y, ... over intervals given by their ends."""
    names = "xyz"[: len(box)]
    with working_precision():
        return lower_bound_over_box(
            lambda values: evaluate_in_balls(expression, dict(zip(names, values, strict=True))),
            [interval(Fraction(low), Fraction(high)) for low, high in box],
            depth,
        )


def is_at_most(bound: arb, value: Fraction) -> bool:
    with working_precision(4000):
        return not bound > ball(value)


points = st.lists(st.tuples(*[st.fractions(0, 1, max_denominator=64)] * 3), min_size=5, max_size=5)


@settings(deadline=None, max_examples=60)
@given(
    formulas(depth=3), st.lists(st.tuples(numbers, numbers).map(sorted), min_size=3, max_size=3), points,
    st.integers(0, 40), st.sampled_from([0, 3, 7]),
)  # fmt: skip
def test_never_above_the_function(formula, box, shares, lift, depth):
    """A bound is >= 0, and at or below every sampled value; a negative value anywhere forbids a bound."""
    formula = formula + Fraction(lift)
    bound = bound_of(formula.sympy, box, depth)
    corners = list(itertools.product((Fraction(0), Fraction(1)), repeat=3))
    for share in [*shares, *corners]:
        point = {name: low + t * (high - low) for name, (low, high), t in zip("xyz", box, share, strict=True)}
        value = formula.at(point)
        if bound is not None:
            assert value is not None and value >= 0 and is_at_most(bound, value)
    if bound is not None:
        assert bound >= 0 and bound.is_exact()


@settings(deadline=None, max_examples=60)
@given(formulas(depth=3, quotients=False), points, st.integers(0, 4))
def test_a_negative_point_forbids_a_bound(formula, shares, which):
    """The function is shifted so that it is just negative at one point of the box."""
    point = dict(zip("xyz", shares[which], strict=True))
    shifted = formula + -(formula.at(point) + Fraction(1, 10**6))
    assert bound_of(shifted.sympy, [(0, 1)] * 3, depth=4) is None


QUADRATICS = st.tuples(st.fractions(-3, 3, max_denominator=50), st.fractions(1, 3, max_denominator=50))


@settings(deadline=None, max_examples=40)
@given(QUADRATICS, st.fractions(Fraction(1, 10), 2, max_denominator=100))
def test_positive_functions_are_shown_positive(shape, least):
    """c (x - a)^2 + least, multiplied out so that its enclosure over [-4, 4] is negative: bisection must help, and the
    bound is then between 0 and the minimum."""
    a, c = (sympy.Rational(v.numerator, v.denominator) for v in shape)
    expression = c * X**2 + (-2 * a * c) * X + (c * a**2 + sympy.Rational(least.numerator, least.denominator))
    bound = bound_of(expression, [(-4, 4)])
    assert bound is not None and bound >= 0 and is_at_most(bound, least)
    assert bound_of(expression - 2 * sympy.Rational(least.numerator, least.denominator), [(-5, 5)]) is None


def test_depth_limits_the_bisection():
    """The least value of x (x - 1) on [0, 1] is -1/4, but as a product of balls it is -1."""
    loose, tight = (sympy.Rational(*lift) + X * (X - 1) for lift in ((9, 8), (3, 8)))
    assert bound_of(loose, [(0, 1)], depth=0) is not None
    assert bound_of(tight, [(0, 1)], depth=0) is None
    assert bound_of(tight, [(0, 1)], depth=8) is not None


def test_mostly_positive_is_not_enough():
    for depth in (0, 4, 16):
        assert bound_of(X, [(-1, 3)], depth) is None
        assert bound_of(X**2 - Fraction(1, 10**6), [(-1, 3)], depth) is None


def test_zero_is_enough():
    """The slack of a hypothesis that just holds is 0."""
    assert bound_of(X - X, [(0, 1)]) == 0
    assert bound_of(X - 1, [(1, 1)]) == 0
    assert bound_of(X - 1, [(0, 1)]) is None


@pytest.mark.parametrize(
    ("function", "box"),
    [
        (lambda x: 1 / x, [(-1, 1)]),
        (lambda x: 1 / x, [(0, 1)]),
        (lambda x: 1 / x**2, [(-1, 1)]),
        (lambda x: 1 / x, [(0, 0)]),
        (lambda x, y: x / y, [(1, 2), (-1, 1)]),
        (lambda x, y: (x - y) / (x - y), [(0, 1), (0, 1)]),
        (lambda x, y: 1 - 1 / (x + y - 1), [(0, 1), (0, 1)]),
        (lambda x: x / x, [(0, 0)]),
    ],
)
def test_division_through_zero_shows_nothing(function, box):
    with working_precision():
        sides = [interval(Fraction(low), Fraction(high)) for low, high in box]
        assert lower_bound_over_box(lambda values: function(*values), sides, depth=10) is None


def test_division_away_from_zero_is_fine():
    bound = bound_of(1 / X, [(Fraction(1, 1000), 10)])
    assert bound is not None and bound >= 0 and is_at_most(bound, Fraction(1, 10))


# What divides by zero.

S, D, C, Q = (symbol(n) for n in ("dissimilarity", "objective_decrease", "smoothness", "snapshot_probability"))
"""Of these, the first may be zero from above only, the second has either sign."""

SLACKS = [
    Q - 1 / S, Q + 1 / S, Q - C / S**2, Q - (C - 2) / S**2, Q - S / S**2, Q - (S + D) / S**2, 1 / S - 1 / S**2,
    Q - 1 / D, Q + 1 / D, Q - (1 + S) / (S * C), Q - C / (S + D), 1 / (1 + 1 / S) - Q, Q - S * (1 / S + 1),
    sympy.Min(1 / S, Q), sympy.Max(-1 / S, Q) - C, sympy.Min(1 / D, Q), Q / (C - 1), sympy.Abs(-1 / S) - Q,
]  # fmt: skip


@looped(("slack", "decrease", "smoothness"), itertools.product(SLACKS, [-1, 0, 1], [1, 2, 3]))
def test_division_by_zero_has_one_rule(slack, decrease, smoothness):
    """A judged hypothesis holds where a floating-point one does, where an exact one does, and where ``required`` allows
    it; in balls it never holds more."""
    values = {"dissimilarity": Fraction(0), "objective_decrease": Fraction(decrease),
              "smoothness": Fraction(smoothness), "snapshot_probability": Fraction(1, 2)}  # fmt: skip
    used = {s.name: values[s.name] for s in slack.free_symbols}
    with working_precision():
        held = bool(evaluate_or_limit(slack, used) >= 0)
        balls = {name: ball(value) + arb(0, 1e-70) if value else value for name, value in used.items()}
        assert held or not evaluate_or_limit(slack, balls) >= 0
        assert not slack.has(sympy.Max, sympy.Min) or held == (exact_slack(slack, used) >= 0)
    statement = replace(claim("fast.eq13"), terms=(Term("own", C),), choices={},
                        hypotheses=(Hypothesis("own", sympy.Ge(slack, 0, evaluate=False), ""),))  # fmt: skip
    bound = statement.evaluate(**{"smoothness": 1.0} | {name: float(value) for name, value in used.items()})
    assert (bound.slack["own"] >= 0) == held
    others = {name: float(value) for name, value in used.items() if name != "dissimilarity"}
    try:
        allowed = statement.required("own", "dissimilarity", **others) if S in slack.free_symbols else None
    except ValueError:  # several infinite parts: refused by name
        return
    assert allowed is None or (0 in allowed) == held


def test_balls_take_limits_as_exact_numbers_do():
    """Most slacks of the table, with the other quantities in balls."""
    blur = arb(0, 1e-70)
    values = {"smoothness": 3 + blur, "snapshot_probability": blur + 1 / arb(2), "dissimilarity": Fraction(0)}
    expected = {Q + 1 / S: True, Q - 1 / S: False, Q - (C - 2) / S**2: False, Q + (C - 2) / S**2: True,
                Q - (C - 4) / S**2: True, sympy.Min(1 / S, Q): True, 1 / (1 + 1 / S) - Q: False, Q - S / S**2: False,
                1 / S - 1 / S**2: False, sympy.sqrt(C) / S - 7: True, Q - sympy.log(C) / S: False}  # fmt: skip
    with working_precision():
        assert {slack: bool(evaluate_or_limit(slack, values) >= 0) for slack in expected} == expected
        assert not evaluate_or_limit(1 / (C - 3), values) >= 0  # of no certain sign


def test_roots_of_squares_are_exact():
    at = {"smoothness": Fraction(9, 4)}
    assert evaluate_or_limit(1 / sympy.sqrt(C) - sympy.Rational(2, 3), at) == 0
    assert evaluate_or_limit(sympy.Min(sympy.sqrt(C), 2) - sympy.Rational(3, 2), at) == 0
    with working_precision():
        assert not evaluate_or_limit(sympy.sqrt(2 * C) ** 1 - sympy.sqrt(C) * sympy.sqrt(2), at) > 0


# Limits: only what is exactly 0 divides by zero, and only a denominator whose sign is known has a value.


def test_a_ball_around_zero_is_no_zero():
    """1/x - 5 is -4 at x = 1: over [0, 1] nothing is said, though 0 has the limit +inf."""
    x = sympy.Symbol("x", nonnegative=True)
    with working_precision():
        for slack in (1 / x - 5, sympy.sqrt(2) / x - 5):
            wide = evaluate_or_limit(slack, {"x": interval(Fraction(0), Fraction(1))})
            assert not wide >= 0 and not wide < 0
            assert evaluate_or_limit(slack, {"x": arb(0)}) > 0
            assert evaluate_or_limit(slack, {"x": Fraction(0)}) > 0


def test_a_denominator_of_either_sign_may_have_either():
    x, y = sympy.Symbol("x", positive=True), sympy.Symbol("y", real=True)
    root = sympy.sqrt(x) / y
    with working_precision():
        for value in (Fraction(2), Fraction(-2)):
            got = evaluate_or_limit(root, {"x": Fraction(3), "y": value})
            assert got.overlaps(arb(3).sqrt() / ball(value)) and float(got.rad()) < 1e-60
        for undefined in (Fraction(0), arb(0, 1)):
            got = evaluate_or_limit(root, {"x": Fraction(3), "y": undefined})
            assert not got >= 0 and not got < 0


OPERATIONS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
}  # fmt: skip


@pytest.mark.parametrize("sign", OPERATIONS)
def test_balls_mix_with_whole_numbers_and_fractions(sign: str) -> None:
    """Each operation with a ball on either side or both, against Fractions."""
    operation, a, b = OPERATIONS[sign], Fraction(7, 3), Fraction(5)
    with working_precision():
        for left, right in ((Ball(ball(a)), b), (a, Ball(ball(b))), (Ball(ball(a)), Ball(ball(b))), (Ball(ball(a)), 5)):
            found = operation(left, right).value
            assert found.overlaps(ball(operation(a, b))) and float(found.rad()) < 1e-70
        assert (-Ball(ball(a))).value.overlaps(ball(-a)) and (Ball(ball(a)) ** 3).value.overlaps(ball(a**3))
        assert (Ball(arb(0, 1)) ** 2).value.contains(0) and not (Ball(ball(a)) ** 0 - 1).value.contains(1)
        with pytest.raises(TypeError):
            operation(Ball(ball(a)), 0.5)
