"""Networks as federations: their objective against autograd, their draws, their constants, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedtheory import Setting, algorithms
from fedtheory.data import Dataset, Dirichlet, Partition
from fedtheory.evidence.claims_on_runs import on_run
from fedtheory.federations import Network, Pairs, estimated_constants
from fedtheory.neural import FlatModel
from fedtheory.participation import Uniform
from fedtheory.simulation import iterates, simulate

from ..contract.table import CLIENTS, network

EVERYONE = torch.ones(1, CLIENTS, dtype=torch.bool)
SIZES = [3, 2, 4, 2]


def exact(net: Network) -> Network:
    return net.to("cpu", torch.float64)


def everyone(round: int = 0, seed: int = 0, replicas: int = 1) -> Pairs:
    return Pairs.of(EVERYONE.expand(replicas, -1), torch.arange(replicas), seed, round)


def point(net: Network, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=net.dimension))


def point_losses(net: Network, x: Tensor) -> list[Tensor]:
    """Every point's loss, client by client, as functions of x."""
    model, samples = net.model, net.samples
    losses = nn.functional.cross_entropy(model.scores(model.unflattened(x), samples.features), samples.labels,
                                         reduction="none")  # fmt: skip
    return list(losses.split(SIZES))


def test_losses_and_gradients_are_those_of_all_points() -> None:
    net = exact(network())
    x = point(net).requires_grad_()
    each = [losses.mean() for losses in point_losses(net, x)]
    slopes = torch.stack([torch.autograd.grad(loss, x, retain_graph=True)[0] for loss in each])
    own = x.detach().expand(CLIENTS, -1)
    torch.testing.assert_close(net.loss(own, everyone()), torch.stack(each).detach(), rtol=1e-12, atol=0)
    torch.testing.assert_close(net.exact_gradient(own, everyone()), slopes, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(net.global_gradient(own[:1])[0], slopes.mean(0), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(net.global_loss(own[:1])[0], torch.stack(each).mean().detach(), rtol=1e-12, atol=0)


def test_accuracy_counts_points_client_by_client() -> None:
    net, x = exact(network()), point(exact(network()))[None]
    right = (
        net.model.scores(net.model.unflattened(x[0]), net.samples.features).argmax(1) == net.samples.labels
    ).double()
    expected = torch.stack([part.mean() for part in right.split(SIZES)])
    assert torch.equal(net.client_losses(x)[1][0], expected)
    assert float(net.training_accuracy(x)) == pytest.approx(float(expected.mean()), rel=1e-15)
    some = torch.stack([part[:2].mean() for part in right.split(SIZES)]).mean()
    assert float(exact(network(accuracy_points=2)).training_accuracy(x)) == pytest.approx(float(some), rel=1e-15)
    assert float(net.training_accuracy(torch.full_like(x, torch.nan))) == 0


def test_a_batch_of_every_point_once_is_the_exact_gradient() -> None:
    """One pass over a client's points in one batch, whatever its size."""
    net = exact(network(batch_size=4, sampling="one pass"))
    own = point(net).expand(CLIENTS, -1)
    torch.testing.assert_close(
        net.gradient(own, everyone()), net.exact_gradient(own, everyone()), rtol=1e-12, atol=1e-14
    )
    assert (net.gradient(own, everyone().at_step(1)) == 0).all()  # the visit has ended


@pytest.mark.parametrize("sampling", ["independent", "shuffled", "one pass"])
def test_draws_depend_on_what_they_are_for_alone(sampling: str) -> None:
    net = exact(network(sampling=sampling))
    own = point(net).expand(3 * CLIENTS, -1)
    whole = everyone(round=5, seed=3, replicas=3)
    found = net.gradient(own, whole.at_step(1))
    mask = torch.zeros(1, CLIENTS, dtype=torch.bool)
    mask[0, 2] = True
    alone = Pairs.of(mask, torch.tensor([1]), 3, 5)
    here = (whole.client == 2) & (whole.replica == 1)
    torch.testing.assert_close(net.gradient(own[:1], alone.at_step(1)), found[here], rtol=1e-12, atol=1e-14)
    for other in (everyone(5, 4, 3).at_step(1), everyone(6, 3, 3).at_step(1), whole.at_step(0)):
        assert not torch.equal(net.visits(other, other.step, 1).index, net.visits(whole, 1, 1).index)
    together, apart = net.visits(whole, 0, 3), [net.visits(whole, k, 1) for k in range(3)]
    assert torch.equal(together.index, torch.cat([each.index for each in apart], dim=1))


def test_orders_use_every_point_equally_often() -> None:
    net = network(batch_size=3, sampling="shuffled")
    index = net.visits(everyone(), 0, 8).index.flatten(1)  # 24 draws
    for i, size in enumerate(SIZES):
        counts = np.bincount(index[i].numpy(), minlength=11)
        assert set(counts[sum(SIZES[:i]) : sum(SIZES[: i + 1])].tolist()) == {24 // size}
        laps = index[i].view(-1, size)
        assert (laps.sort(1).values == laps.sort(1).values[0]).all()  # every lap is one order of all
        assert len({tuple(lap.tolist()) for lap in laps}) > 1  # and another one than the last


def test_independent_batches_are_uniform() -> None:
    net = network(batch_size=250)
    index = net.visits(everyone(), 0, 80).index.flatten(1)
    for i, size in enumerate(SIZES):
        counts = np.bincount(index[i].numpy(), minlength=11)[sum(SIZES[:i]) : sum(SIZES[: i + 1])]
        assert abs(counts - 20_000 / size).max() < 4.5 * np.sqrt(20_000 / size)


def test_the_server_draws_from_its_own_points() -> None:
    net = exact(network(server_points=5, batch_size=2))
    held = net.samples.features[11:]
    assert len(held) == 5 and len({tuple(row.tolist()) for row in held}) == 5
    x = point(net).expand(2000, -1)
    drawn = net.server_gradient(x, torch.arange(2000), 0, 3)
    leaf = x[0].clone().requires_grad_()
    scores = net.model.scores(net.model.unflattened(leaf), held)
    (expected,) = torch.autograd.grad(nn.functional.cross_entropy(scores, net.samples.labels[11:]), leaf)
    error = drawn.std(0) / 2000**0.5
    assert (drawn.mean(0) - expected).abs().le(4.5 * error).all() and (error < 0.05).all()
    with pytest.raises(ValueError, match="server_points = None: allowed is how many points the server holds"):
        network().server_gradient(x[:1].float(), torch.arange(1), 0, 0)


def test_replicas_start_from_weights_of_their_own() -> None:
    net = network()
    found = net.initial(3, torch.arange(4))
    assert torch.equal(net.initial(3, torch.tensor([2]))[0], found[2])
    assert len({tuple(row.tolist()) for row in found}) == 4 and not torch.equal(net.initial(4, torch.arange(4)), found)
    given = Setting(net, algorithms.fedavg(local_lr="1/8"), Uniform(2), start=found[1])
    assert torch.equal(iterates(given, rounds=1, replicas=2)[0], found[1].expand(2, -1))
    for start, message in ((found, r"start has shape \(4, 17\)"), (found[0] / 0, "not finite")):
        with pytest.raises(ValueError, match=message):
            Setting(net, algorithms.fedavg(local_lr="1/8"), Uniform(2), start=start)


# Constants.


def test_estimated_constants_are_those_of_the_points_seen() -> None:
    net = exact(network(batch_size=2))
    x = torch.stack([point(net, seed) for seed in range(2)])
    found = estimated_constants(net, x, draws=400)
    curvature = noise = apart = second = 0.0
    for at in x:
        leaf = at.clone().requires_grad_()
        slopes = []
        for i, losses in enumerate(point_losses(net, leaf)):
            each = torch.stack([torch.autograd.grad(loss, leaf, retain_graph=True)[0] for loss in losses])
            slopes.append(each.mean(0))
            spread = float((each - each.mean(0)).square().sum(1).mean()) / 2  # of the mean of two independent points
            noise, second = max(noise, spread), max(second, spread + float(each.mean(0).square().sum()))
            hessian = torch.autograd.functional.hessian(lambda y, i=i: point_losses(net, y)[i].mean(), at)
            curvature = max(curvature, float(torch.linalg.eigvalsh(hessian).abs().max()))
        mean = torch.stack(slopes).mean(0)
        apart = max(apart, *(float((s - mean).norm()) for s in slopes))
    expected = {
        "smoothness": curvature,
        "gradient_noise": noise**0.5,
        "dissimilarity": apart,
        "gradient_bound": second**0.5,
    }
    for name, value in expected.items():
        low, high = found[name].interval
        assert low * (1 - 1e-9) <= value <= high * (1 + 1e-9), name
        assert found[name].value == pytest.approx(value, rel=0.1), name
    assert "strong_convexity" not in found
    gap = found["initial_gap"]
    assert gap.interval[1] == pytest.approx(float(net.global_loss(x[:1])), rel=1e-9)  # no loss is below 0
    few = estimated_constants(net, x, clients=[2], draws=8)
    assert few["smoothness"].value <= found["smoothness"].value * (1 + 1e-9)
    with pytest.raises(ValueError, match=r"clients = \[4\]: allowed are numbers in 0 to 3"):
        estimated_constants(net, x, clients=[4])


def test_biased_gradients_have_no_estimated_noise() -> None:
    net = exact(network(sampling="shuffled"))
    with pytest.raises(ValueError, match="Network's stochastic gradients are biased: allowed is one without dropout"):
        estimated_constants(net, point(net)[None])


def test_what_theorems_say_of_a_network_stands_beside_what_happened() -> None:
    net = network(batch_size=2)
    fast = algorithms.fast(local_lr="1/500", local_steps=2, cohort=2, snapshot_probability="1/2")
    setting = Setting(net, fast, Uniform(2))
    watched = {"observers": ["squared_gradient", "peaks"], "dtype": "float64", "record_every": 1}
    run = simulate(setting, replicas=2, rounds=40, **watched)
    points = iterates(setting, rounds=40, every=20, dtype="float64")[:, 0]
    constants = estimated_constants(exact(net), points)
    main, sharp, lacking = on_run(["fast.thm1@main", "fast.thm1@sharp", "fast.cor1@main"], setting, run, constants)
    left = (run.rows["squared_gradient_sum"] + run.rows["squared_gradient"] - run.rows["squared_gradient"][:, :1])[
        :, -1
    ]
    assert main.left == pytest.approx(left.mean() / 40, rel=1e-12)
    assert sharp.hypotheses_hold and sharp.right > sharp.left > 0
    assert main.slack.keys() == {"step_cap", "q_condition"} and main.right > 0
    assert "needs step_constant" in lacking.why and lacking.hypotheses_hold is False


# What is refused.


def data(points: int = 20, **changes: object) -> Dataset:
    rng = np.random.default_rng(0)
    return Dataset(**{"name": "points", "features": rng.normal(size=(points, 2)), "labels": np.arange(points) % 2,
                      "classes": 2} | changes)  # fmt: skip


PARTS = Partition(tuple(np.split(np.arange(20), 4)))
WRONG = {
    "more clients than samples": (
        lambda: Network(nn.Linear(2, 2), data(), Dirichlet(clients=21, alpha=1.0)), "clients = 21"),
    "another width": (lambda: Network(nn.Linear(3, 2), data(), PARTS), "does not take features of shape"),
    "too few scores": (lambda: Network(nn.Linear(2, 2), data(labels=np.arange(20) % 3, classes=3), PARTS), "allowed"),
    "buffers": (lambda: Network(nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 2)), data(), PARTS), "has buffers"),
    "no parameters": (lambda: Network(nn.Flatten(), data(), PARTS), "no parameter that is trained"),
    "complex parameters": (lambda: Network(nn.Linear(2, 2, dtype=torch.complex64), data(), PARTS), "floating-point"),
    "no module": (lambda: Network(len, data(), PARTS), "allowed is a torch module"),
    "points that are not there": (
        lambda: Network(nn.Linear(2, 2), data(10), PARTS), "partition.train names point 19: allowed is 0 to 9"),
    "all points with dropout": (
        lambda: Network(nn.Sequential(nn.Dropout(), nn.Linear(2, 2)), data(), PARTS, batch_size=None),
        "batch_size = None: with dropout or augmentation allowed is an integer >= 1",
    ),
    "an empty batch": (lambda: Network(nn.Linear(2, 2), data(), PARTS, batch_size=0), "batch_size = 0: allowed"),
    "another sampling": (
        lambda: Network(nn.Linear(2, 2), data(), PARTS, sampling="all"), "sampling = 'all': allowed is one of"),
    "another path": (
        lambda: Network(nn.Linear(2, 2), data(), PARTS, path="fast"), "path = 'fast': allowed is one of auto"),
    "another precision": (
        lambda: Network(nn.Linear(2, 2), data(), PARTS, precision="int8"), "precision = 'int8': allowed"),
    "augmented points": (
        lambda: Network(nn.Linear(2, 2), data(), PARTS, augmentation=len), "augmentation of vectors: allowed is"),
    "a server that holds too much": (
        lambda: Network(nn.Linear(2, 2), data(), PARTS, server_points=21), "server_points = 21: allowed is 1 to 20"),
    "fewer than no workers": (lambda: Network(nn.Linear(2, 2), data(), PARTS, workers=-1), "workers = -1: allowed"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused_before_a_run(name: str) -> None:
    build, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        build()


def test_averaged_buffers_are_a_federation_too() -> None:
    """Running statistics of batch norm travel with the parameters, and local Adam remembers none of them."""
    layers = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    from fedtheory.neural import Adam

    net = Network(FlatModel(layers, buffers="average"), data(), PARTS, batch_size=4)
    algorithm = algorithms.fedavg(local_lr="1/100", local_steps=2).trained_by(Adam(keep=True))
    path = iterates(Setting(net, algorithm, Uniform(2)), rounds=3)
    assert path.isfinite().all() and not torch.equal(path[0, 0, net.model.trained :], path[3, 0, net.model.trained :])
