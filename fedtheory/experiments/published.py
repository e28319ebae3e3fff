"""Published results beside an experiment file: read, checked, and compared with runs that are made again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from ..files import json_text, read_json
from .reading import Listed, Strict, explained
from .results import WITHIN, digest, listed, published, run_row, runs_of
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
    labels: dict[str, str]
    seeds: Listed[int] = Field(min_length=1)
    seconds: float
    commits: Listed[str]
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
    commits: Listed[str]
    data: Listed[str]
    seconds: float
    units: dict[str, str]
    settings: Listed[Row]
    search: Any = None

    @model_validator(mode="after")
    def _check(self) -> Kept:
        names = [row.name for row in self.settings]
        if len(set(names)) < len(names):
            raise ValueError("settings: allowed is each name once")
        return self


def read_kept(path: Path, experiment: Experiment) -> dict[str, Any] | None:
    """Read and check the published results of an experiment file; ``None`` if there are none.

    Raises:
        ValueError: it is damaged, or is of this very file but has runs or statistics that the file does not ask for.
    """
    target = published(path)
    if not target.exists():
        return None
    content = read_json(target)
    try:
        Kept.model_validate(content)
        if content["sha256"] == digest(path) and "search" not in content:
            _check_asked(content, experiment)
    except ValidationError as error:
        raise ValueError(damaged(explained(error, str(target), Kept))) from None
    except ValueError as error:
        raise ValueError(damaged(f"{target}: {error}")) from None
    return content


def damaged(text: str) -> str:
    """Say that published results are damaged, and what is allowed."""
    return (
        f"{text}\nthe results that are published there are damaged: allowed is the file as --publish wrote it, or none"
    )


def _check_asked(content: Mapping[str, Any], experiment: Experiment) -> None:
    points, seeds = {point.name for point in experiment.points()}, experiment.plan.seeds
    names = [each.name for each in experiment.checked.statistics]
    for name, seed in sorted(runs_of(content)):
        if name not in points or seed not in seeds:
            raise ValueError(f"{name}, seed {seed} is no run of {experiment.name}")
    for row in content["settings"]:
        if set(row["statistics"]) != set(names):
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
