"""Statistics of observed values over the rounds, compiled: loops over the replicas.

They replace the torch lines ``x.isfinite().all(1)``, ``sums + before``, ``torch.minimum(least, value)``,
``torch.maximum(most, value)`` and ``torch.where(finite | (diverged >= 0), diverged, round)``.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled


@compiled
def find_finite(x: np.ndarray, finite: np.ndarray) -> None:
    """Find the rows of ``x`` (replicas, D) whose numbers are all finite."""
    for r in range(len(x)):
        infinite = 0
        for d in range(x.shape[1]):
            infinite += not abs(x[r, d]) < np.inf  # NaN is not
        finite[r] = infinite == 0


@compiled
def follow(
    value: np.ndarray,
    before: np.ndarray,
    sums: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    found: np.ndarray,
    finite: np.ndarray,
) -> None:
    """Put the new sums, least and most values into ``found`` (3, replicas).

    The sums are those with the values ``before``; the least and the most are those with the new ``value``. ``finite``
    stays true where the sum with the new value is finite. NaN is never forgotten.
    """
    for r in range(len(value)):
        v, low, high, total = value[r], least[r], most[r], sums[r] + before[r]
        found[0, r] = total
        found[1, r] = low if low < v or low != low else v
        found[2, r] = high if high > v or high != high else v
        finite[r] = finite[r] and abs(total + v) < np.inf


@compiled
def follow_rounds(
    values: np.ndarray,
    current: np.ndarray,
    sums: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    finite: np.ndarray,
    recorded: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Follow the statistics over several rounds, ``values`` and ``finite`` (rounds, replicas), in place.

    After each round that is ``recorded``, sorted, the present statistics go into ``rows`` (recorded, 4, replicas).
    """
    found = np.empty((3, len(current)))
    row = 0
    for t in range(len(values)):
        follow(values[t], current, sums, least, most, found, finite[t])
        sums[:], least[:], most[:] = found[0], found[1], found[2]
        current[:] = values[t]
        if row < len(recorded) and recorded[row] == t:
            rows[row, 0], rows[row, 1:] = values[t], found
            row += 1


@compiled
def find_diverged(finite: np.ndarray, round: int, diverged: np.ndarray) -> None:
    """Find the round in which a replica is first seen not to be ``finite`` (rounds, replicas).

    The first of the rounds is ``round``. ``diverged`` changes in place; it is -1 until then.
    """
    for t in range(len(finite)):
        for r in range(finite.shape[1]):
            if diverged[r] < 0 and not finite[t, r]:
                diverged[r] = round + t
