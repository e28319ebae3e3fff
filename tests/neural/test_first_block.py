"""A convolution, a max-pool and a ReLU in one compiled pass are PyTorch's three, and so are its gradients."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from fedtheory.neural import FlatModel, first_block, manual_backward, models, pooling
from tests.neural.common import seeded

POOL = nn.MaxPool2d(2)
CASES = [
    # channels, outputs, padding, height, width
    (1, 16, (1, 1), 8, 6),
    (3, 32, (0, 0), 7, 9),
    (4, 16, (1, 0), 5, 5),
    (2, 48, (2, 1), 3, 4),
]


def images(channels: int, height: int, width: int, count: int = 5) -> Tensor:
    """Small whole numbers, so that pixels tie."""
    draws = torch.Generator().manual_seed(0)
    return torch.randint(-2, 3, (count, channels, height, width), generator=draws).float()


def block(channels: int, outputs: int, padding: tuple[int, int], bias: bool = True) -> nn.Conv2d:
    layer = seeded(lambda: nn.Conv2d(channels, outputs, 3, padding=padding, bias=bias))
    with torch.no_grad():
        layer.weight.mul_(8).round_().div_(4)  # sums without rounding, hence equal ones
        if bias:
            layer.bias.mul_(4).round_().div_(4)
    return layer  # type: ignore[return-value]


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("kink, bias", list(itertools.product([True, False], repeat=2)))
@pytest.mark.parametrize("channels, outputs, padding, height, width", CASES)
def test_one_pass_is_pytorchs_three(
    channels: int, outputs: int, padding: tuple[int, int], height: int, width: int, kink: bool, bias: bool, last: bool
) -> None:
    layer, x = block(channels, outputs, padding, bias), images(channels, height, width)
    x = x.to(memory_format=torch.channels_last) if last else x
    assert first_block.covers(layer, POOL, x, layer.weight)
    expected = functional.max_pool2d(layer(x), 2)
    expected = functional.relu(expected) if kink else expected
    slope = torch.randint(-3, 4, expected.shape, generator=torch.Generator().manual_seed(1)).float()
    y, back = first_block.forwards(layer, x, layer.weight.detach(), layer.bias.detach() if bias else None, kink)
    assert torch.equal(y, expected)
    found, leaves = back(slope), list(layer.parameters())
    for mine, theirs in zip(found.values(), torch.autograd.grad(expected, leaves, slope), strict=bias):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("kink", [True, False])
@pytest.mark.parametrize("channels, outputs, padding, height, width", CASES)
def test_in_bfloat16_what_goes_in_and_what_comes_out_is_rounded(
    channels: int, outputs: int, padding: tuple[int, int], height: int, width: int, kink: bool
) -> None:
    layer = seeded(lambda: nn.Conv2d(channels, outputs, 3, padding=padding)).bfloat16().float()
    x = torch.rand(5, channels, height, width, generator=torch.Generator().manual_seed(2))
    weight, bias = layer.weight.detach().bfloat16(), layer.bias.detach().bfloat16()
    assert first_block.covers(layer, POOL, x, weight)
    expected = functional.max_pool2d(layer(x.bfloat16().float()), 2)
    expected = functional.relu(expected) if kink else expected
    slope = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1)).bfloat16()
    y, back = first_block.forwards(layer, x, weight, bias, kink)
    assert y.dtype == torch.bfloat16
    assert torch.allclose(y.float(), expected, rtol=2**-8, atol=1e-6)
    assert float((y != expected.bfloat16()).float().mean()) < 0.01  # where sums in another order round otherwise
    found = list(back(slope).values())
    assert {each.dtype for each in found} == {torch.bfloat16}
    for mine, theirs in zip(found, torch.autograd.grad(expected, list(layer.parameters()), slope.float()), strict=True):
        assert torch.allclose(mine.float(), theirs, rtol=2**-8, atol=1e-5)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_go_through(bad: float) -> None:
    layer, x = block(1, 16, (1, 1)), images(1, 8, 6)
    x[1, 0, 3, 4] = bad
    for kink in (True, False):
        expected = functional.max_pool2d(layer(x), 2)
        expected = functional.relu(expected) if kink else expected
        y, back = first_block.forwards(layer, x, layer.weight.detach(), layer.bias.detach(), kink)
        assert torch.equal(y.isnan(), expected.isnan()) and torch.equal(y.nan_to_num(), expected.nan_to_num())
        found = back(torch.ones_like(y))["bias"]
        (bias,) = torch.autograd.grad(expected, [layer.bias], torch.ones_like(y))
        assert torch.equal(found, bias)


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = seeded(lambda: nn.Conv2d(3, 16, 3)), torch.rand(7, 3, 9, 8, generator=torch.Generator().manual_seed(3))
    weight, bias = layer.weight.detach(), layer.bias.detach()
    y, back = first_block.forwards(layer, x, weight, bias, True)
    monkeypatch.setattr(pooling, "NUMBERS_A_THREAD", 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    threaded, threads_back = first_block.forwards(layer, x, weight, bias, True)
    assert torch.equal(threaded, y)
    assert all(torch.equal(a, b) for a, b in zip(threads_back(y).values(), back(y).values(), strict=True))


@pytest.mark.parametrize("change", [
    {"kernel_size": 5}, {"stride": 2}, {"dilation": 2}, {"groups": 2}, {"out_channels": 24}, {"padding": "same"},
    {"in_channels": 6},
])  # fmt: skip
def test_other_convolutions_are_left_to_onednn(change: dict[str, int]) -> None:
    options = {"in_channels": 2, "out_channels": 16, "kernel_size": 3, **change}
    layer, x = nn.Conv2d(**options), images(options["in_channels"], 9, 9)  # type: ignore[arg-type]
    assert not first_block.covers(layer, POOL, x, layer.weight)
    assert not first_block.covers(nn.Conv2d(2, 16, 3), nn.MaxPool2d(3), images(2, 9, 9), layer.weight)
    assert not first_block.covers(nn.Conv2d(2, 16, 3), POOL, images(2, 9, 9).double(), layer.weight)
    assert not first_block.covers(nn.Conv2d(2, 16, 3), POOL, images(2, 3, 9), layer.weight)
    assert first_block.covers(nn.Conv2d(2, 16, 3), POOL, images(2, 4, 9), layer.weight)


@pytest.mark.parametrize("make, shape, passes", [
    (models.small_cnn, (1, 28, 28), 6), (lambda: models.fast_cifar_cnn(dropout=0), (3, 32, 32), 7),
    (lambda: models.fedau_cnn("cifar-10"), (3, 32, 32), 8),
])  # fmt: skip
def test_networks_begin_with_it(make, shape, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """The first convolution only: the others have to hand gradients down."""
    model, calls = FlatModel(seeded(make)), []
    used = first_block.forwards
    monkeypatch.setattr(first_block, "forwards", lambda *given: calls.append(given[0]) or used(*given))
    # Of some images two pixels of a pool differ by a rounding: the passes may then take different ones.
    features = torch.rand(4, *shape, generator=torch.Generator().manual_seed(0))
    x = model.unflattened(model.initial(0))
    loss, slopes = manual_backward.loss_and_slopes(model, x, features, torch.tensor([0, 1, 2, 3]), None, ())
    assert len(calls) == 1 and calls[0].in_channels == shape[0]
    assert len(manual_backward._steps(model)) == passes
    monkeypatch.setattr(first_block, "covers", lambda *given: False)
    other, others = manual_backward.loss_and_slopes(model, x, features, torch.tensor([0, 1, 2, 3]), None, ())
    assert torch.allclose(loss, other, rtol=1e-6)
    for mine, theirs in zip(slopes, others, strict=True):
        assert float((mine - theirs).norm()) < 1e-5 * float(theirs.norm())


def test_a_block_after_another_layer_hands_its_gradient_down() -> None:
    module = nn.Sequential(
        nn.Conv2d(1, 4, 1), nn.Conv2d(4, 16, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 9, 4)
    )
    model = FlatModel(seeded(lambda: module))
    x, features, labels = model.unflattened(model.initial(0)), torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 2, 3])
    loss, slopes = manual_backward.loss_and_slopes(model, x, features, labels, None, ())
    leaves = {name: value.clone().requires_grad_() for name, value in x.items()}
    expected = functional.cross_entropy(model.scores(leaves, features), labels)
    assert torch.allclose(loss, expected.detach(), rtol=1e-6)
    for mine, theirs in zip(slopes, torch.autograd.grad(expected, list(leaves.values())), strict=True):
        assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-6)
