"""On a pretended device, runs give the CPU's numbers, and rounds launch and wait no more than is written here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from fedtheory import Setting, algorithms, data, neural
from fedtheory.federations import Federation, Logistic, Network, Quadratic, random_quadratic
from fedtheory.neural import Adam
from fedtheory.neural.local_update import Task
from fedtheory.participation import Bernoulli, Uniform
from fedtheory.testing.pretended_device import CUDA, Counts, pretended_device

CLIENTS = 12
LOCAL = {"local_lr": "1/8", "local_steps": 2}
ALGORITHMS = {
    "fedavgm": algorithms.fedavgm(**LOCAL, momentum="1/2"),
    "fast": algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
    "safari": algorithms.safari(**LOCAL, client_round_probability="1/2", server_lr="1/4"),
    "fedvarp": algorithms.fedvarp(**LOCAL),
    "mifa": algorithms.mifa(**LOCAL),
}
PROCESS = Bernoulli([f"{1 + i % 3}/4" for i in range(CLIENTS)])
MOST_WAITS = 2
"""In a round, whatever runs: who trains may depend on what a selection, or an adaptive snapshot, remembers."""


@cache
def convex(name: str) -> Federation:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLIENTS, 2))
    if name == "dense":
        return Quadratic([[[2, k / 16], [k / 16, 1]] for k in range(CLIENTS)], centres, 0.5, server_noise=0.25)
    if name == "diagonal, Gaussian":
        return Quadratic([[1, 1 + k % 3] for k in range(CLIENTS)], centres, 0.5, "gaussian")
    if name == "common":
        return random_quadratic(CLIENTS, 3, seed=1, gradient_noise=0.5)
    if name == "common, no noise":
        return Quadratic.common_hessian(list(range(CLIENTS)))
    rows = [rng.normal(size=(3 + k % 4, 2)) for k in range(CLIENTS)]
    return Logistic(rows, [np.arange(len(each)) % 2 for each in rows], 0.1, gradient_noise=0.2, noise="gaussian")


@cache
def images() -> data.Dataset:
    """Noise in the shape of Fashion-MNIST."""
    rng = np.random.default_rng(0)

    def drawn(points: int, test: data.Dataset | None = None) -> data.Dataset:
        pixels = rng.integers(0, 256, (points, 1, 28, 28), dtype=np.uint8)
        return data.Dataset("noise", pixels, np.arange(points) % 10, 10, test=test)

    return drawn(200, drawn(20))


@cache
def network(path: str, sampling: str, small: bool = False) -> Network:
    parts = data.LabelDirichlet(clients=CLIENTS, alpha=0.5)
    layers = nn.Sequential(nn.Conv2d(1, 2, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(72, 10))
    model = layers if small else neural.small_cnn()
    return Network(model, images(), parts, batch_size=16, sampling=sampling, path=path)


def trained(path: str, sampling: str, algorithm: str, keep: bool = False) -> Setting:
    how = algorithms.fedavg(local_lr=0.01, local_steps=5)
    if algorithm == "fast":
        how = algorithms.fast(cohort=6, snapshot_probability=0.5, local_lr=0.001, local_steps=5)
    return Setting(network(path, sampling, True), how.trained_by(Adam(keep=True)) if keep else how, Uniform(CLIENTS))


def settings() -> Iterator[tuple[str, Setting, str]]:
    """Names, settings and precisions."""
    for fed in ("dense", "diagonal, Gaussian", "common", "common, no noise", "logistic"):
        for algorithm, how in ALGORITHMS.items():
            yield f"{fed}, {algorithm}", Setting(convex(fed), how, PROCESS), "float64"
        yield f"{fed}, float32", Setting(convex(fed), ALGORITHMS["fast"], PROCESS), "float32"
    for path in ("loop", "vmap", "grouped"):
        for sampling in ("independent", "shuffled", "one pass"):
            yield f"{path}, {sampling}", trained(path, sampling, "fedavg"), "float64"
        yield f"{path}, Adam", trained(path, "one pass", "fast", keep=True), "float64"


SETTINGS = {name: (setting, precision) for name, setting, precision in settings()}


def observers(setting: Setting) -> list[str] | None:
    return ["traffic"] if isinstance(setting.federation, Network) else None


def run(setting: Setting, device: str, rounds: int, precision: str, **options: object):
    return setting.simulate(
        replicas=2, rounds=rounds, seed=3, device=device, dtype=precision, memory_limit=2**30, **options
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_numbers_are_those_of_the_cpu(name: str) -> None:
    """Sums run in another order there, so that they differ by what is rounded in a few steps."""
    setting, precision = SETTINGS[name]
    watched = ["loss"] if isinstance(setting.federation, Network) else None
    here = run(setting, "cpu", 2, precision, observers=watched)
    with pretended_device() as counts:
        there = run(setting, "cuda", 2, precision, observers=watched)
    assert there.where["device"] == "cuda: pretended" and counts.operations
    for row, values in here.rows.items():
        tolerance = 1e-9 if precision == "float64" else 1e-4
        np.testing.assert_allclose(there.rows[row], values, rtol=tolerance, atol=tolerance, err_msg=row)


def a_round(setting: Setting, precision: str = "float32") -> tuple[float, float, float]:
    """Operations, waits and copies of a round, on average over two, without what a run costs once."""
    found = []
    with pretended_device() as counts:
        for rounds in (1, 2, 4):  # the first also makes what is kept
            counts.clear()
            run(setting, "cuda", rounds, precision, record_every=100, observers=observers(setting))
            found.append(np.array(counts.totals()))
    return tuple((found[2] - found[1]) / 2)


TABLE: dict[str, tuple[float, float]] = {
    "small CNN, loop": (1005, 0),
    "small CNN, vmap": (469, 0),
    "small CNN, grouped": (242, 0),
    "FAST's file, loop": (1555, 0),
    "FAST's file, grouped": (773, 0),
    "dense, fedavgm": (64.5, 2.5),
    "dense, fast": (60, 2),
    "dense, safari": (147.5, 1.5),
    "dense, fedvarp": (73.5, 2.5),
    "dense, mifa": (59.5, 2.5),
    "dense, float32": (62, 2),
    "diagonal, Gaussian, fedavgm": (76, 0),
    "diagonal, Gaussian, fast": (72, 0),
    "diagonal, Gaussian, safari": (81.5, 0),
    "diagonal, Gaussian, fedvarp": (85, 0),
    "diagonal, Gaussian, mifa": (71, 0),
    "diagonal, Gaussian, float32": (73, 0),
    "common, fedavgm": (61, 0),
    "common, fast": (57, 0),
    "common, safari": (67, 0),
    "common, fedvarp": (70, 0),
    "common, mifa": (56, 0),
    "common, float32": (59, 0),
    "common, no noise, fedavgm": (41, 0),
    "common, no noise, fast": (37, 0),
    "common, no noise, safari": (47, 0),
    "common, no noise, fedvarp": (50, 0),
    "common, no noise, mifa": (36, 0),
    "common, no noise, float32": (39, 0),
    "logistic, fedavgm": (723.5, 0),
    "logistic, fast": (755, 0),
    "logistic, safari": (253.5, 0),
    "logistic, fedvarp": (732.5, 0),
    "logistic, mifa": (718.5, 0),
    "logistic, float32": (754, 0),
    "dense, flics": (247, 8),  # waits 2
    "logistic, adaptive": (1104.5, 5),  # waits 2
}
"""Operations and copies of a round of two replicas. What is larger here is slower on a device: look for the reason
before a number is raised. Written by ``python -m tests.simulation.test_pretended_device``."""


@pytest.mark.parametrize("name", TABLE)
def test_a_round_asks_no_more_of_a_device(name: str) -> None:
    operations, waits, copies = a_round(*COUNTED[name])
    assert operations <= TABLE[name][0] and copies <= TABLE[name][1], (operations, copies)
    assert waits <= MOST_WAITS


RUNS = 24


def test_runs_that_advance_together_share_their_operations() -> None:
    """Of a network in the path "grouped" they ask for a tenth of what they ask for alone, and have the numbers of runs
    alone (float32)."""
    setting, found, first = trained("grouped", "independent", "fedavg"), {}, {}
    for replicas in (1, RUNS):
        counted = []
        with pretended_device() as counts:
            for rounds in (1, 2, 3):  # the first also makes what is kept
                counts.clear()
                options = {"record_every": 100, "observers": ["traffic"], "memory_limit": 2**31, "dtype": "float32"}
                run = setting.simulate(replicas=replicas, rounds=rounds, seed=3, device="cuda", **options)
                counted.append(counts.totals()[0])
        found[replicas], first[replicas] = counted[2] - counted[1], run.parameters()[0]
    assert found[RUNS] <= RUNS * found[1] / 10, found
    np.testing.assert_allclose(first[RUNS], first[1], rtol=0, atol=1e-5)


def small_cnn(path: str) -> Setting:
    """Five local steps of twelve clients with the small CNN; of three where each client's operations are its own."""
    clients = 3 if path == "loop" else CLIENTS
    parts = data.Dirichlet(clients=clients, alpha=1.0)
    net = Network(neural.small_cnn(), images(), parts, batch_size=16, path=path)
    return Setting(net, algorithms.fedavg(local_lr=0.05, local_steps=5), Uniform(clients))


