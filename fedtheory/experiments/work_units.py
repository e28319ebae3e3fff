"""Units of work: one setting of an experiment with one seed, run in a folder of its own, which keeps all of it.

A unit that was stopped goes on from its last checkpoint, one that is finished is read. Two processes never run one unit
at the same time: whoever comes second waits, and then reads.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import check_no_links, json_text, locked, read_json, write_beside
from ..provenance import commit
from ..seals import SEAL, check_seal, sealed
from .construction import observers, setting, statistics, wanted
from .files_beside import FilesBeside, hashes, told
from .grid import ExperimentFile, Point, asked_for, with_values
from .tracked_settings import tracked

if TYPE_CHECKING:
    from ..simulation.run import Run
    from ..simulation.trackers import Tracker
    from ..simulation.tracking import Tracking

CHECKPOINTS = 20
"""The number of checkpoints of a run, unless the file says how often."""
CLOCK = 5.0
"""The seconds between notes of the time that a unit has taken."""


class OutOfTime(Exception):
    """Error of a spent budget; the unit's checkpoints stay."""


@dataclass(frozen=True, eq=False)
class Unit:
    """One setting with one seed; it can be sent to another process.

    Attributes:
        experiment: the file's name.
        point: the setting's name.
        labels: its labels.
        content: the file's content with the setting's values.
        seed: of the run.
        folder: where it is kept.
        code: the sha256 of each Python file beside the experiment's that the setting names; they are executed.
    """

    experiment: str
    point: str
    labels: Mapping[str, str]
    content: Mapping[str, Any]
    seed: int
    folder: str
    code: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the unit: experiment, setting and seed."""
        return f"{self.experiment}, {self.point}, seed {self.seed}"

    @property
    def result_path(self) -> Path:
        """The path of the unit's result."""
        return Path(self.folder) / "result.json"

    @property
    def asked(self) -> dict[str, Any]:
        """All that decides the unit's numbers, but for its seed: see ``asked_for``."""
        return asked_for(self.content) | ({"code": dict(self.code)} if self.code else {})

    def tracked(self, tracker: Tracker) -> Tracking:
        """Return what a tracker is told of the unit."""
        return tracked(tracker, self.experiment, self.point, self.seed, self.content)


def units_of(experiment: ExperimentFile, points: list[Point], store: Path) -> list[Unit]:
    """All units of these settings of a file, seed after seed, so that every setting has its first seed early.

    Raises:
        ValueError: a Python file that a setting names cannot be read.
    """
    name = experiment.name
    code = {id(point): hashes(Path(name).parent, point.content) for point in points}
    home = store / folder_name(experiment.content.get("paper") or "own") / folder_name(Path(name).stem)
    return [
        Unit(
            name,
            point.name,
            dict(point.labels),
            seeded(point.content, seed, name),
            seed,
            str(home / folder_name(point.name) / f"seed-{seed}"),
            code[id(point)],
        )
        for seed in experiment.content["run"].get("seeds", [0])
        for point in points
    ]


def seeded(content: Mapping[str, Any], seed: int, name: str) -> Mapping[str, Any]:
    """A setting's content in which the keys that follow the seed have it as their value."""
    keys = content["run"].get("seeded", ())
    return with_values(content, dict.fromkeys(keys, seed), name) if keys else content


def folder_name(name: str) -> str:
    """A name that a file system takes, one component of a path; different names stay different.

    >>> folder_name("q=1|2, local_lr=0.1"), folder_name("..")
    ('q=1_2,local_lr=0.1-6dc10ce1', '-5ec1f7e7')
    """
    plain = re.sub(r"[^A-Za-z0-9=.,_+-]", "", name.replace("|", "_")).lstrip(".")
    if plain == name and 0 < len(name) <= 100:
        return name
    return f"{plain[:90]}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def perform(
    unit: Unit,
    deadline: float = math.inf,
    progress: Callable[[int, int], None] = lambda done, total: None,
    tracker: Tracker | None = None,
) -> dict[str, Any]:
    """Run a unit, or go on with it, or read its result.

    Args:
        deadline: in seconds since the epoch.
        progress: called with (replica-rounds done, replica-rounds in all) while it runs.
        tracker: told of the recorded rounds while it runs, or of what it lacks of a finished one.

    Raises:
        ValueError: its folder is another experiment's, a setting out of range, or a disk that takes no more.
        FileNotFoundError: data that are not there.
        OutOfTime: the deadline passed first.
    """
    folder = Path(unit.folder)
    check_no_links(folder, 4)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / LOCK, make=True):
            return _read(unit, folder, tracker) or _run(unit, folder, deadline, progress, tracker)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(
            f"{unit.name}: {folder} cannot be written ({error}); what was written before is whole"
        ) from None


