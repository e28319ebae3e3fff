r"""Law of FedAU's weights (Algorithm 2), for clients that take part independently.

In Fractions, and over few rounds in floats, it is followed round by round. In floats over many rounds it comes from its
generating functions (``fedtheory.weights``). No formula of the paper enters: these are what its formulas are compared
with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import truediv
from typing import Any

import numpy as np

from ....weights import weight_moments
from .weighted_update_rounds import Row, Unfollowed, longest_interval, mean, mean_of, total

LONGEST_EXACT = 300
"""Largest number of rounds followed in Fractions, which have a number for each (intervals ended, rounds covered)."""

SHORT = 32
"""Number of rounds followed in floats too: generating functions are off by 1e-12, which weights near 1 would notice."""

LONGEST = 10**7
"""Largest number of rounds followed in floats, unless all weights are 1."""

LONGEST_INTERVAL = 10**7
"""The largest cutoff over whose values an interval's moments are summed."""


@dataclass(frozen=True)
class RoundMoments:
    """Moments of a client's weight omega in one round, where M is the number of its intervals that have ended.

    Attributes:
        initial: P(M = 0); the weight is then 1.
        mean, mean_square: E[omega; M >= 1] and E[omega^2; M >= 1].
    """

    initial: Any
    mean: Any
    mean_square: Any

    def squared_distance(self, scale: Any, centre: Any, given_an_interval: bool = False) -> Any:
        """Compute E[(scale * omega - centre)^2], if asked for given M >= 1.

        Raises:
            ZeroDivisionError: given M >= 1, where M = 0 for certain.
        """
        later = scale**2 * self.mean_square - 2 * scale * centre * self.mean + centre**2 * (1 - self.initial)
        return later / (1 - self.initial) if given_an_interval else later + self.initial * (scale - centre) ** 2


@lru_cache(maxsize=64, typed=True)  # 1/2 and 0.5 are one key otherwise
def round_moments(probability: Any, cutoff: int | float, rounds: int) -> tuple[RoundMoments, ...]:
    """The moments in rounds 0 to rounds-1, of a Fraction or a float.

    Raises:
        Unfollowed: there are more than ``LONGEST_EXACT``.

    >>> [str(m.squared_distance(Fraction(1, 2), Fraction(1))) for m in round_moments(Fraction(1, 2), 2, 4)]
    ['1/4', '1/4', '1/8', '3/32']
    """
    exact = isinstance(probability, Fraction)
    number, over = (Fraction, Fraction) if exact else (float, truediv)
    if rounds > LONGEST_EXACT:
        raise Unfollowed(f"rounds = {rounds}: weights are followed in Fractions over at most {LONGEST_EXACT}")
    # Chances in round t are whole multiples of denominator^-t: by (intervals ended, rounds that they cover).
    present, denominator = (probability.numerator, probability.denominator) if exact else (probability, 1)
    chances, unit, found = {(0, 0): 1}, 1, [RoundMoments(number(1), number(0), number(0))]
    for t in range(1, rounds):
        following: dict[tuple[int, int], Any] = {}
        for (count, covered), chance in chances.items():
            ended = denominator if t - covered == cutoff else present
            if ended:
                following[count + 1, t] = following.get((count + 1, t), 0) + ended * chance
            if ended < denominator:
                following[count, covered] = (denominator - ended) * chance
        chances, unit = following, unit * denominator
        found.append(_summed(chances, unit, over))
    return tuple(found)


def _summed(chances: Mapping[tuple[int, int], Any], unit: int, over: Callable[[Any, int], Any]) -> RoundMoments:
    sums: dict[int, tuple[Any, Any]] = {}
    for (count, covered), chance in chances.items():
        one, two = sums.get(count, (0, 0))
        sums[count] = one + covered * chance, two + covered**2 * chance
    ended = [(count, *both) for count, both in sums.items() if count]
    return RoundMoments(
        over(chances.get((0, 0), 0), unit),
        over(sum(over(one, count) for count, one, _ in ended), unit),
        over(sum(over(two, count**2) for count, _, two in ended), unit),
    )


# Intervals ------------------------------------------------------------------------------------------------------------


