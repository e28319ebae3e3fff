"""Experiment files: what runs, over which settings and seeds, what is watched, and which statistics are taken.

paper = "safari"
title = "..."
[federation]            # kind and arguments, as all parts: see parts.py
[algorithm]
[participation]
[run]                   # rounds, seeds, replicas, what is watched
[grid]                  # "algorithm.local_lr" = [...]: every combination is a setting
[called]                # what a grid's values are called, where that is not the key's last word and the value
[[variants]]            # or: settings by name, each changing some keys
[[statistics]]          # numbers of a run, and how they are put together over seeds
[[likeness]]            # printed tables that these numbers stand beside
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, create_model, model_validator

from ..files import read_file
from ..quantities import nearest
from .parts import built, part, union
from .reading import Listed, Strict, explained, parse_toml

Scalar = bool | int | float | str


class RunPlan(Strict):
    """How long, how often, and what is watched.

    Attributes:
        rounds: of each run.
        seeds: one run (or ``replicas`` runs) each.
        replicas: runs of one seed that advance together.
        record_every: rounds between recorded rows; the last round is always recorded.
        observers: what is watched.
        dtype: of models.
        checkpoint_every: rounds between checkpoints.
        device: ``cpu`` or ``cuda``.
        seeded: dotted keys of the file that take the seed as their value too: of a partition, say.
    """

    rounds: int = Field(ge=1)
    seeds: Listed[int] = (0,)
    replicas: int = Field(default=1, ge=1)
    record_every: int | None = Field(default=None, ge=1)
    observers: Listed[part("observer")]  # type: ignore[valid-type]
    dtype: Literal["float32", "float64"] | None = None
    checkpoint_every: int | None = Field(default=None, ge=1)
    device: str = "cpu"
    seeded: Listed[str] = ()

    @model_validator(mode="after")
    def _check(self) -> RunPlan:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"seeds = {list(self.seeds)}: allowed are different integers >= 0, at least one")
        return self


class Statistic(Strict):
    """One number of each run, and its mean and deviation over runs.

    Attributes:
        name: of the number.
        of: the row of the run: an observed quantity, or its ``_sum``, ``_min`` or ``_max``.
        take: ``end`` (the last recorded value), ``mean`` (over the last evaluations), ``best`` (the largest) or
            ``least``.
        last: so many evaluations, the last ones; for ``mean``.
        last_rounds: instead, all evaluations in so many rounds, the last ones.
        scale: what it is multiplied by: 100 for per cent.
        plus: what is added then.
        unit: what it is then in.
    """

    name: str
    of: str
    take: Literal["end", "mean", "best", "least"] = "end"
    last: int | None = Field(default=None, ge=1)
    last_rounds: int | None = Field(default=None, ge=1)
    scale: float = 1.0
    plus: float = 0.0
    unit: str = "1"

    @model_validator(mode="after")
    def _check(self) -> Statistic:
        given = (self.last is not None) + (self.last_rounds is not None)
        if given != (self.take == "mean"):
            raise ValueError("allowed is take = 'mean' with one of last and last_rounds, or another take with neither")
        return self


class Variant(Strict):
    """One setting by name: dotted keys and their values, put in the place of the file's."""

    name: str
    set: dict[str, Any]
    labels: dict[str, str] = Field(default_factory=dict)


class Called(Strict):
    """What a key of the grid, and its values, are called in settings' names and labels.

    Attributes:
        label: instead of the key's last word.
        values: instead of the values, in their order.
    """

    label: str = Field(min_length=1)
    values: Listed[str] = ()


class Likeness(Strict):
    """A printed table that settings of the file stand beside, cell by cell.

    Attributes:
        table: its number.
        edition: of the paper.
        cells: which of its cells, by their labels.
        by: labels in which a cell and its setting agree.
        ours: what the setting's other labels have to be.
        minus: where the printed number is a difference, those of the setting that is subtracted.
        statistic: which of the file's numbers stands there.
        orders: each a list of labels of ``by``: cells that differ in no other are compared with each other.
    """

    table: str
    edition: str = "main"
    cells: dict[str, str] = Field(default_factory=dict)
    by: Listed[str] = Field(min_length=1)
    ours: dict[str, str] = Field(default_factory=dict)
    minus: dict[str, str] | None = None
    statistic: str
    orders: Listed[Listed[str]] = ()

    @model_validator(mode="after")
    def _check(self) -> Likeness:
        for label in itertools.chain(*self.orders):
            if label not in self.by:
                raise ValueError(f"orders: {label!r}: allowed are {' and '.join(self.by)}")
        return self


