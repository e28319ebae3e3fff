r"""FedAU's aggregation weights (Algorithm 2): the average participation interval, with a cutoff.

Rounds are numbered from 0. An interval of a client ends with the round in which it takes part, or with the round in
which the interval has lasted ``cutoff`` rounds; a round that is both ends one interval. The first interval begins
with round 0. The weight omega_t of round t is the average of the intervals that have ended by round t-1, and 1 if
there is none. Since intervals follow each other without a gap, it is

    omega_t = (last round in which an interval ended + 1) / (number of intervals that have ended),

which is what this module computes: two integers and one division, where the paper updates a running average.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from .cutoff_geometric import CutoffGeometric
from .weight_arguments import check_cutoff, check_history, check_participants
from .weight_rules import Intervals, LongRun, WeightRule, start

BLOCK = 16_384
"""Clients that advance together: their state stays in the processor's cache."""

TINY = 2.0**-60
"""A number of intervals that divides 0 without a warning, and is lost when 1 is added."""

LARGEST_INTEGER = {np.dtype(np.float32): 2**24, np.dtype(np.float64): 2**53}
"""The largest integer up to which all are numbers of the type."""


@dataclass(frozen=True)
class FedAU(WeightRule):
    """The average of a client's participation intervals so far, none counted as longer than ``cutoff``.

    Args:
        cutoff: K in the paper, the longest interval; ``math.inf`` for none.

    Raises:
        ValueError: the cutoff is neither an integer >= 1 nor infinity.

    Source: FedAU, Algorithm 2.

    >>> history = np.array([0, 0, 0, 1, 0, 1, 0])
    >>> FedAU().batch(history).tolist()  # intervals 4 and 2
    [1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 3.0]
    >>> FedAU(cutoff=2).batch(history).tolist()  # intervals 2, 2 (round 3 is a participation at the cutoff), 2
    [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """

    cutoff: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutoff", check_cutoff(self.cutoff))

    def init(self, shape: tuple[int, ...]) -> Intervals:
        """Return the state before round 0, three numbers a client: no interval yet, and weight 1."""
        return start(shape)

    def weights(self, state: Intervals) -> np.ndarray:
        """The weights of the coming round."""
        return state.weight

    def step(self, state: Intervals, participated: np.ndarray) -> Intervals:
        """The state after one round. Absent clients change too: their running interval gets longer.

        Raises:
            ValueError: an entry is neither 0 nor 1, or the shape is not that of the state.

        >>> rule = FedAU(cutoff=3)
        >>> state = rule.init((2,))
        >>> for participated in ([0, 1], [0, 0], [0, 1]):
        ...     state = rule.step(state, np.array(participated))
        >>> rule.weights(state).tolist(), state.count.tolist(), state.running.tolist()
        ([3.0, 1.5], [1, 2], [0, 0])
        """
        length = state.running + 1
        done = check_participants(participated, length.shape) | (length == self.cutoff)
        count = state.count + done
        # count * weight is the rounds that the complete intervals cover, an integer, whatever the division lost.
        covered = np.where(state.count == 0, 0, np.rint(state.count * state.weight)) + length
        weight = np.where(done, covered / np.maximum(count, 1), state.weight)
        return Intervals(count, np.where(done, 0, length), weight)

    def batch(self, participation: np.ndarray, dtype: DTypeLike = np.float64) -> np.ndarray:
        """The weights of every round, (rounds, ...), for a whole history (rounds, ...).

        The same numbers as `step` gives, to the last bit in float64. Blocks of clients are spread over threads.

        Args:
            participation: 0 and 1; uint8 or bool arrays in one piece are read in place. Row t is round t.
            dtype: np.float64 or np.float32.

        Raises:
            ValueError: an entry is neither 0 nor 1, there is no round, another dtype, or more rounds than the dtype
                can count (2^24 for float32).
        """
        mask, kind = check_history(participation), np.dtype(dtype)
        if kind not in LARGEST_INTEGER:
            raise ValueError(f"dtype = {kind}: allowed are float64 and float32")
        rounds = len(mask)
        if rounds > LARGEST_INTEGER[kind]:
            raise ValueError(f"participation has {rounds} rounds: with {kind} allowed is {LARGEST_INTEGER[kind]}")
        flat = mask.reshape(rounds, -1)
        weights: np.ndarray = np.empty(flat.shape, kind)
        blocks = [slice(i, i + BLOCK) for i in range(0, flat.shape[1], BLOCK)]
        if len(blocks) == 1:
            self._advance(flat, weights)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda block: self._advance(flat[:, block], weights[:, block]), blocks))
        return weights.reshape(mask.shape)

    def _advance(self, mask: np.ndarray, weights: np.ndarray) -> None:
        """Fill ``weights`` (rounds, clients). In-place operations on one block; nothing is allocated in the loop."""
        clients, dtype = mask.shape[1], weights.dtype
        covered, count = np.zeros(clients, dtype), np.full(clients, TINY, dtype)
        done, one = np.empty(clients, bool), np.empty(clients, dtype)
        weights[0] = 1.0
        for t in range(1, len(mask)):
            np.equal(covered, t - self.cutoff, out=done)
            np.logical_or(done, mask[t - 1], out=done)
            np.copyto(one, done)
            np.add(count, one, out=count)
            # covered[done] = t, without a branch: twice as fast
            np.multiply(one, t, out=one)
            np.maximum(covered, one, out=covered)
            np.divide(covered, count, out=weights[t])
            if t < self.cutoff:  # a client without an interval has 0 / TINY here; later there is none
                np.maximum(weights[t], 1.0, out=weights[t])

    def long_run(self, participation_probability: float) -> LongRun:
        """Return the mean interval and 0, the limits of the average of ever more independent intervals."""
        return LongRun(CutoffGeometric(participation_probability, self.cutoff).mean(), 0.0)
