"""Participation logs: who was there when, read from the files that servers and data sets have."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from itertools import pairwise
from numbers import Real
from pathlib import Path

import numpy as np

from ..arguments import check_kind, check_option
from ..files import Damaged
from .interval_tables import Table, numbered
from .log_columns import kind_of, read_columns
from .log_forms import IN_COLUMNS, UNITS, Options, Rows, form_of, read_entries
from .log_times import is_number, moment, zone
from .recorded import Recorded
from .traces import MOST_ENTRIES, rounds_of, widths_after

FORMS = ("auto", *IN_COLUMNS, "fedscale", "flash")


@dataclass(frozen=True)
class Log:
    """Intervals in which each client was there.

    Attributes:
        names: the clients, also those who never came.
        client: (rows,) int64, into ``names``.
        start, end: (rows,) float64, of intervals [start, end) that neither overlap nor touch, by client and start.
        censored: (rows, 2) bool, whether the start, and the end, are the log's own: the client may have been there
            before, or stayed.
        begins, ends: of the log.
        unit: "rounds", "seconds since 1970 UTC" or "numbers".
        told: sentences on what was not taken as it stands in the file.
    """

    names: tuple[str, ...]
    client: np.ndarray
    start: np.ndarray
    end: np.ndarray
    censored: np.ndarray
    begins: float
    ends: float
    unit: str
    told: tuple[str, ...] = ()

    @cached_property
    def table(self) -> Table:
        """The intervals as a table, for ``traces.rounds_of``."""
        return Table(self.names, self.client, self.start, self.end)

    @property
    def never(self) -> tuple[str, ...]:
        """The clients who never came."""
        came = {*self.client.tolist()}
        return tuple(name for k, name in enumerate(self.names) if k not in came)

    def intervals(self, name: str) -> list[tuple[float, float]]:
        """Return the intervals of one client.

        Raises:
            ValueError: there is no such client.
        """
        if name not in self.names:
            raise ValueError(
                f"name = {name!r}: allowed are {', '.join(self.names[:5])}{', ...' * (len(self.names) > 5)}"
            )
        mine = self.client == self.names.index(name)
        return list(zip(self.start[mine].tolist(), self.end[mine].tolist(), strict=True))

    def mask(self, width: float | None = None, rule: str = "any") -> np.ndarray:
        """Return who was there in each round, (rounds, clients) bool, from the log's beginning to its end.

        Args:
            width: how long a round is, in the log's unit; a log of rounds has its own.
            rule: see ``traces.rounds_of``: there in some moment of the round ("any"), or when it starts ("start").

        Raises:
            ValueError: a width for a log of rounds, or none for one of times; or as ``traces.rounds_of``.
        """
        by_rounds = self.unit == "rounds"
        if by_rounds == (width is not None):
            allowed = "nothing for a log of rounds" if by_rounds else f"how long a round is, in {self.unit}"
            raise ValueError(f"width = {width}: allowed is {allowed}")
        length = 1.0 if width is None else width
        check_kind("width", length, Real, "a positive finite number")
        length = float(length)
        if not 0 < length < np.inf:
            raise ValueError(f"width = {width}: allowed is a positive finite number")
        rounds = np.ceil(widths_after(self.ends, self.begins, length))
        if not rounds < MOST_ENTRIES:
            wrong = f"width = {width}: from {self.begins:g} to {self.ends:g} there would be {rounds:g} rounds"
            raise ValueError(f"{wrong}; allowed are fewer than {MOST_ENTRIES}")
        return rounds_of(self.table, length, max(1, int(rounds)), self.begins, rule)

    def recorded(self, width: float | None = None, after: str = "repeat", rule: str = "any") -> Recorded:
        """Return the process in which the clients come as they did: see ``mask`` and ``Recorded``."""
        return Recorded(self.mask(width, rule), after)

    def __str__(self) -> str:
        came = len(self.names) - len(self.never)
        about = f"{len(self.names)} clients, {came} of whom came, in {len(self.start)} intervals"
        return "\n".join([f"{about} of {self.begins:g} to {self.ends:g} ({self.unit})", *self.told])


def read_log(
    path: str | Path,
    like: str = "auto",
    *,
    columns: Mapping[str, str] | None = None,
    tz: str | tzinfo | None = None,
    names: Sequence[str] | None = None,
    until: float | str | None = None,
    present: Sequence[str] | None = None,
    where: Sequence[str] = (),
    server: str | None = None,
) -> Log:
    """Read a participation log of any of these forms:

    - "intervals": columns client, start, end. An empty end is open: the client stayed until the log ends.
    - "rounds": columns round, client and perhaps status, as simulators and LEAF's metrics of the system have them.
    - "transitions": columns client, time, state: who came, and who left.
    - "mask": a column of 0 and 1, or of True and False, for each client, a row for each round.
    - "traffic": columns round, sender, receiver: a client takes part when it sends to the server.
    - "fedscale": JSON by client, with seconds ``active`` and ``inactive``.
    - "flash": JSON by client, with ``messages`` of a device's events.

    Columns stand in CSV (with commas, semicolons, tabs or bars), JSON lines (.jsonl) or Parquet (.parquet, needs
    pyarrow). All but Parquet may be packed by gzip (.csv.gz).
    Times are numbers, or dates with a zone, which become seconds since 1970 UTC. Rows that stand there twice count
    once, overlaps are merged, rounds and times in which nobody came stay; ``told`` says how often, and in which row
    first. The log begins with its first moment and ends with its last, or with ``until``.

    Args:
        path: the file. It is parsed, never evaluated.
        like: a form; "auto" tells it from the columns.
        columns: names of columns that are called otherwise, such as {"client": "phone"}.
        tz: the zone of dates without one, such as "Europe/Berlin".
        names: all the clients, in order, also those who never came; default: those in the file.
        until: the log's end, a number or a date.
        present: the states or statuses of who is there, if the usual words do not do.
        where: of "flash", the conditions under which a device is there: charging, battery, phone, dark, locked, wifi.
            Default: charging, wifi and locked.
        server: of "traffic", the server's name.

    Raises:
        Damaged: what the file has is not of the form, with the line and the column.
        ValueError: another form, zone, column or condition; or an option of another form.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = file.write_text("client,start,end\\na,0,10\\na,0,10\\nb,5,\\n")
    >>> log = read_log(file)
    >>> log.intervals("b"), log.mask(width=5).astype(int).tolist()
    ([(5.0, 10.0)], [[1, 0], [1, 1]])
    >>> print(log)
    2 clients, 2 of whom came, in 2 intervals of 0 to 10 (numbers)
    1: rows that stand there twice (first: line 3)
    1: intervals without an end: counted until the log ends (first: line 4)
    """
    check_kind("path", path, (str, Path), "a file's name")
    path = Path(path)
    check_option("like", like, FORMS)
    states = None if present is None else frozenset(str(state).strip().lower() for state in _listed("present", present))
    options = Options(zone(tz), states, tuple(map(str, _listed("where", where))), server)
    if like in ("fedscale", "flash") or (like == "auto" and kind_of(path) == ".json"):
        rows = read_entries(path, like, options)
    else:
        found = read_columns(path, columns)
        form = form_of(found) if like == "auto" else like
        options.check(form)
        rows = IN_COLUMNS[form](found, options)
    if names is not None:
        check_kind("names", names, Sequence, "a list of the clients' names")
    return _log(path, rows, names, None if until is None else _until(until, options.tz, rows.unit))


def _listed(name: str, words: Sequence[str]) -> Sequence[str]:
    """The words, also of one word alone."""
    check_kind(name, words, (Sequence, Set), "a list of words")
    return (words,) if isinstance(words, str) else tuple(words)


def _until(until: float | str, tz: tzinfo | None, unit: str) -> float:
    try:
        found = moment(str(until), tz)
    except ValueError as error:
        raise ValueError(f"until = {error}") from None
    if unit != UNITS[1] and not is_number(str(until)):
        raise ValueError(f"until = {until!r} is a date, and the log has {unit}: allowed is a number")
    return found


def _log(path: Path, rows: Rows, names: Sequence[str] | None, until: float | None) -> Log:
    """Join rows to intervals, count what is there twice, and close what is open."""
    known, who = numbered(path, rows.client, rows.place, names, rows.known)
    for k in _alike(known) if names is None else ():
        first = np.flatnonzero(who == k)
        place = rows.place(int(first[0])) if first.size else ""
        rows.told.add("names that differ from an earlier one by case, blanks or unseen signs: other clients", place)
    moments = np.concatenate([rows.start, rows.end, [rows.begins, rows.ends]])
    if np.isnan(moments).all():
        raise Damaged(path, "no moment: allowed is at least one")
    begins, last = float(np.nanmin(moments)), float(np.nanmax(moments))
    ends = last if until is None else until
    if ends < last:
        raise ValueError(f"until = {until}: allowed is no time before the log's last, {last:g}")
    censored = np.isnan(np.column_stack([rows.start, rows.end]))
    start, end = np.where(censored[:, 0], begins, rows.start), np.where(censored[:, 1], ends, rows.end)
    told = rows.told
    order = np.lexsort((censored[:, 1], end, start, who))
    who, start, end, censored = who[order], start[order], end[order], censored[order]
    same = np.zeros(len(who), dtype=bool)
    same[1:] = (who[1:] == who[:-1]) & (start[1:] == start[:-1]) & (end[1:] == end[:-1])
    instant = (start == end) & ~censored.any(axis=1)
    kept = ~same & ~instant
    group, overlap = _joined(who[kept], start[kept], end[kept])
    for what, row in (
        ("rows that stand there twice", order[same]),
        ("intervals of no length, which are left out", order[instant & ~same]),
        ("intervals without an end: counted until the log ends", order[kept & censored[:, 1]]),
        ("intervals that overlap an earlier one of the same client: merged", order[kept][overlap]),
    ):
        if row.size:
            told.add(what, rows.place(int(row.min())), row.size)
    who, start, end, censored = who[kept], start[kept], end[kept], censored[kept]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    closing = np.maximum.reduceat(end, first) if len(first) else end
    open_end = np.logical_or.reduceat(censored[:, 1], first) if len(first) else censored[:, 1]
    edges = np.column_stack([censored[first, 0], open_end])
    return Log(known, who[first], start[first], closing, edges, begins, ends, rows.unit, told.lines())


def _alike(names: Sequence[str]) -> list[int]:
    """Return the places of names that look like an earlier one.

    >>> _alike(["ann", "Ann", "bo  b", "bob", "bo b"])
    [1, 4]
    """
    seen: set[str] = set()
    found = []
    for k, name in enumerate(names):
        plain = name if name.isascii() else unicodedata.normalize("NFKC", name)
        text = " ".join("".join(each for each in plain if unicodedata.category(each) != "Cf").casefold().split())
        found += [k] * (text in seen)
        seen.add(text)
    return found


def _joined(who: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the intervals that each row joins, of rows by client and start; and say which overlap an earlier one."""
    group, overlap, current = np.zeros(len(who), dtype=np.int64), np.zeros(len(who), dtype=bool), -1
    edges = np.flatnonzero(np.diff(who, prepend=-1, append=-1))  # nobody came: none
    for first, last in pairwise(edges.tolist()):
        reach = np.maximum.accumulate(end[first:last])
        new = np.ones(last - first, dtype=bool)
        new[1:] = start[first + 1 : last] > reach[:-1]
        overlap[first + 1 : last] = start[first + 1 : last] < reach[:-1]
        group[first:last] = current + np.cumsum(new)
        current = int(group[last - 1])
    return group, overlap
