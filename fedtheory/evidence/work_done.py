"""Durations of pieces of work: kept at publication, so that progress can be told in proportion to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from ..files import read_json

FILE = Path(str(files("fedtheory.evidence"))) / "published" / "work.json"
"""``{"schema", "seconds"}``: the CPU seconds of each piece of work by its name; only their proportions count."""

SCHEMA = 1


def work_of(tasks: Iterable[str]) -> dict[str, float]:
    """Return how much work each of some tasks is.

    One that is not known counts as the median of its kind, the first word of its name; 1 where nothing is known.
    """
    known = recorded(FILE)
    of_kind: dict[str, list[float]] = {}
    for name, seconds in known.items():
        of_kind.setdefault(name.partition(" ")[0], []).append(seconds)
    middle = {kind: median(each) for kind, each in of_kind.items()}
    return {name: known.get(_key(name), middle.get(name.partition(" ")[0], 1.0)) for name in tasks}


def recorded(file: Path) -> dict[str, float]:
    """Read the seconds in a file; none where there is no such file."""
    try:
        return {name: max(float(seconds), LEAST) for name, seconds in read_json(file)["seconds"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {}


def record(file: Path, spent: Mapping[str, float]) -> dict[str, Any]:
    """Return a file's content with what was spent now, beside what it has of other work."""
    seconds = recorded(file) | {_key(name): round(max(each, LEAST), 3) for name, each in spent.items()}
    return {"schema": SCHEMA, "seconds": dict(sorted(seconds.items()))}


LEAST = 0.01
"""Seconds that every piece of work takes at least: to hand it out."""


def _key(name: str) -> str:
    """The name of a piece of work without how deep it goes: kind, and of what.

    >>> _key("search fast.thm2@main 300 8 30 seed 0")
    'search fast.thm2@main'
    """
    return " ".join(name.split(" ")[:2])
