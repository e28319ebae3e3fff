"""Local SGD with diagonal Hessians, compiled: a coordinate of a pair is worked on by itself.

With h = ``entries[client]`` and g = ``h * (start - centres[client])``, the loop replaces, for every step, the torch
line ``y = y - size * (h * y + proximal * y + g + noise)``. It begins with y = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .compiler import compiled, fma
from .draws import signed

AT_ONCE = 1024
"""Coordinates that take their steps together, in a cache; or those of one pair, if they are more."""

BITS = {np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64}
_NO_KEYS = np.empty((0, 0), np.uint64)


class Signs(NamedTuple):
    """Two-point noise that is not drawn yet: +-``scale`` from ``keys`` (K, P) as `randomness.scaled_signs` draws it."""

    keys: Tensor
    scale: float


class Prepared(NamedTuple):
    """Arguments of the steps of some pairs besides their starts and the clients' numbers; see ``steps_of_some``."""

    keys: np.ndarray
    scale: Any
    signs: np.ndarray
    given: bool
    noise: np.ndarray
    minus: np.ndarray
    rows: np.ndarray
    curvature: np.ndarray
    gradient: np.ndarray


def entrywise_change(
    start: Tensor,
    client: Tensor,
    entries: Tensor,
    centres: Tensor,
    noise: Tensor | Signs | None,
    sizes: Sequence[float],
    proximal: float,
) -> Tensor:
    """Compute the changes y_K of `linear_training`, (P, D), for pairs of these clients (P,) that start at ``start`` (P,
    D).

    Args:
        entries: the Hessians' diagonals, (M, D), or (1, D) of all clients.
        centres: the clients' minimisers, (M, D).
        noise: of each step, (K, P, D), or how it is drawn; ``None``: there is none.
    """
    result = torch.empty_like(start, memory_format=torch.contiguous_format)
    steps = prepared(len(start), start, noise, sizes, proximal)
    place = np.arange(len(start))
    _steps(
        np.ascontiguousarray(start.numpy()),
        place,
        client.numpy(),
        entries.numpy(),
        centres.numpy(),
        *steps,
        result.numpy().reshape(-1),
    )
    return result


def prepared(
    pairs: int, like: Tensor, noise: Tensor | Signs | None, sizes: Sequence[float], proximal: float
) -> Prepared:
    """Prepare the steps of so many pairs, in the precision and dimension of ``like``."""
    kind, dimension = like.numpy().dtype, like.shape[1]
    together = max(1, min(pairs, AT_ONCE // dimension))
    rows = np.empty((3, together, dimension), kind)
    curvature, gradient, one = rows.reshape(3, -1)
    keys, noises, scale = _NO_KEYS, one[None], kind.type(0)
    if isinstance(noise, Signs):
        keys, scale = noise.keys.contiguous().numpy().view(np.uint64), kind.type(noise.scale)
    elif noise is not None:
        noises = noise.contiguous().numpy().reshape(len(sizes), -1)
    else:
        one.fill(-0.0)  # it changes no number that it is added to
    minus = np.array([(-size, -size * proximal) for size in sizes]).astype(kind)
    bits = BITS[kind]
    signs = rows[2].view(bits)
    given = isinstance(noise, Tensor)
    return Prepared(keys, scale.view(bits), signs, given, noises, minus, rows, curvature, gradient)


def entrywise_product(start: Tensor, client: Tensor, entries: Tensor, centres: Tensor) -> Tensor:
    """Compute (start - c_i) times the entries of client i, (P, D); arguments as in ``entrywise_change``."""
    result = torch.empty_like(start, memory_format=torch.contiguous_format)
    _product(start.numpy(), client.numpy(), entries.numpy(), centres.numpy(), result.numpy())
    return result


@compiled
def _product(start: np.ndarray, client: np.ndarray, entries: np.ndarray, centres: np.ndarray, out: np.ndarray) -> None:
    several = len(entries) > 1
    for p in range(len(client)):
        i = client[p]
        own = i if several else 0
        for d in range(start.shape[1]):
            out[p, d] = (start[p, d] - centres[i, d]) * entries[own, d]


@compiled
def _steps(
    start: np.ndarray,
    place: np.ndarray,
    client: np.ndarray,
    entries: np.ndarray,
    centres: np.ndarray,
    keys: np.ndarray,
    scale: Any,
    signs: np.ndarray,
    given: bool,
    noise: np.ndarray,
    minus: np.ndarray,
    rows: np.ndarray,
    curvature: np.ndarray,
    gradient: np.ndarray,
    out: np.ndarray,
) -> None:
    """``rows`` are ``curvature`` and ``gradient`` of some pairs and their noise in one step, whose bits are ``signs``,
    unless ``noise`` is ``given``; ``minus`` has -size and -size times the proximal term of each step."""
    together, dimension = rows.shape[1:]
    for first in range(0, len(client), together):
        count = min(together, len(client) - first)
        low = first * dimension
        steps_of_some(
            start,
            place,
            client,
            first,
            count,
            entries,
            centres,
            keys,
            scale,
            signs,
            given,
            noise,
            minus,
            rows,
            curvature,
            gradient,
            out[low : low + count * dimension],
        )


@compiled
def steps_of_some(
    start: np.ndarray,
    place: np.ndarray,
    client: np.ndarray,
    first: int,
    count: int,
    entries: np.ndarray,
    centres: np.ndarray,
    keys: np.ndarray,
    scale: Any,
    signs: np.ndarray,
    given: bool,
    noise: np.ndarray,
    minus: np.ndarray,
    rows: np.ndarray,
    curvature: np.ndarray,
    gradient: np.ndarray,
    change: np.ndarray,
) -> None:
    """Make the steps of ``count`` pairs from ``first`` on; each starts at the row of ``start`` that is its
    ``place``."""
    dimension = rows.shape[2]
    for p in range(count):
        i, at = client[first + p], place[first + p]
        own = i if len(entries) > 1 else 0
        for d in range(dimension):
            rows[0, p, d] = entries[own, d]
            rows[1, p, d] = (start[at, d] - centres[i, d]) * entries[own, d]
    low, numbers = first * dimension, count * dimension
    for step in range(len(minus)):
        if len(keys) > 0:
            signed(keys[step, first : first + count], scale, signs)
        drawn = noise[step, low : low + numbers] if given else noise[0, :numbers]
        _step(change, curvature, gradient, drawn, minus[step, 0], minus[step, 1], step == 0)


@compiled
def _step(
    change: np.ndarray,
    curvature: np.ndarray,
    gradient: np.ndarray,
    noise: np.ndarray,
    minus: float,
    pull: float,
    first: bool,
) -> None:
    if first:
        for j in range(len(change)):
            change[j] = (noise[j] + gradient[j]) * minus
    elif pull == 0:
        for j in range(len(change)):
            y = change[j]
            change[j] = fma(noise[j] + gradient[j], minus, fma(minus * y, curvature[j], y))
    else:
        for j in range(len(change)):
            y = change[j]
            change[j] = fma(y, pull, fma(noise[j] + gradient[j], minus, fma(minus * y, curvature[j], y)))