def fast_file(path: str) -> Setting:
    """As experiments/fast/small.fashion_mnist.toml: visits that end with a client's points, and Adam's memory kept."""
    how = algorithms.fast(cohort=10, snapshot_probability=0.5, local_lr=0.001, local_steps=10)
    return Setting(network(path, "one pass"), how.trained_by(Adam(keep=True)), Uniform(10))


GROUPED = algorithms.flics_avg(**LOCAL, groups=[i % 3 for i in range(CLIENTS)], budget=4)
ADAPTIVE = algorithms.fast(cohort=2, adaptivity=2, **LOCAL)
COUNTED: dict[str, tuple[Setting, str]] = {
    **{f"small CNN, {path}": (small_cnn(path), "float32") for path in ("loop", "vmap", "grouped")},
    **{f"FAST's file, {path}": (fast_file(path), "float32") for path in ("loop", "grouped")},
    **{name: each for name, each in SETTINGS.items() if not isinstance(each[0].federation, Network)},
    "dense, flics": (Setting(convex("dense"), GROUPED, PROCESS), "float64"),
    "logistic, adaptive": (Setting(convex("logistic"), ADAPTIVE, PROCESS), "float64"),
}


def test_a_step_that_reads_a_number_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Task.step

    def reading(self, x, start, gradient, size, state):
        gradient.sum().item()
        return step(self, x, start, gradient, size, state)

    monkeypatch.setattr(Task, "step", reading)
    assert a_round(trained("grouped", "one pass", "fast", keep=True))[1] > MOST_WAITS  # five local steps


