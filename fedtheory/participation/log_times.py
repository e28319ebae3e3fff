"""Moments in logs: plain numbers, or ISO 8601 dates as seconds since 1970 UTC, in a time zone that is never guessed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import numpy as np

from ..files import Damaged
from .log_columns import Plain

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOTHING = frozenset({"", "nan", "na", "n/a", "null", "none", "nat", "-"})
"""Cells that say nothing, in small letters."""


def zone(name: str | tzinfo | None) -> tzinfo | None:
    """Return the time zone of this name.

    Raises:
        ValueError: the system knows no zone of this name.

    >>> zone("Europe/Berlin").utcoffset(datetime(2026, 7, 1))
    datetime.timedelta(seconds=7200)
    """
    if name is None or isinstance(name, tzinfo):
        return name
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise ValueError(
            f"tz = {name!r}: allowed is the name of a time zone, such as 'Europe/Berlin' or 'UTC'"
        ) from None


def moment(cell: str, tz: tzinfo | None) -> float:
    """Return the moment that a cell names: a finite number as it is, a date as seconds since 1970 UTC.

    A date without a zone is read in ``tz``. Where clocks go forward some local times never come, and where they go back
    some come twice: neither names a moment.

    Raises:
        ValueError: the cell is neither, or a date without a zone, or one that names no moment; it says what is allowed.

    >>> moment("2026-03-29T06:00:00+02:00", None) - moment("2026-03-28T22:00:00+01:00", None)
    25200.0
    >>> moment("2026-03-29 02:30", ZoneInfo("Europe/Berlin"))
    Traceback (most recent call last):
    ValueError: '2026-03-29 02:30' never comes in Europe/Berlin, where clocks go forward: allowed is a time that comes
    """
    try:
        number = float(cell)
    except ValueError:
        return (_date(cell, tz) - EPOCH) / timedelta(seconds=1)
    if not math.isfinite(number):
        raise ValueError(f"{cell!r}: allowed is a finite number, or a date like 2026-03-28T22:00:00+01:00")
    return number


def _date(cell: str, tz: tzinfo | None) -> datetime:
    try:
        found = datetime.fromisoformat(cell)
    except ValueError:
        raise ValueError(f"{cell!r}: allowed is a finite number, or a date like 2026-03-28T22:00:00+01:00") from None
    if found.tzinfo is not None:
        return found
    if tz is None:
        raise ValueError(f"{cell!r} has no time zone: allowed is one with an offset, or any with tz=, such as tz='UTC'")
    early, late = found.replace(tzinfo=tz, fold=0), found.replace(tzinfo=tz, fold=1)
    if early.utcoffset() == late.utcoffset():
        return early
    if early.astimezone(UTC).astimezone(tz).replace(tzinfo=None) != found:
        raise ValueError(f"{cell!r} never comes in {tz}, where clocks go forward: allowed is a time that comes")
    raise ValueError(f"{cell!r} comes twice in {tz}, where clocks go back: allowed is one with its offset")


def moments(
    path: object, cells: Sequence[str], column: str, place: Callable[[int], str], tz: tzinfo | None, empty: bool = False
) -> tuple[np.ndarray, bool]:
    """Return the moments in a column, nan where a cell is empty and ``empty`` allows that, and whether they are dates.

    Raises:
        Damaged: a cell names no moment; or some are numbers and others dates.
    """
    if isinstance(cells, Plain):
        return cells.numbers.astype(float), False
    dates: bool | None = None
    known: dict[str, float] = {}

    def damaged(cell: str, wrong: str) -> Damaged:
        return Damaged(str(path), wrong, f"{place(cells.index(cell))}, column {column!r}")

    for cell in dict.fromkeys(cells):
        if empty and cell.lower() in NOTHING:
            known[cell] = math.nan
            continue
        try:
            known[cell] = moment(cell, tz)
        except ValueError as error:
            raise damaged(cell, str(error)) from None
        is_date = not is_number(cell)
        if dates is not None and dates != is_date:
            kinds = "a date, and others are numbers" if is_date else "a number, and others are dates"
            raise damaged(cell, f"{cell!r} is {kinds}: allowed is one of both")
        dates = is_date
    return np.array([known[cell] for cell in cells], dtype=float), bool(dates)


def is_number(cell: str) -> bool:
    """Whether a cell is a number, and no date."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
