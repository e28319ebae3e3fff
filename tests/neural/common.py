"""What the tests of networks share: the papers' networks, random samples and a plain PyTorch loop."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from fedtheory.neural import Samples, Visits, models

IMAGE, COLOUR, SMALL, TEXT = (1, 28, 28), (3, 32, 32), (3, 8, 8), (12,)

PAPERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "multinomial_logistic": (models.multinomial_logistic, IMAGE),
    "small_cnn": (models.small_cnn, IMAGE),
    "fast_fashion_cnn": (lambda: models.fast_fashion_cnn(dropout=(0, 0)), IMAGE),
    "fast_cifar_cnn": (lambda: models.fast_cifar_cnn(dropout=0), COLOUR),
    "fast_char_lstm": (lambda: models.fast_char_lstm(dropout=0), TEXT),
    "safari_cifar_cnn": (models.safari_cifar_cnn, COLOUR),
    "fedau_cnn": (lambda: models.fedau_cnn("cifar-10"), COLOUR),
    "flics_emnist_cnn": (lambda: models.flics_emnist_cnn(dropout=(0, 0)), IMAGE),
    "resnet18_group_norm": (lambda: models.resnet18_group_norm(classes=10), SMALL),
}
"""The papers' networks without their dropout, which a plain loop draws otherwise, and the shape of their input."""


def seeded(make: Callable[[], nn.Module], seed: int = 0) -> nn.Module:
    """A network whose parameters are the same in every run of the tests."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def samples_for(shape: tuple[int, ...], count: int = 40, dtype: torch.dtype = torch.float32) -> Samples:
    """Random samples of ten classes."""
    draws = torch.Generator().manual_seed(0)
    if shape == TEXT:
        features = torch.randint(80, (count, *shape), generator=draws)
    else:
        features = torch.rand(count, *shape, generator=draws, dtype=dtype)
    return Samples(features, torch.randint(10, (count,), generator=draws))


def visits_for(samples: Samples, pairs: int, steps: int, batch: int, seed: int = 1) -> Visits:
    draws = torch.Generator().manual_seed(seed)
    return Visits(torch.randint(len(samples), (pairs, steps, batch), generator=draws))


def plain_visit(
    module: nn.Module,
    samples: Samples,
    index: Tensor,
    optimiser: Callable[..., torch.optim.Optimizer],
    clip_norm: float | None = None,
) -> dict[str, Tensor]:
    """The state_dict after one client's visit, by PyTorch's own optimiser; ``index`` is (K, B)."""
    module = copy.deepcopy(module).train()
    optimise = optimiser(module.parameters())
    for chosen in index:
        optimise.zero_grad()
        nn.functional.cross_entropy(module(samples.of(chosen[None])[0]), samples.labels[chosen]).backward()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(module.parameters(), clip_norm)
        optimise.step()
    return module.state_dict()


def federated_average(module: nn.Module, samples: Samples, rounds: list[Visits], lr: float) -> dict[str, Tensor]:
    """FedAvg by a plain loop: every visit starts from the average of the last ones."""
    module = copy.deepcopy(module)
    for visits in rounds:
        after = [plain_visit(module, samples, index, lambda p: torch.optim.SGD(p, lr=lr)) for index in visits.index]
        module.load_state_dict({name: torch.stack([s[name] for s in after]).mean(0) for name in after[0]})
    return module.state_dict()
