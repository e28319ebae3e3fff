"""Random changes of images in training, on the device, for all pairs at once, each drawn by a key of its own.

Images are (P, B, channels, height, width) in [0, 1]. What an image gets is a function of its pair's key and its place
in the batch, so it does not depend on what else is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ..randomness import Axis, refined, uniforms, words

FEDAU_MEANS = {
    "svhn": (0.4376821, 0.4437697, 0.47280442),
    "cifar-10": (0.4914, 0.4822, 0.4465),
    "cifar-100": (0.4914, 0.4822, 0.4465),
    "cinic-10": (0.47889522, 0.47227842, 0.43047404),
}
"""The channels' means by which FedAU's authors normalise."""


def augmentation_keys(seed: int, replica: Tensor, client: Tensor, round: int | Tensor, step: Tensor | int) -> Tensor:
    """Return the keys of one step's augmentation, int64, in the common shape of the coordinates.

    >>> import torch
    >>> augmentation_keys(0, torch.arange(3), torch.arange(3), round=5, step=0).shape
    torch.Size([3])
    """
    return words(seed, Axis.AUGMENTATION, replica, client, round, step)


class Change:
    """Base of the changes of images.

    A subclass says with ``draws`` how many uniform numbers an image takes. Its ``apply`` changes images (N, channels,
    height, width) by draws (N, draws) in (0, 1).
    """

    draws: int

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Change the images (N, channels, height, width) by the numbers ``draws`` (N, draws), uniform in (0, 1)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Crop(Change):
    """Random crop: a part of the old size is cut out anywhere of the image framed with ``padding`` pixels.

    The frame has the colour ``fill``, one number, or one a channel.
    """

    padding: int = 4
    fill: float | Sequence[float] = 0.0
    draws = 2

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Cut a window out of each padded image."""
        height, width = images.shape[-2:]
        pad, fill = self.padding, torch.as_tensor(self.fill, dtype=images.dtype, device=images.device).view(1, -1, 1, 1)
        framed = torch.nn.functional.pad(images - fill, (pad, pad, pad, pad)) + fill
        corner = (draws * (2 * pad + 1)).long()
        rows = corner[:, :1] + torch.arange(height, device=images.device)
        columns = corner[:, 1:] + torch.arange(width, device=images.device)
        image = torch.arange(len(images), device=images.device).view(-1, 1, 1, 1)
        channel = torch.arange(images.shape[1], device=images.device).view(1, -1, 1, 1)
        return framed[image, channel, rows[:, None, :, None], columns[:, None, None, :]]