def _read(unit: Unit, folder: Path, tracker: Tracker | None) -> dict[str, Any] | None:
    """The result of a unit that is done, of which the tracker is told."""
    if (result := finished(unit)) is not None and tracker is not None:
        from ..simulation.tracking import tell_stored

        tell_stored(folder, unit.tracked(tracker))
    return result


def checkpointed(unit: Unit) -> float:
    """The share of a unit's rounds that its checkpoints have, of the replicas that were begun."""
    rounds, last = int(unit.content["run"].get("rounds", 0)), dict[Path, int]()
    for path in Path(unit.folder).rglob("segment-*.npz"):
        last[path.parent] = max(last.get(path.parent, 0), int(path.stem.rpartition("-")[2]))
    return min(1.0, sum(last.values()) / len(last) / (rounds + 1)) if last else 0.0


def finished(unit: Unit) -> dict[str, Any] | None:
    """The result of a unit that is done; ``None`` if it is not. Its numbers are those of its segments.

    Raises:
        ValueError: the folder holds the result of another experiment, or one that was changed, or that its segments do
            not bear out.
    """
    if not unit.result_path.exists():
        return None
    result = _unchanged(unit.result_path, "it is made anew from its segments")
    asked, there = unit.asked, dict(result.get("asked", {}))
    if _goes_on(there, asked):
        return None
    statistics = there.pop("statistics", None)
    if statistics != asked.pop("statistics", None) and there == asked:
        return None  # other statistics of the same run, which its checkpoints hold
    if there != asked or result.get("seed") != unit.seed:
        raise _another(unit, "the result", there, asked)
    return _borne_out(unit, result)


def _another(unit: Unit, what: str, there: Mapping[str, Any], asked: Mapping[str, Any]) -> ValueError:
    return ValueError(
        f"{unit.name}: {unit.folder} holds {what} of another experiment ({_difference(there, asked)}); allowed is the "
        "same one, or another --store"
    )


