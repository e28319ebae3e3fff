"""Columns of logs: CSV, JSON lines and Parquet, with the names that columns usually have."""

from __future__ import annotations

import csv
import difflib
import io
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import check_kind
from ..files import Damaged, parse_json, read_csv, read_parquet, read_unpacked

USUAL: Mapping[str, tuple[str, ...]] = {
    "client": ("client", "client_id", "clientid", "cid", "client_name", "client_idx", "client_index", "user", "user_id",
               "userid", "device", "device_id", "node", "node_id", "uid"),
    "start": ("start", "begin", "from", "start_time", "started", "login"),
    "end": ("end", "stop", "to", "until", "end_time", "ended", "logout"),
    "round": ("round", "round_number", "round_id", "server_round", "current_round", "round_num", "round_idx",
              "rnd", "iteration"),
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
        taken = {*self.given.values()}
        small = {re.sub("[ -]", "_", name.lower()): name for name in reversed([*self.cells])}
        small |= {name: name for name in self.cells}  # the first that is so called, before it one written just so
        return next((small[name] for name in USUAL[what] if name in small and small[name] not in taken), None)

    def of(self, what: str) -> Sequence[str]:
        """Return the cells of the column that says ``what``.

        Raises:
            Damaged: there is none.
        """
        name = self.named(what)
        if name is None:
            raise Damaged(self.path, f"no column {what!r}: {self._near(what)}; columns={{'{what}': NAME}} names it")
        if isinstance(found := self.cells[name], Nested):
            wrong = f"{found.cell[:60]}: allowed is a text or a number, and a row for each"
            raise Damaged(self.path, wrong, f"{self.place(found.row)}, column {name!r}")
        return found

    def _near(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.cells, 1)
        meant = f" (is {near[0]!r} meant?)" if near else ""
        return f"its columns are {', '.join(self.cells)}{meant}"


def read_columns(path: Path, given: Mapping[str, str] | None = None) -> Columns:
    """Read all columns of a file: JSON lines (.jsonl, .ndjson), Parquet (.parquet; needs pyarrow), else CSV; of all but
    Parquet also what is packed by gzip (.gz).

    Raises:
        Damaged: the file is none, is packed, has a column twice, rows of other lengths, or no row.
        ValueError: ``given`` has another key than ``USUAL``, or another value than a name.
    """
    check_kind("columns", given, (Mapping, type(None)), "a dict of names, such as {'client': 'phone'}")
    for what, name in (given or {}).items():
        if what not in USUAL:
            raise ValueError(f"columns has {what!r}: allowed are {', '.join(USUAL)}")
        check_kind(f"columns[{what!r}]", name, str, "a column's name")
    kind = kind_of(path)
    if path.suffix.lower() in PACKED or (kind == ".parquet" and path.suffix.lower() != kind):
        raise Damaged(path, "is packed, by its name: allowed is CSV or .jsonl, also with .gz, or .parquet")
    kinds = {".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet}
    read = kinds.get(kind)
    cells, place = _csv(path, given or {}) if read is None else read(path)
    if not any(map(len, cells.values())):
        raise Damaged(path, "no row: allowed is at least one")
    return Columns(path, cells, place, given or {})


def kind_of(path: Path) -> str:
    """Return the end of a file's name in small letters, without that of gzip: ".jsonl" of "log.jsonl.gz"."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


PACKED = frozenset((".bz2", ".xz", ".zst", ".zip", ".xlsx", ".ods"))
"""Ends of the names of files that no form is read from."""


@dataclass(frozen=True)
class Nested(Sequence[str]):
    """Cells of which one is neither text nor number: a list, an object, bytes.

    Attributes:
        row, cell: the first such.
        rows: how many rows there are.
    """

    row: int
    cell: str
    rows: int

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, i: Any) -> Any:
        return self.cell


@dataclass(frozen=True)
class Coded(Sequence[str]):
    """Cells of which each word is kept once.

    Attributes:
        words: the different cells, in the order of their first rows.
        code: (rows,) int64, into ``words``.
    """

    words: list[str]
    code: np.ndarray

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, i: Any) -> Any:
        return self.words[self.code[i]]

    def __iter__(self) -> Iterator[str]:
        return map(self.words.__getitem__, self.code.tolist())

    def __contains__(self, cell: object) -> bool:
        return cell in self.words


@dataclass(frozen=True)
class Plain(Sequence[str]):
    """Cells that are all finite numbers; their texts are read when they are asked for.

    Attributes:
        numbers: (rows,) int64 or float64.
        texts: reads them.
    """

    numbers: np.ndarray
    texts: Callable[[], Sequence[str]]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, i: Any) -> Any:
        return self.texts()[i]


MANY = 1_000_000
"""Bytes of a CSV file above which it is worth while to load pandas."""

SEVERAL_WAYS = re.compile(rb"[,\n][-+]*0[0-9]|[+ ]|-0")
"""Integers that are not written as they are printed: 007 and 7 are two names."""

SEPARATORS = ",;\t|"
"""Characters that may stand between cells; the first of these that is in the first line separates them."""

NUMERIC = frozenset(("start", "end", "round", "time", "bytes"))
"""Things that a column of numbers may say."""


def _csv(path: Path, given: Mapping[str, str]) -> tuple[Mapping[str, Sequence[str]], Callable[[int], str]]:
    found = _plain_csv(path, given)
    return _any_csv(path) if found is None else (found, lambda i: f"line {i + 2}")


def _plain_csv(path: Path, given: Mapping[str, str]) -> Mapping[str, Sequence[str]] | None:
    """The columns of a large file without anything that has to be looked at line by line, by pandas; else ``None``.

    Such a file has no quotes, no empty lines, no spaces about cells, and in each line as many cells as in the first:
    pandas refuses lines with more, and commas are counted.
    """
    try:
        content = read_unpacked(path)
    except (OSError, ValueError):
        return None
    if len(content) < MANY or any(each in content for each in (b'"', b"\r", b"\0", b"\n\n", b"\xef\xbb\xbf")):
        return None
    try:
        import pandas

        header = content[: content.index(b"\n")].decode().split(",")
    except (ImportError, ValueError):
        return None
    if not all(header) or (len(header) == 1 and any(each in header[0] for each in SEPARATORS)):
        return None
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    if content.count(b",") != lines * (len(header) - 1) or len({*header}) != len(header):
        return None
    columns = Columns(path, dict.fromkeys(header, ()), str, given)
    # Floats are those nearest to what is written: from pandas 3 on by default.
    exactly: Any = {"float_precision": "round_trip"} if pandas.__version__ < "3" else {}
    numeric = {name for what in NUMERIC if (name := columns.named(what)) is not None}
    try:
        table = pandas.read_csv(
            io.BytesIO(content),
            dtype={name: "category" for name in header if name not in numeric},
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            **exactly,
            index_col=False,
            skip_blank_lines=False,
            low_memory=False,
        )
    except (ValueError, OverflowError):  # a line with more cells, or what is no UTF-8
        return None
    if len(table) != lines - 1:
        return None
    texts = cache(lambda: _any_csv(path)[0])
    found: dict[str, Sequence[str]] = {}
    for name in header:
        values = table[name]
        if name in numeric:
            numbers = values.to_numpy()
            if numbers.dtype not in (np.dtype("int64"), np.dtype("float64")) or not np.isfinite(numbers).all():
                return None
            found[name] = Plain(numbers, lambda name=name: texts()[name])  # type: ignore[misc]
        else:
            categories = values.cat.categories
            if categories.dtype.kind == "i":
                if SEVERAL_WAYS.search(content):
                    return None
            elif not all(isinstance(word, str) for word in categories):
                return None
            words = list(map(str, categories))
            code = values.cat.codes.to_numpy().astype(np.int64)
            first = np.zeros(len(words), dtype=np.int64)
            first[code[::-1]] = np.arange(len(code))[::-1]
            order = np.argsort(first)
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            found[name] = Coded([words[k] for k in order], back[code])
    cells = (word for column in found.values() if isinstance(column, Coded) for word in column.words)
    return found if all(cell == cell.strip() for cell in (*header, *cells)) else None


def _any_csv(path: Path) -> tuple[dict[str, list[str]], Callable[[int], str]]:
    lines = ((number, cells) for number, cells in read_csv(path, SEPARATORS) if cells)  # an empty line is no row
    header = next(lines, (1, []))[1]
    _check_names(path, header)
    numbers = array("q")
    columns: list[list[str]] = [[] for _ in header]
    for number, cells in lines:
        if len(cells) != len(header):
            raise Damaged(path, f"{len(cells)} cells: allowed is {len(header)}", f"line {number}")
        numbers.append(number)
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    return dict(zip(header, columns, strict=True)), lambda i: f"line {numbers[i]}"


def _check_names(path: Path, header: Sequence[str]) -> None:
    """Refuse names that are not distinct. The first of several columns may have none: the index of a data frame."""
    if len({*header}) != len(header) or not all(header[1:] or header):
        raise Damaged(path, f"its columns are {', '.join(header)}: allowed are distinct names", "line 1")


def _json_lines(path: Path) -> tuple[dict[str, Sequence[str]], Callable[[int], str]]:
    rows: list[dict[str, Any]] = []
    numbers = []
    for number, line in enumerate(read_unpacked(path).splitlines(), 1):
        if line.strip():
            try:
                rows.append(parse_json(line, path))
            except Damaged as error:
                raise Damaged(path, error.wrong, f"line {number}") from None
            numbers.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _texts([row.get(name) for row in rows]) for name in names}, lambda i: f"line {numbers[i]}"


def _parquet(path: Path) -> tuple[dict[str, Sequence[str]], Callable[[int], str]]:
    table = read_parquet(path)
    _check_names(path, table.column_names)
    cells = {name: _texts(table[name].to_pylist()) for name in table.column_names}
    return cells, lambda i: f"row {i + 1}"


def _texts(values: Sequence[Any]) -> Sequence[str]:
    for i, value in enumerate(values):
        if isinstance(value, (list, dict, bytes)):
            return Nested(i, str(value), len(values))
    return [value.isoformat() if hasattr(value, "isoformat") else _text(value) for value in values]


def _text(value: Any) -> str:
    """A cell as text: nothing for null, 1 and 0 for true and false."""
    return "" if value is None else str(int(value)) if isinstance(value, bool) else str(value).strip()
