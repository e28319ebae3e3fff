"""Inequalities in one variable by balls: what is true is shown, what is false is not, and a counterexample is one."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from flint import ctx

from fedtheory.proof.analytic import Enclosed

F = Fraction
a = sympy.Symbol("a")
exp, log = sympy.exp, sympy.log

TRUE = [
    (exp(-a) - 1 + a, 0, 1, 2),
    (1 + a + a**2 - exp(a), 0, F(1, 2), 2),
    (1 + a - exp(a) + 9 * a**2 / 10, 0, F(1, 2), 2),
    (exp(a) - 1 - a - a**2 / 2 - a**3 / 6, 0, 1, 4),
    (exp(a - 2) - (a - 1), 2, 3, 2),
    (exp(a - sympy.Rational(1, 2)) - 1, F(1, 2), 1, 1),
    (log(1 + a) - a + a**2 / 2, 0, 1, 3),
    (exp(a) - 1, F(1, 1000), 1, 0),
    (2 - a, 1, F(199, 100), 0),
    (a**2 - 4, 2, 3, 1),
    (1 / a - F(1, 4), 1, 3, 0),
    (a**3 - a**2 + sympy.Rational(4, 27) + F(1, 50), 0, 1, 0),
    (sympy.Integer(0) * a, 0, 1, 0),
]
FALSE = [
    (exp(-a) - 1 + a - a**2 / 2, 0, 1, 2),
    (a - exp(a) + 2, 0, 2, 0),
    (-a, 0, 1, 0),
    (-a, 0, 1, 1),
    (1 - 2 * a, 0, 1, 0),
    (2 * a - 1, 0, 1, 0),
    (a**3 - a**2 + sympy.Rational(4, 27) - F(1, 50), 0, 1, 0),
    (log(a) - 1, 1, 2, 0),
]
NOT_SHOWN = [
    (exp(a) - 1 - a + F(1, 10), 0, 1, 2),  # does not vanish at 0, where Taylor's formula starts
    (exp(a) - 1, 0, 1, 2),  # its derivative does not
    (log(a), 0, 1, 0),
    (1 / a, 0, 1, 0),
    (2 - a, 1, 2, 0),  # touches 0, where no ball is on one side
]


@pytest.mark.parametrize(("expression", "low", "high", "order"), TRUE, ids=str)
def test_what_is_true_is_shown(expression, low, high, order):
    statement = Enclosed(sympy.sympify(expression), "a", F(low), F(high), order)
    assert statement.holds() and statement.counterexample() is None


@pytest.mark.parametrize(("expression", "low", "high", "order"), FALSE, ids=str)
def test_what_is_false_is_not_and_has_a_counterexample(expression, low, high, order):
    statement = Enclosed(sympy.sympify(expression), "a", F(low), F(high), order)
    assert not statement.holds(6)
    point = statement.counterexample()
    assert low <= point <= high and expression.subs(a, sympy.Rational(point.numerator, point.denominator)).n(40) < 0


@pytest.mark.parametrize(("expression", "low", "high", "order"), NOT_SHOWN, ids=str)
def test_what_the_method_does_not_reach_is_left_open(expression, low, high, order):
    assert Enclosed(sympy.sympify(expression), "a", F(low), F(high), order).holds(6) is False


def test_so_many_bisections():
    """(a - 1/2)^2 + 1/100, expanded: on a piece of width w from 1/2 on the enclosure reaches down to 1/100 - w."""
    statement = Enclosed(a**2 - a + sympy.Rational(26, 100), "a", F(0), F(1))
    assert [statement.holds(depth) for depth in range(5, 9)] == [False, False, True, True]
    for room, shown in ((F(15, 10**4), True), (F(8, 10**4), False)):  # ten by default: 2^-10 is between
        above = sympy.Rational(1, 4) + sympy.Rational(room.numerator, room.denominator)
        assert Enclosed(a**2 - a + above, "a", F(0), F(1)).holds() is shown


def test_points_of_a_counterexample():
    """Below 0 at 1/2 alone, at 1 alone, and nowhere on three points."""
    dip = (2 * a - 1) ** 2 - sympy.Rational(1, 100)
    assert Enclosed(dip, "a", F(0), F(1)).counterexample(2) == F(1, 2)
    assert Enclosed(dip, "a", F(0), F(1)).counterexample(1) is None
    assert Enclosed(sympy.Rational(1, 2) - a, "a", F(0), F(1)).counterexample(1) == 1
    for part in (1, 31, 63):  # 64 by default
        narrow = (64 * a - part) ** 2 - sympy.Rational(1, 10**4)
        assert Enclosed(narrow, "a", F(0), F(1)).counterexample() == F(part, 64)
    assert Enclosed(a - sympy.Rational(5, 2), "a", F(2), F(3)).counterexample(4) == 2


def test_the_precision_is_given_back_and_other_functions_are_refused():
    before = ctx.prec
    assert Enclosed(exp(a), "a", F(0), F(1)).holds() and ctx.prec == before
    with pytest.raises(ValueError, match=r"expression = sin\(a\): allowed are sums, products, whole powers, exp"):
        Enclosed(sympy.sin(a), "a", F(0), F(1)).holds()
    with pytest.raises(ValueError, match="allowed are sums"):
        Enclosed(sympy.sqrt(a), "a", F(0), F(1)).counterexample()
    assert ctx.prec == before
    tiny = sympy.Rational(1, 10**30)
    assert Enclosed(exp(a) - exp(0) + tiny, "a", F(0), F(1, 10**40)).holds()  # 128 bits see 10^-30


@pytest.mark.parametrize(("expression", "low"), [
    (sympy.Piecewise((a, a < sympy.Rational(1, 2)), (a - 1, True)), F(0)),  # jumps to -1/2; the derivative is 1
    (a - 0.1, F(1, 10)),  # the float is above 1/10
])  # fmt: skip
def test_a_derivative_does_not_hide_what_is_not_allowed(expression: sympy.Expr, low: Fraction) -> None:
    with pytest.raises(ValueError, match="allowed are sums, products, whole powers, exp and log of a"):
        Enclosed(expression, "a", low, F(1), order=1).holds()


def test_an_interval_ends_after_it_begins() -> None:
    """From 0 to -1, a has the derivative 1 and falls."""
    with pytest.raises(ValueError, match="low = 0: allowed is at most high = -1"):
        Enclosed(a, "a", F(0), F(-1), order=1)
    assert Enclosed(a, "a", F(0), F(0), order=1).holds()
