"""Functions through given points: smooth strongly convex interpolants with values and gradients, and quadratics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Interpolant:
    """Largest mu-strongly convex L-smooth function through (x_p, gradient_p, value_p), for points that some such
    function goes through. With h_p = gradient_p - mu (x_p - c), f_p = value_p - mu/2 |x_p - c|^2 and l = L - mu,

        F(x) = mu/2 |x - c|^2 + min over weights a_p >= 0 with the sum 1 of
               sum of a_p (f_p - |h_p|^2 / (2 l)) + l/2 |x - sum of a_p (x_p - h_p / l)|^2,

    piecewise quadratic in x; its gradient is mu (x - c) + l (x - sum of a_p (x_p - h_p / l)) at the best weights.

    Attributes:
        points, slopes: x_p and h_p, (P, D). values: f_p, (P,). smooth: l. strong: mu. centre: c, (D,).

    Source: the conjugate of the interpolation of Taylor, Hendrickx and Glineur (2017), Theorem 4, is the maximum of
    one paraboloid a point.

    >>> points, slopes, values = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    >>> line = Interpolant(points, slopes, values, smooth=1.0, strong=0.0, centre=np.zeros(1))
    >>> value, gradient = line.at(np.array([2.0]))
    >>> round(float(value), 9), gradient.round(9).tolist()
    (1.0, [1.0])
    """

    points: Array
    slopes: Array
    values: Array
    smooth: float
    strong: float
    centre: Array

    def at(self, x: Array) -> tuple[float, Array]:
        """Return F(x) and its gradient, (D,)."""
        off = x - self.centre
        curved, slope = self.strong / 2 * float(off @ off), self.strong * off
        if self.smooth == 0:
            flat = self.slopes[0]
            return curved + float(self.values[0] + flat @ (x - self.points[0])), slope + flat
        corners = self.points - self.slopes / self.smooth
        heights = self.values - (self.slopes**2).sum(1) / (2 * self.smooth)
        weights = _weights(x, corners, heights / self.smooth)
        way = x - weights @ corners
        value = float(weights @ heights) + self.smooth / 2 * float(way @ way)
        return curved + value, slope + self.smooth * way


def _weights(x: Array, corners: Array, heights: Array) -> Array:
    """The weights a >= 0 with the sum 1 that minimise a . heights + |x - a . corners|^2 / 2.

    Corners are added while one lowers the cost, and left out where their weight would be negative (Wolfe 1976).
    """
    way = corners - x
    form = way @ way.T
    weights = np.zeros(len(corners))
    weights[np.argmin(heights + np.diag(form) / 2)] = 1
    tolerance = 1e-14 * max(float(np.abs(form).max()), float(np.abs(heights).max()), 1e-300)
    for _ in range(20 * len(corners)):
        slope = form @ weights + heights
        best = int(np.argmin(slope))
        if slope[best] >= weights @ slope - tolerance:
            break
        weights = _inside(way, heights, weights, [*np.flatnonzero(weights), best])
    return weights


def _inside(way: Array, heights: Array, weights: Array, kept: list[int]) -> Array:
    """The best weights on these corners, or on fewer where theirs would not be >= 0."""
    kept = sorted(set(kept))
    while True:
        other = np.zeros_like(weights)
        other[kept] = _best_sum(way[kept], heights[kept])
        below = [k for k in kept if other[k] < 0]
        if not below:
            return other
        share = min(weights[k] / (weights[k] - other[k]) for k in below)
        weights = weights + share * (other - weights)
        left = [k for k in kept if weights[k] > 1e-15 and not (k in below and weights[k] < 1e-14)]
        if len(left) == len(kept) or not left:
            return np.clip(weights, 0, None) / np.clip(weights, 0, None).sum()
        kept, weights = left, np.where(np.isin(np.arange(len(weights)), left), weights, 0)


def _best_sum(way: Array, heights: Array) -> Array:
    """The weights with the sum 1, of whatever signs, that minimise a . heights + |a . way|^2 / 2. Corners may be close
    to each other, so it is solved in their differences, not in products of them.

    >>> _best_sum(np.array([[1.0], [3.0]]), np.zeros(2))
    array([ 1.5, -0.5])
    """
    apart = way[1:] - way[0]
    left, sizes, _ = np.linalg.svd(apart, full_matrices=False)
    known = sizes > 1e-12 * sizes.max(initial=0)
    slope = left.T @ (heights[0] - heights[1:] - apart @ way[0])
    others = left @ np.where(known, slope / np.where(known, sizes, 1) ** 2, 0)
    return np.concatenate([[1 - others.sum()], others])


def symmetric_operator(x: Array, u: Array, top: float) -> Array:
    """Return a symmetric matrix H with eigenvalues in [0, top] and H x_p = u_p, for rows x_p and u_p, (P, D). Such a
    matrix has to exist: <x_p, u_q> is symmetric and the matrix of <u_p, top x_q - u_q> is >= 0.

    C = 2 H / top - 1 has to be a contraction. It is known on the span of the x_p; M. G. Krein's middle extension says
    what it can be on the rest.

    >>> symmetric_operator(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]), 1.0).round(6).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    dimension = x.shape[1]
    if top == 0:
        return np.zeros((dimension, dimension))
    left, sizes, right = np.linalg.svd(x, full_matrices=True)
    rank = int((sizes > 1e-7 * max(sizes.max(initial=0), 1e-300)).sum())
    basis, rest = right[:rank], right[rank:]
    image = (left[:, :rank] / sizes[:rank]).T @ (2 * u / top) - basis  # C of the basis vectors, in rows
    a, b = image @ basis.T, image @ rest.T
    a = (a + a.T) / 2
    eigen, vectors = np.linalg.eigh(a)
    eigen = eigen.clip(-1, 1)
    a = vectors * eigen @ vectors.T
    room = 1 - eigen**2
    inverse = np.where(room > 1e-9, 1 / np.where(room > 1e-9, room, 1), 0)
    corner = -b.T @ (vectors * (eigen * inverse) @ vectors.T) @ b
    whole = np.block([[a, b], [b.T, corner]])
    frame = np.vstack([basis, rest])
    eigen, vectors = np.linalg.eigh(frame.T @ ((whole + whole.T) / 2) @ frame)
    found = top / 2 * (vectors * (1 + eigen.clip(-1, 1)) @ vectors.T)
    return (found + found.T) / 2
