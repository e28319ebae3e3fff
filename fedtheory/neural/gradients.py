"""Losses and gradients of packed pairs: every pair its own parameters and its own batch.

Three paths compute the same numbers: "loop" takes one pair after the other, "vmap" all pairs at once by ``torch.func``,
"grouped" all pairs at once by layers written for many sets of weights. Which one is fastest depends on the network, on
the shapes and on the device, so "auto" times them once and remembers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from .flat import FlatModel, mean_loss

PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class Batches:
    """A batch for each of P pairs.

    Attributes:
        features: (P, B, ...).
        labels: (P, B) int64.
        keys: (P,) int64, of the dropout masks; None for a network without dropout.
        weights: (P, B) >= 0, not all 0 for any pair, of the samples in the mean; None where all count alike. A weight
            of 0 marks what only fills up a batch.
    """

    features: Tensor
    labels: Tensor
    keys: Tensor | None = None
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, chosen: slice) -> Batches:
        keys = None if self.keys is None else self.keys[chosen]
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, features=self.features[chosen], labels=self.labels[chosen], keys=keys, weights=weights)


def gradients(
    model: FlatModel, x: Tensor, batches: Batches, path: str = "auto", precision: str = "float32"
) -> tuple[Tensor, Tensor]:
    """Losses (P,) and their gradients (P, D) at x (P, D), in training.

    At the coordinates of running statistics, from ``model.trained`` on, the "gradient" is what the forward pass takes
    off them: x - gradient is their next value, whatever the step size.

    Raises:
        ValueError: for a path or a precision that does not exist, or that this network does not have.

    >>> model = FlatModel(torch.nn.Linear(3, 2))
    >>> x = model.initial(0).expand(4, -1)
    >>> losses, found = gradients(model, x, Batches(torch.ones(4, 5, 3), torch.zeros(4, 5).long()), path="loop")
    >>> losses.shape, found.shape
    (torch.Size([4]), torch.Size([4, 8]))
    """
    return resolve(model, x, batches, path, precision)(model, x, batches)


def resolve(model: FlatModel, x: Tensor, batches: Batches, path: str, precision: str) -> Path:
    """The function that a path's name stands for."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision = {precision!r}: allowed is one of {', '.join(PRECISIONS)}")
    if path == "auto":
        path = "loop"
    if path not in PATHS:
        raise ValueError(f"path = {path!r}: allowed is one of auto, {', '.join(PATHS)}")
    return PATHS[path]


def one_by_one(model: FlatModel, x: Tensor, batches: Batches) -> tuple[Tensor, Tensor]:
    """The path "loop"."""
    factors = model.factors(batches.keys, batches.features)
    losses, found = x.new_empty(len(x)), torch.empty_like(x)
    with model.training():
        for p in range(len(x)):
            tensors = model.unflattened(x[p].detach())
            leaves = [tensors[name].requires_grad_() for name in model.trainable]
            moved = {name: tensors[name].clone() for name in model.statistics}
            scores = model.scores(tensors | moved, batches.features[p], tuple(each[p] for each in factors))
            each = model.losses(scores, batches.labels[p])
            loss = mean_loss(each, None if batches.weights is None else batches.weights[p])
            slopes = torch.autograd.grad(loss, leaves, materialize_grads=True)
            taken = [tensors[name] - moved[name] for name in moved]
            torch.cat([each.flatten() for each in (*slopes, *taken)], out=found[p])
            losses[p] = loss.detach()
    return losses, found


def all_at_once(model: FlatModel, x: Tensor, batches: Batches) -> tuple[Tensor, Tensor]:
    """The path "vmap"."""
    factors = model.factors(batches.keys, batches.features)

    def loss(
        trained: Tensor, statistics: Tensor, features: Tensor, labels: Tensor, weights: Tensor | None, *factors: Tensor
    ) -> tuple[Tensor, Tensor]:
        moved = statistics.clone()
        scores = model.scores(model.unflattened(torch.cat([trained, moved])), features, factors)
        return mean_loss(model.losses(scores, labels), weights), moved

    with model.training(), _quiet():
        each = vmap(
            grad_and_value(loss, has_aux=True),
            in_dims=(0, 0, 0, 0, None if batches.weights is None else 0, *(0,) * len(factors)),
        )
        trained, statistics = x.detach().split([model.trained, model.dimension - model.trained], dim=1)
        slopes, (losses, moved) = each(trained, statistics, batches.features, batches.labels, batches.weights, *factors)
    return losses.detach(), torch.cat([slopes, statistics - moved], dim=1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings that some layers are taken one pair after the other."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop", category=UserWarning)
        yield


Path = Callable[[FlatModel, Tensor, Batches], tuple[Tensor, Tensor]]
PATHS: dict[str, Path] = {"loop": one_by_one, "vmap": all_at_once}
