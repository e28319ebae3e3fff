"""Runs of experiment files in a tracker: live, gone on with, and without a path of this machine in any name."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fedtheory.experiments import commands, work_units
from fedtheory.experiments.commands import RunOptions, run_files
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.sweeps import perform_all
from fedtheory.experiments.tracked_settings import shown_settings
from fedtheory.experiments.work_units import units_of
from fedtheory.simulation.trackers import tracker
from tests.simulation.notebook import Notebook

EXPERIMENT = """
title = "a test"

[federation]
kind = "random_quadratic"
clients = 6
dimension = 3
gradient_noise = 0.5

[algorithm]
kind = "fast"
cohort = 2
local_lr = "1/50"
snapshot_probability = "1/2"

[participation]
kind = "Uniform"
cohort = 2

[run]
rounds = 60
seeds = [3, 4]
observers = [{ kind = "squared_distance" }]
record_every = 10
checkpoint_every = 20

[[statistics]]
name = "distance"
of = "squared_distance"
take = "mean"
last = 5
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mine" / "trial.toml"
    path.parent.mkdir()
    path.write_text(EXPERIMENT)
    return path


def test_a_file_is_tracked_while_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book, store = Notebook(), tmp_path / "store"
    monkeypatch.setattr(commands, "tracker", lambda spec: {"notebook:x": book}[spec])
    clock, seen = work_units.Clock.__call__, []

    def stopping(self: Any, done: int, total: int) -> None:
        seen.append((done, [round for round, _ in [*book.steps.values()][-1]][-1]))
        if done == 40:
            raise work_units.OutOfTime("40 of 60 rounds")
        clock(self, done, total)

    monkeypatch.setattr(work_units.Clock, "__call__", stopping)
    run_files([path], RunOptions(store, track="notebook:x"))
    assert (40, 30) in seen and book.ended == [False, False]
    monkeypatch.setattr(work_units.Clock, "__call__", clock)
    for _ in range(2):  # gone on with, and read
        report = run_files([path], RunOptions(store, track="notebook:x"))
        assert not report.failed
        for seed, steps in zip((3, 4), book.steps.values(), strict=True):
            result = json.loads((store / "own" / "trial" / "only" / f"seed-{seed}" / "result.json").read_text())
            assert [(r, values["squared_distance"]) for r, values in steps] == list(
                zip(result["rounds"], *result["rows"]["squared_distance"], strict=True)
            )
    assert sorted(book.names.values()) == ["trial, only, seed 3", "trial, only, seed 4"]
    assert str(tmp_path) not in str((book.names, book.settings))


def test_runs_of_an_earlier_store_are_told(path: Path, tmp_path: Path) -> None:
    experiment, late, live = read_experiment(path), Notebook(), Notebook()
    units = units_of(experiment, experiment.points(), tmp_path / "store")
    perform_all(units)
    perform_all(units, tracker=late)
    perform_all(
        units_of(experiment, experiment.points(), tmp_path / "other"), lambda: ThreadPoolExecutor(1), tracker=live
    )
    assert late.steps == live.steps and late.names == live.names and len(late.steps) == 2


def test_a_tracker_that_fails_changes_no_result(path: Path, tmp_path: Path) -> None:
    experiment = read_experiment(path)
    found = []
    for name, book in (("a", None), ("b", Notebook("log")), ("c", Notebook("begin"))):
        outcome = perform_all(units_of(experiment, experiment.points(), tmp_path / name), tracker=book)
        assert not outcome.failed
        found.append([result["rows"] for result in outcome.results.values()])
    assert found[0] == found[1] == found[2]


def test_settings_have_no_paths() -> None:
    content = {
        "federation": {"kind": "/home/me/mine.py:Net", "data": {"folder": "/data/x", "files": ["C:\\d\\a.csv", "b"]}},
        "algorithm": {"kind": "fedavg", "local_lr": "1/(2 + round_index)", "global_lr": "1/2"},
        "participation": {"kind": "Trace", "path": "logs/day.csv"},
        "run": {"rounds": 5, "seeds": [3]},
    }
    assert shown_settings("/home/me/trial.toml", "lr=1|2", 3, content) == {
        "experiment": "trial", "setting": "lr=1|2", "seed": "3", "federation.kind": "mine.py:Net",
        "federation.data.folder": "x", "federation.data.files": "a.csv, b", "algorithm.kind": "fedavg",
        "algorithm.local_lr": "1/(2 + round_index)", "algorithm.global_lr": "1/2", "participation.kind": "Trace",
        "participation.path": "day.csv", "run.rounds": "5",
    }  # fmt: skip


def test_trackers_are_sent_to_other_processes() -> None:
    pytest.importorskip("tensorboard")
    made: Any = pickle.loads(pickle.dumps(tracker("tensorboard:x")))
    assert made.target == "x"
