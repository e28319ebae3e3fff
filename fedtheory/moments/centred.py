"""A quadratic federation as its moments see it: about its optimum, whole or coordinate by coordinate.

Where all clients' Hessians are diagonal in one orthonormal basis, a client's gradient in a coordinate depends on that
coordinate alone, and its noise has the variance sigma^2/D in each. So, of algorithms that combine updates by numbers, a
coordinate of the state is a lifted state of its own, (y_d, what is remembered of it, 1), whose second moments follow
from themselves; E|x - x*|^2 and E|grad F(x)|^2 are sums over coordinates. D recursions of a few numbers take the place
of one of about D^2/2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, arb_mat, ctx

from ..algorithms.algorithm import OwnRound
from ..claims.balls import Ball, ball, ball_matrix, from_matrix, matrix_product
from ..federations.federation import ONE_SIDED
from ..federations.quadratic import Quadratic

if TYPE_CHECKING:
    from ..setting import Setting
    from .round_maps import LocalMaps


@dataclass(frozen=True)
class Forms:
    """Quadratic forms of a federation about its optimum, in floats or in Fractions (dtype object).

    They are F_i(x* + y) = (y - m_i)^T H_i (y - m_i) / 2, up to constants.

    Whole, ``blocks`` is () and d = D; by coordinates, ``blocks`` is (D,) and d = 1.

    Attributes:
        hessians: (M, *blocks, d, d), H_i.
        minimisers: (M, *blocks, d), m_i.
        hessian: (*blocks, d, d), that of F.
        dimension: D.
        gradient_noise, server_noise: sigma and sigma_s, Fractions.
        basis: (D, D), whose columns are the coordinates' directions; ``None`` where they are the given ones.
        in_balls: whether numbers are balls (``claims.balls.Ball``) and Fractions that mix with them. Then what is known
            in floats only, as probabilities of some processes and steps by some rules, is taken as the dyadic numbers
            that these floats are.
        trained: the clients' maps that were made so far, by the way of training (see ``round_maps.training_maps``).
    """

    hessians: np.ndarray
    minimisers: np.ndarray
    hessian: np.ndarray
    dimension: int
    gradient_noise: Fraction
    server_noise: Fraction
    basis: np.ndarray | None = None
    in_balls: bool = False
    trained: dict[Any, LocalMaps] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def blocks(self) -> tuple[int, ...]:
        """The shape of the axes of blocks: empty for the whole federation, (D,) by coordinates."""
        return self.hessian.shape[:-2]

    @property
    def dtype(self) -> np.dtype:
        """The kind of number of the arrays."""
        return self.hessians.dtype

    def along(self, vectors: np.ndarray) -> np.ndarray:
        """Reshape vectors (..., D) to (..., *blocks, d)."""
        turned = vectors if self.basis is None else vectors @ self.basis
        return turned[..., None] if self.blocks else turned

    def squares(self) -> dict[str, np.ndarray]:
        """Return the matrices of the observables as ``squares`` does. Each observable is a sum over blocks."""
        return squares(self.hessian)


def squares(hessian: np.ndarray) -> dict[str, np.ndarray]:
    """Return the matrices A of the observables y^T A y at x = x* + y, (..., d, d): |x - x*|^2, |grad F(x)|^2 and F(x) -
    F*."""
    identity = np.broadcast_to(identity_like(hessian), hessian.shape)
    half: object = Fraction(1, 2) if hessian.dtype == object else 0.5
    return {"squared_distance": identity, "squared_gradient": product(hessian, hessian), "gap": hessian * half}


def identity_like(matrix: np.ndarray) -> np.ndarray:
    """Return the identity of the last axis, in floats or in Fractions."""
    size = matrix.shape[-1]
    if matrix.dtype != object:
        return np.eye(size)
    return np.array([[Fraction(int(i == j)) for j in range(size)] for i in range(size)], dtype=object)


def product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Multiply matrices (..., d, d); those of d = 1 are numbers."""
    return one * other if one.shape[-1] == 1 else matrix_product(one, other)