def _goes_on(there: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether a run is asked for that is a longer one of the same, recorded as often: it is gone on with."""

    def plain(content: Mapping[str, Any]) -> tuple[Any, ...]:
        run = dict(content.get("run", {}))
        rounds = run.pop("rounds", 0)
        every = run.pop("record_every", None) or max(1, rounds // 100)
        return rounds, every, {**content, "run": run, "statistics": None}

    before, after = plain(there), plain(asked)
    return before[0] < after[0] and before[1:] == after[1:]


LOCK = "lock"
"""File of a unit's folder whose lock the process holds that runs it."""

ASKED = "asked.json"
"""File of a unit's folder that says what its checkpoints are of."""


def check_begun(unit: Unit) -> None:
    """See that checkpoints which are there are of this unit, or of a run that it goes on with.

    Raises:
        ValueError: they are not; what differs is named.
    """
    path = Path(unit.folder) / ASKED
    if path.exists() and any(Path(unit.folder).glob("replica-*/segment-*.npz")):
        there, asked = _unchanged(path, "it is not known what the checkpoints are of")["asked"], unit.asked
        asked.pop("statistics", None)
        if there != asked and not _goes_on(there, asked):
            raise _another(unit, "the checkpoints", there, asked)


def note_asked(unit: Unit) -> None:
    """Write down what the checkpoints will be of."""
    asked = unit.asked
    asked.pop("statistics", None)
    write_beside(Path(unit.folder) / ASKED, json_text(sealed({"asked": asked})).encode())


def _unchanged(path: Path, then: str) -> dict[str, Any]:
    """A sealed JSON file; ``ValueError`` if it was changed, which says what comes if it is removed."""
    content = read_json(path)
    try:
        check_seal(content, str(path))
    except ValueError as error:
        raise ValueError(f"{error}; allowed is the file as it was written, or none: then {then}") from None
    return {key: value for key, value in content.items() if key != SEAL}


def _borne_out(unit: Unit, result: dict[str, Any]) -> dict[str, Any]:
    """A result with the numbers that its segments have; ``ValueError`` if they have others."""
    from ..simulation.stored import read_stored

    stored, plan = read_stored(Path(unit.folder)), unit.content["run"]
    found = json.loads(json_text(_numbers(unit, stored.run)))
    asked = {"seed": unit.seed, "rounds": plan["rounds"], "setting": result.get("fingerprint")}
    other = [name for name, value in asked.items() if stored.label.get(name) != value]
    other += [name for name, value in found.items() if json_text(result.get(name)) != json_text(value)]
    other += ["segments"] * (result.get("segments") != stored.seal)
    other += ["replicas"] * (stored.run.replicas != plan.get("replicas", 1))
    if other:
        raise ValueError(
            f"{unit.name}: {unit.result_path} and the segments beside it do not agree "
            f"({', '.join(other)}): allowed are both as they were written, or no result"
        )
    return {**result, **found, "made_by": list(stored.made_by)}


def _numbers(unit: Unit, run: Run) -> dict[str, Any]:
    """What a result says of a run's rows."""
    found = {
        name: {"values": values, "deviations": spreads}
        for name, values, spreads in statistics(unit.content, run.rounds, run.rows)
    }
    return {
        "statistics": found,
        "diverged": run.divergence,
        "rounds": run.rounds.tolist(),
        "rows": curves(unit.content, run.rows),
    }


def _difference(there: Any, here: Any) -> str:
    if not isinstance(there, Mapping):
        return "it is damaged"
    return "; ".join(_differing(there, here)) or "its seed"


def _differing(there: Mapping[str, Any], here: Mapping[str, Any], above: str = "") -> list[str]:
    """Say in words, key by key, where two contents differ; of Python files by their hashes."""
    found = []
    for key in sorted({*there, *here}):
        a, b = there.get(key), here.get(key)
        if a != b and key == "code" and not above:
            found.append(told(a or {}, b or {}))
        elif a != b and isinstance(a, Mapping) and isinstance(b, Mapping):
            found += _differing(a, b, f"{above}{key}.")
        elif a != b:
            found.append(f"{above}{key} = {a!r} there, {b!r} here")
    return found


def _run(
    unit: Unit, folder: Path, deadline: float, progress: Callable[[int, int], None], tracker: Tracker | None
) -> dict[str, Any]:
    if time.time() > deadline:
        raise OutOfTime("not begun")
    beside = FilesBeside(Path(unit.experiment).parent, unit.code)
    check_begun(unit)
    try:
        return _simulated(unit, folder, deadline, progress, beside, tracker)
    except OutOfTime:
        raise
    except Exception as error:
        if said := beside.explained(error):
            raise ValueError(f"{unit.name}: {said}") from None
        raise


def _simulated(
    unit: Unit,
    folder: Path,
    deadline: float,
    progress: Callable[[int, int], None],
    beside: FilesBeside,
    tracker: Tracker | None,
) -> dict[str, Any]:
    from ..loops.threads import fixed
    from ..simulation.stored import read_stored

    made, plan = setting(unit.content, beside), unit.content["run"]
    note_asked(unit)
    clock = Clock(folder / "time.json", deadline)

    def tell(done: int, total: int) -> None:
        clock(done, total)
        progress(done, total)

    run = made.simulate(
        seed=unit.seed,
        directory=folder,
        progress=tell,
        memory_on_disk=plan.get("memory_on_disk") or None,
        track=None if tracker is None else unit.tracked(tracker),
        **run_arguments(unit.content),
    )
    with fixed(plan.get("threads") or 1):
        fingerprint = made.fingerprint()
    stored = read_stored(folder)
    result = {
        "experiment": unit.experiment,
        "point": unit.point,
        "labels": dict(unit.labels),
        "seed": unit.seed,
        "asked": unit.asked,
        **_numbers(unit, run),
        "seconds": round(clock.note(), 3),
        "where": run.where,
        "commits": clock.commits,
        "data": data_copy(made.federation),
        "fingerprint": fingerprint,
        "segments": stored.seal,
        "made_by": list(stored.made_by),
    }
    write_beside(folder / "result.json", json_text(sealed(result)).encode())
    return json.loads(json_text(result))  # type: ignore[no-any-return]


def run_arguments(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``simulate`` that a setting's content says."""
    plan = content["run"]
    return {
        "replicas": plan.get("replicas", 1),
        "rounds": plan["rounds"],
        "record_every": plan.get("record_every"),
        "observers": observers(content),
        "device": plan.get("device", "cpu"),
        "checkpoint_every": plan.get("checkpoint_every") or max(1, plan["rounds"] // CHECKPOINTS),
        "dtype": plan.get("dtype"),
        "keep_models": plan.get("keep_models"),
        "threads": plan.get("threads") or 1,
        "memory_limit": plan.get("memory_limit"),
        "mixed": bool(plan.get("mixed")),
    }


def curves(content: Mapping[str, Any], rows: Mapping[str, np.ndarray]) -> dict[str, list[list[float]]]:
    """The rows behind the statistics, (replicas, recorded rounds) each."""
    return {name: rows[name].tolist() for name in dict.fromkeys(each["of"] for each in wanted(content, rows))}


class Clock:
    """Clock of how long a unit has run, in all its attempts, and on which commits; it stops the unit at the deadline.

    Args:
        path: where the time is kept.
        deadline: in seconds since the epoch.
        share: of the time that passes, the unit's; less than 1 where several advance together.
    """

    def __init__(self, path: Path, deadline: float = math.inf, share: float = 1.0) -> None:
        self.path, self.deadline, self.share = path, deadline, share
        known = _unchanged(path, "time is counted anew") if path.exists() else {}
        self.before = known.get("seconds", 0.0)
        self.commits: list[str] = list(dict.fromkeys([*known.get("commits", []), commit()]))
        self.begun = self.noted = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.noted > CLOCK:
            self.note()
        if time.time() > self.deadline:
            self.note()
            raise OutOfTime(f"{done} of {total} rounds")

    def note(self) -> float:
        """Write the seconds so far, and return them."""
        self.noted = time.monotonic()
        seconds = self.before + self.share * (self.noted - self.begun)
        write_beside(self.path, json_text(sealed({"seconds": seconds, "commits": self.commits})).encode())
        return float(seconds)


def data_copy(federation: Any) -> str:
    """Name the data of a federation and which copy they are; empty for data that are made up."""
    dataset = getattr(federation, "dataset", None)
    if dataset is None:
        return str(getattr(federation, "data", ""))
    return f"{dataset.name}: {getattr(dataset, 'copy', '') or content_hash(dataset)}"


def content_hash(dataset: Any) -> str:
    """A hash of a data set's training part.

    >>> from fedtheory import data
    >>> content_hash(data.load("digits")) == content_hash(data.load("digits"))
    True
    """
    found = hashlib.sha256(np.ascontiguousarray(dataset.features).tobytes())
    found.update(np.ascontiguousarray(dataset.labels).tobytes())
    return f"sha256 {found.hexdigest()[:16]}"


def estimate(unit: Unit) -> float | None:
    """The seconds that a unit still takes, by what it took so far; ``None`` if nothing is known."""
    if unit.result_path.exists():
        return 0.0
    segments = sorted(Path(unit.folder).glob("replica-*/segment-*.npz"))
    clock = Path(unit.folder) / "time.json"
    if not segments or not clock.exists():
        return None
    try:  # what is damaged is said when the unit runs
        done, taken = int(segments[-1].stem.rpartition("-")[2]), float(read_json(clock)["seconds"])
    except (ValueError, KeyError, TypeError):
        return None
    rounds = int(unit.content["run"]["rounds"])
    return taken * max(0, rounds - done) / max(1, done)


def seconds(text: str) -> float:
    """A time such as 90s, 30m or 2h, in seconds.

    Raises:
        ValueError: another text.

    >>> seconds("1.5m")
    90.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if not match:
        raise ValueError(f"budget = {text!r}: allowed is a number with a unit, as 90s, 30m or 2h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
