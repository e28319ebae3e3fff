"""Solving claims: sets against exact slacks and hand-worked ones, rounds against closed forms, minima against grids."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import fedtheory
from fedtheory.claims import all_claims, claim, editions
from fedtheory.claims.comparison import compare
from fedtheory.claims.evaluation import fold
from fedtheory.claims.ranges import Allowed, bounds, float_inside, solution_set
from fedtheory.claims.solve import dominant_term, largest_step, minimize, required, rounds_to
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.quantities import QUANTITIES, symbol

F = Fraction
INF = math.inf
eta, q, m, R = (symbol(name) for name in ("local_lr", "snapshot_probability", "cohort", "rounds"))
THM1, THM2 = claim("fast.thm1"), claim("fast.thm2")
PEAKS = ("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")


def to_fraction(number: sympy.Rational) -> Fraction:
    return F(int(number.p), int(number.q))


def holds(slack: sympy.Expr, values: dict[str, Fraction]) -> bool:
    """In rational arithmetic, with the package's rule that a division by zero fails."""
    try:
        return fold(slack, values, to_fraction) >= 0
    except ZeroDivisionError:
        return False


# Sets worked out by hand.

SETS = [
    ((eta - 2) * (eta - 3) / (eta - 1), [(1, 2, False, True), (3, INF, True, False)]),
    ((eta - 1) / (eta - 1) ** 2, [(1, INF, False, False)]),
    (-1 / (eta - 1) ** 2, []),
    (1 / (eta - 1) ** 2, [(0, 1, False, False), (1, INF, False, False)]),
    (-((eta - 2) ** 2), [(2, 2, True, True)]),
    ((eta - 2) ** 2, [(0, INF, False, False)]),
    (-((eta - 2) ** 2) * (eta - 5), [(0, 5, False, True)]),
    ((eta - 2) ** 2 * (eta - 5), [(2, 2, True, True), (5, INF, True, False)]),
    (2 - eta**2, [(0, math.sqrt(2), False, True)]),  # sqrt(2) as a float lies above the square root of 2
    (-((eta**2 - 2) ** 2), []),
    (1 / (-1 - 1 / (eta - 1)), [(0, 1, False, False)]),  # (1 - eta)/eta, which divides by eta - 1
    (eta + 5, [(0, INF, False, False)]),
    (-eta, []),
    (sympy.Integer(0) * eta, [(0, INF, False, False)]),
    (sympy.Min(1 / (4 * eta), 2 - eta, evaluate=False) - sympy.Rational(1, 2), [(0, F(1, 2), False, True)]),
    (sympy.Max(1 / (4 * eta), 2 - eta, evaluate=False) - sympy.Rational(1, 2), [(0, F(3, 2), False, True)]),
    # |eta - 3| <= 1, and |eta - 3| >= 1: a minimum on either side of the relation
    (1 + sympy.Min(eta - 3, 3 - eta, evaluate=False), [(2, 4, True, True)]),
    (-1 - sympy.Min(eta - 3, 3 - eta, evaluate=False), [(0, 2, False, True), (4, INF, True, False)]),
    (q - 1, [(1, 1, True, True)]),
    (q - 2, []),
    (1 / q, [(0, 1, False, True)]),
    (q * (1 - q), [(0, 1, True, True)]),
    ((q - sympy.Rational(1, 3)) * (q - sympy.Rational(1, 2)), [(0, F(1, 3), True, True), (F(1, 2), 1, True, True)]),
    (1 / (m - 3), [(4, INF, True, False)]),
    (10 - m**2, [(1, 3, True, True)]),
    (9 - m**2, [(1, 3, True, True)]),
    ((m - sympy.Rational(10, 3)) * (m - sympy.Rational(11, 3)), [(1, INF, True, False)]),
    (m**2 - 10, [(4, INF, True, False)]),
    ((m - 2) * (m - 5), [(1, 2, True, True), (5, INF, True, False)]),
    (-((m - sympy.Rational(7, 2)) ** 2), []),
    (1 / (m - 3) ** 2, [(1, 2, True, True), (4, INF, True, False)]),
]


