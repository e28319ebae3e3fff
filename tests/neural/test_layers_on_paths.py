"""Every layer's gradient on every path is that of torch.func, in double precision; a path that has not got a layer says
why, and the others still have it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad

from fedtheory.neural import Batches, FlatModel, gradients, manual_backward
from fedtheory.neural.gradients import fastest
from fedtheory.neural.grouped import refusal
from fedtheory.neural.models import LastOutput, Residual
from tests.neural.common import seeded

PAIRS, BATCH, CLASSES = 2, 5, 4
IMAGE, VECTOR, ROWS, TEXT = (3, 9, 7), (6,), (3, 6), (4,)
POOLED = (nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())


class Doubled(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def repeated() -> nn.Module:
    layer = nn.Linear(6, 6)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(6, CLASSES))


def tied() -> nn.Module:
    first, second = nn.Linear(6, 6), nn.Linear(6, 6)
    second.weight = first.weight
    return nn.Sequential(first, nn.Tanh(), second, nn.Linear(6, CLASSES))


def hooked() -> nn.Module:
    module = nn.Sequential(nn.Linear(6, CLASSES))
    module[0].register_forward_hook(lambda layer, given, found: 3 * found)
    return module


def images(*layers: nn.Module) -> nn.Module:
    """Those layers between convolutions of 3 and from 4 channels, which make its gradients and its input's matter."""
    return nn.Sequential(nn.Conv2d(3, 4, 1), *layers, nn.LazyConv2d(3, 2), nn.Flatten(), nn.LazyLinear(CLASSES))


def vectors(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 6), *layers, nn.Linear(6, CLASSES))


def symbols(embedding: nn.Embedding, *layers: nn.Module) -> nn.Module:
    return nn.Sequential(embedding, *(layers or (nn.Flatten(),)), nn.LazyLinear(CLASSES))


WRITTEN: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "dense": (lambda: vectors(), VECTOR),
    "dense, no bias": (lambda: nn.Sequential(nn.Linear(6, 5, bias=False), nn.Linear(5, CLASSES, bias=False)), VECTOR),
    "dense, along rows": (lambda: nn.Sequential(nn.Linear(6, 5), nn.Flatten(), nn.Linear(15, CLASSES)), ROWS),
    "dense, alone": (lambda: nn.Linear(6, CLASSES), VECTOR),
    "dense, alone, no bias": (lambda: nn.Linear(6, CLASSES, bias=False), VECTOR),
    "dense, twice without a kink": (lambda: (lambda each: nn.Sequential(each, each))(nn.Linear(6, 6)), VECTOR),
    "dense, then flat": (lambda: nn.Sequential(nn.Linear(6, 2), nn.Flatten()), ROWS),
    "the same in two places": (repeated, VECTOR),
    "convolution, odd": (lambda: images(nn.Conv2d(4, 5, (3, 2), (2, 1), (1, 0), (1, 2))), IMAGE),
    "convolution, no bias": (lambda: images(nn.Conv2d(4, 5, 3, 2, bias=False)), IMAGE),
    "convolution, in groups": (lambda: images(nn.Conv2d(4, 6, 3, padding=2, groups=2)), IMAGE),
    "kink at 0": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 1, bias=False), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(4)
        ),
        IMAGE,
    ),
    "kink before mean-pool": (lambda: images(nn.ReLU(), nn.AvgPool2d(2)), IMAGE),
    "kink before max-pool": (lambda: images(nn.ReLU(), nn.MaxPool2d(2)), IMAGE),
    "max-pool, overlapping": (lambda: images(nn.MaxPool2d(3, 1, 1), nn.ReLU()), IMAGE),
    "max-pool, to the edge": (lambda: images(nn.MaxPool2d((2, 3), ceil_mode=True)), IMAGE),
    "max-pool, spread": (lambda: images(nn.MaxPool2d(2, 2, 1, 2)), IMAGE),
    "mean-pool": (lambda: images(nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)), IMAGE),
    "mean-pool to a size": (lambda: images(nn.AdaptiveAvgPool2d((4, 3))), IMAGE),
    "dropout": (lambda: images(nn.Dropout(0.3), nn.Dropout2d(0.5), nn.ReLU(), nn.Dropout(0.2)), IMAGE),
    "dropout of vectors": (lambda: vectors(nn.Dropout(0.5), nn.Tanh(), nn.Dropout(0.25)), VECTOR),
    **{
        each.__name__ + (", in place" if options else ""): (lambda e=each, o=options: vectors(e(**o)), VECTOR)
        for each, options in [
            *((each, {}) for each in (nn.ReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.ELU, nn.SiLU, nn.LeakyReLU)),
            *((each, {"inplace": True}) for each in (nn.ReLU, nn.ELU, nn.SiLU, nn.LeakyReLU)),
        ]
    },
    "nothing": (lambda: vectors(nn.Identity()), VECTOR),
}
"""Whose gradients are written out."""

