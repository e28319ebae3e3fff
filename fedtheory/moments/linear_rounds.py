"""A round as a random linear map of a lifted state: what first and second moments need of it.

The state z holds the model's error y = x - x*, whatever the algorithm remembers, and a last entry 1. A round is

    z' = z + sum_a u_a P_a z + sum_s (sum_a u_a L_sa) n_s,

with random numbers u_a (u_0 = 1 for what is certain; the others are weights and indicators of clients) that do not
depend on the state, and the independent noises n_s, of mean 0 and covariance N_s, of clients or of the server. So

    E z' = E z + sum_a E[u_a] P_a E z,
    E z' z'^T = Z + P Z + Z P^T + sum_ab E[u_a u_b] (P_a Z P_b^T + sum_s L_sa N_s L_sb^T),
        Z = E z z^T,  P = sum_a E[u_a] P_a.

The maps are kept as increments P_a, not as I + P_a: where steps are small, the sum would lose their digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isqrt

import numpy as np

from ..claims.balls import Ball, ball, ball_matrix, fractions, holds_balls, matrix_product, whole_factors


class NotClosed(ValueError):
    """Error of a round whose state's first and second moments do not determine those of the next one."""


@dataclass(frozen=True)
class Noise:
    """One source of noise, and where it goes.

    Attributes:
        covariance: (*blocks, D, D), N_s.
        factors: the numbers a whose L_sa is not 0, distinct.
        loads: (len(factors), size, D), their L_sa.
    """

    covariance: np.ndarray
    factors: Sequence[int]
    loads: np.ndarray


@dataclass(frozen=True)
class LinearRound:
    """One kind of round; entries are floats, or exact numbers (dtype object).

    Where coordinates evolve alone (``centred``), there is a round for each of them: increments, covariances and what
    follows from them have an axis of blocks, (..., size, size).

    Attributes:
        increments: (factors, *blocks, size, size), P_a; their last rows are 0.
        first: (factors,), E[u_a].
        second: (factors, factors), E[u_a u_b].
        noises: independent of one another and of the u_a.
    """

    increments: np.ndarray
    first: np.ndarray
    second: np.ndarray
    noises: tuple[Noise, ...]

    @property
    def size(self) -> int:
        """The number of entries of the state, with the last 1."""
        return self.increments.shape[-1]

    def mean_increment(self) -> np.ndarray:
        """Compute P = sum_a E[u_a] P_a, (*blocks, size, size)."""
        return combined(self.first, self.increments)

    def in_balls(self) -> LinearRound:
        """Convert the increments to balls of the working precision."""
        return replace(self, increments=np.vectorize(lambda each: Ball(ball(each)), otypes=[object])(self.increments))

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return L_c and R_c with E z' z'^T = Z + sum_c L_c Z R_c^T + noise, each (number, *blocks, size, size)."""
        mean, identity = self.mean_increment(), np.eye(self.size, dtype=int).astype(self.increments.dtype)
        identity = np.broadcast_to(identity, mean.shape)
        partners = combined(self.second, self.increments)
        left = np.concatenate([mean[None], identity[None], self.increments])
        return left, np.concatenate([identity[None], mean[None], partners])

    def square_increment(self) -> np.ndarray:
        """Compute the map vec(Z) -> vec(E z' z'^T - Z), (size^2, size^2), row-major, without blocks.

        The last entry of vec(Z) is 1.
        """
        left, right = self.factors()
        # The sum of the Kronecker products of left and right.
        size, count = self.size, len(left)
        products = np.dot(left.transpose(1, 2, 0).reshape(-1, count), right.reshape(count, -1))
        operator = products.reshape([size] * 4).transpose(0, 2, 1, 3).reshape([size**2] * 2)
        operator[:, -1] = operator[:, -1] + self.added_noise().ravel()
        return operator

    def added_noise(self) -> np.ndarray:
        """Compute sum_ab E[u_a u_b] sum_s L_sa N_s L_sb^T, (*blocks, size, size)."""
        added = np.zeros(self.increments.shape[1:], dtype=int).astype(self.increments.dtype)
        for noise in self.noises:
            second = self.second[np.ix_(noise.factors, noise.factors)]
            for load, partner in zip(noise.loads, combined(second, noise.loads), strict=True):
                added = added + matrix_product(matrix_product(load, noise.covariance), partner.T)
        return added

    def about(self, point: np.ndarray) -> LinearRound:
        """Express the round for the state minus ``point``, (size - 1,), with the last entry still 1."""
        moved = self.increments.copy()
        moved[:, :, -1] = moved[:, :, -1] + self.increments[:, :, :-1] @ point
        return replace(self, increments=moved)


def combined(weights: np.ndarray, arrays: np.ndarray) -> np.ndarray:
    """Compute sum_b w_..b A_b of the arrays (b, ...): ``np.tensordot(weights, arrays, axes=1)``, with fewer calls.

    >>> combined(np.array([[1, 1], [0, 2]]), np.array([[3, 4], [5, 6]])).tolist()
    [[8, 10], [10, 12]]
    """
    one, other = weights.reshape(-1, len(arrays)), arrays.reshape(len(arrays), -1)
    if one.dtype != object:
        flat = np.dot(one, other)
    elif holds_balls(other) and not holds_balls(one) and 2 * np.count_nonzero(one) < one.size:  # by 0 takes as long
        flat = np.stack([row[row != 0] @ other[row != 0] if row.any() else 0 * other[0] for row in one])
    else:
        flat = matrix_product(one, other)
    return flat.reshape(*weights.shape[:-1], *arrays.shape[1:])


def mean_map(round: LinearRound) -> np.ndarray:
    """Return the map E z -> E z' of one round, (*blocks, size, size); the last row is exactly (0, ..., 0, 1)."""
    return np.eye(round.size, dtype=int).astype(round.increments.dtype) + round.mean_increment()


