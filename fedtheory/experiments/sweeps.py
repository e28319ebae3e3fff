"""Runs of many units, over any executor: a unit that fails stops no other, and a lost worker loses nothing."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..extras import needed
from ..files import in_use
from ..process_workers import check_main_guard, end_with_parent
from ..rationals import checked_count
from . import schema
from .packed_units import advance, shared
from .work_units import LOCK, OutOfTime, Unit, checkpointed, estimate, perform, units_of

if TYPE_CHECKING:
    from ..simulation.trackers import Tracker

RETRIES = 5
"""The number of times that workers may be lost before a unit counts as failed."""
LOOK_SECONDS = 2.0
"""Seconds that a look at the progress of units over an executor waits for the next one that ends."""
LOST = ("BrokenProcessPool", "KilledWorker", "CancelledError", "FutureCancelledError", "FutureLostError")
"""Names of the errors that say that a worker was lost, not that its work failed."""

MakeExecutor = Callable[[], Executor]
Tell = Callable[[str, float, float], None]
"""Is told how far something is: (its name, units done, units in all)."""


def nobody(name: str, done: float, total: float) -> None:
    """Tell nobody how far something is."""


@dataclass
class Outcome:
    """Outcome of units.

    Attributes:
        results: by unit.
        failed: what went wrong, by unit.
        waiting: units that the budget left.
    """

    results: dict[Unit, dict[str, Any]] = field(default_factory=dict)
    failed: dict[Unit, str] = field(default_factory=dict)
    waiting: list[Unit] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Add the outcome of other units."""
        self.results |= other.results
        self.failed |= other.failed
        self.waiting += other.waiting


def perform_all(
    units: Sequence[Unit],
    make_executor: MakeExecutor | None = None,
    deadline: float = math.inf,
    done: Callable[[Unit, dict[str, Any]], None] = lambda unit, result: None,
    fitting: bool = False,
    progress: Tell = nobody,
    tracker: Tracker | None = None,
    together: int = 0,
) -> Outcome:
    """Run units, in this process or over an executor; a unit that fails stops no other.

    Args:
        make_executor: gives a fresh executor; called again when workers were lost.
        deadline: in seconds since the epoch; units that are not done then wait, with their checkpoints.
        done: called for each result as it comes.
        progress: called with (the experiment's name, units done, units in all), of those that have no result yet; in
            this process with the share of the one that runs.
        fitting: whether units that will not be done before the deadline, by the time that they took so far, wait.
        tracker: told of each while it runs; over an executor from where it runs.
        together: how many settings, each with all its seeds, advance in one batch in this process; 0: each unit alone.
            One that cannot has failed.
    """
    outcome, losses = Outcome(), 0
    left = [unit for unit in units if not fitting or (estimate(unit) or 0.0) <= deadline - time.time()]
    outcome.waiting = [unit for unit in units if unit not in left]
    if make_executor is None:
        alone = _together(left, deadline, outcome, progress, together) if together else left
        outcome.add(_here(alone, deadline, done, progress, tracker))
        return outcome
    while left:
        lost = _over(left, make_executor, deadline, done, outcome, progress, tracker)
        losses = losses + 1 if lost else 0
        if losses > RETRIES:
            outcome.failed |= {unit: f"{unit.name}: its worker was lost {losses} times" for unit in lost}
            break
        left = lost
    return outcome


def _together(units: Sequence[Unit], deadline: float, outcome: Outcome, progress: Tell, methods: int) -> list[Unit]:
    """Advance the units of settings in one batch; those that are left to be read, or to wait."""
    left, by_setting, alike = list[Unit](), dict[str, list[Unit]](), dict[str, list[list[Unit]]]()
    for unit in units:
        by_setting.setdefault(unit.point, []).append(unit)
    for of_setting in by_setting.values():
        alike.setdefault(shared(of_setting), []).append(of_setting)
    tables = [table[first : first + methods] for table in alike.values() for first in range(0, len(table), methods)]
    batches = [[unit for each in settings for unit in each] for settings in tables]
    new = [batch for batch in batches if not _is_done(batch)]
    for batch in _free_first(batches):
        before = sum(_is_done(each) for each in new if each is not batch)  # by other processes, too

        def tell(rounds: int, of: int, before: int = before, name: str = batch[0].experiment) -> None:
            progress(name, before + rounds / of, len(new))

        try:
            advance(batch, deadline, tell, methods)
        except OutOfTime:
            pass  # they are told apart when each is asked for
        except (ValueError, FileNotFoundError) as error:
            outcome.failed |= {unit: str(error) for unit in batch}
            continue
        left += batch
    return left


