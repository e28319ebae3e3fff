"""Printed tables as data: every number as it is printed, with the labels that say what it is of.

A file holds one table. Its rows start with the values of the ``keys``, one cell a column follows. A cell is known by
its labels: those of the whole table (``labels``), of its row (``keys``) and of its column. Labels of one name mean the
same in all tables of a paper, so that cells of different tables can be compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from .reading import Component, Listed, Strict, read_toml

NUMBER = re.compile(
    r"(?P<bold>\*\*)?(?P<value>-?\d+(\.\d+)?)(?(bold)\*\*)(±(?P<spread>\d+(\.\d+)?))?( \((?P<change>[+-]?\d+\.?\d*)\))?"
)
"""A number as it is printed: ``71.40``, ``84.10±2.4``, ``**67.6** (+0.9)``; ** for bold, the change in per cent."""

DASH = "-"


class Measure(Strict):
    """Kind of numbers in a table.

    Attributes:
        kind: of number; ``text`` is not read as one.
        unit: ``%``, ``1``, ``rounds``, ...
        statistic: how one number comes about.
        spread: what stands after the +-, if anything does.
        change: what stands in parentheses, if anything does.
        dash: what a dash means, if there are any.
        points: test points behind one evaluation; the number is then a mean of shares of so many.
        evaluations: evaluations, or runs, that the number is a mean of.
    """

    kind: Literal["number", "text"] = "number"
    unit: str = "1"
    statistic: str
    spread: str | None = None
    change: str | None = None
    dash: str | None = None
    points: int | None = Field(default=None, ge=1)
    evaluations: int | None = Field(default=None, ge=1)


class Without(Strict):
    """Printed numbers that no experiment file stands beside, and why.

    Attributes:
        cells: which, by their labels, each one or several.
        why: in a few words.
    """

    cells: dict[str, str | Listed[str]] = Field(default_factory=dict)
    why: str = Field(min_length=1)


class Table(Strict):
    """One printed table.

    Attributes:
        number: as the paper prints it.
        place: the section or page.
        caption: in our words.
        notes: on how it was read; what is not printed.
        labels: what all cells share.
        keys: the labels that rows differ in; one of them may be ``measure``.
        columns: the labels of each column, one of them ``measure`` unless that is a key or a label.
        measures: by name.
        rows: the values of the keys, then the cells.
        without_file: numbers that no experiment file stands beside.

    Raises:
        ValueError: a row of another length, a cell that is no number, a measure that is not described, two cells of the
            same labels, numbers without a file that are none of its own or are named twice.
    """

    paper: Component
    edition: Component = "main"
    number: Component
    place: str
    caption: str
    notes: Listed[str] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    keys: Listed[str]
    columns: Listed[dict[str, str]]
    measures: dict[str, Measure]
    rows: Listed[Listed[str]]
    without_file: Listed[Without] = ()

    @model_validator(mode="after")
    def _check(self) -> Table:
        width = len(self.keys) + len(self.columns)
        for number, row in enumerate(self.rows):
            if len(row) != width:
                raise ValueError(
                    f"rows[{number}] has {len(row)} entries: allowed are {len(self.keys)} keys and "
                    f"{len(self.columns)} cells"
                )
        seen: dict[tuple[tuple[str, str], ...], str] = {}
        for cell in self.cells:
            address = tuple(sorted(cell.labels.items()))
            if address in seen:
                raise ValueError(f"{cell.where} occurs twice: allowed is one cell of the same labels")
            seen[address] = cell.text
        named = Counter(cell for each in self.without_file for cell in self.cells if _counted(cell, each))
        for number, each in enumerate(self.without_file):
            if not any(_counted(cell, each) for cell in self.cells):
                raise ValueError(f"without_file[{number}]: no number has these labels: allowed are labels of some")
        for cell, times in named.items():
            if times > 1:
                raise ValueError(f"without_file: {cell.where} is named twice: allowed is one reason for a number")
        return self

    def why_without(self, cell: Cell) -> str | None:
        """Say why no experiment file stands beside a number; ``None`` if the table does not say so."""
        return next((each.why for each in self.without_file if _counted(cell, each)), None)

    @property
    def name(self) -> str:
        """The name of the table: the paper, the number, and the edition."""
        return f"{self.paper} Table {self.number}" + ("" if self.edition == "main" else f" ({self.edition})")

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, row after row."""
        return tuple(
            self._cell({**self.labels, **dict(zip(self.keys, row, strict=False)), **column}, text)
            for row in self.rows
            for column, text in zip(self.columns, row[len(self.keys) :], strict=True)
        )

    def _cell(self, labels: dict[str, str], text: str) -> Cell:
        measure = labels.get("measure")
        if measure not in self.measures:
            raise ValueError(f"measure = {measure!r}: allowed is {' or '.join(self.measures)}")
        described = self.measures[measure]
        labels = {name: value for name, value in labels.items() if value != ""}
        if described.kind == "text" or text == "":
            return Cell(self, labels, text)
        if text == DASH:
            if described.dash is None:
                raise ValueError(f"a dash in {measure}: allowed only where `dash` says what it means")
            return Cell(self, labels, text)
        found = NUMBER.fullmatch(text)
        if not found:
            raise ValueError(
                f"cell {text!r}: allowed is a number as in 71.40, 84.10±2.4 or **67.6** (+0.9), a dash, or nothing"
            )
        for part in ("spread", "change"):
            if found[part] and getattr(described, part) is None:
                raise ValueError(f"cell {text!r}: {part} of {measure} is not described")
        return Cell(
            self,
            labels,
            text,
            Decimal(found["value"]),
            _decimal(found["spread"]),
            _decimal(found["change"]),
            bold=bool(found["bold"]),
        )


