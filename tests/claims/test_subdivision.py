"""Conditions with exponentials, logarithms and roots of sums: against values at floats, by hand and drawn."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.claims import subdivision
from fedtheory.claims.ranges import solution_set
from fedtheory.claims.solve import minimize, required
from fedtheory.claims.statement import Hypothesis, Term
from fedtheory.claims.subdivision import pieces
from fedtheory.papers import claim
from fedtheory.quantities import symbol

F = Fraction
INF = math.inf
x, q, R, L, free = (
    symbol(name) for name in ("local_lr", "snapshot_probability", "rounds", "smoothness", "objective_decrease")
)
log, exp, root = sympy.log, sympy.exp, sympy.sqrt
THIRD = sympy.Rational(1, 3)


def least(condition, start: float) -> float:
    """The least float from ``start`` on, within a few, where a condition of exact numbers holds."""
    number = start
    for _ in range(8):
        number = math.nextafter(number, -INF)
    while not condition(mpmath.mpf(number)):
        number = math.nextafter(number, INF)
    return number


with mpmath.workdps(60):
    E_BELOW = math.nextafter(least(lambda v: mpmath.log(v) > 1, math.e), 0)
    HALF = least(lambda v: mpmath.exp(v) >= 0.5, math.log(0.5))
    CENTI = least(lambda v: mpmath.log(1 + v) * 100 >= 1, math.expm1(0.01))
    E_1 = least(lambda v: mpmath.log(1 + v) >= 1, math.e - 1)
    SECOND = math.nextafter(least(lambda v: mpmath.log(1 + v) < v / 2, 2.512862417252339), 0)

SETS = [
    (log(x), [(1, INF, True, False)]),
    (-log(x), [(0, 1, False, True)]),
    (exp(-x) - 1, []),
    (1 - exp(-x), [(0, INF, False, False)]),
    (root(x + 1) - 1, [(0, INF, False, False)]),
    (1 - root(x + 1), []),
    (2 - root(x + 1), [(0, 3, False, True)]),
    (x**THIRD - root(x + 2), []),
    ((x + 1) ** THIRD - 2, [(7, INF, True, False)]),
    (1 / log(x) - 1, [(math.nextafter(1, 2), E_BELOW, True, True)]),
    (log(1 + x) - x / 2, [(0, SECOND, False, True)]),
    (root(q + 1) - root(2), [(1, 1, True, True)]),
    (root(2) - root(q + 1), [(0, 1, True, True)]),
    (1 / log(1 + q) - 1, [(0, 1, True, True)]),  # +inf at 0, where log(1 + q) vanishes from above
    (-1 / log(1 + q) + 100, [(CENTI, 1, True, True)]),
    (log(1 + q) - sympy.Rational(7, 10), []),
    (exp(free) - sympy.Rational(1, 2), [(HALF, INF, True, False)]),
    (sympy.Rational(1, 2) - exp(free), [(-INF, math.nextafter(HALF, -INF), False, True)]),
    (exp(free) + 1, [(-INF, INF, False, False)]),
    (sympy.Rational(1, 100) - log(R) / R, [(1, 1, True, True), (648, INF, True, False)]),
    (log(R) - 100, [(F(int(mpmath.mp.mpf(2) ** 0)), INF, True, False)]),
    (exp(-R) - 1, []),
    (7 - log(R + 1) / log(2), [(1, 127, True, True)]),
    (log(R + 1) - log(8), [(7, INF, True, False)]),
    (sympy.Min(log(x), 2 - x, evaluate=False), [(1, 2, True, True)]),
    (sympy.Max(log(x), 1 - 2 * x, evaluate=False), [(0, 0.5, False, True), (1, INF, True, False)]),
    (sympy.Abs(log(x)) - log(2), [(0, 0.5, False, True), (2, INF, True, False)]),
]


def shown(slack: sympy.Expr) -> str:
    return str(slack)[:40]


@pytest.mark.parametrize(("slack", "expected"), SETS, ids=shown)
def test_sets_by_hand(slack, expected):
    name = next(s.name for s in slack.free_symbols)
    found = solution_set(slack, name, {})
    if slack == log(R) - 100:
        with mpmath.workdps(60):
            expected = [(int(mpmath.ceil(mpmath.exp(100))), INF, True, False)]
    assert list(found.intervals) == expected


@given(
    a=st.fractions(-3, 3, max_denominator=20), b=st.fractions(F(1, 20), 3, max_denominator=20),
    c=st.fractions(F(1, 20), 3, max_denominator=20), kind=st.sampled_from(["log", "exp", "root"]),
)  # fmt: skip
@settings(max_examples=9)
def test_floats_beside_every_end(a, b, c, kind):
    """a + b f(x) - c x at the ends found, one float further, and in the middle of what is found and of what is not."""
    A, B, C = (sympy.Rational(v.numerator, v.denominator) for v in (a, b, c))
    f = {"log": log(x), "exp": 1 - exp(-x), "root": root(x + B)}[kind]
    found = solution_set(A + B * f - C * x, "local_lr", {})

    def value(number):
        v = mpmath.mpf(float(number))
        of = {"log": mpmath.log, "exp": lambda u: -mpmath.expm1(-u), "root": lambda u: mpmath.sqrt(u + exact(b))}[kind]
        return exact(a) + exact(b) * of(v) - exact(c) * v

    def exact(number):
        return mpmath.mpf(number.numerator) / number.denominator

    with mpmath.workdps(400):
        for low, high, *_ in found.intervals:
            if low > 0:
                assert value(low) >= 0 > value(math.nextafter(low, 0))
            assert value(high) >= 0 > value(math.nextafter(high, INF))
        for k in range(-60, 9):
            number = 10.0 ** (k / 2)
            assert (number in found) is bool(value(number) >= 0)


def test_the_pieces_cover_every_float_once():
    within = (F(0), F(1, 3), True, True)
    some = list(pieces(log(1 + q) - sympy.Rational(1, 5), q, {}, within))
    assert (some[0][0], some[-1][1]) == (0, F(1, 3))
    for (_, high, _), (low, _, _) in itertools.pairwise(some):
        assert high <= low and (low == F(1, 3) or math.nextafter(float(high), INF) >= low)
    whole = list(pieces(log(R) - 5, R, {}, (F(1), F(1000), True, True)))
    assert [low for low, *_ in whole[1:]] == [high + 1 for _, high, _ in whole[:-1]]
    assert (whole[0][0], whole[-1][1]) == (1, 1000)


def test_ends_of_bounds_that_no_float_hits():
    """strong_convexity is at most smoothness = 1/3, which belongs to the set although it is no float."""
    mu = symbol("strong_convexity")
    found = solution_set(1 - log(1 + mu), "strong_convexity", {"smoothness": F(1, 3)})
    assert found.everything and found.intervals[0][1] == F(1, 3)
    found = solution_set(log(1 + mu) - log(sympy.Rational(4, 3)), "strong_convexity", {"smoothness": F(1, 3)})
    assert found.intervals == ((F(1, 3), F(1, 3), True, True),)


def test_one_of_several_caps_is_never_above_them():
    """min(1, 1/2) - min(1, 1/2, log(1 + x)) vanishes on a whole interval, where no ball shows a sign."""
    caps, third = (2 * L, L), {"smoothness": F(1, 3)}
    slack = sympy.Min(*caps, evaluate=False) - sympy.Min(*caps, log(1 + x), evaluate=False)
    assert solution_set(slack, "local_lr", third).everything
    below = sympy.Min(*caps, log(1 + x), evaluate=False) - sympy.Min(*caps, evaluate=False)
    assert solution_set(below, "local_lr", {"smoothness": F(1)}).smallest == E_1
    with pytest.raises(ValueError, match=r"cannot be told from 0|no lasting sign"):
        solution_set(below, "local_lr", third)
    other = sympy.Min(L, 3 * L, evaluate=False) - sympy.Min(2 * L, L, log(1 + x), evaluate=False)
    with pytest.raises(ValueError, match=r"cannot be told from 0|no lasting sign"):
        solution_set(other, "local_lr", third)


def test_what_is_given_may_be_irrational_or_infinite():
    assert solution_set(log(L) * log(1 + x) - log(L), "local_lr", {"smoothness": F(3)}).largest == INF
    with pytest.raises(ValueError, match=r"no exact arithmetic for .*; .* is no number"):
        solution_set(root(L - 3) - log(x), "local_lr", {"smoothness": F(1)})


def test_what_is_not_seen_is_refused():
    """A sum of logarithms that is 0; one that vanishes where no float is does no harm."""
    assert solution_set(-((log(x) - 1) ** 2), "local_lr", {}).empty
    assert solution_set(-((log(x) - log(2)) ** 2), "local_lr", {}).intervals == ((2, 2, True, True),)
    with pytest.raises(ValueError, match="cannot be told from 0"):
        solution_set((log(6) - log(2) - log(3) + 0 * x) * log(1 + x), "local_lr", {})


def test_the_work_is_bounded(monkeypatch):
    monkeypatch.setattr(subdivision, "MOST_EVALUATIONS", 50)
    with pytest.raises(ValueError, match=r"cannot be solved for local_lr: .*no lasting sign is seen from"):
        odd = Hypothesis("odd", sympy.Ge(log(x), 0, evaluate=False), "here")
        required(claim("fast.thm1"), odd, "local_lr")


COR3 = {"smoothness": 2.0, "strong_convexity": 0.5, "gradient_noise": 0.3, "dissimilarity": 0.4,
        "initial_distance": 3.0, "cohort": 2, "arbitrary_cohort": 2, "local_steps": 3,
        "snapshot_probability": 0.75, "rounds": 5000}  # fmt: skip


@pytest.mark.parametrize("name", sorted(COR3))
@pytest.mark.parametrize("hypothesis", ["step_cap", "q_condition"])
def test_a_corollary_with_a_logarithm_is_solved_for_all_it_has(name, hypothesis):
    """FAST's Corollary 3 chooses a step with log(Max(1, ...)) in it: what is allowed against ``evaluate``."""
    each = claim("fast.cor3@corrected")
    given = {key: value for key, value in COR3.items() if key != name}
    found = required(each, hypothesis, name, **given)
    if hypothesis == "step_cap":
        assert found.everything
    centre = COR3[name]
    numbers = [1, 2, 3, 7, 60, 10**4] if isinstance(centre, int) else [centre * 2.0**k for k in range(-9, 9)]
    for number in (n for n in numbers if found.bounds[0] < n <= found.bounds[1]):
        slack = float(each.evaluate(**COR3 | {name: number}).slack[hypothesis])
        assert abs(slack) < 1e-12 or (number in found) is (slack >= 0), (number, slack)


# Quantities without a lower bound.


def test_quantities_of_either_sign():
    thm1 = claim("fast.thm1")
    odd = Hypothesis("odd", sympy.Ge((free + 2) * (free - 1), 0), "here")
    found = required(thm1, odd, "objective_decrease")
    assert found.intervals == ((-INF, -2, False, True), (1, INF, True, False))
    assert str(found) == "objective_decrease in (-inf, -2] or [1, inf)"
    assert -5 in found and -1 not in found and not found.everything
    assert required(thm1, Hypothesis("odd", sympy.Ge(L, 0, evaluate=False), "here"), "objective_decrease",
                    smoothness=1).everything  # fmt: skip
    bound = replace(thm1, hypotheses=(), terms=(Term("t", (free + 3) ** 2 + 1),))
    assert minimize(bound, "objective_decrease") == (pytest.approx(-3, rel=1e-6), pytest.approx(1, rel=1e-12))
    bounded = replace(bound, hypotheses=(odd,), terms=(Term("t", free**2),))
    assert minimize(bounded, "objective_decrease") == (1.0, 1.0)
    with pytest.raises(ValueError, match="it falls towards -inf"):
        minimize(replace(bound, terms=(Term("t", free),)), "objective_decrease")