def _is_done(units: Sequence[Unit]) -> bool:
    """Whether all have come to their last rounds."""
    return all(checkpointed(unit) == 1 for unit in units)


def _free_first(batches: Sequence[Sequence[Unit]]) -> Iterator[Sequence[Unit]]:
    """Yield batches in their order, but last those with a unit that another process has when their turn comes."""
    busy = list[Sequence[Unit]]()
    for batch in batches:
        if any(in_use(Path(unit.folder) / LOCK) for unit in batch):
            busy.append(batch)
        else:
            yield batch
    yield from busy


def _here(
    units: Sequence[Unit],
    deadline: float,
    done: Callable[[Unit, dict[str, Any]], None],
    progress: Tell,
    tracker: Tracker | None,
) -> Outcome:
    outcome, new = Outcome(), [unit for unit in units if not unit.result_path.exists()]
    for (unit,) in _free_first([(unit,) for unit in units]):
        before = sum(each.result_path.exists() for each in new if each is not unit)  # by other processes, too

        def tell(rounds: int, of: int, name: str = unit.experiment, before: int = before) -> None:
            progress(name, before + rounds / of, len(new))

        try:
            outcome.results[unit] = perform(unit, deadline, tell, tracker)
        except OutOfTime:
            outcome.waiting.append(unit)
        except (ValueError, FileNotFoundError) as error:
            outcome.failed[unit] = str(error)
        else:
            done(unit, outcome.results[unit])
    return outcome


def _over(
    units: Sequence[Unit],
    make_executor: MakeExecutor,
    deadline: float,
    done: Callable[[Unit, dict[str, Any]], None],
    outcome: Outcome,
    progress: Tell,
    tracker: Tracker | None,
) -> list[Unit]:
    """One round over a fresh executor; the units whose worker was lost."""
    lost: list[Unit] = []
    waiting: dict[Future[dict[str, Any]], Unit] = {}
    executor = make_executor()
    try:
        for each in units:
            waiting[executor.submit(perform, each, deadline, tracker=tracker)] = each
        for future in _as_they_end(waiting, progress):
            unit = waiting[future]
            try:
                outcome.results[unit] = future.result()
            except OutOfTime:
                outcome.waiting.append(unit)
            except (ValueError, FileNotFoundError) as error:
                outcome.failed[unit] = str(error)
            except BaseException as error:
                if type(error).__name__ not in LOST:
                    raise
                lost.append(unit)
            else:
                done(unit, outcome.results[unit])
    except BaseException as error:
        if type(error).__name__ not in LOST:
            stop(executor)
            raise
        seen = {*outcome.results, *outcome.failed, *outcome.waiting}
        lost = [unit for unit in units if unit not in seen]
    finally:
        for future in waiting:
            future.cancel()
        executor.shutdown(wait=False)
    return lost


