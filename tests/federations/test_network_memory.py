"""Memory of networks: what is predicted is kept, whatever the model's size and the number of pairs."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import Setting, algorithms
from fedtheory.data import Dataset, Partition
from fedtheory.federations import Network, network
from fedtheory.federations.local_training import LocalTraining
from fedtheory.federations.memory_ledger import peak_bytes
from fedtheory.neural import Adam
from fedtheory.participation import Fixed, Uniform
from fedtheory.simulation import simulate
from fedtheory.simulation.memory_limits import chunks
from fedtheory.simulation.state import Plan

CLIENTS, MEBI = 12, 2**20


def wide(width: int, path: str = "vmap") -> Network:
    """A dense network of about 80 ``width`` parameters; a pair's batch makes 16 rows of activations in three layers."""
    rng = np.random.default_rng(0)
    dataset = Dataset("points", rng.normal(size=(240, 64)), rng.integers(0, 10, 240), 10)
    layers = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))
    parts = tuple(np.split(np.arange(240), CLIENTS))
    return Network(layers, dataset, Partition(parts), batch_size=16, path=path)


def setting(width: int, cohort: int, algorithm: str, path: str = "vmap") -> Setting:
    made = getattr(algorithms, algorithm)(local_lr="1/100", local_steps=2)
    return Setting(wide(width, path), made, Uniform(cohort))


@pytest.mark.parametrize("algorithm", ["fedavg", "fedvarp"])
@pytest.mark.parametrize("cohort", [2, 12])
@pytest.mark.parametrize("width", [64, 512, 4096])
def test_a_run_stays_below_its_limit(width: int, cohort: int, algorithm: str) -> None:
    """Tensors alone, counted; the limit is tight enough to chunk replicas or pairs."""
    this = setting(width, cohort, algorithm)
    plan = Plan.of(this, rounds=2)
    limit = (
        120 * (plan.federation.dimension * 4)
        + 2 * MEBI
        + (160 * plan.federation.dimension * 4) * (algorithm != "fedavg")
    )
    replicas, pairs = chunks(plan, 8, limit)
    assert replicas < 8 or pairs is not None
    fresh = setting(width, cohort, algorithm)  # of which nothing has been measured yet
    peak = peak_bytes(lambda: simulate(fresh, replicas=8, rounds=2, memory_limit=limit, observers=["loss", "traffic"]))
    assert peak <= limit
    unlimited = peak_bytes(lambda: simulate(this, replicas=8, rounds=2, observers=["loss", "traffic"]))
    if cohort == CLIENTS:
        assert unlimited > limit  # so that the limit was in force


def test_what_does_not_fit_is_refused_before_the_run() -> None:
    with pytest.raises(
        ValueError, match=r"memory_limit = \d+: one replica with one client training at a time needs \d+"
    ):
        simulate(setting(512, 2, "mifa"), replicas=1, rounds=1, memory_limit=MEBI)
    with pytest.raises(ValueError, match="memory_limit = 0: allowed is an integer >= 1"):
        simulate(setting(64, 2, "fedavg"), replicas=1, rounds=1, memory_limit=0)


PROGRAM = """
import sys, torch, numpy as np
torch.set_num_threads(1)
import fedtheory as ft
from fedtheory.neural import small_cnn
rng = np.random.default_rng(0)
images = rng.integers(0, 256, (120, 1, 28, 28), dtype=np.uint8)
dataset = ft.data.Dataset("images", images, rng.integers(0, 10, 120), 10)
parts = ft.data.Partition(tuple(np.split(np.arange(120), 12)))
net = ft.federations.Network(small_cnn(), dataset, parts, batch_size=64, path="vmap")
s = ft.Setting(net, ft.algorithms.fedavg(local_lr=0.01), ft.participation.Fixed(range(12)))
s.simulate(replicas=1, rounds=1, pairs_at_once=1, observers=["traffic"])  # libraries set themselves up
def status(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again from here
before = status("VmRSS")
s.simulate(replicas=4, rounds=1, observers=["traffic"], memory_limit=int(sys.argv[1]))
print(status("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel does not say a process's peak")
def test_the_process_grows_by_no_more_than_the_limit() -> None:
    """Convolutions, whose kernels take memory that no tensor shows, seen from outside the process."""

    def growth(limit: int) -> int:
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(limit)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    limit = 128 * MEBI
    assert growth(limit) <= limit < growth(2**33)


def test_a_trial_counts_the_pairs_that_train_together() -> None:
    plan = Plan.of(Setting(wide(512), algorithms.fedavg(local_lr="1/100"), Fixed([0])), rounds=1)
    loop = Plan.of(Setting(wide(512, "loop"), algorithms.fedavg(local_lr="1/100"), Fixed([0])), rounds=1)
    packed, single = (p.federation.footprint(_training(), torch.zeros(1, p.federation.dimension), 2**30)
                      for p in (plan, loop))  # fmt: skip
    assert packed.pair > single.pair > plan.federation.dimension * 4


def test_a_way_of_training_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def counted(compute: Callable[[], object]) -> int:
        asked.append(compute)
        return peak_bytes(compute)

    monkeypatch.setattr(network, "peak_bytes", counted)
    net, x = wide(64), torch.zeros(1, wide(64).dimension)
    one = net.footprint(_training(), x, 2**30)
    trials = len(asked)
    assert net.to("cpu", "float32").footprint(LocalTraining(1, (0.5,)), x, 2**30) == one and len(asked) == trials > 0
    with pytest.raises(ValueError, match=r"memory_limit = 100: the training of one client needs \d+ bytes"):
        net.footprint(_training(), x, 100)
    assert len(asked) == trials
    others = (
        (net, LocalTraining(2, 0.0)),
        (net, LocalTraining(1, 0.0, solver=Adam())),
        (net, LocalTraining(1, 0.0, proximal=0.5)),
        (_by_loop(net), _training()),
    )
    for number, (federation, training) in enumerate(others, start=2):
        federation.footprint(training, x, 2**30)
        assert len(asked) == number * trials
    longer = net.to("cpu", "float64").footprint(_training(), x.double(), 2**30)
    assert len(asked) == (len(others) + 2) * trials and longer.pair > 1.5 * one.pair


def _by_loop(net: Network) -> Network:
    other = copy.copy(net)
    other.path = "loop"
    return other


def _training() -> LocalTraining:
    return LocalTraining(1, 0.0)
