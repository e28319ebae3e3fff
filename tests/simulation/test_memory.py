"""What a simulation of quadratics holds: predicted with everything in it, and kept below a limit; tensors, counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedtheory import algorithms
from fedtheory.algorithms.algorithm import Algorithm
from fedtheory.federations import Quadratic, linear_training
from fedtheory.federations.memory_ledger import peak_bytes
from fedtheory.participation import Fixed, IndexBeta, Participation, Uniform
from fedtheory.setting import Setting
from fedtheory.simulation import memory_limits
from fedtheory.simulation.fused_rounds import Several
from fedtheory.simulation.memory_limits import Needs, chunks
from fedtheory.simulation.state import Plan

CLIENTS, DIMENSION, REPLICAS = 60, 12, 60
STEPS = {"local_lr": 0.05, "local_steps": 2}
PEAKS = algorithms.fast(**STEPS, cohort=6, snapshot_period=1)
CASES = {
    "dense": ("dense", "two-point", algorithms.fedavg(**STEPS), Uniform(CLIENTS), ["squared_distance"]),
    "few": ("diagonal", "gaussian", algorithms.fedavg(**STEPS), Uniform(6), ["squared_gradient"]),
    "remembered": ("diagonal", "two-point", algorithms.fedvarp(**STEPS), Uniform(CLIENTS), ["squared_distance"]),
    "peaks": ("diagonal", "two-point", PEAKS, Fixed(range(6)), ["peaks"]),
    "each client's": ("diagonal", "two-point", algorithms.fedau(**STEPS, cutoff=5), Uniform(6), ["weights"]),
}  # fmt: skip


def setting(hessians: str, noise: str | None, algorithm: Algorithm, who: Participation) -> Setting:
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((CLIENTS, DIMENSION, DIMENSION)) / 4
    matrices = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(DIMENSION)
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    given = matrices if hessians == "dense" else rng.uniform(0.1, 1, (CLIENTS, DIMENSION))
    noisy = {"gradient_noise": 0.5, "noise": noise} if noise else {}
    return Setting(Quadratic(given, rng.standard_normal((CLIENTS, DIMENSION)), **noisy), algorithm, who)


@pytest.mark.parametrize("name", list(CASES))
def test_what_is_predicted_is_held_and_a_limit_is_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Several, "of", lambda plan: None)
    *what, observers = CASES[name]
    this = setting(*what)
    options = {"replicas": REPLICAS, "rounds": 3, "observers": observers, "record_every": 1, "device": "cpu"}
    plan = Plan.of(this, 3, 0, 1, observers)
    together, pairs = chunks(plan, REPLICAS, 2**30)
    needs = Needs.of(plan, 2**30)
    predicted = needs.bytes(REPLICAS, together, pairs or together * needs.most)
    peak = peak_bytes(lambda: this.simulate(**options))
    assert peak <= predicted <= 6 * peak + needs.drawn_ahead(together)
    least = needs.bytes(REPLICAS, 1, 1)
    limit = least + (predicted - least) // 3
    assert chunks(plan, REPLICAS, limit) != (together, pairs)
    assert peak_bytes(lambda: this.simulate(**options, memory_limit=limit)) <= limit
    with pytest.raises(ValueError, match=f"memory_limit = {least - 1}: one replica .* needs {least} bytes, .* allowed"):
        this.simulate(**options, memory_limit=least - 1)


@pytest.mark.parametrize("observers", [["squared_gradient"], ["squared_distance", "squared_gradient", "gap"]])
@pytest.mark.parametrize("noise", [None, "two-point", "gaussian"])
def test_several_rounds_in_one_call_hold_what_is_predicted(noise: str | None, observers: list[str]) -> None:
    this = setting("diagonal", noise, algorithms.fedavg(**STEPS), Uniform(6))
    plan = Plan.of(this, 400, 0, 400, observers)
    assert Several.of(plan) is not None
    needs = Needs.of(plan, 2**30)
    together, pairs = chunks(plan, REPLICAS, 2**30)
    peak = peak_bytes(lambda: this.simulate(replicas=REPLICAS, rounds=400, record_every=400, observers=observers,
                                            device="cpu"))  # fmt: skip
    predicted = needs.bytes(REPLICAS, together, pairs or together * needs.most)
    assert peak <= predicted <= 6 * peak + needs.drawn_ahead(together)


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("steps", [2, 50])
@pytest.mark.parametrize("who", [IndexBeta(2), Uniform(5)])
def test_rounds_that_are_drawn_ahead_are_predicted(
    who: Participation, steps: int, one_by_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few clients hundreds of rounds are, which is more than all that a round takes."""
    if one_by_one:
        monkeypatch.setattr(Several, "of", lambda plan: None)
    fed = Quadratic(np.ones((5, 2)), np.arange(10.0).reshape(5, 2), 0.5)
    this = Setting(fed, algorithms.fedavg(local_lr=0.05, local_steps=steps), who)
    needs = Needs.of(Plan.of(this, 200, 0, 200, ["squared_distance"]), 2**30)
    options = {"replicas": 32, "rounds": 200, "record_every": 200, "observers": ["squared_distance"], "device": "cpu"}
    peak, predicted = peak_bytes(lambda: this.simulate(**options)), needs.bytes(32, 32, 32 * needs.most)
    assert predicted - needs.drawn_ahead(32) < peak <= predicted <= 4 * peak
    limit = (needs.bytes(32, 1, 1) + predicted) // 2
    assert peak_bytes(lambda: this.simulate(**options, memory_limit=limit)) <= limit


