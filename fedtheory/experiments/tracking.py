"""Results sent to a tracker: TensorBoard, MLflow or Weights & Biases, behind one interface."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from ..extras import needed
from .work_units import Unit


class Tracker(Protocol):
    """Tracker of finished runs. Trackers of one's own have these two methods."""

    def record(self, unit: Unit, result: Mapping[str, Any]) -> None:
        """Record a unit that is done: its observed rows by round, and its statistics."""

    def close(self) -> None:
        """Close the tracker: no more runs come."""


def steps(result: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield, round after round, the mean over replicas of every observed row.

    >>> list(steps({"rounds": [0, 5], "rows": {"gap": [[4.0, 1.0], [2.0, 1.0]]}}))
    [(0, {'gap': 3.0}), (5, {'gap': 1.0})]
    """
    means = {name: np.asarray(rows, dtype=float).mean(0) for name, rows in result["rows"].items()}
    for place, round in enumerate(result["rounds"]):
        yield int(round), {name: float(values[place]) for name, values in means.items()}


def settings_of(unit: Unit) -> dict[str, str]:
    """Flatten a unit's setting, for a tracker's table of parameters."""
    flat = {"experiment": unit.experiment, "setting": unit.point, "seed": str(unit.seed)}
    for part in ("federation", "algorithm", "participation"):
        flat |= {f"{part}.{key}": str(value) for key, value in unit.content[part].items()}
    return flat


class TensorBoard:
    """Tracker that writes event files in a folder, one subfolder a run."""

    def __init__(self, target: str) -> None:
        self.make = needed("torch.utils.tensorboard").SummaryWriter
        self.target = target or "runs"

    def record(self, unit: Unit, result: Mapping[str, Any]) -> None:
        """Write the setting and the values of a run."""
        writer = self.make(f"{self.target}/{_plain(unit.name)}")
        writer.add_text("setting", "\n".join(f"{key} = {value}  " for key, value in settings_of(unit).items()))
        for round, values in steps(result):
            for name, value in values.items():
                writer.add_scalar(name, value, round)
        writer.close()

    def close(self) -> None:
        """Do nothing: each run's writer is closed already."""
        return None


class MLflow:
    """Tracker of runs at an MLflow tracking address; a folder or a server."""

    def __init__(self, target: str) -> None:
        self.mlflow = needed("mlflow")
        if target:
            self.mlflow.set_tracking_uri(target)

    def record(self, unit: Unit, result: Mapping[str, Any]) -> None:
        """Log the setting and the values of a run."""
        self.mlflow.set_experiment(unit.experiment)
        with self.mlflow.start_run(run_name=f"{unit.point}, seed {unit.seed}"):
            self.mlflow.log_params(settings_of(unit))
            for round, values in steps(result):
                self.mlflow.log_metrics(values, step=round)

    def close(self) -> None:
        """Do nothing: each run is ended already."""
        return None


class WeightsAndBiases:
    """Tracker of runs of a Weights & Biases project."""

    def __init__(self, target: str) -> None:
        self.wandb, self.project = needed("wandb"), target or "fedtheory"

    def record(self, unit: Unit, result: Mapping[str, Any]) -> None:
        """Log the setting and the values of a run."""
        run = self.wandb.init(project=self.project, name=unit.name, config=settings_of(unit), reinit=True)
        for round, values in steps(result):
            run.log(values, step=round)
        run.finish()

    def close(self) -> None:
        """Do nothing: each run is finished already."""
        return None


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
    from ..quantities import nearest

    name, _, target = spec.partition(":")
    if name not in TRACKERS:
        raise ValueError(f"track = {name!r}: {nearest(name, TRACKERS)}")
    return TRACKERS[name](target)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9=.,_+-]+", "_", name)
