"""Files run one after another, within a budget of time; one that fails stops no other."""

from __future__ import annotations

import fnmatch
import logging
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..files import json_text, locked, plain_toml, write_beside
from ..quantities import nearest
from ..seals import sealed
from ..simulation.trackers import Tracker, tracker
from . import schema
from .files_beside import FilesBeside
from .published import check_alike, new_runs, read_current, read_kept
from .results import code_of, current, digest, gathered, published, runs_of
from .sweeps import MakeExecutor, Outcome, Tell, dask, nobody, perform_all, process_pool, search
from .work_units import Unit, finished, seconds, units_of


@dataclass(frozen=True)
class RunOptions:
    """Options of running files.

    Attributes:
        store: where runs are kept.
        budget: time after which nothing new begins, as ``seconds`` reads it.
        workers: processes on this machine; 0: this one alone.
        scheduler: of a Dask cluster, instead.
        track: a tracker, as ``simulation.trackers.tracker`` reads it.
        publish: whether results are kept beside the files: those of all units of the file that the store has, with
            those that are kept there already.
        only: a pattern that settings' names have to match, as ``FedAvg*``.
        missing: whether runs are left out that are kept beside the file already.
        device: where runs are computed; by default as the file says.
        threads: of each run, likewise.
        memory_limit: bytes that each run may hold besides its data.
        together: how many settings, each with all its seeds, advance in one batch, in this process; 0: each run alone.
        mixed: whether runs are gone on with, and published together, that something else has made: other versions,
            threads, processors, devices, paths or splits.
        progress: is told how far each file's runs are: see ``sweeps.perform_all``.
        tell: is told of each Python file beside an experiment file, before it is executed.
        changes: values at dotted keys, put in the place of those of every file: see ``schema.Experiment.changed``.
    """

    store: Path
    budget: str | None = None
    workers: int = 0
    scheduler: str | None = None
    track: str | None = None
    publish: bool = False
    only: str = "*"
    missing: bool = False
    device: str | None = None
    threads: int | None = None
    memory_limit: int | None = None
    together: int = 0
    mixed: bool = False
    progress: Tell = nobody
    tell: Callable[[str], None] = logging.getLogger(__name__).warning
    changes: Mapping[str, Any] = field(default_factory=dict)

    def executors(self) -> MakeExecutor | None:
        """Return the executor of the units; ``None`` for this process.

        Raises:
            ValueError: both workers and a scheduler, or one of them for runs in one batch; a number below 0, or a
                scheduler that does not answer.
        """
        if self.together and (self.workers or self.scheduler):
            raise ValueError("--together: allowed without --workers and --scheduler")
        if self.workers < 0 or (self.workers and self.scheduler):
            raise ValueError(f"workers = {self.workers}: allowed is an integer >= 0, and 0 with a scheduler")
        if self.scheduler:
            return dask(self.scheduler)
        return process_pool(self.workers) if self.workers else None


