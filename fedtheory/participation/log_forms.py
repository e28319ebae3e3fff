"""Forms of participation logs, each read as rows: who, from when to when."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ..files import Damaged, parse_json, read_unpacked
from .log_columns import Coded, Columns, Plain
from .log_times import is_number, moment, moments

HERE = frozenset({"1", "true", "yes", "ok", "on", "up", "start", "begin", "join", "joined", "login", "online",
                  "connect", "connected", "available", "active", "success", "successful", "succeeded", "complete",
                  "completed", "done", "finished", "received", "participated", "accepted"})  # fmt: skip
"""States and statuses of who is there, in small letters."""
AWAY = frozenset({"0", "false", "no", "off", "down", "stop", "end", "leave", "left", "logout", "offline",
                  "disconnect", "disconnected", "unavailable", "inactive", "fail", "failed", "failure", "error",
                  "timeout", "timed out", "drop", "dropped", "dropout", "aborted", "cancelled", "canceled", "missing",
                  "skipped", "rejected", "discarded"})  # fmt: skip
"""States and statuses of who is not."""
BITS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
"""Cells of a mask, in small letters."""


@dataclass
class Told:
    """Sentences on what was not taken as it stands in a file: how often, and in which row first.

    >>> told = Told()
    >>> told.add("rows that stand there twice", "line 3", 2)
    >>> told.lines()
    ('2: rows that stand there twice (first: line 3)',)
    """

    count: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, what: str, place: str = "", count: int = 1) -> None:
        """Count more of a kind; "" for a place that says nothing."""
        self.count[what] = self.count.get(what, 0) + count
        self.first.setdefault(what, place)

    def lines(self) -> tuple[str, ...]:
        """Return a sentence of each kind."""
        return tuple(
            f"{count}: {what}" + f" (first: {self.first[what]})" * bool(self.first[what])
            for what, count in self.count.items()
        )


@dataclass
class Rows:
    """Rows of a log, in the order of the file.

    Attributes:
        unit: "rounds", "seconds since 1970 UTC" or "numbers".
        place: names a row.
        client: names.
        start, end: of [start, end); nan where the file does not say it: then the log's own.
        known: the clients whom the file names, also those who never came.
        begins, ends: of the log, where the file says it.
        told: what was not taken as it stands.
    """

    unit: str
    place: Callable[[int], str]
    client: Sequence[str] = field(default_factory=list)
    start: np.ndarray = field(default_factory=lambda: np.zeros(0))
    end: np.ndarray = field(default_factory=lambda: np.zeros(0))
    known: tuple[str, ...] = ()
    begins: float = math.nan
    ends: float = math.nan
    told: Told = field(default_factory=Told)


@dataclass(frozen=True)
class Options:
    """Options for what a file does not say of itself: see ``logs.read_log``."""

    tz: tzinfo | None = None
    present: frozenset[str] | None = None
    where: tuple[str, ...] = ()
    server: str | None = None

    def check(self, form: str) -> None:
        """Raise ``ValueError`` where one is given that a log of this form has no use for."""
        for name, forms in (("present", ("transitions", "rounds")), ("where", ("flash",)), ("server", ("traffic",))):
            if getattr(self, name) and form not in forms:
                raise ValueError(f"{name}: allowed is with a log of {' or '.join(forms)}, and this one is of {form}")


UNITS = ("numbers", "seconds since 1970 UTC")


def intervals(columns: Columns, options: Options) -> Rows:
    """Read columns ``client``, ``start``, ``end``; an empty end is open."""
    client, start, end, dates = spans(columns, options.tz, open_ends=True)
    return Rows(UNITS[dates], columns.place, client, start, end)


def spans(
    columns: Columns, tz: tzinfo | None = None, open_ends: bool = False
) -> tuple[Sequence[str], np.ndarray, np.ndarray, bool]:
    """Return the clients, starts and ends of columns, and whether moments are dates; nan for an end that is open.

    Raises:
        Damaged: a cell that is none of these, a start after its end, or dates beside numbers.
    """
    client = _names(columns, "client")
    start, dates = moments(columns.path, columns.of("start"), "start", columns.place, tz)
    end, ends_are_dates = moments(columns.path, columns.of("end"), "end", columns.place, tz, empty=open_ends)
    if dates != ends_are_dates and not np.isnan(end).all():
        wrong = "one of start and end has dates, the other numbers: allowed is one of both"
        raise Damaged(columns.path, wrong, columns.place(int(np.flatnonzero(~np.isnan(end))[0])))
    for i in np.flatnonzero(end < start).tolist():
        wrong = f"start = {columns.of('start')[i]}, end = {columns.of('end')[i]}: allowed is start <= end"
        raise Damaged(columns.path, wrong, columns.place(i))
    return client, start, end, dates


def rounds(columns: Columns, options: Options) -> Rows:
    """Read columns ``round``, ``client`` and perhaps ``status``: who took part."""
    number, client = _rounds(columns), _names(columns, "client")
    words = client.words if isinstance(client, Coded) else dict.fromkeys(client)
    known = {name: k for k, name in enumerate(words)}
    told = Told()
    kept: Sequence[int] = range(len(client))
    place: Callable[[int], str] = columns.place
    if options.present and columns.named("status") is None:
        raise ValueError("present: allowed is with a column status, which this log of rounds has not")
    if columns.named("status") is not None:
        here = _here(columns, "status", options.present, told)
        key = number * len(known) + np.array([known[name] for name in client])
        order = np.argsort(key, kind="stable")
        differ = np.flatnonzero((np.diff(key[order]) == 0) & (np.diff(here[order].astype(int)) != 0))
        for one, other in ((int(order[k]), int(order[k + 1])) for k in differ):
            by = columns.place(one if here[one] else other)
            wrong = f"client {client[one]!r} is in round {number[one]} twice, and took part by {by} alone"
            raise Damaged(columns.path, f"{wrong}: allowed is one row a round and client", columns.place(other))
        if (~here).any():
            told.add("rows of clients who did not take part, by their status", count=int((~here).sum()))
        kept = np.flatnonzero(here).tolist()
        place = _places(columns.place, kept)
        client = [client[i] for i in kept]
    at = number[np.array(kept, dtype=int)].astype(float)
    begins, ends = float(number.min()), float(number.max() + 1)
    return Rows("rounds", place, client, at, at + 1, tuple(known), begins, ends, told)


def _places(place: Callable[[int], str], rows: Sequence[int]) -> Callable[[int], str]:
    """Name rows that were chosen of a file's."""
    return lambda i: place(int(rows[i]))


