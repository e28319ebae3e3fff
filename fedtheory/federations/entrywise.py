"""Local SGD with diagonal Hessians as compiled loops: a coordinate of a pair is worked on by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..compiled import compiled, fma

AT_ONCE = 1024
"""Coordinates, or those of one pair, that take their steps together, in a cache."""


def entrywise_change(
    start: Tensor, client: Tensor, entries: Tensor, centres: Tensor, noise: Tensor | None, sizes: Sequence[float],
    proximal: float,
) -> Tensor:  # fmt: skip
    """y_K of `linear_training`, (P, D), of pairs that start at ``start`` (P, D), of these clients (P,).

    Args:
        entries: the Hessians' diagonals, (M, D), or (1, D) of all clients.
        centres: the clients' minimisers, (M, D).
        noise: of each step, (K, P, D); ``None``: there is none.
    """
    kind, result = start.numpy().dtype, torch.empty_like(start, memory_format=torch.contiguous_format)
    dimension = start.shape[1]
    together = max(1, min(len(start), AT_ONCE // dimension))
    rows = np.empty((2, together, dimension), kind)
    if noise is None:  # what changes no number that it is added to
        noises = np.full((1, together * dimension), -0.0, kind)
    else:
        noises = noise.contiguous().numpy().reshape(len(sizes), -1)
    minus = np.array([(-size, -size * proximal) for size in sizes]).astype(kind)
    curvature, gradient = rows.reshape(2, -1)
    _steps(np.ascontiguousarray(start.numpy()), client.numpy(), entries.numpy(), centres.numpy(), noise is not None,
           noises, minus, rows, curvature, gradient, result.numpy().reshape(-1))  # fmt: skip
    return result


def entrywise_product(start: Tensor, client: Tensor, entries: Tensor, centres: Tensor) -> Tensor:
    """(start - c_i) times the entries of client i, (P, D); arguments as in ``entrywise_change``."""
    result = torch.empty_like(start, memory_format=torch.contiguous_format)
    _product(start.numpy(), client.numpy(), entries.numpy(), centres.numpy(), result.numpy())
    return result


@compiled
def _product(
    start: np.ndarray, client: np.ndarray, entries: np.ndarray, centres: np.ndarray, out: np.ndarray
) -> None:
    several = len(entries) > 1
    for p in range(len(client)):
        i = client[p]
        own = i if several else 0
        for d in range(start.shape[1]):
            out[p, d] = (start[p, d] - centres[i, d]) * entries[own, d]


@compiled
def _steps(
    start: np.ndarray, client: np.ndarray, entries: np.ndarray, centres: np.ndarray, noisy: bool, noise: np.ndarray,
    minus: np.ndarray, rows: np.ndarray, curvature: np.ndarray, gradient: np.ndarray, out: np.ndarray,
) -> None:  # fmt: skip
    """``rows`` are ``curvature`` and ``gradient`` of some pairs; ``minus`` has -size and -size times the proximal term
    of each step."""
    together, dimension = rows.shape[1:]
    for first in range(0, len(client), together):
        count = min(together, len(client) - first)
        for p in range(count):
            i = client[first + p]
            own = i if len(entries) > 1 else 0
            for d in range(dimension):
                rows[0, p, d] = entries[own, d]
                rows[1, p, d] = (start[first + p, d] - centres[i, d]) * entries[own, d]
        low, numbers = first * dimension, count * dimension
        change = out[low : low + numbers]
        for step in range(len(minus)):
            drawn = noise[step, low : low + numbers] if noisy else noise[0, :numbers]
            _step(change, curvature, gradient, drawn, minus[step, 0], minus[step, 1], step == 0)


@compiled
def _step(
    change: np.ndarray, curvature: np.ndarray, gradient: np.ndarray, noise: np.ndarray, minus: float, pull: float,
    first: bool,
) -> None:  # fmt: skip
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
