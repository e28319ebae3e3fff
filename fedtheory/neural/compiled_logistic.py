"""Multinomial logistic regression on a CPU in single precision, by compiled loops: steps of plain SGD and evaluation.

A pair's numbers depend on nothing but that pair, a sample's on nothing but that sample and the model: threads share
pairs and samples out.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..loops.threads import shared_out
from .augmentation import Augmentation
from .batches import Samples, Visits
from .flat import FlatModel
from .grouped import logistic

MULTIPLICATIONS_A_THREAD, PAIRS_A_THREAD = 2**24, 1
"""The least work for which a thread is woken.

The bound for evaluation is a third of a millisecond, since a thread may have to wait for its core.
"""


def covers(
    model: FlatModel, x: Tensor, samples: Samples, augmentation: Augmentation | None, precision: str = "float32"
) -> bool:
    """Whether steps from x, or its evaluation, are computed here."""
    features = samples.features
    known = features.dtype in (torch.float32, torch.uint8) and features.is_contiguous() and features.dim() > 1
    here = x.device.type == "cpu" and x.dtype == torch.float32 and features.device.type == "cpu" and len(samples) > 0
    return here and known and augmentation is None and precision == "float32" and logistic(model) is not None


def train(
    model: FlatModel, start: Tensor, samples: Samples, visits: Visits, sizes: list[float]
) -> tuple[Tensor, Tensor]:
    """Make a step of each of the sizes (K,) from start (P, D), on the mean loss of each batch.

    Returns the models (P, D), and the losses before the steps, (P, K).

    Raises:
        ValueError: a number that is no sample's, or a label that the model has no score for.
    """
    from ..loops import logistic_regression as loops

    place, classes = _place(model), _classes(model)
    labels, numbers = samples.labels.numpy(), np.ascontiguousarray(visits.index.numpy())
    weights = np.empty((0, 0, 0)) if visits.weights is None else visits.weights.numpy()
    if (wrong := loops.unfit(numbers, labels, classes)) != 0:
        what, allowed = ("index", len(samples)) if wrong == 1 else ("labels", classes)
        raise ValueError(f"{what} outside what there is: allowed are numbers from 0 to {allowed - 1}")
    x = start.clone(memory_format=torch.contiguous_format)
    losses = start.new_empty(numbers.shape[:2])
    weights = np.ascontiguousarray(weights, np.float32)
    arrays = labels, numbers, weights, np.array(sizes), losses.numpy()
    given = (x.numpy(), (*place, classes), *_as_arrays(samples), *arrays)
    shared_out(lambda first, last: loops.train(*given, first, last), len(x), torch.get_num_threads(), PAIRS_A_THREAD)
    return x, losses


def per_sample(model: FlatModel, x: Tensor, samples: Samples) -> tuple[Tensor, Tensor]:
    """Compute each sample's loss, (replicas, N) float64, and whether its label has the largest score, (replicas, N)
    bool."""
    from ..loops import logistic_regression as loops

    classes, labels = _classes(model), samples.labels.numpy()
    at_weight, at_bias = _place(model)
    if loops.unfit(np.arange(len(samples)).reshape(1, 1, -1), labels, classes) != 0:
        raise ValueError(f"labels outside the classes: allowed are numbers from 0 to {classes - 1}")
    features = samples.features.flatten(1).numpy()
    pixels = features.shape[1]
    weight = x.detach()[:, at_weight : at_weight + classes * pixels].reshape(len(x), classes, pixels)
    weight, bias = folded(samples, weight, x.detach()[:, at_bias : at_bias + classes])
    weight, bias = torch.nn.functional.pad(weight, (0, -pixels % loops.LANES)).contiguous(), bias.contiguous()
    losses = torch.empty(len(x), len(samples), dtype=torch.float64)
    correct = torch.empty(len(x), len(samples), dtype=torch.bool)
    given = (weight.numpy(), bias.numpy(), features, labels, losses.numpy(), correct.numpy())

    def work(first: int, last: int) -> None:
        loops.evaluate(*given, first, last)

    least = -(-MULTIPLICATIONS_A_THREAD // weight.numel())
    shared_out(work, len(samples), torch.get_num_threads(), least)
    return losses, correct


def folded(samples: Samples, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return W (..., classes, p) and b (..., classes) that give the same scores on features as they are kept.

    For bytes u the scores are W ((u / 255 - mean) / std) + b.
    """
    scale = 255.0 if samples.features.dtype == torch.uint8 else 1.0
    if scale == 1.0 and not samples.std:
        return weight, bias
    own, start = weight.double() / scale, bias.double()
    if samples.std:
        pixels = samples.features[0, 0].numel()
        mean, std = (own.new_tensor(each).repeat_interleave(pixels) for each in (samples.mean, samples.std))
        own = own / std
        start = start - own @ (scale * mean)
    return own.to(weight.dtype), start.to(bias.dtype)


def _place(model: FlatModel) -> tuple[int, int]:
    """Return where weight and bias begin in a flat model."""
    prefix, begins, at = logistic(model), {}, 0
    for name, shape in model.shapes.items():
        begins[name] = at
        at += shape.numel() if isinstance(shape, torch.Size) else int(np.prod(shape))
    return begins[f"{prefix}weight"], begins[f"{prefix}bias"]


def _classes(model: FlatModel) -> int:
    return int(model.shapes[f"{logistic(model)}bias"][0])


def _as_arrays(samples: Samples) -> tuple[np.ndarray, np.ndarray, tuple[np.float32, np.ndarray, np.ndarray]]:
    """Return the arguments of ``loops.logistic_regression.train`` for the features: (features, numbers, scaling)."""
    from ..loops.logistic_regression import LANES

    features = samples.features.flatten(1).numpy()
    are_bytes = features.dtype == np.uint8
    as_they_lie = not are_bytes and not samples.std and features.shape[1] % LANES == 0
    numbers = features if as_they_lie else np.empty((0, features.shape[1]), np.float32)
    pixels = samples.features[0, 0].numel() if samples.std else 1
    mean, std = (np.repeat(np.array(each, np.float32), pixels) for each in (samples.mean, samples.std))
    return features, numbers, (np.float32(255 if are_bytes else 1), mean, std)
