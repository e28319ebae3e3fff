"""Theorem 1's construction: exact probabilities by two routes, the sampler, and learners against it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier

from fedtheory.learning.adversary import FewestRare
from fedtheory.learning.impossibility import (
    CLAIMED_PROBABILITY,
    TwoPoints,
    capacity,
    certain_failure,
    reachable_error,
    shown_at_most,
)
from fedtheory.learning.learners import LEARNERS, failures, from_sklearn
from fedtheory.learning.tails import binomial_tail, log_tail, log_term
from fedtheory.participation import history
from fedtheory.participation.base import Keys
from fedtheory.randomness import Axis

SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def grid():
    return ((M, m, n) for M in SIZES for n in SIZES for m in range(1, M))


def test_the_claimed_probability_on_the_whole_grid() -> None:
    """Every M, n and m: a deterministic learner fails with probability above 9/10, one that draws lots above 9/20."""
    least = 1.0
    for M, m, n in grid():
        problem = TwoPoints(M, m, n)
        shown = math.exp(problem.log_shown())
        assert shown <= float(shown_at_most(problem.spare)) * (1 + 1e-9)
        assert problem.rare_mass > problem.claimed_error
        least = min(least, (1 - shown) / 2)
    assert least > 9 / 20 > float(CLAIMED_PROBABILITY)
    assert least == pytest.approx(0.75 * math.exp(-0.5), abs=3e-5)  # Poisson(1/2) in the limit of many samples, k = 1


def test_exactly_where_fractions_go() -> None:
    for M, m, n in grid():
        if M * n <= 200:
            problem = TwoPoints(M, m, n)
            assert problem.failure("any") > 9 * CLAIMED_PROBABILITY and problem.failure() == 2 * problem.failure("any")
            assert 1 - problem.hidden() <= shown_at_most(problem.spare)
            assert float(1 - problem.hidden()) == pytest.approx(math.exp(problem.log_shown()), rel=1e-11, abs=1e-300)


def test_the_construction_by_enumerating_samples() -> None:
    """The definition, literally: every sample of N points, every learner that returns one of two hypotheses."""
    for M, m, n in ((2, 1, 1), (3, 1, 1), (2, 1, 2), (3, 2, 2)):
        problem = TwoPoints(M, m, n)
        law: dict[int, Fraction] = {}  # number of x_2 among the chosen samples
        for sample in itertools.product((0, 1), repeat=problem.samples):
            weight = math.prod((problem.rare_mass if x else 1 - problem.rare_mass for x in sample), start=Fraction(1))
            seen = sum(sorted(sample)[: m * n])
            law[seen] = law.get(seen, Fraction(0)) + weight
        # where x_2 is seen, a learner may know the target; else it returns one of the two
        values = [max(law[0] * (answer != target) for target in (0, 1)) for answer in (0, 1)]
        assert min(values) == problem.failure()
        assert law[0] / 2 == problem.failure("any")


def test_whole_clients_by_enumeration() -> None:
    for M, m, n in ((2, 1, 1), (3, 1, 2), (3, 2, 2)):
        problem = TwoPoints(M, m, n)
        total = Fraction(0)
        for sample in itertools.product((0, 1), repeat=problem.samples):
            weight = math.prod((problem.rare_mass if x else 1 - problem.rare_mass for x in sample), start=Fraction(1))
            clean = sum(not any(sample[i * n : (i + 1) * n]) for i in range(M))
            total += weight * (clean >= m)
        assert total == problem.hidden_by_clients()
        assert 1 - math.exp(problem.log_shown_by_clients()) == pytest.approx(float(total), rel=1e-12)


def test_samples_and_clients_differ() -> None:
    """Samples chosen one by one can be hidden whatever n is; alike clients cannot, but for a rare point of mass 1/n;
    clients that differ can for certain."""
    for n in (1, 10, 100, 1000):
        by_samples = 1 - math.exp(TwoPoints(4, 2, n).log_shown())
        assert by_samples > 0.9
    assert 1 - math.exp(TwoPoints(4, 2, 1000).log_shown_by_clients()) < 1e-100
    assert TwoPoints(4, 2, 1).hidden_by_clients() == TwoPoints(4, 2, 1).hidden()
    assert 1 - math.exp(TwoPoints(4, 2, 1000, Fraction(1, 10**4)).log_shown_by_clients()) > 0.9
    assert certain_failure(4, 2) == Fraction(1, 2)


def test_one_minus_omega_is_the_limit() -> None:
    """Below (1 - omega) hiding is certain in the limit, above impossible; ERM stays below 1 - omega."""
    for share, expected in ((0.9, 1.0), (1.1, 0.0)):
        p = Fraction(share).limit_denominator(100) * Fraction(1, 2)
        assert 1 - math.exp(TwoPoints(2, 1, 10**6, p).log_shown()) == pytest.approx(expected, abs=1e-9)
    assert float(TwoPoints(2, 1, 50, Fraction(1, 2)).hidden()) >= 0.5
    assert reachable_error(Fraction(1, 2), 2, 10**12, 1e-9) < 0.50001


@pytest.mark.parametrize("spare", range(1, 40))
def test_cantelli_bounds_every_number_of_samples(spare: int) -> None:
    for others in (1, 2, 7, 100):
        problem = TwoPoints(spare + others, others, 1)
        assert 1 - problem.hidden() <= shown_at_most(spare) <= Fraction(1, 5)


# The sampler -----------------------------------------------------------------------------------------------------


def test_the_sampler_keeps_the_contract() -> None:
    process = FewestRare(2, 3, "1/3")
    seen = history(process, clients=5, rounds=4, replicas=50, seed=3)
    assert bool((seen.sum(2) == 2).all()) and bool((seen == seen[0]).all()) and process.sizes(5) == (2, 2)
    alone = process.init(Keys(3, Axis.ARBITRARY, torch.tensor([17]), 5))
    assert torch.equal(alone.counts[0], seen[0, 17])
    with pytest.raises(ValueError, match="clients = 1: allowed is at least the cohort, 2"):
        process.check(1)
    with pytest.raises(ValueError, match="rare_mass = 2"):
        FewestRare(1, 1, 2)
    with pytest.raises(ValueError, match="allowed is at most"):
        FewestRare(1, 10**6, "1/2").init(Keys(0, Axis.ARBITRARY, torch.arange(1000), 10))
    with pytest.raises(ValueError, match="depends on the clients' samples"):
        process.inclusion(5)


def test_the_samplers_moments() -> None:
    process, runs = FewestRare(1, 2, "1/3"), 20_000
    moments = process.marginal(3, 0)
    seen = history(process, clients=3, rounds=1, replicas=runs, seed=1)[0].double()
    assert sum(moments.first) == 1 and moments.second.trace() == 1
    half = math.sqrt(math.log(2 / 1e-6) / (2 * runs))  # Hoeffding, level 1 - 1e-6
    assert np.abs(seen.mean(0).numpy() - moments.first.astype(float)).max() < half
    with pytest.raises(ValueError, match="can be enumerated"):
        process.marginal(13, 0)


@pytest.mark.parametrize("of_clients", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_against_the_sampler(name: str, of_clients: bool) -> None:
    problem, runs = TwoPoints(3, 1, 3), 4000
    hidden = float(problem.hidden_by_clients() if of_clients else problem.hidden())
    seen = failures(problem, LEARNERS[name], runs, seed=5, of_clients=of_clients)
    half = math.sqrt(math.log(2 / 1e-6) / (2 * runs))
    assert abs(seen.hidden / runs - hidden) < half
    expected = hidden * (0.5 if name == "random ties" else 1.0)
    assert seen.worst > expected - half
    assert abs(sum(seen.under_targets) - seen.hidden) == 0 or name == "random ties"
    assert seen.worst > 1 / 20


def test_a_scikit_learn_estimator_fails_too() -> None:
    seen = failures(TwoPoints(2, 1, 3), from_sklearn(DecisionTreeClassifier), runs=300)
    assert seen.under_targets == (0, seen.hidden) and seen.worst > 0.8


# Tails -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("trials", "p", "above"), [(1, 0.5, 0), (30, 0.3, 8), (30, 0.3, 9), (400, 0.01, 3),
                                                    (1000, 0.25, 500), (5000, 0.9, 4600)])  # fmt: skip
def test_tails_by_three_routes(trials: int, p: float, above: int) -> None:
    exact = binomial_tail(trials, p, above)
    assert math.log(exact) == pytest.approx(log_tail(trials, p, above), rel=1e-11, abs=1e-13)
    assert float(exact) == pytest.approx(binom.sf(above, trials, p), rel=1e-8)


def test_tails_of_many_trials() -> None:
    for trials, p, above in ((10**9, 0.1, 10**8 + 20_000), (10**12, 0.25, 25 * 10**10), (10**6, 0.25, 249_000)):
        assert log_tail(trials, p, above) == pytest.approx(binom.logsf(above, trials, p), rel=1e-9, abs=1e-9)
    # 10^12 samples, of which half are left out: Chernoff's bound and, for large deviations, its exponent
    trials, k = 10**12, 5 * 10**11
    kl = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert log_tail(trials, 0.25, k) == pytest.approx(-trials * kl, rel=1e-9)
    assert log_tail(trials, 0.25, k) < -k / 6


def test_ends_of_tails() -> None:
    assert log_tail(5, 0, 2) == -math.inf and log_tail(5, 1, 2) == 0 == log_tail(5, 0.5, -1)
    assert log_tail(5, 0.5, 5) == -math.inf and binomial_tail(5, 1, 4) == 1 == binomial_tail(5, 0.3, -1)
    assert log_term(3, Fraction(1, 2), 0) == pytest.approx(-3 * math.log(2)) == log_term(3, Fraction(1, 2), 3)


def test_bad_input() -> None:
    for m, M in ((0, 3), (3, 3), (4, 3)):
        with pytest.raises(ValueError, match=rf"capacity = {m}/{M}: allowed is a number in \(0, 1\)"):
            TwoPoints(M, m, 1)
    with pytest.raises(ValueError, match="participants = -1"):
        capacity(-1, 2)
    with pytest.raises(ValueError, match="samples_per_client = 0"):
        TwoPoints(2, 1, 0)
    with pytest.raises(ValueError, match=r"rare_mass = 1\.5"):
        TwoPoints(2, 1, 1, 1.5)
    with pytest.raises(ValueError, match="trials = 6000: allowed is at most 5000"):
        TwoPoints(6000, 1, 1).hidden()
    with pytest.raises(ValueError, match="allowed is at most 5000"):
        TwoPoints(6000, 1, 1).hidden_by_clients()
    with pytest.raises(ValueError, match="learner = 'best'"):
        TwoPoints(2, 1, 1).failure("best")
    with pytest.raises(ValueError, match="capacity = 1"):
        reachable_error(1, 2, 3, 0.1)
    with pytest.raises(ValueError, match="confidence = 0"):
        reachable_error(0.5, 2, 3, 0)