def second_moment_map(round: LinearRound) -> np.ndarray:
    """Return the map vec(Z) -> vec(Z') of one round, Z = E z z^T, (size^2, size^2), row-major.

    The last row is exactly (0, ..., 0, 1).
    """
    return np.eye(round.size**2, dtype=int).astype(round.increments.dtype) + round.square_increment()


@cache
def triangle(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the entries with i <= j, in their order, each (n,)."""
    return np.triu_indices(size)


@cache
def _places(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the entries ((i, j), (k, l)) with i <= j and k <= l are in (s, s, s, s), and ((i, j), (l, k)) for k < l."""
    rows, columns = triangle(size)
    apart = rows != columns
    first = (rows * size + columns)[:, None] * size**2
    return first + rows * size + columns, first + columns[apart] * size + rows[apart]


SMALL = 8
"""The largest state, in floats, whose operator is packed from the one on all entries, which takes fewer calls."""


def packed(matrix: np.ndarray) -> np.ndarray:
    """Pack (..., s, s) into its entries (i, j) with i <= j, (..., n).

    >>> packed(np.array([[1, 2], [2, 3]])).tolist()
    [1, 2, 3]
    """
    rows, columns = triangle(size := matrix.shape[-1])
    return matrix.reshape(*matrix.shape[:-2], size**2).take(rows * size + columns, axis=-1)


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
    apart = rows != columns
    both = packed(form)
    both[..., apart] = both[..., apart] + form[..., columns[apart], rows[apart]]
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
        entries, (direct, mirrored) = round.square_increment().ravel(), _places(size)
        folded = entries[direct]
        folded[:, apart] += entries[mirrored]
        return folded
    left, right = (np.moveaxis(each, 0, -3) for each in round.factors())  # (*blocks, factors, s, s)
    if holds_balls(round.increments):
        pairs = zip(left.reshape(-1, *left.shape[-3:]), right.reshape(-1, *left.shape[-3:]), strict=True)
        operator = np.array([_folded_in_balls(*pair) for pair in pairs], dtype=object)
        operator = operator.reshape(*left.shape[:-3], *operator.shape[1:])
        operator[..., -1] = operator[..., -1] + packed(round.added_noise())
        return operator
    over, of_row = 0, list[np.ndarray]()
    if round.increments.dtype == object:
        left, right, over = whole_factors(left, right)
    for i in range(size):
        later = right[..., i:, :].reshape(*right.shape[:-2], -1)  # (*blocks, factors, (j, l))
        entries = (left[..., i, :].swapaxes(-1, -2) @ later).reshape(*left.shape[:-3], size, size - i, size)
        entries = entries.swapaxes(-3, -2)  # (*blocks, j, k, l)
        folded = entries[..., rows, columns]
        folded[..., apart] = folded[..., apart] + entries[..., columns[apart], rows[apart]]
        of_row.append(folded)
    operator = np.concatenate(of_row, axis=-2)
    operator = fractions(operator, over) if over else operator
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


# Sizes of recursions --------------------------------------------------------------------------------------------------

LARGEST, LARGEST_EXACT, LARGEST_IN_BALLS = 2500, 1024, 1100
"""The most numbers that a recursion may have, in floats, in Fractions and in balls: its operator has as many rows and
columns."""


def check_size(numbers: int, what: str, how: str, exact: bool = False, in_balls: bool = False) -> None:
    """Raise ``ValueError`` if a recursion would have more numbers than ``LARGEST``, ``LARGEST_EXACT`` or, ``in_balls``,
    ``LARGEST_IN_BALLS``."""
    largest = LARGEST_IN_BALLS if in_balls else LARGEST_EXACT if exact else LARGEST
    if numbers > largest:
        kind = "balls" if in_balls else "Fractions" if exact else "numbers"
        raise ValueError(f"{what}: {how} make an exact recursion of {numbers} {kind}; allowed are at most {largest}")


def check_entries(coordinates: int, numbers: int, what: str, exact: bool = False) -> None:
    """Raise ``ValueError`` if recursions of coordinates that evolve alone, each of so many ``numbers``, are too large.

    Their operators may have as many entries in all as one of ``LARGEST``, or ``LARGEST_EXACT``, numbers.
    """
    largest = (LARGEST_EXACT if exact else LARGEST) ** 2
    if coordinates * numbers**2 > largest:
        raise ValueError(
            f"{what}: {coordinates} recursions of {numbers} numbers have {coordinates * numbers**2} "
            f"entries; allowed are at most {largest}"
        )
