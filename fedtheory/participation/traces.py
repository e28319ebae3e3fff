"""Conversion of intervals of time to rounds: masks for `Recorded`, and FLICS's recipe for patterns of light use."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from ..arguments import check_count, check_option
from .interval_tables import Table

RULES = ("any", "start")
TRAFFIC = ("spread", "start")
ACTIVE = ("span", "used")

MEGABYTE = 10**6

MOST_ENTRIES = 2**30
"""The most entries of a mask, rounds times clients; it takes 5 bytes an entry while it is made."""


def rounds_of(
    table: Table, width: float, rounds: int | None = None, origin: float | None = None, rule: str = "any"
) -> np.ndarray:
    """Convert intervals to the mask of available clients in each round, (rounds, clients) bool.

    Round r lasts from origin + r width to origin + (r + 1) width, its end excluded, as the ends of intervals are.

    Args:
        table: see `read_intervals`.
        width: how long a round is, in the table's unit of time.
        rounds: how many; default: up to the last end.
        origin: when round 0 begins; default: at the first start. What lies before or after the rounds does not count.
        rule: a client is available in a round if an interval of its own meets the round ("any"), or contains the moment
            at which the round starts ("start").

    Raises:
        ValueError: a width that is not positive and finite, an origin that is not finite, rounds below 1 or by default
            none, a mask of more than ``MOST_ENTRIES`` entries, or another rule.

    >>> table = Table(("a", "b"), np.array([0, 1]), start=np.array([0.0, 15.0]), end=np.array([10.0, 25.0]))
    >>> rounds_of(table, width=10).astype(int).tolist()
    [[1, 0], [0, 1], [0, 1]]
    >>> rounds_of(table, width=10, rule="start").astype(int).tolist()
    [[1, 0], [0, 0], [0, 1]]
    """
    check_option("rule", rule, RULES)
    first, last, rounds = _slots(table, width, rounds, origin, rule)
    edges = np.zeros((rounds + 1, len(table.names)), dtype=np.int32)
    here = first < last
    np.add.at(edges, (first[here], table.client[here]), 1)
    np.add.at(edges, (last[here], table.client[here]), -1)
    return np.cumsum(edges, axis=0, out=edges)[:-1] > 0


def _slots(
    table: Table, width: float, rounds: int | None, origin: float | None, rule: str
) -> tuple[np.ndarray, np.ndarray, int]:
    """Each row's first round and the one after its last, cut to 0..rounds; and how many rounds there are."""
    if not (isfinite(width) and width > 0):
        raise ValueError(f"width = {width}: allowed is a positive finite number")
    begin = float(table.start.min() if origin is None else origin)
    if not isfinite(begin):
        raise ValueError(f"origin = {origin}: allowed is a finite number")
    first = widths_after(table.start, begin, width)
    first = np.floor(first) if rule == "any" else np.ceil(first)
    last = np.ceil(widths_after(table.end, begin, width))
    if rounds is None:
        # An instant needs the round that it lies in.
        rounds = int(np.maximum(last, np.where(table.start == table.end, first + 1, 0)).max())
        if rounds < 1:
            raise ValueError(f"origin = {origin}: allowed is one before the last end, {table.end.max()}")
    rounds = check_count("rounds", rounds)
    if rounds * len(table.names) > MOST_ENTRIES:
        raise ValueError(
            f"width = {width}: {rounds} rounds of {len(table.names)} clients are too many; allowed is a "
            f"mask of {MOST_ENTRIES} entries"
        )
    return np.clip(first, 0, rounds).astype(np.int64), np.clip(last, 0, rounds).astype(np.int64), rounds