def _counted(cell: Cell, without: Without) -> bool:
    return cell.value is not None and cell.matches(without.cells)


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


@dataclass(frozen=True, eq=False)
class Cell:
    """One printed entry.

    Attributes:
        table: where it stands.
        labels: what it is of, by name.
        text: as printed.
        value, spread, change: its numbers, with the digits that are printed; ``None`` where there are none.
        bold: whether it is set in bold.
    """

    table: Table
    labels: Mapping[str, str]
    text: str
    value: Decimal | None = None
    spread: Decimal | None = None
    change: Decimal | None = None
    bold: bool = False

    @property
    def measure(self) -> Measure:
        """The kind of number that the cell has."""
        return self.table.measures[self.labels["measure"]]

    def matches(self, wanted: Mapping[str, str | Sequence[str]]) -> bool:
        """Whether each label is the wanted one, or one of several."""
        return all(
            self.labels.get(name) == value if isinstance(value, str) else self.labels.get(name) in value
            for name, value in wanted.items()
        )

    @property
    def where(self) -> str:
        """The cell's labels in words, without those that the whole table has."""
        return ", ".join(f"{k} {v}" for k, v in self.labels.items() if k not in self.table.labels and k != "measure")


def half_unit(number: Decimal) -> Decimal:
    """Half a unit in the last printed place: how far the number that was rounded may be from the printed one.

    >>> half_unit(Decimal("71.40")), half_unit(Decimal("80"))
    (Decimal('0.005'), Decimal('0.5'))
    """
    return Decimal(1).scaleb(int(number.as_tuple().exponent)) / 2


def folder() -> Path:
    """Return the folder of experiment files and tables: in an installed package, or beside the sources.

    Raises:
        FileNotFoundError: they are in neither.
    """
    package = Path(__file__).resolve().parents[1]
    installed, found = package / "experiment_files", package.parent / "experiments"
    if installed.is_dir():
        return installed
    if not found.is_dir():
        raise FileNotFoundError(f"{found}: the experiments folder of the project is needed; it is part of its sources")
    return found


def tables(paper: str, root: Path | None = None) -> tuple[Table, ...]:
    """The tables that a paper prints, main edition first, by number.

    Raises:
        ValueError: a file is not in order; the place is named.

    >>> tables("nobody")
    ()
    """
    found = [read_toml(path, Table) for path in sorted(((root or folder()) / paper / "tables").glob("*.toml"))]
    for table in found:
        if table.paper != paper:
            raise ValueError(f"{table.name}: paper = {table.paper!r} in the folder of {paper!r}")
    return tuple(sorted(found, key=lambda table: (table.edition != "main", _order(table.number))))


def _order(number: str) -> tuple[bool, int, str]:
    return (not number.isdecimal(), int(number) if number.isdecimal() else 0, number)


def cells(printed: Sequence[Table], numbers: Sequence[str] = (), **wanted: str | Sequence[str]) -> tuple[Cell, ...]:
    """The cells with a number whose labels are the wanted ones, of the tables of these numbers (or of all)."""
    return tuple(
        cell
        for table in printed
        if not numbers or table.number in numbers
        for cell in table.cells
        if cell.value is not None and cell.matches(wanted)
    )