@pytest.mark.parametrize(("slack", "intervals"), SETS, ids=lambda part: str(part)[:40])
def test_sets_by_hand(slack: sympy.Expr, intervals: list) -> None:
    name = next((s.name for s in slack.free_symbols), "local_lr")
    found = solution_set(slack, name, {})
    if slack == 2 - eta**2:
        intervals = [(0, math.nextafter(math.sqrt(2), 0), False, True)]
    assert list(found.intervals) == intervals
    assert found.empty is (intervals == [])
    assert found.everything is (intervals == [found.bounds])


def test_what_divides_by_zero_everywhere_allows_nothing() -> None:
    assert solution_set(q - 1 / symbol("dissimilarity"), "snapshot_probability", {"dissimilarity": F(0)}).empty


def test_ends_too_close_for_floats_are_told_apart() -> None:
    # sqrt(2) is between two rationals that differ from it by less than 1e-60.
    near = F(math.isqrt(2 * 10**120), 10**60)
    below, above = (sympy.Rational(p.numerator, p.denominator) for p in (near, near + F(1, 10**60)))
    slack = (eta - below) * (eta**2 - 2) * (eta - above) * (3 - eta)
    # It is >= 0 from the first root to the second, where no float is, and from the third to 3.
    assert solution_set(slack, "local_lr", {}).intervals == ((near + F(1, 10**60), 3, True, True),)


def test_beyond_rational_relations() -> None:
    for slack, what in ((sympy.exp(-eta) - 1, "exponential"), (sympy.sqrt(eta) - 1, "no exact arithmetic for Pow")):
        odd = Hypothesis("odd", sympy.Ge(slack, 0, evaluate=False), "here")
        with pytest.raises(ValueError, match=f"odd of fast.thm1@main cannot be solved for local_lr: .*{what}"):
            required(THM1, odd, "local_lr")


# Any hypothesis of any claim, for any quantity: the set against the slack.

RELATIONS = [(c, h) for c in all_claims() for h in c.hypotheses]
RELATIONS += [(c, h.under({"": option})) for c, h in RELATIONS for option in h.alternatives]
RELATIONS = list({h.relation: (c, h) for c, h in reversed(RELATIONS)}.values())  # the appendix repeats Theorem 1

small = st.fractions(min_value=F(1, 30), max_value=2, max_denominator=30)


def number(name: str) -> st.SearchStrategy[Fraction]:
    known = QUANTITIES[name]
    if known.integer:
        return st.integers(1, 8).map(F)
    if name == "snapshot_probability":
        return st.fractions(0, 1, max_denominator=12)
    if name == "local_lr":
        return st.fractions(F(1, 300), F(1, 3), max_denominator=300)
    return small if known.positive else st.one_of(st.just(F(0)), small)


def drawn(data: st.DataObject, names: set[str]) -> dict[str, Fraction]:
    values = {name: data.draw(number(name), label=name) for name in sorted(names)}
    assume(values.get("strong_convexity", 0) <= values.get("smoothness", INF))
    return values


def probes(allowed: Allowed, data: st.DataObject) -> list[Fraction]:
    """Points within the bounds: a random one, and around every end."""
    name = allowed.quantity
    points = [data.draw(number(name), label=f"probe {name}")]
    for interval in (*allowed.intervals, allowed.bounds):
        for end in interval[:2]:
            if math.isinf(end):
                points += [F(10**6), F(10**12)]
            elif QUANTITIES[name].integer:
                points += [F(end) - 1, F(end), F(end) + 1]
            else:
                floats = [math.nextafter(float(end), way) for way in (-INF, INF)]
                points += [F(end), *map(F, floats), *(F(end) * (1 + s * F(1, 10**9)) for s in (-1, 1))]
    low, high, low_closed, high_closed = allowed.bounds
    return [p for p in points if low < p < high or (p == low and low_closed) or (p == high and high_closed)]


