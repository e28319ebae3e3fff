"""Gradients written out are PyTorch's own, bytes are the same numbers, products those of the BLAS."""

from __future__ import annotations

import gc
import sys

import pytest
import torch
from torch import Tensor, nn

from fedtheory.federations.memory_ledger import peak_bytes
from fedtheory.neural import Batches, FlatModel, Samples, Visits, evaluate, gradients, local_update, models
from fedtheory.neural.flat import cross_entropy, mean_loss
from fedtheory.neural.manual_backward import _loss_and_slope, covers, loss_and_slopes
from fedtheory.neural.matrix_products import LEAST, LEAST_IN_HALVES, product
from tests.neural.common import seeded

LAYERS = {
    "strided": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.Tanh(), nn.MaxPool2d(3, 2, 1), nn.Flatten(), nn.Linear(32, 10)
    ),
    "grouped, without biases": lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3, groups=3, bias=False),
        nn.AvgPool2d(2),
        nn.GELU(),
        nn.Flatten(),
        nn.Linear(54, 10, bias=False),
    ),
    "odd sizes": lambda: nn.Sequential(
        nn.ReLU(), nn.Conv2d(3, 4, 2), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True), nn.Flatten(), nn.Linear(64, 10)
    ),
    "dropout": lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.Dropout2d(0.5), nn.Flatten(), nn.Dropout(0.3), nn.Linear(144, 10)
    ),
}


def batches() -> Batches:
    """Whole numbers, so that pixels that are pooled are often equal."""
    draws = torch.Generator().manual_seed(0)
    images = torch.randint(-2, 3, (2, 6, 3, 8, 8), generator=draws).float()
    weights = torch.rand(2, 6, generator=draws)
    return Batches(images, torch.randint(10, (2, 6), generator=draws), torch.tensor([3, 4]), weights)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_written_out_are_autograds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FlatModel(seeded(LAYERS[name]))
    x = torch.stack([model.initial(seed) for seed in (0, 1)])
    assert covers(model, x, "float32")
    losses, found = gradients(model, x, batches(), "loop")
    monkeypatch.setattr(sys.modules["fedtheory.neural.gradients"], "covers", lambda *given: False)
    expected_losses, expected = gradients(model, x, batches(), "loop")
    assert torch.allclose(losses, expected_losses, rtol=1e-6)
    assert float((found - expected).abs().max()) < 1e-6


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_of_cross_entropy_is_autograds(dtype: torch.dtype, weighted: bool) -> None:
    draws = torch.Generator().manual_seed(0)
    scores = 3 * torch.randn(7, 5, generator=draws, dtype=dtype)
    labels = torch.randint(5, (7,), generator=draws)
    weights = torch.rand(7, generator=draws) if weighted else None  # single, whatever the precision of models
    loss, slope = _loss_and_slope(FlatModel(nn.Linear(3, 5)), scores.clone(), labels, weights)
    leaf = scores.requires_grad_()
    expected = mean_loss(cross_entropy(leaf, labels), weights)
    (expected_slope,) = torch.autograd.grad(expected, [leaf])
    assert loss.dtype == slope.dtype == dtype
    assert torch.allclose(loss, expected.detach(), rtol=1e-6)
    assert float((slope - expected_slope).abs().max()) < (1e-7 if dtype == torch.float32 else 1e-15)


def test_gradients_are_of_the_type_of_parameters() -> None:
    """So that what a solver remembers is."""
    model, given = FlatModel(seeded(LAYERS["strided"])), batches()
    tensors = model.unflattened(model.initial(0))
    loss, slopes = loss_and_slopes(model, tensors, given.features[0], given.labels[0], None, (), "bfloat16")
    assert {loss.dtype, *(each.dtype for each in slopes)} == {torch.float32}


