"""FedAvg as frameworks run it: weights by samples, local epochs; against a plain loop on the same batches."""

from __future__ import annotations

import copy
import functools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fedtheory import Setting, data
from fedtheory.algorithms import fedavg
from fedtheory.federations import Network
from fedtheory.federations.federation import Pairs
from fedtheory.federations.packed_networks import PackedNetworks
from fedtheory.federations.visits import Minibatches
from fedtheory.neural import models
from fedtheory.neural.gradients import PATHS
from fedtheory.participation import Uniform, history
from fedtheory.simulation.iterates import iterates

LR, ROUNDS, SEED = 0.1, 3, 4


def network(path: str = "loop", **options: object) -> Network:
    torch.manual_seed(0)
    scheme = data.LabelDirichlet(clients=10, alpha=0.5)
    module = nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10))
    return Network(module, data.load("digits"), scheme, 16, path=path, **options)


def plain(net: Network, who: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The loop that one writes first: each participant's epochs by ``optim.SGD``, then the mean by samples."""
    samples, module, sizes = net.samples, copy.deepcopy(net.model.module).to(x.dtype), net.sizes.tolist()
    for round, here in enumerate(who):
        pairs = Pairs.of(here[None], torch.zeros(1).long(), seed=SEED, round=round)
        visits, after, held = net.visits(pairs, 0, net.visit_steps), [], []
        for pair, client in enumerate(here.nonzero().flatten().tolist()):
            torch.nn.utils.vector_to_parameters(x.clone(), module.parameters())
            optimiser = torch.optim.SGD(module.parameters(), lr=LR)
            for step in range(net.visit_steps):
                index = visits.index[pair, step][visits.weights[pair, step] > 0]
                if len(index):
                    optimiser.zero_grad()
                    nn.functional.cross_entropy(module(samples.of(index[None])[0]), samples.labels[index]).backward()
                    optimiser.step()
            after.append(torch.nn.utils.parameters_to_vector(module.parameters()).detach())
            held.append(sizes[client])
        x = sum(n * y for n, y in zip(held, after, strict=True)) / sum(held)
    return x


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("drop_last", [False, True])
def test_the_default_fedavg_is_the_plain_loop(path: str, drop_last: bool) -> None:
    if drop_last:
        torch.manual_seed(0)
        net = Network(network().model.module, data.load("digits"), data.Uniform(clients=10), 16, path=path,
                      local_epochs=2, drop_last=True)  # fmt: skip
    else:
        net = network(path, local_epochs=2)
        assert len({*net.sizes.tolist()}) > 5  # clients that differ
    algorithm = fedavg(local_lr=LR, local_steps=net.visit_steps, average="samples")
    setting = Setting(net, algorithm, Uniform(3))
    assert setting.algorithm.round.aggregation.samples == tuple(net.sizes.tolist())
    *_, last = iterates(setting, rounds=ROUNDS, replicas=1, seed=SEED)
    who = history(Uniform(3), 10, ROUNDS, 1, SEED)[:, 0] > 0
    expected = plain(net, who, net.initial(SEED, torch.zeros(1).long())[0])
    found = last if isinstance(last, torch.Tensor) else torch.as_tensor(np.asarray(last))
    assert float((found.flatten() - expected).abs().max()) < 1e-5  # rounding in float32
    if not drop_last:  # planted: the plain mean of the participants is another trajectory
        other = Setting(net, fedavg(local_lr=LR, local_steps=net.visit_steps), Uniform(3))
        *_, wrong = iterates(other, rounds=ROUNDS, replicas=1, seed=SEED)
        assert float((torch.as_tensor(np.asarray(wrong)).flatten() - expected).abs().max()) > 1e-3


@functools.lru_cache(maxsize=1)
def fashion(dtype: torch.dtype, path: str = "loop", grey: bool = False) -> Network:
    """100 clients of unequal sizes, batches of 32, 2 epochs; features are normalised, or ``grey`` values in [0, 1]."""
    try:
        images = data.load("fashion-mnist")
    except FileNotFoundError:
        pytest.skip("Fashion-MNIST is not here")
    images = replace(images, normalisation=None) if grey else images
    torch.manual_seed(0)
    module, scheme = models.multinomial_logistic(), data.LabelDirichlet(clients=100, alpha=0.1)
    return Network(module, images, scheme, 32, path=path, local_epochs=2).to("cpu", dtype)


WHO = history(Uniform(10), 100, ROUNDS, 1, SEED)[:, 0] > 0


@functools.cache
def after_plain_loop(dtype: torch.dtype, off: float = 0.0, grey: bool = False) -> torch.Tensor:
    """Where the plain loop leads on Fashion-MNIST, from the start or ``off`` from it."""
    net = fashion(dtype, grey=grey)
    start = net.initial(SEED, torch.zeros(1).long())[0].to(dtype)
    away = torch.randn(len(start), dtype=dtype, generator=torch.Generator().manual_seed(0))
    return plain(net, WHO, start + off * away / away.norm())


def apart(dtype: torch.dtype, path: str, grey: bool = False, average: str = "samples") -> float:
    """How far the engine is from the plain loop after three rounds of 10 clients, at most in a parameter."""
    net = fashion(dtype, path, grey)
    algorithm = fedavg(local_lr=LR, local_steps=net.visit_steps, average=average)
    found = iterates(Setting(net, algorithm, Uniform(10)), rounds=ROUNDS, replicas=1, seed=SEED, dtype=dtype)[-1, 0]
    return float((found - after_plain_loop(dtype, grey=grey)).abs().max())


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_the_default_fedavg_on_grey_values(path: str) -> None:
    """With grey values in [0, 1] steps of .1 contract, and single precision stays within 1e-5 of the plain loop."""
    assert apart(torch.float32, path, grey=True) < 1e-5
    assert apart(torch.float64, path, grey=True) < 1e-10
    assert apart(torch.float32, path, grey=True, average="participating") > 1e-3  # planted: another mean is far away


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_the_default_fedavg_on_fashion_mnist(path: str) -> None:
    """In double precision it is the plain loop's trajectory on every path, in single precision up to its roundings.

    At this step size a distance between two starts grows some ten thousand times in three rounds, and so do roundings:
    float32 is apart by as much more as its roundings are coarser, 2^29 times, which no other batch or weight would be.
    """
    fine, coarse = apart(torch.float64, path), apart(torch.float32, path)
    assert fine < 1e-10  # 2e-12 is seen
    assert 2.0**29 / 32 < coarse / fine < 2.0**29 * 32
    away = 1e-9
    grown = float((after_plain_loop(torch.float64, away) - after_plain_loop(torch.float64)).norm()) / away
    assert grown > 1e3 and coarse < 8 * 2.0**-24 * grown


def test_an_epoch_that_counts_whole_batches_only_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the last batch of a pass is filled up from its beginning, as if it were whole."""
    kept = Minibatches._in_passes

    def filled(self: Minibatches, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        lap, place, counts = kept(self, *given)
        return lap, place, counts.any(2, keepdim=True).expand(counts.shape).contiguous()

    monkeypatch.setattr(Minibatches, "_in_passes", filled)
    with pytest.raises(AssertionError):
        test_every_epoch_uses_every_point_once(2, False)


@pytest.mark.parametrize(("epochs", "drop_last"), [(1, False), (2, False), (3, True)])
def test_every_epoch_uses_every_point_once(epochs: int, drop_last: bool) -> None:
    sizes, B = [7, 9, 17, 10], 4
    batches = Minibatches(torch.tensor(sizes), B, "one pass", epochs, drop_last)
    pairs = Pairs.of(torch.ones(1, 4, dtype=torch.bool), torch.zeros(1).long(), seed=0, round=0)
    visits = batches.of(pairs, 0, 12, dropout=False, augmented=False)
    begins = np.cumsum([0, *sizes])
    for i, n in enumerate(sizes):
        each = n // B if drop_last else -(-n // B)
        used = visits.weights[i] > 0
        assert used.any(1).tolist() == [k < epochs * each for k in range(12)]
        passes = []
        for e in range(epochs):
            rows = slice(e * each, (e + 1) * each)
            seen = visits.index[i, rows][used[rows]].tolist()
            assert max(Counter(seen).values()) == 1 and {*seen} <= {*range(begins[i], begins[i + 1])}
            assert len(seen) == (each * B if drop_last else n)
            passes.append(tuple(seen))
        assert len({*passes}) == epochs  # in orders of their own
    later = batches.of(pairs, 3, 4, dropout=False, augmented=False)  # visits may be asked for in parts
    assert torch.equal(later.index, visits.index[:, 3:7]) and torch.equal(later.weights, visits.weights[:, 3:7])


def test_one_pass_is_one_epoch() -> None:
    one, other = network(sampling="one pass"), network(local_epochs=1)
    assert one.identity() == other.identity() != network(local_epochs=2).identity()
    assert (
        one.visit_steps == -(-int(one.sizes.max()) // 16) and network(local_epochs=2).visit_steps == 2 * one.visit_steps
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"local_epochs": 0}, "local_epochs = 0"),
        ({"local_epochs": 2, "sampling": "shuffled"}, "local_epochs = 2: allowed with a batch_size"),
        ({"drop_last": True}, "sampling = 'independent': allowed with local_epochs or drop_last is 'one pass'"),
    ],
)
def test_epochs_that_are_none_are_refused(options: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        network(**options)


def test_an_epoch_without_a_step_is_refused() -> None:
    with pytest.raises(ValueError, match="local_epochs: client 1 has 3 points, which make no batch of 4"):
        Minibatches(torch.tensor([5, 3]), 4, "one pass", 2, True)
    with pytest.raises(ValueError, match="local_epochs: client 1 has 0 points"):
        Minibatches(torch.tensor([5, 0]), 4, "one pass", 2)
    with pytest.raises(ValueError, match="sampling = 'independent': allowed is 'one pass', or local_epochs"):
        _ = network().visit_steps


def test_an_objective_by_samples_is_the_mean_over_points() -> None:
    by_clients, by_samples = network(), network(objective="samples")
    x, points = by_samples.initial(0, torch.arange(2)), by_samples.samples
    losses = [nn.functional.cross_entropy(by_samples.model.scores(by_samples.model.unflattened(each), points.of(
        torch.arange(len(points))[None])[0]), points.labels) for each in x]  # fmt: skip
    assert by_samples.global_loss(x).tolist() == pytest.approx([float(each) for each in losses], rel=1e-5)
    assert by_clients.global_loss(x).tolist() != pytest.approx(by_samples.global_loss(x).tolist(), rel=1e-5)
    shares = torch.tensor([float(w) for w in by_samples.objective_weight], dtype=torch.float64)
    assert by_samples.training_accuracy(x).tolist() == (by_samples.client_losses(x)[1] @ shares).tolist()
    ones = [Pairs.of(torch.ones(1, 10, dtype=torch.bool), torch.zeros(1).long(), 0, 0)] * 2
    each = torch.stack([by_samples.exact_gradient(x[r].expand(10, -1), ones[r]) for r in range(2)])
    weighed = (shares[:, None] * each.double()).sum(1)
    assert float((by_samples.global_gradient(x).double() - weighed).abs().max()) < 1e-6  # rounding in float32
    assert by_samples.identity() != by_clients.identity()
    setting = Setting(by_samples, fedavg(local_lr=LR, average="samples"), Uniform(3))
    assert setting.algorithm.objective_weight(10) == by_samples.objective_weight
    with pytest.raises(ValueError, match="objective_weight: allowed is the weighting that the algorithm has"):
        Setting(by_samples, fedavg(local_lr=LR), Uniform(3))
    with pytest.raises(ValueError, match="objective = 'points'"):
        network(objective="points")


def test_the_server_makes_no_visits() -> None:
    """It may hold fewer points than a batch of the clients has, which makes no epoch of its own empty."""
    partition = data.Partition((np.arange(8), np.arange(8, 20)))
    net = Network(nn.Linear(64, 10), data.load("digits"), partition, batch_size=8, local_epochs=2, drop_last=True,
                  server_points=5, server_batch_size=2)  # fmt: skip
    assert net.visit_steps == 2
    packed = PackedNetworks([net, net])
    assert packed.visits(Pairs.of(torch.ones(2, 2, dtype=torch.bool), torch.arange(2), 0, 0), 0, 2).index.shape[0] == 4
