"""Who takes part in arbitrary rounds, as a file has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..participation import Fixed, LargestNoise, Participation
from .entries import check_counts, check_kind, entry, indices

Participants = Fixed | LargestNoise


def written(process: Participation) -> dict[str, Any]:
    """Plain data; ``read`` reads it back."""
    if isinstance(process, LargestNoise):
        return {"kind": "largest_noise", "count": process.count}
    assert isinstance(process, Fixed)
    return {"kind": "fixed", "members": list(process.members)}


def read(participation: Mapping[str, Any]) -> Participants:
    """The process from plain data, not yet checked against the clients."""
    if participation.get("kind") == "largest_noise":
        count = entry(participation, "count", int)
        check_counts(clients=count)
        return LargestNoise(count)
    check_kind(participation, "fixed")
    return Fixed(indices(participation, "members"))
