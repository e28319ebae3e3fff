"""Columns of logs: CSV, JSON lines and Parquet, with the names that columns usually have."""

from __future__ import annotations

import difflib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import Damaged, parse_json, read_csv, read_file, read_parquet

USUAL: Mapping[str, tuple[str, ...]] = {
    "client": ("client", "client_id", "clientid", "cid", "user", "user_id", "userid", "device", "device_id", "node",
               "uid"),
    "start": ("start", "begin", "from", "start_time", "started", "login"),
    "end": ("end", "stop", "to", "until", "end_time", "ended", "logout"),
    "round": ("round", "round_number", "round_id", "server_round", "current_round", "rnd", "iteration"),
    "time": ("time", "timestamp", "datetime", "date", "t", "ts"),
    "state": ("state", "event", "action", "online", "available"),
    "status": ("status", "result", "outcome", "success"),
    "sender": ("sender", "source", "src"),
    "receiver": ("receiver", "destination", "dst", "target"),
    "bytes": ("bytes", "size", "traffic", "payload"),
}  # fmt: skip
"""Names that a column may have, by what it says."""


@dataclass(frozen=True)
class Columns:
    """Cells of a file, as texts.

    Attributes:
        path: the file.
        cells: by the column's name in the file.
        place: names a row of the file, counted from 0 here.
        given: names of columns by what they say, for those that have unusual names.
    """

    path: Path
    cells: Mapping[str, Sequence[str]]
    place: Callable[[int], str]
    given: Mapping[str, str]

    def named(self, what: str) -> str | None:
        """Return the name of the column that says ``what``, or ``None`` if there is none.

        Raises:
            ValueError: a column that was given is not there.
        """
        if what in self.given:
            if self.given[what] not in self.cells:
                raise ValueError(f"columns = {dict(self.given)}: {self._near(self.given[what])}")
            return self.given[what]
        taken, small = {*self.given.values()}, {name.lower().replace(" ", "_"): name for name in self.cells}
        return next((small[name] for name in USUAL[what] if name in small and small[name] not in taken), None)

    def of(self, what: str) -> Sequence[str]:
        """Return the cells of the column that says ``what``.

        Raises:
            Damaged: there is none.
        """
        name = self.named(what)
        if name is None:
            raise Damaged(self.path, f"no column {what!r}: {self._near(what)}; columns={{'{what}': NAME}} names it")
        return self.cells[name]

    def _near(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.cells, 1)
        meant = f" (is {near[0]!r} meant?)" if near else ""
        return f"its columns are {', '.join(self.cells)}{meant}"


def read_columns(path: Path, given: Mapping[str, str] | None = None) -> Columns:
    """Read all columns of a file: JSON lines (.jsonl, .ndjson), Parquet (.parquet; needs pyarrow), else CSV.

    Raises:
        Damaged: the file is none, has a column twice, rows of other lengths, or no row.
        ValueError: ``given`` has another key than ``USUAL``.
    """
    for what in given or {}:
        if what not in USUAL:
            raise ValueError(f"columns has {what!r}: allowed are {', '.join(USUAL)}")
    kinds = {".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet}
    cells, place = kinds.get(path.suffix.lower(), _csv)(path)
    if not any(map(len, cells.values())):
        raise Damaged(path, "no row: allowed is at least one")
    return Columns(path, cells, place, given or {})


def _csv(path: Path) -> tuple[dict[str, list[str]], Callable[[int], str]]:
    lines = ((number, cells) for number, cells in read_csv(path) if cells)  # an empty line is no row
    header = next(lines, (1, []))[1]
    if len({*header}) != len(header) or not all(header):
        raise Damaged(path, f"its columns are {', '.join(header)}: allowed are distinct names", "line 1")
    numbers = array("q")
    columns: list[list[str]] = [[] for _ in header]
    for number, cells in lines:
        if len(cells) != len(header):
            raise Damaged(path, f"{len(cells)} cells: allowed is {len(header)}", f"line {number}")
        numbers.append(number)
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    return dict(zip(header, columns, strict=True)), lambda i: f"line {numbers[i]}"


def _json_lines(path: Path) -> tuple[dict[str, list[str]], Callable[[int], str]]:
    rows: list[dict[str, Any]] = []
    numbers = []
    for number, line in enumerate(read_file(path).splitlines(), 1):
        if line.strip():
            try:
                rows.append(parse_json(line, path))
            except Damaged as error:
                raise Damaged(path, error.wrong, f"line {number}") from None
            numbers.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_text(row.get(name)) for row in rows] for name in names}, lambda i: f"line {numbers[i]}"


def _parquet(path: Path) -> tuple[dict[str, list[str]], Callable[[int], str]]:
    table = read_parquet(path)
    cells = {name: _texts(table[name].to_pylist()) for name in table.column_names}
    return cells, lambda i: f"row {i + 1}"


def _texts(values: Iterable[Any]) -> list[str]:
    return [value.isoformat() if hasattr(value, "isoformat") else _text(value) for value in values]


def _text(value: Any) -> str:
    """A cell as text: nothing for null, 1 and 0 for true and false."""
    return "" if value is None else str(int(value)) if isinstance(value, bool) else str(value).strip()