class Stage(Strict):
    """One step of a search: the value of a key that makes a statistic least (or largest), kept from then on."""

    over: str
    values: Listed[Scalar] = Field(min_length=1)


class Search(Strict):
    """A search over step sizes and the like, one key after another.

    Attributes:
        statistic: which one decides, by its mean over seeds; runs that diverge lose.
        largest: whether the largest is sought.
        stages: in order.

    Source: FedAU, appendix C.4.
    """

    statistic: str
    largest: bool = False
    stages: Listed[Stage] = Field(min_length=1)


class ExperimentBase(Strict):
    """What a file has besides its three parts."""

    paper: str = ""
    title: str
    reproduces: Listed[str] = ()
    likeness: Listed[Likeness] = ()
    chosen: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    start: float | str | None = None
    run: RunPlan
    statistics: Listed[Statistic] = Field(min_length=1)
    grid: dict[str, Listed[Any]] = Field(default_factory=dict)
    called: dict[str, Called] = Field(default_factory=dict)
    variants: Listed[Variant] = ()
    search: Search | None = None

    @model_validator(mode="after")
    def _check(self) -> ExperimentBase:
        names = [each.name for each in self.statistics]
        if len(set(names)) < len(names):
            raise ValueError(f"statistics {', '.join(names)}: allowed is each name once")
        for each in self.likeness:
            if each.statistic not in names:
                raise ValueError(f"likeness.statistic = {each.statistic!r}: allowed is {' or '.join(names)}")
        if self.search and self.search.statistic not in names:
            raise ValueError(f"search.statistic = {self.search.statistic!r}: allowed is {' or '.join(names)}")
        for key, values in self.grid.items():
            if not values:
                raise ValueError(f"grid.{key} is empty: allowed is at least one value")
        for key, called in self.called.items():
            if key not in self.grid:
                raise ValueError(f"called.{key}: {nearest(key, self.grid)}: allowed are keys of the grid")
            if called.values and len(set(called.values)) != len(self.grid[key]):
                many = len(self.grid[key])
                raise ValueError(f"called.{key}.values = {list(called.values)}: allowed is a different text for each "
                                 f"of {many} values")  # fmt: skip
        variants = [each.name for each in self.variants]
        if len(set(variants)) < len(variants):
            raise ValueError(f"variants {', '.join(variants)}: allowed is each name once")
        return self


@functools.cache
def model() -> Any:
    """The model of an experiment file, of the parts that there are."""
    parts = {"federation": "federation", "algorithm": "algorithm", "participation": "process"}
    fields: dict[str, Any] = {name: (union(family), ...) for name, family in parts.items()}
    fields["local_solver"] = (part("solver"), None)
    return create_model("Experiment", __base__=ExperimentBase, **fields)


@dataclass(frozen=True)
class Point:
    """One setting of an experiment.

    Attributes:
        name: the values that make it this one; a folder's name.
        labels: the same, by key.
        content: the file's content with these values.
    """

    name: str
    labels: Mapping[str, str]
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A checked experiment file.

    Attributes:
        name: what errors and results call it.
        content: as read.
        checked: the model.
    """

    name: str
    content: Mapping[str, Any]
    checked: Any

    @property
    def plan(self) -> RunPlan:
        return self.checked.run  # type: ignore[no-any-return]

    def points(self) -> list[Point]:
        """Every variant, with every combination of the grid.

        Raises:
            ValueError: a value that the file's model refuses; the setting is named.
        """
        variants = list(self.checked.variants) or [Variant(name="", set={})]
        grid = [self._called(key) for key in self.checked.grid]
        found = []
        for variant, *chosen in itertools.product(variants, *grid):
            labels = {**self.checked.labels, **variant.labels} | {label: text for label, text, _ in chosen}
            short = [variant.name] if variant.name else []
            short += [f"{label}={text}" for label, text, _ in chosen]
            values = dict(zip(self.checked.grid, (value for *_, value in chosen), strict=True))
            found.append(self.at(", ".join(short) or "only", labels, {**variant.set, **values}))
        return found

    @property
    def grid_labels(self) -> list[str]:
        """The labels that its grid gives."""
        return [self._called(key)[0][0] for key in self.checked.grid]

    @property
    def first_label(self) -> str:
        """The label that a printed table's cells are found by first; "" if none stands beside."""
        return next((likeness.by[0] for likeness in self.checked.likeness if likeness.by), "")

    def _called(self, key: str) -> list[tuple[str, str, Any]]:
        """Of each value of a key of the grid the label, its text and the value."""
        values, called = self.checked.grid[key], self.checked.called.get(key)
        label = called.label if called else key.rpartition(".")[2]
        texts = called.values if called and called.values else map(_text, values)
        return [(label, text, value) for text, value in zip(texts, values, strict=True)]

    def at(self, name: str, labels: Mapping[str, str], values: Mapping[str, Any]) -> Point:
        """The setting with these values at these dotted keys.

        Raises:
            ValueError: a key with an unknown head, or a value that is refused.
        """
        content = copy.deepcopy(dict(self.content))
        for key, value in values.items():
            _put(content, key, value, self.name)
        content = {k: v for k, v in content.items() if k not in ("grid", "called", "variants", "search", "likeness")}
        try:
            model().model_validate(content)
        except ValidationError as error:
            raise ValueError(explained(error, f"{self.name}, setting {name!r}", model())) from None
        return Point(name, labels, content)


