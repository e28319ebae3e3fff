"""The online policy: every round solves Var, both ways to compute it agree, and the genie is never beaten."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.selection import (
    CyclicAvailability,
    PoissonAvailability,
    UniformAvailability,
    genie_gap,
    lower_bound,
    offvar,
    online,
    var,
)
from fedtheory.selection.online import COUNTS, UPDATES, water_fill, within
from fedtheory.selection.segments import advance, rises

P = np.array([0.1, 0.2, 0.3, 0.4])


def trace(rounds, seed=0, mean=(1.0, 2.0, 9.0, 3.0)):
    rng = np.random.default_rng(seed)
    return rng.poisson(mean, (rounds, len(mean))), rng.integers(0, 12, rounds).astype(float)


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("update", UPDATES)
def test_every_round_solves_var(counts, update):
    a, k = trace(200)
    run = online(a, k, P, counts=counts, update=update, start=0.25, seed=3)
    before = np.vstack([np.full(4, 0.25), run.estimate()[:-1]])
    history = np.arange(200)[:, None] * before  # (t - 1) s^(t - 1), display (6)
    expected = var(history, a, k, P)
    # the minimiser is unique here (all weights positive); a history of up to 10^3 is rounded in both computations
    assert np.abs(run.rates - expected.rates).max() <= 1e-11
    if counts == "planned":
        assert (run.counted == run.rates).all()
    else:
        assert (run.counted == np.round(run.counted)).all()
        assert ((run.counted >= 0) & (run.counted <= a)).all()


@pytest.mark.parametrize("update", UPDATES)
def test_the_estimate_moves_as_its_reading_says(update):
    a, k = trace(30)
    run = online(a, k, P, update=update, start=0.5)
    s = np.full(4, 0.5)
    for t in range(1, 31):
        divisor = {"mean": t, "printed": t - 1, "start_counts": t + 1}[update]
        if divisor:  # line 7 divides by zero in round 1
            s = s + (run.rates[t - 1] - s) / divisor
        assert run.estimate()[t - 1] == pytest.approx(s, rel=1e-12)


def test_received_counts_follow_the_rates():
    """Sums of 4,000 rounds of binomial counts against their plan: within 5 standard deviations, a chance of 2e-6."""
    a, k = trace(4000)
    run = online(a, k, P, counts="received", seed=1)
    chance = np.divide(run.rates, a, out=np.zeros_like(run.rates), where=a > 0)
    spread = np.sqrt((a * chance * (1 - chance)).sum(axis=0))
    assert (np.abs((run.counted - run.rates).sum(axis=0)) <= 5 * spread).all()
    assert np.abs(run.counted - run.rates).max() > 0.5
    assert (online(a, k, P, counts="received", seed=1).counted == run.counted).all()
    assert (online(a[:100], k[:100], P, counts="received", seed=1).counted == run.counted[:100]).all()


def loop(a, k, p):
    lag, rates = [0.0] * len(p), []
    for row, budget in zip(a.astype(float).tolist(), k.tolist(), strict=True):
        wanted, rate = water_fill(p.tolist(), lag, row, budget)
        lag = [w - r for w, r in zip(wanted, rate, strict=True)]
        rates.append(rate)
    return np.array(rates)


@pytest.mark.parametrize(
    "mean",
    [
        (20, 20, 20, 20),  # never short
        (0.3, 9, 9, 9),  # one group always short
        (0.58, 9, 9, 9),  # its shortage comes and goes: it wants 0.55 to 0.6
        (0.2, 0.3, 9, 2.1),  # several
        (0.2, 0.3, 0.4, 0.5),  # the budget is often ample
    ],
)
def test_segments_equal_the_loop(mean):
    a, k = trace(2500, seed=5, mean=mean)
    expected = loop(a, k, P)
    rates, right, _ = advance(a.astype(float), k, P, length=50)
    assert right == 2500
    assert np.abs(rates - expected).max() <= 1e-9
    assert np.abs(online(a, k, P).rates - expected).max() <= 1e-9


def test_segments_of_far_apart_weights_equal_the_loop():
    """A group of tiny weight that is often alone drives all others far behind: lags of 10^12, and still no guess."""
    a, k = trace(2500, seed=7, mean=(3, 1, 1, 2))
    p = np.array([1e-9, 0.2, 0.3, 0.5 - 1e-9])
    furthest = loop(a, k, p)[:, 0].sum() / p[0]  # what group 0 has, over its weight, is a level of all
    got, right, _ = advance(a.astype(float), k, p, length=50)
    assert right == 2500
    # a lag of that size is rounded by 1e-16 of it in every round, in both computations; errors do not grow
    assert np.abs(got - loop(a, k, p)).max() <= 1e-15 * furthest


def test_segments_of_small_budgets_equal_the_loop():
    """All lags are below 10^-5: what counts as agreement must be far smaller."""
    a = (np.random.default_rng(8).random((2500, 4)) < [0.05, 0.3, 0.9, 0.9]).astype(float)
    k = np.random.default_rng(9).uniform(0, 1e-7, 2500)
    # 50 starts agree within 1e-11, and changes of a start do not grow
    assert np.abs(advance(a, k, P, length=50)[0] - loop(a, k, P)).max() <= 5e-10


def test_what_does_not_agree_is_left_to_the_loop(monkeypatch):
    monkeypatch.setattr("fedtheory.selection.segments.RUNS", 1)
    a, k = trace(2500, seed=5, mean=(0.3, 9, 9, 9))
    _, right, _ = advance(a.astype(float), k, P, length=50)
    assert 0 < right < 2500
    assert np.abs(online(a, k, P).rates - loop(a, k, P)).max() <= 1e-9


def test_three_ways_to_fill_agree():
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(6))
    lag = rng.normal(0, 3, (4000, 6)) * (rng.random((4000, 6)) < 0.6)
    a, k = rng.integers(0, 5, (4000, 6)).astype(float), rng.integers(0, 20, 4000).astype(float)
    lag[:, 0] -= rng.integers(0, 3, 4000) * 10.0  # far ahead: gets nothing, and the others may use the budget exactly
    shift = (lag / p).max(axis=1, keepdims=True) * p  # as histories b >= 0, for levels counted from another zero
    expected = var(np.maximum(shift - lag, 0), a, k, p).rates
    rise = rises(p, lag, a, k)
    at_once = np.where(np.isinf(rise)[:, None], a, np.clip(p * np.where(np.isinf(rise), 0, rise)[:, None] + lag, 0, a))
    one_by_one = np.array([water_fill(p.tolist(), *row)[1] for row in zip(lag.tolist(), a.tolist(), k, strict=True)])
    assert np.abs(at_once - expected).max() <= 1e-11
    assert np.abs(one_by_one - expected).max() <= 1e-11


def test_zero_weight_groups_are_not_asked():
    a, k = trace(50)
    run = online(a, k, [0, 0.2, 0.3, 0.5])
    assert run.rates[:, 0].max() == 0
    assert (run.rates[:, 1:] == online(a[:, 1:], k, [0.2, 0.3, 0.5]).rates).all()


@pytest.mark.parametrize(
    "process",
    [
        UniformAvailability([0, 2, 5, 1], [3, 9, 9, 4]),
        PoissonAvailability([0.5, 3, 6, 4]),
        CyclicAvailability(day=[1, 6, 6, 6], night=[0, 1, 2, 8]),
    ],
)
def test_the_gap_to_the_genie_closes(process):
    a = process.trace(rounds=20_000, seed=2)
    run = online(a, 6, P)
    compared = genie_gap(run, a, 6, [50, 500, 20_000])
    assert (compared.gap >= -1e-12 * compared.genie).all()  # nothing beats the best in hindsight
    assert (compared.bound <= compared.genie * (1 + 1e-12)).all()
    assert compared.gap[-1] <= 1e-3 * compared.genie[-1]
    s, best = run.estimate()[499], offvar(a[:500], 6, P)
    assert compared.genie[1] == best.objective
    assert compared.online[1] == pytest.approx((P**2 / s).sum(), rel=1e-14)
    assert compared.bound[1] == lower_bound(a[:500], 6, P, (P / s) ** 2)


def test_the_processes_are_what_they_say():
    """Means of 20,000 draws within 5 standard errors."""
    uniform = UniformAvailability([0, 3], [2, 3]).trace(20_000, 0)
    assert set(uniform[:, 0]) == {0, 1, 2}
    assert set(uniform[:, 1]) == {3}
    assert abs(uniform[:, 0].mean() - 1) < 5 * (2 / 3 / 20_000) ** 0.5
    poisson = PoissonAvailability([4]).trace(20_000, 0)
    assert abs(poisson.mean() - 4) < 5 * (4 / 20_000) ** 0.5
    assert abs(poisson.var() - 4) < 5 * ((2 * 16 + 4) / 20_000) ** 0.5
    cyclic = CyclicAvailability([9], [1]).trace(20_000, 0)[:, 0]
    assert abs(cyclic[1::2].mean() - 9) < 5 * (9 / 10_000) ** 0.5  # rounds 2, 4, ... are days
    assert abs(cyclic[::2].mean() - 1) < 5 * (1 / 10_000) ** 0.5
    for process in (
        PoissonAvailability([4, 2]),
        CyclicAvailability([9, 0], [1, 1]),
        UniformAvailability([0, 0], [5, 5]),
    ):
        assert (process.trace(50, 1) == process.trace(80, 1)[:50]).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: online([[1, 1]], 1, [0.5, 0.5], counts="sent"),
            "counts = 'sent': allowed is one of planned",
        ),
        (lambda: online([[1, 1]], 1, [0.5, 0.5], update="t"), "update = 't': allowed is one of mean, printed, start_"),
        (lambda: online([[1, 1]], 1, [0.5, 0.5], start=-1), "start = -1: allowed is a finite number >= 0"),
        (lambda: online([[1, 1.5]], 1, [0.5, 0.5]), r"availability\[0, 1\] = 1.5"),
        (lambda: genie_gap(online([[1, 1]], 1, [0.5, 0.5]), [[1, 1]], 1, [2]), r"rounds = \[2\]: allowed are 1 to 1"),
        (
            lambda: genie_gap(online([[1, 0], [1, 1]], 1, [0.5, 0.5]), [[1, 0], [1, 1]], 1, [1]),
            "rounds = 1: by then group 1 has nothing",
        ),
        (lambda: UniformAvailability([3], [2]).trace(1, 0), r"lowest = \[3\], highest = \[2\]"),
        (lambda: UniformAvailability([0.5], [2]).trace(1, 0), "whole numbers"),
        (lambda: PoissonAvailability([-1]).trace(1, 0), r"mean = \[-1\]: allowed is one finite number >= 0 a group"),
        (lambda: PoissonAvailability([1]).trace(0, 0), "rounds = 0: allowed is a whole number >= 1"),
        (lambda: CyclicAvailability([1], [1, 2]).trace(1, 0), "day has 1 groups, night 2"),
    ],
)
def test_wrong_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def excess(run, k):
    """By round: the exact sum of the rates minus the budget."""
    return [sum(map(Fraction, row)) - Fraction(most) for row, most in zip(run.rates.tolist(), k, strict=True)]


def test_a_round_of_far_apart_weights_stays_within_its_budget():
    a, k = [[0, 3, 1], [1, 1, 4]], [1.0073077935793557, 0.0034093545909275554]
    run = online(a, k, [0.9999999786030909, 1.816232246246242e-08, 3.234586761593838e-09])
    assert max(excess(run, k)) <= 0
    assert run.rates[1] == pytest.approx([k[1], 0, 0], abs=1e-8)


@given(
    logarithms=st.lists(st.floats(-9, 0), min_size=2, max_size=5), seed=st.integers(0, 10**6),
    update=st.sampled_from(UPDATES), rounds=st.sampled_from([3, 12, 2100]), least=st.floats(-6, 0),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_no_round_exceeds_its_budget_whatever_the_weights(logarithms, seed, update, rounds, least):
    rng = np.random.default_rng(seed)
    p = 10.0 ** np.array(logarithms)
    p /= p.sum()
    a = rng.integers(0, 5, (rounds, len(p)))
    k = 10.0 ** rng.uniform(least, 1, rounds)
    run = online(a, k, p, update=update)
    assert max(excess(run, k)) <= 0
    assert (run.rates >= 0).all() and (run.rates <= a).all()
    # All of a budget is used, but for what the largest lag rounds.
    most = np.minimum(k, a.sum(axis=1))
    history = run.counted.sum(axis=0).max() / p.min()
    assert (most - run.rates.sum(axis=1)).max() <= 1e-14 * (1 + history) * len(p)


def test_rates_are_lowered_by_what_exceeds_the_budget_alone():
    assert within([0.25, 0.5, 0.125], 1.0) == [0.25, 0.5, 0.125]
    assert within([0.25, 0.5, 0.125], 0.75) == [0.25, 0.375, 0.125]
    assert sum(within([1.0, 1.0], 0.5)) <= 0.5
    assert within([0.5, 2.0**-60], 0.5) == [0.5 - 2.0**-54, 2.0**-60]


@pytest.mark.parametrize("seed", [1.7, "1", None, -1, 2**63])
def test_a_seed_is_a_whole_number(seed):
    for call in (
        lambda: online([[1]], 1, [1.0], counts="received", seed=seed),
        lambda: PoissonAvailability([1.0]).trace(2, seed=seed),
    ):
        with pytest.raises(ValueError, match=r"seed = .*: allowed is an integer from 0 to 2"):
            call()