def transitions(columns: Columns, options: Options) -> Rows:
    """Read columns ``client``, ``time``, ``state``: who came and who left.

    Who leaves without having come was there since the log began; who comes and does not leave, until it ends.
    """
    client = _names(columns, "client")
    time, dates = moments(columns.path, columns.of("time"), "time", columns.place, options.tz)
    found = Rows(UNITS[dates], columns.place, known=tuple(dict.fromkeys(client)))
    here = _here(columns, "state", options.present, found.told).tolist()
    found.begins, found.ends = float(time.min()), float(time.max())
    _walk(found, client, time, here)
    return found


def _walk(found: Rows, client: Sequence[str], time: np.ndarray, here: Sequence[bool]) -> None:
    """Join comings and goings to intervals.

    Of the same moment they count in the file's order, but who is there leaves before coming again.
    """
    since: dict[str, float] = {}
    seen: set[str] = set()
    rows: list[tuple[str, float, float, int]] = []
    in_order = (
        i
        for _, rows_then in groupby(np.argsort(time, kind="stable").tolist(), time.__getitem__)
        for i in sorted(rows_then, key=lambda i: here[i] and client[i] in since)
    )
    for i in in_order:
        name, at = client[i], float(time[i])
        if here[i] and name in since:
            found.told.add("comings of clients who are there already, which change nothing", found.place(i))
        elif here[i]:
            since[name] = at
        elif name in since:
            rows.append((name, since.pop(name), at, i))
        elif name not in seen:
            found.told.add("clients who leave first: counted as there since the log begins", found.place(i))
            rows.append((name, math.nan, at, i))
        else:
            found.told.add("goings of clients who are not there, which change nothing", found.place(i))
        seen.add(name)
    rows += [(name, at, math.nan, len(client) - 1) for name, at in since.items()]
    found.client = [row[0] for row in rows]
    found.start, found.end = (np.array([row[k] for row in rows], dtype=float) for k in (1, 2))
    found.place = _places(found.place, [row[3] for row in rows])


