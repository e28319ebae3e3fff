"""The availability processes of FLICS-OPT, Section IV-B: how many clients of each group are there in a round.

Each gives traces, and its law for groups of known sizes, with which `fedtheory.participation` chooses clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from ..rationals import checked_count, checked_seed
from .inputs import LARGEST_COUNT


def _numbers(name: str, values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or len(array) == 0 or not ((array >= 0) & (array <= LARGEST_COUNT)).all():
        raise ValueError(f"{name} = {list(values)}: allowed is one number from 0 to {LARGEST_COUNT} a group")
    return array


def _check_rounds(rounds: int) -> None:
    checked_count("rounds", rounds, allowed="a whole number >= 1")


@dataclass(frozen=True)
class UniformAvailability:
    """A_j(t) uniform on the whole numbers lowest_j, ..., highest_j, independent over groups and rounds.

    >>> UniformAvailability([2, 5], [2, 5]).trace(rounds=2, seed=0).tolist()
    [[2, 5], [2, 5]]
    """

    lowest: Sequence[int]
    highest: Sequence[int]

    def trace(self, rounds: int, seed: int) -> np.ndarray:
        """(rounds, groups) counts; a longer trace of the same seed begins with a shorter one."""
        _check_rounds(rounds)
        low, high = _numbers("lowest", self.lowest), _numbers("highest", self.highest)
        whole = all((bound == np.floor(bound)).all() for bound in (low, high))
        if low.shape != high.shape or not whole or (low > high).any():
            raise ValueError(
                f"lowest = {list(self.lowest)}, highest = {list(self.highest)}: allowed are whole numbers with "
                "lowest <= highest, group by group"
            )
        draws = np.random.default_rng(checked_seed(seed)).random((rounds, len(low)))
        return np.minimum(low + np.floor(draws * (high - low + 1)), high).astype(np.int64)

    def chances(self, sizes: Sequence[int] | np.ndarray) -> np.ndarray:
        """P(A_j = a), (groups, largest size + 1), for groups of these sizes, size_j >= highest_j.

        >>> UniformAvailability([0, 1], [1, 1]).chances([2, 1]).tolist()
        [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
        """
        number = np.arange(max(sizes) + 1)
        low, high = np.array(self.lowest)[:, None], np.array(self.highest)[:, None]
        return ((low <= number) & (number <= high)) / (high - low + 1)


@dataclass(frozen=True)
class PoissonAvailability:
    """A_j(t) Poisson with mean mean_j, independent over groups and rounds.

    >>> PoissonAvailability([0, 3]).trace(rounds=4, seed=0)[:, 0].tolist()
    [0, 0, 0, 0]
    """

    mean: Sequence[float]

    def trace(self, rounds: int, seed: int) -> np.ndarray:
        """(rounds, groups) counts; a longer trace of the same seed begins with a shorter one."""
        _check_rounds(rounds)
        mean = _numbers("mean", self.mean)
        return np.random.default_rng(checked_seed(seed)).poisson(mean, (rounds, len(mean)))

    def chances(self, sizes: Sequence[int] | np.ndarray) -> np.ndarray:
        """P(min(A_j, size_j) = a), (groups, largest size + 1), for sizes >= 1: a group of known size caps the law.

        >>> PoissonAvailability([1]).chances([2]).round(6).tolist()  # e^-1, e^-1, 1 - 2 e^-1
        [[0.367879, 0.367879, 0.264241]]
        """
        number, mean, size = np.arange(max(sizes) + 1), np.array(self.mean)[:, None], np.array(sizes)[:, None]
        log = scipy.special.xlogy(number, mean) - scipy.special.gammaln(number + 1) - mean
        below = np.where(number < size, np.exp(log), 0.0)
        return np.where(number == size, scipy.special.gammainc(size, mean), below)  # P(Poisson >= size)


@dataclass(frozen=True)
class CyclicAvailability:
    """A_j(t) Poisson with mean day_j in even rounds and night_j in odd ones.

    Rounds count from 1, so a trace starts at night.

    >>> CyclicAvailability(day=[0], night=[1000]).trace(rounds=3, seed=0)[:, 0].tolist()[1]
    0
    """

    day: Sequence[float]
    night: Sequence[float]

    def trace(self, rounds: int, seed: int) -> np.ndarray:
        """(rounds, groups) counts; a longer trace of the same seed begins with a shorter one."""
        _check_rounds(rounds)
        day, night = _numbers("day", self.day), _numbers("night", self.night)
        if day.shape != night.shape:
            raise ValueError(f"day has {len(day)} groups, night {len(night)}: allowed is one number a group in both")
        even = np.arange(1, rounds + 1) % 2 == 0
        return np.random.default_rng(checked_seed(seed)).poisson(np.where(even[:, None], day, night))