@dataclass(frozen=True)
class Flip(Change):
    """Random flip: left and right are swapped, with ``probability``."""

    probability: float = 0.5
    draws = 1

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Mirror some of the images."""
        return torch.where(_column(draws < self.probability), images.flip(-1), images)


@dataclass(frozen=True)
class Sharpness(Change):
    """Random sharpening: with ``probability``, factor * image + (1 - factor) * blurred, cut to [0, 1].

    The blur weighs a pixel by 5/13 and its eight neighbours by 1/13, and leaves the border as it is.
    """

    factor: float = 2.0
    probability: float = 0.5
    draws = 1

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Sharpen some of the images."""
        inner = sum(
            images[..., 1 + i : images.shape[-2] - 1 + i, 1 + j : images.shape[-1] - 1 + j] * (5 if i == j == 0 else 1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
        )
        blurred = images.clone()
        blurred[..., 1:-1, 1:-1] = inner / 13
        sharp = (self.factor * images + (1 - self.factor) * blurred).clamp(0, 1)
        return torch.where(_column(draws < self.probability), sharp, images)


@dataclass(frozen=True)
class Jitter(Change):
    """Random colours: brightness is multiplied by a number uniform in 1 +- ``brightness``, cut to [0, 1].

    Then the hue is turned by a part of the circle uniform in +- ``hue``.
    """

    brightness: float = 0.05
    hue: float = 0.05
    draws = 2

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Change brightness and hue."""
        change = (2 * draws - 1).to(images.dtype)
        bright = (images * _column(1 + self.brightness * change[:, :1])).clamp(0, 1)
        return turned(bright, self.hue * change[:, 1])


@dataclass(frozen=True)
class Posterize(Change):
    """Random coarsening: with ``probability``, only the first ``bits`` of the eight of a grey value are kept."""

    bits: int = 2
    probability: float = 0.5
    draws = 1

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Coarsen the grey values of some of the images."""
        step = 2 ** (8 - self.bits)
        coarse = (_levels(images) // step * step).to(images.dtype) / 255
        return torch.where(_column(draws < self.probability), coarse, images)


@dataclass(frozen=True)
class Equalize(Change):
    """Random equalisation: with ``probability``, every channel's grey values are mapped so that their histogram becomes
    flat.

    The rule is that of the Python Imaging Library: value v becomes (step // 2 + how many pixels are below v) // step.
    Here step is the 255th part of all pixels but those of the largest value; nothing changes where it is 0.
    """

    probability: float = 0.5
    draws = 1

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        """Equalise some of the images."""
        levels = _levels(images).flatten(2)
        counts = torch.zeros(*levels.shape[:2], 256, dtype=torch.int64, device=images.device)
        counts.scatter_add_(2, levels, torch.ones_like(levels))
        largest = levels.amax(2, keepdim=True)
        step = (levels.shape[2] - counts.gather(2, largest)) // 255
        below = counts.cumsum(2) - counts
        table = ((below + step // 2) // step.clamp(min=1)).clamp(max=255)
        flat = (table.gather(2, levels).to(images.dtype) / 255).view_as(images)
        chosen = (draws < self.probability) & (step[..., 0] > 0)
        return torch.where(chosen[..., None, None], flat, images)


@dataclass(frozen=True)
class Augmentation:
    """Changes that are applied one after the other, each image's drawn on its own.

    With ``per="batch"`` there is one draw for all images of a batch, as transforms of a whole batch at once have it.

    >>> images = torch.rand(2, 3, 1, 8, 8)
    >>> Augmentation((Crop(2), Flip()))(images, augmentation_keys(0, torch.arange(2), torch.arange(2), 0, 0)).shape
    torch.Size([2, 3, 1, 8, 8])
    """

    changes: tuple[Change, ...]
    per: str = "image"

    def __post_init__(self) -> None:
        if self.per not in ("image", "batch"):
            raise ValueError(f"per = {self.per!r}: allowed is 'image' or 'batch'")

    def __call__(self, images: Tensor, keys: Tensor) -> Tensor:
        """Images (P, B, channels, height, width) in [0, 1], changed by the draws of ``keys`` (P,)."""
        if images.dim() != 5 or not images.dtype.is_floating_point:
            raise ValueError(
                f"images have shape {tuple(images.shape)} and type {images.dtype}: allowed are numbers in [0, 1] of "
                "shape (P, B, channels, height, width)"
            )
        place = torch.arange(images.shape[1], device=images.device)
        changed = images.flatten(0, 1)
        for number, change in enumerate(self.changes):
            each = refined(keys[:, None], place if self.per == "image" else torch.zeros_like(place), number)
            draws = uniforms(refined(each[..., None], torch.arange(change.draws, device=images.device)))
            changed = change.apply(changed, draws.flatten(0, 1))
        return changed.view_as(images)


def fedau(dataset: str, per: str = "image", fill: float | Sequence[float] | None = None) -> Augmentation:
    """FedAU's augmentation (appendix C.2) for "svhn", "cifar-10", "cifar-100" or "cinic-10".

    The paper names the kinds: cropping for SVHN; cropping and flipping for CIFAR-10 and CINIC-10; sharpness, colour
    jitter, posterization, equalization, cropping and flipping for CIFAR-100. Strengths are those of the authors' code:
    padding 4; sharpness 2, brightness and hue .05, 2 bits; each with probability 1/2 where it is not a range.
    There the frame of a crop is 0 after normalisation, so ``fill`` is the channels' mean by default (the images given
    here are not normalised yet), and a whole batch is changed alike, which ``per="batch"`` does; the default draws for
    each image, as the paper's words would have it.

    Raises:
        ValueError: for another data set.
    """
    if dataset not in FEDAU_MEANS:
        raise ValueError(f"dataset = {dataset!r}: allowed is one of {', '.join(FEDAU_MEANS)}")
    crop = Crop(4, FEDAU_MEANS[dataset] if fill is None else fill)
    if dataset == "svhn":
        return Augmentation((crop,), per)
    if dataset == "cifar-100":
        return Augmentation((Sharpness(), Jitter(), Posterize(), Equalize(), crop, Flip()), per)
    return Augmentation((crop, Flip()), per)


def turned(images: Tensor, shift: Tensor) -> Tensor:
    """Turn the hue of images (N, 3, height, width) by ``shift`` (N,) parts of the circle."""
    red, green, blue = images.unbind(1)
    value, least = images.amax(1), images.amin(1)
    chroma = value - least
    safe = torch.where(chroma == 0, 1.0, chroma)
    of_red, of_green = (green - blue) / safe, 2 + (blue - red) / safe
    hue = torch.where(value == red, of_red, torch.where(value == green, of_green, 4 + (red - green) / safe))
    hue = hue + 6 * shift.to(images.dtype).view(-1, 1, 1)
    channels = []
    for offset in (5, 3, 1):
        k = torch.remainder(hue + offset, 6)
        channels.append(value - chroma * torch.minimum(k, 4 - k).clamp(0, 1))
    return torch.stack(channels, 1)


def _column(draws: Tensor) -> Tensor:
    """(N, 1) as (N, 1, 1, 1)."""
    return draws.view(-1, 1, 1, 1)


def _levels(images: Tensor) -> Tensor:
    """Grey values 0 to 255, int64."""
    return (images * 255).round().clamp(0, 255).long()
