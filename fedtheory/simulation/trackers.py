"""Trackers, to whom runs are told: TensorBoard, MLflow, Weights & Biases, and those of one's own.

A tracker is an object with one method, so that one's own are as good as these:

    class Printer:
        def begin(self, name, identity, settings):      # a run begins, or goes on
            return PrintedRun()

    class PrintedRun:
        def last(self, name): return -1                 # the last round that there is of a row already
        def log(self, round, values): print(round, values)
        def end(self, finished): print("done" if finished else "stopped")

``identity`` is the same whenever the same run is begun, goes on or is made longer, and of no other run. Rounds up to
the ``last`` are not told again, so that a run that was interrupted goes on in the tracked one without doubled steps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..extras import needed
from ..files import json_text, read_json, write_beside
from ..quantities import nearest

LONGEST = 500
"""The most characters of a setting's value that MLflow is told."""


class TrackedRun(Protocol):
    """A run in a tracker."""

    def last(self, name: str) -> int:
        """Return the last round that there is of a row, -1 if there is none; those up to it are not told again."""

    def log(self, round: int, values: Mapping[str, float]) -> None:
        """Keep the values before a round, by row."""

    def end(self, finished: bool) -> None:
        """Close the run, which has all its rounds, or was stopped and may go on later."""


class Tracker(Protocol):
    """Keeper of runs."""

    def begin(self, name: str, identity: str, settings: Mapping[str, str]) -> TrackedRun:
        """Begin a run, or go on with the one of this identity."""


class TensorBoard:
    """Tracker that writes event files in a folder, with one subfolder a run.

    Args:
        target: the folder; by default ``runs``.
    """

    def __init__(self, target: str) -> None:
        needed("torch.utils.tensorboard")
        self.target = target or "runs"

    def begin(self, name: str, identity: str, settings: Mapping[str, str]) -> TrackedRun:
        """Open the run's folder; what its files have already is known."""
        return _Events(f"{self.target}/{plain(name)}-{identity[:8]}", settings)


class _Events:
    def __init__(self, folder: str, settings: Mapping[str, str]) -> None:
        accumulators = needed("tensorboard.backend.event_processing.event_accumulator")
        self.folder = folder
        self.writer: Any = None
        self.known: dict[str, int] = {}
        if Path(folder).exists():
            events = accumulators.EventAccumulator(folder, size_guidance={"scalars": 0}).Reload()
            self.known = {tag: max(each.step for each in events.Scalars(tag)) for tag in events.Tags()["scalars"]}
        else:
            self._open().add_text("settings", "\n".join(f"{key} = {value}  " for key, value in settings.items()))

    def _open(self) -> Any:
        """The writer, made when there is something to write."""
        if self.writer is None:
            self.writer = needed("torch.utils.tensorboard").SummaryWriter(self.folder)
        return self.writer

    def last(self, name: str) -> int:
        return self.known.get(name, -1)

    def log(self, round: int, values: Mapping[str, float]) -> None:
        writer = self._open()
        for name, value in values.items():
            writer.add_scalar(name, value, round)
        writer.flush()

    def end(self, finished: bool) -> None:
        if self.writer is not None:
            self.writer.close()


class MLflow:
    """Tracker of runs at an MLflow tracking address: a folder, a database or a server.

    Args:
        target: the address; by default as MLflow's own variables say.
    """

    def __init__(self, target: str) -> None:
        needed("mlflow")
        self.target = target

    def begin(self, name: str, identity: str, settings: Mapping[str, str]) -> TrackedRun:
        """Begin a run, or take the one whose tag ``fedtheory.run`` is the identity."""
        return _Metrics(needed("mlflow"), self.target, name, identity, settings)


