"""Participation that is drawn from a record: its rounds in blocks, in random order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import check_count, check_option
from ..extras import torch
from ..randomness import words
from .base import Inclusion
from .recorded import FromRecord, RecordedState

if TYPE_CHECKING:
    from torch import Tensor

STARTS = ("any", "aligned")
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
"""Seconds of the units in which a block may be given."""


def seconds_of(text: str) -> Fraction | None:
    """Return a time such as "1 day" in seconds; ``None`` if the text is no time.

    >>> seconds_of("1.5 hours"), seconds_of("1 fortnight")
    (Fraction(5400, 1), None)
    """
    found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([a-z]+?)s?\s*", text)
    return None if found is None or found[2] not in SECONDS else Fraction(found[1]) * SECONDS[found[2]]


def rounds_of_block(block: object, width: float | None) -> int:
    """Return how many rounds a block has: the number itself, or a time such as "1 day" over the rounds' width.

    Raises:
        ValueError: neither; a time without a width in seconds, or one that is no whole number of rounds.

    >>> rounds_of_block("1 day", width=3600.0), rounds_of_block(7, width=None)
    (24, 7)
    """
    if not isinstance(block, str):
        return check_count("block", block)
    seconds = seconds_of(block)
    if seconds is None:
        raise ValueError(f"block = {block!r}: allowed is a number of rounds, or a time such as '1 day' or '6 hours'")
    if width is None:
        raise ValueError(
            f"block = {block!r}: allowed with width=, how many seconds a round has; else a number of rounds"
        )
    rounds = seconds / Fraction(width)
    if rounds.denominator != 1 or rounds < 1:
        raise ValueError(f"block = {block!r}: allowed is a whole number of rounds of {width:g} seconds, at least one")
    return int(rounds)


@dataclass(frozen=True, repr=False, eq=False)
class Resampled(FromRecord):
    """Participation by blocks of a record's rounds, drawn with replacement: the block bootstrap.

    Rounds k b to k b + b - 1 are the b rounds of the record from its round s_k on; all s_k are independent and
    uniform. What happens within a block keeps its order, and who comes together stays together; blocks know nothing
    of each other. With b = 1, rounds are independent. Where a block may start:

    - ``starts="any"``: in every round; the record's first round follows its last. So each round has the record's mean.
    - ``starts="aligned"``: in the rounds 0, b, 2 b, ...: a whole day stays a day. Rounds after the last whole block are
      never drawn.

    Args:
        mask: (rounds, clients), 0 or 1, or a `Log`.
        block: b, in rounds, or a time such as "1 day".
        width: how long a round of a log is, in its unit; for a log of rounds, nothing.
        starts: where blocks start.

    Raises:
        ValueError: a mask of another shape or content, a block longer than the record, a time that is no whole number
            of rounds, or other ``starts``; in `check`, if the record has not one column for each client.

    Source: H. R. Künsch, "The jackknife and the bootstrap for general stationary observations", Annals of Statistics
    17, 1989; D. Politis and J. Romano, "A circular block-resampling procedure for stationary data", 1992.

    >>> process = Resampled([[1, 0], [1, 0], [0, 1], [0, 1]], block=2)
    >>> process.marginal(2, round=5).first.tolist()
    [Fraction(1, 2), Fraction(1, 2)]
    >>> Resampled(process.mask, block=2, starts="aligned").block
    2
    """

    mask: np.ndarray
    block: int
    width: float | None = None
    starts: str = "any"

    def __post_init__(self) -> None:
        given: Any = self.mask
        if hasattr(given, "recorded"):
            object.__setattr__(self, "mask", given.mask(self.width))
        self._set_record("mask")
        check_option("starts", self.starts, STARTS)
        object.__setattr__(self, "block", rounds_of_block(self.block, self.width))
        if self.block > len(self.mask):
            raise ValueError(f"block = {self.block}: allowed is 1 to {len(self.mask)}, the record's rounds")

    def __repr__(self) -> str:
        return f"Resampled({self._digest()}, block={self.block}, starts={self.starts!r})"

    @property
    def deterministic(self) -> bool:
        """Whether every block that may be drawn is the same."""
        rounds = [self.mask[self._rows(place)] for place in range(self.block)]
        return all(bool((rows == rows[0]).all()) for rows in rounds)

    @property
    def independent_rounds(self) -> bool:
        """Whether blocks have one round, or leave nothing to chance."""
        return self.block == 1 or self.deterministic

    def check(self, clients: int) -> None:
        self._check_columns(clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        sizes = self.mask[: self._places * self._stride].sum(axis=1)
        return int(sizes.min()), int(sizes.max())

    @property
    def _stride(self) -> int:
        """Distance of the rounds in which a block may start."""
        return 1 if self.starts == "any" else self.block

    @property
    def _places(self) -> int:
        """How many starts there are."""
        return len(self.mask) // self._stride

    def _rows(self, round: int) -> np.ndarray:
        """The rows of the record that a round may read, each as likely as the others."""
        return (np.arange(self._places) * self._stride + round % self.block) % len(self.mask)

    def step(self, state: RecordedState, round: int) -> tuple[Tensor, RecordedState]:
        keys = state.keys
        drawn = words(keys.seed, keys.axis, keys.replica_ids, round // self.block) % self._places
        rows = (drawn * self._stride + round % self.block) % len(self.mask)
        return state.mask[rows].to(torch.int8), state

    def inclusion(self, clients: int) -> Inclusion:
        """Compute the moments of a round, where rounds are independent and have one law.

        Raises:
            ValueError: they depend on each other, as blocks of several rounds do, or differ in law; see `marginal`.
        """
        self.check(clients)
        if not self.independent_rounds or len({self._rows(r).tobytes() for r in range(self.block)}) > 1 < self._stride:
            raise ValueError(
                f"participation = Resampled: rounds of a block of {self.block} depend on each other; see marginal"
            )
        return self.marginal(clients, 0)

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        return _means(self.mask[self._rows(round)].sum(axis=0), self._places)

    def stationary(self, clients: int) -> np.ndarray:
        self.check(clients)
        if self.starts != "any" and self.block > 1:
            raise ValueError("participation = Resampled: its rounds differ in law; see expected")
        return self.expected(clients, 0)

    def marginal(self, clients: int, round: int) -> Inclusion:
        self.check(clients)
        rows = self.mask[self._rows(round)].astype(np.int64)
        return Inclusion(self.expected(clients, round), _means(rows.T @ rows, self._places))


def _means(counts: np.ndarray, of: int) -> Any:
    return np.array([Fraction(int(n), of) for n in counts.flat], dtype=object).reshape(counts.shape)
