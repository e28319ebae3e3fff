"""Augmentations do what is stated, by comparison with the Python Imaging Library and with loops over images."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from fedtheory.neural.augmentation import (
    FEDAU_MEANS,
    Augmentation,
    Change,
    Crop,
    Equalize,
    Flip,
    Jitter,
    Posterize,
    Sharpness,
    augmentation_keys,
    fedau,
    turned,
)


def grey_levels(count: int = 6, low: int = 0, high: int = 256) -> Tensor:
    """(count, 3, 9, 11) of multiples of 1/255."""
    draws = torch.Generator().manual_seed(0)
    return torch.randint(low, high, (count, 3, 9, 11), generator=draws).float() / 255


def as_image(image: Tensor) -> Image.Image:
    return Image.fromarray((image.permute(1, 2, 0) * 255).round().byte().numpy())


def as_tensor(image: Image.Image) -> Tensor:
    return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).float() / 255


def always(change: Change, images: Tensor) -> Tensor:
    return change.apply(images, torch.zeros(len(images), change.draws, dtype=torch.float64))


def keys(pairs: int, round: int = 0) -> Tensor:
    return augmentation_keys(0, torch.arange(pairs), torch.arange(pairs) + 7, round, 0)


@pytest.mark.parametrize("bits", [1, 2, 5, 8])
def test_posterize_is_the_imaging_librarys(bits: int) -> None:
    images = grey_levels()
    expected = torch.stack([as_tensor(ImageOps.posterize(as_image(each), bits)) for each in images])
    assert torch.equal(always(Posterize(bits), images), expected)


@pytest.mark.parametrize("low, high", [(0, 256), (100, 140), (17, 18), (3, 5)])
def test_equalize_is_the_imaging_librarys(low: int, high: int) -> None:
    images = torch.nn.functional.interpolate(grey_levels(low=low, high=high), (40, 40))  # more pixels than levels
    expected = torch.stack([as_tensor(ImageOps.equalize(as_image(each))) for each in images])
    assert torch.equal(always(Equalize(), images), expected)


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0])
def test_sharpness_is_the_imaging_librarys_up_to_its_rounding(factor: float) -> None:
    images = grey_levels()
    expected = torch.stack([as_tensor(ImageEnhance.Sharpness(as_image(each)).enhance(factor)) for each in images])
    assert float((always(Sharpness(factor), images) - expected).abs().max()) <= 2 / 255


def test_hue_turns_as_in_the_standard_library() -> None:
    images, shift = grey_levels(3).double(), torch.tensor([0.0, 0.3, -0.45], dtype=torch.float64)
    found = turned(images, shift)
    for image, each, turn in zip(images, found, shift.tolist(), strict=True):
        for row in range(9):
            for column in range(11):
                hue, saturation, value = colorsys.rgb_to_hsv(*image[:, row, column].tolist())
                expected = colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)
                assert each[:, row, column].tolist() == pytest.approx(expected, abs=1e-12)


def test_jitter_scales_brightness_first() -> None:
    images = grey_levels(2)
    middle = torch.full((2, 2), 0.5, dtype=torch.float64)
    assert float((Jitter().apply(images, middle) - images).abs().max()) < 1e-6
    bright = Jitter(brightness=0.5, hue=0.0).apply(images, torch.ones(2, 2, dtype=torch.float64))
    assert float((bright - (1.5 * images).clamp(max=1)).abs().max()) < 1e-6


def test_crop_cuts_from_a_frame_of_the_fill() -> None:
    images, fill = grey_levels(50), (0.1, 0.2, 0.3)
    draws = torch.rand(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = Crop(2, fill).apply(images, draws)
    seen = set()
    for image, each, (down, right) in zip(images, found, (draws * 5).floor().long().tolist(), strict=True):
        framed = torch.tensor(fill).view(3, 1, 1).expand(3, 13, 15).clone()
        framed[:, 2:-2, 2:-2] = image
        assert float((each - framed[:, down : down + 9, right : right + 11]).abs().max()) < 1e-6
        seen.add((down, right))
    assert {down for down, _ in seen} == {right for _, right in seen} == {0, 1, 2, 3, 4}


def test_flips_are_fair_and_mirror() -> None:
    images = torch.rand(1, 2000, 1, 2, 3)
    found = Augmentation((Flip(),))(images, keys(1))
    flipped = (found == images.flip(-1)).flatten(2).all(2)
    assert ((found == images).flatten(2).all(2) ^ flipped).all()
    assert abs(float(flipped.float().mean()) - 0.5) < 4 * 0.5 / 2000**0.5


@pytest.mark.parametrize("dataset", FEDAU_MEANS)
def test_draws_depend_on_nothing_that_shares_the_batch(dataset: str) -> None:
    images = torch.rand(3, 5, 3, 9, 11)
    augment = fedau(dataset)
    found = augment(images, keys(3))
    assert torch.equal(augment(images[1:2], keys(3)[1:2]), found[1:2])
    assert torch.equal(augment(images[:, :2], keys(3)), found[:, :2])
    assert not torch.equal(augment(images, keys(3, round=1)), found)


def test_a_batch_may_be_changed_alike() -> None:
    images = torch.rand(2, 1, 3, 9, 11).expand(2, 8, 3, 9, 11)
    alike = fedau("cifar-10", per="batch")(images, keys(2))
    assert (alike == alike[:, :1]).all()
    single = fedau("cifar-10")(images, keys(2))
    assert (single != single[:, :1]).any()


def test_fedaus_changes_are_those_of_the_appendix() -> None:
    kinds = {name: [type(each) for each in fedau(name).changes] for name in FEDAU_MEANS}
    assert kinds["svhn"] == [Crop]
    assert kinds["cifar-10"] == kinds["cinic-10"] == [Crop, Flip]
    assert kinds["cifar-100"] == [Sharpness, Jitter, Posterize, Equalize, Crop, Flip]


def test_what_cannot_be_augmented_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed is one of svhn"):
        fedau("mnist")
    with pytest.raises(ValueError, match="'image' or 'batch'"):
        fedau("svhn", per="pixel")
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        fedau("svhn")(torch.rand(2, 3), keys(2))
