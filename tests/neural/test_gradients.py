"""Every path computes PyTorch's own gradients, and local training is a plain loop of PyTorch's optimisers."""

from __future__ import annotations

import functools

import pytest
import torch
from torch import nn

from fedtheory.neural import Batches, FlatModel, Samples, Visits, gradients, local_update
from fedtheory.neural.gradients import PATHS
from tests.neural.common import PAPERS, federated_average, samples_for, seeded, visits_for

HEAVY = {"resnet18_group_norm", "safari_cifar_cnn", "fast_char_lstm", "fedau_cnn", "flics_emnist_cnn"}


def starts(model: FlatModel, pairs: int) -> torch.Tensor:
    return torch.stack([model.initial(seed) for seed in range(pairs)])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", PAPERS)
def test_gradients_are_pytorchs(name: str, path: str) -> None:
    make, shape = PAPERS[name]
    module = seeded(make)
    model, samples = FlatModel(module), samples_for(shape)
    x = starts(model, 2)
    index = torch.tensor([[0, 1, 2], [3, 4, 5]])
    losses, found = gradients(model, x, Batches(samples.of(index), samples.labels[index]), path)
    for p in range(2):
        module.load_state_dict(model.state_dict(x[p]))
        module.zero_grad()
        loss = nn.functional.cross_entropy(module(samples.features[index[p]]), samples.labels[index[p]])
        loss.backward()
        expected = torch.cat([each.grad.flatten() for each in module.parameters()])
        assert float((losses[p] - loss.detach()).abs()) < 1e-5
        assert float((found[p] - expected).abs().max()) < 1e-5 * max(1.0, float(expected.abs().max()))


IN_FLOAT32 = ["resnet18_group_norm"]
"""``tests/federations/test_network_training.py`` trains the others in float32, with longer steps."""
ROUNDS = [
    *((name, torch.float64, 1e-2, 1e-12) for name in PAPERS),
    *((name, torch.float32, 1e-3, 1e-5) for name in IN_FLOAT32),
]


@functools.lru_cache(maxsize=1)
def after_plain_loop(name: str, dtype: torch.dtype, lr: float) -> dict[str, torch.Tensor]:
    """The same, however gradients are computed."""
    samples = samples_for(PAPERS[name][1], dtype=dtype)
    return federated_average(seeded(PAPERS[name][0]).to(dtype), samples, rounds_of(name, samples), lr=lr)


def rounds_of(name: str, samples: Samples) -> list[Visits]:
    """Two, of two steps where a step is dear; ``test_network_training.py`` makes five through the engine."""
    pairs, steps = (2, 1 if name == "resnet18_group_norm" else 2) if name in HEAVY else (3, 3)
    return [visits_for(samples, pairs, steps, batch=4, seed=r) for r in range(2 if name in HEAVY else 5)]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name, dtype, lr, error", ROUNDS)
def test_rounds_of_fedavg_are_a_plain_loops(name: str, path: str, dtype: torch.dtype, lr: float, error: float) -> None:
    """In float32 a rounding error may decide which side of a kink a ReLU is on, so steps are shorter there."""
    make, shape = PAPERS[name]
    samples = samples_for(shape, dtype=dtype)
    model = FlatModel(seeded(make).to(dtype), initial="module")
    x = model.initial(0)
    for visits in rounds_of(name, samples):
        x = local_update(model, x.expand(len(visits.index), -1), samples, visits, lr=lr, path=path).models.mean(0)
    expected = after_plain_loop(name, dtype, lr)
    assert x.dtype == dtype
    for key, value in model.state_dict(x).items():
        assert float((value - expected[key]).abs().max()) < error, key
