"""Samples, and which of them each pair trains on in a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .augmentation import Augmentation
from .packed import Batches, where_positive


class Place(NamedTuple):
    """Memory for the features of one step, (P * B, ...): as they are kept, and, of bytes, as numbers."""

    chosen: Tensor | None
    images: Tensor | None


@dataclass(frozen=True, eq=False)
class Samples:
    """All clients' samples, in two tensors.

    Attributes:
        features: (N, ...): floats, or int64 (characters), or uint8 images (N, channels, height, width), of which x/255
            is meant.
        labels: (N,) int64; or targets of regression, (N,) or (N, k) floats.
        mean, std: of each channel; images become (x - mean) / std after the augmentation. () leaves them as they are.

    Raises:
        ValueError: for features and labels that do not match, a standard deviation that is not positive, or as many
            means or deviations as there are no channels.
    """

    features: Tensor
    labels: Tensor
    mean: Sequence[float] = ()
    std: Sequence[float] = ()

    def __post_init__(self) -> None:
        kinds = (1,) if self.labels.dtype == torch.int64 else (1, 2) if self.labels.dtype.is_floating_point else ()
        if self.labels.shape[:1] != self.features.shape[:1] or self.labels.dim() not in kinds:
            raise ValueError(
                f"labels have shape {tuple(self.labels.shape)} and type {self.labels.dtype}: allowed is "
                f"({len(self.features)},), int64, a label for each row of features, or floats, the targets of each"
            )
        channels = self.features.shape[1] if self.features.dim() == 4 else 0
        for name, values in {"mean": self.mean, "std": self.std}.items():
            if len(values) not in (0, channels) or len(self.mean) != len(self.std):
                raise ValueError(f"{name} = {list(values)}: allowed is one number a channel ({channels}), for both")
        if any(not value > 0 for value in self.std):
            raise ValueError(f"std = {list(self.std)}: allowed are numbers > 0")

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device | str) -> Samples:
        """Return the samples on another device."""
        return replace(self, features=self.features.to(device), labels=self.labels.to(device))

    def of(
        self,
        index: Tensor,
        augmentation: Augmentation | None = None,
        keys: Tensor | None = None,
        place: Place | None = None,
    ) -> Tensor:
        """Return the features (P, B, ...) of the samples with numbers ``index`` (P, B), ready for a network.

        They are augmented by the draws of ``keys`` (P,). They may be put into ``place``, which saves fetching fresh
        memory.
        """
        place = Place(None, None) if place is None else place
        chosen = torch.index_select(self.features, 0, index.flatten(), out=place.chosen)
        images = _in_unit(chosen, place.images).view(*index.shape, *self.features.shape[1:])
        if augmentation is not None:
            if keys is None:
                raise ValueError("keys is None: allowed are int64 keys of shape (P,), since images are augmented")
            images = augmentation(images, keys)
        return self._normalised(images, fresh=True)

    def between(self, begin: int, end: int) -> Tensor:
        """Return the features (end - begin, ...) of samples that lie in a row, ready for a network."""
        return self._normalised(_in_unit(self.features[begin:end]), fresh=self.features.dtype == torch.uint8)

    @cached_property
    def _mean_and_std(self) -> tuple[Tensor, Tensor]:
        """Means and deviations of the channels, (channels, 1, 1), on the samples' device."""
        mean, std = (torch.tensor(each, device=self.labels.device).view(-1, 1, 1) for each in (self.mean, self.std))
        return mean, std

    def _normalised(self, images: Tensor, fresh: bool) -> Tensor:
        """(images - mean) / std, where they are if nobody else has them."""
        if not self.std:
            return images
        mean, std = self._mean_and_std
        return images.sub_(mean).div_(std) if fresh else (images - mean) / std


def _in_unit(images: Tensor, place: Tensor | None = None) -> Tensor:
    """Bytes as numbers in [0, 1], in ``place`` if there is one; anything else as it is."""
    if images.dtype != torch.uint8:
        return images
    return (images.float() if place is None else place.copy_(images)).div_(255.0)


