"""OffVar against full enumeration in exact arithmetic, a general solver, and its own certificate."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from fedtheory.selection import lower_bound, offvar, online, proxy
from fedtheory.selection.oracle import solve_offvar
from fedtheory.selection.sharing import block_level, chain_ranks


def rank(a, k, chosen):
    """f(A) = sum_t min(k(t), sum_{j in A} a_j(t)), exactly."""
    return sum(min(k[t], sum(a[t][j] for j in chosen)) for t in range(len(k)))


def exact_totals(a, k, p, least):
    """The optimum by the principal partition: the set with the lowest level of all sets, then the rest without it."""
    a = [[Fraction(int(v)) for v in row] for row in a]
    k, p = [Fraction(float(v)) for v in k], [Fraction(float(v)) for v in p]
    totals, done, left = dict.fromkeys(range(len(p)), Fraction(0)), (), [j for j in range(len(p)) if p[j] or least]
    while any(p[j] for j in left):
        sets = [c for n in range(1, len(left) + 1) for c in combinations(left, n) if any(p[j] for j in c)]
        levels = {c: exact_level(p, least, c, rank(a, k, done + c) - rank(a, k, done)) for c in sets}
        lowest = min(levels.values())
        tight = max((c for c in sets if levels[c] == lowest), key=len)
        for j in tight:
            totals[j] = max(least, p[j] * lowest)
        done += tight
        left = [j for j in left if j not in tight]
    for j in left:
        totals[j] = least
    return [totals[j] for j in range(len(p))]


def exact_level(p, least, chosen, total):
    """The largest level with sum over the chosen of max(least, p level) = total."""
    for above in range(1, len(chosen) + 1):
        first = sorted(chosen, key=lambda j: -p[j])[:above]
        if not all(p[j] for j in first):
            continue
        level = (total - least * (len(chosen) - above)) / sum(p[j] for j in first)
        rest = [j for j in chosen if j not in first]
        if all(p[j] * level <= least for j in rest):
            return max(level, least / max(p[j] for j in chosen))
    raise AssertionError


def feasible(a, k, p):
    return all(any(min(k[t], a[t][j]) > 0 for t in range(len(k))) for j in range(len(p)) if p[j] > 0)


def instances(seed, count, groups=5, rounds=6):
    """Small random instances with ties, absent groups, zero and fractional budgets, zero and far apart weights."""
    rng = np.random.default_rng(seed)
    while count:
        m, t = int(rng.integers(1, groups + 1)), int(rng.integers(1, rounds + 1))
        a = rng.integers(0, rng.integers(2, 6), (t, m)) * (rng.random((t, m)) < rng.uniform(0.3, 1))
        k = rng.integers(0, 9, t) / rng.choice([1, 2])
        kind = rng.integers(4)
        p = [np.ones(m), rng.dirichlet(np.ones(m)), 10.0 ** rng.uniform(-6, 0, m), rng.integers(0, 3, m) + 1e-9][kind]
        p = np.where(p < 1e-8, 0, p)
        if p.sum() == 0:
            continue
        p = p / p.sum()
        if feasible(a, k, p):
            count -= 1
            yield a, k, p


def check_plan(solution, a, k):
    plan = solution.plan()
    assert plan.shape == a.shape
    assert plan.min() >= -1e-9
    assert (plan <= a + 1e-9).all()
    assert (plan.sum(axis=1) <= np.asarray(k) + 1e-9).all()
    assert plan.sum(axis=0) == pytest.approx(solution.totals, rel=1e-9, abs=1e-12)


def check_against_enumeration(a, k, p, r_min=0.0):
    solution = offvar(a, k, p, r_min)
    exact = exact_totals(a, k, p, Fraction(r_min * len(k)))
    # ranks are exact and levels have a few roundings; 1e-10 leaves room for an early stop of the exchanges only
    assert solution.totals == pytest.approx([float(x) for x in exact], rel=1e-10, abs=1e-10)
    best = sum(Fraction(float(q)) ** 2 * len(k) / x for q, x in zip(p, exact, strict=True) if q)
    assert solution.objective == pytest.approx(float(best), rel=1e-10)
    assert abs(solution.gap) <= 1e-12
    check_plan(solution, a, k)
    assert [solution.level[b[0]] for b in solution.blocks] == sorted(solution.level[b[0]] for b in solution.blocks)
    return solution, float(best)


def test_thousand_small_instances_by_enumeration():
    split = 0
    for a, k, p in instances(1, 1000, groups=4):
        solution, _ = check_against_enumeration(a, k, p)
        split += len(solution.blocks) > 1
    assert split > 200  # the decomposition was needed


def test_more_groups_by_enumeration():
    for a, k, p in instances(2, 10, groups=8, rounds=12):
        check_against_enumeration(a, k, p)


def check_against_clarabel(seed, count):
    for a, k, p in instances(seed, count):
        p = np.where(p < 1e-3, 0, p)
        p = p / p.sum()
        plan, theirs = solve_offvar(a, k, p)
        # Clarabel stops at 1e-8 on its own scale; it reports up to 1.5e-7 too little and 1e-6 too much here
        assert offvar(a, k, p).objective == pytest.approx(theirs, rel=1e-5)
        assert offvar(a, k, p).objective <= theirs * (1 + 1e-6)
        assert plan.shape == a.shape


def test_no_worse_than_a_general_solver():
    check_against_clarabel(3, 25)


@pytest.mark.slow
def test_thousand_instances_no_worse_than_a_general_solver():
    check_against_clarabel(4, 1000)


def test_least_participation_by_enumeration():
    rng = np.random.default_rng(5)
    seen = {"inactive": 0, "binding": 0, "infeasible": 0}
    for a, k, p in instances(6, 600, groups=4):
        t, m = a.shape
        r_min = float(rng.choice([0.125, 0.25, 0.5, 1.0]))
        sets = [c for n in range(1, m + 1) for c in combinations(range(m), n)]
        if any(rank(a.tolist(), k.tolist(), c) < r_min * t * len(c) for c in sets):
            seen["infeasible"] += 1
            with pytest.raises(ValueError, match=r"r_min cannot be met: groups \[.*\] need .* in total and can get"):
                offvar(a, k, p, r_min)
            continue
        solution, _ = check_against_enumeration(a, k, p, r_min)
        assert solution.participation.min() >= r_min * (1 - 1e-15)
        unbound = offvar(a, k, p).participation
        seen["inactive" if unbound.min() >= r_min else "binding"] += 1
        if unbound.min() >= r_min:
            assert solution.participation == pytest.approx(unbound, rel=1e-12)
    assert min(seen.values()) > 40, seen


def test_least_participation_at_the_limit():
    a, k = [[2, 2], [2, 0], [2, 0]], [1, 1, 1]
    assert offvar(a, k, [1, 0], r_min=1 / 3).totals.tolist() == [2, 1]
    assert offvar(a, k, [0.9, 0.1], r_min=1 / 3).totals.tolist() == pytest.approx([2, 1])
    with pytest.raises(ValueError, match=r"groups \[1\] need 1.2 in total and can get 1 at most"):
        offvar(a, k, [0.9, 0.1], r_min=0.4)


def test_long_exchange_paths():
    """Group j shares rounds with group j + 1 only, so that what the last one lacks has to come through all others."""
    m = 9
    a = np.zeros((m - 1, m), dtype=int)
    for t in range(m - 1):
        a[t, t : t + 2] = 10
    for weight in (np.ones(m), np.arange(1, m + 1.0), np.arange(m, 0, -1.0), np.arange(m) % 2 + 1.0):
        check_against_enumeration(a, np.full(m - 1, 3), weight / weight.sum())


def test_rounds_that_ask_everyone_ask_everyone_exactly():
    rng = np.random.default_rng(12)
    a = rng.integers(0, 50, (3000, 7))
    assert (offvar(a, a.sum(axis=1), rng.dirichlet(np.ones(7))).plan() == a).all()


def test_twelve_decades_of_weights():
    weight = 10.0 ** -np.arange(0, 13, 3)
    weight /= weight.sum()
    a = np.random.default_rng(7).poisson(2, (8, 5))
    a[0] = 1
    check_against_enumeration(a, np.full(8, 3), weight)


def test_what_is_nothing_to_a_large_group_is_enough_for_a_scarce_one():
    """Group 1 gets its last 8e-8 from group 2, which has 10^6: without that the plan costs 1e-8 more."""
    a = [[0, 1, 0, 0, 10**4], [0, 10**5, 10, 0, 0], [0, 0, 10**5, 10**5, 0], [1, 0, 0, 1, 0], [1, 0, 10**6, 0, 0]]
    a, k = np.array([*a, [0, 10, 0, 10**6, 0]]), np.array([6e5, 0.06, 300, 7000, 4e6, 7])
    p = np.array([0.0139821, 0.9860155, 3.02e-8, 7.25e-8, 2.26e-6])
    p /= p.sum()
    solution, best = check_against_enumeration(a, k, p)
    # the plan sums rates between 1e-2 and 1e6; a rounding of the largest is 1e-16 of them, 1e-11 of group 1's
    assert proxy(solution.plan().mean(axis=0), p) == pytest.approx(best, rel=1e-11)


def test_certificate_at_scale():
    """20,000 rounds: the gap of the certificate closes, and the plan is feasible."""
    rng = np.random.default_rng(8)
    for mean in (rng.uniform(1, 30, 10), rng.uniform(0.1, 4, 10)):
        a, p = rng.poisson(mean, (20_000, 10)), rng.dirichlet(np.ones(10))
        k = rng.integers(0, 100, 20_000)
        solution = offvar(a, k, p)
        assert abs(solution.gap) <= 1e-13  # sums of 10^4 integers are exact; the rest is a few roundings
        assert len(solution.blocks) > 1
        check_plan(solution, a, k)
        recomputed = lower_bound(a, k, p, solution.price)
        assert recomputed == pytest.approx(solution.lower_bound, rel=1e-12)
        assert proxy(solution.plan().mean(axis=0), p) == pytest.approx(solution.objective, rel=1e-12)


def test_any_price_bounds_any_trajectory():
    rng = np.random.default_rng(9)
    for a, k, p in instances(10, 100):
        _, best = check_against_enumeration(a, k, p)
        for _ in range(5):
            price = rng.exponential(best, len(p)) * (rng.random(len(p)) < 0.8)
            assert lower_bound(a, k, p, price) <= best * (1 + 1e-12)
    a, k, p = np.array([[3, 3], [3, 0]]), [2, 2], [0.5, 0.5]
    with_least = lower_bound(a, k, p, [0.1, 0.9], r_min=0.9)
    # min over s >= 0.9 by hand: group 0 at s = 0.5 / sqrt(0.1), group 1 at its bound 0.9
    by_hand = 2 * 0.5 * 0.1**0.5 + 0.25 / 0.9 + 0.9 * 0.9 - (2 * 0.9 + 2 * 0.1) / 2
    assert with_least == pytest.approx(by_hand, rel=1e-14)


def test_bound_holds_for_the_policy():
    rng = np.random.default_rng(11)
    a, p = rng.poisson([1, 4, 9], (300, 3)), [0.5, 0.25, 0.25]
    reached = online(a, 6, p).objective()[-1]
    best = offvar(a, 6, p)
    assert best.lower_bound <= best.objective * (1 + 1e-14) <= reached * (1 + 1e-12)


def test_ranks_and_levels_by_hand():
    a, k = np.array([[3.0, 1.0], [2.0, 2.0]]), np.array([4.0, 2.0])
    assert chain_ranks(a, k, [[0], [1]]).tolist() == [4, 6]
    assert chain_ranks(a, k, [[1], [0]]).tolist() == [4, 6]
    assert block_level(np.array([1.0, 3.0]), np.array([0.0, 0.0]), 8.0) == 2
    assert block_level(np.array([1.0, 3.0]), np.array([5.0, 0.0]), 8.0) == 1
    assert block_level(np.array([1.0, 3.0]), np.array([2.0, 6.0]), 8.0) == 2  # both just at their least
    assert block_level(np.zeros(2), np.array([1.0, 1.0]), 2.0) == np.inf


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[1, -1]], 1, [0.5, 0.5]), r"availability\[0, 1\] = -1: allowed is a whole number >= 0"),
        (([[1, 1], [0.5, 1]], 1, [0.5, 0.5]), r"availability\[1, 0\] = 0.5: allowed is a whole number"),
        (
            ([[1, 2**60]], 1, [0.5, 0.5]),
            r"availability\[0, 1\] = 1152921504606846976: allowed is a whole number up to 9",
        ),
        (([[1, float("inf")]], 1, [0.5, 0.5]), r"availability\[0, 1\] = inf: allowed is a whole number"),
        (([[1, float("nan")]], 1, [0.5, 0.5]), r"availability\[0, 1\] = nan"),
        (([[1, None]], 1, [0.5, 0.5]), r"availability\[0, 1\] = nan"),
        (([1, 1], 1, [0.5, 0.5]), r"availability has shape \(2,\): allowed is \(rounds, groups\)"),
        (([["x", 1]], 1, [0.5, 0.5]), "availability has entries of type"),
        (([[1, 1]], -1, [0.5, 0.5]), r"budget\[0\] = -1.0: allowed is a finite number >= 0"),
        (([[1, 1]], [1, 1], [0.5, 0.5]), r"budget has shape \(2,\): allowed is one number or one a round, \(1,\)"),
        (([[1, 1]], [float("nan")], [0.5, 0.5]), r"budget\[0\] = nan"),
        (([[1, 1]], 1, [0.5, 0.6]), r"sums to 1.1: allowed is a sum of 1"),
        (([[1, 1]], 1, [1.5, -0.5]), r"group_weight\[1\] = -0.5"),
        (([[1, 1]], 1, [1.0]), r"group_weight has shape \(1,\): allowed is one number a group, \(2,\)"),
        (([[1, 0], [2, 0]], 1, [0.5, 0.5]), "group 1 has weight 0.5 but is never available .* objective is infinite"),
        (([[1, 0], [2, 3]], [1, 0], [0.5, 0.5]), "group 1 has weight 0.5 but is never available in a round with"),
        (([[1, 1]], 1, [0.5, 0.5], -1), "r_min = -1: allowed is a finite number >= 0"),
    ],
)
def test_wrong_input_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        offvar(*arguments)


def test_a_price_must_be_a_number_a_group():
    for price in ([0.1], [0.1, -1], [0.1, float("nan")]):
        with pytest.raises(ValueError, match=r"price = .*: allowed is one finite number >= 0 a group"):
            lower_bound([[1, 1]], 1, [0.5, 0.5], price)


@pytest.mark.parametrize("scale", [2.0**-520, 2.0**-900, 2.0**-1000])
def test_tiny_budgets_are_small_ones_in_other_units(scale):
    """Beyond the counts a budget is only a unit: all else follows exactly from a power of two of it."""
    rng = np.random.default_rng(3)
    a, k = rng.integers(0, 2, (40, 3)), rng.uniform(0, 1, 40)
    p = np.array([0.2, 0.3, 0.5])
    small, tiny = offvar(a, k, p, r_min=0.01), offvar(a, k * scale, p, r_min=0.01 * scale)
    assert (tiny.totals == small.totals * scale).all() and tiny.blocks == small.blocks
    assert tiny.objective * scale == pytest.approx(small.objective, rel=1e-14)
    assert tiny.lower_bound * scale == pytest.approx(small.lower_bound, rel=1e-14)
    assert abs(tiny.gap) <= 1e-12


def test_a_budget_in_one_round_may_be_tiny_alone():
    solution = offvar([[1, 0], [0, 1]], [1, 1e-200], [0.5, 0.5])
    assert solution.totals.tolist() == [1.0, 1e-200] and solution.price[1] == np.inf
    assert solution.objective == solution.lower_bound == pytest.approx(5e199)


def test_an_objective_beyond_all_floats_is_refused():
    with pytest.raises(ValueError, match="budget: the objective is above the largest number"):
        offvar([[1, 1]], 1e-309, [0.5, 0.5])
