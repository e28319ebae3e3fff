"""Tables of client intervals from CSV or Parquet files. Files are parsed, never evaluated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..files import Damaged, read_csv, read_parquet


@dataclass(frozen=True)
class Table:
    """Rows of a file: who, from when to when, and perhaps how much.

    Attributes:
        names: the clients' names, in the order of their first row or as given.
        client: (rows,) int64, into ``names``.
        start, end: (rows,) float64, in the file's unit of time; the interval is [start, end).
        amount: (rows,) float64, or None where the table has no such column.
    """

    names: tuple[str, ...]
    client: np.ndarray
    start: np.ndarray
    end: np.ndarray
    amount: np.ndarray | None = None


def read_intervals(path: str | Path, names: Sequence[str] | None = None) -> Table:
    """Read when clients are available, from columns ``client``, ``start``, ``end``; others are not looked at.

    Args:
        path: a CSV file, or a Parquet file (its name ends in .parquet; needs pyarrow).
        names: the clients there are, in order; a client without a row is never available. Default: those in the file,
            in the order of their first rows.

    Raises:
        ValueError: a missing file or column, a cell that is no finite number, a client that is not in ``names``, an
            interval that does not end after it starts, or two of one client that overlap; with the line (in
            Parquet: the row, the first being 1) and the column.
    """
    path = Path(path)
    rows, line = _rows(path, ("client", "start", "end"))
    table = _table(path, rows, line, names)
    for i in np.flatnonzero(~(table.end > table.start)).tolist():
        raise _wrong_order(path, rows, line, i, "start < end")
    order = np.lexsort((table.start, table.client))
    clash = (table.client[order][1:] == table.client[order][:-1]) & (table.start[order][1:] < table.end[order][:-1])
    for k in np.flatnonzero(clash):
        first, second = sorted((int(order[k]), int(order[k + 1])))
        wrong = f"client {table.names[table.client[second]]!r} is already there then, by {line(first)}"
        raise Damaged(path, f"{wrong}: allowed are intervals that do not overlap", line(second))
    return table


def read_usage(path: str | Path) -> Table:
    """Read a log of app use, from columns ``user``, ``start``, ``end``, ``bytes``; others are not looked at.

    A user may use several apps at a time, and a use may last no time. ``bytes`` are those sent and received together.

    Raises:
        ValueError: as `read_intervals`, but for overlaps; a use that ends before it starts, or bytes below 0.
    """
    path = Path(path)
    rows, line = _rows(path, ("user", "start", "end", "bytes"))
    table = _table(path, rows, line, None)
    for i in np.flatnonzero(table.end < table.start).tolist():
        raise _wrong_order(path, rows, line, i, "start <= end")
    for i in np.flatnonzero(np.asarray(table.amount) < 0).tolist():
        raise Damaged(path, f"{rows['bytes'][i]}: allowed is a finite number >= 0", f"{line(i)}, column 'bytes'")
    return table


class _Line:
    """Names a row of a file in messages."""

    def __init__(self, kind: str, numbers: Sequence[int]) -> None:
        self.kind, self.numbers = kind, numbers

    def __call__(self, i: int) -> str:
        return f"{self.kind} {self.numbers[i]}"


def _wrong_order(path: Path, rows: dict[str, list[str]], line: _Line, i: int, allowed: str) -> ValueError:
    start, end = rows["start"][i], rows["end"][i]
    return Damaged(path, f"start = {start}, end = {end}: allowed is {allowed}", f"{line(i)}")


def _rows(path: Path, columns: tuple[str, ...]) -> tuple[dict[str, list[str]], _Line]:
    rows, line = (_parquet if path.suffix == ".parquet" else _csv)(path, columns)
    if not rows[columns[0]]:
        raise Damaged(path, "no row after the header: allowed is at least one")
    return rows, line


def _check_columns(path: Path, found: Sequence[str], columns: tuple[str, ...]) -> None:
    for column in columns:
        if list(found).count(column) != 1:
            raise Damaged(path, f"its columns are {', '.join(found)}: allowed are {', '.join(columns)}, each once")


def _csv(path: Path, columns: tuple[str, ...]) -> tuple[dict[str, list[str]], _Line]:
    rows: dict[str, list[str]] = {column: [] for column in columns}
    numbers: list[int] = []
    lines = read_csv(path)
    _, header = next(lines, (1, []))
    _check_columns(path, header, columns)
    for line, cells in lines:
        if len(cells) != len(header):
            raise Damaged(path, f"{len(cells)} cells: allowed is {len(header)}", f"line {line}")
        for column in columns:
            rows[column].append(cells[header.index(column)])
        numbers.append(line)
    return rows, _Line("line", numbers)


def _parquet(path: Path, columns: tuple[str, ...]) -> tuple[dict[str, list[str]], _Line]:
    table = read_parquet(path)
    _check_columns(path, table.column_names, columns)
    rows = {column: ["" if v is None else str(v) for v in table[column].to_pylist()] for column in columns}
    return rows, _Line("row", range(1, len(table) + 1))


def _table(path: Path, rows: dict[str, list[str]], line: _Line, names: Sequence[str] | None) -> Table:
    who, *numeric = rows
    for i, name in enumerate(rows[who]):
        if not name:
            raise Damaged(path, "empty: allowed is a name", f"{line(i)}, column {who!r}")
    known = tuple(dict.fromkeys(rows[who])) if names is None else tuple(str(name) for name in names)
    if len(set(known)) != len(known):
        raise ValueError(f"names = {list(known)}: allowed are distinct names")
    number = {name: k for k, name in enumerate(known)}
    for i, name in enumerate(rows[who]):
        if name not in number:
            raise Damaged(path, f"{name!r} is no client; allowed are {_some(known)}", f"{line(i)}, column {who!r}")
    values = [_numbers(path, rows[column], column, line) for column in numeric]
    return Table(known, np.array([number[name] for name in rows[who]], dtype=np.int64), *values)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _numbers(path: Path, cells: list[str], column: str, line: _Line) -> np.ndarray:
    values = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            values[i] = float(cell)
        except ValueError:
            values[i] = math.nan
        if not math.isfinite(values[i]):
            raise Damaged(path, f"{cell!r}: allowed is a finite number", f"{line(i)}, column {column!r}")
    return values
