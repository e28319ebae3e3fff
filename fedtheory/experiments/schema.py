"""Experiment files: what runs, over which settings and seeds, what is watched, and which statistics are taken.

paper = "safari"
title = "..."
[federation]            # kind and arguments, as all parts: see setting_parts.py
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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, create_model, model_validator

from ..files import Damaged, plain_toml, read_file
from ..quantities import nearest
from .files_beside import FilesBeside, hashes, is_model
from .grid import ASIDE_OF_RUN, ONLY, ExperimentFile, Point, text_of, with_defaults, with_values
from .part_models import BESIDE, part, union_or_python
from .reading import Component, Listed, Strict, explained, parse_toml

Scalar = bool | int | float | str
CHANGED = ("algorithm", "federation", "local_solver", "participation", "run", "start")
"""Parts of a setting that can be changed from outside of its file."""


class RunPlan(Strict):
    """Plan of the runs: their length, their number, and the observers.

    Attributes:
        rounds: of each run.
        seeds: one run (or ``replicas`` runs) each.
        replicas: runs of one seed that advance together.
        record_every: rounds between recorded rows; the last round is always recorded.
        observers: what is watched; by default the squared distance and gradient of convex federations, the accuracy of
            networks.
        dtype: of models.
        checkpoint_every: rounds between checkpoints.
        keep_models: rounds between models that are kept with the run, from round 0 on; the last one always is.
        device: ``cpu``, ``cuda``, or ``auto``: CUDA where there is one.
        threads: of torch and of compiled loops, on a CPU.
        memory_limit: bytes that a run may hold besides its data; by default the same on every machine.
        memory_on_disk: whether what algorithms remember of every client is in files of the store.
        mixed: whether runs that something else has begun are gone on with; it is recorded.
        seeded: dotted keys of the file that take the seed as their value too: of a partition, say.
        pilot: seeds that were looked at before it was fixed how many follow: nothing is judged by them.
    """

    rounds: int = Field(ge=1)
    seeds: Listed[int] = (0,)
    replicas: int = Field(default=1, ge=1)
    record_every: int | None = Field(default=None, ge=1)
    observers: Listed[part("observer")] | None = None  # type: ignore[valid-type]
    dtype: Literal["float32", "float64"] | None = None
    checkpoint_every: int | None = Field(default=None, ge=1)
    keep_models: int | None = Field(default=None, ge=1)
    device: str = "cpu"
    threads: int = Field(default=1, ge=1)
    memory_limit: int | None = Field(default=None, ge=1)
    memory_on_disk: bool = False
    mixed: bool = False
    seeded: Listed[str] = ()
    pilot: Listed[int] = ()

    @model_validator(mode="after")
    def _check(self) -> RunPlan:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"seeds = {list(self.seeds)}: allowed are different integers >= 0, at least one")
        if strange := [seed for seed in self.pilot if seed not in self.seeds]:
            raise ValueError(f"pilot: {strange[0]} is none of the seeds: allowed are some of {list(self.seeds)}")
        return self


class Statistic(Strict):
    """One number of each run, and its mean and deviation over runs.

    Attributes:
        name: of the number; by default that of the row.
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
    """One setting by name: dotted keys and their values, put in the place of the file's.

    Attributes:
        name: of the setting.
        set: dotted keys and their values; by default none, which is the file as it stands.
        labels: of the setting, in pages of tables.
    """

    name: str
    set: dict[str, Any] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)