GROUPED: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "group norm": (lambda: images(nn.GroupNorm(2, 4), nn.ReLU(), nn.GroupNorm(4, 4, affine=False)), IMAGE),
    "group norm of vectors": (lambda: vectors(nn.GroupNorm(3, 6)), VECTOR),
    "batch norm": (lambda: images(nn.BatchNorm2d(4, track_running_stats=False)), IMAGE),
    "batch norm, plain": (lambda: vectors(nn.BatchNorm1d(6, affine=False, track_running_stats=False)), VECTOR),
    "embedding": (lambda: symbols(nn.Embedding(3, 5)), TEXT),
    "embedding with padding": (lambda: symbols(nn.Embedding(3, 5, padding_idx=-2)), TEXT),
    "LSTM": (lambda: symbols(nn.Embedding(3, 5), LastOutput(5, 3, 1)), TEXT),
    "LSTM of two layers": (lambda: symbols(nn.Embedding(3, 2, padding_idx=0), LastOutput(2, 7, 2)), TEXT),
    "LSTM of numbers": (lambda: nn.Sequential(LastOutput(6, 5, 3), nn.Linear(5, CLASSES)), ROWS),
    "residual": (lambda: images(Residual(nn.Conv2d(4, 4, 3, padding=1), nn.Identity()), nn.ReLU()), IMAGE),
}
"""Whose gradients are all pairs' at once, or PyTorch's."""

OTHERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], str]] = {
    "another layer": (lambda: vectors(nn.Softplus()), VECTOR, "layer Softplus is not one of"),
    "another forward": (lambda: Doubled(nn.Linear(6, CLASSES)), VECTOR, "layer Doubled is not one of"),
    "a hook": (hooked, VECTOR, "module '0' has hooks"),
    "shared weights": (tied, VECTOR, "several layers share a parameter"),
    "padding by name": (lambda: images(nn.Conv2d(4, 4, 3, padding="same")), IMAGE, "has padding 'same'"),
    "padding by mirrors": (lambda: images(nn.Conv2d(4, 4, 3, 1, 1, padding_mode="reflect")), IMAGE, "mode 'reflect'"),
    "rare symbols": (lambda: symbols(nn.Embedding(3, 5, scale_grad_by_freq=True)), TEXT, "how often a symbol occurs"),
    "flat elsewhere": (lambda: nn.Sequential(nn.Flatten(1, 2), nn.Linear(18, CLASSES)), ROWS, "flattens other axes"),
}
"""Whose gradients one path says that it has not got."""

ALL = {name: row[:2] for name, row in (WRITTEN | GROUPED | OTHERS).items()}


class Times(nn.Module):
    """In the place of a dropout layer."""

    def __init__(self, factors: Iterator[Tensor]) -> None:
        super().__init__()
        self.factor = next(factors)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.factor


def made(name: str) -> nn.Module:
    """The network in double precision, with parameters of its own and of known shapes."""
    build, shape = ALL[name]
    module = seeded(build)
    module.double()(batches(shape).features[0])
    return module


def batches(shape: tuple[int, ...]) -> Batches:
    """Small whole numbers, most pixels 0, so that those that are pooled are often equal; samples differ in weight."""
    draws = torch.Generator().manual_seed(0)
    features = torch.randint(3, (PAIRS, BATCH, *shape), generator=draws)
    if shape == IMAGE:
        features = torch.where(torch.rand(features.shape, generator=draws) < 0.6, 1, features)
    labels = torch.randint(CLASSES, (PAIRS, BATCH), generator=draws)
    weights = torch.rand(PAIRS, BATCH, generator=draws, dtype=torch.float64)
    return Batches(features if shape == TEXT else features.double() - 1, labels, torch.tensor([3, 4]), weights)


def by_torch_func(module: nn.Module, model: FlatModel, x: Tensor, given: Batches) -> tuple[Tensor, Tensor]:
    """Losses and gradients of the module as it was handed in."""
    losses, found = [], []
    for p in range(PAIRS):
        factors = (each[p] for each in model.factors(given.keys, given.features))
        own = with_factors(copy.deepcopy(module), factors).train()

        def loss(tensors: dict[str, Tensor], p: int = p, own: nn.Module = own) -> Tensor:
            scores = functional_call(own, tensors, (given.features[p],))
            each = nn.functional.cross_entropy(scores, given.labels[p], reduction="none")
            weights = torch.ones_like(each) if given.weights is None else given.weights[p]
            return (each * weights).sum() / weights.sum()

        tensors = model.unflattened(x[p].clone())
        losses.append(loss(tensors))
        slopes = grad(loss)(tensors)
        found.append(torch.cat([slopes[name].flatten() for name in tensors]))
    return torch.stack(losses), torch.stack(found)