class _Metrics:
    def __init__(self, mlflow: Any, target: str, name: str, identity: str, settings: Mapping[str, str]) -> None:
        self.entities = needed("mlflow.entities")
        self.client = mlflow.MlflowClient(tracking_uri=target or None)
        group = settings.get("experiment", "fedtheory")
        experiment = self.client.get_experiment_by_name(group)
        place = experiment.experiment_id if experiment is not None else self.client.create_experiment(group)
        found = self.client.search_runs([place], f"tags.`fedtheory.run` = '{identity}'", max_results=1)
        if found:
            self.run = found[0].info.run_id
            self.client.update_run(self.run, status="RUNNING")
        else:
            tags = {"fedtheory.run": identity}
            self.run = self.client.create_run(place, tags=tags, run_name=name).info.run_id
            shown = [self.entities.Param(key, value[:LONGEST]) for key, value in settings.items()]
            self.client.log_batch(self.run, params=shown)

    def last(self, name: str) -> int:
        return max((each.step for each in self.client.get_metric_history(self.run, name)), default=-1)

    def log(self, round: int, values: Mapping[str, float]) -> None:
        now = int(1000 * time.time())
        made = [self.entities.Metric(name, value, now, round) for name, value in values.items()]
        self.client.log_batch(self.run, metrics=made)

    def end(self, finished: bool) -> None:
        self.client.set_terminated(self.run, "FINISHED" if finished else "KILLED")


class WeightsAndBiases:
    """Tracker of runs of a Weights & Biases project, online or offline as its own variables say.

    Args:
        target: the project; by default ``fedtheory``.
    """

    def __init__(self, target: str) -> None:
        needed("wandb")
        self.project = target or "fedtheory"

    def begin(self, name: str, identity: str, settings: Mapping[str, str]) -> TrackedRun:
        """Begin the run whose id is the identity, or go on with it."""
        wandb = needed("wandb")
        quiet = wandb.Settings(  # nor is it told of the machine, whose paths are among what it would find
            console="off",
            silent=True,
            disable_git=True,
            disable_code=True,
            x_disable_meta=True,
            x_disable_machine_info=True,
        )
        run = wandb.init(
            project=self.project,
            id=identity,
            name=name,
            config=dict(settings),
            resume="allow",
            reinit="create_new",
            group=settings.get("experiment"),
            settings=quiet,
        )
        return _WandbRun(run, identity)


class _WandbRun:
    """A run of Weights & Biases, which knows its next step; offline it does not, and a note beside it does."""

    def __init__(self, run: Any, identity: str) -> None:
        self.run, self.before = run, int(run.starting_step) - 1
        self.note = Path(run.settings.wandb_dir) / f"fedtheory-{identity}.json" if run.offline else None
        if self.note is not None and self.note.exists():
            self.before = int(read_json(self.note)["last"])

    def last(self, name: str) -> int:
        return self.before

    def log(self, round: int, values: Mapping[str, float]) -> None:
        if self.note is not None:  # before, so that a round at which the process ends is not told twice
            write_beside(self.note, json_text({"last": round}).encode())
        self.run.log(dict(values), step=round)

    def end(self, finished: bool) -> None:
        self.run.finish(exit_code=0 if finished else 1)


TRACKERS: dict[str, Callable[[str], Tracker]] = {
    "tensorboard": TensorBoard, "mlflow": MLflow, "wandb": WeightsAndBiases,
}  # fmt: skip


def tracker(spec: str) -> Tracker:
    """The tracker of a text ``name`` or ``name:target``.

    Raises:
        ValueError: an unknown name.
        MissingExtra: its package is not installed.

    >>> tracker("tensorbord:x")
    Traceback (most recent call last):
    ValueError: track = 'tensorbord': did you mean 'tensorboard'?
    """
    name, _, target = spec.partition(":")
    if name not in TRACKERS:
        raise ValueError(f"track = {name!r}: {nearest(name, TRACKERS)}")
    return TRACKERS[name](target)


def plain(name: str) -> str:
    """A name as a folder's: what is no letter, digit or one of =.,_+- becomes _.

    >>> plain("a/b, lr = 0.1")
    'a_b,_lr_=_0.1'
    """
    return re.sub(r"[^A-Za-z0-9=.,_+-]+", "_", name).lstrip(".") or "run"
