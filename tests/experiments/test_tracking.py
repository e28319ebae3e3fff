"""Trackers: TensorBoard for real, the others by the calls that they get; a missing package is named."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fedtheory.experiments.tracking import tracker
from fedtheory.experiments.work_units import Unit

UNIT = Unit("e.toml", "q=1", {}, {"federation": {"kind": "f"}, "algorithm": {"kind": "a", "local_lr": 0.1},
                                  "participation": {"kind": "p"}}, 3, "folder")  # fmt: skip
RESULT = {"rounds": [0, 5], "rows": {"gap": [[4.0, 1.0], [2.0, 1.0]]}}


def test_tensorboard_writes_events(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    watch = tracker(f"tensorboard:{tmp_path}")
    watch.record(UNIT, RESULT)
    watch.close()
    (run,) = tmp_path.iterdir()
    events = accumulator.EventAccumulator(str(run)).Reload()
    assert [(each.step, each.value) for each in events.Scalars("gap")] == [(0, 3.0), (5, 1.0)]


def test_mlflow_gets_parameters_and_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    @contextmanager
    def start_run(run_name: str) -> Any:
        calls.append(("run", run_name))
        yield

    fake = SimpleNamespace(
        set_tracking_uri=lambda uri: calls.append(("uri", uri)), set_experiment=lambda name: calls.append(("in", name)),
        start_run=start_run, log_params=lambda values: calls.append(values["algorithm.local_lr"]),
        log_metrics=lambda values, step: calls.append((step, values)),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    tracker("mlflow:somewhere").record(UNIT, RESULT)
    assert calls == [("uri", "somewhere"), ("in", "e.toml"), ("run", "q=1, seed 3"), "0.1", (0, {"gap": 3.0}),
                     (5, {"gap": 1.0})]  # fmt: skip


def test_weights_and_biases_gets_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    run = SimpleNamespace(log=lambda values, step: calls.append((step, values)), finish=lambda: calls.append("finish"))

    def init(**options: Any) -> Any:
        calls.append((options["project"], options["name"]))
        return run

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    tracker("wandb:mine").record(UNIT, RESULT)
    assert calls == [("mine", "e.toml, q=1, seed 3"), (0, {"gap": 3.0}), (5, {"gap": 1.0}), "finish"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ImportError, match=r"wandb is not installed; it comes with the extra 'tracking'"):
        tracker("wandb")
