"""Printed tables beside our numbers: cell by cell, and whether our runs bear out the order that a table prints.

A cell and a setting belong together by their labels. Settings of one seed share partition and draws, so two settings
are compared by the differences of their runs, seed by seed.

Two statistics are fixed for every experiment file: the paper's, which stands beside the printed number, and the mean
over the last third of the rounds, by which orders are judged. No file can choose another.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from .comparisons import overlapping
from .paired_tests import LEAST_SEEDS, Differences, Wanted, decided
from .printed_tables import Cell, Table
from .schema import Experiment, Likeness, Statistic

VERDICTS = ("as printed", "same sign, not the size", "reversed", "smaller", "open", "no order")
"""Words that are said of a pair: see ``Ranked``."""

REASONS = (
    f"fewer than {LEAST_SEEDS} seeds",
    "resolution above the printed difference",
    "resolution above our difference",
)
"""Why a pair is open: see ``reason``."""

FACTOR = 2
"""Factor, either way, within which a difference has the size of the printed one."""

EVALUATIONS = (
    "squared_distance",
    *(f"{of}_{what}{over}" for of in ("test", "train") for what in ("accuracy", "loss") for over in ("", "_spread")),
)
"""Rows of a run that are judged by the mean over the last third of its rounds."""


@dataclass(frozen=True)
class Beside:
    """A printed cell and what our runs give in its place.

    Attributes:
        cell: the printed one.
        labels: those in which it and the setting agree.
        values: the paper's statistic by seed; empty if the setting was not run.
        late: the mean over the last third of the rounds, by seed but those of the pilot; the paper's statistic of what
            is no evaluation.
        runs: seconds that the runs of its setting took, or of its two where it is a difference, by the setting's name.
        commits: of the code that ran.
    """

    cell: Cell
    labels: Mapping[str, str]
    values: Mapping[int, float] = field(default_factory=dict)
    late: Mapping[int, float] = field(default_factory=dict)
    runs: Mapping[str, float] = field(default_factory=dict)
    commits: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The seconds that all of them took."""
        return sum(self.runs.values())

    @property
    def mean(self) -> float:
        """The mean of our values; NaN if there are none."""
        return fmean(self.values.values()) if self.values else math.nan

    @property
    def deviation(self) -> float:
        """The standard deviation of our values; NaN if there are fewer than two."""
        return stdev(self.values.values()) if len(self.values) > 1 else math.nan


@dataclass(frozen=True)
class Ranked:
    """Two cells that a table ranks, with what our runs say of their order.

    Attributes:
        one, other: the cells.
        printed: the first minus the second, as printed.
        differences: ours of the mean over the last third of the rounds, seed by seed.
        tests: how many pairs the table prints in an order; intervals and resolutions are corrected for so many.
        sign: whether that of the difference is the printed one: ``holds``, ``fails`` or ``open``, by Holm's procedure
            over the pairs of the table that are printed in an order.
    """

    one: Beside
    other: Beside
    printed: Decimal
    differences: Differences
    tests: int = 1
    sign: str = "open"

    @property
    def ordered(self) -> bool:
        """Whether the table prints an order: the numbers differ, and so do their intervals value +- spread."""
        return self.printed != 0 and not overlapping(self.one.cell, self.other.cell)

    @property
    def interval(self) -> float:
        """Half the width of our mean's interval; those of all pairs that the table prints in an order hold with
        probability .95. NaN of one seed."""
        return self.differences.half_width(self.tests) if len(self.differences.values) > 1 else math.nan

    @property
    def resolution(self) -> float:
        """Least difference that these seeds would see; NaN where there are too few."""
        return self.differences.resolution(self.tests)

    @property
    def seeds_needed(self) -> float:
        """Least number of seeds that see half the printed difference: a smaller one is not of its size (``FACTOR``)."""
        return self.differences.seeds_for(abs(float(self.printed)) / FACTOR, self.tests)

    @property
    def verdict(self) -> str:
        """One of ``VERDICTS``.

        ``no order``: none is printed. ``as printed`` and ``reversed`` speak of the sign. ``same sign, not the size``:
        the sign is as printed, and our whole interval is below half the printed difference or above its double.
        ``smaller``: the sign is open, and our whole interval is below half the printed difference, in its direction.
        """
        if not self.ordered:
            return "no order"
        size, toward = abs(float(self.printed)), self.differences.mean * (1 if self.printed > 0 else -1)
        low, high = toward - self.interval, toward + self.interval
        if self.sign == "fails":
            return "reversed"
        if self.sign == "holds":
            return "same sign, not the size" if high < size / FACTOR or low > size * FACTOR else "as printed"
        return "smaller" if self.differences.decides and high < size / FACTOR else "open"


