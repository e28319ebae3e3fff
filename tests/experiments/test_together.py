"""``fedtheory run --together``: seeds of a setting advance in one batch, and end as runs alone do."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtheory.experiments import sweeps
from fedtheory.experiments.commands import RunOptions, run_files
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.sweeps import perform_all
from fedtheory.experiments.work_units import LOCK, units_of
from fedtheory.files import locked
from fedtheory.simulation import packed_runs

FILE = """
title = "seeds together"
[federation]
kind = "Network"
dataset = "digits"
model = { kind = "multinomial_logistic", features = 64 }
partition = { kind = "Dirichlet", clients = 5, alpha = 0.5, test = 0.2 }
batch_size = 8
[algorithm]
kind = "fedavg"
local_lr = 0.1
local_steps = 2
[participation]
kind = "Uniform"
cohort = 2
[run]
rounds = 8
seeds = [0, 1, 2]
seeded = ["federation.partition.seed"]
record_every = 2
checkpoint_every = 2
[grid]
"algorithm.local_lr" = [0.1, 0.2]
"""


def written(folder: Path, text: str = FILE) -> Path:
    path = folder / "file.toml"
    path.write_text(text)
    return path


def numbers(path: Path, store: Path, **options: Any) -> dict[tuple[str, int], Any]:
    experiment = read_experiment(path)
    outcome = perform_all(units_of(experiment, experiment.points(), store), **options)
    assert not outcome.failed
    return {(unit.point, unit.seed): result["rows"] for unit, result in outcome.results.items()}


def test_results_are_those_of_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, batches = written(tmp_path), []
    real = packed_runs.simulate_table
    monkeypatch.setattr(packed_runs, "simulate_table", lambda *a, **k: batches.append(a[1]) or real(*a, **k))
    alone = numbers(path, tmp_path / "alone")
    assert not batches
    together = numbers(path, tmp_path / "together", together=True)
    assert batches == [[0, 1, 2], [0, 1, 2]] and together.keys() == alone.keys() and len(alone) == 6
    for unit, rows in alone.items():
        assert rows.keys() == together[unit].keys()
        for name, values in rows.items():  # float32 scores of several models in one product
            np.testing.assert_allclose(together[unit][name], values, rtol=1e-6, atol=1e-7)
    assert together[("local_lr=0.1", 0)] != together[("local_lr=0.1", 1)]
    numbers(path, tmp_path / "together", together=True)
    assert len(batches) == 2  # what is done is read


def test_methods_in_one_batch_have_the_results_of_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of another number of rounds, or of other data, are in a batch of their own."""
    others = (
        '[[variants]]\nname = "plain"\nset = {}\n[[variants]]\nname = "small"\nset = { "federation.batch_size" = 4 }\n'
    )
    path, batches = written(tmp_path, FILE + others), []
    real = packed_runs.simulate_table
    monkeypatch.setattr(
        packed_runs, "simulate_table", lambda *a, **k: batches.append((len(a[0]), a[1])) or real(*a, **k)
    )
    alone, together = numbers(path, tmp_path / "alone"), numbers(path, tmp_path / "together", together=3)
    assert batches == [(2, [0, 1, 2]), (2, [0, 1, 2])] and together.keys() == alone.keys() and len(alone) == 12
    for unit, rows in alone.items():
        for name, values in rows.items():  # float32 scores of several models in one product
            np.testing.assert_allclose(together[unit][name], values, rtol=1e-6, atol=1e-7)
    numbers(path, tmp_path / "two", together=1)
    assert batches[2:] == [(1, [0, 1, 2])] * 4


def test_a_batch_that_another_process_has_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, batches = written(tmp_path), list[str]()
    experiment = read_experiment(path)
    unit = units_of(experiment, experiment.points(), tmp_path)[0]
    Path(unit.folder).mkdir(parents=True)
    real, other = packed_runs.simulate_table, contextlib.ExitStack()
    other.enter_context(locked(Path(unit.folder) / LOCK, make=True))

    def noted(settings: Any, seeds: Any, folders: Any, **options: Any) -> Any:
        batches.append(Path(folders[0][0]).parent.name)
        other.close()
        return real(settings, seeds, folders, **options)

    monkeypatch.setattr(packed_runs, "simulate_table", noted)
    assert len(numbers(path, tmp_path, together=True)) == 6
    assert batches == ["local_lr=0.2", "local_lr=0.1"]


def test_what_another_process_has_done_is_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the first of three batches when its turn comes, and is done when the second one is. What was done before
    this process began is no progress of it."""
    path, shares = written(tmp_path, FILE.replace("[0.1, 0.2]", "[0.1, 0.2, 0.4]")), list[float]()
    experiment = read_experiment(path)
    units = units_of(experiment, experiment.points(), tmp_path)
    first, _, last = ([unit for unit in units if unit.point == f"local_lr={lr}"] for lr in (0.1, 0.2, 0.4))
    busy = {Path(unit.folder) for unit in first}
    monkeypatch.setattr(sweeps, "in_use", lambda lock: lock.parent in busy)

    def told(name: str, done: float, total: float) -> None:
        shares.append(done / total)
        if done == 1:
            perform_all(first)

    perform_all(units, progress=told, together=True)
    after = shares[shares.index(1 / 3) + 1 :]
    assert shares[0] < 1 / 3 and 2 / 3 < min(after) <= max(after) == 1
    for unit in last:
        shutil.rmtree(unit.folder)
    shares.clear()
    perform_all(units, progress=told, together=True)
    assert 0 < min(shares) < 1 / 3 and max(shares) == 1


def test_a_budget_leaves_checkpoints_that_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, store = written(tmp_path), tmp_path / "store"
    experiment = read_experiment(path)
    units = units_of(experiment, experiment.points(), store)

    def spend(name: str, done: float, total: float) -> None:
        if done > 0.6:
            monkeypatch.setattr(time, "time", lambda: 2e18)

    outcome = perform_all(units, deadline=1e18, progress=spend, together=True)
    assert len(outcome.waiting) == 6 and not outcome.failed and not outcome.results
    assert len(list(store.rglob("segment-*.npz"))) == 3 * 2
    monkeypatch.undo()
    again, whole = numbers(path, store, together=True), numbers(path, tmp_path / "whole", together=True)
    assert again == whole


def test_what_cannot_advance_together_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, FILE.replace("[run]\n", '[run]\nobservers = ["loss"]\n'))
    report = run_files([path], RunOptions(tmp_path / "store", together=True))
    assert report.failed and any("--together: observer" in line for line in report.lines)
    with pytest.raises(ValueError, match="--together: allowed without --workers"):
        run_files([path], RunOptions(tmp_path / "store", together=True, workers=2))
    path = written(tmp_path, FILE.replace("[run]\n", "[run]\nmemory_on_disk = true\n"))
    report = run_files([path], RunOptions(tmp_path / "other", together=True))
    assert any("memory_on_disk = true: allowed without --together" in line for line in report.lines)