def whole(fed: Quadratic, exact: bool = False) -> Forms:
    """Return the federation about its optimum as it is given.

    Raises:
        ValueError: F has no unique minimiser.
    """
    hessians, mean = (fed.exact_hessians, fed.exact_hessian) if exact else (fed.hessians, fed.mean_hessian)
    minimisers = about_optimum(fed, fed.exact_centres, exact)
    return Forms(hessians, minimisers, mean, fed.dimension, fed.exact_gradient_noise, fed.exact_server_noise)


def about_optimum(fed: Quadratic, points: np.ndarray, exact: bool) -> np.ndarray:
    """Return p - x* for points p in Fractions, (number, D), in floats unless ``exact``."""
    return points - fed.exact_optimum if exact else fed.from_optimum(points)


def by_coordinate(fed: Quadratic, exact: bool = False) -> Forms | None:
    """Return the federation by coordinates that evolve alone; ``None`` where there are no such, or one only.

    Diagonal Hessians are taken as they are. A Hessian that all clients share is diagonalised, in floats only: its
    eigenvectors are irrational.

    Raises:
        ValueError: as ``whole``.

    >>> fed = Quadratic([[1, 2], [3, 2]], [[0, 1], [4, 0]])  # x* = (3, 1/2)
    >>> by_coordinate(fed).minimisers[:, :, 0].tolist()
    [[-3.0, 0.5], [1.0, -0.5]]
    """
    if fed.dimension == 1 or fed.noise == ONE_SIDED:
        return None
    diagonals, basis = fed.exact_diagonals, None
    if diagonals is None and (exact or not fed.has_common_hessian):
        return None
    kind: Any = object if exact else float
    minimisers = about_optimum(fed, fed.exact_centres, exact)
    if diagonals is not None:
        own = diagonals[0] if fed.has_common_hessian else fed.exact_weight @ diagonals
        curvatures, mean = diagonals.astype(kind), own.astype(kind)
    else:
        mean, basis = np.linalg.eigh(fed.hessians[0])
        curvatures, minimisers = np.tile(mean, (fed.clients, 1)), minimisers @ basis
    return Forms(
        curvatures[..., None, None],
        minimisers[..., None],
        mean[..., None, None],
        fed.dimension,
        fed.exact_gradient_noise,
        fed.exact_server_noise,
        basis,
    )


def forms_of(setting: Setting, exact: bool = False) -> Forms:
    """Return the federation about its optimum, by coordinates if they evolve alone, else whole.

    Raises:
        ValueError: as ``whole``.
    """
    fed = setting.federation
    assert isinstance(fed, Quadratic)
    mixes = any(isinstance(kind, OwnRound) for kind in setting.algorithm.kinds)  # a step of one's own may
    return (None if mixes else by_coordinate(fed, exact)) or whole(fed, exact)


FEWEST = 5
"""The least dimension in which a Hessian that all clients share is diagonalised."""

MOST_REFINED = 12
"""The most refinements of approximate eigenvectors. Each one doubles the digits where eigenvalues are well apart."""


def in_balls(setting: Setting) -> Forms:
    """The federation in balls of the working precision, by coordinates that evolve alone where they are known.

    Raises:
        ValueError: F has no unique minimiser.
    """
    fed = setting.federation
    assert isinstance(fed, Quadratic)
    mixes = any(isinstance(kind, OwnRound) for kind in setting.algorithm.kinds)
    shared = fed.has_common_hessian and fed.dimension >= FEWEST and fed.noise != ONE_SIDED
    if shared and fed.exact_diagonals is None and not mixes and (found := _along_eigenvectors(fed)):
        return found
    exact = forms_of(setting, exact=True)
    numbers = {name: _balls(getattr(exact, name)) for name in ("hessians", "minimisers", "hessian")}
    return replace(exact, in_balls=True, **numbers)


_balls = np.vectorize(lambda value: Ball(ball(value)), otypes=[object])


