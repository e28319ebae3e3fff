"""Exact decision whether symmetric matrices of rationals are positive semidefinite."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np


def is_semidefinite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix of Fractions, (n, n), is positive semidefinite: all pivots of L D L^T are >= 0, and a
    pivot of 0 has a row of zeros.

    Elimination without fractions: every division below is exact (Bareiss 1968).

    >>> is_semidefinite(np.array([[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]]))
    True
    >>> is_semidefinite(np.array([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(5)]]))
    False
    """
    whole = lcm(1, *(Fraction(entry).denominator for entry in matrix.flat))
    rows = [[int(entry * whole) for entry in row] for row in matrix]
    if any(rows[i][j] != rows[j][i] for i in range(len(rows)) for j in range(i)):
        raise ValueError("matrix: allowed is a symmetric one")
    before = 1
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][k:])):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(rows)):
            factor = rows[i][k]
            for j in range(k + 1, i + 1):
                rows[i][j] = (rows[i][j] * pivot - factor * rows[j][k]) // before
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, i):
                rows[j][i] = rows[i][j]
        before = pivot
    return True
