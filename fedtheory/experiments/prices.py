"""Prices of runs that were not made: seconds a round, times the rounds, times the runs that are missing.

What a run costs is known of a file that has runs. Of another one a few rounds of its first setting are timed, and kept in
``experiments/prices.json``; where its data are not there, on noise in their shape, which costs as much.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..files import json_text, read_json, write_beside
from ..provenance import processor
from .printed_tables import Cell, Table, folder
from .published import read_current
from .results import experiment_files
from .schema import Experiment, Likeness, read_experiment
from .theirs_and_ours import setting_with
from .work_units import perform, units_of

FILE = "prices.json"
TIMED = (2, 4)
"""Rounds of the two runs whose difference is what rounds cost, without what a run costs once."""


def key_of(path: Path) -> str:
    """The name of an experiment file among the prices.

    >>> key_of(Path("experiments/fast/table2.cifar10.toml"))
    'fast/table2.cifar10'
    """
    return f"{path.parent.name}/{path.stem}"


def kept_prices(root: Path | None = None) -> dict[str, float]:
    """The seconds a round that were timed, by the name of the file."""
    path = (root or folder()) / FILE
    if not path.exists():
        return {}
    return {name: float(each["seconds a round"]) for name, each in read_json(path)["files"].items()}


def seconds_of_run(experiment: Experiment, content: Mapping[str, Any] | None, timed: float | None) -> float | None:
    """What one run costs: as those of the file have cost, or as was timed; ``None`` if neither is known."""
    if content is not None:
        return float(content["seconds"]) / sum(len(row["seeds"]) for row in content["settings"])
    return None if timed is None else timed * experiment.plan.rounds * experiment.plan.replicas


def missing_runs(experiment: Experiment, content: Mapping[str, Any] | None) -> int:
    """The number of runs that a file asks for and that are not kept; a search counts its stages one after another."""
    if search := experiment.checked.search:
        return 0 if content is not None else len(experiment.plan.seeds) * sum(len(each.values) for each in search.stages)
    made = 0 if content is None else sum(len(row["seeds"]) for row in content["settings"])
    return len(experiment.points()) * len(experiment.plan.seeds) - made


def price(path: Path, experiment: Experiment, prices: Mapping[str, float]) -> float | None:
    """The seconds that the missing runs of a file cost; ``None`` if that is not known."""
    content = read_current(path, experiment)
    each = seconds_of_run(experiment, content, prices.get(key_of(path)))
    return None if each is None else each * missing_runs(experiment, content)


@dataclass(frozen=True)
class Rest:
    """What has to be run so that every printed number of a sentence has ours beside it.

    Attributes:
        seconds: of the missing runs of settings that files have; infinite where a file's runs have no price.
        without: how many of the printed numbers no file stands beside.
    """

    seconds: float
    without: int


class Shop:
    """Missing runs beside the printed numbers of a paper's tables, and what they cost."""

    def __init__(self, paper: str, printed: Sequence[Table], root: Path | None = None) -> None:
        root = root or folder()
        prices = kept_prices(root)
        self.offers: dict[Cell, list[dict[tuple[str, str], float]]] = {}
        for path in experiment_files(root):
            if path.parent.name == paper:
                self._offer(path, prices.get(key_of(path)), printed)

    def _offer(self, path: Path, timed: float | None, printed: Sequence[Table]) -> None:
        experiment = read_experiment(path)
        content = read_current(path, experiment)
        each = seconds_of_run(experiment, content, timed)
        made = {row["name"]: len(row["seeds"]) for row in (content or {"settings": []})["settings"]}
        points = {"settings": [{"name": point.name, "labels": dict(point.labels)} for point in experiment.points()]}
        for likeness in experiment.checked.likeness:
            for table in printed:
                if (likeness.table, likeness.edition) != (table.number, table.edition):
                    continue
                for cell in table.cells:
                    names = _settings_beside(cell, likeness, points, experiment.name)
                    missing = {(key_of(path), name): len(experiment.plan.seeds) - made.get(name, 0) for name in names}
                    if names:
                        cost = {run: math.inf if each is None else each * count for run, count in missing.items() if count}
                        self.offers.setdefault(cell, []).append(cost)

    def rest(self, wanted: Iterable[Cell]) -> Rest:
        """What is missing beside these printed numbers, each by the file where it costs least."""
        runs: dict[tuple[str, str], float] = {}
        without = 0
        for cell in wanted:
            if cell in self.offers:
                runs |= min(self.offers[cell], key=lambda cost: math.fsum(cost.values()))
            else:
                without += 1
        return Rest(math.fsum(runs.values()), without)


