"""Participants that change between phases: the process, its exact moments, its peaks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import torch

from fedtheory.algorithms import fast
from fedtheory.federations import Quadratic
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.moments.linear_rounds import second_moment_map
from fedtheory.moments.one_round import one_round
from fedtheory.moments.round_maps import initial_moments, observable_weights
from fedtheory.moments.timeline import schedule
from fedtheory.moments.trajectory import peaks, trajectory
from fedtheory.participation import Fixed, Keys, Phases
from fedtheory.randomness import Axis
from fedtheory.setting import Setting

THREE = [["1/2"], [2], [1]], [["3/2"], [-1], [0]]


# The process.


@pytest.mark.parametrize(("cyclic", "expected"), [(False, [0, 0, 1, 1, 1, 2, 2, 2]), (True, [0, 0, 1, 1, 1, 2, 0, 0])])
def test_steps_follow_the_phases(cyclic: bool, expected: list[int]) -> None:
    process = Phases([[0, 2], [1, 2], [3, 0]], [2, 3, 1], cyclic)
    assert process.cohort == 2 and process.deterministic
    state = process.init(Keys(0, Axis.ARBITRARY, torch.arange(2), 4))
    for r, phase in enumerate(expected):
        counts, state = process.step(state, r)
        assert [row.nonzero().ravel().tolist() for row in counts] == [sorted(process.sets[phase])] * 2
    assert process.phase(np.arange(len(expected))).tolist() == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Phases([], []), r"sets = \[\]: allowed are one or more, all of one size"),
        (lambda: Phases([[0], [1, 2]], [1, 1]), r"sets = .*all of one size"),
        (lambda: Phases([[0, 0]], [1]), r"members = \[0, 0\]: .*distinct"),
        (lambda: Phases([[0], [1]], [1]), r"lengths = \[1\]: allowed are 2 integers >= 1, one for each set"),
        (lambda: Phases([[0], [1]], [0, 1]), r"lengths = \[0, 1\]: allowed are 2 integers >= 1"),
        (lambda: Phases([[0], [1]], [1.5, 1]), r"lengths = \[1\.5, 1\]: allowed are"),
        (lambda: Phases([[0], [4]], [1, 1]).check(4), r"members = \[4\]: client 4 is not in 0 to 3"),
        (lambda: Phases([[0], [1]], [1, 1]).inclusion(2), r"sets = .*the moments of a round differ between phases"),
    ],
)
def test_errors(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_one_phase_is_a_fixed_set() -> None:
    phases, fixed = Phases([[2, 0]], [7]).inclusion(3), Fixed([2, 0]).inclusion(3)
    assert (phases.first == fixed.first).all() and (phases.second == fixed.second).all()


# Exact moments.


PHASES = {
    "switch, coin": (Phases([[0], [2]], [2, 1]), {"snapshot_probability": "2/5"}),
    "switch, periodic": (Phases([[0, 1], [1, 2], [0, 2]], [2, 4, 1]), {"snapshot_period": 2}),
    "cycle, coin": (Phases([[2], [0], [1]], [1, 2, 1], cyclic=True), {"snapshot_probability": "1/3"}),
    "cycle, periodic": (Phases([[0], [1]], [3, 6], cyclic=True), {"snapshot_period": 3}),
    "cycle, no snapshots": (Phases([[0], [1]], [1, 1], cyclic=True), {"snapshot_probability": 0}),
}


@pytest.mark.parametrize(("process", "snapshots"), PHASES.values(), ids=PHASES)
def test_phases_against_one_operator_a_round(process: Phases, snapshots: dict) -> None:
    """The same operators, picked and applied one after another."""
    rounds = 23
    algorithm = fast(cohort=2, local_lr="1/4", local_steps=2, **snapshots)
    setting = Setting(Quadratic(*THREE, "1/2"), algorithm, process, [2])
    weights = observable_weights(setting.federation)
    state, distances, gradients = initial_moments(setting), [], []
    for r in range(rounds):
        distances.append(weights["squared_distance"] @ state)
        gradients.append(weights["squared_gradient"] @ state)
        members = process.sets[process.phase(np.array([r]))[0]]
        plan = schedule(replace(setting, participation=Fixed(members)), second_moment_map)
        state = (plan.first if r % plan.period == 0 else plan.rest) @ state
    found = setting.exact(range(rounds))
    np.testing.assert_allclose(found.squared_distance, distances, rtol=1e-12)  # rounding
    np.testing.assert_allclose(found.squared_gradient, gradients, rtol=1e-12)
    np.testing.assert_allclose(found.gradient_sum, np.cumsum([0, *gradients[:-1]]), rtol=1e-12)


def test_phases_over_a_long_horizon() -> None:
    """One client after another for ever, without noise: the limit solves x = the round maps one after another."""
    setting = Setting(
        Quadratic([[1], [1]], [[1], [-1]]), fast(cohort=1, local_lr="1/2", snapshot_probability=0),
        Phases([[0], [1]], [1, 1], cyclic=True), 5,
    )  # fmt: skip
    # x -> (x + 1)/2 -> (x + 1)/4 - 1/2 = x has the solution x = -1/3; after one more round it is 1/3.
    assert setting.exact([10**8, 10**8 + 1]).squared_distance == pytest.approx([1 / 9, 1 / 9])


def test_phases_that_cut_a_period() -> None:
    """Snapshots of everyone every other round, and x -> (3 x + c)/4 for the one client of a phase."""
    algorithm = fast(cohort=2, local_lr="1/4", snapshot_period=2)
    fed = Quadratic.common_hessian([1, -1])
    for process in (Phases([[0], [1]], [3, 1]), Phases([[0], [1]], [2, 3], cyclic=True)):
        x, squares = F(5), []
        for r in range(12):
            squares.append(x * x)
            goal = F(0) if r % 2 == 0 else F(1) if 0 in process.sets[int(process.phase(np.array(r)))] else F(-1)
            x = (3 * x + goal) / 4
        assert Setting(fed, algorithm, process, 5).exact(range(12), exact=True).squared_distance.tolist() == squares


# Deterministic runs and single rounds.


@pytest.mark.parametrize(
    "process", [Phases([[0], [2]], [4, 1]), Phases([[1, 2], [0, 1]], [2, 4], cyclic=True)], ids=["switch", "cycle"]
)
def test_peaks_of_a_plain_run(process: Phases) -> None:
    """The clients one by one, with two local steps."""
    fed, eta, rounds = Quadratic(*THREE), 0.25, 15
    algorithm = fast(cohort=3, local_lr="1/4", local_steps=2, snapshot_period=2)
    setting = Setting(fed, algorithm, process, [-3])
    x, errors, largest = -3.0, [], [0.0, 0.0]
    for r in range(rounds):
        errors.append(x - float(fed.exact_optimum[0]))
        who = range(3) if r % 2 == 0 else process.sets[process.phase(np.array([r]))[0]]
        sums = []
        for i in who:
            h, c = float(fed.exact_hessians[i, 0, 0]), float(fed.exact_centres[i, 0])
            sums.append(h * (x - c) + h * (x - eta * h * (x - c) - c))
        largest[r % 2] = max(largest[r % 2], np.mean(sums) ** 2)
        x -= eta * np.mean(sums)
    assert trajectory(setting, rounds - 1)[:, 0] == pytest.approx(errors, rel=1e-12)
    assert list(peaks(setting, rounds).values()) == pytest.approx([largest[0], largest[1], largest[0]], rel=1e-12)


def test_a_single_round_is_of_the_first_phase() -> None:
    algorithm = fast(cohort=3, local_lr="1/4", snapshot_probability="1/3")
    setting = Setting(Quadratic(*THREE, "1/2"), algorithm, Phases([[1], [0]], [1, 1], cyclic=True), [2])
    assert one_round(setting, exact=True) == one_round(replace(setting, participation=Fixed([1])), exact=True)
    expected = setting.exact([1]).squared_distance[0]
    assert one_round(setting).left(FINAL_SQUARED_DISTANCE) == pytest.approx(expected, rel=1e-12)
