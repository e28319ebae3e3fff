"""Deterministic runs with piecewise linear gradients in floats, compiled: see ``kinked_runs.follow``.

The loop replaces, for every local step, the numpy lines ``piece = np.searchsorted(breakpoints, y)`` and ``y =
kept[piece] * y - drift[piece]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled

Array = np.ndarray[Any, Any]

ENDED, TURNED, LEFT = 0, 1, 2
"""Why cycles end: all is found or enough were followed; the pattern has changed; the run leaves the range of floats."""


@compiled
def piece_of(breakpoints: Array, first: int, last: int, y: float) -> int:
    """Count the breakpoints from ``first`` to before ``last``, which ascend, that are below y."""
    piece = 0
    while first + piece < last and breakpoints[first + piece] < y:
        piece += 1
    return piece


@compiled
def cycles(
    rounds: Array,
    steps: Array,
    weights: Array,
    starts: Array,
    breakpoints: Array,
    kept: Array,
    drift: Array,
    mean_breakpoints: Array,
    slopes: Array,
    intercepts: Array,
    pattern: Array,
    turns: bool,
    most: int,
    horizons: Array,
    found: Array,
    state: Array,
    counts: Array,
) -> int:
    """Follow cycles of rounds, at most ``most``, until the pattern is not ``pattern`` (unless not ``turns``).

    Args:
        rounds: (n + 1,), the parts of the rounds of a cycle: those of round i are from ``rounds[i]`` to before the
            next; ``steps`` and ``weights`` are theirs.
        starts: (parts + 1,), where a part's breakpoints begin; its pieces begin one further for each part before it.
            ``kept`` and ``drift``: by piece, a step leads from y to kept y - drift.
        mean_breakpoints, slopes, intercepts: the gradient of the objective.
        pattern: that of the last cycle, and is made that of the new one.
        horizons, found: (H,) and (H, 2), what is asked for, and x and the sum of squares there.
        state: x and the sum of squares of the gradient before the next cycle; counts: rounds, horizons found and
            cycles so far. Both are kept up to date; a cycle where the pattern has changed is not gone yet.

    Returns:
        ``ENDED``, ``TURNED`` or ``LEFT``.
    """
    n = len(rounds) - 1
    points = np.empty(n + 1)
    while counts[2] < most:
        points[0] = state[0]
        changed, place = False, 0
        for i in range(n):
            of_mean = piece_of(mean_breakpoints, 0, len(mean_breakpoints), points[i])
            end = points[i] * 0
            for part in range(rounds[i], rounds[i + 1]):
                y = points[i]
                for _ in range(steps[part]):
                    piece = piece_of(breakpoints, starts[part], starts[part + 1], y)
                    changed |= pattern[place] != piece
                    pattern[place] = piece
                    place += 1
                    at = starts[part] + part + piece
                    y = kept[at] * y - drift[at]
                end = end + weights[part] * y
            changed |= pattern[place] != of_mean
            pattern[place] = of_mean
            place += 1
            points[i + 1] = end
        if turns and changed:
            return TURNED
        for i in range(n):
            while counts[1] < len(horizons) and horizons[counts[1]] == counts[0]:
                found[counts[1], 0], found[counts[1], 1] = points[i], state[1]
                counts[1] += 1
            if counts[1] == len(horizons):
                return ENDED
            of_mean = piece_of(mean_breakpoints, 0, len(mean_breakpoints), points[i])
            value = intercepts[of_mean] + slopes[of_mean] * points[i]
            state[1] += value * value
            counts[0] += 1
        state[0] = points[n]
        counts[2] += 1
        if not np.isfinite(state[0]):
            return LEFT
    return ENDED
