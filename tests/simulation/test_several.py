"""Several rounds in one call are the rounds one by one, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtheory.algorithms import constant_weights, fast, fedau, fedavg, fedavgm, fedprox, safari
from fedtheory.algorithms.aggregation import AverageParticipating, WeightedSum
from fedtheory.algorithms.algorithm import Algorithm
from fedtheory.federations import Quadratic
from fedtheory.loops.diagonal_sgd import AT_ONCE
from fedtheory.neural import SGD
from fedtheory.participation import Bernoulli, IndexBeta, Uniform
from fedtheory.participation.base import Participation
from fedtheory.setting import Setting
from fedtheory.simulation import fused_rounds
from fedtheory.simulation.fused_rounds import Several
from fedtheory.simulation.iterates import iterates
from fedtheory.simulation.state import Plan

CLIENTS, DIMENSION = 5, 3
LOCAL = {"local_lr": "1/8", "local_steps": 3}
ALGORITHMS: dict[str, Algorithm] = {
    "fedavg": fedavg(**LOCAL),
    "one step": fedavg(local_lr="1/8"),
    "server step": fedavg(**LOCAL, global_lr="3/2"),
    "all": fedavg(**LOCAL, average="all"),
    "proximal": fedprox(**LOCAL, proximal="1/3"),
    "constant": constant_weights(**LOCAL, aggregation_weight=["1/2", "1", "3/2", "1", "1"]),
    "two kinds": fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
    "periodic": fast(**LOCAL, cohort=2, snapshot_period=4),
}
PROCESSES: dict[str, Participation] = {
    "some": Bernoulli(["1/4", "1/2", "1/8", "1/2", "3/4"]),
    "cohorts": Uniform(2),
    "drawn twice": Uniform(3, replacement=True),
    "weighted": IndexBeta(2),
}
NOISES = [None, "two-point", "gaussian", "common two-point"]


def quadratic(noise: str | None = None, common: bool = False, curvature: float = 1.0, dimension: int = DIMENSION):
    rng = np.random.default_rng(0)
    entries = curvature * rng.uniform(0.5, 1, (1 if common else CLIENTS, dimension))
    centres = rng.standard_normal((CLIENTS, dimension))
    noisy = {"gradient_noise": 0.5, "noise": noise} if noise else {}
    return Quadratic(np.tile(entries, (CLIENTS if common else 1, 1)), centres, **noisy)


def seen(setting: Setting, **options: object) -> dict[str, np.ndarray]:
    """All that a run of 7 replicas records."""
    given = {"replicas": 7, "rounds": 61, "record_every": 13, "device": "cpu", "seed": 3, **options}
    run = setting.simulate(**given)
    return {**run.rows, "diverged_at": run.diverged_at}


def both(setting: Setting, patch: pytest.MonkeyPatch, **options: object) -> tuple[list[int], dict, dict]:
    """How many rounds were made in each call, and what is recorded with several in a call and one by one."""
    calls: list[int] = []
    advance = Several.advance

    def counted(self: Several, *given: object) -> tuple[int, list]:
        made, rows = advance(self, *given)
        calls.append(made)
        return made, rows

    patch.setattr(Several, "advance", counted)
    together = seen(setting, **options)
    patch.setattr(Several, "of", lambda plan: None)
    return calls, together, seen(setting, **options)


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_several_rounds_are_the_rounds_one_by_one(
    name: str, noise: str | None, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for process in PROCESSES.values() if name == "fedavg" else [Uniform(2)]:
        for common in (False, True):
            setting = Setting(quadratic(noise, common), ALGORITHMS[name], process, start=[1, -2, 3])
            with monkeypatch.context() as patch:
                calls, together, alone = both(setting, patch, dtype=dtype)
            assert calls[0] > 13 and sum(calls) == 61
            assert_same(together, alone)


def test_what_is_saved_ends_a_call_and_what_is_recorded_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Setting(quadratic("two-point"), ALGORITHMS["fedavg"], Uniform(2))
    with monkeypatch.context() as patch:
        calls, together, _ = both(setting, patch, rounds=20, record_every=6, checkpoint_every=8, directory=tmp_path)
    assert calls == [8, 8, 4]
    with monkeypatch.context() as patch:
        patch.setattr(fused_rounds, "CACHED", 3 * 7 * DIMENSION * 8)
        calls, again, _ = both(setting, patch, rounds=20, record_every=6, checkpoint_every=8, directory=tmp_path / "b")
    assert calls == [3, 3, 2, 3, 3, 2, 3, 1]
    assert_same(together, again)
    assert_same(together, seen(setting, rounds=20, record_every=6))


@pytest.mark.parametrize("observers", [["gap"], ["squared_distance", "squared_gradient", "gap"]])
def test_observers_of_points_look_at_all_of_them(observers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    calls, together, alone = both(
        Setting(quadratic("two-point"), ALGORITHMS["fedavg"], Uniform(2)), monkeypatch, observers=observers
    )
    assert max(calls) > 1
    assert_same(together, alone)


@pytest.mark.parametrize("curvature", [100.0, 1e4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_run_that_diverges_within_a_call(curvature: float, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The round in which each replica is first seen to is that of rounds one by one."""
    setting = Setting(quadratic("two-point", curvature=curvature), ALGORITHMS["fedavg"], Bernoulli(["1/9"] * CLIENTS))
    calls, together, alone = both(setting, monkeypatch, dtype=dtype, rounds=200)
    assert max(calls) > 1 and len(set(together["diverged_at"].tolist())) > 1 and (together["diverged_at"] >= 0).all()
    assert_same(together, alone)