def interval_moments(probability: Any, cutoff: int) -> tuple[Any, Any]:
    """E[S] and Var[S] by definition: S = k < K with probability p (1-p)^(k-1), else S = K; of a Fraction or a float.

    Raises:
        Unfollowed: K is larger than ``LONGEST_INTERVAL``.

    >>> [str(moment) for moment in interval_moments(Fraction(1, 2), 2)], interval_moments(0.5, 2)
    (['3/2', '1/4'], (1.5, 0.25))
    """
    if cutoff > LONGEST_INTERVAL:
        raise Unfollowed(f"cutoff = {cutoff}: intervals are summed up to {LONGEST_INTERVAL}")
    if isinstance(probability, Fraction):
        return _exact_interval(probability, cutoff)
    if probability == 1.0 or cutoff == 1:
        return 1.0, 0.0
    k = np.arange(1.0, cutoff + 1)
    chances = np.exp((k - 1) * math.log1p(-probability)) * np.where(k < cutoff, probability, 1.0)
    mean_ = float(chances @ k)
    return mean_, float(chances @ (k - mean_) ** 2)


@lru_cache(maxsize=64)
def _exact_interval(probability: Fraction, cutoff: int) -> tuple[Fraction, Fraction]:
    chance, mean_, mean_square = Fraction(1), Fraction(0), Fraction(0)
    for k in range(1, cutoff):
        mean_ += k * probability * chance
        mean_square += k**2 * probability * chance
        chance *= 1 - probability
    mean_, mean_square = mean_ + cutoff * chance, mean_square + cutoff**2 * chance
    return mean_, mean_square - mean_**2


def long_run_bias(probability: Any, cutoff: int) -> Any:
    """(p E[S] - 1)^2; in floats (1 - p)^(2K), where that difference would have lost its digits."""
    if isinstance(probability, Fraction):
        return (probability * interval_moments(probability, cutoff)[0] - 1) ** 2
    return absent(probability, 2 * cutoff)


def absent(probability: float, rounds: float) -> float:
    """(1-p)^rounds."""
    return math.exp(rounds * math.log1p(-probability)) if probability < 1 else float(rounds == 0)


# One round ------------------------------------------------------------------------------------------------------------


def squared_distance(
    probability: Any, cutoff: int | float, round: int, scale: Any, centre: Any, given_an_interval: bool
) -> Any:
    """E[(scale * omega - centre)^2] of one client in this round, or the same given that an interval has ended before.

    Raises:
        ValueError: that is given, and none can have ended.

    >>> half = Fraction(1, 2)
    >>> squared_distance(half, 2, 3, half, 1, False), round(squared_distance(0.5, 2, 3, 0.5, 1.0, False), 12)
    (Fraction(3, 32), 0.09375)
    """
    if isinstance(probability, Fraction):
        try:
            moments = round_moments(probability, cutoff, round + 1)[-1]
            return moments.squared_distance(scale, centre, given_an_interval)
        except ZeroDivisionError:
            raise ValueError("rounds: no interval has ended before the last round, so nothing is given then") from None
    weight, variance = 1.0, 0.0
    if not certain(probability, cutoff):
        moments = _followed((probability,), cutoff, round + 1)
        weight, variance = float(moments.mean[0, -1]), float(moments.variance[0, -1])
    overall = scale**2 * variance + (scale * weight - centre) ** 2
    initial = absent(probability, round) if round < cutoff else 0.0
    if not given_an_interval or initial == 0.0:
        return overall
    return math.inf if initial == 1.0 else (overall - initial * (scale - centre) ** 2) / (1 - initial)


def certain(probability: Any, cutoff: float) -> bool:
    """Whether every weight is 1."""
    return probability == 1 or cutoff == 1


def _followed(probabilities: Sequence[float], cutoff: int | float, rounds: int) -> Any:
    if rounds > LONGEST:
        raise Unfollowed(f"rounds = {rounds}: weights are followed over at most {LONGEST}")
    return weight_moments(probabilities, cutoff, rounds)


# Averages and extremes over rounds ------------------------------------------------------------------------------------


def average_error(probabilities: Row, cutoff: int | float, horizons: Sequence[int]) -> list[Any]:
    """Compute the mean over clients and rounds t < T of E[(p_n omega_t^n - 1)^2], for each horizon T.

    >>> average_error((Fraction(1, 2),), 2, [1, 4]), average_error((0.5,), 2, [4])
    ([Fraction(1, 4), Fraction(23, 128)], [0.1796875])
    """
    return _averages(probabilities, cutoff, horizons, lambda p, m: m.squared_distance(p, 1), "error")