def _along_eigenvectors(fed: Quadratic) -> Forms | None:
    """The coordinates along the eigenvectors of the Hessian that all clients share; ``None`` where these are not told
    apart."""
    found = eigenvectors(ball_matrix(fed.exact_hessian), fed.hessians[0])
    if found is None:
        return None
    values, vectors = found
    curvatures = np.array([Ball(value) for value in values], dtype=object)
    minimisers = from_matrix(ball_matrix(about_optimum(fed, fed.exact_centres, True)) * vectors)
    return Forms(
        np.tile(curvatures, (fed.clients, 1))[..., None, None],
        minimisers[..., None],
        curvatures[..., None, None],
        fed.dimension,
        fed.exact_gradient_noise,
        fed.exact_server_noise,
        from_matrix(vectors),
        True,
    )


def eigenvectors(hessian: arb_mat, near: np.ndarray) -> tuple[list[arb], arb_mat] | None:
    """Enclose the eigenvalues of a symmetric matrix, ascending, and its eigenvectors of length 1 (columns).

    The enclosures are found from the floats ``near`` them. Returns ``None`` where two eigenvalues are not told apart.

    With a vector v of length 1 and r = H v - w v there is an eigenvalue within |r| of w. Where the D intervals do not
    meet, each holds one; and v is within 2 |r|/g of the eigenvector, g the distance from w to the other eigenvalues.

    >>> values, vectors = eigenvectors(arb_mat([[2, 1], [1, 2]]), np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> [round(float(value), 12) for value in values], round(float(vectors[0, 1]) ** 2, 12)
    ([1.0, 3.0], 0.5)
    """
    vectors = _refined(hessian, near)
    if vectors is None:
        return None
    size, image = len(near), hessian * vectors
    values, off = [], []
    for d in range(size):
        v, moved = ([matrix[i, d] for i in range(size)] for matrix in (vectors, image))
        square = _dot(v, v)
        value = (_dot(v, moved) / square).mid()
        rest = [m - value * x for m, x in zip(moved, v, strict=True)]
        values.append(value)
        off.append((abs(_dot(rest, rest)).upper() / square).sqrt().upper())
        length = square.sqrt()
        for i in range(size):
            vectors[i, d] = v[i] / length
    order = sorted(range(size), key=lambda d: float(values[d]))
    if any(not values[b] - off[b] > values[a] + off[a] for a, b in pairwise(order)):
        return None
    for place, d in enumerate(order):
        beside = [order[at] for at in (place - 1, place + 1) if 0 <= at < size]
        gaps = [(abs(values[d] - values[e]) - off[e]).lower() for e in beside]
        wide = arb(0, (2 * off[d] / min(gaps)).upper()) if gaps else arb(0)
        for i in range(size):
            vectors[i, d] = vectors[i, d] + wide
    columns = [[vectors[i, d] for d in order] for i in range(size)]
    return [arb(values[d], off[d]) for d in order], arb_mat(columns)


def _dot(one: list[arb], other: list[arb]) -> arb:
    return sum((a * b for a, b in zip(one, other, strict=True)), arb(0))


def _refined(hessian: arb_mat, near: np.ndarray) -> arb_mat | None:
    """Approximate eigenvectors to about the working precision (Ogita and Aishima 2018, Algorithm 1); ``None`` where
    eigenvalues are too near to one another for that."""
    size = len(near)
    vectors = arb_mat(size, size, [arb(float(x)) for x in np.linalg.eigh(near)[1].ravel()])
    identity = arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])
    wanted, before = 2.0 ** -min(ctx.prec - 20, 900), np.inf
    for _ in range(MOST_REFINED):
        turned = vectors.transpose()
        rest, image = (identity - turned * vectors).mid(), (turned * (hessian * vectors)).mid()
        values = [image[i, i] / (1 - rest[i, i]) for i in range(size)]
        change: list[Any] = [
            (image[i, j] + values[j] * rest[i, j]) / (values[j] - values[i]) if i != j else rest[i, i] / 2
            for i in range(size)
            for j in range(size)
        ]
        largest = max(float(abs(x).upper()) for x in change)
        if not largest < min(before, 0.1):
            return vectors if before < 1e-10 else None
        vectors = (vectors + vectors * arb_mat(size, size, change).mid()).mid()
        if largest**2 < wanted:
            return vectors
        before = largest
    return vectors
