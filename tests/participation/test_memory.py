"""What rounds have to do with each other: laws of whole histories, and FedAU's published parameters.

Statistical tests run at a fixed seed and at level 1e-6 each, by Pearson's chi-square or a normal bound.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fedtheory.participation import Bernoulli, Cyclic, Incomplete, Keys, Markov, RandomPatterns, Uniform, history
from fedtheory.participation.markov import _look_back
from fedtheory.randomness import Axis
from fedtheory.weights import CutoffGeometric

LEVEL = 1e-6


def path_law(process: Markov, client: int, rounds: int) -> dict[tuple[int, ...], Fraction]:
    """Products of transition probabilities."""
    p, transitions = process.probabilities[client], process.transitions(len(process.probabilities))[client]
    law = {}
    for path in product((0, 1), repeat=rounds):
        chance = p if path[0] else 1 - p
        for before, after in pairwise(path):
            chance *= transitions[before][after]
        law[path] = chance
    return law


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """The p-value; cells expected less than 10 times are pooled, and left out where there are hardly any."""
    large = expected >= 10
    observed, expected = (np.append(v[large], v[~large].sum()) for v in (observed, expected))
    assert (observed[expected == 0] == 0).all()
    kept = expected >= 5
    return float(chi2.sf(((observed - expected)[kept] ** 2 / expected[kept]).sum(), max(kept.sum() - 1, 1)))


CHAINS = {
    "sticky": Markov(["1/2"], ["1/8"]),
    "leaves at once": Markov(["1/50"], ["1/49"]),
    "restless": Markov(["1/2"], ["9/10"]),
    "restless, uneven": Markov(["2/5"], ["3/5"]),
    "alternating": Markov(["1/2"], [1]),
    "memoryless": Markov(["1/3"], ["1/3"]),
    "often": Markov(["9/10"], ["1/20"]),
}
every_chain = pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())


@every_chain
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "look back"])
def test_markov_histories_have_the_law_of_the_chain(chain, forward):
    rounds, replicas = 5, 20_000
    if forward:
        seen = history(chain, 1, rounds, replicas)[:, :, 0].T.numpy()
    else:
        state = chain.init(Keys(0, Axis.ARBITRARY, torch.arange(replicas), 1))
        seen = np.stack([_look_back(state, r)[:, 0].numpy() for r in range(rounds)], axis=1).astype(int)
    law = path_law(chain, 0, rounds)
    paths, counts = np.unique(seen, axis=0, return_counts=True)
    found = {tuple(path.tolist()): count for path, count in zip(paths, counts, strict=True)}
    observed = np.array([found.get(path, 0) for path in law])
    assert observed.sum() == replicas
    assert chi_square(observed, replicas * np.array(list(law.values())).astype(float)) > LEVEL


@every_chain
def test_markov_twice_is_the_sum_over_paths(chain):
    for lag in range(5):
        law = path_law(chain, 0, lag + 1)
        assert chain.twice(1, lag)[0] == sum(p for path, p in law.items() if path[0] == path[-1] == 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.fractions(0, 1, max_denominator=50), min_size=1, max_size=6), st.data())
def test_markov_rounds_are_the_same_however_they_are_reached(seed, p, data):
    shares = data.draw(st.lists(st.fractions("1/20", 1, max_denominator=20), min_size=len(p), max_size=len(p)))
    entries = [s * (min(Fraction(1), p_i / (1 - p_i)) if p_i < 1 else 1) for s, p_i in zip(shares, p, strict=True)]
    chain = Markov(p, entries)
    forward = history(chain, len(p), 40, replicas=3, seed=seed)
    fresh = chain.init(Keys(seed, Axis.ARBITRARY, torch.arange(3), len(p)))
    for r in (39, 0, 17, 1):
        counts, resumed = chain.step(fresh, r)
        assert torch.equal(counts, forward[r])
        if r < 39:
            assert torch.equal(chain.step(resumed, r + 1)[0], forward[r + 1])


def test_a_far_round_takes_a_short_look_back(monkeypatch):
    """Forced states are found after about log(clients) / 0.1 rounds, not after a million."""
    from fedtheory.participation import markov

    calls, real = [], markov.client_uniforms
    monkeypatch.setattr(markov, "client_uniforms", lambda *a: calls.append(a) or real(*a))
    chain = Markov.with_largest_entry(["1/2"] * 50)
    counts, _ = chain.step(chain.init(Keys(0, Axis.ARBITRARY, torch.arange(20), 50)), 10**6)
    # A scan of k rounds misses one of 1000 chains with chance at most 1000 * 0.9^k: below 1e-6 for k = 200.
    assert 1 < len(calls) < 200
    # 1000 fair coins: 5 standard deviations are 79.
    assert abs(int(counts.sum()) - 500) < 79


def test_fedau_chains():
    """Stationary law kept, entries at most 0.05, and as large as a chain allows."""
    p = [Fraction(k, 100) for k in range(101)]
    chain = Markov.with_largest_entry(p)
    assert max(chain.entries) == Fraction(1, 20)
    for p_i, entry, leave in zip(p, chain.entries, chain.exits, strict=True):
        assert (1 - p_i) * entry == p_i * leave  # as many enter as leave
        assert 0 <= entry <= Fraction(1, 20) and 0 <= leave <= 1
        assert entry == Fraction(1, 20) or leave == 1
    common = Markov.with_largest_entry(p, reading="common")
    assert {e + l for e, l in zip(common.entries, common.exits, strict=True) if e > 0} == {Fraction(1, 20)}
    assert max(common.entries) == Fraction(1, 20)
    rare = Markov.with_largest_entry(["1/50", "1/100"], reading="common")  # no chain could have the largest entry
    assert rare.entries == rare.probabilities
    rows = chain.transitions(101).sum(axis=2)
    assert (rows == 1).all()


def test_markov_observed_transitions_and_autocorrelation():
    chain = Markov.with_largest_entry([0.5, "1/50", 0.9, 0, 1])
    seen = history(chain, 5, rounds=400, replicas=200, seed=1).double()
    off, on = seen[:-1] == 0, seen[:-1] == 1
    for i in range(3):
        for before, chance in ((off, chain.entries[i]), (on, 1 - chain.exits[i])):
            tries = int(before[:, :, i].sum())
            hits = int(seen[1:, :, i][before[:, :, i]].sum())
            chance = float(chance)
            # Martingale sums, close to normal: 5 standard deviations.
            assert abs(hits - tries * chance) <= 5 * np.sqrt(tries * chance * (1 - chance)) + 1e-9
    for lag in (1, 3, 10):
        together = (seen[0] * seen[lag]).mean(0).numpy()  # one pair a replica: independent samples
        expected = chain.twice(5, lag).astype(float)
        assert (np.abs(together - expected) <= 5 * np.sqrt(expected * (1 - expected) / 200) + 1e-9).all()


@pytest.mark.parametrize("lag", [0, 1, 2, 5, 6, 7, 13, 14])
@pytest.mark.parametrize("rounding", ["nearest", "random"])
def test_cyclic_twice_is_the_average_over_offsets(rounding, lag):
    p = [Fraction(k, 35) for k in range(36)]
    process = Cyclic(p, 7, rounding)
    exact = []
    for p_i in p:
        if rounding == "random":
            lengths = {int(7 * p_i): 1 - (7 * p_i) % 1, int(7 * p_i) + 1: (7 * p_i) % 1}
        else:
            lengths = {int(7 * p_i + Fraction(1, 2)): 1}
        exact.append(
            sum(
                chance * Fraction(sum(s < a and (s + lag) % 7 < a for s in range(7)), 7)
                for a, chance in lengths.items()
            )
        )
    assert process.twice(36, lag).tolist() == exact
    assert process.twice(36, 0).tolist() == process.marginal(36, 3).first.tolist() == list(process.law)


def test_cyclic_histories():
    """Every client is on for a run of a_i rounds in every cycle, from a uniform offset."""
    p, replicas = ["1/50", "0.527", "0.004", 1, "0.995"], 4_000
    process = Cyclic(p)
    seen = history(process, 5, 250, replicas).numpy()
    assert (seen[100:] == seen[:-100]).all()
    assert (seen[:100].sum(axis=0) == [2, 53, 0, 100, 100]).all()
    assert process.law == (Fraction(1, 50), Fraction(53, 100), 0, 1, 1)
    starts = (seen[1:101] > seen[:100]).sum(axis=0)
    assert (starts == [1, 1, 0, 0, 0]).all()
    for i in (0, 1):
        offset = np.argmax(seen[1:101, :, i] > seen[:100, :, i], axis=0)
        assert chi_square(np.bincount(offset, minlength=100), np.full(100, replicas / 100)) > LEVEL
    both = np.histogram2d(*(np.argmax(seen[1:101, :, i] > seen[:100, :, i], axis=0) for i in (0, 1)), bins=10)[0]
    assert chi_square(both.ravel(), np.full(100, replicas / 100)) > LEVEL  # offsets are independent between clients


def test_cyclic_random_lengths_are_kept_for_a_whole_run():
    process = Cyclic(["1/3"] * 4, period=10, rounding="random")
    seen = history(process, 4, 40, 3_000).numpy()
    lengths = seen.reshape(4, 10, 3_000, 4).sum(axis=1)
    assert (lengths == lengths[0]).all() and set(np.unique(lengths)) == {3, 4}
    # 12,000 coins of chance 1/3: 5 standard deviations.
    assert abs((lengths[0] == 4).mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / 12_000)
    assert [float(x) for x in process.law] == [1 / 3] * 4


@pytest.mark.parametrize("p", [Fraction(1, 50), Fraction(1, 3), Fraction(9, 10)])
def test_bernoulli_intervals_are_cutoff_geometric(p):
    cutoff, rounds, intervals = 20, 120, []
    for seen in history(Bernoulli([p]), 1, rounds, replicas=400, seed=2)[:, :, 0].T.tolist():
        start = 0
        for r, here in enumerate(seen):  # an interval ends with a participation, or at the cutoff
            # Whether an interval starts in time to end in any case does not depend on its own length.
            if (here or r + 1 - start == cutoff) and start <= rounds - cutoff:
                intervals.append(r + 1 - start)
                start = r + 1
    law = CutoffGeometric(float(p), cutoff).pmf(np.arange(1, cutoff + 1))
    observed = np.bincount(intervals, minlength=cutoff + 1)[1:]
    assert chi_square(observed, len(intervals) * law) > LEVEL


def test_a_pattern_is_followed_for_a_whole_run():
    mask = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    seen = history(RandomPatterns.real_random(mask, 4, "repeat"), 4, 8, 2_000).numpy()
    assert (seen[4:] == seen[:4]).all()
    columns = {tuple(column): k for k, column in enumerate(mask.T.tolist())}
    users = np.array([[columns[tuple(seen[:4, r, i].tolist())] for i in range(4)] for r in range(2_000)])
    assert chi_square(np.bincount(users.ravel(), minlength=3), np.full(3, 8_000 / 3)) > LEVEL
    pairs = np.bincount(users[:, 0] * 3 + users[:, 1], minlength=9)
    assert chi_square(pairs, np.full(9, 2_000 / 9)) > LEVEL  # with replacement, independently


def test_the_independence_flag():
    dependent = [Markov([0.5], [0.5]), Cyclic([0.5]), RandomPatterns.real_random([[1]], 1)]
    assert not any(process.independent_rounds for process in dependent)
    assert not Incomplete(dependent[0], [0]).independent_rounds and Incomplete(Uniform(1), [0]).independent_rounds
    for process in dependent:
        with pytest.raises(ValueError, match=r"its rounds depend on each other"):
            process.inclusion(1)
