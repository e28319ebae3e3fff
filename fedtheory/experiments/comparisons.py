"""Comparisons of cells that a text makes of its tables: each is data, and is computed from the printed numbers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from .paired_tests import Differences, Wanted
from .printed_tables import Cell, Table, cells, half_unit
from .reading import Listed, Strict

Labels = dict[str, str | Listed[str]]

Ours = Callable[[Cell], Mapping[int, float] | None]
"""Gives our number in the place of a printed cell, by seed; ``None`` where it was not run."""


@dataclass(frozen=True)
class Trial:
    """One comparison, made of our runs: it holds if one of its statements does, and fails if all do.

    Attributes:
        text: what is compared.
        wanted: the statements; empty if something was not run.
        cells: the printed numbers in whose places ours are compared.
    """

    text: str
    wanted: tuple[Wanted, ...] = ()
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Outcome of one comparison.

    Attributes:
        holds: whether the printed numbers agree with what is said.
        text: the numbers.
        overlap: whether the intervals value +- spread have a point in common; ``None`` where no spreads are printed.
    """

    holds: bool
    text: str
    overlap: bool | None = None


class Comparison(Strict):
    """Comparison of cells: a reading of a claim.

    Attributes:
        reading: how the claim is read here; empty if there is one way only.
        tables: the numbers of the tables it is about; all tables of the edition, if none is given.
        cells: labels that every cell in question has.
        edition: of the tables.
    """

    reading: str = ""
    tables: Listed[str] = ()
    cells: Labels = Field(default_factory=dict)
    edition: str = "main"

    @abstractmethod
    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        """Yield each comparison that the reading makes."""

    def trials(self, printed: Sequence[Table], ours: Ours) -> Iterator[Trial]:
        """Yield each comparison, made of our runs; none of what only printed numbers can be asked."""
        yield from ()

    def chosen(self, printed: Sequence[Table], wanted: Mapping[str, str | Sequence[str]]) -> tuple[Cell, ...]:
        """Return the cells of this edition and these tables that match ``wanted``."""
        mine = [table for table in printed if table.edition == self.edition]
        return tuple(cell for cell in cells(mine, self.tables, **self.cells) if cell.matches(wanted))


class Paired(Comparison):
    """Comparison of cells with cells: those that agree in all labels but the ones named.

    Attributes:
        of, than: the labels of either side.
        across: further labels in which the two may differ.
        against: with which of the others a cell is compared: every one, the least, or the largest.
        than_tables, than_edition: where the others stand, if elsewhere.
    """

    of: Labels
    than: Labels
    across: Listed[str] = ()
    against: Literal["every", "least", "largest"] = "every"
    than_tables: Listed[str] = ()
    than_edition: str | None = None

    def pairs(self, printed: Sequence[Table]) -> Iterator[tuple[Cell, Cell]]:
        """Each cell of the one side with its partners on the other."""
        free = {*self.of, *self.than, *self.across}
        other = self.model_copy(
            update={"tables": self.than_tables or self.tables, "edition": self.than_edition or self.edition}
        )
        others = other.chosen(printed, self.than)
        for cell in self.chosen(printed, self.of):
            key = _without(cell.labels, free)
            partners = [each for each in others if each is not cell and _without(each.labels, free) == key]
            if self.against != "every" and partners:
                pick = min if self.against == "least" else max
                partners = [pick(partners, key=value)]
            yield from ((cell, partner) for partner in partners)

    def gaps(self, printed: Sequence[Table], ours: Ours) -> Iterator[tuple[Cell, Cell, Differences | None]]:
        """Yield each cell with a partner, and our differences, seed by seed."""
        for cell, other in self.pairs(printed):
            yield cell, other, differences(ours(cell), ours(other))


