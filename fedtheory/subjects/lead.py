"""Finds of a search: a point, both sides there, and how they compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..claims.evaluation import Bound

LATE = 0.1
"""Share of the right side that fades with the rounds, below which a horizon is late."""


@dataclass(frozen=True)
class Found:
    """An admissible point of a search, at one horizon.

    Attributes:
        candidate: the point as the search draws it.
        point: what it stands for, such as a ``Setting``, ``Points``, or the values of quantities.
        quantities: the values that entered the right side.
        rounds: R; 1 where a claim does not speak of rounds.
        left, right: the two sides.
        ratio: see ``ratio``.
        fading: the share of the right side that fades as rounds grow (its first term).
    """

    candidate: Any
    point: Any = field(compare=False, repr=False)
    quantities: Mapping[str, float]
    rounds: int
    left: float
    right: float
    ratio: float
    fading: float = 1.0

    def with_left(self, left: float) -> Found:
        """Return the find with a left side of this size, if it is less than its own.

        The ratio shrinks as the left side does. Where the left side was infinite, it becomes left / right; that is
        infinite where the right side is not positive.

        >>> found = Found(None, None, {}, rounds=1, left=float("inf"), right=4.0, ratio=float("inf"))
        >>> found.with_left(8.0).ratio, found.with_left(8.0).with_left(6.0).ratio, found.with_left(0.0).ratio
        (2.0, 1.5, 0.0)
        """
        if not left < self.left:
            return self
        if left <= 0:
            shrunk = 0.0
        elif self.left < np.inf:
            shrunk = self.ratio * left / self.left
        else:
            shrunk = left / self.right if self.right > 0 else np.inf
        return replace(self, left=left, ratio=shrunk)


def ratio(left: Any, terms: Iterable[Any]) -> np.ndarray:
    """Compute by how much a left side exceeds a right side, all of whose terms may be negative:

        (left^+ + sum of |negative terms|) / (sum of positive terms + left^-).

    Negative parts thus change sides; without them it is left / right. It is above 1 exactly where left > right. 0/0 is
    0, and anything else over 0 is infinite. Scalars or arrays that broadcast.

    >>> float(ratio(1.0, [3.0, -1.0])), float(ratio(-2.0, [-1.0])), float(ratio(1.0, [0.0]))
    (0.6666666666666666, 0.5, inf)
    """
    parts = [np.asarray(part, dtype=float) for part in (*terms, -np.asarray(left, dtype=float))]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # an infinite ratio is the right answer
        above = sum(np.maximum(-part, 0.0) for part in parts)
        below = sum(np.maximum(part, 0.0) for part in parts)
        return np.where(above == 0, 0.0, above / below)[()]


def finds_at(
    candidate: Any,
    point: Callable[[int], Any],
    bound: Bound,
    horizons: np.ndarray,
    admissible: np.ndarray,
    left: np.ndarray,
    seen: np.ndarray,
) -> Iterator[Found]:
    """Yield the candidate at the worst of the horizons where it is ``admissible``, and at the worst late one.

    Args:
        point: the point that the candidate stands for at a horizon.
        bound: the right side at the horizons; of a grid, (points, horizons), the largest.
        left: the left side there, of which ``seen`` is certain.
    """
    terms = [at_each(value.max(axis=0) if np.ndim(value) == 2 else value, horizons) for value in bound.terms.values()]
    right, ratios = np.sum(terms, axis=0), ratio(seen, terms)
    fading = np.divide(terms[0], right, out=np.zeros(len(right)), where=(right > 0) & np.isfinite(right))
    usable = admissible & np.isfinite(right)  # an infinite left side is a lead, not to be skipped
    for rows in (usable, usable & (fading < LATE)):
        if rows.any():
            i = int(np.where(rows, ratios, -1.0).argmax())
            quantities = {name: _at(v, i) for name, v in bound.quantities.items() if np.ndim(v) < 2}
            yield Found(
                candidate,
                point(int(horizons[i])),
                quantities,
                int(horizons[i]),
                float(left[i]),
                float(right[i]),
                float(ratios[i]),
                float(fading[i]),
            )


def _at(value: Any, place: int) -> float:
    """A number, or the one at this place of an array that broadcasts over the horizons."""
    return float(value[place if len(value) > 1 else 0] if np.ndim(value) else value)


def at_each(value: Any, horizons: np.ndarray) -> np.ndarray:
    """Repeat a number, or numbers that broadcast over the horizons, for each of them."""
    return value if np.shape(value) == horizons.shape else np.broadcast_to(value, horizons.shape)


def worst(finds: Iterable[Found]) -> Found | None:
    """Return the find with the largest ratio."""
    return max(finds, key=lambda found: found.ratio, default=None)
