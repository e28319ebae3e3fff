"""FedAvg through the engine against a plain PyTorch loop on the same batches, for every paper's network."""

from __future__ import annotations

import copy
import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedtheory import Setting, algorithms
from fedtheory.data import Dataset, Normalisation, Partition
from fedtheory.federations import Network, Pairs, network_data
from fedtheory.neural import small_cnn
from fedtheory.neural.gradients import PATHS
from fedtheory.participation import Uniform, history
from fedtheory.simulation import iterates

from ..neural.common import COLOUR, IMAGE, PAPERS, TEXT

ROUNDS, CLIENTS, STEPS, BATCH, SEED = 5, 4, 2, 3, 2
LR = {"resnet18_group_norm": 0.01, "safari_cifar_cnn": 0.01}
"""Of networks whose first steps would otherwise be so large that roundings grow."""
PRECISION = {"resnet18_group_norm": torch.float64}
"""Of networks in which those of float32 grow whatever the step: eighteen layers of kinks."""
ROUNDS_OF = {"resnet18_group_norm": 2}
"""Of a network whose rounds are dear; all others make ``ROUNDS``."""
TOLERANCE = 1e-5
PROCESS = Uniform(2)


def dataset(shape: tuple[int, ...], points: int = 24) -> Dataset:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, points)
    if shape == TEXT:
        vocabulary = "".join(chr(33 + i) for i in range(80))
        return Dataset("text", rng.integers(0, 80, (points, *shape), dtype=np.uint8), labels, 80, vocabulary=vocabulary)
    return Dataset("images", rng.integers(0, 256, (points, *shape), dtype=np.uint8), labels, 10)


def partition(points: int = 24) -> Partition:
    """Clients of different sizes."""
    return Partition(tuple(np.split(np.arange(points), [3, 10, 14])))


@functools.cache
def after_plain_loop(name: str) -> tuple[Tensor, Tensor]:
    """Where a paper's network begins and where a plain loop leads: the same, however gradients are computed."""
    module, shape = PAPERS[name][0](), PAPERS[name][1]
    net = Network(module, dataset(shape), partition(), BATCH).to("cpu", PRECISION.get(name, torch.float32))
    start = net.initial(SEED, torch.arange(1))[0].to(PRECISION.get(name, torch.float32))
    return start, plain_loop(net, module, start, LR.get(name, 0.1), ROUNDS_OF.get(name, ROUNDS))


def plain_loop(net: Network, module: nn.Module, start: Tensor, lr: float, rounds: int) -> Tensor:
    """FedAvg as one writes it with PyTorch: ``optim.SGD``, one client after the other, ``state_dict`` copies."""
    server = copy.deepcopy(module).to(start.dtype)
    nn.utils.vector_to_parameters(start.clone(), server.parameters())
    drawn = history(PROCESS, CLIENTS, rounds, 1, SEED)[:, 0]
    for r in range(rounds):
        states = []
        for i in drawn[r].nonzero().flatten().tolist():
            mask = torch.zeros(1, CLIENTS, dtype=torch.bool)
            mask[0, i] = True
            used = net.visits(Pairs.of(mask, torch.zeros(1).long(), SEED, r), 0, STEPS).index[0]
            client = copy.deepcopy(server).train()
            optimiser = torch.optim.SGD(client.parameters(), lr=lr)
            for batch in used:
                optimiser.zero_grad()
                features, labels = net.samples.of(batch[None])[0], net.samples.labels[batch]
                nn.functional.cross_entropy(client(features), labels).backward()
                optimiser.step()
            states.append(client.state_dict())
        server.load_state_dict({name: torch.stack([s[name] for s in states]).mean(0) for name in states[0]})
    return nn.utils.parameters_to_vector(server.parameters()).detach()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", PAPERS)
def test_fedavg_is_a_plain_loop(name: str, path: str) -> None:
    check(name, path=path)


def test_fedavg_in_two_processes_is_a_plain_loop() -> None:
    check("small_cnn", path="loop", workers=2)


def test_fedavg_on_bytes_is_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """As images are kept that would take much memory as numbers."""
    images = replace(dataset(IMAGE), normalisation=Normalisation((0.3,), (0.4,), "a test"))
    numbers = Network(small_cnn(), images, partition(), BATCH).samples
    monkeypatch.setattr(network_data, "KEPT_AS_BYTES", 0)
    kept = Network(small_cnn(), images, partition(), BATCH).samples
    index = torch.arange(24)[None]
    assert kept.features.dtype == torch.uint8 and torch.equal(kept.of(index), numbers.of(index))
    for path in PATHS:
        check("small_cnn", path=path)


def check(name: str, **options: Any) -> None:
    """Rounds of a paper's network are those of a plain loop."""
    build, shape = PAPERS[name]
    net = Network(build(), dataset(shape), partition(), BATCH, **options)
    setting = Setting(net, algorithms.fedavg(local_lr=LR.get(name, 0.1), local_steps=STEPS), PROCESS)
    dtype, rounds = PRECISION.get(name, torch.float32), ROUNDS_OF.get(name, ROUNDS)
    found = iterates(setting, rounds=rounds, seed=SEED, every=rounds, device="cpu", dtype=dtype)[:, 0]
    start, expected = after_plain_loop(name)
    assert torch.equal(found[0], start)
    assert float((expected - start).norm()) > 1e-2  # something was trained
    torch.testing.assert_close(found[1], expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_shapes_are_those_of_the_papers() -> None:
    assert {shape for _, shape in PAPERS.values()} >= {COLOUR, TEXT}
