"""Rows added up, as a compiled loop."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled


@compiled
def add_rows(total: np.ndarray, place: np.ndarray, weights: np.ndarray, rows: np.ndarray) -> None:
    """total_r += w_p v_p for each row v_p of ``rows`` (P, D), one after the other, with r its ``place``."""
    for p in range(len(rows)):
        r, weight = place[p], weights[p]
        for d in range(rows.shape[1]):
            total[r, d] += weight * rows[p, d]
