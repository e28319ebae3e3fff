"""Tracking: what a run records is told to a tracker while it goes on."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import check_has
from ..files import json_text
from .run import STATISTICS, Row, by_round
from .trackers import TrackedRun, Tracker, tracker

if TYPE_CHECKING:
    from ..setting import Setting

ASIDE = ("rounds", "keep_models", "made_by")
"""Entries of a run's label that change where the run is the same, so that a longer run goes on in the tracked one."""


Tell = Callable[[Iterable[tuple[int, Row]]], None]
"""Is told recorded rows, each with its round."""


@dataclass(frozen=True)
class Tracking:
    """Tracking of a run: what it tells, and to whom: ``simulate(track=Tracking("tensorboard:runs", "lr = 0.1"))``.

    What is told is, of each recorded round, the mean over replicas of every row that has one number a replica, without
    sums, minima and maxima. Replicas of different chunks run one after another, so that each chunk is a run there. A
    tracker that fails is told of once, in a line of the log, and then left alone; the run goes on.

    Args:
        tracker: "tensorboard:FOLDER", "mlflow:ADDRESS" or "wandb:PROJECT", or one's own: see ``trackers``.
        name: of the run; by default what the setting's parts are called, and the seed.
        settings: shown beside the run; by default the parts of the setting and the numbers of its algorithm.

    Raises:
        ValueError: an unknown name, or an object that is no tracker.
        MissingExtra: the tracker's package is not installed.
    """

    tracker: str | Tracker
    name: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    replicas: int | None = field(default=None, repr=False)
    """How many the whole run has, which the engine knows."""

    def __post_init__(self) -> None:
        if isinstance(self.tracker, str):
            object.__setattr__(self, "tracker", tracker(self.tracker))
        check_has("track", self.tracker, ("begin",), "a text such as 'tensorboard:runs', or an object with begin")

    def described(self, setting: Setting, where: Mapping[str, str], replicas: int) -> Tracking:
        """Return the tracking with a name and settings, where they are not given, of a run of so many replicas."""
        kinds, seed = where["setting"], where["seed"]
        numbers = {name: f"{value:g}" for name, value in setting.algorithm.quantities().items()}
        parts = dict(zip(("federation", "algorithm", "participation"), kinds.split(", "), strict=True))
        sizes = {"clients": setting.federation.clients, "dimension": setting.federation.dimension}
        told = {**parts, **{key: str(value) for key, value in sizes.items()}, **numbers, "seed": seed}
        return Tracking(self.tracker, self.name or f"{kinds}, seed {seed}", self.settings or told, replicas)

    @contextlib.contextmanager
    def telling(self, label: Mapping[str, Any]) -> Iterator[Tell]:
        """Open the run of a label (``Plan.label``) for the time of the block, and give what tells it rows.

        Its name says which of the replicas these are, where the whole run has more.
        """
        first, count = int(label["first_replica"]), int(label["replicas"])
        which = "" if count == (self.replicas or count) else f", replicas {first} to {first + count - 1}"
        content = {key: value for key, value in label.items() if key not in ASIDE}
        identity = hashlib.sha256(json_text([self.name, content]).encode()).hexdigest()[:16]
        assert not isinstance(self.tracker, str)
        run, finished = _Told(self.tracker, self.name + which, identity, self.settings), False
        try:
            yield run.tell
            finished = True
        finally:
            run.end(finished)


class _Told:
    """A run that is told of; the first failure ends that."""

    def __init__(self, tracker: Tracker, name: str, identity: str, settings: Mapping[str, str]) -> None:
        self.kind = type(tracker).__name__
        self.last: dict[str, int] = {}
        self.run: TrackedRun | None = None
        with self._harmless():
            self.run = tracker.begin(name, identity, settings)

    def tell(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Tell what the tracker does not have of these rows."""
        for round, row in rows:
            if self.run is None:
                return
            with self._harmless():
                values = means(row)
                self.last |= {name: int(self.run.last(name)) for name in values if name not in self.last}
                if new := {name: value for name, value in values.items() if round > self.last[name]}:
                    self.run.log(round, new)
                    self.last |= dict.fromkeys(new, round)

    def end(self, finished: bool) -> None:
        if self.run is not None:
            with self._harmless():
                self.run.end(finished)

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.run = None
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            _warn(f"track: {self.kind} failed ({reason[:500]}); the run goes on without it")


@functools.lru_cache(maxsize=64)
def _warn(line: str) -> None:
    """Say something once in a process."""
    logging.getLogger(__name__).warning("%s", line)


def means(row: Row) -> dict[str, float]:
    """Compute the mean over replicas of what a row has of each, without sums, minima and maxima.

    >>> means({"gap": np.array([4.0, 2.0]), "gap_sum": np.array([9.0, 9.0]), "gap_min": np.array([1.0, 1.0]),
    ...        "gap_max": np.array([4.0, 2.0]), "of_clients": np.ones((2, 3))})
    {'gap': 3.0}
    """
    with np.errstate(all="ignore"):  # of a run that diverged it is infinite or no number
        return {
            name: float(np.mean(values))
            for name, values in row.items()
            if np.ndim(values) == 1 and not any(s and name.endswith(s) and name[: -len(s)] in row for s in STATISTICS)
        }


def tell_stored(directory: str | Path, tracking: Tracking) -> None:
    """Tell a tracker what it does not know of the finished run that a folder of checkpoints has.

    Raises:
        ValueError: there is none, it is damaged, or not finished.
    """
    from .stored import parts_of

    parts = list(parts_of(Path(directory)))
    tracking = replace(tracking, replicas=sum(run.replicas for _, run in parts))
    for label, run in parts:
        with tracking.telling(label) as tell:
            tell(by_round(run.rounds, run.rows))