@pytest.mark.parametrize("place", RELATIONS, ids=lambda p: f"{p[0].ref}-{p[1].name}")
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_a_value_is_allowed_exactly_where_the_slack_is_non_negative(place: tuple, data: st.DataObject) -> None:
    each, hypothesis = place
    name = data.draw(st.sampled_from(sorted(s.name for s in hypothesis.slack.free_symbols)), label="name")
    values = drawn(data, {s.name for s in hypothesis.slack.free_symbols} - {name})
    allowed = required(each, hypothesis, name, **values)
    for x in probes(allowed, data):
        # In rational arithmetic there is no tolerance, at the ends either. An irrational end is a float inside.
        assert (x in allowed) is holds(hypothesis.slack, values | {name: x}), (str(allowed), x)


@pytest.mark.parametrize(
    "place", [p for p in RELATIONS if p[1] in p[0].hypotheses], ids=lambda p: f"{p[0].ref}-{p[1].name}"
)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_evaluate_agrees_away_from_the_ends(place: tuple, data: st.DataObject) -> None:
    each, hypothesis = place
    name = data.draw(st.sampled_from(sorted(s.name for s in hypothesis.slack.free_symbols)), label="name")
    values = drawn(data, set(each.quantities) - {name})
    allowed = required(each, hypothesis.name, name, **values)
    floats = {key: float(value) for key, value in values.items()}
    for x in probes(allowed, data):
        low, high, *_ = bounds(name, values)
        if not low < F(float(x)) < high or 0 < x < F(1, 10**9):  # beyond, or where other terms overflow
            continue
        slack = each.evaluate(**floats | {name: float(x)}).slack[hypothesis.name]
        nearest = min((abs(x - e) / x for i in allowed.intervals for e in i[:2] if e < INF), default=INF)
        # Rounding in some ten operations on numbers of the order of 1. Where the exact denominator is 0 (or rounds
        # to 0) the slack is infinite, and where its numerator nearly cancels the sign may be lost.
        if np.isfinite(slack) and 1e-12 < abs(slack) < 1e6 and nearest > 1e-8:
            assert (x in allowed) is bool(slack >= 0), (str(allowed), x, slack)


peak = st.one_of(st.just(F(0)), st.integers(0, 60).map(F), st.fractions(0, 60, max_denominator=7))


@given(
    G1=peak, G2=peak, G3=peak, K=st.integers(1, 3), root=st.sampled_from([F(0), F(1, 2), F(2)]), vanish=st.booleans()
)
@example(G1=F(0), G2=F(0), G3=F(0), K=1, root=F(0), vanish=False)  # 0/0
@example(G1=F(0), G2=F(50), G3=F(40), K=3, root=F(0), vanish=True)
@settings(max_examples=20, deadline=None)
def test_the_q_condition_of_theorem_1(G1: F, G2: F, G3: F, K: int, root: F, vanish: bool) -> None:
    # 2 L K eta = 1/4, so that the printed quotient is (-3/4 G2 + 2 K^2 s^2)/(G1 - 3/4 G2 - G3/4 + 2 K^2 s^2).
    top = -F(3, 4) * G2 + 2 * K**2 * root**2
    if vanish:  # choose G1 (or, were it negative, G3) such that the denominator is 0
        G1 = max(F(0), G3 / 4 - top)
        G3 = 4 * (G1 + top)
    bottom = G1 + top - G3 / 4
    values = dict(zip(PEAKS, (G1, G2, G3), strict=True))
    values |= {"smoothness": F(1), "local_steps": F(K), "local_lr": F(1, 8 * K), "dissimilarity": root}
    printed, product = THM1.hypothesis("q_condition"), THM1.hypothesis("q_condition").under({"": "product"})
    nothing, everything = (), ((0, 1, True, True),)
    if bottom == 0:
        expected, multiplied = nothing, everything if top <= 0 else nothing
    else:
        least = top / bottom
        above = nothing if least > 1 else ((max(F(0), least), 1, True, True),)
        below = nothing if least < 0 else ((0, min(F(1), least), True, True),)
        expected, multiplied = above, above if bottom > 0 else below
    assert required(THM1, printed, "snapshot_probability", **values).intervals == expected
    assert required(THM1, product, "snapshot_probability", **values).intervals == multiplied


