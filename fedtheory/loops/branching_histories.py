"""Runs whose histories branch, followed over the sums of answers, compiled: see ``papers.flics.exact.branching_runs``.

With ``f = further[a]``, the loop replaces, for every round t and answer a, the numpy line ``chance[t + 1, f:] +=
(share[t, :, a] * chance[t]).sum(0)[: sums - f]`` and its like for moments and intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled

Array = np.ndarray[Any, Any]


@compiled
def advance(
    share: Array,
    slope: Array,
    shift: Array,
    noise: Array,
    stray: Array,
    further: Array,
    chance: Array,
    reached: Array,
    first: Array,
    second: Array,
    low: Array,
    high: Array,
) -> None:
    """Fill in the moments of runs before each round after round 0, given the sums of answers.

    Args:
        share: (rounds, states, answers, sums), the probability of who is there and of the answers, given the sums.
        slope, shift, noise, stray: (rounds, coordinates, answers, sums), what the answers do to a run: w goes to
            slope w + shift plus noise of this variance, of at most this size.
        further: (answers,), how many places further the sums are after the answers.
        chance, reached: (rounds + 1, sums), the probability of the sums, and whether any run has them.
        first, second, low, high: (rounds + 1, coordinates, sums), E[1 w], E[1 w^2] and an interval that holds every w.
    """
    rounds, states, answers, sums = share.shape
    for t in range(rounds):
        chance[t + 1], reached[t + 1], first[t + 1], second[t + 1] = 0, False, 0, 0
        low[t + 1], high[t + 1] = np.inf, -np.inf
        for a in range(answers - 1, -1, -1):
            for s in range(states):
                for n in range(sums - further[a]):
                    here, after = share[t, s, a, n], n + further[a]
                    if here == 0 or not reached[t, n]:
                        continue
                    chance[t + 1, after] += here * chance[t, n]
                    reached[t + 1, after] |= here > 0
                    for d in range(slope.shape[1]):
                        by, to = slope[t, d, a, n], shift[t, d, a, n]
                        one, two = first[t, d, n], second[t, d, n]
                        first[t + 1, d, after] += here * (by * one + to * chance[t, n])
                        squares = by * by * two + 2 * by * to * one + (to * to + noise[t, d, a, n]) * chance[t, n]
                        second[t + 1, d, after] += here * squares
                        if not here > 0:  # a probability that rounding has made negative
                            continue
                        ends = by * low[t, d, n] + to, by * high[t, d, n] + to
                        reach = stray[t, d, a, n]
                        low[t + 1, d, after] = min(low[t + 1, d, after], min(ends[0], ends[1]) - reach)
                        high[t + 1, d, after] = max(high[t + 1, d, after], max(ends[0], ends[1]) + reach)
