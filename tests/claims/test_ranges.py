"""What hypotheses allow: sets against exact slacks and hand-worked ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedtheory.claims.balls import exact_slack
from fedtheory.claims.ranges import Allowed, bounds, float_inside, solution_set
from fedtheory.claims.solve import required
from fedtheory.claims.statement import Hypothesis
from fedtheory.papers import all_claims, claim
from fedtheory.quantities import QUANTITIES, symbol
from fedtheory.testing import quantity_values, values_of
from tests.loops import looped

F = Fraction
INF = math.inf
eta, q, m, R = (symbol(name) for name in ("local_lr", "snapshot_probability", "cohort", "rounds"))
THM1, THM2 = claim("fast.thm1"), claim("fast.thm2")
PEAKS = ("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")


def to_fraction(number: sympy.Rational) -> Fraction:
    return F(int(number.p), int(number.q))


def holds(slack: sympy.Expr, values: dict[str, Fraction]) -> bool:
    return exact_slack(slack, values) >= 0


# Sets worked out by hand.

SETS = [
    ((eta - 2) * (eta - 3) / (eta - 1), [(1, 2, False, True), (3, INF, True, False)]),
    ((eta - 1) / (eta - 1) ** 2, [(1, INF, False, False)]),
    (-1 / (eta - 1) ** 2, []),
    (1 / (eta - 1) ** 2, [(0, INF, False, False)]),  # +inf from both sides
    ((eta - 2) / (eta - 1) ** 2, [(2, INF, True, False)]),
    ((2 - eta) / (eta - 1) ** 2, [(0, 2, False, True)]),
    ((eta - 1) * (eta - 2) / ((eta - 1) ** 2 + 0 * eta), [(0, 1, False, False), (2, INF, True, False)]),
    (sympy.Min(1 / (eta - 1) ** 2, 3, evaluate=False) - 1, [(0, 2, False, True)]),
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
    (1 / q, [(0, 1, True, True)]),
    (-1 / q, []),
    (1 / q - 1 / q**2, [(1, 1, True, True)]),
    (q * (1 - q), [(0, 1, True, True)]),
    ((q - sympy.Rational(1, 3)) * (q - sympy.Rational(1, 2)), [(0, F(1, 3), True, True), (F(1, 2), 1, True, True)]),
    (1 / (m - 3), [(4, INF, True, False)]),
    (10 - m**2, [(1, 3, True, True)]),
    (9 - m**2, [(1, 3, True, True)]),
    ((m - sympy.Rational(10, 3)) * (m - sympy.Rational(11, 3)), [(1, INF, True, False)]),
    (m**2 - 10, [(4, INF, True, False)]),
    ((m - 2) * (m - 5), [(1, 2, True, True), (5, INF, True, False)]),
    (-((m - sympy.Rational(7, 2)) ** 2), []),
    (1 / (m - 3) ** 2, [(1, INF, True, False)]),
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


d = symbol("dissimilarity")


@pytest.mark.parametrize(
    ("slack", "intervals"),
    [
        (q - 1 + (eta - 2) / d**2, [(2, INF, False, False)]),  # at 2: 0/0
        (q - 1 - (eta - 2) / d**2, [(0, 2, False, False)]),
        (q - 1 + (eta - 2) / (eta - 3) / d**2, [(0, 2, False, False), (3, INF, False, False)]),
        (1 / (eta - 1) + (eta - 2) / d, [(2, INF, False, False)]),
        (1 / (eta - 3) + (eta - 2) / d, [(2, 3, False, False), (3, INF, False, False)]),
        (eta / (d**2 - d * eta + d * eta), [(0, INF, False, False)]),
        (eta / (d - q * d), []),  # 1 - q has a sign that is not known
    ],
    ids=str,
)
def test_what_is_infinite_for_every_value(slack: sympy.Expr, intervals: list) -> None:
    found = solution_set(slack, "local_lr", {"dissimilarity": F(0), "snapshot_probability": F(1, 2)})
    assert list(found.intervals) == intervals
    for x in (F(1), F(2), F(5, 2), F(3), F(7, 2)):
        exact = exact_slack(slack, {"dissimilarity": F(0), "snapshot_probability": F(1, 2), "local_lr": x})
        assert (x in found) is (exact >= 0)


def test_infinite_in_several_places_is_refused() -> None:
    for slack in (1 / d + eta / d**2, sympy.Min(1 / d, eta, evaluate=False)):
        with pytest.raises(ValueError, match="it divides by zero in several places or within a minimum"):
            solution_set(slack, "local_lr", {"dissimilarity": F(0)})


def test_theorem_2_without_dissimilarity() -> None:
    given = {"smoothness": 1.0, "strong_convexity": 1.0, "local_steps": 1}
    # mu K eta - 16 L^2 K^2 eta^2 > 0 below 1/16.
    found = required(THM2, "q_condition", "local_lr", **given, dissimilarity=0, snapshot_probability=0)
    assert found.intervals == ((0, F(1, 16), False, False),)
    for step, everything in ((1 / 32, True), (1 / 16, False), (1 / 8, False)):
        rest = given | {"local_lr": step, "dissimilarity": 0}
        allowed = required(THM2, "q_condition", "snapshot_probability", **rest)
        assert (allowed.everything, allowed.empty) == (everything, not everything)
        others = {"gradient_noise": 0, "initial_distance": 1, "cohort": 1, "arbitrary_cohort": 1, "rounds": 1}
        slack = THM2.evaluate(**rest, **others, snapshot_probability=0.5).slack["q_condition"]
        assert slack == (INF if everything else -INF)
    # 1 - q = 1/2 = (1/32 - 16/1024)/(4 d^2) at d^2 = 1/128; at d = 0 the quotient is infinite from above.
    found = required(THM2, "q_condition", "dissimilarity", **given, local_lr=1 / 32, snapshot_probability=0.5)
    assert found.intervals[0][0] == 0 and found.intervals[0][2]
    assert found.largest == math.nextafter(math.sqrt(1 / 128), 0) or F(found.largest) ** 2 <= F(1, 128)


def test_ends_too_close_for_floats_are_told_apart() -> None:
    # sqrt(2) is between two rationals that differ from it by less than 1e-60.
    near = F(math.isqrt(2 * 10**120), 10**60)
    below, above = (sympy.Rational(p.numerator, p.denominator) for p in (near, near + F(1, 10**60)))
    slack = (eta - below) * (eta**2 - 2) * (eta - above) * (3 - eta)
    # It is >= 0 from the first root to the second, where no float is, and from the third to 3.
    assert solution_set(slack, "local_lr", {}).intervals == ((near + F(1, 10**60), 3, True, True),)


def test_beyond_rational_relations() -> None:
    odd = Hypothesis("odd", sympy.Ge(sympy.zeta(eta + 2), 0, evaluate=False), "here")
    with pytest.raises(ValueError, match=r"odd of fast.thm1@main cannot be solved for local_lr: no exact arithm"):
        required(THM1, odd, "local_lr")


# Any hypothesis of any claim, for any quantity: the set against the slack.


def is_rational(expression: sympy.Expr) -> bool:
    powers = expression.atoms(sympy.Pow)
    return not expression.has(sympy.exp, sympy.log) and all(power.exp.is_Integer for power in powers)


RELATIONS = [(c, h) for c in all_claims() if not c.choices for h in c.hypotheses if is_rational(h.slack)]
RELATIONS += [(c, h.under({"": option})) for c, h in RELATIONS for option in h.alternatives]
RELATIONS = [(c, h) for c, h in RELATIONS if is_rational(h.slack)]
RELATIONS = list({h.relation: (c, h) for c, h in reversed(RELATIONS)}.values())  # the appendix repeats Theorem 1


def probes(allowed: Allowed, data: st.DataObject) -> list[Fraction]:
    """Points within the bounds: a random one, and around every end."""
    name = allowed.quantity
    points = [data.draw(quantity_values(name), label=f"probe {name}")]
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


@looped("place", RELATIONS, ids=lambda p: f"{p[0].ref}-{p[1].name}", quick=32)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_a_value_is_allowed_exactly_where_the_slack_is_non_negative(place: tuple, data: st.DataObject) -> None:
    each, hypothesis = place
    name = data.draw(st.sampled_from(sorted(s.name for s in hypothesis.slack.free_symbols)), label="name")
    values = data.draw(values_of({s.name for s in hypothesis.slack.free_symbols} - {name}))
    allowed = required(each, hypothesis, name, **values)
    for x in probes(allowed, data):
        # In rational arithmetic there is no tolerance, at the ends either. An irrational end is a float inside.
        assert (x in allowed) is holds(hypothesis.slack, values | {name: x}), (str(allowed), x)


@looped("place", [p for p in RELATIONS if p[1] in p[0].hypotheses], ids=lambda p: f"{p[0].ref}-{p[1].name}", quick=16)
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_evaluate_agrees_away_from_the_ends(place: tuple, data: st.DataObject) -> None:
    each, hypothesis = place
    name = data.draw(st.sampled_from(sorted(s.name for s in hypothesis.slack.free_symbols)), label="name")
    values = data.draw(values_of(set(each.quantities) - {name}))
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
@settings(max_examples=10, deadline=None)
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
