"""Prices of runs that were not made: seconds a round, times the rounds, times the runs that are missing.

What a run costs is known of a file that has runs. Of another one, and where runs shared their core, a few rounds of
its first setting are timed, or of two where settings differ in the clients a round, and kept in
``experiments/prices.json``; where its data are not there, on noise in their shape, which costs as much.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ..files import json_text, read_json, write_beside
from ..provenance import processor
from .construction import observers as watchers
from .construction import setting
from .grid import Point
from .printed_tables import Cell, Table, folder
from .published import read_current
from .results import experiment_files
from .schema import Experiment, Likeness, read_experiment
from .theirs_and_ours import setting_with

FILE = "prices.json"
TIMED = (1, 3)
"""Rounds of the two runs whose difference is what rounds cost, without what a run costs once."""
LONG = 20.0
"""Seconds of a round that is timed alone, with what a run costs once and without evaluations."""


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


def seconds_a_round(root: Path | None = None) -> dict[str, float]:
    """Seconds that a round of a run takes, by the name of the file.

    It is what was timed, as runs may have shared their core; or what its runs took; else what is known of a file whose
    rounds are the same work. Files of which nothing is known are left out.
    """
    root = root or folder()
    own, works = dict[str, float](), dict[str, str]()
    for path in experiment_files(root):
        experiment = read_experiment(path)
        works[key_of(path)] = work_of_round(experiment)
        if (content := read_current(path, experiment)) is not None and "search" not in content:
            runs = sum(len(row["seeds"]) for row in content["settings"])
            own[key_of(path)] = float(content["seconds"]) / runs / experiment.plan.rounds
    own |= kept_prices(root)
    by_work = {works[name]: each for name, each in own.items() if name in works}
    return {name: own.get(name) or by_work[work] for name, work in works.items() if name in own or work in by_work}


def work_of_round(experiment: Experiment) -> str:
    """Describe what decides a round's time: network, clients' data and batches, how many train, and their steps."""
    content = experiment.points()[0].content
    federation, algorithm = dict(content["federation"]), content["algorithm"]
    clients = dict(federation.pop("partition", {})).get("clients")
    who, steps = content["participation"], [algorithm.get(name) for name in ("cohort", "local_steps", "server_steps")]
    asked = [federation, clients, *steps, who.get("cohort"), who.get("process"), content.get("local_solver")]
    return json.dumps([*asked, experiment.plan.replicas], sort_keys=True)


def missing_runs(experiment: Experiment, content: Mapping[str, Any] | None) -> int:
    """The number of runs that a file asks for and that are not kept; a search counts its stages one after another."""
    if search := experiment.checked.search:
        return (
            0 if content is not None else len(experiment.plan.seeds) * sum(len(each.values) for each in search.stages)
        )
    made = 0 if content is None else sum(len(row["seeds"]) for row in content["settings"])
    return len(experiment.points()) * len(experiment.plan.seeds) - made


def price(path: Path, experiment: Experiment, pace: Mapping[str, float]) -> float:
    """The seconds that the missing runs of a file take, infinite if that is not known.

    Args:
        pace: the ``seconds_a_round``.
    """
    missing = missing_runs(experiment, read_current(path, experiment))
    return missing * experiment.plan.rounds * pace.get(key_of(path), math.inf) if missing else 0.0


@dataclass(frozen=True)
class Rest:
    """Missing runs, which every printed number of a sentence needs to have ours beside it.

    Attributes:
        seconds: of the missing runs of settings that files have; infinite where a file's runs have no price.
        without: the number of printed numbers that no file stands beside, by the reason that their table gives; ""
            where it gives none.
    """

    seconds: float
    without: Mapping[str, int] = field(default_factory=dict)


NOTHING = Rest(0.0)
"""The rest where all runs are there."""


class Shop:
    """Missing runs beside the printed numbers of a paper's tables, and what they cost."""

    def __init__(self, paper: str, printed: Sequence[Table], root: Path | None = None) -> None:
        root = root or folder()
        pace = seconds_a_round(root)
        self.offers: dict[Cell, list[dict[tuple[str, str], float]]] = {}
        for path in experiment_files(root):
            if path.parent.name == paper:
                self._offer(path, pace.get(key_of(path), math.inf), printed)

    def _offer(self, path: Path, pace: float, printed: Sequence[Table]) -> None:
        experiment = read_experiment(path)
        content, each = read_current(path, experiment), pace * experiment.plan.rounds
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
                        cost = {run: each * count for run, count in missing.items() if count}
                        self.offers.setdefault(cell, []).append(cost)

    def rest(self, wanted: Iterable[Cell]) -> Rest:
        """Sum up what is missing beside these printed numbers, each by the file where it costs least."""
        runs: dict[tuple[str, str], float] = {}
        without = Counter[str]()
        for cell in wanted:
            if cell in self.offers:
                cheapest: dict[tuple[str, str], float] = min(self.offers[cell], key=_total)
                runs.update(cheapest)
            else:
                without[cell.table.why_without(cell) or ""] += 1
        return Rest(math.fsum(runs.values()), dict(without))


def _total(cost: Mapping[tuple[str, str], float]) -> float:
    return math.fsum(cost.values())


