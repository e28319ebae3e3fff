"""Printed tables beside our numbers: cell by cell, and whether our runs bear out the order that a table prints.

A cell and a setting belong together by their labels. Settings of one seed share partition and draws, so two settings
are compared by the differences of their runs, seed by seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import fmean, stdev
from typing import Any

from .printed_tables import Cell, Table
from .schema import Experiment, Likeness

SURE = 0.95
"""The confidence at which a sign is called as printed, or reversed."""


@dataclass(frozen=True)
class Beside:
    """A printed cell and what our runs give in its place.

    Attributes:
        cell: the printed one.
        labels: those in which it and the setting agree.
        values: by seed; empty if the setting was not run.
        seconds: that the runs took.
        commits: of the code that ran.
    """

    cell: Cell
    labels: Mapping[str, str]
    values: Mapping[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    commits: tuple[str, ...] = ()

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
    """Two cells that a table ranks.

    Attributes:
        one, other: the cells.
        printed: the first minus the second, as printed.
        ours: the mean of our differences, seed by seed.
        interval: half the width of its 95% interval (Student's).
        seeds: that both have.
        confidence: one-sided, that the sign of the difference is the printed one; NaN for one seed.
    """

    one: Beside
    other: Beside
    printed: Decimal
    ours: float
    interval: float
    seeds: int
    confidence: float

    @property
    def verdict(self) -> str:
        """The verdict: ``as printed``, ``reversed`` or ``open``."""
        if self.confidence >= SURE:
            return "as printed"
        return "reversed" if self.confidence <= 1 - SURE else "open"


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
        row = _setting(content, {**labels, **likeness.ours}, experiment.name)
        if row is None:
            found.append(Beside(cell, labels))
            continue
        values, seconds, commits = _values(row, likeness.statistic), float(row["seconds"]), set(row["commits"])
        if likeness.minus is not None:
            less = _setting(content, {**labels, **likeness.minus}, experiment.name)
            other = {} if less is None else _values(less, likeness.statistic)
            values = {seed: value - other[seed] for seed, value in values.items() if seed in other}
            seconds += 0.0 if less is None else float(less["seconds"])
            commits |= set() if less is None else set(less["commits"])
        found.append(Beside(cell, labels, values, seconds, tuple(sorted(commits))))
    return found


def _setting(content: Mapping[str, Any], wanted: Mapping[str, str], name: str) -> Mapping[str, Any] | None:
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


def _values(row: Mapping[str, Any], statistic: str) -> dict[int, float]:
    """A statistic by seed, means over replicas."""
    values = row["statistics"][statistic]["values"]
    return {
        seed: fmean(map(float, value)) if isinstance(value, list) else float(value)
        for seed, value in zip(row["seeds"], values, strict=True)
    }


def ranked(rows: Sequence[Beside], orders: Sequence[Sequence[str]]) -> Iterator[Ranked]:
    """Every two cells with numbers that differ in the labels of an order only.

    Source: Student's test of paired differences.
    """
    for order, (one, other) in itertools.product(orders, itertools.combinations(rows, 2)):
        same = all(one.labels[label] == other.labels[label] for label in one.labels if label not in order)
        if same and one.cell.value is not None and other.cell.value is not None and one.values and other.values:
            yield _ranked(one, other)


def _ranked(one: Beside, other: Beside) -> Ranked:
    assert one.cell.value is not None and other.cell.value is not None
    printed = one.cell.value - other.cell.value
    differences = [value - other.values[seed] for seed, value in one.values.items() if seed in other.values]
    sign = (printed > 0) - (printed < 0)
    ours, interval, confidence = paired(differences, sign)
    return Ranked(one, other, printed, ours, interval, len(differences), confidence)


def paired(differences: Sequence[float], sign: int) -> tuple[float, float, float]:
    """Return the mean, half its 95% interval, and the confidence that its sign is ``sign``.

    With n differences, mean d and deviation s the confidence is P(T <= sign d sqrt(n) / s), T Student's with n - 1
    degrees of freedom.

    >>> [round(each, 3) for each in paired([1.0, 2.0, 3.0], 1)]
    [2.0, 2.484, 0.963]
    """
    from scipy.stats import t as student

    n = len(differences)
    mean = fmean(differences) if n else math.nan
    if n < 2 or sign == 0 or not all(map(math.isfinite, differences)):
        return mean, math.nan, math.nan
    error = stdev(differences) / math.sqrt(n)
    if error == 0:
        return mean, 0.0, math.nan if mean == 0 else float(mean * sign > 0)
    half = float(student.ppf((1 + SURE) / 2, n - 1)) * error
    return mean, half, float(student.cdf(sign * mean / error, n - 1))