def beside(experiment: Experiment, content: Mapping[str, Any], likeness: Likeness, table: Table) -> list[Beside]:
    """The cells of a printed table with our numbers.

    Args:
        experiment: the file.
        content: its results, as ``results.gathered`` gives them.
        likeness: one of the file's.
        table: the printed one.

    Raises:
        ValueError: two settings that a cell belongs to.
    """
    found = []
    for cell in table.cells:
        if cell.text == "" or not cell.matches(likeness.cells):
            continue
        labels = {label: cell.labels[label] for label in likeness.by if label in cell.labels}
        row = setting_with(content, {**labels, **likeness.ours}, experiment.name)
        if row is None:
            found.append(Beside(cell, labels))
            continue
        values, late = _statistics(experiment, row, likeness.statistic)
        runs, commits = {row["name"]: float(row["seconds"])}, set(row["commits"])
        if likeness.minus is not None:
            less = setting_with(content, {**labels, **likeness.minus}, experiment.name)
            others = ({}, {}) if less is None else _statistics(experiment, less, likeness.statistic)
            values, late = (
                {seed: value - other[seed] for seed, value in mine.items() if seed in other}
                for mine, other in zip((values, late), others, strict=True)
            )
            if less is not None:
                runs[less["name"]] = float(less["seconds"])
                commits |= set(less["commits"])
        found.append(Beside(cell, labels, values, late, runs, tuple(sorted(commits))))
    return found


def setting_with(content: Mapping[str, Any], wanted: Mapping[str, str], name: str) -> Mapping[str, Any] | None:
    """The setting with these labels; one that lacks a label has every value of it."""
    rows = [
        row
        for row in content["settings"]
        if all(row["labels"].get(label, value) == value for label, value in wanted.items())
    ]
    if len(rows) > 1:
        raise ValueError(
            f"{name}: the settings {' and '.join(repr(row['name']) for row in rows[:2])} both have the "
            f"labels {dict(wanted)}: allowed is one"
        )
    return rows[0] if rows else None


def _statistics(experiment: Experiment, row: Mapping[str, Any], name: str) -> tuple[dict[int, float], dict[int, float]]:
    """The paper's statistic by seed, a mean over replicas, and what is judged by: the mean over the last third of the
    rounds, without the pilot's seeds."""
    values = row["statistics"][name]["values"]
    paper = {
        seed: fmean(map(float, value)) if isinstance(value, list) else float(value)
        for seed, value in zip(row["seeds"], values, strict=True)
    }
    (statistic,) = (each for each in experiment.checked.statistics if each.name == name)
    evaluated = statistic.of in EVALUATIONS
    late = dict(zip(row["seeds"], late_means(row["curves"], statistic), strict=True)) if evaluated else paper
    return paper, {seed: value for seed, value in late.items() if seed not in experiment.plan.pilot}


def late_means(curves: Mapping[str, Any], statistic: Statistic) -> list[float]:
    """Compute the mean over the last third of the rounds, those r with 2 R / 3 < r <= R, for each seed.

    Args:
        curves: the recorded rounds that were kept, at most 60 of them, and each row of the run at these by seed.
        statistic: the row, its scale and what is added.

    >>> from fedtheory.experiments.schema import Statistic
    >>> late_means({"rounds": [0, 3, 6, 9], "x": [[9.0, 9.0, 9.0, 1.0]]}, Statistic(name="x", of="x", scale=100.0))
    [100.0]
    """
    rounds = curves["rounds"]
    places = [k for k, done in enumerate(rounds) if 3 * done > 2 * rounds[-1]] or [-1]
    return [statistic.scale * fmean(float(curve[k]) for k in places) + statistic.plus for curve in curves[statistic.of]]


