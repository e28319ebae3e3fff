"""A quadratic federation as its moments see it: about its optimum, whole or coordinate by coordinate.

Where all clients' Hessians are diagonal in one orthonormal basis, a client's gradient in a coordinate depends on that
coordinate alone, and its noise has the variance sigma^2/D in each. So, of algorithms that combine updates by numbers, a
coordinate of the state is a lifted state of its own, (y_d, what is remembered of it, 1), whose second moments follow
from themselves; E|x - x*|^2 and E|grad F(x)|^2 are sums over coordinates. D recursions of a few numbers take the place
of one of about D^2/2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.algorithm import OwnRound
from ..claims.balls import matrix_product
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
