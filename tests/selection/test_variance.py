"""Var against exact arithmetic, its optimality conditions, and a general solver."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from fedtheory.selection import var
from fedtheory.selection.oracle import solve_var


def exact_rates(history, availability, budget, weight):
    """Water-filling in Fractions: try every pair of neighbouring kinks."""
    b, a, p = ([Fraction(float(v)) for v in values] for values in (history, availability, weight))
    k = Fraction(float(budget))

    def rates(level):
        return [min(max(q * level - c, 0), d) if q else Fraction(0) for q, c, d in zip(p, b, a, strict=True)]

    if sum(d for q, d in zip(p, a, strict=True) if q) <= k:
        return [d if q else Fraction(0) for q, d in zip(p, a, strict=True)]
    kinks = sorted({c / q for q, c in zip(p, b, strict=True) if q})
    kinks = sorted({*kinks, *((c + d) / q for q, c, d in zip(p, b, a, strict=True) if q)})
    for left, right in pairwise(kinks):
        low, high = sum(rates(left)), sum(rates(right))
        if low <= k <= high and low < high:
            return rates(left + (right - left) * (k - low) / (high - low))
    raise AssertionError("the budget lies between no two kinks")


def random_batch(rng, size, groups):
    """Instances of every kind: empty histories, absent groups, zero weights, twelve decades, no and ample budgets."""
    weight = 10.0 ** rng.uniform(-12, 0, (size, groups))
    weight[rng.random((size, groups)) < 0.1] = 0
    weight[: size // 2] = rng.dirichlet(np.ones(groups), size // 2)
    weight[:, 0] += 1e-3
    weight /= weight.sum(axis=1, keepdims=True)
    history = np.where(rng.random((size, groups)) < 0.5, 0, 10.0 ** rng.uniform(-3, 6, (size, groups)))
    history[::7] = 0
    availability = rng.poisson(4, (size, groups)) * (rng.random((size, groups)) < 0.8)
    budget = rng.choice([0, 0.5, 1, 7.25, 20, 1000], size)
    budget[::11] = availability[::11].sum(axis=1)
    return history, availability, budget, weight


def test_equals_exact_arithmetic():
    rng = np.random.default_rng(1)
    batch = random_batch(rng, 400, 4)
    solution = var(*batch)
    for row, (b, a, k, p) in enumerate(zip(*batch, strict=True)):
        exact = np.array([float(r) for r in exact_rates(b, a, k, p)])
        # a rate is p nu - b: it can be no better than the rounding of b, which is up to 10^6
        assert np.abs(solution.rates[row] - exact).max() <= 1e-15 * (b.max() + k) * 8


def test_small_rates_keep_their_digits():
    """A weight of 10^-12 beside 1: a running sum over kinks would leave the small rate no correct digit."""
    weight = np.array([1.0, 1e-6, 1e-12])
    weight /= weight.sum()
    solution = var([0, 0, 0], [10, 10, 10], 5, weight)
    exact = exact_rates([0, 0, 0], [10, 10, 10], 5, weight)
    assert solution.rates == pytest.approx([float(r) for r in exact], rel=1e-14)
    late = var([0, 0, 0], [1, 1, 10], 2 + 2e-6, weight)  # only the smallest weight is left to take the rest
    assert late.rates[:2].tolist() == [1, 1]
    assert late.rates[2] == pytest.approx(2e-6, rel=1e-9)  # 2 + 2e-6 itself is good to 1e-10 of 2e-6


def test_optimality_conditions_on_many_instances():
    """1e5 instances: bounds, budget, and no exchange between two groups, nor more use of the budget, would help."""
    rng = np.random.default_rng(2)
    history, availability, budget, weight = random_batch(rng, 100_000, 10)
    solution = var(history, availability, budget, weight)
    r = solution.rates
    assert r.min() >= 0
    assert (r <= availability).all()
    assert (r.sum(axis=1) <= budget * (1 + 1e-14)).all()  # ten additions
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(weight > 0, (history + r) / weight, np.inf)
    gives = np.where(r > 0, level, -np.inf).max(axis=1)  # helps least there, so it would be taken from there
    takes = np.where((r < availability) & (weight > 0), level, np.inf).min(axis=1)
    assert (gives <= takes * (1 + 1e-13)).all()  # level = (b + r) / p with a relative error of a few roundings
    hungry = ((r < availability) & (weight > 0)).any(axis=1)
    assert (r.sum(axis=1)[hungry] >= budget[hungry] * (1 - 1e-14)).all()
    assert solution.residual.max() <= 1e-13


@pytest.mark.parametrize(
    "change",
    [
        lambda s: {"rates": s.rates * 1.001},
        lambda s: {"rates": s.rates * 0.999},
        lambda s: {"rates": np.add(s.rates, [0.001, -0.001, 0])},
        lambda s: {"rates": np.add(s.rates, [0, 0.001, -0.001])},
        lambda s: {"level": s.level * 1.001},
        lambda s: {"level": s.level * np.inf},
    ],
)
def test_residual_sees_a_wrong_answer(change):
    solution = var([1, 0, 2], [3, 3, 3], 4, [0.3, 0.3, 0.4])
    assert solution.residual < 1e-15
    assert dataclasses.replace(solution, **change(solution)).residual > 1e-5


def test_residual_sees_a_price_on_a_budget_that_is_not_used():
    solution = var([0, 0], [1, 1], 4, [0.5, 0.5])
    assert solution.residual == 0
    assert dataclasses.replace(solution, level=np.array(100.0)).residual == 0.5  # 2 of 4 unused


def test_no_better_and_no_worse_than_a_general_solver():
    rng = np.random.default_rng(3)
    for _ in range(30):
        history, availability = rng.uniform(0.5, 5, 6), rng.poisson(3, 6)
        budget, weight = rng.uniform(0.5, 20), rng.dirichlet(np.ones(6))
        ours = var(history, availability, budget, weight).objective
        _, theirs = solve_var(history, availability, budget, weight)
        assert ours == pytest.approx(theirs, rel=1e-6)  # Clarabel's default tolerance is 1e-8 on its own scale
        assert ours <= theirs * (1 + 1e-7)


def test_the_general_solver_leaves_out_groups_of_no_weight():
    rates, objective = solve_var([0, 1], [0, 3], 2, [0, 1])
    assert rates == pytest.approx([0, 2], abs=1e-6)
    assert objective == pytest.approx(1 / 3, rel=1e-6)


def test_limits():
    free = var([0, 1, 2], [1, 2, 3], 6, [0.2, 0.3, 0.5])
    assert free.rates.tolist() == [1, 2, 3]
    assert free.level == np.inf
    assert free.multiplier == 0
    nothing = var([0, 1, 2], [1, 2, 3], 0, [0.2, 0.3, 0.5])
    assert nothing.rates.tolist() == [0, 0, 0]
    assert nothing.residual == 0
    assert nothing.objective == np.inf
    absent = var([0, 0], [0, 4], 3, [0.5, 0.5])
    assert absent.rates.tolist() == [0, 3]
    unwanted = var([0, 0], [4, 4], 5, [0, 1])
    assert unwanted.rates.tolist() == [0, 4]
    first = var([0, 0], [9, 9], 4, [0.25, 0.75])
    assert first.rates.tolist() == [1, 3]
    assert float(first.multiplier) == 1 / 16  # -d/dr of p^2/r at p = 1/4, r = 1
    assert first.objective == 0.0625 + 0.1875


def test_batches_broadcast():
    one = var([0, 0], [9, 9], 4, [0.25, 0.75])
    many = var(np.zeros((2, 3, 2)), [9, 9], np.full((2, 3), 4), [0.25, 0.75])
    assert many.rates.shape == (2, 3, 2)
    assert many.level.shape == (2, 3)
    assert (many.rates == one.rates).all()
    long = var(np.zeros((20_000, 2)), [9, 9], 4, [0.25, 0.75])  # more than one chunk
    assert (long.rates == one.rates).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([-1, 0], [1, 1], 1, [0.5, 0.5]), "history has an entry -1.0: allowed are finite numbers >= 0"),
        (([0, 0], [1, np.nan], 1, [0.5, 0.5]), "availability has an entry nan"),
        (([0, 0], [1, 1], -2, [0.5, 0.5]), "budget has an entry -2.0"),
        (([0, 0], [1, 1], np.inf, [0.5, 0.5]), "budget has an entry inf"),
        (([0, 0], [1, 1], 1, [0.5, 0.4]), "group_weight sums to 0.9: allowed is a sum of 1"),
        (([0, 0, 0], [1, 1], 1, [0.5, 0.5]), "do not broadcast"),
        ((["a", 0], [1, 1], 1, [0.5, 0.5]), "history = "),
    ],
)
def test_wrong_input_is_named(arguments, words):
    with pytest.raises(ValueError, match="^.*" + words.replace("[", r"\[").replace(".", r"\.")):
        var(*arguments)


def test_the_worst_sum_of_weights_is_named():
    weights = [[0.5, 0.5], [0.9, 0.9], [0.0, 0.125]]
    with pytest.raises(ValueError, match=r"group_weight sums to 0\.125: allowed is a sum of 1"):
        var(np.zeros((3, 2)), np.ones((3, 2)), np.ones(3), weights)
