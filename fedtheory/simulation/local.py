"""Local training and the server's average, on a batch of (replica, client) pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..federations.base import Federation, Pairs


@dataclass(frozen=True)
class LocalSGD:
    """``steps`` stochastic gradient steps of size ``lr``."""

    steps: int
    lr: float


def local_update(fed: Federation, x: Tensor, pairs: Pairs, solver: LocalSGD) -> tuple[Tensor, Tensor]:
    """Local training of every pair from ``x`` (P, D): the models after it, and the sums of the EXACT local gradients
    at the (noisy) local iterates k = 0..K-1, both (P, D)."""
    total = torch.zeros_like(x)
    for step in range(solver.steps):
        gradient = fed.exact_gradient(x, pairs)
        total += gradient
        if fed.gradient_noise > 0:
            gradient = gradient + fed.draw_noise(pairs.at_step(step)).to(gradient)
        x = x - solver.lr * gradient
    return x, total


def average(values: Tensor, weights: Tensor, pairs: Pairs, replicas: int) -> Tensor:
    """sum over a replica's pairs of weight * value, (replicas, D)."""
    mean = torch.zeros(replicas, values.shape[1], dtype=values.dtype, device=values.device)
    return mean.index_add_(0, pairs.replica, values * weights[:, None])
