"""Second moments as vectors of the entries on and above the diagonal: n = s (s + 1)/2 numbers for a state of s.

E z z^T is symmetric, so its entries Z_ij with i <= j, row by row, are all that a recursion needs: a quarter of the
operator on all s^2 entries. The last of them is E 1 1 = 1.
"""

from __future__ import annotations

from functools import cache
from math import isqrt

import numpy as np

from ..claims.balls import Ball, ball_matrix, holds_balls
from .linear_rounds import LinearRound


@cache
def triangle(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the entries with i <= j, in their order, each (n,)."""
    return np.triu_indices(size)


SMALL = 8
"""The largest state, in floats, whose operator is packed from the one on all entries, which takes fewer calls."""


def packed(matrix: np.ndarray) -> np.ndarray:
    """Pack (..., s, s) into its entries (i, j) with i <= j, (..., n).

    >>> packed(np.array([[1, 2], [2, 3]])).tolist()
    [1, 2, 3]
    """
    rows, columns = triangle(matrix.shape[-1])
    return matrix[..., rows, columns]


def unpacked(vector: np.ndarray) -> np.ndarray:
    """Unpack (..., n) into symmetric matrices (..., s, s).

    >>> unpacked(np.array([1, 2, 3])).tolist()
    [[1, 2], [2, 3]]
    """
    size = isqrt(2 * vector.shape[-1])  # s^2 <= 2 n < (s + 1)^2
    rows, columns = triangle(size)
    matrix = np.empty((*vector.shape[:-1], size, size), dtype=vector.dtype)
    matrix[..., rows, columns], matrix[..., columns, rows] = vector, vector
    return matrix


def functional(form: np.ndarray) -> np.ndarray:
    """Return w (..., n) with w . packed(Z) = sum_ij A_ij Z_ij for the form A (..., s, s) and every symmetric Z.

    >>> functional(np.array([[1, 2], [2, 3]])).tolist()
    [1, 4, 3]
    """
    rows, columns = triangle(form.shape[-1])
    both = packed(form) + packed(form.swapaxes(-1, -2))
    both[..., rows == columns] = packed(form)[..., rows == columns]
    return both


def symmetric_moment_map(round: LinearRound) -> np.ndarray:
    """Return the map packed(Z) -> packed(Z') of one round, Z = E z z^T, (*blocks, n, n).

    The last row is exactly (0, ..., 0, 1).
    """
    increment = symmetric_increment(round)
    return np.eye(increment.shape[-1], dtype=int).astype(increment.dtype) + increment


def symmetric_increment(round: LinearRound) -> np.ndarray:
    """Return the map packed(Z) -> packed(E z' z'^T - Z), (*blocks, n, n).

    With the factors L_c, R_c of the round, the row (i, j) is that of sum_kl sum_c L_c,ik R_c,jl Z_kl, where Z_kl and
    Z_lk are one number.
    """
    size = round.size
    rows, columns = triangle(size)
    apart = rows != columns
    if size <= SMALL and round.increments.ndim == 3 and round.increments.dtype != object:
        entries = round.square_increment().reshape(size, size, size, size)[rows, columns]
        folded = entries[:, rows, columns]
        folded[:, apart] += entries[:, columns[apart], rows[apart]]
        return folded
    left, right = (np.moveaxis(each, 0, -3) for each in round.factors())  # (*blocks, factors, s, s)
    if holds_balls(round.increments):
        pairs = zip(left.reshape(-1, *left.shape[-3:]), right.reshape(-1, *left.shape[-3:]), strict=True)
        operator = np.array([_folded_in_balls(*pair) for pair in pairs], dtype=object)
        operator = operator.reshape(*left.shape[:-3], *operator.shape[1:])
        operator[..., -1] = operator[..., -1] + packed(round.added_noise())
        return operator
    of_row = []
    for i in range(size):
        later = right[..., i:, :].reshape(*right.shape[:-2], -1)  # (*blocks, factors, (j, l))
        entries = (left[..., i, :].swapaxes(-1, -2) @ later).reshape(*left.shape[:-3], size, size - i, size)
        entries = entries.swapaxes(-3, -2)  # (*blocks, j, k, l)
        folded = entries[..., rows, columns]
        folded[..., apart] = folded[..., apart] + entries[..., columns[apart], rows[apart]]
        of_row.append(folded)
    operator = np.concatenate(of_row, axis=-2)
    operator[..., -1] = operator[..., -1] + packed(round.added_noise())
    return operator


def _folded_in_balls(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Fold the operator without noise, from the factors (factors, s, s) of one block, by one product of matrices of
    balls."""
    size = left.shape[-1]
    rows, columns = triangle(size)
    one, other = (ball_matrix(each.reshape(len(each), -1)) for each in (left, right))
    entries = np.array((one.transpose() * other).entries(), dtype=object).reshape([size] * 4)  # i, k, j, l
    folded = entries.transpose(0, 2, 1, 3)[rows, columns]
    both = folded[:, rows, columns]
    apart = rows != columns
    both[:, apart] = both[:, apart] + folded[:, columns[apart], rows[apart]]
    return np.frompyfunc(Ball, 1, 1)(both)