def mask(columns: Columns, options: Options) -> Rows:
    """Read a column of 0 and 1 for each client, and perhaps ``round``; a row is a round.

    A first column without a name, the index of a data frame, is the round.
    """
    if "" in columns.cells and columns.named("round") is None:
        columns = replace(columns, given={**columns.given, "round": ""})
    name = columns.named("round")
    names = [each for each in columns.cells if each not in (name, "")]
    if not names:
        raise Damaged(columns.path, "no column but the round: allowed is one of 0 and 1 for each client")
    number = np.arange(len(columns.cells[names[0]])) if name is None else _rounds(columns)
    order = np.argsort(number, kind="stable")
    if (again := order[1:][np.diff(number[order]) == 0]).size:
        i = int(again.min())
        raise Damaged(
            columns.path, f"round {number[i]} stands there twice: allowed is one row a round", columns.place(i)
        )
    here = np.array([[BITS.get(cell.lower(), 2) for cell in columns.cells[each]] for each in names], dtype=np.int8)
    for k, i in np.argwhere(here == 2).tolist():
        wrong = f"{columns.cells[names[k]][i]!r}: allowed is 0 or 1, or True or False"
        raise Damaged(columns.path, wrong, f"{columns.place(i)}, column {names[k]!r}")
    which, row = np.nonzero(here == 1)
    at = number[row].astype(float)
    begins, ends = float(number.min()), float(number.max() + 1)
    return Rows(
        "rounds",
        _places(columns.place, row.tolist()),
        [names[k] for k in which],
        at,
        at + 1,
        tuple(names),
        begins,
        ends,
    )


def traffic(columns: Columns, options: Options) -> Rows:
    """Read columns ``round``, ``sender``, ``receiver`` and perhaps ``bytes``: a client takes part when it sends.

    The server is ``server``, or the only name that is in every row.
    """
    number, sender, receiver = _rounds(columns), _names(columns, "sender"), _names(columns, "receiver")
    server = options.server
    if server is None:
        always = {sender[0], receiver[0]}
        for i, pair in enumerate(zip(sender, receiver, strict=True)):
            always &= {*pair}
            if not always:
                wrong = "no name is in every row up to here: allowed with server= alone, which names the server"
                raise Damaged(columns.path, wrong, columns.place(i))
        if len(always) > 1:
            wrong = "two names are in every row: allowed with server= alone, which names the server"
            raise Damaged(columns.path, wrong)
        (server,) = always
    elif server not in receiver:
        raise Damaged(columns.path, f"server = {server!r} is nowhere in column 'receiver': allowed is a name that is")
    ways = list(zip(number.tolist(), sender, receiver, strict=True))
    known = tuple(dict.fromkeys(name for _, a, b in ways for name in (a, b) if name != server))
    pairs: dict[tuple[int, str], int] = {}
    for i, (at_round, a, b) in enumerate(ways):
        if a != server and b == server:
            pairs.setdefault((at_round, a), i)
    asked = {(at_round, b) for at_round, a, b in ways if a == server != b}
    told = Told()
    if silent := len(asked - pairs.keys()):
        told.add("clients a round that were sent something and sent nothing: counted as away", count=silent)
    rows = sorted(pairs.items(), key=lambda pair: pair[1])
    at = np.array([key[0] for key, _ in rows], dtype=float)
    return Rows(
        "rounds",
        _places(columns.place, [i for _, i in rows]),
        [key[1] for key, _ in rows],
        at,
        at + 1,
        known,
        float(number.min()),
        float(number.max() + 1),
        told,
    )