def test_pairs_of_quantities_bound_each_other() -> None:
    given = {
        "smoothness": 2,
        "local_steps": 1,
        "local_lr": F(1, 1000),
        "dissimilarity": F(1, 8),
        "snapshot_probability": 1,
    }
    assert required(THM2, "q_condition", "strong_convexity", **given).intervals == ((F(8, 125), 2, True, True),)
    assert bounds("smoothness", {"strong_convexity": F(1, 2)}) == (F(1, 2), INF, True, False)
    assert bounds("clients", {"cohort": F(3), "arbitrary_cohort": F(5)}) == (5, INF, True, False)
    assert bounds("dissimilarity_at_optimum", {"dissimilarity": F(0)}) == (0, 0, True, True)


def test_allowed() -> None:
    a = Allowed("local_lr", ((F(0), F(1, 3), False, True), (F(2), INF, True, False)), (F(0), INF, False, False))
    b = Allowed("local_lr", ((F(1, 3), F(2), True, False), (F(5), F(6), False, True)), a.bounds)
    assert (a & b).intervals == (b & a).intervals == ((F(1, 3), F(1, 3), True, True), (5, 6, False, True))
    assert str(a) == "local_lr in (0, 0.333333] or [2, inf)"
    assert str(a & b) == "local_lr in {0.333333} or (5, 6]"
    assert (a.smallest, a.largest, b.largest) == (0.0, INF, 6.0)
    assert [x in a for x in (0, F(1, 3), F(1, 3) + F(1, 10**30), 1, 2, "2.5", np.float64(7))] == [
        False, True, False, False, True, True, True,
    ]  # fmt: skip
    nothing = a & Allowed("local_lr", (), a.bounds)
    assert nothing.empty and not nothing.everything and str(nothing) == "local_lr: none"
    with pytest.raises(ValueError, match="no value of local_lr is allowed"):
        _ = nothing.largest
    with pytest.raises(ValueError, match="local_lr = nan: allowed is a finite number"):
        _ = math.nan in a
    with pytest.raises(ValueError, match="values of local_lr and of rounds"):
        _ = a & Allowed("rounds", (), a.bounds)
    whole = solution_set(5 - m, "cohort", {})
    assert str(whole) == "cohort in [1, 5] (integers)" and 2.0 in whole and 2.5 not in whole
    assert str(solution_set(m, "cohort", {})) == "cohort: any in [1, inf)"


@given(st.fractions())
def test_floats_inside(x: Fraction) -> None:
    below, above = float_inside(x, -1), float_inside(x, 1)
    assert F(below) <= x <= F(above)
    assert above in (below, math.nextafter(below, INF))


# The largest step.


@pytest.mark.parametrize("each", all_claims(), ids=lambda c: c.ref)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_the_largest_step(each: Claim, data: st.DataObject) -> None:
    undecided = data.draw(st.booleans())
    values = drawn(data, set(each.quantities) - {"local_lr", *(PEAKS if undecided else ())})
    decided = [h for h in each.hypotheses if {s.name for s in h.slack.free_symbols} <= {*values, "local_lr"}]
    try:
        step = largest_step(each, **values)
    except ValueError as error:
        assert str(error).startswith("no local_lr satisfies the hypotheses")
        for x in [data.draw(number("local_lr")) for _ in range(3)] + [F(1, 10**9)]:
            assert not all(holds(h.slack, values | {"local_lr": x}) for h in decided)
        return
    assert all(holds(h.slack, values | {"local_lr": F(step)}) for h in decided)
    assert each.evaluate(**{k: float(v) for k, v in values.items()}, local_lr=step).hypotheses_hold in (True, None)
    # It stays within 64 roundings of the supremum, and nothing above that is allowed.
    for beyond in (F(step) * (1 + F(1, 10**13)), F(step) * 2, F(step) * 10**6):
        assert not all(holds(h.slack, values | {"local_lr": beyond}) for h in decided)


def only(*relations: sympy.Basic, terms: tuple = THM1.terms) -> Claim:
    named = tuple(Hypothesis(f"h{i}", relation, "here") for i, relation in enumerate(relations))
    return replace(THM1, hypotheses=named, terms=tuple(terms))


