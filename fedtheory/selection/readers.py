"""Availability traces, budgets and group weights from files.

- AVAILABILITY.csv: a header with one name a group, then one line a round of whole numbers. A first column called
  ``round`` may number the lines 1, 2, ...
- BUDGET.csv: the header ``budget`` (or ``round,budget``), then one number a round.
- WEIGHTS.csv: the header ``group,weight``, then one line a group. Groups are matched by name.

An availability file may also be Parquet, with the same columns. Files are parsed, never evaluated.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from ..files import Damaged, read_csv, read_parquet, write_beside
from .inputs import LARGEST_COUNT, checked_group_weight

ROUND = "round"
_CHUNK = 512
"""Rounds that are written at a time: their text stays in a core's cache."""


@dataclass(frozen=True)
class Availability:
    """An availability trace.

    Attributes:
        counts: (rounds, groups), int64.
        groups: the groups' names.
    """

    counts: np.ndarray
    groups: tuple[str, ...]


def read_availability(path: str | Path) -> Availability:
    """Read AVAILABILITY.csv, or Parquet where the name ends in .parquet.

    Raises:
        ValueError: the file is missing, has no rounds, repeats or omits names, or has a cell that is no whole number
            from 0 to 2^53; the line (the header is line 1) and the column are named. Or it is Parquet and pyarrow is
            not installed.
    """
    path = Path(path)
    names, table = _parquet(path) if path.suffix == ".parquet" else _table(path, whole=True)
    if names[0] == ROUND:
        _check_numbering(path, table[:, 0])
        names, table = names[1:], table[:, 1:]
    if not names:
        raise Damaged(path, f"allowed is at least one column besides {ROUND!r}")
    return Availability(table.astype(np.int64, copy=False), tuple(names))


def read_budget(path: str | Path, rounds: int) -> np.ndarray:
    """The budgets (rounds,) of BUDGET.csv.

    Raises:
        ValueError: a column has another name, a cell is no number >= 0, or there are not ``rounds`` lines.
    """
    path = Path(path)
    names, table = _table(path, whole=False)
    if names not in (["budget"], [ROUND, "budget"]):
        raise Damaged(path, f"its columns are {', '.join(names)}: allowed is budget, or {ROUND},budget")
    if len(names) == 2:
        _check_numbering(path, table[:, 0])
    if len(table) != rounds:
        raise Damaged(path, f"{len(table)} budgets: allowed is one a round of the availability, {rounds}")
    return table[:, -1]


def read_group_weight(path: str | Path, groups: Sequence[str]) -> np.ndarray:
    """The weights (groups,) of WEIGHTS.csv, in the order of ``groups``.

    Raises:
        ValueError: a column has another name; a weight is no number >= 0; a group is unknown, repeated or missing; or
            the weights do not sum to one.
    """
    path = Path(path)
    found: dict[str, float] = {}
    lines = _lines(path)
    _, header = next(lines)
    if header != ["group", "weight"]:
        raise Damaged(path, f"its columns are {', '.join(header)}: allowed is group,weight")
    for number, (name, cell) in lines:
        if name not in groups:
            raise Damaged(path, f"{name!r} is none of {', '.join(groups)}", f"line {number}, column 'group'")
        if name in found:
            raise Damaged(path, f"{name!r} is there twice", f"line {number}, column 'group'")
        found[name] = _number(path, number, "weight", cell, whole=False)
    missing = [name for name in groups if name not in found]
    if missing:
        raise Damaged(path, f"no weight for {', '.join(missing)}")
    try:
        return checked_group_weight([found[name] for name in groups], len(groups))
    except ValueError as error:
        raise Damaged(path, f"{error}") from None


def write_plan(path: str | Path, rates: np.ndarray, groups: Sequence[str]) -> None:
    """Write rates (rounds, groups) as CSV in full precision, one line a round, numbered; whole or not at all.

    Numbers are written as JSON has them, five times as fast as by ``csv``: the fewest digits that are read as the
    same number.
    """
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow([ROUND, *groups])
    write_beside(Path(path), chain([header.getvalue().encode()], _texts(rates)))


