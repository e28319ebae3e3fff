"""Errors over as many as 10^6 rounds, each the least of some lines at the error before, compiled.

The loop replaces, for every round of kind k, the numpy line ``error = (slopes[k] * error + heights[k]).min()``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled

Array = np.ndarray[Any, Any]


@compiled
def least_of_lines(slopes: Array, heights: Array, start: float, asked: Array, last: Array) -> tuple[Array, Array]:
    """Return the errors after ``asked`` rounds, which ascend, and for each kind of round the error before the last one
    that was followed: rounds are, until errors are those of a period ago.

    Args:
        slopes, heights: (kinds, lines): a round of kind k leads from e to the least of slope e + height. Rounds 0, I,
            2I, ... are of the first kind, the others of the last one.
        last: (I,), any NaN: what is there after the rounds of a period.
    """
    kinds, period = len(slopes), len(last)
    errors, entering = np.empty(len(asked)), np.full(kinds, start)
    current, answered = start, 0
    for r in range(asked[-1]):
        kind, place = min(r % period, kinds - 1), r % period
        entering[kind] = current
        least = np.inf
        for i in range(slopes.shape[1]):
            least = min(least, slopes[kind, i] * current + heights[kind, i])
        current = least
        if r + 1 == asked[answered]:
            errors[answered] = current
            answered += 1
        if current == last[place]:  # as a period ago, and so from here on
            for i in range(answered, len(asked)):
                errors[i] = last[(asked[i] - 1) % period]
            break
        last[place] = current
    return errors, entering
