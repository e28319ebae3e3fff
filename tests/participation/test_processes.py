"""The contract of every participation process, from one table, and each process against the enumeration of its law.

Statistical tests run at a fixed seed and at level 1e-6 each: moments by Bernstein's inequality, which holds for
every sample size, with a union bound over the entries; whole laws by Pearson's chi-square.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, permutations, product
from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fedtheory.participation import Fixed, IndexBeta, Keys, Participation, Uniform, Weighted
from fedtheory.randomness import Axis

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


@dataclass(frozen=True)
class Case:
    """A process on so many clients; its law, enumerated, unless there are too many outcomes."""

    process: Participation
    clients: int
    enumerate: Callable[[], Law] | None

    @lru_cache  # noqa: B019 - the table lives as long as the tests
    def law(self) -> Law | None:
        return self.enumerate and self.enumerate()

    @property
    def most(self) -> int:
        """How often a client can be drawn in a round."""
        return 1 if self.law() is None else max(max(counts) for counts in self.law())

    @property
    def random(self) -> bool:
        return self.law() is None or len(self.law()) > 1


WEIGHTS = [5.0, 0.5, 1.0, 2.0, 1.0]
STEEP = [1.0, 1e-18, 0.3, 1e-9, 0.2]
CASES = {
    "uniform": Case(Uniform(3), 5, lambda: equally_likely(list(permutations(range(5), 3)), 5)),
    "uniform one": Case(Uniform(1), 4, lambda: equally_likely(list(permutations(range(4), 1)), 4)),
    "uniform all": Case(Uniform(4), 4, lambda: {(1, 1, 1, 1): Fraction(1)}),
    "uniform single client": Case(Uniform(1), 1, lambda: {(1,): Fraction(1)}),
    "uniform many": Case(Uniform(20), 100, None),
    "replacement": Case(Uniform(3, True), 5, lambda: equally_likely(list(product(range(5), repeat=3)), 5)),
    "replacement, large cohort": Case(Uniform(4, True), 2, lambda: equally_likely(list(product((0, 1), repeat=4)), 2)),
    "fixed": Case(Fixed([3, 0]), 5, lambda: {(1, 0, 0, 1, 0): Fraction(1)}),
    "weighted": Case(Weighted(3, WEIGHTS), 5, lambda: successive_law([Fraction(w) for w in WEIGHTS], 3)),
    "weighted one": Case(Weighted(1, WEIGHTS), 5, lambda: successive_law([Fraction(w) for w in WEIGHTS], 1)),
    "weighted all": Case(Weighted(5, WEIGHTS), 5, lambda: {(1, 1, 1, 1, 1): Fraction(1)}),
    "weighted steep": Case(Weighted(2, STEEP), 5, lambda: successive_law([Fraction(w) for w in STEEP], 2)),
    "index beta": Case(IndexBeta(2), 6, lambda: successive_law(beta_cells(6, 1, 10), 2)),
    "index beta hump": Case(IndexBeta(3, 2.0, 3.0), 5, lambda: successive_law(beta_cells(5, 2, 3), 3)),
    "index beta many": Case(IndexBeta(20), 100, None),
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


def bernstein(variance: np.ndarray, span: float, samples: int) -> np.ndarray:
    """Any |mean - expectation| of ``samples`` variables within +-span exceeds its bound with chance at most LEVEL."""
    spread = np.log(2 * np.size(variance) / LEVEL)
    return np.sqrt(2 * variance * spread / samples) + span * spread / (3 * samples)


@every
def test_counts(case):
    counts = run(case, 50, rounds=3)
    assert counts.shape == (3, 50, case.clients)
    assert counts.dtype == torch.int8
    assert (counts >= 0).all()
    assert (counts.sum(-1) == case.process.cohort).all()


@every
def test_draws_depend_on_seed_axis_replica_and_round_if_on_anything(case):
    counts = run(case, 50, rounds=2)
    assert torch.equal(counts, run(case, 50, rounds=2))
    others = {
        "seed": run(case, 50, rounds=2, seed=1),
        "axis": run(case, 50, rounds=2, axis=Axis.COHORT),
        "replica": counts.roll(1, dims=1),
        "round": counts.roll(1, dims=0),
    }
    assert {name: not torch.equal(counts, other) for name, other in others.items()} == dict.fromkeys(
        others, case.random
    )
    assert not (case.process.deterministic and case.random)


@every
def test_a_replica_does_not_see_its_batch(case):
    together = run(case, 100, rounds=3)
    assert torch.equal(run(case, [7], rounds=3), together[:, [7]])
    assert torch.equal(run(case, [61, 7, 7, 2], rounds=3), together[:, [61, 7, 7, 2]])


@every
def test_a_round_does_not_need_the_earlier_ones(case):
    state = case.process.init(Keys(0, Axis.ARBITRARY, torch.arange(9), case.clients))
    assert torch.equal(case.process.step(state, 4)[0], run(case, 9, rounds=5)[4])


@every
def test_empirical_moments(case):
    counts = run(case, 5_000, rounds=4).flatten(0, 1).double()
    inclusion = case.process.inclusion(case.clients).as_floats()
    error = np.abs(counts.mean(0).numpy() - inclusion.first)
    variance = np.maximum(np.diag(inclusion.second) - inclusion.first**2, 0)
    assert (error <= bernstein(variance, case.most, len(counts)) + 1e-12).all()
    fourth = inclusion.second  # E[(N_i N_j)^2], the same if counts are 0 or 1
    if case.most > 1:
        squares = np.array(list(case.law()), dtype=float) ** 2
        fourth = squares.T @ (squares * np.array([float(p) for p in case.law().values()])[:, None])
    error = np.abs((counts.T @ counts / len(counts)).numpy() - inclusion.second)
    variance = np.maximum(fourth - inclusion.second**2, 0)
    assert (error <= bernstein(variance, case.most**2, len(counts)) + 1e-12).all()


@every
def test_rounds_and_replicas_are_uncorrelated(case):
    counts = run(case, 4_000, rounds=4).double()
    inclusion = case.process.inclusion(case.clients).as_floats()
    deviation = counts - torch.from_numpy(inclusion.first)
    variance = np.maximum(np.diag(inclusion.second) - inclusion.first**2, 0)
    pairs = {"rounds": (deviation[0::2], deviation[1::2]), "replicas": (deviation[:, 0::2], deviation[:, 1::2])}
    for left, right in pairs.values():
        left, right = left.flatten(0, 1), right.flatten(0, 1)
        bound = bernstein(np.outer(variance, variance), case.most**2, len(left))
        assert ((left.T @ right / len(left)).abs().numpy() <= bound + 1e-12).all()


@every_enumerated
def test_law_of_a_whole_round(case):
    counts = run(case, 5_000, rounds=4).flatten(0, 1)
    outcomes, seen = np.unique(counts.numpy(), axis=0, return_counts=True)
    found = {tuple(int(n) for n in outcome): int(k) for outcome, k in zip(outcomes, seen, strict=True)}
    assert found.keys() <= case.law().keys()
    expected = np.array([len(counts) * float(p) for p in case.law().values()])
    observed = np.array([found.get(outcome, 0) for outcome in case.law()])
    common = expected >= 10
    rare = 1 - sum(p for p, often in zip(case.law().values(), common, strict=True) if often)
    assert observed[~common].sum() <= 20 + 4 * len(counts) * rare  # by Poisson tails, beyond LEVEL
    statistic = ((observed - expected) ** 2 / expected)[common].sum()
    assert chi2.sf(statistic, max(common.sum() - 1, 1)) > LEVEL


@every_enumerated
def test_inclusion_is_the_enumerated_one(case):
    outcomes = np.array([list(c) for c in case.law()], dtype=object)
    chances = np.array(list(case.law().values()), dtype=object)
    first = chances @ outcomes
    second = (outcomes * chances[:, None]).T @ outcomes
    inclusion = case.process.inclusion(case.clients)
    if isinstance(case.process, Uniform | Fixed):
        assert all(isinstance(x, Fraction) for x in [*inclusion.first, *inclusion.second.flat])
        assert (inclusion.first == first).all() and (inclusion.second == second).all()
    else:
        assert inclusion.first.dtype == inclusion.second.dtype == np.float64
        # Quadrature and rounding; relative, so that it also tells chances of 1e-18 apart.
        np.testing.assert_allclose(inclusion.first, first.astype(float), rtol=1e-12, atol=0)
        np.testing.assert_allclose(inclusion.second, second.astype(float), rtol=1e-12, atol=0)


@every
def test_inclusion_sums(case):
    inclusion = case.process.inclusion(case.clients)
    n = case.process.cohort
    assert inclusion.first.shape == (case.clients,) and inclusion.second.shape == (case.clients, case.clients)
    assert abs(inclusion.first.sum() - n) < 1e-12
    assert np.abs(inclusion.second.sum(axis=1) - n * inclusion.first).max() < 1e-12
    assert (inclusion.second == inclusion.second.T).all()


@every
def test_as_floats(case):
    inclusion = case.process.inclusion(case.clients)
    floats = inclusion.as_floats()
    assert floats.first.dtype == floats.second.dtype == np.float64
    assert floats.first.tolist() == [float(p) for p in inclusion.first]


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
