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

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, create_model, model_validator

from ..files import Damaged, plain_toml, read_file
from ..quantities import nearest
from .grid import ExperimentFile, Point, with_values
from .part_models import part, union
from .reading import Component, Listed, Strict, explained, parse_toml

Scalar = bool | int | float | str


class RunPlan(Strict):
    """Plan of the runs: their length, their number, and the observers.

    Attributes:
        rounds: of each run.
        seeds: one run (or ``replicas`` runs) each.
        replicas: runs of one seed that advance together.
        record_every: rounds between recorded rows; the last round is always recorded.
        observers: what is watched.
        dtype: of models.
        checkpoint_every: rounds between checkpoints.
        device: ``cpu``, ``cuda``, or ``auto``: CUDA where there is one.
        threads: of torch and of compiled loops, on a CPU.
        memory_limit: bytes that a run may hold besides its data; by default the same on every machine.
        memory_on_disk: whether what algorithms remember of every client is in files of the store.
        mixed: whether runs that something else has begun are gone on with; it is recorded.
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
    threads: int = Field(default=1, ge=1)
    memory_limit: int | None = Field(default=None, ge=1)
    memory_on_disk: bool = False
    mixed: bool = False
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
    """Names of a key of the grid, and of its values, in settings' names and labels.

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
    """Entries of a file besides its three parts."""

    paper: Component = ""
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
                raise ValueError(
                    f"called.{key}.values = {list(called.values)}: allowed is a different text for each "
                    f"of {many} values"
                )
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
class Experiment(ExperimentFile):
    """A checked experiment file.

    Attributes:
        checked: the model.
    """

    checked: Any

    @property
    def plan(self) -> RunPlan:
        """The plan of the runs."""
        return self.checked.run  # type: ignore[no-any-return]

    def points(self) -> list[Point]:
        """Every variant, with every combination of the grid.

        Raises:
            ValueError: a value that the file's model refuses; the setting is named.
        """
        return [self._checked(point) for point in super().points()]

    @property
    def grid_labels(self) -> list[str]:
        """The labels that its grid gives."""
        return [self.label(key) for key in self.checked.grid]

    @property
    def first_label(self) -> str:
        """The label that a printed table's cells are found by first; "" if none stands beside."""
        return next((likeness.by[0] for likeness in self.checked.likeness if likeness.by), "")

    def run_by(self, **how: Any) -> Experiment:
        """Return this experiment, to be run otherwise: on another ``device``, by other ``threads``, ...

        What is ``None`` stays.
        """
        given = {key: value for key, value in how.items() if value is not None}
        run = {**self.content["run"], **given}
        return replace(self, content={**self.content, "run": run})

    def at(self, name: str, labels: Mapping[str, str], values: Mapping[str, Any]) -> Point:
        """The setting with these values at these dotted keys.

        Raises:
            ValueError: a key with an unknown head, or a value that is refused.
        """
        return self._checked(Point(name, labels, with_values(self.content, values, self.name)))

    def _checked(self, point: Point) -> Point:
        seeded = dict.fromkeys(self.plan.seeded, self.plan.seeds[0])
        for content in (point.content, with_values(point.content, seeded, self.name)):
            try:
                model().model_validate(dict(content))
            except ValidationError as error:
                raise ValueError(explained(error, f"{self.name}, setting {point.name!r}", model())) from None
        return point


def read_experiment(path: str | Path) -> Experiment:
    """A checked experiment file.

    Raises:
        ValueError: see ``reading.read_toml``; or a setting of its grid that is refused.
        FileNotFoundError: there is no such file.
    """
    if not str(path).isprintable():  # results name it
        raise ValueError(f"{str(path)!r}: allowed is a name in UTF-8 that can be printed")
    content = read_file(path)
    checked = parse_toml(content, str(path), model())
    experiment = Experiment(str(path), plain_toml(content, str(path)), checked)
    try:
        names = [point.name for point in experiment.points()]
    except ValueError as error:
        raise Damaged(path, str(error)) from None
    if len(set(names)) < len(names):
        raise Damaged(path, "two settings are called alike: allowed are different names and values")
    return experiment
