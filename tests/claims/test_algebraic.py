"""Conditions with roots: the ends are exact, by evaluating the slack at them and just beyond."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.claims.algebraic import algebraic
from fedtheory.claims.balls import evaluate_in_balls, working_precision
from fedtheory.claims.ranges import solution_set
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import QUANTITIES, symbol
from fedtheory.testing import values_of

F = Fraction
x, R, L, h = (symbol(name) for name in ("local_lr", "rounds", "smoothness", "groups"))
root = sympy.sqrt


@pytest.mark.parametrize(
    ("slack", "name", "values", "shown"),
    [
        (6 - root(30) * root(x), "local_lr", {}, "local_lr in (0, 1.2]"),
        (1 - root(30) * L * x, "local_lr", {"smoothness": F(1)}, "local_lr in (0, 0.182574]"),
        (1 / root(30 * L) - x, "local_lr", {"smoothness": F(30)}, "local_lr in (0, 0.0333333]"),
        (sympy.Rational(1, 100) - root(h) / root(R), "rounds", {"groups": F(7)}, "rounds in [70000, inf) (integers)"),
        (sympy.Rational(1, 100) - 1 / root(R), "rounds", {}, "rounds in [10000, inf) (integers)"),
        (sympy.Rational(1, 100) - root(2) / root(R + 0 * h), "rounds", {}, "rounds in [20000, inf) (integers)"),
        (1 - R * root(2), "rounds", {}, "rounds: none"),
        (10 - R / root(2), "rounds", {}, "rounds in [1, 14] (integers)"),
        (root(2) * x**2 - 3 * x + 1, "local_lr", {}, "local_lr in (0, 0.414214] or [1.70711, inf)"),
        (-root(2) * (x - root(3)) ** 2, "local_lr", {}, "local_lr: none"),  # sqrt(3) alone, which no float is
        (root(x) - x, "local_lr", {}, "local_lr in (0, 1]"),
        (1 / (root(x) - root(2)), "local_lr", {}, "local_lr in (2, inf)"),
        (sympy.Min(1 / (root(30) * L), 1 / (8 * L)) - x, "local_lr", {"smoothness": F(2)}, "local_lr in (0, 0.0625]"),
        (sympy.Rational(1, 10) - (R * h) ** sympy.Rational(-1, 3), "rounds", {"groups": F(2)},
         "rounds in [500, inf) (integers)"),
        (root(2) * root(3) - root(6) * x, "local_lr", {}, "local_lr in (0, 1]"),
        (sympy.exp(-L) - x, "local_lr", {"smoothness": F(0)}, "local_lr in (0, 1]"),
        (sympy.log(L) - x, "local_lr", {"smoothness": F(2)}, "local_lr in (0, 0.693147]"),
        (root(5) + 0 * x, "local_lr", {}, "local_lr: any in (0, inf)"),
        (1 - root(5) + 0 * x, "local_lr", {}, "local_lr: none"),
    ],
)  # fmt: skip
def test_ends_by_hand(slack, name, values, shown):
    assert str(solution_set(slack, name, values)) == shown


positive = st.fractions(F(1, 50), 50, max_denominator=50)


@given(a=positive, b=positive, c=positive, power=st.sampled_from([F(1), F(1, 2), F(-1, 2), F(3, 2), F(-2, 3)]))
@settings(max_examples=60, deadline=None)
def test_both_sides_of_an_end(a, b, c, power):
    """sqrt(a) - sqrt(b) c x^power >= 0, in balls at floats inside and outside."""
    A, B, C, p = (sympy.Rational(v.numerator, v.denominator) for v in (a, b, c, power))
    slack = root(A) - root(B) * C * x**p
    found = solution_set(slack, "local_lr", {})
    ((low, high, _, _),) = found.intervals
    end = high if power > 0 else low
    inside, outside = (float(end) * (1 - 1e-12), float(end) * (1 + 1e-12))[:: 1 if power > 0 else -1]
    with working_precision():
        assert evaluate_in_balls(slack, {"local_lr": F(inside)}) >= 0
        assert evaluate_in_balls(slack, {"local_lr": F(outside)}) < 0
    assert inside in found and outside not in found


def test_what_has_no_exact_arithmetic_is_said():
    for slack in (root(x + 1) - 1, sympy.exp(-x) - 1, sympy.log(x), x**L):
        with pytest.raises(ValueError, match="no exact arithmetic for"):
            algebraic(slack, "local_lr", {"smoothness": F(1, 3)})
    assert solution_set(x**L, "local_lr", {"smoothness": F(1, 3)}).everything
    with pytest.raises(ValueError, match="no exact arithmetic for"):
        solution_set(root(L - 3) - x, "local_lr", {"smoothness": F(1)})
    # (sqrt(2) - sqrt(3))^2 is 5 - 2 sqrt(6): nothing shows that the two letters and the third conspire.
    hidden = (root(2) - root(3)) ** 2 - 5 + 2 * root(6)
    with pytest.raises(ValueError, match="cannot be told"):
        solution_set(hidden * x + 0, "local_lr", {})


def test_letters_are_shared():
    algebra, cases = algebraic(root(30) * x + root(120) * L, "local_lr", {"smoothness": F(1)})
    assert list(algebra.constants.values()) == [root(30)] and algebra.root == 1
    ((ratio, conditions),) = cases.cases
    assert conditions == () and str(ratio.numerator) == "u*c0 + 2*c0"


# Every condition of every claim that has a root and no exponential or logarithm of what is sought.


def cases():
    for each in all_claims():
        for hypothesis in each.hypotheses:
            names = {s.name for s in hypothesis.slack.free_symbols}
            if any(p.exp.is_Rational and not p.exp.is_Integer for p in hypothesis.slack.atoms(sympy.Pow)):
                for name in sorted(names & {"local_lr", "server_lr", "global_lr", "rounds"} - set(each.choices)):
                    yield each.ref, hypothesis.name, name


CASES = list(cases())


@pytest.mark.parametrize(("ref", "hypothesis", "name"), CASES)
@given(data=st.data())
@settings(max_examples=3, deadline=None)
def test_conditions_with_roots_are_solved(ref, hypothesis, name, data):
    each = claim(ref)
    slack = each.hypothesis(hypothesis).slack
    slack = slack.xreplace({symbol(n): choice for n, choice in each.choices.items()})
    values = data.draw(values_of({s.name for s in slack.free_symbols} - {name}))
    found = each.required(hypothesis, name, **values)
    ends = [end for low, high, *_ in found.intervals for end in (low, high) if 0 < end < math.inf]
    integer = QUANTITIES[name].integer
    points = [F(1), F(10), F(10**4)] if integer else [F(1, 10**6), F(1, 100), F(1), F(100)]
    for end in ends:
        beside = F(1) if integer else F(end) / 10**9
        points += [F(end) - beside, F(end) + beside]
    with working_precision():
        for point in points:
            if point >= (1 if integer else F(1, 10**300)):
                at = evaluate_in_balls(slack, values | {name: point})
                if at > 0 or at < 0:
                    assert (point in found) is bool(at > 0), (point, found)
                else:
                    assert point in found or not isinstance(at, arb) or at.contains(0)
