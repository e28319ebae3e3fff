"""A quadratic federation about its optimum in balls (see ``centred``), also along the eigenvectors that clients
share."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, arb_mat, ctx

from ..algorithms.algorithm import OwnRound
from ..claims.balls import Ball, ball, ball_matrix, from_matrix
from ..federations.federation import ONE_SIDED
from ..federations.quadratic import Quadratic
from .centred import Forms, about_optimum, forms_of

if TYPE_CHECKING:
    from ..setting import Setting

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
