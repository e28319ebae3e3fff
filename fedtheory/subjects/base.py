"""What a functional is of: one protocol for everything that is drawn, written to files, computed and judged.

A claim bounds a functional of a *subject*: the values of quantities, a function at some points, estimated weights, a
selection, a round, a run. A subject knows where to look for examples of it (``Space``), how an exact example is read
from a file, and such an example (``Point``) knows both sides of the claim. Search, shrink, confirm, replay, repair and
assess are one loop each over these; they compare no paper's and no functional's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from flint import arb

from ..claims.balls import Number
from ..claims.statement import Claim
from .found import Found

Slack = Number | None
"""A proven lower bound of a slack that is >= 0; ``None`` where the hypothesis is not shown to hold."""

Reading = Mapping[str, str]
"""Option by ambiguity."""

Box = Mapping[str, arb]
"""An interval for each run quantity."""


def _no_boxes() -> list[Box]:
    return [{}]


@dataclass(frozen=True)
class Sides:
    """What a claim compares at a point, under one reading.

    Attributes:
        left: the functional's value, a Fraction or a ball; or infinite.
        values: every quantity that the point fixes.
        boxes: intervals which together hold what the runs' own quantities can be; may raise ``Undecided``.
        note: how run quantities were enclosed, where that is not the usual way, or "".
    """

    left: Any
    values: Mapping[str, Any]
    boxes: Callable[[], list[Box]] = _no_boxes
    note: str = ""


class Examined(Protocol):
    """A point, as a claim speaks of it. What several readings share is computed once."""

    @property
    def margins(self) -> Mapping[str, Slack]:
        """By assumption: how far the stated constant is on the safe side of the true one; ``None`` if it is not."""

    def sides(self, reading: Reading) -> Sides:
        """Both sides' parts under a reading.

        Raises:
            Undecided: under that reading the point decides nothing; it is said why.
        """

    def chosen(self) -> Mapping[str, Number]:
        """The values of what the claim chooses."""


class Point(Protocol):
    """An exact example: rational numbers, one claim's worth of them."""

    bearer: str
    """Whose the constants of assumptions are: ``federation`` or ``function``."""

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """The point as the claim speaks of it; unless ``follow``, long runs are enclosed without following them."""

    def to_json(self) -> dict[str, Any]:
        """Plain data, in the order of an instance's file, but for the claim's ref."""


class Space(Protocol):
    """Where a claim is searched."""

    def structured(self) -> Iterator[Any]:
        """The candidates to look at first."""

    def draw(self, rng: np.random.Generator) -> Any:
        """A random candidate."""

    def perturb(self, candidate: Any, rng: np.random.Generator, size: float) -> Any:
        """A neighbour."""

    def assess(self, candidate: Any) -> tuple[Found, Found | None] | None:
        """Both sides in floating point at the candidate's worst horizon and at its worst late one; ``None`` where no
        horizon meets every hypothesis."""

    def readings(self, found: Found) -> tuple[str, ...]:
        """Under which readings the find is one."""

    def rounded(self, found: Found, digits: int) -> Iterator[Point]:
        """Exact points near a find, with so many significant digits, the most promising first."""


class Subject(Protocol):
    """What functionals of one kind are of."""

    name: str

    def space(self, claim: Claim) -> Space:
        """Where the claim is searched."""

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Point:
        """A point from plain data, not yet checked.

        Raises:
            ValueError: an entry is missing, of the wrong kind or out of bounds; it is named.
        """


@dataclass(frozen=True)
class Instance:
    """A point, as an instance of one claim.

    Attributes:
        claim: its ref.
        point: what it is made of.
    """

    claim: str
    point: Point = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """The instance as plain data; ``parse`` reads it back."""
        return {"claim": self.claim, **self.point.to_json()}