def test_steps_by_hand() -> None:
    caps = {"smoothness": 2, "local_steps": 3, "cohort": 2, "arbitrary_cohort": 4, "snapshot_probability": 0.25}
    # min(1/48, (5/2)/240 = 1/96); Theorem 2: min(1/240, 1/480).
    for each, cap in ((THM1, F(1, 96)), (replace(THM2, hypotheses=THM2.hypotheses[:1]), F(1, 480))):
        step = each.largest_step(**caps)
        assert 0 <= cap - F(step) <= cap * F(1, 10**15)
    # An end that is not attained: eta < 1/4, and {1/8} or eta <= -1.
    assert largest_step(only(sympy.Ge(1 / (sympy.Rational(1, 4) - eta), 0))) == math.nextafter(0.25, 0)
    assert largest_step(only(sympy.Le((eta - sympy.Rational(1, 8)) ** 2, 0, evaluate=False))) == 0.125
    # Two that agree in [1/5, 1/4] only.
    both = only(sympy.Le(eta, sympy.Rational(1, 4)), sympy.Ge(eta, sympy.Rational(1, 5)))
    assert both.largest_step() == 0.25
    with pytest.raises(ValueError, match="every large local_lr satisfies the hypotheses h0 of"):
        largest_step(only(sympy.Ge(eta, 1)))
    with pytest.raises(ValueError, match="no local_lr satisfies the hypotheses h0, h1 of"):
        largest_step(only(sympy.Ge(eta, 1), sympy.Le(eta, sympy.Rational(1, 2))))
    with pytest.raises(ValueError, match=r"can be decided: step_cap needs smoothness, cohort, .*; q_condition needs"):
        largest_step(THM2)
    with pytest.raises(ValueError, match="can be decided: it has none"):
        largest_step(only())


# Rounds.


def parts(each: Claim, values: dict[str, Fraction]) -> Fraction:
    """The right side's limit: all terms without rounds."""
    return sum(fold(t.expression, values, to_fraction) for t in each.terms if R not in t.expression.free_symbols)


@pytest.mark.parametrize("each", all_claims(), ids=lambda c: c.ref)
@given(data=st.data(), above=st.fractions(F(1, 10**9), 3, max_denominator=10**9))
@settings(max_examples=15, deadline=None)
def test_rounds_to_is_minimal(each: Claim, data: st.DataObject, above: Fraction) -> None:
    values = drawn(data, {s.name for s in each.right_side.free_symbols} - {"rounds"})
    floor = parts(each, values)
    found = each.rounds_to(floor + above, **values)
    rate = values["local_steps"] * values["local_lr"]
    if each.id == "fast.thm1":
        expected = math.ceil(4 * values["initial_gap"] / rate / above)
    else:
        with mpmath.workdps(60):
            ratio = mpmath.mpf(above.numerator) / above.denominator
            exponent = values["strong_convexity"] * rate
            start = values["initial_distance"] ** 2
            expected = 0
            if start > above:
                log = mpmath.log(mpmath.mpf(start.numerator) / start.denominator / ratio)
                expected = int(mpmath.ceil(log * exponent.denominator / exponent.numerator))
    assert found == max(1, expected)
    for too_low in (floor, floor - F(1, 10**12)):
        constant = values.get("initial_gap", values.get("initial_distance")) == 0 and too_low == floor
        if too_low > 0 and not constant:
            with pytest.raises(ValueError, match=r"allowed is a number above the floor"):
                each.rounds_to(too_low, **values)
        elif too_low > 0:
            assert each.rounds_to(too_low, **values) == 1


def test_rounds_by_evaluating() -> None:
    values = {"smoothness": 1.0, "strong_convexity": 0.1, "gradient_noise": 0.3, "dissimilarity": 0.05,
              "initial_distance": 3.0, "cohort": 2, "arbitrary_cohort": 3, "local_steps": 2, "local_lr": 1e-8,
              "snapshot_probability": 0.99}  # fmt: skip
    found = rounds_to(THM2, 0.2, **values)
    assert found > 10**9
    value = THM2.evaluate(**values, rounds=[found - 1, found]).value
    # One round changes the bound by mu K eta |x_R - x*|^2 = 3e-10, far above its rounding.
    assert value[1] <= 0.2 < value[0]