@dataclass(frozen=True, eq=False)
class Visits:
    """The samples on which P pairs train in one round, for K steps with batches of B samples.

    Attributes:
        index: (P, K, B) int64, numbers of samples.
        weights: (P, K, B) >= 0, of the samples in a batch's mean loss; None where all count alike. A pair makes no step
            where all its weights are 0, so visits may differ in length and last batches in size.
        dropout_keys, augmentation_keys: (P, K) int64; None where nothing is drawn.
        counting: (P, K, B) bool, where weights are above 0, in main memory; None where that is not known there.
    """

    index: Tensor
    weights: Tensor | None = None
    dropout_keys: Tensor | None = None
    augmentation_keys: Tensor | None = None
    counting: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.index.dim() != 3 or self.index.dtype != torch.int64:
            raise ValueError(
                f"index has shape {tuple(self.index.shape)} and type {self.index.dtype}: allowed is (P, K, B), int64"
            )
        for name in ("weights", "dropout_keys", "augmentation_keys", "counting"):
            value = getattr(self, name)
            shape = self.index.shape if name in ("weights", "counting") else self.index.shape[:2]
            if value is not None and value.shape != shape:
                raise ValueError(f"{name} has shape {tuple(value.shape)}: allowed is {tuple(shape)}")

    @classmethod
    def joined(cls, several: Sequence[Visits]) -> Visits:
        """Return several visits of as many steps and as large batches, one after another.

        >>> one, half = Visits(torch.zeros(2, 3, 1).long()), torch.full((2, 3, 1), 0.5)
        >>> Visits.joined([one, Visits(one.index, half)]).weights[:, 0, 0].tolist()
        [1.0, 1.0, 0.5, 0.5]
        """
        if len(several) == 1:
            return several[0]

        def keys(parts: list[Tensor | None]) -> Tensor | None:
            known = [each for each in parts if each is not None]
            return torch.cat(known) if known else None

        weights, counting = None, None
        if any(each.weights is not None for each in several):
            ones = [torch.ones_like(each.index, dtype=torch.float32) for each in several]
            weights = torch.cat([o if v.weights is None else v.weights for o, v in zip(ones, several, strict=True)])
            alike = [np.ones(each.index.shape, bool) for each in several]
            counting = np.concatenate(
                [o if v.counts is None else v.counts for o, v in zip(alike, several, strict=True)]
            )
        index = torch.cat([each.index for each in several])
        dropout, augmented = ([getattr(v, name) for v in several] for name in ("dropout_keys", "augmentation_keys"))
        return cls(index, weights, keys(dropout), keys(augmented), counting)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def steps(self) -> int:
        """The number of steps, K."""
        return self.index.shape[1]

    def __getitem__(self, chosen: slice) -> Visits:
        """Return the visits of some of the pairs."""
        weights, dropout, augmented = (
            None if each is None else each[chosen] for each in (self.weights, self.dropout_keys, self.augmentation_keys)
        )
        counting = None if self.counts is None else self.counts[chosen]
        return Visits(self.index[chosen], weights, dropout, augmented, counting)

    @cached_property
    def counts(self) -> np.ndarray | None:
        """The mask ``counting``, for which the device is asked where it is not known; None where all samples count
        alike."""
        return where_positive(self.weights) if self.counting is None else self.counting

    def labels(self, samples: Samples) -> Tensor:
        """Labels of all batches, (P, K, B), looked up once; a step's are in a row in memory."""
        known: tuple[Samples, Tensor] | None = self.__dict__.get("_labels")
        if known is None or known[0] is not samples:
            known = samples, samples.labels[self.index.transpose(0, 1).contiguous()].transpose(0, 1)
            self.__dict__["_labels"] = known  # beside the fields, which do not change
        return known[1]

    def place(self, samples: Samples) -> Place:
        """Allocate memory for the features of one step."""
        chosen = samples.features.new_empty(len(self) * self.index.shape[2], *samples.features.shape[1:])
        return Place(chosen, torch.empty_like(chosen, dtype=torch.float32) if chosen.dtype == torch.uint8 else None)

    def batches(
        self, samples: Samples, step: int, augmentation: Augmentation | None = None, place: Place | None = None
    ) -> Batches:
        """Return every pair's batch of one step; ``place`` is that of ``Samples.of``."""
        at = [None if each is None else each[:, step] for each in (self.augmentation_keys, self.dropout_keys)]
        weights = None if self.weights is None else self.weights[:, step]
        counting = None if self.counts is None else self.counts[:, step]
        features = samples.of(self.index[:, step], augmentation, at[0], place)
        return Batches(features, self.labels(samples)[:, step], at[1], weights, counting)