def _put(content: dict[str, Any], key: str, value: Any, name: str) -> None:
    *path, last = key.split(".")
    place = content
    for step in path:
        if not isinstance(place.get(step), dict):
            raise ValueError(f"{name}: {key}: allowed is a key of a table in the file, as algorithm.local_lr")
        place = place[step]
    if isinstance(value, dict) or not isinstance(place.get(last), dict):
        place[last] = copy.deepcopy(value)
    else:
        raise ValueError(f"{name}: {key} = {value!r}: allowed is a table")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("kind", "table"))
    return str(value).replace("/", "|")


def read_experiment(path: str | Path) -> Experiment:
    """A checked experiment file.

    Raises:
        ValueError: see ``reading.read_toml``; or a setting of its grid that is refused.
        FileNotFoundError: there is no such file.
    """
    content = read_file(path)
    checked = parse_toml(content, str(path), model())
    experiment = Experiment(str(path), tomllib.loads(content.decode()), checked)
    names = [point.name for point in experiment.points()]
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: two settings are called alike: allowed are different names and values")
    return experiment


def setting(content: Mapping[str, Any]) -> Any:
    """The ``Setting`` of one point's content.

    Raises:
        ValueError: an argument outside its range.
        FileNotFoundError: data that are not there.
    """
    from ..setting import Setting

    checked = model().model_validate(dict(content))
    federation, algorithm, participation = map(built, (checked.federation, checked.algorithm, checked.participation))
    participation = participation.on(federation) if hasattr(participation, "on") else participation
    if checked.local_solver is not None:
        algorithm = algorithm.trained_by(built(checked.local_solver))
    start = {} if checked.start is None else {"start": checked.start}
    return Setting(federation, algorithm, participation, **start)


def statistics(experiment: Any, rounds: Any, rows: Mapping[str, Any]) -> Iterator[tuple[str, list[float], list[float]]]:
    """Of each statistic its name, its values in all replicas, and their deviations over evaluations (NaN for others
    than means of several).

    Raises:
        ValueError: a row that was not observed, or fewer evaluations than asked for.
    """
    import numpy as np

    for each in experiment.statistics:
        if each.of not in rows:
            raise ValueError(f"statistic {each.name}: of = {each.of!r} was not observed; {nearest(each.of, rows)}")
        values = each.plus + each.scale * np.asarray(rows[each.of], dtype=float)
        if each.take == "mean":
            chosen = np.asarray(rounds) > rounds[-1] - each.last_rounds if each.last_rounds else slice(-each.last, None)
            values = values[:, chosen]
            if values.shape[1] < (each.last or 1):
                raise ValueError(
                    f"statistic {each.name}: {values.shape[1]} evaluations, allowed are {each.last} or more"
                )
            several = values.shape[1] > 1
            with np.errstate(invalid="ignore"):  # of a run that diverged it is no number
                spread = values.std(1, ddof=1) if several else np.full(len(values), math.nan)
            yield each.name, values.mean(1).tolist(), spread.tolist()
        else:
            take = {"end": values[:, -1], "best": values.max(1), "least": values.min(1)}[each.take]
            yield each.name, take.tolist(), [math.nan] * len(values)
