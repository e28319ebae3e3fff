"""Loss and accuracy of whole models on many samples."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..randomness import in_memory
from . import compiled_logistic as compiled_logistic
from . import manual_backward
from .batches import Samples
from .flat import FlatModel, cross_entropy
from .grouped import grouped_scores, logistic, refusal
from .matrix_products import product
from .packed import laid_out, reduced


def evaluate(
    model: FlatModel, x: Tensor, samples: Samples, batch: int | None = None, precision: str = "float32"
) -> tuple[Tensor, Tensor]:
    """Compute mean loss and accuracy of each of x (replicas, D) on all samples, both (replicas,) float64.

    ``batch`` samples go through a network at a time, on a device those of several models if there are fewer of them,
    without dropout; batch norm uses its running statistics. The answer depends on ``batch`` only by rounding. None
    takes 64 where there are recurrent layers and 100 where there are convolutions, whose intermediate results then stay
    in the cache, and 2,000 elsewhere.

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
    """Compute each sample's loss, (replicas, N) float64, and whether its label has the largest score, (replicas, N)
    bool; in regression it never has."""
    if compiled_logistic.covers(model, x, samples, None, precision):
        return compiled_logistic.per_sample(model, x, samples)
    losses = torch.empty(len(x), len(samples), dtype=torch.float64, device=x.device)
    correct = torch.empty(len(x), len(samples), dtype=torch.bool, device=x.device)
    size = points_at_once(model) if batch is None else batch
    together = size // len(samples)
    if together > 1 and len(x) > 1 and not in_memory(x) and refusal(model) is None:
        for rows in torch.arange(len(x)).split(together):
            some = slice(int(rows[0]), int(rows[-1]) + 1)
            losses[some], correct[some] = _of_several(model, x[some].detach(), samples, precision)
        return losses, correct
    models = [model.unflattened(row) for row in x.detach()]
    place = _place(model, samples, size)
    compiled = precision == "float32" and manual_backward.covers(model, x, precision)
    with torch.no_grad(), model.training(False), reduced(x.device, precision):
        for begin in range(0, len(samples), size):
            piece = slice(begin, min(begin + size, len(samples)))
            labels = samples.labels[piece]
            for row, scores in enumerate(_scores(model, models, samples, piece, place, compiled)):
                scores = scores.to(x.dtype)
                losses[row, piece] = _losses(model, scores, labels)
                correct[row, piece] = _right(scores, labels)
    return losses, correct


def _of_several(model: FlatModel, x: Tensor, samples: Samples, precision: str) -> tuple[Tensor, Tensor]:
    """The same of some models on all samples in one pass, as on a device where few samples are less than an operation
    costs."""
    with torch.no_grad(), model.training(False), reduced(x.device, precision):
        scores = grouped_scores(model, x, samples.between(0, len(samples))).to(x.dtype)
        labels = samples.labels.repeat(len(x), *(1,) * (samples.labels.dim() - 1))
        losses = model.losses(scores.flatten(0, 1), labels).view(scores.shape[:2])
    return losses.double(), _right(scores.flatten(0, 1), labels).view(scores.shape[:2])


def _right(scores: Tensor, labels: Tensor) -> Tensor:
    """Where the largest score is the label's; nowhere in regression."""
    if labels.dtype.is_floating_point:
        return torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
    return scores.argmax(1) == labels


def _scores(
    model: FlatModel,
    models: list[dict[str, Tensor]],
    samples: Samples,
    piece: slice,
    place: Tensor | None,
    compiled: bool,
) -> Iterator[Tensor]:
    """The scores (B, classes) of each of the models, each by itself: its bits do not depend on the others. Pools are
    ``compiled``, or PyTorch's."""
    prefix = logistic(model)
    if prefix is None:
        features = laid_out(samples.between(piece.start, piece.stop))
        scores_of = manual_backward.scores if compiled else FlatModel.scores
        return (scores_of(model, tensors, features) for tensors in models)
    features = samples.features[piece].flatten(1)
    features = features if place is None else place[: len(features)].copy_(features)
    return (
        product(features, *compiled_logistic.folded(samples, each[prefix + "weight"], each[prefix + "bias"]))
        for each in models
    )


def _place(model: FlatModel, samples: Samples, size: int) -> Tensor | None:
    """Memory for the numbers of so many samples' bytes, where logistic regression needs it."""
    if logistic(model) is None or samples.features.dtype != torch.uint8:
        return None
    flat = samples.features[:size].flatten(1)
    return torch.empty_like(flat, dtype=torch.float32)


def _losses(model: FlatModel, scores: Tensor, labels: Tensor) -> Tensor:
    """(B,). Softmax over a few classes is fastest where the samples are in a row."""
    if model.losses is not cross_entropy or scores.is_cuda:
        return model.losses(scores, labels)
    return -functional.log_softmax(scores.t().contiguous(), 0).gather(0, labels[None])[0]


def points_at_once(model: FlatModel) -> int:
    """Return the number of samples that are evaluated at once on a CPU."""
    layers = list(model.module.modules())
    if any(isinstance(each, nn.RNNBase) for each in layers):
        return 64
    return 100 if any(isinstance(each, nn.Conv1d | nn.Conv2d | nn.Conv3d) for each in layers) else 2000