class Called(Strict):
    """Names of a key of the grid, and of its values, in settings' names and labels.

    Attributes:
        label: instead of the key's last word.
        values: instead of the values, in their order.
    """

    label: str | None = Field(default=None, min_length=1)
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
    """One step of a search: the value of a key that makes a statistic least (or largest), kept from then on.

    Attributes:
        over: the dotted key.
        values: those that are tried.
    """

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
    """Entries of a file; what stands in those of its parts is read off what they name.

    Attributes:
        title: one line; by default the file's name.
        paper: whose experiment it is like; runs are kept under it.
        reproduces: what of the paper, in words.
        likeness: printed tables that its numbers stand beside.
        chosen: what the paper leaves open, and what was chosen.
        labels: of all settings, in pages of tables.
        federation: whose loss is minimised: its kind and arguments.
        algorithm: its kind and arguments, such as the step size.
        participation: who takes part: a process and its arguments.
        local_solver: what clients do with their gradients: SGD or Adam and its arguments; by default plain SGD.
        start: x_0: a number, or the file of a model, .npz or .safetensors; by default 0, or a network's own draw.
        run: how long and how often, and what is watched.
        statistics: numbers of each run; by default the last value of everything that is watched.
        grid: lists of values by dotted key, as "algorithm.local_lr"; every combination is a setting.
        called: names of the grid's keys and values.
        variants: settings by name, each changing some keys.
        search: instead of a grid: a key after another, of which the best value is kept.
    """

    paper: Component = ""
    title: str
    reproduces: Listed[str] = ()
    likeness: Listed[Likeness] = ()
    chosen: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    start: float | str | None = None
    run: RunPlan
    statistics: Listed[Statistic] = ()
    grid: dict[str, Listed[Any]] = Field(default_factory=dict)
    called: dict[str, Called] = Field(default_factory=dict)
    variants: Listed[Variant] = ()
    search: Search | None = None

    @model_validator(mode="after")
    def _check(self) -> ExperimentBase:
        is_model(self.start)
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
    fields: dict[str, Any] = {name: (union_or_python(family), ...) for name, family in parts.items()}
    fields["local_solver"] = (part("solver"), None)
    return create_model("Experiment", __base__=ExperimentBase, **fields)


@dataclass(frozen=True)
class Experiment(ExperimentFile):
    """A checked experiment file.

    Attributes:
        checked: the model.
        beside: the Python files that its settings may execute; ``None``: none is executed, and what their kinds are
            given is not checked.
        changes: values at dotted keys, put in the place of every setting's: see ``changed``.
    """

    checked: Any
    beside: FilesBeside | None = field(default=None, compare=False)
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def plan(self) -> RunPlan:
        """The plan of the runs."""
        return self.checked.run  # type: ignore[no-any-return]

    def points(self) -> list[Point]:
        """Every variant, with every combination of the grid.

        Raises:
            ValueError: a value that the file's model refuses; the setting is named.
        """
        return list(self._points)

    @functools.cached_property
    def _points(self) -> tuple[Point, ...]:
        """The points, checked once: a file with its results asks for them many times."""
        return tuple(self._checked(self._with_changes(point)) for point in super().points())

    def changed(self, values: Mapping[str, Any]) -> Experiment:
        """Return this experiment with other values at dotted keys in all its settings, whose names say so; what decides
        no numbers, such as seeds, is changed without.

        Raises:
            ValueError: a key that no setting has (the nearest is named) or that the file gives several values itself; a
                value that is refused.
        """
        for key in values:
            self._check_key(key)
        aside = {key: value for key, value in values.items() if key.partition(".")[2] in ASIDE_OF_RUN}
        run = {**self.content["run"], **{key.partition(".")[2]: value for key, value in aside.items()}}
        content = {**self.content, "run": run}
        rest = {key: value for key, value in values.items() if key not in aside}
        try:
            checked = model().model_validate(content, context={BESIDE: self.beside})
        except ValidationError as error:
            raise ValueError(explained(error, self.name, model())) from None
        found = replace(self, content=content, checked=checked, changes={**self.changes, **rest})
        found._check_files()
        found.points()
        return found

    def _check_key(self, key: str) -> None:
        """Refuse a key outside of a setting's tables, and one of which the file has several values itself."""
        head, *_ = key.split(".")
        if head not in CHANGED or key == "run":
            heads = [f"{each}.KEY" for each in CHANGED if each != "start"]
            raise ValueError(f"{self.name}: --set {key}: {nearest(key, [*_dotted(self.content), *heads])}")
        stages = self.checked.search.stages if self.checked.search else ()
        several = {**dict.fromkeys(self.checked.grid, "grid"), **{each.over: "search" for each in stages}}
        for variant in self.checked.variants:
            several |= dict.fromkeys(variant.set, f"variant {variant.name!r}")
        for other, where in several.items():
            if other == key or other.startswith(f"{key}."):
                raise ValueError(
                    f"{self.name}: --set {key}: the file's {where} gives {other} its values: allowed is another key, "
                    "or --only"
                )

    def _with_changes(self, point: Point) -> Point:
        if not self.changes:
            return point
        content, changes = point.content, dict(sorted(self.changes.items()))
        for key in changes:
            content = _with_table(content, key, self.name)
        texts = {key: text_of(value) for key, value in changes.items()}
        names = [*([] if point.name == ONLY else [point.name]), *(f"{key}={text}" for key, text in texts.items())]
        return Point(", ".join(names), {**point.labels, **texts}, with_values(content, changes, self.name))

    def contents(self) -> list[Mapping[str, Any]]:
        """The content of every setting, those of a search too."""
        stages = self.checked.search.stages if self.checked.search else ()
        places = [{each.over: value} for each in stages for value in each.values]
        searched = [Point(ONLY, {}, with_values(self.content, each, self.name)) for each in places]
        return [self._with_changes(point).content for point in (*super().points(), *searched)]

    def _check_files(self) -> bool:
        """See that the files beside it that its settings name are there, before one is executed; whether one is."""
        return self.beside is not None and any([hashes(self.beside.folder, content) for content in self.contents()])

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
        return self._checked(self._with_changes(Point(name, labels, with_values(self.content, values, self.name))))

    def _checked(self, point: Point) -> Point:
        contents = [point.content]
        if self.plan.seeded:
            seeded = dict.fromkeys(self.plan.seeded, self.plan.seeds[0])
            contents.append(with_values(point.content, seeded, self.name))
        for content in contents:
            try:
                model().model_validate(dict(content), context={BESIDE: self.beside})
            except ValidationError as error:
                raise ValueError(explained(error, f"{self.name}, setting {point.name!r}", model())) from None
        return point