def widths_after(moment: np.ndarray | float, begin: float, width: float) -> np.ndarray:
    """Return how many widths moments lie after the beginning; a whole number where doubles cannot tell it from one.

    A moment and the beginning are each off by half a unit in the last place when they are read, and by as much again
    if they were computed; the width, the difference and the quotient are off by half a unit each.

    >>> 0.3 // 0.1, widths_after(0.3, 0.0, 0.1).item()
    (2.0, 3.0)
    """
    unit = np.finfo(float).eps
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray((np.asarray(moment) - begin) / width)
        whole = np.rint(found)
        room = unit * ((np.abs(moment) + abs(begin)) / width + 1.5 * np.abs(found))
        return np.where(np.abs(found - whole) <= room, whole, found)


@dataclass(frozen=True)
class LightUse:
    """Availability of users by FLICS's recipe.

    Attributes:
        names: the users' names.
        mask: (slots, users) bool, for `RandomPatterns`.
        availability: (users,) float64 in [0, 1], the share of a user's active time in which it is available.
    """

    names: tuple[str, ...]
    mask: np.ndarray
    availability: np.ndarray


def light_use(
    table: Table, slot: float = 3600.0, limit: float = 10 * MEGABYTE, traffic: str = "spread", active: str = "span"
) -> LightUse:
    """Find the slots in which a user uses an app, so that its network is good, but not heavily.

    A user is available in a slot of time if one of its uses meets the slot and its traffic in the slot, over all uses,
    is below ``limit``. Slots start at the table's first start.

    Args:
        table: see `read_usage`; here times are in seconds.
        slot: seconds a slot; the paper's are hours.
        limit: bytes a slot. The paper says 10MB; here these are 10^7 bytes (not 10 * 2^20).
        traffic: how the bytes of a use that meets several slots are counted, which the paper does not say. Readings:
            "spread" (ours): evenly over its time; "start": all in the slot in which it starts.
        active: a user's active time, by which the number of available slots is divided. Readings: "span" (ours): from
            the first slot with a use to the last one; "used": the slots with a use.

    Raises:
        ValueError: a slot or limit that is not positive and finite, another reading, or a table without amounts.

    Source: FLICS, section IV-B, a).

    >>> table = Table(("u",), np.zeros(3, dtype=int), start=np.array([0.0, 3600.0, 9000.0]),
    ...               end=np.array([60.0, 3700.0, 9000.0]), amount=np.array([1e6, 2e7, 0.0]))
    >>> found = light_use(table)
    >>> found.mask[:, 0].tolist(), round(float(found.availability[0]), 3)  # too much in the second hour
    ([True, False, True], 0.667)
    """
    check_option("traffic", traffic, TRAFFIC)
    check_option("active", active, ACTIVE)
    if table.amount is None:
        raise ValueError("table: it has no amounts; allowed is what read_usage gives")
    for name, value in {"slot": slot, "limit": limit}.items():
        if not (isfinite(value) and value > 0):
            raise ValueError(f"{name} = {value}: allowed is a positive finite number")
    first, last, slots = _slots(table, slot, None, None, "any")
    last = np.maximum(last, first + 1)  # an instant meets the slot that it lies in
    used, bytes_in = np.zeros((slots, len(table.names)), dtype=bool), np.zeros((slots, len(table.names)))
    if traffic == "start":
        np.add.at(bytes_in, (first, table.client), table.amount)
    lengths = last - first
    row = np.repeat(np.arange(len(first)), lengths)
    at = first[row] + np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    used[at, table.client[row]] = True
    if traffic == "spread":
        np.add.at(bytes_in, (at, table.client[row]), table.amount[row] * _shares(table, slot, row, at))
    mask = used & (bytes_in < limit)
    spans = slots - used.argmax(axis=0) - used[::-1].argmax(axis=0)
    return LightUse(table.names, mask, mask.sum(axis=0) / (spans if active == "span" else used.sum(axis=0)))


def _shares(table: Table, slot: float, row: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The share of each row's time that lies in slot ``at``; an instant lies in one slot."""
    start, end = table.start - table.start.min(), table.end - table.start.min()
    inside = np.minimum(end[row], (at + 1) * slot) - np.maximum(start[row], at * slot)
    duration = end - start
    return np.where(duration[row] > 0, inside / np.where(duration > 0, duration, 1.0)[row], 1.0)