@pytest.mark.parametrize("noise", NOISES)
def test_numbers_that_do_not_fit_a_cache_are_taken_some_at_a_time(
    noise: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds of iterates, without noise at least one; Gaussian noise of one round alone, which is then made by itself;
    pairs in tiles."""
    dimension = AT_ONCE // 2 + 1
    setting = Setting(quadratic(noise, dimension=dimension), ALGORITHMS["fedavg"], Uniform(4))
    _, expected, alone = both(setting, monkeypatch)
    assert_same(expected, alone)
    monkeypatch.undo()
    of_noise = 4 * LOCAL["local_steps"] if noise == "gaussian" else 0
    for rounds in (3, 1, 0):
        with monkeypatch.context() as patch:
            room = 7 * dimension * 8 * (1 + of_noise) * rounds
            patch.setattr(fused_rounds, "CACHED" if noise else "AT_ONCE", room)
            calls, together, _ = both(setting, patch)
        assert max(calls) == (rounds if noise else max(1, rounds))
        assert_same(together, expected)


def test_iterates_are_those_of_other_chunks() -> None:
    setting = Setting(quadratic("two-point"), ALGORITHMS["two kinds"], IndexBeta(2))
    whole = seen(setting)
    assert_same(seen(setting, chunk=2), whole)
    points = iterates(setting, replicas=7, rounds=61, seed=3)  # an observer of its own: one by one
    distance = ((np.asarray(points[-1]) - setting.federation.optimum.numpy()) ** 2).sum(1)
    np.testing.assert_allclose(distance, whole["squared_distance"][:, -1], rtol=1e-14)


OTHERS = {
    "what is remembered": (quadratic(), fedau(**LOCAL), Uniform(2), {}),
    "a server with momentum": (quadratic(), fedavgm(**LOCAL, momentum="1/2"), Uniform(2), {}),
    "server rounds": (quadratic(), safari(**LOCAL, client_round_probability="1/2", server_lr="1/4"), Uniform(2), {}),
    "dense Hessians": (Quadratic([[[2, 1], [1, 2]]] * CLIENTS, [[0, 1]] * CLIENTS), fedavg(**LOCAL), Uniform(2), {}),
    "noise that depends on x": (quadratic("one-sided two-point"), fedavg(**LOCAL), Uniform(2), {}),
    "a solver with momentum": (quadratic(), fedavg(**LOCAL).trained_by(SGD(momentum=0.9)), Uniform(2), {}),
    "an observer of training": (
        quadratic(),
        fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
        Uniform(2),
        {"observers": ["peaks", "gap"]},
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_rounds_are_made_one_by_one(what: str) -> None:
    federation, algorithm, process, options = OTHERS[what]
    plan = Plan.of(Setting(federation, algorithm, process), rounds=10, **options)
    assert Several.of(plan) is None


def test_a_federation_of_ones_own_is_asked_for_every_round() -> None:
    class Own(Quadratic):
        pass

    setting = Setting(Own([[1.0, 2.0]], [[0.0, 1.0]]), fedavg(**LOCAL), Uniform(1))
    assert Several.of(Plan.of(setting, rounds=10)) is None


def test_a_weighted_sum_with_a_step_of_its_own_is_asked_for_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(Quadratic([[1.0, 2.0]], [[0.0, 1.0]]), fedavg(**LOCAL), Uniform(1))
    assert Several.of(Plan.of(setting, rounds=10)) is not None

    def step(self: AverageParticipating, updates: Any, memory: Any) -> Any:
        return WeightedSum.step(self, updates, memory)

    monkeypatch.setattr(AverageParticipating, "step", step)
    assert Several.of(Plan.of(setting, rounds=10)) is None