class Higher(Paired):
    """Comparison that says that each cell is above its partners.

    With ``ties`` it is not below; with ``mostly``, more than half are above.
    """

    kind: Literal["higher"]
    ties: bool = False
    mostly: bool = False

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        found = [self._outcome(*pair) for pair in self.pairs(printed)]
        if not self.mostly or not found:
            yield from found
            return
        right = sum(each.holds for each in found)
        yield Outcome(2 * right > len(found), f"{right} of {len(found)} cells are higher")

    def trials(self, printed: Sequence[Table], ours: Ours) -> Iterator[Trial]:
        """Yield our comparisons: with every partner where it is the largest that matters, with any where the least.

        None of most cells that are above the largest of several partners: comparisons do not count cells then.
        """
        if self.mostly and self.against == "largest":
            return
        every = self.model_copy(update={"against": "every"})
        found: dict[Cell, list[tuple[Cell, Differences | None]]] = {}
        for cell, other, gap in every.gaps(printed, ours):
            found.setdefault(cell, []).append((other, gap))
        for cell, partners in found.items():
            each = [
                (other, () if gap is None else (Wanted(gap, least=0.0, printed=float(value(cell) - value(other))),))
                for other, gap in partners
            ]
            if self.against != "least":
                yield from (Trial(between(cell, other), wanted, (cell, other)) for other, wanted in each)
            else:
                run = tuple(one for _, wanted in each for one in wanted)
                others = tuple(other for other, _ in each)
                yield Trial(between(cell, others[0]), run if len(run) == len(others) else (), (cell, *others))

    def _outcome(self, cell: Cell, other: Cell) -> Outcome:
        gap = value(cell) - value(other)
        return Outcome(gap > 0 or (self.ties and gap == 0), beside(cell, other), overlapping(cell, other))


class Within(Paired):
    """Comparison that says that differences of cells and partners, rounded to ``digits``, lie in [least, most].

    With ``relative``, they are percentages of the cell.
    """

    kind: Literal["within"]
    least: float = -math.inf
    most: float = math.inf
    digits: int = 2
    relative: bool = False

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        for cell, other in self.pairs(printed):
            gap = value(cell) - value(other)
            gap = round(100 * gap / value(cell) if self.relative else gap, self.digits)
            said = f"difference {gap}%" if self.relative else f"difference {value(cell) - value(other)}"
            yield Outcome(_decimal(self.least) <= gap <= _decimal(self.most), f"{beside(cell, other)} ({said})")

    def trials(self, printed: Sequence[Table], ours: Ours) -> Iterator[Trial]:
        """Yield our comparisons, with what rounds to an end of the interval in it."""
        slack = 0.5 * 10.0**-self.digits
        for cell, other, gap in self.gaps(printed, ours):
            theirs = float(value(cell) - value(other))
            if gap is not None and self.relative:
                mine, theirs = ours(cell) or {}, 100 * theirs / float(value(cell))
                shared = sorted(mine.keys() & (ours(other) or {}).keys())
                gap = Differences(
                    tuple(100 * value / mine[seed] for seed, value in zip(shared, gap.values, strict=True))
                )
            wanted = () if gap is None else (Wanted(gap, self.least - slack, self.most + slack, theirs),)
            yield Trial(between(cell, other), wanted, (cell, other))


class Same(Paired):
    """Comparison that says that each cell and its partner are the same number, up to the rounding of what is
    printed."""

    kind: Literal["same"]

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        for cell, other in self.pairs(printed):
            yield Outcome(agree(cell, other), beside(cell, other))


class Derived(Paired):
    """Comparison that says that each cell of ``result`` is the difference of cells of ``of`` and ``than``, up to
    rounding.

    Attributes:
        result, result_tables: where the differences stand.
    """

    kind: Literal["derived"]
    result: Labels
    result_tables: Listed[str]

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        results = self.model_copy(update={"tables": self.result_tables, "cells": {}}).chosen(printed, self.result)
        free = {*self.of, *self.than, *self.across, *self.result, "measure"}
        for cell, other in self.pairs(printed):
            for result in results:
                if _without(result.labels, free) == _without(cell.labels, free):
                    gap = value(cell) - value(other)
                    slack = half_unit(value(cell)) + half_unit(value(other)) + half_unit(value(result))
                    holds = abs(gap - value(result)) <= slack
                    yield Outcome(holds, f"{result.where}: {result.text}, but {cell.text} - {other.text} = {gap}")


class Relative(Paired):
    """Comparison that says that the change printed beside each cell is 100 (cell / partner - 1), up to rounding."""

    kind: Literal["relative"]

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        for cell, other in self.pairs(printed):
            if cell.change is None:
                continue
            low = 100 * ((value(cell) - half_unit(value(cell))) / (value(other) + half_unit(value(other))) - 1)
            high = 100 * ((value(cell) + half_unit(value(cell))) / (value(other) - half_unit(value(other))) - 1)
            slack = half_unit(cell.change)
            holds = low - slack <= cell.change <= high + slack
            yield Outcome(holds, f"{cell.where}: {cell.change} printed, {low:.2f} to {high:.2f} from the numbers")


