"""Batches of many pairs, and the loss of one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

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
        counting: (P, B) bool, where weights are above 0, in main memory; None where that is not known there.
    """

    features: Tensor
    labels: Tensor
    keys: Tensor | None = None
    weights: Tensor | None = None
    counting: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def counts(self) -> np.ndarray | None:
        """The mask ``counting``, for which the device is asked where it is not known; None where all samples count
        alike."""
        return where_positive(self.weights) if self.counting is None else self.counting

    def __getitem__(self, chosen: slice) -> Batches:
        keys = None if self.keys is None else self.keys[chosen]
        weights = None if self.weights is None else self.weights[chosen]
        counting = None if self.counts is None else self.counts[chosen]
        return Batches(self.features[chosen], self.labels[chosen], keys, weights, counting)


def where_positive(weights: Tensor | None) -> np.ndarray | None:
    """Return the mask of weights above 0, in main memory; a device is waited for."""
    return None if weights is None else (weights > 0).cpu().numpy()


def one_loss(
    model: FlatModel,
    tensors: dict[str, Tensor],
    features: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    factors: tuple[Tensor, ...],
    precision: str,
) -> Tensor:
    """Compute the loss of one pair's batch, a scalar that gradients can be taken of."""
    with reduced(features.device, precision):
        scores = model.scores(tensors, laid_out(features), factors)
    return mean_loss(model.losses(scores.to(next(iter(tensors.values())).dtype), labels), weights)


def laid_out(features: Tensor) -> Tensor:
    """Return the features in the order of memory in which convolutions are fastest.

    For images (B, channels, height, width) on a CPU that is channels last.
    """
    if features.dim() == 4 and not features.is_cuda:
        return features.to(memory_format=torch.channels_last)
    return features


def reduced(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Compute products of matrices and convolutions in ``precision`` meanwhile."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision = {precision!r}: allowed is one of {', '.join(PRECISIONS)}")
    return torch.autocast(device.type, torch.bfloat16) if precision == "bfloat16" else nullcontext()