def pairs(rows: Sequence[Beside], orders: Sequence[Sequence[str]]) -> Iterator[Ranked]:
    """Yield every two cells with numbers that differ in the labels of an order only, with our differences."""
    for order, (one, other) in itertools.product(orders, itertools.combinations(rows, 2)):
        same = all(one.labels[label] == other.labels[label] for label in one.labels if label not in order)
        if same and one.cell.value is not None and other.cell.value is not None and one.late and other.late:
            shared = (value - other.late[seed] for seed, value in one.late.items() if seed in other.late)
            yield Ranked(one, other, one.cell.value - other.cell.value, Differences(tuple(shared)))


def ranked(family: Sequence[Ranked]) -> list[Ranked]:
    """Judge the pairs of a table together."""
    wanted = [
        Wanted(pair.differences, **({"least": 0.0} if pair.printed > 0 else {"most": 0.0}))
        for pair in family
        if pair.ordered
    ]
    words = iter(decided(wanted))
    return [replace(pair, tests=max(1, len(wanted)), sign=next(words) if pair.ordered else "open") for pair in family]


@dataclass(frozen=True)
class Part:
    """A printed table beside one experiment file, by one of the file's likenesses.

    Attributes:
        path, experiment, content: the file, and its results.
        cells: with our numbers.
        pairs: that the table ranks; those of all parts of a table are judged together.
    """

    path: Path
    experiment: Experiment
    content: Mapping[str, Any]
    likeness: Likeness
    cells: Sequence[Beside]
    pairs: Sequence[Ranked]


def parts_of(table: Table, files: Iterable[tuple[Path, Experiment, Mapping[str, Any]]]) -> list[Part]:
    """Put a printed table beside the files that stand for it, in their order.

    Args:
        files: experiment files with their results.
    """
    found = [
        Part(path, experiment, content, likeness, cells, list(pairs(cells, likeness.orders)))
        for path, experiment, content in files
        for likeness in experiment.checked.likeness
        if (likeness.table, likeness.edition) == (table.number, table.edition)
        for cells in [beside(experiment, content, likeness, table)]
    ]
    judged = iter(ranked([pair for part in found for pair in part.pairs]))
    return [replace(part, pairs=list(itertools.islice(judged, len(part.pairs)))) for part in found]


@dataclass(frozen=True)
class More:
    """More seeds, for what is open.

    Attributes:
        seeds: how many in all, of the setting that needs most.
        seconds: that the runs of the seeds which are missing would take.
    """

    seeds: float
    seconds: float


def more(asked: Iterable[tuple[float, Iterable[Beside]]]) -> More:
    """Sum up what more seeds cost, each setting as often as its most demanding comparison asks.

    Args:
        asked: of each comparison the seeds that it needs, and what it compares.
    """
    most: dict[str, float] = {}
    most_seeds = 0.0
    for seeds, compared in asked:
        most_seeds = max(most_seeds, seeds)
        for each in compared:
            missing = (seeds - len(each.late)) / len(each.values)
            for name, seconds in each.runs.items():
                most[name] = max(most.get(name, 0.0), missing * seconds)
    return More(most_seeds, sum(most.values()))


def reason(pair: Ranked) -> str:
    """Say why the order of an open pair is not decided: too few seeds, or a resolution above the printed difference, or
    above ours alone, as it is of every open pair with seeds enough."""
    few, printed, ours = REASONS
    if not pair.differences.decides:
        return few
    return printed if pair.resolution > abs(float(pair.printed)) else ours


def counted(family: Iterable[Ranked]) -> str:
    """Count verdicts in words.

    >>> counted([])
    '0 as printed, 0 same sign, not the size, 0 reversed, 0 smaller, 0 open, 0 no order'
    """
    counts = Counter(pair.verdict for pair in family)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
