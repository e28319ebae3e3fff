"""Whole counts: within floor and ceiling, within availability and budget, and right on average."""

from __future__ import annotations

import numpy as np
import pytest

from fedtheory.selection import offvar, rounded


def test_counts_of_a_plan_keep_availability_and_budget():
    rng = np.random.default_rng(0)
    a, k = rng.poisson([1, 3, 6, 2], (3000, 4)), rng.integers(0, 9, 3000)
    plan = offvar(a, k, [0.4, 0.3, 0.2, 0.1]).plan()
    counts = rounded(plan, seed=1)
    assert counts.dtype == np.int64
    assert ((counts >= 0) & (counts <= a)).all()
    assert (counts.sum(axis=1) <= k).all()
    assert (np.abs(counts - plan) < 1 + 1e-8).all()
    assert (counts != np.floor(plan)).any()
    # sums of 3,000 independent roundings, each of variance at most 1/4: 5 standard deviations
    assert (np.abs((counts - plan).sum(axis=0)) <= 5 * np.sqrt(3000 / 4)).all()


def test_whole_rates_stay_and_others_are_right_on_average():
    rates = np.tile([1.0, 0.3, 0.0, 2.7, 0.5], (40_000, 1))
    counts = rounded(rates, seed=2)
    assert (counts[:, [0, 2]] == [1, 0]).all()
    assert set(counts[:, 1]) == {0, 1}
    assert set(counts[:, 3]) == {2, 3}
    assert set(counts.sum(axis=1)) == {4, 5}
    assert np.abs(counts.mean(axis=0) - rates[0]).max() <= 5 * 0.5 / 200  # 5 standard errors
    assert (rounded(rates, seed=2) == counts).all()
    assert (rounded(rates, seed=3) != counts).any()


def test_rounding_noise_does_not_cost_the_budget():
    """Three thirds that sum to a little more than 1, with budget 1."""
    rates = np.full((1000, 3), 1 / 3 + 1e-12)
    assert rounded(rates, seed=0).sum(axis=1).max() == 1


def test_wrong_rates_are_refused():
    for rates in ([-0.5, 1], [np.nan], 3.0, [2.0**31]):
        with pytest.raises(ValueError, match="rates: allowed is an array"):
            rounded(rates, seed=0)


class Highest:
    """The largest draw that there is."""

    def integers(self, low, high, size):
        return np.full(size, high - 1)


def test_rates_are_cut_downwards(monkeypatch):
    """Three thirds are one client at most, whatever the draw: cut upwards, they would be two in one of 2^29 draws."""
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Highest())
    assert rounded([1 / 3, 1 / 3, 1 / 3], seed=0).sum() <= 1
    assert rounded(np.full((4, 7), 1 / 7), seed=0).sum(axis=1).max() <= 1


class Least:
    """The smallest draw that there is."""

    def integers(self, low, high, size):
        return np.full(size, low)


def test_a_rate_below_one_may_be_left_out_and_a_whole_one_may_not(monkeypatch):
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Least())
    assert rounded([1 - 2.0**-30, 1.0, 2.0**30 + 0.5], seed=0).tolist() == [0, 1, 2**30 + 1]
    assert rounded([1.0], seed=0).tolist() == [1]


def test_rates_are_multiples_of_two_to_the_minus_30(monkeypatch):
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Highest())
    assert rounded([2.0**-30], seed=0).tolist() == [1]
    assert rounded([2.0**-31], seed=0).tolist() == [0]


def test_sums_of_more_than_an_integer_has_bits_for_are_no_counts():
    most = 2**31 - 1
    assert rounded([float(most)] * 6, seed=0).tolist() == [most] * 6
