"""Constants of a federation, each with how it is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

EXACT, BOUND, ESTIMATE = "exact", "bound", "estimate"


@dataclass(frozen=True)
class Constant:
    """A number with its provenance.

    Attributes:
        value: in the quantity's units.
        kind: ``exact``; ``bound``, in the direction that is safe to plug into a theorem (from above, but from below
            for strong convexity); or ``estimate``, which guarantees nothing.
        how: one line on where the number comes from.
        interval: of an estimate, where what it estimates lies, if that is known; see `estimated_constants`.
    """

    value: float
    kind: str
    how: str
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in (EXACT, BOUND, ESTIMATE):
            raise ValueError(f"kind = {self.kind!r}: allowed is {EXACT}, {BOUND} or {ESTIMATE}")
        if self.interval is not None and not self.interval[0] <= self.value <= self.interval[1]:
            raise ValueError(f"interval = {self.interval}: allowed is one that holds value = {self.value}")


@dataclass(frozen=True)
class Constants(Mapping[str, Constant]):
    """The constants of a federation by the quantity's name.

    >>> c = Constants({"smoothness": Constant(2.0, "exact", "largest eigenvalue")})
    >>> c["smoothness"].value, c.values_only()
    (2.0, {'smoothness': 2.0})
    """

    entries: Mapping[str, Constant]

    def __getitem__(self, name: str) -> Constant:
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def values_only(self) -> dict[str, float]:
        """Return the constants' values by name."""
        return {name: constant.value for name, constant in self.entries.items()}

    def cautious(self) -> dict[str, float]:
        """The values, of those with an interval its end that is safe to plug into a theorem: the upper one, but of
        strong convexity the lower one.

        >>> Constants({"gradient_noise": Constant(1.0, "estimate", "draws", interval=(0.9, 1.1))}).cautious()
        {'gradient_noise': 1.1}
        """
        ends = {name: c.interval or (c.value, c.value) for name, c in self.entries.items()}
        return {name: low if name == "strong_convexity" else high for name, (low, high) in ends.items()}


@dataclass(frozen=True)
class Region:
    """The closed ball {x : |x - centre| <= radius}; ``centre`` has shape (D,), ``radius`` is in units of x."""

    centre: np.ndarray
    radius: float

    def __post_init__(self) -> None:
        if not 0 <= self.radius < float("inf"):
            raise ValueError(f"radius = {self.radius}: allowed is a finite number >= 0")
        if not np.isfinite(self.centre).all():
            raise ValueError(f"centre = {self.centre}: allowed are finite numbers")