class Alike(Paired):
    """Comparison that says that each cell and its partner do not differ, by Welch's test of two means.

    The level is ``level`` after Bonferroni's correction; deviations are the printed ones over ``evaluations`` runs.
    """

    kind: Literal["alike"]
    level: float = Field(default=0.05, gt=0, lt=1)

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        pairs = list(self.pairs(printed))
        for cell, other in pairs:
            p = min(1.0, welch(cell, other) * len(pairs))
            text = f"{beside(cell, other)} (Welch p = {p:.2g} after {len(pairs)} tests)"
            yield Outcome(p >= self.level, text)


class Limit(Comparison):
    """Comparison that says that each cell lies in [least, most]."""

    kind: Literal["limit"]
    least: float = -math.inf
    most: float = math.inf

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        for cell in self.chosen(printed, {}):
            yield Outcome(_decimal(self.least) <= value(cell) <= _decimal(self.most), f"{cell.where}: {cell.text}")

    def trials(self, printed: Sequence[Table], ours: Ours) -> Iterator[Trial]:
        """Yield our number of each cell."""
        for cell in self.chosen(printed, {}):
            mine = ours(cell)
            of = Differences(tuple((mine or {}).values()))
            yield Trial(cell.where, (Wanted(of, self.least, self.most, float(value(cell))),) if mine else (), (cell,))


class Ordered(Comparison):
    """Comparison that says that numbers rise (or fall) along the values of a label, with all other labels the same.

    Attributes:
        along: the label.
        values: its values, in order.
        rising: whether the numbers rise.
    """

    kind: Literal["ordered"]
    along: str
    values: Listed[str]
    rising: bool

    def steps(self, printed: Sequence[Table]) -> Iterator[tuple[Cell, Cell]]:
        """Yield every two neighbours along the label."""
        groups: dict[tuple[tuple[str, str], ...], dict[str, Cell]] = {}
        for cell in self.chosen(printed, {self.along: self.values}):
            groups.setdefault(_without(cell.labels, {self.along}), {})[cell.labels[self.along]] = cell
        for group in groups.values():
            yield from pairwise([group[each] for each in self.values if each in group])

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        for before, after in self.steps(printed):
            low, high = (before, after) if self.rising else (after, before)
            yield Outcome(value(low) <= value(high), beside(before, after), overlapping(before, after))

    def trials(self, printed: Sequence[Table], ours: Ours) -> Iterator[Trial]:
        """Yield our differences of neighbours."""
        for before, after in self.steps(printed):
            low, high = (before, after) if self.rising else (after, before)
            gap, theirs = differences(ours(high), ours(low)), float(value(high) - value(low))
            wanted = () if gap is None else (Wanted(gap, least=0.0, printed=theirs),)
            yield Trial(between(high, low), wanted, (high, low))


