"""Answers of clients: whatever they send is read here, and where it cannot be taken an error says why in one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

LONGEST = 200
"""Characters of what a client says that are kept, and that its name may have."""


@dataclass(frozen=True)
class Answer:
    """Answer of a client.

    Attributes:
        client: its name, which stays the same whatever connection it has.
        arrays: the model that it trained; ``None``: it failed.
        examples: how many it trained on.
        round: of the model that it started from; ``None``: this one.
        sender: the connection that it came over, if that has a name.
        accuracy: of the model that it started from, on its training data.
        error: why it failed.
    """

    client: str
    arrays: Sequence[np.ndarray] | None
    examples: float = 0
    round: int | None = None
    sender: str = ""
    accuracy: float | None = None
    error: str = ""


def in_line(text: object) -> str:
    r"""Return a text in one line that can be printed, and is not long.

    >>> in_line("out of\n  memory \ud800")
    'out of memory ?'
    """
    words = " ".join(str(text).split())[:LONGEST]
    return "".join(each if each.isprintable() else "?" for each in words)


def shown(value: object) -> str:
    """Return a value as Python writes it, in one line; its type where that cannot be written."""
    try:
        return in_line(repr(value))
    except Exception:  # such as a whole number of many thousand digits
        return f"a {type(value).__name__}"


def is_name(name: str) -> bool:
    """Return whether a log holds a name as it is: it can be printed, and has no space at its ends.

    >>> [is_name(each) for each in ("site 1", "", " a", "a\\n")]
    [True, False, False, False]
    """
    return name.isprintable() and name.strip() == name and 0 < len(name) <= LONGEST


def as_number(value: Any) -> float | None:
    """Return a finite number as a float; ``None`` if it is none.

    >>> as_number(Fraction(1, 2)), as_number(10**400), as_number("1")
    (0.5, None, None)
    """
    if not isinstance(value, (int, float, np.integer, np.floating, Fraction)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def as_row(arrays: Any, model: Sequence[np.ndarray]) -> np.ndarray:
    """Return what is trained of a model, its arrays of floats, in one row, (1, D) float64.

    Args:
        model: arrays of the shapes that are asked for.

    Raises:
        ValueError: there are more or fewer arrays, or one is of another shape, of no numbers, or not finite.
    """
    try:
        many = len(arrays)
    except TypeError:
        many = None
    if many != len(model):
        raise ValueError(f"arrays: there are {'none' if many is None else many}, allowed are {len(model)}")
    parts = []
    for i, known in enumerate(model):
        if known.dtype.kind != "f":
            continue
        try:
            each = np.asarray(arrays[i])
        except Exception as error:  # whatever kind of thing it is
            raise ValueError(f"array {i} cannot be read: {type(error).__name__}: {error}") from None
        if each.shape != known.shape or each.dtype.kind not in "fiu":
            raise ValueError(f"array {i} is {each.dtype} {each.shape}: allowed are numbers {known.shape}")
        with np.errstate(over="ignore"):
            part = each.astype(np.float64).ravel()
        if not np.isfinite(part).all():
            raise ValueError(f"array {i} has an entry that is not finite: allowed are finite numbers")
        parts.append(part)
    return np.concatenate(parts)[None]