# Dictionaries by client ----------------------------------------------------------------------------------------------


def fedscale(path: Path, data: Mapping[str, Any]) -> Rows:
    """Read FedScale's availability: by client the seconds ``active`` and ``inactive`` of one period, ``finish_time``.

    Source: FedScale, Lai et al. (2022), its device traces, as JSON.
    """
    client: list[str] = []
    start: list[float] = []
    end: list[float] = []
    ends = 0.0
    for name, entry in data.items():
        if not isinstance(entry, Mapping) or not {"active", "inactive"} <= entry.keys():
            raise Damaged(path, "allowed is an object with the lists active and inactive", f"client {name!r}")
        active, inactive = (_seconds(path, name, key, entry[key]) for key in ("active", "inactive"))
        if len(active) != len(inactive):
            raise Damaged(
                path, f"{len(active)} active and {len(inactive)} inactive: allowed are as many", f"client {name!r}"
            )
        for a, b in zip(active, inactive, strict=True):
            if b < a:
                raise Damaged(
                    path, f"active at {a:g}, inactive at {b:g}: allowed is active <= inactive", f"client {name!r}"
                )
        client += [name] * len(active)
        start += active
        end += inactive
        ends = max(ends, *_seconds(path, name, "finish_time", [entry.get("finish_time", 0)]), *inactive, 0.0)
    places = [f"client {name!r}" for name in client]
    return Rows("numbers", places.__getitem__, client, np.array(start), np.array(end), tuple(data), 0.0, ends)


def _seconds(path: Path, name: str, key: str, values: Any) -> list[float]:
    good = isinstance(values, list) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values
    )
    if not good:
        raise Damaged(path, f"{str(values)[:60]}: allowed are finite numbers", f"client {name!r}, {key}")
    return [float(v) for v in values]


STATES: Mapping[str, tuple[str, bool]] = {
    "battery_charged_on": ("charging", True), "battery_charged_off": ("charging", False),
    "battery_low": ("battery", False), "battery_okay": ("battery", True),
    "phone_on": ("phone", True), "phone_off": ("phone", False),
    "screen_off": ("dark", True), "screen_on": ("dark", False),
    "screen_lock": ("locked", True), "screen_unlock": ("locked", False),
    "wifi": ("wifi", True), "unknown": ("wifi", False), "2g": ("wifi", False), "3g": ("wifi", False),
    "4g": ("wifi", False), "5g": ("wifi", False),
}  # fmt: skip
"""Messages of FLASH's devices, each with the state that it sets: what holds from then on."""
DEFAULT_WHERE = ("charging", "wifi", "locked")
CONDITIONS = tuple(dict.fromkeys(state for state, _ in STATES.values()))
_LEVEL = re.compile(r"\d+(\.\d+)?%")