def test_tensors_are_counted_in_lists_and_tuples_too() -> None:
    """Those that were there before are not, nor what only views them."""
    square = torch.eye(10, dtype=torch.float64)
    assert peak_bytes(lambda: torch.linalg.eigh(square)) == 80 + 800
    assert peak_bytes(lambda: torch._foreach_add([square, square], 1.0)) == 2 * 800
    assert peak_bytes(lambda: square.split(5)) == 0
    assert peak_bytes(lambda: [torch.cat([square, square]) for _ in range(3)]) == 3 * 1600
    assert peak_bytes(lambda: torch.cat([square, square]).add(1).add(1)) == 2 * 1600


def test_points_of_rounds_that_are_made_at_once_are_predicted() -> None:
    """Of few clients, whose draws take less."""
    fed = Quadratic(np.ones((2, 200)), np.arange(400.0).reshape(2, 200))
    this = Setting(fed, algorithms.fedavg(local_lr=0.05, local_steps=2), Uniform(1))
    plan = Plan.of(this, 400, 0, 400, ["squared_distance"])
    needs, several = Needs.of(plan, 2**30), Several.of(plan)
    options = {"replicas": 8, "rounds": 400, "record_every": 400, "observers": ["squared_distance"], "device": "cpu"}
    peak, predicted = peak_bytes(lambda: this.simulate(**options)), needs.bytes(8, 8, 8)
    assert several is not None and predicted - several.held(8) < peak <= predicted <= 4 * peak


def test_what_is_recorded_counts() -> None:
    """The rows of all replicas, and the segments that they are put together from."""
    *what, observers = CASES["each client's"]
    this = setting(*what)
    run = this.simulate(replicas=9, rounds=8, record_every=2, observers=observers, device="cpu")
    rows = sum(values.nbytes for values in run.rows.values())
    needs = Needs.of(Plan.of(this, 8, 0, 2, observers), 2**30)
    assert 2 * rows <= needs.bytes(9, 0, 0) - needs.base <= 3 * rows


def test_pairs_stay_in_the_cache_and_runs_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    *what, observers = CASES["dense"]
    this = setting(*what)
    options = {"replicas": 20, "rounds": 4, "observers": observers, "device": "cpu"}
    wanted = this.simulate(**options).rows["squared_distance"]
    monkeypatch.setattr(linear_training, "CACHE", 64 * 2 * 8 * DIMENSION // linear_training.MORE)  # two steps
    assert chunks(Plan.of(this, 4), 20, 2**30) == (20, 64)
    np.testing.assert_allclose(this.simulate(**options).rows["squared_distance"], wanted, rtol=1e-12)


def test_by_default_the_split_is_that_of_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is free: else the same seed would give other bits. What does not fit is refused by name."""
    this = setting(*CASES["dense"][:-1])
    runs = []
    for free in (2**40, 16 * 2**30, 600 * 2**20):
        monkeypatch.setattr(memory_limits, "_free", lambda free=free: free)
        runs.append(this.simulate(replicas=9, rounds=2, device="cpu"))
    assert all((run.rows["squared_distance"] == runs[0].rows["squared_distance"]).all() for run in runs)
    assert all(run.where == runs[0].where for run in runs)
    plan = Plan.of(this, 2)
    held = Needs.of(plan, memory_limits.LIMIT).bytes(9, 9, 9 * Needs.of(plan, memory_limits.LIMIT).most)
    monkeypatch.setattr(memory_limits, "_free", lambda: held - 1)
    wrong = rf"memory_limit = None, of {held - 1} bytes that are free: .* needs {held} bytes; .*--memory-limit"
    with pytest.raises(ValueError, match=wrong):
        chunks(plan, 9)
    assert chunks(plan, 9, held - 1) != chunks(plan, 9, held)


def test_what_is_free_is_read_or_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limits.Path, "read_text", lambda path: "MemTotal: 9 kB\nMemAvailable:       7 kB\n")
    assert memory_limits._free() == 7 * 1024
    monkeypatch.setattr(memory_limits.Path, "read_text", lambda path: "")
    assert memory_limits._free() == 4 * memory_limits.LIMIT
