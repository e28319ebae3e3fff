"""Participants in arbitrary rounds, as a file describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..participation import Fixed, LargestNoise, Participation, Phases
from .file_entries import LARGEST, check_counts, check_kind, entry, indices, shown

Participants = Fixed | LargestNoise | Phases

MOST_PHASES = 1000
"""Largest number of phases that a file may have."""


def written(process: Participation) -> dict[str, Any]:
    """Write a process as plain data; ``read`` reads it back.

    >>> written(Phases([[0], [1]], [1, 2], cyclic=True))
    {'kind': 'phases', 'sets': [[0], [1]], 'lengths': [1, 2], 'cyclic': True}
    """
    if isinstance(process, LargestNoise):
        return {"kind": "largest_noise", "count": process.count}
    if isinstance(process, Phases):
        sets = [list(members) for members in process.sets]
        return {"kind": "phases", "sets": sets, "lengths": list(process.lengths), "cyclic": process.cyclic}
    assert isinstance(process, Fixed)
    return {"kind": "fixed", "members": list(process.members)}


def read(participation: Mapping[str, Any]) -> Participants:
    """Read a process from plain data, not yet checked against the clients.

    Raises:
        ValueError: an entry is missing, of the wrong kind or out of bounds.
    """
    if participation.get("kind") == "largest_noise":
        count = entry(participation, "count", int)
        check_counts(clients=count)
        return LargestNoise(count)
    if participation.get("kind") == "phases":
        return _phases(participation)
    check_kind(participation, "fixed")
    return Fixed(indices(participation, "members"))


def _phases(data: Mapping[str, Any]) -> Phases:
    sets, lengths = entry(data, "sets", list), indices(data, "lengths")
    if not 1 <= len(sets) <= MOST_PHASES:
        raise ValueError(f"sets = {shown(sets)}: allowed are 1 to {MOST_PHASES} lists of clients")
    if not all(1 <= length <= LARGEST["rounds"] for length in lengths):
        raise ValueError(f"lengths = {shown(lengths)}: allowed are integers from 1 to {LARGEST['rounds']}")
    if type(data.get("cyclic")) is not bool:
        raise ValueError(f"cyclic = {shown(data.get('cyclic'))}: allowed is true or false")
    return Phases([indices({"sets": members}, "sets") for members in sets], lengths, data["cyclic"])