def flash(path: Path, data: Mapping[str, Any], options: Options) -> Rows:
    """Read FLASH's messages, lines "TIME<tab>EVENT" of each device: it is there while all conditions hold.

    A condition that no message has set yet does not hold. Levels of the battery are not looked at.

    Source: FLASH, Yang et al. (2021), its state traces.
    """
    where = options.where or DEFAULT_WHERE
    for condition in where:
        if condition not in CONDITIONS:
            raise ValueError(f"where has {condition!r}: allowed are {', '.join(CONDITIONS)}")
    found = Rows(UNITS[1], str, known=tuple(data))
    met: set[str] = set()
    client: list[str] = []
    time: list[float] = []
    here: list[bool] = []
    places: list[str] = []
    begins, ends = math.inf, -math.inf
    dates: dict[bool, str] = {}
    for name, entry in data.items():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("messages"), str):
            raise Damaged(path, "allowed is an object with the text messages", f"client {name!r}")
        holds: dict[str, bool] = {}
        was = False
        messages = _messages(path, name, entry["messages"], options.tz, dates)
        for at, event, line in sorted(messages, key=lambda each: each[0]):
            begins, ends = min(begins, at), max(ends, at)
            if event not in STATES:
                if not _LEVEL.fullmatch(event):
                    what = "messages of other events, which change nothing"
                    found.told.add(what, f"client {name!r}, message {line}")
                continue
            state, value = STATES[event]
            holds[state] = value
            met |= {state} if value else set()
            now = all(holds.get(condition, False) for condition in where)
            if now != was:
                client.append(name)
                time.append(at)
                here.append(now)
                places.append(f"client {name!r}, message {line}")
                was = now
    if missing := [condition for condition in where if condition not in met]:
        raise Damaged(
            path, f"no message ever says {', '.join(missing)}: allowed are conditions that some message meets"
        )
    if not any(here):
        raise Damaged(
            path, f"{', '.join(where)} never hold at once: allowed are conditions that a client meets together"
        )
    found.place, found.begins, found.ends = places.__getitem__, begins, ends
    found.unit = UNITS[True in dates]
    _walk(found, client, np.array(time), here)
    return found


def _messages(
    path: Path, name: str, text: str, tz: tzinfo | None, dates: dict[bool, str]
) -> Iterator[tuple[float, str, int]]:
    """Moment, event and number of each message; ``dates`` has the first place of a date, and of a number."""
    for number, line in enumerate(text.replace("\x00", "").splitlines(), 1):
        if not line.strip():
            continue
        at, tab, event = line.partition("\t")
        place = f"client {name!r}, message {number}"
        if not tab:
            raise Damaged(path, f"{line[:60]!r}: allowed is a time, a tab and an event", place)
        try:
            found = moment(at.strip(), tz)
        except ValueError as error:
            raise Damaged(path, str(error), place) from None
        dates.setdefault(not is_number(at), place)
        if len(dates) > 1:
            kind, other = "number" if is_number(at) else "date", next(iter(dates.values()))
            wrong = f"{at.strip()!r} is a {kind}, unlike that of {other}: allowed are dates alone, or numbers alone"
            raise Damaged(path, wrong, place)
        yield found, event.strip().lower(), number


# What the forms have in common --------------------------------------------------------------------------------------


def form_of(columns: Columns) -> str:
    """Name the form that has these columns.

    Raises:
        Damaged: there is none; it says what each form needs.
    """
    for form, needed in NEEDED.items():
        if all(columns.named(what) is not None for what in needed):
            if form == "rounds" and _are_evaluations({name.lower() for name in columns.cells}):
                wrong = (
                    "accuracy or loss of clients who are evaluated, whether they trained or not: allowed is who trained"
                )
                raise Damaged(columns.path, f"{wrong} (LEAF's metrics of the system), or like='rounds' if that is so")
            return form
    apart = (columns.named("round"), "")
    rest = [values for name, values in columns.cells.items() if name not in apart]
    if rest and all(values[0].lower() in BITS for values in rest):
        return "mask"
    forms = "; ".join(f"{', '.join(needed)} ({form})" for form, needed in NEEDED.items())
    wrong = f"its columns are {', '.join(columns.cells)}: allowed are {forms}; or a column of 0 and 1 a client (mask)"
    raise Damaged(columns.path, f"{wrong}; columns={{'client': NAME}} names one that is called otherwise")