def _settings_beside(cell: Cell, likeness: Likeness, points: Mapping[str, Any], name: str) -> list[str]:
    """The settings of a file that stand beside a printed number: one, or two where it is a difference."""
    if cell.text == "" or not cell.matches(likeness.cells):
        return []
    labels = {label: cell.labels[label] for label in likeness.by if label in cell.labels}
    wanted = [likeness.ours] + ([] if likeness.minus is None else [likeness.minus])
    found = [setting_with(points, {**labels, **each}, name) for each in wanted]
    return [] if None in found else [str(row["name"]) for row in found if row is not None]


def measured(path: Path, rounds: tuple[int, int] = TIMED) -> dict[str, Any]:
    """Time the first setting of a file: CPU seconds a round, and what was timed.

    Raises:
        ValueError: the file cannot be run, or its data are not there and have no shape that is known here.
    """
    experiment = read_experiment(path)
    first = experiment.points()[0]
    spent, stood_in = [], ""
    for count in rounds:
        plan = {**first.content["run"], "rounds": count}
        short = replace(first, content={**first.content, "run": plan, "statistics": []})
        with tempfile.TemporaryDirectory() as store:
            (unit, *_) = units_of(experiment, [short], Path(store))
            try:
                spent.append(_cpu_seconds(lambda unit=unit: perform(unit)))
            except FileNotFoundError:
                with _noise() as names:
                    spent.append(_cpu_seconds(lambda unit=unit: perform(unit)))
                stood_in = ", ".join(sorted(names))
    each = max(spent[1] - spent[0], 0.0) / (rounds[1] - rounds[0])
    found = {"seconds a round": round(each, 3), "setting": first.name, "processor": processor()}
    return found | ({"noise in the shape of": stood_in} if stood_in else {})


def write_prices(measure: Mapping[Path, Mapping[str, Any]], root: Path | None = None) -> None:
    """Keep what was timed, beside what is kept of other files."""
    path = (root or folder()) / FILE
    files = dict(read_json(path)["files"]) if path.exists() else {}
    files |= {key_of(each): dict(found) for each, found in measure.items()}
    write_beside(path, (json_text({"files": dict(sorted(files.items()))}, indent=1) + "\n").encode())


def _cpu_seconds(work: Callable[[], Any]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


@contextmanager
def _noise() -> Iterator[set[str]]:
    """Load noise in the shape of CIFAR-10 and of Shakespeare's plays instead of these; yields the names of those asked for."""
    from .. import data

    load, asked = data.load, set[str]()
    rng = np.random.default_rng(0)

    def images(points: int, test: Any = None) -> Any:
        pixels = rng.integers(0, 256, (points, 3, 32, 32), dtype=np.uint8)
        return data.Dataset("cifar10", pixels, np.arange(points) % 10, 10, test=test, copy="noise")

    def windows() -> Any:
        roles, each = 227, 160
        text = rng.integers(0, 80, (roles * each, 80), dtype=np.uint8)
        vocabulary = "".join(chr(32 + k) for k in range(80))
        clients, names = np.repeat(np.arange(roles), each), tuple(f"role {k}" for k in range(roles))
        labels = rng.integers(0, 80, len(text))
        return data.Dataset("shakespeare", text, labels, 80, copy="noise", clients=clients, client_names=names,
                            vocabulary=vocabulary)  # fmt: skip

    made = {"cifar10": lambda: images(50_000, images(10_000)), "shakespeare": windows}

    def stand_in(name: str, **options: Any) -> Any:
        try:
            return load(name, **options)
        except FileNotFoundError:
            if name not in made:
                raise
            asked.add(name)
            return made[name]()

    data.load = stand_in  # type: ignore[assignment]
    try:
        yield asked
    finally:
        data.load = load
