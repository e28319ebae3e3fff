"""The online policy: every round solves Var, the compiled loop has the same bits, and the genie is never beaten."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module

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
from fedtheory.selection.online import COUNTS, UPDATES, OnlineRun, water_fill, within

policy = import_module("fedtheory.selection.online")  # the package has a function of that name

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


# One round in Python and the same round compiled -------------------------------------------------------------------


def both_ways(a, k, p, update="mean", start=0.0):
    """The rates by the plain loop, and by the compiled one."""
    pytest.importorskip("numba")
    plain = policy._plain_steps(a.T.astype(float), k, p, "planned", update, start, seed=0)
    compiled = policy._compiled_steps(a.T.astype(float), k, p, update, start)
    return tuple(np.concatenate([rates for rates, _ in steps]) for steps in (plain, compiled))


def same_bits(one, other):
    return one.shape == other.shape and one.tobytes() == other.tobytes()


@st.composite
def traces(draw):
    """Traces with rounds in which nobody is there, budgets of 0, whole or of any size, ties, and weights far apart."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    groups, rounds = draw(st.integers(1, 8)), draw(st.integers(1, 40))
    spread = draw(st.sampled_from([0, 0, 3, 9, 300]))  # 0: all weights are equal
    p = 10.0 ** -rng.uniform(0, spread, groups)
    most = draw(st.sampled_from([1, 4, 30, 2**53 // 8]))
    a = rng.integers(0, most + 1, (rounds, groups)) * (rng.random((rounds, groups)) < draw(st.sampled_from([0.3, 1])))
    kind = draw(st.sampled_from(["whole", "small", "any", "all there"]))
    k = {
        "whole": rng.integers(0, groups * most + 1, rounds).astype(float),
        "small": 10.0 ** rng.uniform(-12, 0, rounds),
        "any": rng.uniform(0, groups * most, rounds),
        "all there": a.sum(axis=1) * rng.choice([1.0, 1 - 2.0**-53, 0.5], rounds),
    }[kind]
    return a, k, p / p.sum()


@given(trace=traces(), update=st.sampled_from(UPDATES), start=st.sampled_from([0.0, 0.25, 3.7]))
@settings(max_examples=300, deadline=None)
def test_the_compiled_loop_has_the_bits_of_the_plain_one(trace, update, start):
    assert same_bits(*both_ways(*trace, update, start))


@pytest.mark.parametrize("update", UPDATES)
def test_the_compiled_loop_goes_on_from_chunk_to_chunk(update, monkeypatch):
    monkeypatch.setattr(policy, "_CHUNK", 7)
    a, k = trace(50, seed=5, mean=(0.3, 9, 2.1, 9))
    cut = both_ways(a, k, P, update, 0.5)
    monkeypatch.setattr(policy, "_CHUNK", 4096)
    assert same_bits(*cut) and same_bits(cut[0], both_ways(a, k, P, update, 0.5)[1])


@pytest.mark.parametrize("taking", [P, np.array([0.0, 0.3, 0.3, 0.4])])
def test_long_traces_run_compiled_and_without_numba_plainly(taking, monkeypatch):
    a, k = trace(300)
    plain = online(a, k, taking).rates
    with monkeypatch.context() as without:
        without.setattr(policy, "_LONG", 300)
        without.setattr(policy, "absent", lambda module: module == "numba")
        without.setattr(policy, "_compiled_steps", None)
        assert same_bits(online(a, k, taking).rates, plain)
    pytest.importorskip("numba")
    monkeypatch.setattr(policy, "_LONG", 300)
    monkeypatch.setattr(policy, "_plain_steps", None)
    assert same_bits(online(a, k, taking).rates, plain)


@given(
    terms=st.lists(st.floats(0, 2.0**53) | st.integers(-1080, 50).map(lambda e: 2.0**e), min_size=1, max_size=12),
    moved=st.integers(-3, 3), by=st.integers(-1074, -40),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_the_compiled_excess_is_the_exact_one_rounded_once(terms, moved, by):
    pytest.importorskip("numba")
    from fedtheory.loops.policy_rounds import excess

    k = math.fsum(terms)
    for budget in (k, abs(k + moved * math.ulp(k)), 2.0**by, 0.0):
        assert excess(np.array(terms), budget, np.empty(len(terms) + 1)) == math.fsum([*terms, -budget])


def test_halves_round_as_in_the_exact_sum():
    """1 + 2^-53 lies half-way: what follows decides, as `math.fsum` says."""
    pytest.importorskip("numba")
    from fedtheory.loops.policy_rounds import excess

    half, odd = 2.0**-53, 1 + 2.0**-52
    for terms in ([1.0, half], [1.0, half, 2.0**-200], [odd, half], [odd, half, 1e-300], [odd, half, 2.0**-60]):
        assert excess(np.array(terms), 0.0, np.empty(len(terms) + 1)) == math.fsum(terms)


def test_sums_are_added_from_left_to_right():
    """Python's ``sum`` is so up to 3.11, and compensated from 3.12 on."""
    assert policy._total([1.0, 1e100, 1.0, -1e100]) == 0.0


def test_two_ways_to_fill_agree():
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(6))
    lag = rng.normal(0, 3, (4000, 6)) * (rng.random((4000, 6)) < 0.6)
    a, k = rng.integers(0, 5, (4000, 6)).astype(float), rng.integers(0, 20, 4000).astype(float)
    lag[:, 0] -= rng.integers(0, 3, 4000) * 10.0  # far ahead: gets nothing, and the others may use the budget exactly
    shift = (lag / p).max(axis=1, keepdims=True) * p  # as histories b >= 0, for levels counted from another zero
    expected = var(np.maximum(shift - lag, 0), a, k, p).rates
    one_by_one = np.array([water_fill(p.tolist(), *row)[1] for row in zip(lag.tolist(), a.tolist(), k, strict=True)])
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
        (
            lambda: PoissonAvailability([-1]).trace(1, 0),
            r"mean = \[-1\]: allowed is one number from 0 to 9007199254740992 a group",
        ),
        (lambda: PoissonAvailability([1e30]).trace(1, 0), r"mean = \[1e\+30\]: allowed is one number"),
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


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("rounds", [1, 2, 4096, 9000])
def test_the_final_estimate_is_the_last_line_to_the_bit(update: str, rounds: int) -> None:
    """Sums are made chunk by chunk, of one group too."""
    for groups in (1, 3):
        counted = np.random.default_rng(rounds).random((rounds, groups))
        run = OnlineRun(counted, counted, np.full(groups, 1 / groups), update, 0.3)
        assert run.final_estimate().tolist() == run.estimate()[-1].tolist()
