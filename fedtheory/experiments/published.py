"""Published results beside an experiment file: read, checked, and compared with runs that are made again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from ..files import Damaged, json_text, read_json
from ..provenance import OF_MACHINE, UNKNOWN, differences
from ..seals import SEAL, check_seal
from .reading import Listed, Strict, explained
from .results import WITHIN, current, listed, published, run_row
from .schema import Experiment


def _number(value: Any) -> Any:
    """A number that is not finite stands as a text."""
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


Number = Annotated[float, BeforeValidator(_number)]


class Numbers(Strict):
    """Numbers of a statistic of a setting."""

    mean: Number
    deviation: Number
    runs: int
    values: Listed[Number | Listed[Number]]
    deviations: Listed[Number | Listed[Number]] | None = None
    within: Number | None = Field(default=None, alias="deviation within a run")

    @model_validator(mode="after")
    def _check(self) -> Numbers:
        every = _flat(self.values)
        mean = fmean(every) if all(map(math.isfinite, every)) else math.nan
        if self.runs != len(every) or json_text(self.mean) != json_text(mean):
            raise ValueError(
                f"mean = {self.mean}, runs = {self.runs}: allowed are those of the values, {mean} and {len(every)}"
            )
        if self.deviations is not None and len(_flat(self.deviations)) != len(every):
            raise ValueError(f"deviations: allowed is one for each of {len(every)} values")
        return self


def _flat(groups: Iterable[Any]) -> list[float]:
    return [value for group in groups for value in listed(list(group) if isinstance(group, tuple) else group)]


class Row(Strict):
    """Row of a setting."""

    name: str
    asked: str = ""
    labels: dict[str, str]
    seeds: Listed[int] = Field(min_length=1)
    seconds: float
    commits: Listed[str]
    made_by: dict[str, str] = Field(default_factory=dict)
    segments: Listed[str] = ()
    statistics: dict[str, Numbers]
    curves: dict[str, Listed[Any]]
    diverged: Listed[Annotated[str, Field(pattern=r"^seed \d+: ")]] = ()

    @model_validator(mode="after")
    def _check(self) -> Row:
        seeds = len(self.seeds)
        if list(self.seeds) != sorted(set(self.seeds)):
            raise ValueError(f"seeds = {list(self.seeds)}: allowed are increasing integers")
        for name, numbers in self.statistics.items():
            if {len(numbers.values), len(numbers.deviations or numbers.values)} != {seeds}:
                raise ValueError(f"statistics.{name}: allowed is an entry for each of {seeds} seeds")
        if len(self.segments) not in (0, seeds):
            raise ValueError(f"segments: allowed is an entry for each of {seeds} seeds")
        rounds = len(self.curves.get("rounds", ()))
        for name, curve in self.curves.items():
            whole = all(isinstance(each, list) and len(each) == rounds for each in curve) and len(curve) == seeds
            if name != "rounds" and not whole:
                raise ValueError(
                    f"curves.{name}: allowed is for each of {seeds} seeds a number for each of {rounds} rounds"
                )
        return self


class Kept(Strict):
    """Content of the file of published results."""

    file: str
    sha256: str
    code: dict[str, str] = Field(default_factory=dict)
    commits: Listed[str]
    data: Listed[str]
    seconds: float
    units: dict[str, str]
    settings: Listed[Row]
    search: Any = None
    seal: str

    @model_validator(mode="after")
    def _check(self) -> Kept:
        names = [row.name for row in self.settings]
        if len(set(names)) < len(names):
            raise ValueError("settings: allowed is each name once")
        return self


def read_kept(path: Path, experiment: Experiment) -> dict[str, Any] | None:
    """Read and check the published results of an experiment file; ``None`` if there are none.

    Raises:
        ValueError: it is damaged, or has other statistics of a setting than the file asks for.
    """
    return _read(path, experiment)[0]


def _read(path: Path, experiment: Experiment) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """All published results, and those of the settings as they are now, which a search's are not looked through for."""
    target = published(path)
    if not target.exists():
        return None, None
    content, now = read_json(target), None
    try:
        check_seal(content, str(target))
        Kept.model_validate(content)
        content = {key: value for key, value in content.items() if key != SEAL}
        if "search" not in content:
            now = current(path, experiment, content)
            _check_asked(now, experiment)
    except ValidationError as error:
        raise Damaged(target, damaged(explained(error, str(target), Kept))) from None
    except ValueError as error:
        text = str(error)
        raise Damaged(target, damaged(text if str(target) in text else f"{target}: {text}")) from None
    return content, now


