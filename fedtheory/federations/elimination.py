"""Elimination in Fractions."""

from __future__ import annotations

import numpy as np


def positive_definite(matrix: np.ndarray) -> bool:
    """Whether elimination in Fractions meets pivots > 0 only; the matrix is symmetric."""
    rows = matrix.copy()
    for i in range(len(rows)):
        if not rows[i, i] > 0:
            return False
        for j in range(i + 1, len(rows)):
            rows[j] = rows[j] - rows[i] * (rows[j, i] / rows[i, i])
    return True


def solve_exactly(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a regular linear system in Fractions, by elimination (simulations must not need python-flint); ``right`` is
    a vector, or a matrix of them as columns."""
    rows = np.column_stack([matrix, right])
    size = len(right)
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j, i] != 0)
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] = rows[i] / rows[i, i]
        for j in range(size):
            if j != i and rows[j, i] != 0:
                rows[j] = rows[j] - rows[j, i] * rows[i]
    return rows[:, size:] if right.ndim == 2 else rows[:, -1]