def bound_of(*expressions: sympy.Expr) -> Claim:
    return replace(THM1, hypotheses=(), terms=tuple(Term(f"t{i}", e) for i, e in enumerate(expressions)))


def test_rounds_where_no_single_term_decides() -> None:
    assert rounds_to(bound_of(3 / R, -1 / R), F(1, 100)) == 200
    assert rounds_to(bound_of((R + 2) / (R + 1)), F(101, 100)) == 99
    assert rounds_to(bound_of(sympy.exp(-R / 7), sympy.Rational(1, 2)), F(1, 2) + F(1, 10**40)) == 645
    for rising in (R, 1 - 1 / R, (R - 3) ** 2 / R**3, sympy.exp(R), R * sympy.exp(-R)):
        with pytest.raises(ValueError, match=r"the right side of fast.thm1@main is not seen to fall"):
            rounds_to(bound_of(rising), 100)
    with pytest.raises(ValueError, match=r"epsilon = 0.25: .* above the floor 0.5 of fast.thm1@main"):
        rounds_to(bound_of(sympy.Rational(1, 2) + 0 * R), 0.25)
    assert rounds_to(bound_of(sympy.Rational(1, 2) + 0 * R), 0.5) == 1


# Minima.


def brute(each: Claim, name: str, values: dict[str, float], grid: np.ndarray) -> float:
    """The least right side on a grid, where all decidable hypotheses hold."""
    filler = dict.fromkeys(set(each.quantities) - {*values, name, *PEAKS}, 1.0)
    bound = each.evaluate(**filler | values | {name: grid})
    ok = np.ones(len(grid), dtype=bool)
    for slack in bound.slack.values():
        ok &= True if slack is None else np.broadcast_to(slack >= 1e-14, grid.shape)  # 0 up to rounding may be < 0
    value = np.broadcast_to(bound.value, grid.shape)
    return float(value[ok].min()) if ok.any() else math.inf


GRIDS = {
    "local_lr": np.geomspace(1e-9, 1, 20001),
    "snapshot_probability": np.linspace(0, 1, 2001),
    "local_steps": np.arange(1.0, 3001),
    "cohort": np.arange(1.0, 21),
}


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("each", [THM1, claim("fast.thm2@appendix")], ids=lambda c: c.ref)
@given(data=st.data(), rounds=st.sampled_from([10, 1000, 10**6]))
@settings(max_examples=5, deadline=None)
def test_minima_against_a_grid(each: Claim, name: str, data: st.DataObject, rounds: int) -> None:
    values = drawn(data, set(each.quantities) - {name, "rounds", *PEAKS}) | {"rounds": rounds}
    if name == "cohort":
        values |= {"clients": 20, "arbitrary_cohort": min(values["arbitrary_cohort"], F(20))}
    if name != "local_lr":
        values["local_lr"] /= 100
    floats = {key: float(value) for key, value in values.items()}
    best = brute(each, name, floats, GRIDS[name])
    try:
        argument, value = minimize(each, name, **floats)
    except ValueError as error:
        assert "satisfies the hypotheses" in str(error) or "has no minimum over" in str(error)
        if "satisfies" in str(error):
            assert best == INF
        return
    assert value <= best * (1 + 1e-12)  # rounding of the right side, summed in another order
    assert float(each.evaluate(**floats | {name: argument}).value) == pytest.approx(value, rel=1e-13)
    for h in each.hypotheses:
        if {s.name for s in h.slack.free_symbols} <= {name, *values}:
            exact = {key: F(v) for key, v in floats.items()} | {name: F(argument)}
            assert holds(h.slack, exact)
    if QUANTITIES[name].integer:
        assert isinstance(argument, int)