def read_current(path: Path, experiment: Experiment) -> dict[str, Any] | None:
    """Read the published results of an experiment file's settings as they are now, checked; ``None`` if there are none.

    Pages and figures show these.

    Raises:
        ValueError: as ``read_kept``.
    """
    content, now = _read(path, experiment)
    return current(path, experiment, content) if content is not None and "search" in content else now


def check_alike(content: Mapping[str, Any], target: Path) -> None:
    """Refuse results that are not all made by the same: versions, threads, processor and device of the whole file, and
    of one setting's runs all else that is recorded.

    Raises:
        ValueError: they are not; what differs is named.
    """
    records = {row["name"]: row.get("made_by", {}) for row in content["settings"]}
    first = next(iter(records), "")
    for name, record in records.items():
        if what := _mixture(name, record) or _elsewhere(first, name, records):
            raise ValueError(
                f"{target} stays as it is, its runs would be made by different things: {what}. Allowed "
                "are runs of the same, or --mixed, which is recorded"
            )


def _mixture(name: str, record: Mapping[str, str]) -> str:
    """In words, in what the runs of one setting differ."""
    mixed = {entry: value for entry, value in record.items() if " | " in value}
    if mixed and all(UNKNOWN in value for value in record.values()):
        return f"of some runs of {name!r} it is not recorded"
    told = "; ".join(f"{entry} = {value}" for entry, value in mixed.items())
    return f"runs of {name!r} have {told}" if mixed else ""


def _elsewhere(first: str, name: str, records: Mapping[str, Mapping[str, str]]) -> str:
    """In words, in what two settings' machines differ."""
    there, here = records[first], records[name]
    if bool(there) != bool(here):
        return f"of {name if there else first!r} it is not recorded"
    other = differences(there, here, OF_MACHINE)
    return f"{first!r} there, {name!r} here: {'; '.join(other)}" if other else ""


def damaged(text: str) -> str:
    """Say that published results are damaged, and what is allowed."""
    return (
        f"{text}; the results that are published there are damaged: allowed is the file as --publish wrote it, or none"
    )


def _check_asked(content: Mapping[str, Any] | None, experiment: Experiment) -> None:
    names = [each.name for each in experiment.checked.statistics]
    for row in content["settings"] if content is not None else ():
        if names and set(row["statistics"]) != set(names):
            raise ValueError(
                f"{row['name']}: statistics are {', '.join(row['statistics'])}: allowed is {', '.join(names)}"
            )


def new_runs(kept: Mapping[str, Any], results: Iterable[Mapping[str, Any]], where: tuple[Path, Path]) -> list[Any]:
    """Return the results that are not published yet.

    Args:
        where: the published file, and the store of the results.

    Raises:
        ValueError: a run that is published gave other statistics here.
    """
    there = {row["name"]: row for row in kept["settings"]}
    new, other = [], []
    for result in results:
        row = there.get(result["point"])
        if row is None or result["seed"] not in row["seeds"]:
            new.append(result)
        else:
            other += _differences(row, run_row(result))
    if other:
        more = f"; so do {len(other) - 1} more numbers" if len(other) > 1 else ""
        raise ValueError(
            f"{where[0]} stays as it is, {where[1]} does not agree with it: {other[0]}{more}. Allowed are "
            "runs that agree, or no published file"
        )
    return new


def _differences(row: Mapping[str, Any], run: Mapping[str, Any]) -> list[str]:
    """Say in words where one run differs from its setting's published row."""
    (seed,) = run["seeds"]
    place, found = row["seeds"].index(seed), []
    for name, numbers in run["statistics"].items():
        for kind, called in (("values", name), ("deviations", f"{WITHIN} of {name}")):
            if kind in row["statistics"][name] and kind in numbers:
                there, here = json_text(row["statistics"][name][kind][place]), json_text(numbers[kind][0])
                if there != here:
                    found.append(f"{row['name']}, seed {seed}: {called} = {there} there, {here} here")
    return found
