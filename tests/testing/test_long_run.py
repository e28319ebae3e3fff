"""The statistic of means: what it finds, and what it lets pass, over seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedtheory.testing import LongRunMeanError, VarianceScaleError, check_weight_estimator
from fedtheory.testing.long_run import (
    EACH,
    LARGEST,
    ROUNDS,
    WANTED,
    Mean,
    _adjusted,
    check_means,
    check_variance,
    samples,
)
from fedtheory.testing.presence import KINDS, bernoulli, draw
from fedtheory.testing.weight_rule_inputs import accepted
from fedtheory.weights import ExponentialAverage, FedAU, KnownStatistics, Shared

SEEDS = 3
"""Here; docs/testing.md tells of 200."""


def ratio(a: float, b: float):
    def batch(history):
        before = np.cumsum(history, axis=0, dtype=float) - history
        return (np.arange(len(history))[:, None] + a) / (before + b)

    return batch


def slow(history):
    """An average that forgets 1% an interval, and begins with 1."""
    weights, age, weight = np.empty(history.shape), np.zeros(history.shape[1:]), np.ones(history.shape[1:])
    for t, here in enumerate(history):
        weights[t], age = weight, age + 1
        weight, age = np.where(here, weight + 0.01 * (age - weight), weight), np.where(here, 0, age)
    return weights


RIGHT = {"ratio": ratio(1, 1), "other beginning": ratio(2, 2), "far beginning": ratio(30, 3),
         "very far beginning": ratio(100, 100), "slow": slow,
         "last interval": ExponentialAverage(1.0)}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_pass_for_every_seed(name: str) -> None:
    for seed in range(SEEDS):
        told = check_means(accepted(RIGHT[name]), "1/p", (0.02, 0.1, 0.3, 0.8), False, seed, EACH)
        assert len(told) == 8 + (name != "last interval")  # which says that it averages intervals


@pytest.mark.parametrize("factor", [1.02, 0.98])
def test_a_bias_of_2_percent_is_found_under_every_kind_of_participation(factor: float) -> None:
    chains = [kind(0.1) for kind in (bernoulli, *KINDS)]
    for seed in range(SEEDS):
        history, chances = draw(chains, EACH, ROUNDS, seed)
        counted = factor * chances * FedAU().batch(history)
        for i, chain in enumerate(chains):
            columns = slice(i * EACH, (i + 1) * EACH)
            seen = Mean(history[:, columns], counted[:, columns], chain)
            assert not seen.fits and seen.mean == pytest.approx(factor, abs=0.01), chain.name


def test_a_mean_is_adjusted_by_what_is_known() -> None:
    rng = np.random.default_rng(0)
    known = rng.normal(size=64)
    plain, wide = _adjusted(5 + known, np.zeros(64))
    mean, error = _adjusted(5 + known + 0.01 * rng.normal(size=64), known)
    assert abs(mean - 5) < 6 * error < 0.02 < wide and plain == pytest.approx((5 + known).mean())


def test_targets() -> None:
    twice = lambda history: 2 * ratio(1, 1)(history)  # noqa: E731
    one = check_weight_estimator(twice, lambda p: 2 / p, participation_probability=0.3)
    assert [name for name in one if "under" in name] == ["mean under Bernoulli participation with p = 0.3"]
    with pytest.raises(LongRunMeanError):
        check_weight_estimator(twice, lambda p: 3 / p, participation_probability=0.3)
    assert check_weight_estimator(ExponentialAverage(0.3, 4), "declared", participation_probability=0.3)
    for target, message in (("declared", "the rule has no long_run"), ("2/p", "target = '2/p': allowed is")):
        with pytest.raises(ValueError, match=message):
            check_weight_estimator(twice, target)


def test_a_rule_that_knows_p_is_asked_at_its_own_p_alone() -> None:
    assert any("Markov" in name for name in check_weight_estimator(KnownStatistics(0.3)))
    with pytest.raises(LongRunMeanError):
        check_weight_estimator(KnownStatistics(0.3), participation_probability=0.5)


def test_clients_that_share_with_nobody_are_right() -> None:
    """`Shared` is of so many clients, and a client's weight is its group's: each for itself, it is the rule."""
    alone = lambda history: Shared(FedAU(4), list(range(history.shape[-1]))).batch(history)  # noqa: E731
    few = alone(np.eye(5, 3))
    assert (few == FedAU(4).batch(np.eye(5, 3))).all()


def test_a_slow_average_whose_variance_still_falls_is_no_wrong_one() -> None:
    """At p = 0.3 and a smoothing of 1% the variance after 800 rounds is 2.6 times its limit."""
    check_variance(accepted(ExponentialAverage(0.01)), 0.3, 0, 1000)


def test_a_variance_that_is_stated_too_small_is_found() -> None:
    rule = accepted(ExponentialAverage(0.2))
    stated = lambda p: rule.long_run(p)._replace(variance=0.4 * rule.long_run(p).variance)  # noqa: E731
    with pytest.raises(VarianceScaleError):
        check_variance(replace(rule, long_run=stated), 0.3, 0, 1000)


def test_a_noisy_rule_is_given_more_clients_and_states_what_they_find() -> None:
    rule, chain = accepted(ExponentialAverage(0.2)), bernoulli(0.1)
    (few,) = samples(rule, [chain], [1.0], 0, EACH)
    (seen,) = samples(rule, [chain], [1.0], 0, LARGEST * EACH)
    assert few.stated() > WANTED == seen.stated() and few.clients == EACH < seen.clients
    for factor in (1 + seen.stated(), 1 - seen.stated()):
        wrong = replace(rule, batch=lambda history, by=factor: by * rule.batch(history))
        assert not next(samples(wrong, [chain], [1.0], 1, LARGEST * EACH)).fits
