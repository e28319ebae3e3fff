"""The family of a log: the right one where there is one, and none where there is none."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from fedtheory.diagnosis import FamilyChoice, choose_family, rates
from fedtheory.diagnosis.fitted_families import ClientChains, DrawsWithReplacement, WeightedCohorts
from fedtheory.participation import Incomplete, Markov, Multinomial, Uniform, Weighted, history
from fedtheory.participation.examples import examples

from .misfits import MISFITS

CLIENTS, ROUNDS = 100, 1000
ALIKE = {
    "IndexBeta": "Weighted", "IndexGamma": "Weighted", "IndexWeibull": "Weighted", "LargestNoise": "Uniform",
    "Incomplete": "Bernoulli", "RandomPatterns": "Recorded",
}  # fmt: skip
"""Processes that a log does not tell from those of another family."""
PROCESSES = examples(CLIENTS)
RUNS = ("Fixed", "Phases", "Cyclic", "Recorded", "RandomPatterns")
"""Processes whose rounds repeat."""


def logs(name: str, count: int, seed: int) -> np.ndarray:
    """(count, rounds, clients)."""
    drawn = history(PROCESSES[name], CLIENTS, ROUNDS, replicas=count, seed=seed).numpy() > 0
    return np.ascontiguousarray(drawn.transpose(1, 0, 2))


@pytest.mark.parametrize("name", PROCESSES)
def test_the_family_of_a_simulated_log_is_found(name: str) -> None:
    for log in logs(name, 2 if name in RUNS else 1, seed=11):
        found = choose_family(log)
        assert found.name == ALIKE.get(name, name), (found.nearest, found.check, found.log_likelihoods)
        assert found.process is not None and found.process.check(CLIENTS) is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROCESSES)
def test_the_family_is_right_in_95_of_100_logs(name: str) -> None:
    found = Counter(choose_family(log).name for log in logs(name, 200, seed=5))
    assert found[ALIKE.get(name, name)] >= 190, found


@cache
def of_no_family(kind: str) -> FamilyChoice:
    """What is found of one log."""
    return choose_family(MISFITS[kind](np.random.default_rng(7), ROUNDS, CLIENTS))


@pytest.mark.parametrize("kind", MISFITS)
def test_a_log_of_no_family_fits_none(kind: str) -> None:
    found = of_no_family(kind)
    assert found.name == "none" and not found.fits, (found.nearest, found.check)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", MISFITS)
def test_logs_of_no_family_fit_none(kind: str) -> None:
    rng = np.random.default_rng(3)
    assert sum(choose_family(MISFITS[kind](rng, ROUNDS, CLIENTS)).name == "none" for _ in range(50)) >= 49


@pytest.mark.parametrize("seed", range(3))
def test_rare_clients_who_stay_away_of_new_logs_are_no_deviation(seed: int) -> None:
    """Of a thousand clients some seventy never came, and of those who came as many again stay away of a new log."""
    rng = np.random.default_rng(seed)
    log = rng.random((200, 1000)) < rng.beta(1, 9, 1000) / 2
    assert 60 < (~log.any(axis=0)).sum() < 90
    found = choose_family(log)
    assert found.name == "Bernoulli", found.check
    log[::8, 1::2] = log[::8, ::2]  # in one round of eight, neighbours do alike
    assert choose_family(log).name == "none"


def test_a_family_without_its_check_would_fit() -> None:
    """The likelihood alone takes the nearest family for the truth: the check is what says none."""
    found = of_no_family("long_absences")
    assert found.nearest == "Markov" and found.check is not None and found.check.worst == "long absences"


@pytest.mark.parametrize("name", ["Bernoulli", "Markov", "Weighted", "GroupChain", "DayNightGroups"])
def test_intervals_of_rates_cover_at_their_level(name: str) -> None:
    """Of 10 logs; clients of groups err together, so they count as one of ten there."""
    truth = sum(np.asarray(PROCESSES[name].expected(CLIENTS, r), dtype=float) for r in (0, 1)) / 2
    found = [rates(log, level=0.9) for log in logs(name, 10, seed=3)]
    hits = sum(int(((each.low <= truth) & (truth <= each.high)).sum()) for each in found)
    shared = 20 if name.endswith(("Groups", "Chain")) else 1
    assert binom.cdf(hits // shared, 1000 // shared, 0.9) > 1e-3, (name, hits)


def test_intervals_of_independent_rounds_would_not_cover() -> None:
    """Without the correction for memory, chains are covered far too seldom."""
    truth, log = np.asarray(PROCESSES["Markov"].expected(CLIENTS, 0), dtype=float), logs("Markov", 1, seed=3)[0]
    found = rates(log, level=0.9)
    reach = 1.645 * np.sqrt(found.rate * (1 - found.rate) / ROUNDS)
    assert (np.abs(found.rate - truth) <= reach).mean() < 0.7 < (
        (found.low <= truth) & (truth <= found.high)
    ).mean() and found.inflation.mean() > 4


def test_likelihood_of_a_weighted_cohort_is_the_sum_over_orders() -> None:
    family = WeightedCohorts(np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1]], dtype=bool))
    family.weights = np.array([1.0, 2.0, 3.0, 4.0])
    w, total = family.weights, 10.0
    exact = w[0] / total * w[2] / (total - w[0]) + w[2] / total * w[0] / (total - w[2])
    found = family.log_likelihood(np.array([[1, 0, 1, 0]], dtype=bool), 0)
    assert np.exp(found[0]) == pytest.approx(exact, rel=1e-9)  # the trapezoidal rule on a smooth integrand


def test_likelihood_of_draws_with_replacement_is_that_of_inclusion_and_exclusion() -> None:
    family = DrawsWithReplacement(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool), draws=4)
    family.q = np.array([0.2, 0.3, 0.5])
    found = np.exp(family.log_likelihood(np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=bool), 0))
    pair, one = 0.5**4 - 0.2**4 - 0.3**4, 0.5**4
    every = 1 - 0.5**4 - 0.7**4 - 0.8**4 + 0.2**4 + 0.3**4 + 0.5**4
    assert found == pytest.approx([pair, one, every], rel=1e-9)


def test_likelihoods_of_all_next_rounds_add_up_to_one() -> None:
    """Of families that rule out nothing, over all rounds of three clients after a log."""
    rng = np.random.default_rng(1)
    log = rng.random((200, 3)) < [0.2, 0.5, 0.7]
    every = np.array([[k >> i & 1 for i in range(3)] for k in range(8)], dtype=bool)
    from fedtheory.diagnosis.fitted_families import candidates

    seen = []
    for family in candidates(log, np.array([0, 0, 1])):
        if family.name in ("Resampled", "GroupChain", "Mixture"):
            continue  # they leave a little room for what was not seen
        chances = [np.exp(family.log_likelihood(np.vstack([log, row]), len(log)))[0] for row in every]
        assert sum(chances) == pytest.approx(1, abs=1e-9), family.name
        seen.append(family.name)
    assert {"Bernoulli", "Markov", "PoissonGroups", "UniformGroups", "DayNightGroups"} <= {*seen}


def test_the_fitted_process_has_the_clients_in_their_own_order() -> None:
    log = logs("Markov", 1, seed=2)[0]
    log[:, 17] = False
    found = choose_family(log)
    assert found.name == "Markov" and isinstance(found.process, Incomplete) and found.process.absent == (17,)
    fitted = np.asarray(found.process.expected(CLIENTS, 0), dtype=float)
    assert np.abs(fitted - log.mean(axis=0)).max() < 0.05 and np.corrcoef(fitted, log.mean(axis=0))[0, 1] > 0.99
    assert isinstance(found.process.process, Markov) and ClientChains(log[:, :17]).parameters == 34


def test_small_systems_have_families_too() -> None:
    three = history(Weighted(2, [1.0, 2.0, 6.0]), 3, 2000)[:, 0].numpy() > 0
    assert choose_family(three).name == "Weighted"
    draws = history(Multinomial(3, [Fraction(k, 15) for k in range(1, 6)]), 5, 2000)[:, 0].numpy() > 0
    assert choose_family(draws).name == "Multinomial"
    assert choose_family(history(Uniform(2), 5, 300)[:, 0].numpy() > 0).name == "Uniform"


def test_nobody_has_no_family() -> None:
    assert choose_family(np.zeros((100, 3), dtype=bool)).name == "none"