@dataclass
class Report:
    """Report on the run of files.

    Attributes:
        contents: the results of each file, those of all its units that are done.
        lines: what failed, and what the budget left, in words.
        failed: whether something failed.
    """

    contents: list[dict[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    failed: bool = False


def run_files(paths: Sequence[Path], options: RunOptions) -> Report:
    """Run files, or go on with them.

    Raises:
        ValueError: options out of range; what is wrong with a file is in the report.
    """
    deadline = math.inf if options.budget is None else time.time() + seconds(options.budget)
    executors = options.executors()
    if options.changes and (options.publish or options.missing):
        raise ValueError("--set: allowed without --publish and --missing: what is kept beside a file is what it says")
    options = replace(options, tell=_once(options.tell))
    watch = tracker(options.track) if options.track else None
    report = Report()
    left = list(paths)
    if math.isfinite(deadline):  # first what will be done in time, then as much of the rest as time is left for
        left = [path for path in paths if not _tried(path, options, deadline, executors, watch, report, True)]
    for path in left:
        _tried(path, options, deadline, executors, watch, report, False)
    return report


def change(text: str) -> tuple[str, Any]:
    """Read ``KEY=VALUE``: a dotted key and a value as TOML has it; a text may stand without quotes, and a decimal
    fraction without the digit before the point.

    Raises:
        ValueError: it is none.

    >>> change("algorithm.local_lr=.1"), change("algorithm.average=samples"), change("run.seeds=[0, 1]")
    (('algorithm.local_lr', 0.1), ('algorithm.average', 'samples'), ('run.seeds', [0, 1]))
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not re.fullmatch(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*", key) or not value or not value.isprintable():
        raise ValueError(f"--set {text!r}: allowed is KEY=VALUE, as algorithm.local_lr=0.1")
    plain = re.sub(r"^([+-]?)\.(?=\d)", r"\g<1>0.", value)
    try:
        return key, plain_toml(f"value = {plain}".encode(), "--set")["value"]
    except ValueError as error:
        if re.search(r"[\[\]{}\"'#]", value):
            raise ValueError(f"--set {text!r}: the value is none of TOML, nor a plain text ({error})") from None
        return key, value


def _once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Tell each line once."""
    said: set[str] = set()

    def first(line: str) -> None:
        if line not in said:
            said.add(line)
            tell(line)

    return first


def _tried(
    path: Path,
    options: RunOptions,
    deadline: float,
    executors: MakeExecutor | None,
    watch: Tracker | None,
    report: Report,
    fitting: bool,
) -> bool:
    """Run a file; whether nothing of it is left to do."""
    try:
        return _run_file(path, options, deadline, executors, watch, report, fitting)
    except (ValueError, FileNotFoundError) as error:
        report.failed = True
        report.lines.append(_of(path, str(error)))
        return True
    except OverflowError as error:
        report.failed = True
        report.lines.append(
            f"{path}: a number is beyond the largest float, 1.79e308 ({error}): allowed are smaller ones"
        )
        return True


def _run_file(
    path: Path,
    options: RunOptions,
    deadline: float,
    executors: MakeExecutor | None,
    watch: Tracker | None,
    report: Report,
    fitting: bool,
) -> bool:
    begun = digest(path)
    experiment = schema.read_experiment(path, FilesBeside(path.parent, tell=options.tell))
    if options.changes:
        experiment = experiment.changed(options.changes)
    code = code_of(experiment)
    experiment = experiment.run_by(
        device=options.device, threads=options.threads, memory_limit=options.memory_limit, mixed=options.mixed or None
    )
    searched = None
    if experiment.checked.search:
        if options.missing:
            report.lines.append(f"{path}: --missing leaves out nothing of a search, which is run whole")
        _, searched, outcome = search(
            experiment,
            options.store,
            executors,
            deadline,
            progress=options.progress,
            tracker=watch,
            together=options.together,
        )
    else:
        units = units_of(experiment, _chosen(experiment, options.only), options.store)
        if options.missing:
            units = _missing(path, experiment, units, report)
        outcome = perform_all(
            units,
            executors,
            deadline,
            fitting=fitting,
            progress=options.progress,
            tracker=watch,
            together=options.together,
        )
    if fitting and outcome.waiting:
        return False
    _tell(path, outcome, report)
    if outcome.results:
        report.contents.append(gathered(experiment, outcome.results.values(), searched))
        if options.publish and (searched is None or not outcome.failed):
            if (digest(path), code_of(experiment)) != (begun, code):
                raise ValueError(
                    f"{path} was changed while it was run, or a Python file that it names: nothing of it is "
                    "published; the same command goes on with what is there now"
                )
            _publish(path, experiment, outcome, searched, options, report)
    return True


def _missing(path: Path, experiment: schema.Experiment, units: list[Unit], report: Report) -> list[Unit]:
    """The units that are not published of what the file says now."""
    kept = read_current(path, experiment)
    if kept is None:
        return units
    there = runs_of(kept)
    left = [unit for unit in units if (unit.point, unit.seed) not in there]
    if not left:
        report.lines.append(f"{path}: nothing is missing, {published(path)} has all {len(units)} runs")
    return left


def _chosen(experiment: schema.Experiment, only: str) -> list[schema.Point]:
    points = experiment.points()
    chosen = [point for point in points if fnmatch.fnmatchcase(point.name, only)]
    if not chosen:
        raise ValueError(
            f"{experiment.name}: only = {only!r} is no setting; " + nearest(only, [point.name for point in points])
        )
    return chosen


def _publish(
    path: Path,
    experiment: schema.Experiment,
    outcome: Outcome,
    searched: list[dict[str, Any]] | None,
    options: RunOptions,
    report: Report,
) -> None:
    """Keep the results of all units that the store has, with those of the same file that are kept already."""
    store = options.store
    found = outcome if searched is not None else _kept(units_of(experiment, experiment.points(), store))
    _tell(path, found, report)
    target = published(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent):  # nobody else adds runs between reading and writing
        there, results = read_kept(path, experiment), list(found.results.values())
        kept = None if there is None else current(path, experiment, there)
        if there is not None and (others := runs_of(there) - (runs_of(kept) if kept else set())):
            report.lines.append(
                f"{target} is made anew: {len(others)} of its {len(runs_of(there))} runs were of another content of "
                f"{path} and are put together with none of this one"
            )
        if kept is not None and searched is None:
            content = gathered(experiment, new_runs(kept, results, (target, store)), None, kept)
        else:
            content = gathered(experiment, results, searched)
        if kept is not None and not runs_of(kept) <= runs_of(content):
            report.lines.append(
                f"{target} stays as it is: it has runs that {store} has not, and searches are not put "
                "together, as each stage goes on from the one before"
            )
            return
        if not options.mixed:
            check_alike(content, target)
        write_beside(target, (json_text(sealed(content)) + "\n").encode())


def _kept(units: Iterable[Unit]) -> Outcome:
    """Return what a store has of units: one that is damaged, or another experiment's, hides no other."""
    outcome = Outcome()
    for unit in units:
        try:
            if found := finished(unit):
                outcome.results[unit] = found
        except ValueError as error:
            outcome.failed[unit] = str(error)
    return outcome


def _tell(path: Path, outcome: Outcome, report: Report) -> None:
    said = [_of(path, text) for text in outcome.failed.values()]
    if outcome.waiting:
        said.append(f"{path}: {len(outcome.waiting)} runs wait; the same command goes on with them")
    report.failed |= bool(outcome.failed)
    report.lines = unique([*report.lines, *said])


def _of(path: Path, text: str) -> str:
    """Name the file in a text about it, unless it does already."""
    return text if str(path) in text else f"{path}: {text}"


def unique(texts: Iterable[str]) -> list[str]:
    """Drop repeated texts and keep the order."""
    return list(dict.fromkeys(texts))