def with_factors(module: nn.Module, factors: Iterator[Tensor]) -> nn.Module:
    for name, child in module.named_children():
        dropped = isinstance(child, nn.Dropout | nn.Dropout2d)
        setattr(module, name, Times(factors) if dropped else with_factors(child, factors))
    return module


def reason(path: str, model: FlatModel) -> str | None:
    return refusal(model) if path == "grouped" else None


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("name", ALL)
def test_gradients_are_those_of_torch_func(name: str, weighted: bool) -> None:
    module, given = made(name), batches(ALL[name][1])
    given = given if weighted else replace(given, weights=None)
    model = FlatModel(module, initial="module")
    assert (manual_backward.refusal(model) is None) == (name in WRITTEN)
    x = model.initial(0) + torch.linspace(-0.1, 0.1, PAIRS * model.dimension, dtype=torch.float64).view(PAIRS, -1)
    before = x.clone()
    losses, slopes = by_torch_func(module, model, x, given)
    assert float(slopes.abs().amax(1).min()) > 1e-3
    for path in ("loop", "vmap", "grouped"):
        if path == "grouped" and name in OTHERS:
            with pytest.raises(ValueError, match=f"'grouped' does not exist for this network: .*{OTHERS[name][2]}"):
                gradients(model, x, given, path)
            continue
        found_losses, found = gradients(model, x, given, path)
        assert float((found_losses - losses).abs().max()) < 1e-10, path
        assert float((found - slopes).abs().max()) < 1e-10, path
        assert torch.equal(x, before), path


@pytest.mark.parametrize("path", ["loop", "vmap", "grouped"])
def test_batch_norm_without_statistics_has_none_to_keep(path: str) -> None:
    """A batch is normalised by its own moments, whatever becomes of buffers."""
    module, given = made("batch norm, plain"), batches(VECTOR)
    free, kept = (FlatModel(module, initial="module", buffers=each) for each in ("refuse", "keep"))
    x = free.initial(0).expand(PAIRS, -1)
    assert torch.equal(gradients(kept, x, given, path)[1], gradients(free, x, given, path)[1])


USED = 17
"""Of 40 samples, those that do not fill up a batch: no multiple of what batches are filled to."""


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize(
    "name", ["dense", "kink before max-pool", "dropout", "batch norm", "batch norm, plain", "LSTM"]
)
def test_what_fills_up_a_batch_does_not_count(name: str) -> None:
    """Not in a mean, and not in the moments of batch norm, which paths that see it refuse; a pair without samples makes
    no step."""
    module, shape = made(name), ALL[name][1]
    given = batches(shape)
    many = torch.arange(40) % BATCH
    weights = torch.where(torch.arange(40) < USED, 1.0, 0.0).double().expand(PAIRS, -1)
    filled = Batches(given.features[:, many], given.labels[:, many], given.keys, weights)
    alone = Batches(filled.features[:, :USED], filled.labels[:, :USED], given.keys)
    filled.features[:, USED:] = 2  # unlike the others
    model = FlatModel(module, initial="module")
    x = model.initial(0).expand(PAIRS, -1)
    losses, slopes = by_torch_func(module, model, x, alone)
    for path in ("loop", "vmap", "grouped"):
        if model.mixes_samples and path != "loop":
            with pytest.raises(ValueError, match="batch norm would see what fills them up"):
                gradients(model, x, filled, path)
            continue
        found_losses, found = gradients(model, x, filled, path)
        assert float((found_losses - losses).abs().max()) < 1e-12, path
        assert float((found - slopes).abs().max()) < 1e-12, path
    if model.mixes_samples:
        assert fastest(model, x, filled) == "loop"
    nothing = replace(filled, weights=weights * torch.tensor([[0.0], [1.0]]))
    found_losses, found = gradients(model, x, nothing, "loop")
    assert found_losses[0] == 0 and (found[0] == 0).all() and torch.allclose(found[1], slopes[1], rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_what_is_not_written_out_says_why() -> None:
    for name, (_, _, why) in OTHERS.items():
        assert why in str(manual_backward.refusal(FlatModel(made(name), initial="module")))
    lstm = manual_backward.refusal(FlatModel(made("LSTM"), initial="module"))
    assert lstm == "layer Embedding is not one of " + ", ".join(each.__name__ for each in manual_backward._FORWARD)


def test_pixels_that_are_pooled_tie() -> None:
    """So that which of them a gradient goes to is seen above."""
    module, given = made("max-pool, overlapping"), batches(IMAGE)
    seen = nn.functional.unfold(module[0](given.features[0])[:, :1], 2)
    largest_twice = (seen.amax(1, keepdim=True) == seen).sum(1) > 1
    assert float(largest_twice.double().mean()) > 0.2