def test_minima_by_hand() -> None:
    # 4/x + x/9 at 6, then with x <= 5, x >= 7, and x < 5, which is not attained; 40000/x + 4 x at 100 among integers.
    curve = (4 / eta, eta / 9)
    argument, value = minimize(bound_of(*curve), "local_lr")
    assert (argument, value) == (pytest.approx(6, rel=1e-6), pytest.approx(4 / 3, rel=1e-12))
    terms = bound_of(*curve).terms
    assert minimize(only(sympy.Le(eta, 5), terms=terms), "local_lr") == (5.0, pytest.approx(4 / 5 + 5 / 9))
    assert minimize(only(sympy.Ge(eta, 7), terms=terms), "local_lr") == (7.0, pytest.approx(4 / 7 + 7 / 9))
    with pytest.raises(ValueError, match=r"no minimum over local_lr: it falls towards 5, which is not allowed"):
        minimize(only(sympy.Ge(1 / (5 - eta), 0), terms=terms), "local_lr")
    # Two valleys, of which the allowed set leaves the worse one, or its two edges.
    two = bound_of((eta - 1) ** 2 * (eta - 4) ** 2 + eta / 100)
    assert minimize(two, "local_lr")[0] == pytest.approx(1, abs=1e-2)
    assert minimize(replace(two, hypotheses=only(sympy.Ge(eta, 3)).hypotheses), "local_lr")[0] == pytest.approx(
        4, abs=1e-2
    )
    assert minimize(replace(two, hypotheses=only(sympy.Ge((eta - 2) * (eta - 3), 0)).hypotheses), "local_lr")[
        0
    ] == pytest.approx(1, abs=1e-2)
    m_curve = bound_of(10**14 / m, m)
    assert minimize(m_curve, "cohort") == (10**7, 2e7)
    assert minimize(m_curve, "cohort", clients=1000) == (1000, 1e11 + 1000)
    assert minimize(bound_of(2 * (m - 7) ** 2 + 3), "cohort") == (7, 3)
    # A right side that does not use the quantity: the smallest allowed value.
    assert minimize(bound_of(sympy.Integer(3)), "cohort") == (1, 3)
    assert minimize(bound_of(q), "snapshot_probability") == (0, 0)
    assert minimize(bound_of(1 - q), "snapshot_probability") == (1, 0)
    with pytest.raises(ValueError, match=r"no local_lr satisfies the hypotheses h0 of fast.thm1@main"):
        minimize(only(sympy.Le(eta, -1, evaluate=False)), "local_lr", **RIGHT_OF_1)


RIGHT_OF_1 = {"smoothness": 1, "gradient_noise": 1, "dissimilarity": 1, "initial_gap": 1, "cohort": 1,
              "arbitrary_cohort": 1, "local_steps": 1, "snapshot_probability": 1, "rounds": 9}  # fmt: skip


# The dominant term, and comparing.


@pytest.mark.parametrize("each", all_claims(), ids=lambda c: c.ref)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_the_dominant_term(each: Claim, data: st.DataObject) -> None:
    values = {k: float(v) for k, v in drawn(data, set(each.quantities) - set(PEAKS)).items()}
    terms = each.evaluate(**values).terms
    assert terms[each.dominant_term(**values)] == max(terms.values())


def test_of_equal_terms_the_first_printed() -> None:
    assert dominant_term(bound_of(1 / R, 2 / R, 2 / R), rounds=3) == "t1"


def test_editions_compared() -> None:
    main, appendix = editions("fast.thm2")
    found = {d.name: d for d in compare(main, appendix)}
    assert [(d.kind, d.name) for d in found.values()] == [("term", "arbitrary_rounds"), ("hypothesis", "q_condition")]
    assert "dissimilarity**2" in found["arbitrary_rounds"].after
    assert "dissimilarity" not in found["arbitrary_rounds"].before
    assert "dissimilarity" in found["q_condition"].before and "dissimilarity" not in found["q_condition"].after
    assert str(found["q_condition"]).startswith("hypothesis q_condition: snapshot_probability >= ")
    assert [(d.before, d.after) for d in compare(appendix, main)] == [(d.after, d.before) for d in found.values()]
    assert compare(*editions("fast.thm1")) == []


