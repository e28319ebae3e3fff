"""Exact losses and gradients of a network: over all of some points, as in evaluation."""

from __future__ import annotations

import torch
from torch import Tensor

from ..neural.batches import Samples
from ..neural.flat import FlatModel


def some(samples: Samples, rows: slice) -> Samples:
    """Return the samples in these rows, as views."""
    return Samples(samples.features[rows], samples.labels[rows], samples.mean, samples.std)


def weighted_gradient(model: FlatModel, x: Tensor, samples: Samples, weights: Tensor, batch: int) -> Tensor:
    """Compute the gradient of sum_s w_s l_s(x) at each of x (n, D), for weights (N,): (n, D); 0 in running statistics.

    ``batch`` samples at a time are held in memory.
    """
    found = torch.zeros_like(x)
    with torch.enable_grad(), model.training(False):
        for row, point in enumerate(x.detach()):
            for first in range(0, len(samples), batch):
                index = torch.arange(first, min(first + batch, len(samples)), device=weights.device)
                tensors = model.unflattened(point.clone())
                leaves = [tensors[name].requires_grad_() for name in model.trainable]
                losses = model.losses(model.scores(tensors, samples.of(index[None])[0]), samples.labels[index])
                loss = (losses * weights[index].to(losses)).sum()
                slopes = torch.autograd.grad(loss, leaves, materialize_grads=True)
                found[row, : model.trained] += torch.cat([slope.flatten() for slope in slopes])
    return found


def holders_means(values: Tensor, holder: Tensor, sizes: Tensor) -> Tensor:
    """The mean over each holder's samples of values (n, N): (n, holders) float64; NaN for one without samples.

    True and false are counted in whole numbers, so that the mean depends on nothing but the count.
    """
    exact = values.long() if values.dtype == torch.bool else values.double()
    total = torch.zeros(len(values), len(sizes), dtype=exact.dtype, device=values.device)
    total.index_add_(1, holder, exact)
    return total.double() / sizes.to(torch.float64)
