"""FAST's description: which rounds are snapshots, Algorithm 2's probabilities, what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtheory.algorithms import Fast, fast
from fedtheory.federations import Logistic, random_quadratic
from fedtheory.papers import claim
from fedtheory.participation import Fixed, Keys
from fedtheory.randomness import Axis
from fedtheory.setting import Setting

REPLICAS = torch.arange(1000)
KEYS = Keys(seed=3, axis=Axis.SNAPSHOT, replica_ids=REPLICAS, clients=4)


def some_fast(**rule: object) -> Fast:
    return fast(cohort=2, local_lr="1/100", **rule)


def probabilities(algorithm: Fast, accuracies: list[float]) -> list[float]:
    """q_0, q_1, ... of one replica whose training accuracies are these."""
    q, before = torch.zeros(1).double(), torch.zeros(1).double()
    sequence = [q.item()]
    for accuracy in accuracies:
        now = torch.tensor([accuracy], dtype=torch.float64)
        q, before = algorithm.next_probability(q, before, now), now
        sequence.append(q.item())
    return sequence


# The three rules.


def test_a_period_is_its_share():
    algorithm = some_fast(snapshot_period=4)
    assert algorithm.snapshot_probability == Fraction(1, 4) and algorithm.periodic and not algorithm.adaptive
    assert [bool(algorithm.is_first(KEYS, r).all()) for r in range(9)] == [r % 4 == 0 for r in range(9)]
    assert replace(algorithm, snapshot_period=5).snapshot_probability == Fraction(1, 5)


def test_a_fixed_probability_is_kept_exactly():
    algorithm = some_fast(snapshot_probability="1/3")
    assert algorithm.snapshot_probability == Fraction(1, 3) and not algorithm.periodic and not algorithm.adaptive
    # Each of 10^4 draws with probability 1/3: a share off by 0.02 has probability 2e-5.
    share = torch.stack([algorithm.is_first(KEYS, r) for r in range(10)]).double().mean()
    assert abs(share - 1 / 3) < 0.02


def test_an_adaptive_probability_is_each_replicas_own():
    algorithm = some_fast(adaptivity=1)
    assert algorithm.adaptive and not algorithm.periodic and algorithm.adaptivity == 1
    q = torch.where(REPLICAS % 2 == 0, 0.0, 1.0).double()
    assert torch.equal(algorithm.is_first(KEYS, 7, q), REPLICAS % 2 == 1)
    # the same draws as with a fixed probability
    same = algorithm.is_first(KEYS, 7, torch.full((1000,), 0.25).double())
    assert torch.equal(same, some_fast(snapshot_probability=0.25).is_first(KEYS, 7))


# Algorithm 2.


def test_a_worked_sequence():
    """Adaptivity 2: q_1 = max(0, 0 - 2/2) = 0, then + 2/4, + 2/8, - 2/16, + 2/16, - 2 * 3/4 (which ends at 0), - 0."""
    accuracies = [1 / 2, 1 / 4, 1 / 8, 3 / 16, 1 / 8, 7 / 8, 7 / 8]
    expected = [0, 0, 1 / 2, 3 / 4, 5 / 8, 3 / 4, 0, 0]
    assert probabilities(some_fast(adaptivity=2), accuracies) == expected


def test_both_ends():
    """A fall of 3/4 at adaptivity 2 asks for q = 3/2, and counts as 1: a rise of 1/4 takes 1/2 from 1, not from 3/2."""
    assert probabilities(some_fast(adaptivity=2), [1, 1 / 4, 1 / 2]) == [0, 0, 1, 1 / 2]
    # A rise of 3/4 at q = 0 asks for -3/2, and counts as 0: the fall of 1/4 that follows leads to 1/2.
    assert probabilities(some_fast(adaptivity=2), [0, 3 / 4, 1 / 2]) == [0, 0, 0, 1 / 2]


def test_adaptivity_zero_means_no_snapshots():
    assert probabilities(some_fast(adaptivity=0), [1, 0, 1, 0.5, 0]) == [0] * 6
    assert not some_fast(adaptivity=0).is_first(KEYS, 5, torch.zeros(1000).double()).any()


@given(st.lists(st.integers(0, 16), max_size=12), st.sampled_from(["0", "1/4", "1", "3/2", "7"]))
def test_sequences_are_algorithm_2(sixteenths, adaptivity):
    """As printed, in Fractions, with its Delta; sixteenths times quarters are exact in float64."""
    q, delta, expected = Fraction(0), Fraction(0), [Fraction(0)]
    for accuracy in (Fraction(n, 16) for n in sixteenths):
        delta -= accuracy
        q = min(Fraction(1), max(Fraction(0), q + Fraction(adaptivity) * delta))
        delta = accuracy
        expected.append(q)
    assert probabilities(some_fast(adaptivity=adaptivity), [n / 16 for n in sixteenths]) == expected


def test_the_largest_adaptivity_is_no_nan():
    largest = some_fast(adaptivity=1.7e308)
    assert probabilities(largest, [1, 0, 0, 1]) == [0, 0, 1, 1, 0]


# What adaptive snapshots do not have.


def adaptive_setting(federation: object) -> Setting:
    return Setting(federation, some_fast(adaptivity="1/2"), Fixed([0]), start=1.0)


LOGISTIC = Logistic([[[1.0]], [[1.0]]], [[0], [1]], l2=1.0)


@pytest.mark.parametrize("federation", [random_quadratic(2, 2), LOGISTIC], ids=["quadratic", "logistic"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.quantities(),
        lambda s: s.quantities(rounds=3, needed=["smoothness"]),
        lambda s: claim("fast.thm2").at(s, rounds=10),
        lambda s: s.algorithm.snapshot_probability,
        lambda s: s.algorithm.is_first(KEYS, 3),
    ],
)
def test_claims_have_no_q_in_adaptive_runs(federation, ask):
    with pytest.raises(ValueError, match=r"^snapshot_probability has no value: with adaptivity = 1/2 it depends on"):
        ask(adaptive_setting(federation))


def test_no_exact_errors_of_adaptive_runs():
    with pytest.raises(ValueError, match=r"^snapshot_probability has no value: with adaptivity = 1/2 it depends on"):
        adaptive_setting(random_quadratic(2, 2)).exact([3])


# What is refused.


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "adaptivity, snapshot_period and snapshot_probability: give exactly one of them"),
        ({"adaptivity": 1, "snapshot_period": 2}, "give exactly one of them"),
        ({"adaptivity": 0, "snapshot_probability": 0}, "give exactly one of them"),
        ({"snapshot_period": 2, "snapshot_probability": 0.5}, "give exactly one of them"),
        ({"adaptivity": 1, "snapshot_period": 2, "snapshot_probability": 0.5}, "give exactly one of them"),
        ({"adaptivity": -1}, "adaptivity = -1: allowed is a finite number >= 0"),
        ({"adaptivity": "-1/1000"}, "adaptivity = -1/1000: allowed is a finite number >= 0"),
        ({"adaptivity": float("nan")}, "adaptivity = nan: allowed is a finite number"),
        ({"adaptivity": float("inf")}, "adaptivity = inf: allowed is a finite number"),
        ({"adaptivity": "1e400"}, "adaptivity = 1e400: allowed is a finite number >= 0"),
        ({"adaptivity": "often"}, "adaptivity = 'often': allowed is a finite number"),
        ({"snapshot_period": 0}, "snapshot_period = 0.0: allowed is an integer >= 1"),
        ({"snapshot_period": 1.5}, "snapshot_period = 1.5: allowed is an integer >= 1"),
        ({"snapshot_probability": 1.5}, "snapshot_probability = 1.5: allowed is a number in [0, 1]"),
        ({"snapshot_probability": float("nan")}, "snapshot_probability = nan: allowed is a finite number"),
        ({"snapshot_period": 2, "local_lr": 0}, "local_lr = 0.0: allowed is a finite number > 0"),
        ({"snapshot_period": 2, "cohort": 0}, "cohort = 0.0: allowed is an integer >= 1"),
        ({"adaptivity": 1, "local_steps": 0}, "local_steps = 0.0: allowed is an integer >= 1"),
    ],
)
def test_wrong_arguments_are_named(rule, message):
    with pytest.raises(ValueError) as error:
        fast(**({"cohort": 2, "local_lr": "1/100"} | rule))
    assert message in str(error.value)
