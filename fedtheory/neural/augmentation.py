"""Random changes of images in training, on the device, for all pairs at once, each drawn by a key of its own."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from ..randomness import Axis, words


def augmentation_keys(seed: int, replica: Tensor, client: Tensor, round: int, step: Tensor | int) -> Tensor:
    """The keys of one step's augmentation, int64, in the common shape of the coordinates.

    >>> augmentation_keys(0, torch.arange(3), torch.arange(3), round=5, step=0).shape
    torch.Size([3])
    """
    return words(seed, Axis.AUGMENTATION, replica, client, round, step)


class Augmentation(Protocol):
    """Images (P, B, channels, height, width) in [0, 1] and keys (P,) to images of the same shape."""

    def __call__(self, images: Tensor, keys: Tensor) -> Tensor: ...