def test_the_same_mathematics_written_otherwise() -> None:
    step_cap, q_condition = THM1.hypotheses
    flipped = replace(q_condition, relation=sympy.Le(q_condition.relation.rhs, q))
    terms = tuple(Term(t.name, sympy.expand(t.expression)) for t in reversed(THM1.terms))
    assert terms != THM1.terms[::-1]
    assert compare(THM1, replace(THM1, terms=terms, hypotheses=(flipped, step_cap), source="elsewhere")) == []
    reversed_direction = replace(q_condition, relation=sympy.Le(q, q_condition.relation.rhs))
    changed = replace(THM1, hypotheses=(step_cap, reversed_direction))
    assert [d.name for d in compare(THM1, changed)] == ["q_condition"]


def test_every_kind_of_difference() -> None:
    q_condition = THM1.hypothesis("q_condition")
    reading = replace(q_condition, alternatives={"product": q_condition.relation})
    changed = replace(
        THM1, functional=THM2.functional, terms=(*THM1.terms[:2], Term("new", q)), hypotheses=(reading,),
        assumptions=(*THM1.assumptions[:2], Assumption("assumption_3", "dissimilarity", "", from_below=True)),
    )  # fmt: skip
    found = [(d.kind, d.name, d.before == "absent", d.after == "absent") for d in compare(THM1, changed)]
    assert found == [
        ("functional", "functional", False, False),
        ("term", "heterogeneity", False, True),
        ("term", "new", True, False),
        ("hypothesis", "step_cap", False, True),
        ("hypothesis", "q_condition (product)", False, False),
        ("assumption", "assumption_3", False, False),
    ]


# What is refused.


def test_wrong_inputs() -> None:
    def refused(message: str, function: object, *args: object, **values: object) -> None:
        with pytest.raises(ValueError, match=message):
            function(*args, **values)

    good = RIGHT_OF_1 | {"local_lr": 0.1}
    for function, args, asked in (
        (required, (THM1, "step_cap", "local_lr"), "local_lr"),
        (largest_step, (THM1,), "local_lr"),
        (rounds_to, (THM1, 1.0), "rounds"),
        (minimize, (THM1, "local_lr"), "local_lr"),
        (dominant_term, (THM1,), None),
    ):
        values = {name: value for name, value in good.items() if name != asked}
        refused("unknown quantity 'smothness': did you mean 'smoothness'", function, *args, **values, smothness=1)
        refused(r"smoothness = -1.0: allowed is a finite number > 0", function, *args, **values | {"smoothness": -1})
        refused(
            r"cohort = \[1, 2\]: allowed is a single number, an integer", function, *args, **values | {"cohort": [1, 2]}
        )
        refused("cohort = 9: .*clients", function, *args, **values | {"cohort": 9, "clients": 4})
        if asked:
            refused(f"{asked} = 1: allowed is to leave out", function, *args, **values | {asked: 1})
    for function, args in (
        (required, (THM1, "step_cap", "local_lr")), (rounds_to, (THM1, 1)), (minimize, (THM1, "local_lr")),
        (dominant_term, (THM1,)),
    ):  # fmt: skip
        refused(r"of fast.thm1@main needs .*arbitrary_cohort", function, *args)
    refused("no hypothesis of fast.thm1@main is named 'cap': known are step_cap", required, THM1, "cap", "local_lr")
    refused("unknown quantity 'lr'", required, THM1, "step_cap", "lr")
    refused("unknown quantity 'lr'", minimize, THM1, "lr")
    for epsilon in (0, -1, math.nan, math.inf, "x", None):
        refused("epsilon = .*: allowed is a finite number", rounds_to, THM1, epsilon)


def test_methods_delegate() -> None:
    caps = {"smoothness": 2, "local_steps": 3, "cohort": 2, "arbitrary_cohort": 4, "snapshot_probability": 0.25}
    assert THM1.required("step_cap", "local_lr", **caps) == required(THM1, "step_cap", "local_lr", **caps)
    assert THM1.minimize("local_lr", **RIGHT_OF_1) == minimize(THM1, "local_lr", **RIGHT_OF_1)


def test_no_torch() -> None:
    code = "import sys; sys.modules['torch'] = None; import fedtheory.claims.solve; print('scipy' in sys.modules)"
    home = Path(fedtheory.__file__).parents[1]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=home)
    assert (result.returncode, result.stdout.strip()) == (0, "False"), result.stderr