@pytest.mark.parametrize("name", LAYERS)
def test_bfloat16_written_out_is_autocasts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same roundings, which are a hundred times as far from the numbers of full precision."""
    model = FlatModel(seeded(LAYERS[name]))
    x = torch.stack([model.initial(seed) for seed in (0, 1)])
    full = gradients(model, x, batches(), "loop")[1]
    losses, found = gradients(model, x, batches(), "loop", "bfloat16")
    monkeypatch.setattr(sys.modules["fedtheory.neural.gradients"], "covers", lambda *given: False)
    expected_losses, expected = gradients(model, x, batches(), "loop", "bfloat16")
    assert float((found - expected).norm()) < 1e-4 * float(expected.norm()) < float((full - expected).norm())
    assert torch.allclose(losses, expected_losses, rtol=1e-6)


def test_a_gradient_leaves_nothing_to_the_collector() -> None:
    """Results of layers that only a search for cycles frees would add up over the steps."""
    model = FlatModel(seeded(LAYERS["dropout"]))
    x, given = model.initial(0).expand(2, -1), batches()
    collecting = gc.isenabled()
    gc.disable()
    try:
        gradients(model, x, given, "loop")
        one, four = (peak_bytes(lambda n=n: [gradients(model, x, given, "loop")[0] for _ in range(n)]) for n in (1, 4))
    finally:
        if collecting:
            gc.enable()
    assert four < 1.2 * one


def test_what_is_not_covered_is_left_to_autograd() -> None:
    dense, x = FlatModel(nn.Linear(3, 2)), torch.zeros(2)
    assert covers(dense, x, "float32") and covers(dense, x.double(), "float32") and covers(dense, x, "bfloat16")
    assert not covers(dense, x.double(), "bfloat16")
    for module in (nn.GRU(3, 2), models.resnet18_group_norm(10), models.fast_char_lstm()):
        assert not covers(FlatModel(module), x, "float32")


@pytest.mark.parametrize("bias", [None, torch.arange(300.0)])
def test_a_large_product_is_the_blas_product(bias: Tensor | None) -> None:
    x, weight = torch.randn(64, 200), torch.randn(300, 200)
    assert x.shape[0] * weight.numel() > LEAST
    expected = x.double() @ weight.double().t() + (0 if bias is None else bias.double())
    for left, right in ((x, weight), (x.t().contiguous().t(), weight.t().contiguous().t())):
        assert float((product(left, right, bias) - expected).abs().max()) < 1e-4


@pytest.mark.parametrize("bias", [None, torch.arange(10.0).bfloat16()])
@pytest.mark.parametrize("inputs", [48, 3000])
def test_a_product_in_bfloat16_is_rounded_once(inputs: int, bias: Tensor | None) -> None:
    draws = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(rows, inputs, generator=draws).bfloat16() for rows in (32, 10))
    assert (32 * weight.numel() < LEAST_IN_HALVES) == (inputs == 48)
    found = product(x, weight, bias)
    expected = x.double() @ weight.double().t() + (0 if bias is None else bias.double())
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.double(), expected, rtol=2**-8, atol=1e-4)


@pytest.mark.parametrize("mean, std", [((), ()), ((0.3, 0.5, 0.1), (0.2, 0.4, 0.7))])
@pytest.mark.parametrize("path", ["loop", "grouped"])
def test_bytes_are_the_same_numbers(path: str, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    """Training has the same bits; evaluation takes the divisions into the weights, and differs by rounding."""
    draws = torch.Generator().manual_seed(0)
    images, labels = (
        torch.randint(256, (30, 3, 8, 8), generator=draws).byte(),
        torch.randint(10, (30,), generator=draws),
    )
    kept, numbers = Samples(images, labels, mean, std), images.float() / 255
    if std:
        numbers = (numbers - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)
    model = FlatModel(models.multinomial_logistic(192))
    start = torch.stack([model.initial(seed) for seed in range(3)])
    visits = Visits(torch.randint(30, (3, 4, 5), generator=draws))
    mine, theirs = (
        local_update(model, start, each, visits, 0.1, path=path) for each in (kept, Samples(numbers, labels))
    )
    assert torch.equal(mine.models, theirs.models) and torch.equal(mine.losses, theirs.losses)
    assert torch.equal(kept.features, images)
    for got, expected in zip(
        evaluate(model, start, kept), evaluate(model, start, Samples(numbers, labels)), strict=True
    ):
        assert torch.allclose(got, expected, rtol=1e-5)