def _texts(rates: np.ndarray) -> Iterator[bytes]:
    from pydantic_core import to_json

    for first in range(0, len(rates), _CHUNK):
        columns = rates[first : first + _CHUNK].T.tolist()
        rows = [*zip(range(first + 1, first + 1 + len(columns[0])), *columns, strict=True)]
        yield b"\n".join(to_json(rows)[2:-2].split(b"],[")) + b"\n"


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells; every line is as long as the header."""
    header: list[str] = []
    for line, cells in read_csv(path):
        if not cells:
            raise Damaged(path, "empty: allowed is a cell for each column", f"line {line}")
        if header and len(cells) != len(header):
            raise Damaged(path, f"{len(cells)} cells: allowed is {len(header)}", f"line {line}")
        header = header or cells
        yield line, cells
    if not header:
        raise Damaged(path, "is empty: allowed is a header and the lines below it")


def _table(path: Path, whole: bool) -> tuple[list[str], np.ndarray]:
    """The header and the numbers. Read in one go; where that fails, read again cell by cell to say where."""
    _, names = next(_lines(path))
    _check_names(path, names)
    kinds: tuple[type, ...] = (np.int64, float) if whole else (float,)  # digits alone are read twice as fast so
    for kind in kinds:
        with contextlib.suppress(ValueError, Warning), warnings.catch_warnings():
            warnings.simplefilter("error")  # that a file holds no data, or 1.0 where integers are read
            table: np.ndarray = np.loadtxt(
                path, delimiter=",", skiprows=1, ndmin=2, dtype=kind, encoding="utf-8-sig", comments=None
            )
            if len(table) > 0 and table.shape[1] == len(names) and _is_allowed(table, whole):
                return names, table
    lines = _lines(path)
    next(lines)
    rows = [[_number(path, at, n, c, whole) for n, c in zip(names, row, strict=True)] for at, row in lines]
    if not rows:
        raise Damaged(path, "no line after the header: allowed is one a round")
    return names, np.array(rows)


def _is_allowed(table: np.ndarray, whole: bool) -> bool:
    """Whether numbers are finite and at least 0 and, where asked for, whole and not too large."""
    least, most = table.min(), table.max()  # NaN where there is one, which is below and above nothing
    if not (least >= 0 and most < np.inf):
        return False
    return not whole or bool(most <= LARGEST_COUNT and (table.dtype.kind == "i" or (table == np.floor(table)).all()))


def _check_names(path: Path, names: list[str]) -> None:
    for column, name in enumerate(names, start=1):
        if not name or _is_number(name):
            raise Damaged(path, f"{name!r} is no name; the first line names the columns", f"line 1, column {column}")
        if name in names[: column - 1]:
            raise Damaged(path, f"{name!r} is there twice", f"line 1, column {column}")
        if name == ROUND and column > 1:
            raise Damaged(path, f"{ROUND!r} is allowed in column 1", f"line 1, column {column}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python reads 1_0 as 10; in a file it is a slip


def _number(path: Path, line: int, column: str, cell: str, whole: bool) -> float:
    value = float(cell) if _is_number(cell) else math.nan
    if not (math.isfinite(value) and value >= 0 and not (whole and value != math.floor(value))):
        kind = "a whole number" if whole else "a finite number"
        raise Damaged(path, f"{cell!r}: allowed is {kind} >= 0", f"line {line}, column {column!r}")
    if whole and value > LARGEST_COUNT:
        raise Damaged(path, f"{cell!r}: allowed is at most {LARGEST_COUNT}", f"line {line}, column {column!r}")
    return value


def _check_numbering(path: Path, numbers: np.ndarray) -> None:
    wrong = np.flatnonzero(numbers != np.arange(1, len(numbers) + 1))
    if len(wrong):
        line = wrong[0] + 2
        raise Damaged(path, f"{numbers[wrong[0]]:g}: rounds are numbered 1, 2, ...", f"line {line}, column {ROUND!r}")


def _parquet(path: Path) -> tuple[list[str], np.ndarray]:
    table = read_parquet(path)
    names = list(table.column_names)
    _check_names(path, names)
    columns = []
    for name in names:
        values = table[name].to_pylist()
        columns.append([_number(path, row, name, str(value), whole=True) for row, value in enumerate(values, start=2)])
    if not columns or not columns[0]:
        raise Damaged(path, "no rows: allowed is one a round")
    return names, np.array(columns).T