def average_scale(probabilities: Row, cutoff: int | float, horizons: Sequence[int]) -> list[Any]:
    """Compute the mean over clients and rounds t < T of E[p_n (omega_t^n)^2], for each horizon T.

    >>> average_scale((Fraction(1, 2),), 2, [1, 3])  # 1/2, 1/2, and (1 + 4)/2 1/2
    [Fraction(1, 2), Fraction(3, 4)]
    """
    return _averages(probabilities, cutoff, horizons, lambda p, m: p * (m.initial + m.mean_square), "scale")


def _averages(probabilities: Row, cutoff: int | float, horizons: Sequence[int], followed: Any, name: str) -> list[Any]:
    if isinstance(probabilities[0], Fraction) or max(horizons) <= SHORT:
        rows = [[followed(p, m) for m in round_moments(p, cutoff, max(horizons))] for p in probabilities]
        return [mean([total(row[:horizon]) / horizon for row in rows]) for horizon in horizons]
    constant = {"error": lambda p: (p - 1) ** 2, "scale": lambda p: p}[name]
    random = [p for p in probabilities if not certain(p, cutoff)]
    sums = np.zeros(len(horizons))
    if random:
        by_round = getattr(_followed(random, cutoff, max(horizons)), name).sum(0)
        sums = np.array([by_round[:horizon].mean() for horizon in horizons])
    always = sum(constant(p) for p in probabilities if certain(p, cutoff))
    return [float((value + always) / len(probabilities)) for value in sums]


def largest_error(probabilities: Row, cutoff: int | float, rounds: int) -> Any:
    """The least number that max_t (1/N) sum_n (p_n omega_t^n - 1)^2 never exceeds under Algorithm 2.

    In round t >= 1 the weight of a client with p < 1 is at least 1, which it is if the client always took part, and at
    most m = min(K, t), which it is if it was away before; the other clients' weights are independent of it. As
    (p omega - 1)^2 is convex in omega, it is at most max((1 - p)^2, (p m - 1)^2), the more the larger m is.

    >>> largest_error((Fraction(9, 10), Fraction(1)), 5, 3), largest_error((Fraction(9, 10),), 1, 99)
    (Fraction(8, 25), Fraction(1, 100))
    """
    longest = longest_interval(cutoff, rounds)
    return mean([max((p - 1) ** 2, (p * (1 if p == 1 else longest) - 1) ** 2) for p in probabilities])


def largest_scale(probabilities: Row, cutoff: int | float, rounds: int) -> Any:
    """The least number that Q = max_t (1/N) sum_n p_n omega_n^2 never exceeds under Algorithm 2; see
    ``fedtheory.weights.largest_scale``.

    >>> largest_scale((Fraction(1, 2), Fraction(1)), 3, 10)
    Fraction(11, 4)
    """
    longest = longest_interval(cutoff, rounds)
    return mean([p * (1 if p == 1 else longest) ** 2 for p in probabilities])


@dataclass(frozen=True)
class GivenSummary:
    """Summary of given weights over some rounds, as claims ask for it.

    Attributes:
        error, scale: the means over clients and rounds of (p omega - 1)^2 and of p omega^2.
        largest_error, largest_scale: the largest means over clients in a round.
    """

    error: Any
    scale: Any
    largest_error: Any
    largest_scale: Any


def given_summary(probabilities: Row, rows: Sequence[Row], rounds: int) -> GivenSummary:
    """Summarise rows of given weights, which repeat in a cycle, over so many rounds.

    >>> given_summary((Fraction(1, 2),), ((Fraction(2),), (Fraction(4),)), 3)
    GivenSummary(error=Fraction(1, 3), scale=Fraction(4, 1), largest_error=Fraction(1, 1), largest_scale=Fraction(8, 1))
    """
    return given_summaries(probabilities, rows, [rounds])[0]


def given_summaries(probabilities: Row, rows: Sequence[Row], horizons: Sequence[int]) -> list[GivenSummary]:
    """Summarise rows of given weights over each of some numbers of rounds; see ``given_summary``."""
    pairs = [list(zip(probabilities, row, strict=True)) for row in rows]
    errors = [mean([(p * w - 1) ** 2 for p, w in row]) for row in pairs]
    scales = [mean([p * w**2 for p, w in row]) for row in pairs]
    found = []
    for rounds in horizons:
        cycles, rest = divmod(rounds, len(rows))
        counts = [cycles + (i < rest) for i in range(len(rows))]
        error, scale = (mean_of(counts, values) / rounds for values in (errors, scales))
        found.append(GivenSummary(error, scale, max(errors[:rounds]), max(scales[:rounds])))
    return found