def _are_evaluations(names: set[str]) -> bool:
    """Whether these columns, in small letters, are LEAF's of all clients' models and not of those who trained.

    Source: LEAF, Caldas et al. (2019), its writer of metrics: both files have client_id, round_number, hierarchy and
    num_samples; the one of the system has bytes and computations, and a row for each client that trained.
    """
    return {"hierarchy", "num_samples"} <= names and bool({"accuracy", "loss"} & names)


def form_of_entries(path: Path, data: Mapping[str, Any]) -> str:
    """Name the form of a dictionary by client."""
    entry = next(iter(data.values()), None)
    keys = {*entry} if isinstance(entry, Mapping) else set()
    if {"active", "inactive"} <= keys or "messages" in keys:
        return "flash" if "messages" in keys else "fedscale"
    raise Damaged(
        path, "its entries have neither active and inactive (fedscale) nor messages (flash): allowed are these"
    )


NEEDED: Mapping[str, tuple[str, ...]] = {
    "intervals": ("client", "start", "end"),
    "transitions": ("client", "time", "state"),
    "rounds": ("round", "client"),
    "traffic": ("round", "sender", "receiver"),
}
IN_COLUMNS: Mapping[str, Callable[[Columns, Options], Rows]] = {
    "intervals": intervals, "transitions": transitions, "rounds": rounds, "traffic": traffic, "mask": mask,
}  # fmt: skip


def read_entries(path: Path, like: str, options: Options) -> Rows:
    """Read a JSON dictionary by client."""
    data = parse_json(read_unpacked(path), path)
    if not data:
        raise Damaged(path, "no client: allowed is at least one")
    form = form_of_entries(path, data) if like == "auto" else like
    options.check(form)
    return fedscale(path, data) if form == "fedscale" else flash(path, data, options)


def _names(columns: Columns, what: str) -> Sequence[str]:
    cells = columns.of(what)
    if "" in cells:
        place = f"{columns.place(list(cells).index(''))}, column {columns.named(what)!r}"
        raise Damaged(columns.path, "empty: allowed is a name", place)
    return cells


def _rounds(columns: Columns) -> np.ndarray:
    cells = columns.of("round")
    whole = isinstance(cells, Plain) and cells.numbers.dtype.kind == "i"
    if isinstance(cells, Plain) and whole and ((cells.numbers >= 0) & (cells.numbers < 10**15)).all():
        return cells.numbers
    known = {cell: int(float(cell)) if re.fullmatch(r"[0-9]{1,15}(\.0)?", cell) else -1 for cell in {*cells}}
    found = np.array([known[cell] for cell in cells], dtype=np.int64)
    for i in np.flatnonzero(found < 0).tolist():
        place = f"{columns.place(i)}, column {columns.named('round')!r}"
        raise Damaged(columns.path, f"{cells[i]!r}: allowed is an integer >= 0", place)
    return found


def _here(columns: Columns, what: str, present: frozenset[str] | None, told: Told) -> np.ndarray:
    """Whether the client of each row is there, (rows,) bool, by its state or status."""
    cells = [cell.lower() for cell in columns.of(what)]
    words = dict.fromkeys(cells)
    for cell in words if present is None else ():
        if cell not in HERE and cell not in AWAY:
            place = f"{columns.place(cells.index(cell))}, column {columns.named(what)!r}"
            raise Damaged(
                columns.path, f"{cell!r} is no known state: allowed is present=[...], the states of who is there", place
            )
    if present is not None and present.isdisjoint(words):
        some = ", ".join(map(repr, [*words][:5])) + ", ..." * (len(words) > 5)
        wrong = f"no row has {', '.join(map(repr, sorted(present)))}: allowed as present= are {some}"
        raise Damaged(columns.path, wrong, f"column {columns.named(what)!r}")
    for cell in sorted((present or frozenset()) - {*words}):
        told.add(f"state of who is there that no row has, {cell!r}")
    here = {cell: cell in (HERE if present is None else present) for cell in words}
    return np.array([here[cell] for cell in cells], dtype=bool)
