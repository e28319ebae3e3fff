"""Tightness where kinds of round come at fixed times: by hand, against one program over a period, and from below."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy

from fedtheory.claims.statement import Term
from fedtheory.papers import claim
from fedtheory.tightness.iterated_rounds import added, by_lines, least_added, problem
from fedtheory.tightness.matched_problem import comparison
from fedtheory.tightness.measure import tightness
from fedtheory.tightness.tightness_curves import curve
from fedtheory.worstcase.algorithm_plans import plan_of
from fedtheory.worstcase.worst import solved

REF = "fast.thm2@periodic"
ALIKE = {"smoothness": 1, "strong_convexity": 1}
"""Every F_i is then |x - b_i|^2 / 2 and a constant, and all is known by hand."""


@pytest.mark.parametrize("period", [2, 3])
def test_by_hand(period: int) -> None:
    """A cohort of 2 of 4 in snapshots, an adversary's 2 in the others. With a = (1 - eta)^K, B = (1 - a) zeta:

    E|x+|^2 = a^2 d^2 + B^2 (M - m)/(m (M - 1)) in snapshots, so that any tau_s >= a^2 will do, and (a d + B)^2 in the
    others, at most tau_a d^2 + B^2 tau_a/(tau_a - a^2): least with tau_a^(I-1) = tau^I/a^2.
    """
    K, eta, zeta = 3, 0.003, 0.2
    given = {**ALIKE, "local_steps": K, "local_lr": eta, "dissimilarity": zeta, "snapshot_period": period}
    found = tightness(REF, **given, rounds=period * 50)
    a, tau = (1 - eta) ** K, found.contraction
    B = (1 - a) * zeta
    other = (tau**period / a**2) ** (1 / (period - 1))
    height = B**2 / 3 * other ** (period - 1)
    height += B**2 * other / (other - a**2) * sum(other**j for j in range(period - 1))
    least = height * (1 - tau ** (period * 50)) / (1 - tau**period)
    assert least <= found.best_additive * (1 + 1e-6) and found.best_additive == pytest.approx(least, rel=1e-3)
    errors, error = {}, 1.0
    for r in range(11):
        error = a**2 * error + B**2 / 3 if r % period == 0 else (a * error**0.5 + B) ** 2
        errors[r + 1] = error
    assert [each.rounds for each in found.after[:2]] == [1, 10]
    for each in found.after[:2]:  # Jensen: the set's errors from a random start are no larger
        assert errors[each.rounds] * (1 - 1e-7) <= each.worst <= errors[each.rounds] * (1 + 1e-4)
        assert each.attained <= each.worst * (1 + 1e-9)
    assert found.after[0].worst == pytest.approx(a**2 + B**2 / 3, rel=1e-7)


@pytest.mark.parametrize("given", [{}, {"local_steps": 4, "dissimilarity": "1/10"}, {"snapshot_period": 4}])
def test_a_period_is_one_program_where_snapshots_are_of_everyone(given: dict) -> None:
    """Nothing is drawn then: what recursions by kinds of round add in a period is what all of it can add at most."""
    compared, found = comparison(claim(REF), given | {"cohort": 4}), tightness(REF, cohort=4, **given)
    period, tau = compared.period, found.contraction
    by_kinds = least_added(compared, tau, found.class_contraction, period)
    plan = plan_of(compared.algorithm, period, clients=4, arbitrary_cohort=2)
    whole = solved(problem(compared, plan, contraction=Fraction(tau**period)))
    assert by_kinds.status == whole.status == "solved"
    assert whole.value <= by_kinds.total * (1 + 1e-6) and by_kinds.total == pytest.approx(whole.value, rel=1e-4)
    one_factor = [solved(problem(compared, plan, contraction=Fraction(tau))).value for plan in compared.plans]
    assert added([tau, tau], one_factor, period, period) > 1.1 * whole.value


def test_what_is_proved_holds_and_what_is_smaller_does_not() -> None:
    found = tightness(REF)
    assert found.status == "solved" and not found.exceeded and not found.larger and 2 < found.looseness < 5
    for each in found.after:
        assert each.attained <= each.worst * (1 + 1e-6) and each.worst <= each.bound
    assert found.after[-1].worst < 1.02 * found.after[-1].attained
    shares = dict.fromkeys(("arbitrary_rounds", "heterogeneity"), sympy.Rational(1, 10))
    terms = tuple(Term(t.name, t.expression * shares.get(t.name, 1)) for t in claim(REF).terms)
    small = tightness(replace(claim(REF), edition="small", terms=terms), rounds=10**5)
    assert small.exceeded and small.refuted and small.looseness < 1


def test_snapshots_in_every_round_are_snapshots_with_probability_1() -> None:
    every, drawn = tightness(REF, snapshot_period=1), tightness("fast.thm2@sharper", snapshot_probability=1)
    assert every.best_additive == drawn.best_additive and every.after == drawn.after


def test_rarer_snapshots_are_worse() -> None:
    found = curve(claim(REF), {}, "snapshot_period")
    worst = [each.after[-1].worst for each in found.values()]
    assert [int(value) for value in found] == [1, 2, 3, 4, 6, 8] and worst == sorted(worst)


def test_squared_gradients_over_both_kinds_of_round() -> None:
    """Snapshots of everyone, an adversary's set in the other rounds: one program, between rounds of one kind alone. Of
    4 rounds the last one has no part in the mean over r = 0..3, so that periods 3 and 4 are the same."""
    two, three, four = (tightness("fast.thm1@periodic", snapshot_period=I, dissimilarity=1) for I in (2, 3, 4))
    assert {each.of for each in two.constants} == {"initial_gap", "dissimilarity", "gradient_noise"}
    assert two.after[0].worst * 1.01 < three.after[0].worst == pytest.approx(four.after[0].worst)
    assert two.constants[1].least * 1.5 < three.constants[1].least
    none = tightness("fast.thm1@sharper", snapshot_probability=0, dissimilarity=1)
    assert three.after[0].worst * 1.01 < none.after[0].worst
    assert three.constants[1].least * 1.5 < none.constants[1].least
    assert two.constants[2].least == pytest.approx(none.constants[2].least, rel=1e-3)  # where all take part


def test_iterating_lines_is_what_they_add() -> None:
    """Against one round after another; also beyond where errors repeat, in every place of a period."""
    rng = np.random.default_rng(0)
    for period in (1, 2, 3, 5):
        factors, heights = rng.uniform(0.2, 1.1, 2) ** 2, rng.uniform(0, 1, 2)
        factors, heights = factors[: min(period, 2)], heights[: min(period, 2)]
        lines = [[(factor, height)] for factor, height in zip(factors, heights, strict=True)]
        error, plain = 0.0, {}
        for r in range(400):
            kind = min(r % period, len(lines) - 1)
            error = factors[kind] * error + heights[kind]
            plain[r + 1] = error
        found, _ = by_lines(lines, list(plain), 0.0, period)
        for count in (1, 2, 3, 4, 5, 7, 30, 31, 397, 400):
            assert added(factors, heights, count, period) == pytest.approx(plain[count], rel=1e-10)
            assert found[count] == pytest.approx(plain[count], rel=1e-12)


def test_the_least_of_lines_is_that_of_one_round_after_another() -> None:
    """Slow paths up and down past where lines meet; some lines are almost the same, as solvers leave them, and kinds of
    round have more and fewer of them."""
    rng = np.random.default_rng(0)

    def lines_of_kind(trial: int) -> list[tuple[float, float]]:
        falls = np.sort(10 ** rng.uniform(-2.5, -0.5, int(rng.integers(1, 7)))).tolist()
        lines = [(1 - falls[0], falls[0] * 10)]
        for fall, meets in zip(falls[1:], np.sort(rng.uniform(0.1, 12, len(falls) - 1)).tolist(), strict=True):
            lines.append((1 - fall, lines[-1][1] + (fall - 1 + lines[-1][0]) * meets))
        for slope, height in lines[: trial % 3]:
            lines.append((slope * (1 + 10 ** rng.uniform(-17, -10)), height * (1 - 10 ** rng.uniform(-17, -10))))
        return lines

    for trial in range(80):
        period = (1, 1, 2, 3)[trial % 4]
        lines = [lines_of_kind(trial) for _ in range(min(period, 2))]
        rounds, start = sorted({int(r) for r in 10 ** rng.uniform(0, 4, 6)}), float(rng.choice([0.0, 1.0, 30.0]))
        path, entered = [start], [[start], [start]]
        for r in range(max(rounds)):
            kind = min(r % period, len(lines) - 1)
            entered[kind].append(path[-1])
            path.append(min(slope * path[-1] + height for slope, height in lines[kind]))
        errors, entering = by_lines(lines, rounds, start, period)
        assert errors == {r: path[r] for r in rounds}
        assert all(one in at[-period:] for one, at in zip(entering, entered, strict=False))  # errors repeat at the end
