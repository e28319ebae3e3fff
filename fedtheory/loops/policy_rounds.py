"""FLICS-OPT's selection along a trace, compiled: every round gives its clients by the lags of the rounds before.

The loop replaces, for every round of planned counts, the Python lines ``wanted, rates = water_fill(p, lag, a, k)`` and
``rates = within(rates, k)`` of `selection.online`, and what they follow from and lead to there. Results are theirs to
the last bit: sums are added from left to right, and the excess over a budget is exact before it is rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled

Array = np.ndarray[Any, Any]


@compiled
def follow(
    a: Array, k: Array, p: Array, update: int, start: float, done: int, lag: Array, sums: Array, rates: Array
) -> None:
    """Fill in the rates of further rounds; ``lag`` and ``sums`` go on from what they were, and are left as they become.

    Args:
        a: (rounds, groups), who is there. k: (rounds,), the budgets. p: (groups,), all positive.
        update: 0 for the mean, 1 as printed, 2 where the start counts as a round.
        start: the estimate before round 1. done: how many rounds were before.
        lag, sums: (groups,), the state; all 0 before round 1, but sums of ``start`` where the start counts.
        rates: (rounds, groups), to be filled in.
    """
    groups = len(p)
    wanted, free, partial = np.empty(groups), np.empty(groups, np.bool_), np.empty(groups + 1)
    for i in range(len(k)):
        t = done + i + 1
        if update == 2:
            for j in range(groups):
                lag[j] = -(sums[j] * ((t - 1) / t))
        elif update == 1 and t <= 2:
            lag[:] = -(start * (t - 1))
        elif update == 1:
            for j in range(groups):
                lag[j] = -(sums[j] * ((t - 1) / (t - 2)))
        fill(p, lag, a[i], k[i], free, wanted, rates[i])
        lower(rates[i], k[i], partial)
        for j in range(groups):
            lag[j] = wanted[j] - rates[i, j]
            if update == 2 or (update == 1 and t > 1):
                sums[j] += rates[i, j]


@compiled
def fill(p: Array, lag: Array, a: Array, k: float, free: Array, wanted: Array, rates: Array) -> None:
    """Fill in ``wanted`` and ``rates`` as `selection.online.water_fill` returns them; ``free`` is scratch."""
    groups = len(p)
    available = behind = weight = 0.0
    for j in range(groups):
        available += a[j]
        behind += lag[j]
        weight += p[j]
    if available <= k:
        for j in range(groups):
            wanted[j], rates[j] = p[j] * k + lag[j], a[j]
        return
    rise, inside = (k - behind) / weight, True
    for j in range(groups):
        wanted[j], free[j] = p[j] * rise + lag[j], True
        inside &= 0 <= wanted[j] <= a[j]
    while not inside:
        over = under = 0.0
        for j in range(groups):
            if free[j] and wanted[j] > a[j]:
                over += wanted[j] - a[j]
            elif free[j] and wanted[j] < 0:
                under -= wanted[j]
        if over == under:
            break
        taken, left = 0.0, 0
        for j in range(groups):
            if free[j] and over > under and not wanted[j] <= a[j]:
                free[j] = False
                if wanted[j] > a[j]:
                    taken += a[j]
            elif free[j] and not over > under and not wanted[j] >= 0:
                free[j] = False
            left += free[j]
        k -= taken
        if left == 0:
            break
        behind = weight = 0.0
        for j in range(groups):
            if free[j]:
                behind += lag[j]
                weight += p[j]
        rise = (k - behind) / weight
        for j in range(groups):
            if free[j]:
                wanted[j] = p[j] * rise + lag[j]
    for j in range(groups):
        wanted[j] = p[j] * rise + lag[j]
        rates[j] = 0.0 if wanted[j] < 0 else (a[j] if wanted[j] > a[j] else wanted[j])


@compiled
def lower(rates: Array, k: float, partial: Array) -> None:
    """Lower the largest rate as `selection.online.within` does; ``partial`` is scratch, one entry more than groups."""
    while True:
        over = excess(rates, k, partial)
        if not over > 0:
            return
        largest = 0
        for j in range(1, len(rates)):
            if rates[j] > rates[largest]:
                largest = j
        lowered, below = rates[largest] - over, np.nextafter(rates[largest], 0.0)
        if below < lowered:
            lowered = below
        rates[largest] = lowered if lowered > 0 else 0.0


@compiled
def excess(rates: Array, k: float, partial: Array) -> float:
    """Compute the sum of the rates minus k, rounded once: `math.fsum`, by Shewchuk's partial sums."""
    count = 0
    for j in range(len(rates) + 1):
        term, kept = (rates[j] if j < len(rates) else -k), 0
        for i in range(count):
            total, error = two_sum(term, partial[i])
            if error != 0:
                partial[kept] = error
                kept += 1
            term = total
        count = kept
        if term != 0:
            partial[count] = term
            count += 1
    total = error = 0.0
    while count > 0 and error == 0:
        count -= 1
        total, error = two_sum(total, partial[count])
    if count > 0 and (error < 0) == (partial[count - 1] < 0) and error != 0:  # half-way, and more of its sign follows
        further = total + 2 * error
        if further - total == 2 * error:
            total = further
    return total


@compiled
def two_sum(x: float, y: float) -> tuple[float, float]:
    """Compute the sum of two floats, rounded, and what is left of it: together exact."""
    if abs(x) < abs(y):
        x, y = y, x
    total = x + y
    return total, y - (total - x)
