"""Compiled max-pools are PyTorch's to the bit, with a ReLU after them or not, where pixels tie or are NaN."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from fedtheory.neural import manual_backward, pooling
from fedtheory.neural.flat import FlatModel
from tests.neural.common import seeded

LAST = torch.channels_last
TYPES = [torch.float32, torch.float64, torch.bfloat16]
SHAPES = [(3, 16, 8, 6), (2, 5, 7, 9), (1, 1, 2, 3), (2, 33, 5, 4)]


def images(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Small whole numbers, so that many are equal, zeros of both signs, fractions, infinite ones and NaN."""
    draws = torch.Generator().manual_seed(0)
    x = torch.randint(-2, 3, shape, generator=draws).double()
    x *= torch.where(torch.rand(shape, generator=draws) < 0.5, 1.0, -1.0)  # -0.0 too
    x = torch.where(torch.rand(shape, generator=draws) < 0.3, torch.randn(shape, generator=draws).double(), x)
    for value in (float("nan"), -float("nan"), float("inf"), -float("inf")):
        x[torch.rand(shape, generator=draws) < 0.04] = value
    return x.to(dtype).to(memory_format=LAST)


def torchs(x: Tensor, kink: bool, slope: Tensor | None) -> tuple[Tensor, Tensor]:
    """The same by PyTorch's graph."""
    leaf = x.clone(memory_format=torch.preserve_format).requires_grad_()
    y = nn.functional.max_pool2d(leaf, 2)
    y = nn.functional.relu(y) if kink else y
    return y.detach(), torch.autograd.grad(y, [leaf], torch.ones_like(y) if slope is None else slope)[0]


def same(found: Tensor, expected: Tensor) -> bool:
    return torch.equal(found.isnan(), expected.isnan()) and torch.equal(found.nan_to_num(), expected.nan_to_num())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kink", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_pools_are_pytorchs(shape: tuple[int, ...], kink: bool, dtype: torch.dtype) -> None:
    x = images(shape, dtype)
    assert pooling.covers(nn.MaxPool2d(2), x)
    y, back = pooling.pooled(x, kink)
    slope = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    expected, expected_slope = torchs(x, kink, slope)
    assert same(y, expected)
    assert torch.equal(back(slope), expected_slope)
    assert torch.equal(back(slope.to(memory_format=LAST)), expected_slope)


def test_threads_share_images_out(monkeypatch: pytest.MonkeyPatch) -> None:
    x = images((7, 5, 6, 8), torch.float32)
    y, back = pooling.pooled(x, True)
    monkeypatch.setattr(pooling, "NUMBERS_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    threaded, threads_back = pooling.pooled(x, True)
    assert same(threaded, y)
    assert torch.equal(threads_back(y.nan_to_num()), back(y.nan_to_num()))


@pytest.mark.parametrize("layer", [
    nn.MaxPool2d(3), nn.MaxPool2d(2, 1), nn.MaxPool2d(2, 2, 1), nn.MaxPool2d(2, dilation=2), nn.MaxPool2d((2, 3)),
    nn.MaxPool2d(2, ceil_mode=True), nn.MaxPool2d(2, (2, 1)),
])  # fmt: skip
def test_other_pools_are_left_to_pytorch(layer: nn.MaxPool2d) -> None:
    assert not pooling.covers(layer, images((2, 5, 7, 9), torch.float32))


def test_other_images_are_left_to_pytorch() -> None:
    x, layer = images((2, 5, 8, 6), torch.float32), nn.MaxPool2d(2, (2, 2))
    assert pooling.covers(layer, x)
    assert not pooling.covers(layer, x.contiguous())
    assert not pooling.covers(layer, x.half())
    assert not pooling.covers(layer, x[:0])


@pytest.mark.parametrize("window", [2, 3])
def test_a_pool_takes_the_relu_after_it_along(window: int) -> None:
    layers = nn.Sequential(
        nn.Conv2d(3, 4, 1), nn.Tanh(), nn.MaxPool2d(window), nn.ReLU(), nn.Conv2d(4, 3, 1), nn.Flatten(),
        nn.LazyLinear(4),
    )  # fmt: skip
    layers(torch.ones(1, 3, 8, 8))
    model = FlatModel(seeded(lambda: layers))
    assert len(manual_backward._steps(model)) == len(layers) - 1
    x, features = model.unflattened(model.initial(0)), images((4, 3, 8, 8), torch.float32).nan_to_num(0, 1, -1)
    labels = torch.tensor([0, 1, 2, 3])
    leaves = {name: value.clone().requires_grad_() for name, value in x.items()}
    expected = nn.functional.cross_entropy(model.scores(leaves, features), labels)
    loss, slopes = manual_backward.loss_and_slopes(model, x, features, labels, None, ())
    assert torch.allclose(loss, expected.detach(), rtol=1e-6)
    for slope, true in zip(slopes, torch.autograd.grad(expected, list(leaves.values())), strict=True):
        assert torch.allclose(slope, true, rtol=1e-4, atol=1e-6)
