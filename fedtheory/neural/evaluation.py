"""Loss and accuracy of whole models on many samples."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from .flat import FlatModel
from .grouped import logistic
from .packed import laid_out, reduced
from .samples import Samples


def evaluate(
    model: FlatModel, x: Tensor, samples: Samples, batch: int | None = None, precision: str = "float32"
) -> tuple[Tensor, Tensor]:
    """Mean loss and accuracy of each of x (replicas, D) on all samples, both (replicas,) float64.

    ``batch`` samples go through a network at a time, without dropout; batch norm uses its running statistics. The
    answer depends on ``batch`` only by rounding. None takes 100 where there are convolutions or recurrent layers, whose
    intermediate results then stay in the cache, and 10,000 elsewhere.

    Raises:
        ValueError: without samples, or for a batch below 1.

    >>> model = FlatModel(torch.nn.Linear(3, 2))
    >>> loss, accuracy = evaluate(model, model.initial(0)[None], Samples(torch.ones(4, 3), torch.zeros(4).long()))
    >>> float(accuracy) in (0.0, 1.0)
    True
    """
    if len(samples) == 0 or (batch is not None and batch < 1):
        raise ValueError(f"{len(samples)} samples, batch = {batch}: allowed are at least one of each")
    losses, correct = per_sample(model, x, samples, batch, precision)
    return losses.mean(1), correct.double().mean(1)


def per_sample(
    model: FlatModel, x: Tensor, samples: Samples, batch: int | None = None, precision: str = "float32"
) -> tuple[Tensor, Tensor]:
    """Each sample's loss, (replicas, N) float64, and whether its label has the largest score, (replicas, N) bool."""
    losses = torch.empty(len(x), len(samples), dtype=torch.float64, device=x.device)
    correct = torch.empty(len(x), len(samples), dtype=torch.bool, device=x.device)
    size = _batch(model) if batch is None else batch
    models = [model.unflattened(row) for row in x.detach()]
    with torch.no_grad(), model.training(False), reduced(x.device, precision):
        for begin in range(0, len(samples), size):
            piece = slice(begin, min(begin + size, len(samples)))
            features, labels = samples.between(piece.start, piece.stop), samples.labels[piece]
            for row, scores in enumerate(_scores(model, models, features)):
                scores = scores.to(x.dtype)
                losses[row, piece] = model.losses(scores, labels)
                correct[row, piece] = scores.argmax(1) == labels
    return losses, correct


def _scores(model: FlatModel, models: list[dict[str, Tensor]], features: Tensor) -> Iterator[Tensor]:
    """The scores (B, classes) of each of the models, each by itself: its bits do not depend on the others."""
    prefix = logistic(model)
    if prefix is None:
        features = laid_out(features)
        return (model.scores(tensors, features) for tensors in models)
    features = features.flatten(1)
    return (functional.linear(features, each[prefix + "weight"], each[prefix + "bias"]) for each in models)


def _batch(model: FlatModel) -> int:
    heavy = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.RNNBase)
    return 100 if any(isinstance(each, heavy) for each in model.module.modules()) else 10_000
