"""Rows that are replaced in their place, with the sum of all, compiled.

``replace_rows`` replaces the torch lines ``table[replica, client] = rows`` and ``total = table.sum(1)``.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled


@compiled
def replace_rows(
    table: np.ndarray,
    total: np.ndarray,
    replaced: np.ndarray,
    replica: np.ndarray,
    client: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Do ``table`` (replicas, M, D) [r, i] = v_p for each row v_p of ``rows`` (P, D), and follow the sum over i.

    ``total`` (replicas, 2, D) float64 has the sum, and what its rounding has lost. ``replaced`` (replicas,) counts the
    rows that were replaced since the sum was last computed from all rows, which it is again when there are M of them.
    """
    replicas, clients, dimension = table.shape
    for p in range(len(rows)):
        r, i = replica[p], client[p]
        for d in range(dimension):
            add(total, r, d, np.float64(rows[p, d]))
            add(total, r, d, -np.float64(table[r, i, d]))
            table[r, i, d] = rows[p, d]
        replaced[r] += 1
    for r in range(replicas):
        if replaced[r] >= clients:
            replaced[r] = 0
            total[r] = 0.0
            for i in range(clients):
                for d in range(dimension):
                    add(total, r, d, np.float64(table[r, i, d]))


@compiled
def add(total: np.ndarray, r: int, d: int, value: float) -> None:
    """Add ``value`` to the sum ``total[r, 0, d]``, and what is lost in that to ``total[r, 1, d]`` (Knuth's TwoSum)."""
    before = total[r, 0, d]
    after = before + value
    added = after - before
    total[r, 0, d] = after
    total[r, 1, d] += (before - (after - added)) + (value - added)
