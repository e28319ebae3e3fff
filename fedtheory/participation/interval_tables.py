"""Tables of client intervals, read from the files that logs stand in. Files are parsed, never evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..files import Damaged
from .log_columns import Coded, Columns, read_columns
from .log_forms import spans
from .log_times import moments


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

    Unlike `read_log` it takes nothing that needs a guess: no open end, and no overlap.

    Args:
        path: a file of columns, as `read_log` has them. Dates with their offset become seconds since 1970 UTC.
        names: the clients there are, in order; a client without a row is never available. Default: those in the file,
            in the order of their first rows.

    Raises:
        ValueError: a missing file or column, a cell that is no finite number or date, a client that is not in
            ``names``, an interval that does not end after it starts, or two of one client that overlap; with the line
            (in Parquet: the row, the first being 1) and the column.
    """
    columns = read_columns(Path(path))
    table = _table(columns, names)
    for i in np.flatnonzero(table.start == table.end).tolist():
        wrong = f"start = {columns.of('start')[i]}, end = {columns.of('end')[i]}: allowed is start < end"
        raise Damaged(path, wrong, columns.place(i))
    order = np.lexsort((table.start, table.client))
    clash = (table.client[order][1:] == table.client[order][:-1]) & (table.start[order][1:] < table.end[order][:-1])
    for k in np.flatnonzero(clash):
        first, second = sorted((int(order[k]), int(order[k + 1])))
        wrong = f"client {table.names[table.client[second]]!r} is already there then, by {columns.place(first)}"
        raise Damaged(path, f"{wrong}: allowed are intervals that do not overlap", columns.place(second))
    return table


def read_usage(path: str | Path) -> Table:
    """Read a log of app use, from columns ``user``, ``start``, ``end``, ``bytes``; others are not looked at.

    A user may use several apps at a time, and a use may last no time. ``bytes`` are those sent and received together.

    Raises:
        ValueError: as `read_intervals`, but for overlaps; a use that ends before it starts, or bytes below 0.
    """
    columns = read_columns(Path(path))
    table, cells = _table(columns, None), columns.of("bytes")
    amount, dates = moments(path, cells, "bytes", columns.place, None)
    for i in np.flatnonzero(dates | (amount < 0)).tolist():
        where = f"{columns.place(i)}, column {columns.named('bytes')!r}"
        raise Damaged(path, f"{cells[i]}: allowed is a finite number >= 0", where)
    return replace(table, amount=amount)


def _table(columns: Columns, names: Sequence[str] | None) -> Table:
    client, start, end, _ = spans(columns)
    return Table(*numbered(columns.path, client, columns.place, names), start, end)


def numbered(
    path: Path,
    client: Sequence[str],
    place: Callable[[int], str],
    names: Sequence[str] | None = None,
    known: Iterable[str] = (),
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the clients' names, each once, and each row's client as a number, (rows,) int64.

    Args:
        client: of each row. place: names a row.
        names: all the clients; default: those who are ``known``, then those of the rows, in order.

    Raises:
        ValueError: names that are not distinct; a client that is not among them, with its row.
    """
    words = client.words if isinstance(client, Coded) else client
    number = {name: k for k, name in enumerate(dict.fromkeys([*known, *words] if names is None else map(str, names)))}
    if names is not None and len(number) != len(names):
        raise ValueError(f"names = {list(names)}: allowed are distinct names")
    if names is not None and not number:
        raise ValueError("names is empty: allowed is at least one client")
    for i, name in enumerate(client) if any(name not in number for name in words) else ():
        if name not in number:
            some = ", ".join([*number][:5]) + (f" and {len(number) - 5} more" if len(number) > 5 else "")
            raise Damaged(path, f"client {name!r} is not in names: allowed are {some}", place(i))
    own = np.array([number[name] for name in words], dtype=np.int64)
    return tuple(number), own[client.code] if isinstance(client, Coded) else own
