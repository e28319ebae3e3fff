"""Local training, on a batch of (replica, client) pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..federations.base import ConvexFederation, Federation, Pairs


@dataclass(frozen=True)
class LocalSGD:
    """``steps`` stochastic gradient steps of size ``lr`` (or one size for each), pulled back to where they started by
    ``proximal``."""

    steps: int
    lr: float | tuple[float, ...]
    proximal: float = 0.0


def local_update(
    fed: Federation, start: Tensor, pairs: Pairs, solver: LocalSGD, summed: bool = False, first: int = 0
) -> tuple[Tensor, Tensor | None]:
    """Local training of every pair from ``start`` (P, D): the models after it and, if ``summed``, the sums of the EXACT
    local gradients at the (noisy) local iterates k = 0..K-1, which a ``ConvexFederation`` has; both (P, D). ``first``
    is the number in the round of the first of their draws."""
    sizes = solver.lr if isinstance(solver.lr, tuple) else (solver.lr,) * solver.steps
    x, total = start, torch.zeros_like(start) if summed else None
    for step in range(solver.steps):
        if total is not None and isinstance(fed, ConvexFederation):
            exact = fed.exact_gradient(x, pairs)
            total += exact
            gradient = fed.with_noise(exact, pairs.at_step(first + step), x)
        else:
            gradient = fed.gradient(x, pairs.at_step(first + step))
        if solver.proximal > 0:
            gradient = gradient + solver.proximal * (x - start)
        x = x - sizes[step] * gradient
    return x, total