def _settings_beside(cell: Cell, likeness: Likeness, points: Mapping[str, Any], name: str) -> list[str]:
    """The settings of a file that stand beside a printed number: one, or two where it is a difference."""
    if cell.text == "" or not cell.matches(likeness.cells):
        return []
    labels = {label: cell.labels[label] for label in likeness.by if label in cell.labels}
    wanted = [likeness.ours] + ([] if likeness.minus is None else [likeness.minus])
    found = [setting_with(points, {**labels, **each}, name) for each in wanted]
    return [] if None in found else [str(row["name"]) for row in found if row is not None]


def measured(path: Path) -> dict[str, Any]:
    """Time a round of a file: CPU seconds, training and the file's evaluations, and what was timed.

    It is one of the first setting. Where settings have other numbers of clients a round, it is the mean over settings
    of a line through the least and the largest number: a round's work is a sum over its clients.

    Raises:
        ValueError: the file cannot be run.
        FileNotFoundError: its data are not there and have no shape that is known here.
    """
    points = read_experiment(path).points()
    by_cohort = {_cohort(point.content): point for point in reversed(points)}  # the first of each number
    if len(by_cohort) == 1 or None in by_cohort:
        return _timed(points[0])
    least, most = min(by_cohort), max(by_cohort)
    few, many = (_timed(by_cohort[number]) for number in (least, most))
    share = (fmean(_cohort(point.content) for point in points) - least) / (most - least)
    low, high = few["seconds a round"], many["seconds a round"]
    names = f"{few['setting']} | {many['setting']}"
    return few | {"seconds a round": round(low + share * (high - low), 4), "setting": names}


def _cohort(content: Mapping[str, Any]) -> Any:
    """The number of clients a round, of a process that draws so many."""
    who = content["participation"]
    process = who.get("process", who)
    return process.get("cohort") if isinstance(process, Mapping) else None


def _timed(point: Point) -> dict[str, Any]:
    """Time a round of one setting."""
    from ..federations import Network

    with _noise() as stood_in:
        made = setting(point.content)
    plan = point.content["run"]

    def spent(rounds: int, observers: list[Any]) -> float:
        begun = time.process_time()
        made.simulate(
            replicas=plan.get("replicas", 1),
            rounds=rounds,
            seed=0,
            record_every=rounds,
            observers=observers,
            dtype=plan.get("dtype"),
            threads=plan.get("threads") or 1,
            device="cpu",
            memory_limit=plan.get("memory_limit"),
        )
        return time.process_time() - begun

    plain: list[Any] = ["traffic"] if isinstance(made.federation, Network) else ["squared_distance"]
    few, more = TIMED
    each = spent(few, plain) / few  # with what is compiled and kept once, which does not matter in a long round
    if each < LONG:
        if spent(few, plain) < LONG / 10:
            spent(more, plain)  # more is compiled where rounds follow each other
        alone = spent(few, plain)
        each = max(spent(more, plain) - alone, 0.0) / (more - few)
        for watched in watchers(point.content) or []:
            if watched not in plain and watched.names[0] not in plain:  # seen before the first round and after the last
                each += max(spent(few, [*plain, watched]) - alone, 0.0) / 2 / watched.every
    found = {"seconds a round": round(each, 4), "setting": point.name, "processor": processor()}
    return found | ({"noise in the shape of": ", ".join(sorted(stood_in))} if stood_in else {})


def write_prices(measure: Mapping[Path, Mapping[str, Any]], root: Path | None = None) -> None:
    """Keep what was timed, beside what is kept of other files."""
    path = (root or folder()) / FILE
    files = dict(read_json(path)["files"]) if path.exists() else {}
    files |= {key_of(each): dict(found) for each, found in measure.items()}
    write_beside(path, (json_text({"files": dict(sorted(files.items()))}, indent=1) + "\n").encode())


@contextmanager
def _noise() -> Iterator[set[str]]:
    """Load noise in the shape of data that are not there, colour images and plays; yields the names of those asked."""
    from .. import data

    load, asked = data.load, set[str]()
    rng = np.random.default_rng(0)

    def images(name: str, classes: int, points: int, tested: int) -> Any:
        test = images(name, classes, tested, 0) if tested else None
        pixels = rng.integers(0, 256, (points, 3, 32, 32), dtype=np.uint8)
        return data.Dataset(name, pixels, np.arange(points) % classes, classes, test=test, copy="noise")

    def windows(each: int, test: Any = None) -> Any:
        roles = 227
        text = rng.integers(0, 80, (roles * each, 80), dtype=np.uint8)
        vocabulary = "".join(chr(32 + k) for k in range(80))
        clients, names = np.repeat(np.arange(roles), each), tuple(f"role {k}" for k in range(roles))
        labels = rng.integers(0, 80, len(text))
        return data.Dataset(
            "shakespeare",
            text,
            labels,
            80,
            test=test,
            copy="noise",
            clients=clients,
            client_names=names,
            vocabulary=vocabulary,
        )

    of_images = {"cifar-10": (10, 50_000, 10_000), "cifar-100": (100, 50_000, 10_000), "cinic-10": (10, 90_000, 90_000)}
    made: dict[str, Any] = {name: partial(images, name, *shape) for name, shape in of_images.items()}
    made["shakespeare"] = lambda: windows(160, windows(40))

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
