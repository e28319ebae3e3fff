"""What the proof of Theorem 2's limit says of the policy, in numbers: random states, rates by water-filling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fedtheory.selection.online import genie_gap, online, water_fill

WEIGHT = np.array([0.2, 0.3, 0.5])
STATES = (([2, 1, 0], 1.5), ([0, 3, 1], 2.0), ([1, 1, 0], 0.8), ([0, 1, 1], 2.5))
MOST = 3
"""Clients of a group that are there."""


def _value(s: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return (WEIGHT**2 / s).sum(axis=-1)


@pytest.fixture(scope="module")
def best() -> tuple[np.ndarray, np.ndarray]:
    """r*(c), (states, groups), and s* for states that are equally frequent: the policy where they take turns."""
    counts, budgets = map(np.array, zip(*STATES, strict=True))
    rates = online(np.tile(counts, (5000, 1)), np.tile(budgets, 5000), WEIGHT).rates
    found = rates[-4000:].reshape(-1, 4, 3).mean(axis=0)
    return found, found.mean(axis=0)


def _drawn(seed: int, rounds: int) -> np.ndarray:
    """A Markov chain on the states, in which each is as frequent as the others."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.integers(0, 4, rounds) * (rng.random(rounds) < 0.5)) % 4


def _along(path: np.ndarray) -> np.ndarray:
    """(rounds, groups), s^(t)."""
    counts, budgets = map(np.array, zip(*STATES, strict=True))
    return online(counts[path], budgets[path], WEIGHT).estimate()


Row = tuple[int, np.ndarray, np.ndarray, np.ndarray]


def _rounds(path: np.ndarray, rates: np.ndarray) -> Iterator[Row]:
    """t, s^(t-1), s^(t) and r*(state), from the round on in which every group has taken part."""
    s = _along(path)
    for t in range(2, len(path) + 1):
        if s[t - 2].min() > 0:
            yield t, s[t - 2], s[t - 1], rates[path[t - 1]]


@pytest.mark.parametrize("seed", [0, 1])
def test_no_round_is_worse_than_the_tangent_at_the_best_plan(seed: int, best: tuple) -> None:
    rows = list(_rounds(_drawn(seed, 1500), best[0]))
    assert len(rows) > 1400
    for t, before, after, rates in rows:
        m = before.min()
        bound = _value(before) - ((WEIGHT / before) ** 2 * (rates - before)).sum() / t
        assert _value(after) <= bound + (2 * WEIGHT**2 * MOST**2 / (t**2 * m**3)).sum() + 1e-12
        sums = (WEIGHT**2 / (t * after)).sum() - (WEIGHT**2 / ((t - 1) * before)).sum()
        assert sums <= -(WEIGHT**2 * rates / (t * after + MOST) ** 2).sum() + 1e-9


def test_a_worse_policy_breaks_the_tangent(best: tuple) -> None:
    """Rates that are allowed, and do not minimise: all of the budget to the first groups."""
    counts, budgets = map(np.array, zip(*STATES, strict=True))
    path, s, broken = _drawn(0, 1500), np.full(3, 0.5), 0
    for t in range(2, 1501):
        left, rates = budgets[path[t - 1]], np.zeros(3)
        for j in range(3):
            rates[j] = min(counts[path[t - 1]][j], left)
            left -= rates[j]
        after, r = s + (rates - s) / t, best[0][path[t - 1]]
        bound = _value(s) - ((WEIGHT / s) ** 2 * (r - s)).sum() / t
        broken += _value(after) > bound + (2 * WEIGHT**2 * MOST**2 / (t**2 * s.min() ** 3)).sum()
        s = after
    assert broken > 50


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_policys_objective_goes_to_the_best_one(seed: int, best: tuple) -> None:
    """Both go to f(s*), their distance below 10^-4; f stays below its bound."""
    path = _drawn(seed, 60_000)
    counts, budgets = map(np.array, zip(*STATES, strict=True))
    run = online(counts[path], budgets[path], WEIGHT)
    found = genie_gap(run, counts[path], budgets[path], [300, 3000, 30_000])
    assert found.gap[0] > 0 and (found.gap + 1e-9 >= 0).all()
    assert found.gap[-1] < min(found.gap[0], 1e-4)
    assert abs(run.objective()[-1] - _value(best[1])) < 0.03
    assert run.objective()[500:].max() < 2 * 16 / best[1].min()


def test_who_is_there_for_the_first_time_takes_part() -> None:
    """Also where another group, which has not taken part, is absent and (5) is infinite."""
    _, rates = water_fill([0.5, 0.5], [0.0, 0.0], [1.0, 0.0], 0.5)
    assert rates == [0.5, 0.0]
    counts = np.array([[1, 0], [0, 1]] * 500)
    s = online(counts, 1.0, [0.5, 0.5]).estimate()
    assert s[1].min() > 0 and s[-1] == pytest.approx([0.5, 0.5])
