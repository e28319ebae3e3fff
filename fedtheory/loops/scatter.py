"""Weighted sums of rows, and shares of counts in their row's sum, compiled.

``add_rows`` replaces the torch line ``total.index_add_(0, place, weights[:, None] * rows)``, ``shares`` the line
``(counts / counts.sum(1, keepdim=True)).flatten()[place]``.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled


@compiled
def add_rows(total: np.ndarray, place: np.ndarray, weights: np.ndarray, rows: np.ndarray) -> None:
    """Do total_r += w_p v_p for each row v_p of ``rows`` (P, D), one after the other, with r its ``place``."""
    for p in range(len(rows)):
        r, weight = place[p], weights[p]
        for d in range(rows.shape[1]):
            total[r, d] += weight * rows[p, d]


@compiled
def shares(counts: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the ``counts`` (n, clients) at each flat ``place``, over the sum of its row."""
    clients = counts.shape[1]
    totals, found = np.empty(len(counts)), np.empty(len(place))
    for r in range(len(counts)):
        total = 0
        for i in range(clients):
            total += counts[r, i]
        totals[r] = total
    for p in range(len(place)):
        r = place[p] // clients
        found[p] = counts[r, place[p] - r * clients] / totals[r]
    return found
