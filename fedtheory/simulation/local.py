"""Local training, on a batch of (replica, client) pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..federations.base import Federation, Pairs


@dataclass(frozen=True)
class LocalSGD:
    """``steps`` stochastic gradient steps of size ``lr``, pulled back to where they started by ``proximal``."""

    steps: int
    lr: float
    proximal: float = 0.0


def local_update(fed: Federation, start: Tensor, pairs: Pairs, solver: LocalSGD) -> tuple[Tensor, Tensor]:
    """Local training of every pair from ``start`` (P, D): the models after it, and the sums of the EXACT local
    gradients at the (noisy) local iterates k = 0..K-1, both (P, D)."""
    x, total = start, torch.zeros_like(start)
    for step in range(solver.steps):
        gradient = fed.exact_gradient(x, pairs)
        total += gradient
        if fed.gradient_noise > 0:
            gradient = gradient + fed.draw_noise(pairs.at_step(step)).to(gradient)
        if solver.proximal > 0:
            gradient = gradient + solver.proximal * (x - start)
        x = x - solver.lr * gradient
    return x, total