def _as_they_end(waiting: Mapping[Future[dict[str, Any]], Unit], progress: Tell) -> Iterator[Future[dict[str, Any]]]:
    """The futures as they end. Of units that run, progress counts what the shared store has of them."""
    left = set(waiting)
    while left:
        ended, left = wait(left, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        done = len(waiting) - len(left) + sum(checkpointed(waiting[each]) for each in left)
        progress(next(iter(waiting.values())).experiment, done, len(waiting))
        yield from ended


def stop(executor: Executor) -> None:
    """End what an executor runs, if it is of this module: after an interruption nothing is waited for."""
    if isinstance(executor, _Pool):
        executor.shutdown(wait=False, cancel_futures=True)
        executor.terminate()


def search(
    experiment: schema.Experiment,
    store: Path,
    make_executor: MakeExecutor | None = None,
    deadline: float = math.inf,
    progress: Tell = nobody,
    tracker: Tracker | None = None,
    together: int = 0,
) -> tuple[dict[str, Any], list[dict[str, Any]], Outcome]:
    """A file's search: stage after stage, the value whose statistic is best is kept.

    Returns:
        The values chosen by key, what every stage saw, and the outcome of the units.

    Raises:
        ValueError: the file has no search, or every value of a stage diverges.

    Source: FedAU, appendix C.4.
    """
    plan = experiment.checked.search
    if plan is None:
        raise ValueError(f"{experiment.name}: search is missing")
    chosen: dict[str, Any] = {}
    seen: list[dict[str, Any]] = []
    outcome = Outcome()
    for stage in plan.stages:
        points = [
            experiment.at(_spelled({**chosen, stage.over: value}), {}, {**chosen, stage.over: value})
            for value in stage.values
        ]
        units = units_of(experiment, points, store)
        got = perform_all(units, make_executor, deadline, progress=progress, tracker=tracker, together=together)
        outcome.add(got)
        if got.failed or got.waiting:
            break
        scores = {}
        for value, point in zip(stage.values, points, strict=True):
            values = [
                v
                for unit, result in got.results.items()
                if unit.point == point.name
                for v in result["statistics"][plan.statistic]["values"]
            ]
            scores[value] = sum(map(float, values)) / len(values)
        seen.append({"over": stage.over, "scores": {str(value): score for value, score in scores.items()}})
        chosen[stage.over] = best(scores, plan.largest, f"{experiment.name}: {stage.over}")
    return chosen, seen, outcome


def best(scores: Mapping[Any, float], largest: bool, name: str) -> Any:
    """The value with the best finite score; of equal ones the first.

    >>> best({0.1: 2.0, 0.3: float("nan"), 0.5: 1.0}, False, "local_lr")
    0.5
    """
    finite = {value: score for value, score in scores.items() if math.isfinite(score)}
    if not finite:
        raise ValueError(f"{name}: every value diverges; allowed is a list with one that does not")
    return (max if largest else min)(finite, key=lambda value: finite[value])


def _spelled(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={str(value).replace('/', '|')}" for key, value in values.items())


def process_pool(workers: int) -> MakeExecutor:
    """Executors of so many processes on this machine.

    Raises:
        ValueError: a number below 1.
    """
    checked_count("workers", workers)
    check_main_guard("workers")
    return lambda: _Pool(workers)


class _Pool(ProcessPoolExecutor):
    """Processes that leave Ctrl-C to the one that made them."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, mp_context=get_context("spawn"), initializer=_ready)
        self.own: dict[int, Any] = dict(self._processes or {})

    def submit(self, *arguments: Any, **named: Any) -> Future[Any]:
        future = super().submit(*arguments, **named)
        self.own |= self._processes or {}
        return future

    def terminate(self) -> None:
        """End the processes at once, and wait for that; what they wrote is whole."""
        for process in self.own.values():
            process.terminate()
        for process in self.own.values():
            process.join(timeout=10)


def _ready() -> None:
    """Leave Ctrl-C to the process that made this one, and end when that one does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def dask(address: str, timeout: float = 30.0) -> MakeExecutor:
    """Executors on a Dask cluster, whose workers see the same store (a shared file system).

    Raises:
        MissingExtra: ``distributed`` is not installed.
        ValueError: the scheduler does not answer.
    """
    Client = needed("distributed").Client

    def make() -> Executor:
        try:
            client = Client(address, timeout=timeout)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"scheduler {address!r} does not answer ({error}); allowed is the address of one that "
                "runs, as tcp://host:8786"
            ) from None
        return client.get_executor(pure=False, retries=RETRIES)  # type: ignore[no-any-return, no-untyped-call]

    make().shutdown(wait=False)
    return make
