"""The contract of every participation process, from one table, and each process against the enumeration of its law.

Statistical tests run at a fixed seed and at level 1e-6 each: moments by Bernstein's inequality, which holds for
every sample size, with a union bound over the entries; whole laws by Pearson's chi-square.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise, permutations, product
from math import comb, prod

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fedtheory.participation import (
    AnySize,
    Bernoulli,
    Cyclic,
    DayNightGroups,
    Fixed,
    GroupChain,
    Incomplete,
    IndexBeta,
    IndexGamma,
    IndexWeibull,
    Keys,
    Markov,
    Mixture,
    Multinomial,
    Participation,
    Phases,
    PoissonGroups,
    RandomPatterns,
    Recorded,
    Uniform,
    UniformGroups,
    Weighted,
    history,
)
from fedtheory.randomness import Axis
from fedtheory.testing import check_participation

LEVEL = 1e-6
Law = dict[tuple[int, ...], Fraction]


def enumerate_law(draws: dict[tuple[int, ...], Fraction], clients: int) -> Law:
    """The law of the counts from that of the ordered draws."""
    law: Law = defaultdict(Fraction)
    for drawn, chance in draws.items():
        law[tuple(drawn.count(i) for i in range(clients))] += chance
    return law


def equally_likely(draws: list[tuple[int, ...]], clients: int) -> Law:
    return enumerate_law({drawn: Fraction(1, len(draws)) for drawn in draws}, clients)


def successive_law(weights: list[Fraction], cohort: int) -> Law:
    """Draw after draw, with probability proportional to weight among those left."""
    draws = {}
    for drawn in permutations(range(len(weights)), cohort):
        left, chance = sum(weights), Fraction(1)
        for i in drawn:
            chance, left = chance * weights[i] / left, left - weights[i]
        draws[drawn] = chance
    return enumerate_law(draws, len(weights))


def beta_cells(cells: int, alpha: int, beta: int) -> list[Fraction]:
    """Exact masses: the alpha-th smallest of n = alpha + beta - 1 uniforms is Beta(alpha, beta)."""
    n = alpha + beta - 1
    edges = [Fraction(i, cells) for i in range(cells + 1)]
    below = [sum(comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(alpha, n + 1)) for x in edges]
    return [b - a for a, b in pairwise(below)]


def weighted_draws(probabilities: list[Fraction], cohort: int) -> Law:
    """Independent draws, with replacement."""
    drawable = [i for i, p in enumerate(probabilities) if p]
    ordered = product(drawable, repeat=cohort)
    return enumerate_law({drawn: prod(probabilities[i] for i in drawn) for drawn in ordered}, len(probabilities))


def independent_law(probabilities: list[Fraction]) -> Law:
    """Every client for itself."""
    return {
        counts: prod(p if n else 1 - p for p, n in zip(probabilities, counts, strict=True))
        for counts in product((0, 1), repeat=len(probabilities))
        if all(0 < p < 1 or n == p for p, n in zip(probabilities, counts, strict=True))
    }


def group_law(groups: list[int], numbers: list[dict[int, Fraction]]) -> Law:
    """``numbers[k]`` is the law of how many of group k are there; any so many of it are equally likely."""
    law: Law = {(0,) * len(groups): Fraction(1)}
    for k, chances in enumerate(numbers):
        members = [i for i, group in enumerate(groups) if group == k]
        law = {
            tuple(1 if i in chosen else n for i, n in enumerate(counts)): p * chance / comb(len(members), number)
            for counts, p in law.items()
            for number, chance in chances.items()
            for chosen in combinations(members, number)
        }
    return law


def joint_law(groups: list[int], states: list[list[int]], chances: list[Fraction]) -> Law:
    """So many of each group are there, in a state that is drawn."""
    law: Law = {}
    for row, chance in zip(states, chances, strict=True):
        for counts, p in group_law(groups, [{n: Fraction(1)} for n in row]).items():
            law[counts] = law.get(counts, Fraction(0)) + chance * p
    return {counts: p for counts, p in law.items() if p}


def capped_poisson(rate: Fraction, cap: int) -> dict[int, Fraction]:
    """To 40 digits."""
    exponential = 1 / sum(rate**k * Fraction(1, prod(range(1, k + 1))) for k in range(60))
    below = {k: exponential * rate**k / prod(range(1, k + 1)) for k in range(cap)}
    return below | {cap: 1 - sum(below.values())}


@dataclass(frozen=True)
class Case:
    """A process on so many clients; the law of one of its rounds, enumerated, unless there are too many outcomes."""

    process: Participation
    clients: int
    enumerate: Callable[[int], Law] | None

    @lru_cache  # noqa: B019 - the table lives as long as the tests
    def law(self, round: int = 0) -> Law | None:
        return self.enumerate and self.enumerate(round)

    @property
    def most(self) -> int:
        """How often a client can be drawn in a round."""
        return 1 if self.law() is None else max(max(counts) for counts in self.law())

    @property
    def random(self) -> bool:
        return self.law() is None or len(self.law()) > 1


WEIGHTS = [5.0, 0.5, 1.0, 2.0, 1.0]
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
MIXED = [THIRD, Fraction(0), Fraction(9, 10), Fraction(1), Fraction(1, 20)]
GROUPS = [0, 1, 0, 1, 0]
STATES = [[3, 0], [1, 2]]
DAY, NIGHT = [Fraction(1), Fraction(3)], [Fraction(2), HALF]
RECORD = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]])
STEEP = [1.0, 1e-18, 0.3, 1e-9, 0.2]
CASES = {
    "uniform": Case(Uniform(3), 5, lambda r: equally_likely(list(permutations(range(5), 3)), 5)),
    "uniform one": Case(Uniform(1), 4, lambda r: equally_likely(list(permutations(range(4), 1)), 4)),
    "uniform all": Case(Uniform(4), 4, lambda r: {(1, 1, 1, 1): Fraction(1)}),
    "uniform single client": Case(Uniform(1), 1, lambda r: {(1,): Fraction(1)}),
    "multinomial": Case(
        Multinomial(3, ["1/2", "0", "1/3", "1/6"]),
        4,
        lambda r: weighted_draws([Fraction(1, 2), Fraction(0), Fraction(1, 3), Fraction(1, 6)], 3),
    ),
    "uniform many": Case(Uniform(20), 100, None),
    "replacement": Case(Uniform(3, True), 5, lambda r: equally_likely(list(product(range(5), repeat=3)), 5)),
    "replacement, large cohort": Case(
        Uniform(4, True), 2, lambda r: equally_likely(list(product((0, 1), repeat=4)), 2)
    ),
    "fixed": Case(Fixed([3, 0]), 5, lambda r: {(1, 0, 0, 1, 0): Fraction(1)}),
    "phases": Case(Phases([[0], [2]], [2, 5]), 3, lambda r: {(0, 0, 1) if r >= 2 else (1, 0, 0): Fraction(1)}),
    "phases, cyclic": Case(
        Phases([[0, 1], [2, 0]], [2, 1], cyclic=True),
        3,
        lambda r: {(1, 0, 1) if r % 3 == 2 else (1, 1, 0): Fraction(1)},
    ),
    "weighted": Case(Weighted(3, WEIGHTS), 5, lambda r: successive_law([Fraction(w) for w in WEIGHTS], 3)),
    "weighted one": Case(Weighted(1, WEIGHTS), 5, lambda r: successive_law([Fraction(w) for w in WEIGHTS], 1)),
    "weighted all": Case(Weighted(5, WEIGHTS), 5, lambda r: {(1, 1, 1, 1, 1): Fraction(1)}),
    "weighted steep": Case(Weighted(2, STEEP), 5, lambda r: successive_law([Fraction(w) for w in STEEP], 2)),
    "index beta": Case(IndexBeta(2), 6, lambda r: successive_law(beta_cells(6, 1, 10), 2)),
    "index beta hump": Case(IndexBeta(3, 2.0, 3.0), 5, lambda r: successive_law(beta_cells(5, 2, 3), 3)),
    "index beta many": Case(IndexBeta(20), 100, None),
    "index gamma": Case(IndexGamma(10), 100, None),
    "index weibull": Case(IndexWeibull(10), 100, None),
    "index weibull last": Case(IndexWeibull(10, beyond="last"), 139, None),
    "bernoulli": Case(Bernoulli(MIXED), 5, lambda r: independent_law(MIXED)),
    "bernoulli certain": Case(Bernoulli([0, 1, 1]), 3, lambda r: {(0, 1, 1): Fraction(1)}),
    "bernoulli many": Case(Bernoulli([0.02 * (i % 50) for i in range(100)]), 100, None),
    "markov": Case(Markov.with_largest_entry(MIXED), 5, lambda r: independent_law(MIXED)),
    "markov common": Case(Markov.with_largest_entry(MIXED, reading="common"), 5, lambda r: independent_law(MIXED)),
    "markov restless": Case(Markov([HALF, THIRD], ["9/10", "1/2"]), 2, lambda r: independent_law([HALF, THIRD])),
    "cyclic": Case(Cyclic(MIXED, period=60), 5, lambda r: independent_law(MIXED)),
    "cyclic rounded": Case(Cyclic(MIXED, 3), 5, lambda r: independent_law([THIRD, *map(Fraction, (0, 1, 1, 0))])),
    "cyclic random": Case(Cyclic(MIXED, 7, "random"), 5, lambda r: independent_law(MIXED)),
    "uniform groups": Case(
        UniformGroups(GROUPS, [1, 0], [3, 1]),
        5,
        lambda r: group_law(GROUPS, [dict.fromkeys((1, 2, 3), THIRD), {0: HALF, 1: HALF}]),
    ),
    "poisson groups": Case(
        PoissonGroups(GROUPS, [1.0, 3.0]),
        5,
        lambda r: group_law(GROUPS, [capped_poisson(Fraction(1), 3), capped_poisson(Fraction(3), 2)]),
    ),
    "poisson groups many": Case(PoissonGroups([i % 7 for i in range(100)], range(0, 14, 2)), 100, None),
    "day and night": Case(
        DayNightGroups(GROUPS, DAY, NIGHT),
        5,
        lambda r: group_law(
            GROUPS, [capped_poisson(rate, cap) for rate, cap in zip(DAY if r % 2 else NIGHT, (3, 2), strict=True)]
        ),
    ),
    "group chain": Case(
        GroupChain(GROUPS, STATES, [THIRD, 2 * THIRD]), 5, lambda r: joint_law(GROUPS, STATES, [THIRD, 2 * THIRD])
    ),
    "group chain with a memory": Case(
        GroupChain(GROUPS, STATES, [2 * THIRD, THIRD], [[HALF, HALF], ["1/4", "3/4"]]),
        5,
        lambda r: joint_law(GROUPS, STATES, [THIRD + THIRD / 4**r, 2 * THIRD - THIRD / 4**r]),
    ),
    "recorded": Case(Recorded(RECORD, "repeat"), 4, lambda r: {tuple(RECORD[r % 3].tolist()): Fraction(1)}),
    "recorded, then nobody": Case(
        Recorded(RECORD, "absent"), 4, lambda r: {tuple(RECORD[r].tolist()) if r < 3 else (0,) * 4: Fraction(1)}
    ),
    "recorded, the last": Case(Recorded(RECORD, "last"), 4, lambda r: {tuple(RECORD[min(r, 2)].tolist()): Fraction(1)}),
    "mixture": Case(
        Mixture([Bernoulli([HALF, 0, 1]), Fixed([1, 2])], ["1/4", "3/4"]),
        3,
        lambda r: {(0, 0, 1): Fraction(1, 8), (1, 0, 1): Fraction(1, 8), (0, 1, 1): Fraction(3, 4)},
    ),
    "mixtures in a mixture": Case(
        Mixture([Incomplete(Mixture([Fixed([0]), Fixed([1])], [HALF, HALF]), [2]), Fixed([2])], [HALF, HALF]),
        3,
        lambda r: {(1, 0, 0): Fraction(1, 4), (0, 1, 0): Fraction(1, 4), (0, 0, 1): HALF},
    ),
    "a chain in a mixture": Case(
        Mixture([GroupChain([0, 1, 2], [[1, 0, 0], [0, 1, 0]], [HALF, HALF]), Fixed([2])], [HALF, HALF]),
        3,
        lambda r: {(1, 0, 0): Fraction(1, 4), (0, 1, 0): Fraction(1, 4), (0, 0, 1): HALF},
    ),
    "patterns": Case(
        RandomPatterns(RECORD, [[0, 1, 3], [2]], [0, 1, 0], "repeat"),
        3,
        lambda r: independent_law(
            [Fraction(int(RECORD[r % 3, pool].sum()), len(pool)) for pool in ([0, 1, 3], [2], [0, 1, 3])]
        ),
    ),
    "incomplete": Case(
        Incomplete(Uniform(2), [3, 0]), 5, lambda r: equally_likely(list(permutations((1, 2, 4), 2)), 5)
    ),
    "incomplete markov": Case(
        Incomplete(Markov([HALF, THIRD], ["1/20", "1/20"]), [1]),
        3,
        lambda r: independent_law([HALF, Fraction(0), THIRD]),
    ),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
enumerated = {name: case for name, case in CASES.items() if case.enumerate}
every_enumerated = pytest.mark.parametrize("case", enumerated.values(), ids=enumerated.keys())


def run(case: Case, replicas: int | list[int], rounds: int = 1, seed: int = 0, axis: Axis = Axis.ARBITRARY):
    """Counts (rounds, replicas, clients)."""
    ids = torch.arange(replicas) if isinstance(replicas, int) else torch.tensor(replicas)
    state, counts = case.process.init(Keys(seed, axis, ids, case.clients)), []
    for r in range(rounds):
        drawn, state = case.process.step(state, r)
        counts.append(drawn)
    return torch.stack(counts)


def step(case: Case, replicas: int, round: int):
    """Counts (replicas, clients) of one round."""
    return case.process.step(case.process.init(Keys(0, Axis.ARBITRARY, torch.arange(replicas), case.clients)), round)[0]


@every
def test_the_check_of_processes_passes(case):
    """Draws by keys alone, far rounds, chunks, moments, and what rounds and replicas have to do with each other."""
    checked = check_participation(case.process, case.clients)
    assert {"far rounds", "moments of one round", "replicas independent"} <= {*checked}


@every
def test_counts(case):
    counts = run(case, 50, rounds=3)
    assert counts.shape == (3, 50, case.clients)
    assert counts.dtype == torch.int8
    assert (counts >= 0).all()
    fewest, most = case.process.sizes(case.clients)
    assert fewest <= counts.sum(-1).min() and counts.sum(-1).max() <= most
    if isinstance(case.process, AnySize) or isinstance(getattr(case.process, "process", None), AnySize):
        with pytest.raises(ValueError, match=r"cohort: rounds of \w+ differ in size"):
            _ = case.process.cohort
    else:
        assert (counts.sum(-1) == case.process.cohort).all()
        assert fewest == most == case.process.cohort


@every_enumerated
def test_sizes_are_reached(case):
    """Over one cycle of rounds: those of these cases have at most 4."""
    sizes = [sum(counts) for r in range(4) for counts in case.law(r)]
    assert case.process.sizes(case.clients) == (min(sizes), max(sizes))


@every
def test_draws_depend_on_seed_axis_replica_and_round_if_on_anything(case):
    counts = run(case, 50, rounds=8)
    assert torch.equal(counts, run(case, 50, rounds=8))
    others = {
        "seed": run(case, 50, rounds=8, seed=1),
        "axis": run(case, 50, rounds=8, axis=Axis.COHORT),
        "replica": counts.roll(1, dims=1),
    }
    assert {name: not torch.equal(counts, other) for name, other in others.items()} == dict.fromkeys(
        others, case.random
    )
    assert case.process.deterministic == (not case.random) or isinstance(case.process, Uniform | Weighted)
    moves = case.random or len({tuple(case.law(r)) for r in range(8)}) > 1
    assert torch.equal(counts, counts.roll(1, dims=0)) == (not moves)


def test_a_round_is_the_same_whether_or_not_those_before_it_were_drawn():
    """Round after round, some of them left out, from the first on, and backwards."""
    rounds, differ = [0, 1, 2, 5, 7, 3, 4], []
    for name, case in CASES.items():
        state = case.process.init(Keys(0, Axis.ARBITRARY, torch.arange(40), case.clients))
        for r in rounds:
            drawn, state = case.process.step(state, r)
            if not torch.equal(drawn, step(case, 40, r)):
                differ.append((name, r))
    assert differ == []


@every_enumerated
@pytest.mark.parametrize("round", [0, 1, 5])
def test_law_of_a_whole_round(case, round):
    counts, law = step(case, 15_000, round), case.law(round)
    outcomes, seen = np.unique(counts.numpy(), axis=0, return_counts=True)
    found = {tuple(int(n) for n in outcome): int(k) for outcome, k in zip(outcomes, seen, strict=True)}
    assert found.keys() <= law.keys()
    expected = np.array([len(counts) * float(p) for p in law.values()])
    observed = np.array([found.get(outcome, 0) for outcome in law])
    common = expected >= 10
    rare = 1 - sum(p for p, often in zip(law.values(), common, strict=True) if often)
    assert observed[~common].sum() <= 20 + 4 * len(counts) * rare  # by Poisson tails, beyond LEVEL
    statistic = ((observed - expected) ** 2 / expected)[common].sum()
    assert chi2.sf(statistic, max(common.sum() - 1, 1)) > LEVEL


EXACT = (
    Bernoulli,
    Cyclic,
    Fixed,
    GroupChain,
    Incomplete,
    Markov,
    Mixture,
    Multinomial,
    Phases,
    RandomPatterns,
    Recorded,
    Uniform,
)


@every_enumerated
def test_moments_are_the_enumerated_ones(case):
    for r in range(4):
        outcomes = np.array([list(c) for c in case.law(r)], dtype=object)
        chances = np.array(list(case.law(r).values()), dtype=object)
        first = chances @ outcomes
        second = (outcomes * chances[:, None]).T @ outcomes
        inclusion = case.process.marginal(case.clients, r)
        if isinstance(case.process, EXACT):
            assert all(isinstance(x, Fraction) for x in [*inclusion.first, *inclusion.second.flat])
            assert (inclusion.first == first).all() and (inclusion.second == second).all()
        else:
            assert inclusion.first.dtype == inclusion.second.dtype == np.float64
            # Quadrature and rounding; relative, so that it also tells chances of 1e-18 apart.
            np.testing.assert_allclose(inclusion.first, first.astype(float), rtol=1e-12, atol=0)
            np.testing.assert_allclose(inclusion.second, second.astype(float), rtol=1e-12, atol=0)


@every
def test_inclusion_is_promised_only_where_every_round_has_one_law_whatever_came_before(case):
    try:
        inclusion = case.process.inclusion(case.clients)
    except ValueError as error:
        assert str(error)
        laws = {str(case.law(r)) for r in range(8)}
        assert not case.process.independent_rounds or len(laws) > 1
        return
    assert case.process.independent_rounds
    for r in range(4):
        marginal = case.process.marginal(case.clients, r)
        assert (inclusion.first == marginal.first).all() and (inclusion.second == marginal.second).all()


@every
def test_inclusion_sums(case):
    """For cohorts of one size; otherwise the variance of the size is at least 0 and at most that of its range."""
    inclusion, (fewest, most) = case.process.marginal(case.clients, 0), case.process.sizes(case.clients)
    assert inclusion.first.shape == (case.clients,) and inclusion.second.shape == (case.clients, case.clients)
    assert (inclusion.second == inclusion.second.T).all()
    mean, square = float(inclusion.first.sum()), float(inclusion.second.sum())
    assert fewest - 1e-12 <= mean <= most + 1e-12
    # Of numbers between a and b, the variance is at most (b - mean) (mean - a).
    assert -1e-9 <= square - mean**2 <= (most - mean) * (mean - fewest) + 1e-9
    if fewest == most:
        assert abs(mean - most) < 1e-12
        assert np.abs(inclusion.second.sum(axis=1) - most * inclusion.first).max() < 1e-12


@every
def test_as_floats(case):
    inclusion = case.process.marginal(case.clients, 0)
    floats = inclusion.as_floats()
    assert floats.first.dtype == floats.second.dtype == np.float64
    assert floats.first.tolist() == [float(p) for p in inclusion.first]


@every
def test_processes_that_differ_are_told_apart_and_others_are_not(case):
    """A checkpoint belongs to a process by its ``repr``."""
    assert repr(case.process) == repr(copy.deepcopy(case.process))
    same = [other for other in CASES.values() if repr(other.process) == repr(case.process)]
    assert [other.clients for other in same].count(case.clients) == 1


@settings(deadline=None)
@given(st.integers(1, 12), st.data(), st.booleans())
def test_uniform_sums_exactly(clients, data, replacement):
    cohort = data.draw(st.integers(1, 20 if replacement else clients))
    inclusion = Uniform(cohort, replacement).inclusion(clients)
    assert inclusion.first.sum() == cohort
    assert (inclusion.second.sum(axis=1) == cohort * inclusion.first).all()
    assert inclusion.second.sum() == cohort**2


ERRORS = {
    "uniform, cohort > clients": (lambda: Uniform(5).check(4), r"cohort = 5: allowed is 1 to clients = 4"),
    "uniform, no cohort": (lambda: Uniform(0).check(4), r"cohort = 0: "),
    "replacement, no cohort": (lambda: Uniform(0, True).check(4), r"cohort = 0: "),
    "fixed, empty": (lambda: Fixed([]), r"members = \[\]: allowed is a non-empty list of distinct clients"),
    "fixed, repeated": (lambda: Fixed([1, 2, 1]), r"members = \[1, 2, 1\]: .*distinct"),
    "fixed, outside": (lambda: Fixed([0, 4]).check(4), r"members = \[0, 4\]: client 4 is not in 0 to 3"),
    "fixed, negative": (lambda: Fixed([0, -1]).check(4), r"client -1 is not in 0 to 3"),
    "weighted, cohort > clients": (lambda: Weighted(3, [1, 2]).check(2), r"cohort = 3: allowed is 1 to clients = 2"),
    "weighted, no cohort": (lambda: Weighted(0, [1, 2]).check(2), r"cohort = 0: allowed is 1 to clients = 2"),
    "weighted, too few": (lambda: Weighted(1, [1, 2]).check(3), r"weights: there are 2, allowed is one for each of 3"),
    "weighted, zero": (lambda: Weighted(1, [1, 0]), r"weights\[1\] = 0.0: allowed are positive finite"),
    "weighted, negative": (lambda: Weighted(1, [-2, 1]), r"weights\[0\] = -2.0"),
    "weighted, nan": (lambda: Weighted(1, [1, float("nan")]), r"weights\[1\] = nan"),
    "weighted, infinite": (lambda: Weighted(1, [1, float("inf")]), r"weights\[1\] = inf"),
    "weighted, lost": (lambda: Weighted(2, [1, 1e-300]).check(2), r"cohort = 2: allowed is 1 to 1, .* 1e-290 times"),
    "index beta, cohort > clients": (lambda: IndexBeta(5).check(4), r"cohort = 5: allowed is 1 to clients = 4"),
    "index beta, alpha": (lambda: IndexBeta(1, 0.0), r"alpha = 0.0: allowed are positive finite"),
    "index beta, nan": (lambda: IndexBeta(1, 1.0, float("nan")), r"beta = nan"),
    "index beta, lost": (lambda: IndexBeta(60, 1.0, 1e3).check(100), r"cohort = 60: allowed is 1 to 4\d, .* 100 that"),
    "bernoulli, above 1": (lambda: Bernoulli([0.5, 1.5]), r"probabilities\[1\] = 1.5: allowed is \[0, 1\]"),
    "bernoulli, negative": (lambda: Bernoulli([-1e-9]), r"probabilities\[0\] = -1e-09: allowed is \[0, 1\]"),
    "bernoulli, nan": (lambda: Bernoulli([float("nan")]), r"probabilities\[0\] = nan: allowed is a number in \[0, 1\]"),
    "bernoulli, text": (lambda: Bernoulli(["often"]), r"probabilities\[0\] = 'often': allowed is a number"),
    "bernoulli, none": (lambda: Bernoulli([]), r"probabilities = \[\]: allowed is a list of one probability"),
    "bernoulli, one number": (lambda: Bernoulli(0.5), r"probabilities = 0.5: allowed is a list"),
    "bernoulli, a matrix": (lambda: Bernoulli([[0.5]]), r"probabilities = \[\[0.5\]\]: allowed is a list"),
    "bernoulli, too few": (lambda: Bernoulli([0.5]).check(2), r"probabilities: there are 1, .* each of 2 clients"),
    "markov, entry": (lambda: Markov(["1/5"], [0.5]), r"entries\[0\] = 0.5: allowed is \(0, 0.25\] where p = 0.2"),
    "markov, no entry": (lambda: Markov(["1/5"], [0]), r"entries\[0\] = 0: allowed is \(0, 0.25\]"),
    "markov, entry to nowhere": (lambda: Markov([0], [0.1]), r"entries\[0\] = 0.1: allowed is 0 where p = 0"),
    "markov, entries": (lambda: Markov([0.1, 0.2], [0.1]), r"entries: there are 1, allowed is one for each of 2"),
    "markov, largest": (lambda: Markov.with_largest_entry([0.5], 0), r"largest_entry = 0: allowed is \(0, 1\]"),
    "markov, reading": (lambda: Markov.with_largest_entry([0.5], reading="x"), r"reading = 'x': .* each, common"),
    "markov, too few": (lambda: Markov([0.5], [0.5]).check(2), r"probabilities: there are 1"),
    "markov, lag": (lambda: Markov([0.5], [0.5]).twice(1, -1), r"lag = -1: allowed is an integer >= 0"),
    "cyclic, period": (lambda: Cyclic([0.5], 0), r"period = 0: allowed is an integer >= 1"),
    "cyclic, rounding": (lambda: Cyclic([0.5], rounding="up"), r"rounding = 'up': allowed is one of nearest, random"),
    "incomplete, repeated": (lambda: Incomplete(Uniform(1), [1, 1]), r"absent = \[1, 1\]: allowed are distinct"),
    "incomplete, negative": (lambda: Incomplete(Uniform(1), [-1]), r"absent\[0\] = -1: allowed is an integer >= 0"),
    "incomplete, outside": (lambda: Incomplete(Uniform(1), [4]).check(4), r"client 4 is not in 0 to 3"),
    "incomplete, all": (lambda: Incomplete(Uniform(1), [1, 0]).check(2), r"allowed are fewer than all 2 clients"),
    "incomplete, too few": (lambda: Incomplete(Uniform(2), [0]).check(2), r"cohort = 2: allowed is 1 to clients = 1"),
    "gamma, shape": (lambda: IndexGamma(1, shape=0), r"shape = 0: allowed are positive finite numbers"),
    "gamma, beyond": (lambda: IndexGamma(1, beyond="first"), r"beyond = 'first': allowed is one of redrawn, last"),
    "weibull, scale": (lambda: IndexWeibull(1, scale=float("inf")), r"scale = inf"),
    "weibull, no mass": (lambda: IndexWeibull(1, scale=1e40).check(3), r"IndexWeibull.*chance above 0"),
    "chain, counts": (
        lambda: GroupChain([0, 1], [[1, 2]], [1]),
        r"counts\[0\] = \[1, 2\]: allowed are at most \[1, 1\]",
    ),
    "chain, initial": (lambda: GroupChain([0], [[1]], ["1/2"]), r"initial has 1 entries of sum 1/2: allowed are 1, of"),
    "chain, row": (
        lambda: GroupChain([0], [[1], [0]], [1, 0], [[1, 0], [1]]),
        r"transitions\[1\] has 1 entries of sum 1: allowed are 2",
    ),
    "chain, rows": (lambda: GroupChain([0], [[1], [0]], [1, 0], [[1, 0]]), r"transitions has 1 rows: .* each of 2 sta"),
    "chain, inclusion": (
        lambda: GroupChain([0], [[1], [0]], [1, 0], [[0, 1], [1, 0]]).inclusion(1),
        "its rounds depend on each other",
    ),
    "chain, stationary": (
        lambda: GroupChain([0], [[1], [0]], [1, 0], [[0, 1], [1, 0]]).stationary(1),
        "its rounds differ in law",
    ),
    "groups, gap": (lambda: PoissonGroups([0, 2], [1, 1]), r"groups: no client is in group 1"),
    "groups, none": (lambda: PoissonGroups([], []), r"groups: no client is in group 0"),
    "groups, rates": (lambda: PoissonGroups([0, 1], [1]), r"rates: there are 1, allowed is one for each of 2 groups"),
    "groups, rate": (lambda: PoissonGroups([0], [-1]), r"rates\[0\] = -1.0: allowed is a finite number >= 0"),
    "groups, nan": (lambda: DayNightGroups([0], [1], [float("nan")]), r"night\[0\] = nan"),
    "groups, first": (lambda: DayNightGroups([0], [1], [1], "noon"), r"first = 'noon': allowed is one of night, day"),
    "groups, too many": (lambda: UniformGroups([0], [0], [2]), r"highest\[0\] = 2: allowed is .* <= 1, the group"),
    "groups, reversed": (lambda: UniformGroups([0, 0], [2], [1]), r"lowest\[0\] = 2, highest\[0\] = 1"),
    "groups, fraction": (lambda: UniformGroups([0], [0.5], [1]), r"lowest\[0\] = 0.5: allowed is an integer >= 0"),
    "groups, too few": (lambda: PoissonGroups([0], [1]).check(2), r"groups: there are 1, .* each of 2 clients"),
    "recorded, shape": (lambda: Recorded([1, 0]), r"mask has shape \(2,\): allowed is \(rounds, columns\)"),
    "recorded, entry": (lambda: Recorded([[0, 1], [1, 2]]), r"mask\[1, 1\] = 2: allowed is 0 or 1"),
    "recorded, nan": (lambda: Recorded([[0, float("nan")]]), r"mask\[0, 1\] = nan"),
    "recorded, after": (lambda: Recorded([[1]], "stop"), r"after = 'stop': allowed is one of refuse, repeat, absent"),
    "recorded, too few": (lambda: Recorded([[1]]).check(2), r"mask: there are 1, allowed is one for each of 2"),
    "recorded, over": (lambda: Recorded([[1]]).marginal(1, 1), r"round = 1: the record has the rounds 0 to 0"),
    "recorded, counts": (lambda: Recorded.of_counts([[2]], [0]), r"counts\[0\] = \[2\]: allowed .* at most \[1\]"),
    "recorded, groups": (lambda: Recorded.of_counts([[1, 0]], [0]), r"counts\[0\] = \[1, 0\]: allowed is one number a"),
    "mixture, number": (lambda: Mixture([Fixed([0])], [HALF, HALF]), r"probabilities: there are 2, allowed is one for"),
    "mixture, sum": (lambda: Mixture([Fixed([0])], [HALF]), r"probabilities: they sum to 1/2, allowed is a sum of 1"),
    "mixture, memory": (
        lambda: Mixture([Markov([HALF], [HALF])], [1]),
        r"processes: .*: allowed are independent r",
    ),
    "mixture, phases": (
        lambda: Mixture([Phases([[0], [1]], [1, 1])], [1]).check(2),
        r"the moments of a round differ between phases",
    ),
    "recorded, set": (lambda: Recorded.of_sets([[0], [3]], 3), r"sets\[1\] = \[3\]: client 3 is not in 0 to 2"),
    "recorded, twice": (lambda: Recorded.of_sets([[1, 1]], 3), r"sets\[0\] = \[1, 1\]: client 1 is there twice"),
    "patterns, pool": (lambda: RandomPatterns([[1]], [[1]], [0]), r"pools\[0\] = \[1\]: .* distinct users of 0 to 0"),
    "patterns, no pool": (lambda: RandomPatterns([[1]], [[]], [0]), r"pools\[0\] = \[\]: allowed are"),
    "patterns, pool of": (lambda: RandomPatterns([[1]], [[0]], [1]), r"pool_of\[0\] = 1: allowed is 0 to 0"),
    "patterns, clients": (lambda: RandomPatterns.real_random([[1]], 0), r"clients = 0: allowed is an integer >= 1"),
    "patterns, parts": (
        lambda: RandomPatterns.real_correlated(np.eye(3), [0, 1], [1, 2, 3]),
        r"parts = 3: allowed is at most 2, the number of groups",
    ),
    "patterns, availability": (
        lambda: RandomPatterns.real_correlated(np.eye(3), [0, 1, 2], [1, 2, float("nan")]),
        r"availability: allowed is one finite number for each of 3 users",
    ),
    "history": (lambda: history(Fixed([0]), 1, 0), r"rounds = 0: allowed is an integer >= 1"),
}


@pytest.mark.parametrize(("call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("process", [Uniform(5), Fixed([4]), Weighted(1, [1.0]), IndexBeta(5)], ids=str)
def test_init_and_inclusion_check(process):
    with pytest.raises(ValueError):
        process.init(Keys(0, Axis.COHORT, torch.arange(2), 4))
    with pytest.raises(ValueError):
        process.inclusion(4)