class Gaps(Paired):
    """Comparison that says that differences of cells and partners rise (or fall) along a label, with all others the
    same.

    Attributes:
        along: the label.
        values: its values, in order.
        rising: whether the differences rise.
    """

    kind: Literal["gaps"]
    along: str
    values: Listed[str]
    rising: bool

    def steps(self, printed: Sequence[Table]) -> Iterator[tuple[str, tuple[Cell, Cell], tuple[Cell, Cell]]]:
        """Yield, with what they share, every two neighbouring differences along the label, each as its cells."""
        groups: dict[tuple[tuple[str, str], ...], dict[str, tuple[Cell, Cell]]] = {}
        for cell, other in self.pairs(printed):
            if cell.labels.get(self.along) in self.values:
                key = (*_without(cell.labels, {self.along}), *_without(other.labels, {self.along}))
                groups.setdefault(key, {})[cell.labels[self.along]] = (cell, other)
        hidden = {"measure", *self.of, *self.across}
        for key, group in groups.items():
            shared = ", ".join(f"{k} {v}" for k, v in key[: len(key) // 2] if k not in hidden)
            for before, after in pairwise([group[each] for each in self.values if each in group]):
                yield shared, before, after

    def outcomes(self, printed: Sequence[Table]) -> Iterator[Outcome]:
        for shared, before, after in self.steps(printed):
            low, high = (value(cell) - value(other) for cell, other in (before, after))
            first, then = (f"{self.along} {cell.labels[self.along]}" for cell, _ in (before, after))
            text = f"{shared}: difference {low} at {first}, {high} at {then}"
            yield Outcome(low <= high if self.rising else low >= high, text)

    def trials(self, printed: Sequence[Table], ours: Ours) -> Iterator[Trial]:
        """Yield our differences of differences."""
        for shared, before, after in self.steps(printed):
            less, more = (before, after) if self.rising else (after, before)
            gap = differences(*(by_seed(ours(cell), ours(other)) for cell, other in (more, less)))
            theirs = float((value(more[0]) - value(more[1])) - (value(less[0]) - value(less[1])))
            first, then = (f"{self.along} {cell.labels[self.along]}" for cell, _ in (before, after))
            wanted = () if gap is None else (Wanted(gap, least=0.0, printed=theirs),)
            yield Trial(f"{shared}: {first} and {then}", wanted, (*before, *after))


AnyComparison = Annotated[
    Higher | Within | Same | Derived | Relative | Alike | Limit | Ordered | Gaps, Field(discriminator="kind")
]


def by_seed(one: Mapping[int, float] | None, other: Mapping[int, float] | None) -> dict[int, float] | None:
    """Compute the differences of the seeds that both have; ``None`` if there is no such seed."""
    shared = sorted((one or {}).keys() & (other or {}).keys())
    return {seed: one[seed] - other[seed] for seed in shared} if one and other and shared else None


def differences(one: Mapping[int, float] | None, other: Mapping[int, float] | None) -> Differences | None:
    """Return the differences of the seeds that both have; ``None`` if there is no such seed."""
    found = by_seed(one, other)
    return None if found is None else Differences(tuple(found.values()))


def between(cell: Cell, other: Cell) -> str:
    """Name two cells by their labels: what they share, then what each has of its own."""
    shared = {k: v for k, v in cell.labels.items() if other.labels.get(k) == v and k != "measure"}
    common = ", ".join(f"{k} {v}" for k, v in shared.items() if k not in cell.table.labels)
    mine, theirs = (
        ", ".join(f"{k} {v}" for k, v in each.labels.items() if k not in shared and k != "measure")
        for each in (cell, other)
    )
    return f"{common}: " * bool(common) + f"{mine} against {theirs}"


def value(cell: Cell) -> Decimal:
    """Return the printed number of a cell that has one."""
    assert cell.value is not None
    return cell.value


def beside(cell: Cell, other: Cell) -> str:
    """Write two cells in words: what they share, then what each has of its own."""
    shared = {k: v for k, v in cell.labels.items() if other.labels.get(k) == v and k != "measure"}
    hidden = {**cell.table.labels} if cell.table is other.table else {}
    common = ", ".join(f"{k} {v}" for k, v in shared.items() if k not in hidden)
    return f"{common}: " * bool(common) + f"{_own(cell, other, shared)}, {_own(other, cell, shared)}"


def _own(cell: Cell, other: Cell, shared: Mapping[str, str]) -> str:
    own = ", ".join(f"{k} {v}" for k, v in cell.labels.items() if k not in shared and k != "measure")
    where = f"Table {cell.table.number}" if cell.table is not other.table else ""
    if cell.table.edition != other.table.edition:
        where = cell.table.name
    return " ".join(part for part in (where, own, number(cell)) if part)


def number(cell: Cell) -> str:
    """A cell's number and its spread, with the digits that are printed."""
    return f"{cell.value}" + (f"±{cell.spread}" if cell.spread is not None else "")


def agree(cell: Cell, other: Cell) -> bool:
    """Whether two cells may be the same number, rounded as each is printed; their spreads too."""
    spreads = cell.spread is None or other.spread is None or _close(cell.spread, other.spread)
    return _close(value(cell), value(other)) and spreads


def _close(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) <= max(half_unit(one), half_unit(other)) if _digits(one) != _digits(other) else one == other


def _digits(number: Decimal) -> int:
    return int(number.as_tuple().exponent)


def overlapping(cell: Cell, other: Cell) -> bool | None:
    """Whether value +- spread of the two have a point in common."""
    if cell.spread is None or other.spread is None:
        return None
    return abs(value(cell) - value(other)) <= cell.spread + other.spread


def welch(cell: Cell, other: Cell) -> float:
    """The p-value of Welch's test that two means are the same.

    Raises:
        ValueError: a cell without a spread, or of whose spread it is not said over how many runs it is.
    """
    from scipy import stats

    for each in (cell, other):
        if each.spread is None or each.measure.evaluations is None:
            raise ValueError(f"{each.where}: Welch's test needs a spread over a stated number of runs")
    result = stats.ttest_ind_from_stats(
        float(value(cell)),
        float(cell.spread or 0),
        cell.measure.evaluations,
        float(value(other)),
        float(other.spread or 0),
        other.measure.evaluations,
        equal_var=False,
    )
    return float(result.pvalue)


def _without(labels: Mapping[str, str], names: set[str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((k, v) for k, v in labels.items() if k not in names))


def _decimal(number: float) -> Decimal:
    return Decimal(repr(number))