def test_a_tensor_on_the_other_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Task.step
    monkeypatch.setattr(Task, "step", lambda self, x, *others: step(self, x + torch.zeros(x.shape[1]), *others))
    with pytest.raises(RuntimeError, match=r"cuda:0 and cpu! \(add\)"):
        a_round(trained("grouped", "one pass", "fast", keep=True))


def test_the_device_waits_where_cuda_does() -> None:
    with pretended_device() as counts:
        x = torch.arange(4.0, device="cuda")
        waiting = [
            lambda: x[x > 1], lambda: float(x.sum()), lambda: bool(x.any()), lambda: x.nonzero(), lambda: x.tolist(),
            lambda: x.cpu(), lambda: x.to("cpu"), lambda: x.long().repeat_interleave(x.long()), lambda: x.unique(),
        ]  # fmt: skip
        for each in waiting:
            counts.clear()
            each()
            assert sum(counts.synchronisations.values()) == 1
        counts.clear()
        kept = x[torch.tensor([0, 2])] + torch.where(x > 1, x, 0.0)[:2] * torch.tensor(2.0)
        assert kept.device == CUDA and not counts.synchronisations
        with pytest.raises(TypeError, match=r"Use Tensor\.cpu"):
            x.numpy()
        gradient = torch.zeros(4, requires_grad=True)
        (gradient.to("cuda") * x).sum().backward()
        assert gradient.grad is not None and gradient.grad.tolist() == [0, 1, 2, 3]


def test_views_launch_nothing_and_copies_are_counted() -> None:
    with pretended_device() as counts:
        x = torch.zeros(2, 3).to("cuda")
        x.view(3, 2)[0].t()
        assert counts == Counts(copies=counts.copies) and dict(counts.copies) == {"to the device": 1}
        x.add_(1)
        assert x.cpu().sum() == 6 and sum(counts.operations.values()) == 1
    assert not torch.cuda.is_available() or torch.cuda.get_device_name() != "pretended"


def test_memory_is_as_large_as_is_asked_for() -> None:
    with pretended_device(memory=1000) as counts:
        x = torch.zeros(100, device="cuda", dtype=torch.float64)
        view = x.view(10, 10)[3:]
        assert torch.cuda.memory_allocated() == 800 and torch.cuda.mem_get_info() == (200, 1000)
        with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
            x + 1
        assert torch.cuda.max_memory_allocated() == 1600 and torch.cuda.memory_allocated() == 800
        torch.cuda.reset_peak_memory_stats()
        del x
        assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated() == 800  # the view is there
        del view
        assert torch.cuda.memory_allocated() == 0 and counts.operations
        torch.cuda.set_per_process_memory_fraction(0.5)
        with pytest.raises(torch.OutOfMemoryError):
            torch.zeros(100, device="cuda", dtype=torch.float64)


if __name__ == "__main__":
    for key, (setting, precision) in COUNTED.items():
        operations, waits, copies = a_round(setting, precision)
        print(f'    "{key}": ({operations:g}, {copies:g}),' + f"  # waits {waits:g}" * bool(waits))
