"""Dependence on the hour and on the day of the week, in a zone's own time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import pairwise

import numpy as np

ROTATIONS = 999
"""Number of logs, rearranged so that only the calendar is lost, that a log is compared with."""

LEAST_DAYS, LEAST_WEEKS = 4, 3
"""Number of days that the hour, and weeks that the weekday, are asked of."""

DAY, WEEK = 86_400, 604_800


@dataclass(frozen=True)
class CalendarEffect:
    """Dependence on the hour, or on the weekday.

    Attributes:
        of: "hour" or "weekday".
        labels: the hours that occur, 0 to 23, or weekdays, 0 being Monday.
        means: the mean size of a round, by label.
        ripple: standard deviation of these means over rounds, as a share of the mean size; nan without anybody.
        p: how often the same rounds, days being rotated or weekdays shuffled, have as large a ripple.
        missing: days, or weeks, by which the log is too short for p; 0 if it is not.
    """

    of: str
    labels: list[int]
    means: list[float]
    ripple: float
    p: float | None
    missing: int


def local_times(begins: float, width: float, rounds: int, tz: tzinfo | None) -> list[datetime]:
    """Return the local time at which each round starts: seconds since 1970 UTC, in the zone (default: UTC)."""
    return [datetime.fromtimestamp(begins + r * width, tz or UTC) for r in range(rounds)]


def calendar_effects(sizes: np.ndarray, begins: float, width: float, tz: tzinfo | None = None) -> list[CalendarEffect]:
    """Ask whether sizes of rounds depend on the hour and the weekday.

    The ripple by hour is compared with that of logs in which every day is rotated by a random number of rounds: what
    happens within a day stays together, the hour is lost. For the weekday, whole days are shuffled.
    """
    times = local_times(begins, width, len(sizes), tz)
    days = np.array([time.toordinal() for time in times])
    found = []
    if width < DAY:
        hours = np.array([time.hour for time in times])
        missing = max(0, LEAST_DAYS - len(np.unique(days)))
        found.append(_effect("hour", sizes, hours, missing, lambda rng: _rotated(sizes, days, rng)))
    if width <= DAY:
        weekdays = (days - 1) % 7
        missing = max(0, LEAST_WEEKS - int(len(sizes) * width // WEEK))
        found.append(_effect("weekday", sizes, weekdays, missing, lambda rng: _shuffled(sizes, days, rng)))
    return found


def _effect(of: str, sizes: np.ndarray, label: np.ndarray, missing: int, rearranged) -> CalendarEffect:  # type: ignore[no-untyped-def]
    labels = np.unique(label)
    place = np.searchsorted(labels, label)
    count = np.bincount(place)
    means = np.bincount(place, sizes) / count
    mean = sizes.mean()
    ripple = _ripple(sizes, place, count)
    p = None
    if not missing and len(labels) > 1 and mean > 0:
        rng = np.random.default_rng(11)
        larger = sum(_ripple(rearranged(rng), place, count) >= ripple * (1 - 1e-9) for _ in range(ROTATIONS))
        p = (1 + larger) / (ROTATIONS + 1)
    shown = ripple / mean if mean > 0 else float("nan")
    return CalendarEffect(of, labels.tolist(), means.tolist(), float(shown), p, missing)


def _ripple(sizes: np.ndarray, place: np.ndarray, count: np.ndarray) -> float:
    means = np.bincount(place, sizes) / count
    return float(np.sqrt((count * (means - sizes.mean()) ** 2).sum() / len(sizes)))


def _rotated(sizes: np.ndarray, days: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    found, edges = sizes.copy(), [0, *(np.flatnonzero(np.diff(days)) + 1).tolist(), len(sizes)]
    for first, last in pairwise(edges):
        found[first:last] = np.roll(sizes[first:last], int(rng.integers(last - first)))
    return found


def _shuffled(sizes: np.ndarray, days: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give each day the mean size of another one."""
    number = days - days[0]
    count = np.bincount(number)
    means = np.bincount(number, sizes) / np.maximum(count, 1)
    seen = np.flatnonzero(count)
    means[seen] = means[rng.permutation(seen)]
    return np.asarray(means[number])