def _dotted(content: Mapping[str, Any]) -> list[str]:
    """The dotted keys of a setting's tables.

    >>> _dotted({"title": "t", "run": {"rounds": 3}, "algorithm": {"kind": "own", "server": {"lr": 1}}})
    ['algorithm.kind', 'algorithm.server', 'algorithm.server.lr', 'run.rounds']
    """
    found, waiting = [], [(part, content[part]) for part in CHANGED if isinstance(content.get(part), Mapping)]
    while waiting:
        above, table = waiting.pop()
        found += [f"{above}.{key}" for key in table]
        waiting += [(f"{above}.{key}", value) for key, value in table.items() if isinstance(value, Mapping)]
    return sorted(found)


def _with_table(content: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    """The content, in which a key leads into tables: a kind that stands alone becomes one.

    Raises:
        ValueError: it leads nowhere; the nearest key is named.
    """
    *path, _ = key.split(".")
    made: dict[str, Any] = copy.deepcopy(dict(content))
    place = made
    for done, step in enumerate(path, 1):
        if isinstance(place.get(step), str) and done > 1:
            place[step] = {"kind": place[step]}
        if not isinstance(place.get(step), dict):
            raise ValueError(f"{name}: --set {key}: {nearest(key, _dotted(content))}")
        place = place[step]
    return made


def read_experiment(path: str | Path, beside: FilesBeside | None = None) -> Experiment:
    """A checked experiment file.

    Args:
        beside: the Python files beside it, which are executed where its settings name them; ``None``: none is.

    Raises:
        ValueError: see ``reading.read_toml``; or a setting of its grid that is refused.
        FileNotFoundError: there is no such file.
    """
    if not str(path).isprintable():  # results name it
        raise ValueError(f"{str(path)!r}: allowed is a name in UTF-8 that can be printed")
    content = read_file(path)
    experiment = _without_files(str(path), content)
    if beside is not None:  # nothing is executed before all else is in order
        experiment = replace(experiment, beside=beside)
        try:
            if experiment._check_files():
                filled = functools.partial(with_defaults, name=str(path))
                parse_toml(content, str(path), model(), {BESIDE: beside}, filled)
                experiment.points()
        except ValueError as error:
            raise Damaged(path, str(error)) from None
    return experiment


@functools.lru_cache(maxsize=256)
def _without_files(name: str, content: bytes) -> Experiment:
    """The experiment of a file with this content, which is read once however often pages ask for it."""
    checked = parse_toml(content, name, model(), filled=functools.partial(with_defaults, name=name))
    experiment = Experiment(name, plain_toml(content, name), checked)
    try:
        names = [point.name for point in experiment.points()]
    except ValueError as error:
        raise Damaged(name, str(error)) from None
    if len(set(names)) < len(names):
        raise Damaged(name, "two settings are called alike: allowed are different names and values")
    return experiment
