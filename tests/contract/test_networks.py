"""Networks under every algorithm and process: they run, and a stop, other replicas or other pairs change nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import Setting, algorithms
from fedtheory.neural import SGD, Adam
from fedtheory.simulation import Run, simulate
from fedtheory.testing.algorithm_checks import everything, goes_on_after_a_stop
from tests.loops import looped

from .table import ALGORITHMS, OBSERVED, PROCESSES, STARTS, allowed, network, setting

ROUNDS, REPLICAS = 3, 2
OPTIONS = {"rounds": ROUNDS, "replicas": REPLICAS, "seed": 11, "record_every": 1, "observers": OBSERVED["network"]}
COMBINATIONS = allowed("network")


def stops_and_goes_on(this: Setting, folder: Path) -> Run:
    """A run that was not stopped, after it was compared with one that was stopped in its last round and taken up."""
    return goes_on_after_a_stop(this, folder, 11, every=1, observers=OBSERVED["network"], rounds=ROUNDS,
                                replicas=REPLICAS)  # fmt: skip


THIRD = [(a, p) for a, p in COMBINATIONS if ([*ALGORITHMS].index(a) + [*PROCESSES].index(p)) % 3 == 0]
"""A third of the combinations, in which every algorithm meets a third of the processes."""


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("of", [THIRD, pytest.param(COMBINATIONS, marks=pytest.mark.exhaustive)], ids=["third", "all"])
def test_every_algorithm_runs_and_goes_on_with_the_same_bits(
    of: list[tuple[str, str]], process: str, tmp_path: Path
) -> None:
    """Under this process; all algorithms of a list but those that it refuses."""
    rows = [algorithm for algorithm, brought in of if brought == process]
    assert len(rows) >= (len(ALGORITHMS) // 3 if of is THIRD else len(ALGORITHMS)) - 1
    for algorithm in rows:
        through = stops_and_goes_on(setting(algorithm, process, "network"), tmp_path / algorithm)
        assert (through.diverged_at == -1).all()
        for name, values in everything(through).items():
            assert np.isfinite(values).all(), f"{algorithm}, {name}"


@looped("algorithm", ALGORITHMS, quick=12)
def test_neither_other_replicas_nor_other_pairs_change_a_replica(algorithm: str) -> None:
    this = setting(algorithm, "with replacement", "network")
    options = OPTIONS | {"dtype": "float64", "rounds": 5, "replicas": 3}
    together = simulate(this, **options)
    for changed in ({"chunk": 2}, {"pairs_at_once": 1}):
        apart = simulate(this, **options, **changed)
        for name, values in everything(together).items():
            np.testing.assert_allclose(everything(apart)[name], values, rtol=1e-12, atol=1e-12, err_msg=name)
    single = simulate(this, **options | {"dtype": "float32"}).rows["loss"]
    np.testing.assert_allclose(single, together.rows["loss"], rtol=1e-4)
    assert len(set(together.rows["loss"][:, -1].tolist())) == 3


SOLVERS = {
    "momentum": SGD(momentum=0.5, weight_decay=0.01, clip_norm=0.2),
    "momentum, kept": SGD(momentum=0.5, keep=True),
    "Adam": Adam(),
    "Adam, kept": Adam(keep=True),
}


@pytest.mark.parametrize("algorithm", ["fedavg", "fast, probability", "safari"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_local_solvers_go_on_with_the_same_bits(solver: str, algorithm: str, tmp_path: Path) -> None:
    plain = setting(algorithm, "with replacement", "network")
    this = Setting(plain.federation, plain.algorithm.trained_by(SOLVERS[solver]), plain.participation)
    through = stops_and_goes_on(this, tmp_path)
    assert (through.rows["loss"][:, -1] != simulate(plain, **OPTIONS).rows["loss"][:, -1]).all()


@pytest.mark.parametrize("options", [{"sampling": "shuffled"}, {"sampling": "one pass"}, {"batch_size": None}], ids=str)
def test_every_way_to_take_batches_is_its_own(options: dict) -> None:
    plain = setting("fedavg", "Bernoulli", "network")
    other = Setting(network(**options), plain.algorithm, plain.participation, STARTS["network"])
    one, two = (simulate(each, **OPTIONS | {"rounds": 6}) for each in (plain, other))
    assert (one.rows["loss"][:, 0] == two.rows["loss"][:, 0]).all()
    assert (one.rows["loss"][:, -1] != two.rows["loss"][:, -1]).all()


@pytest.mark.parametrize("average", ["samples", "participating"])
def test_local_epochs_go_on_with_the_same_bits(average: str, tmp_path: Path) -> None:
    """Clients of 2 to 4 points make 2 to 4 steps in two epochs, each its own; a stop changes nothing."""
    net = network(local_epochs=2)
    assert net.visit_steps == 4 and network(local_epochs=2, drop_last=True).visit_steps == 4
    for process in ("Bernoulli", "Markov", "recorded, then nobody"):
        algorithm = algorithms.fedavg(local_lr="1/8", local_steps=net.visit_steps, average=average)
        through = stops_and_goes_on(Setting(net, algorithm, PROCESSES[process]), tmp_path / process)
        one = Setting(network(local_epochs=1), algorithm, PROCESSES[process])
        assert (through.rows["loss"][:, -1] != simulate(one, **OPTIONS).rows["loss"][:, -1]).any()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_gpu_computes_the_same(algorithm: str) -> None:
    this = setting(algorithm, "Bernoulli", "network")
    options = OPTIONS | {"dtype": "float64", "rounds": 5}
    here, there = (simulate(this, **options, device=device) for device in ("cpu", "cuda"))
    for name, values in everything(here).items():
        np.testing.assert_allclose(everything(there)[name], values, rtol=1e-9, atol=1e-12, err_msg=name)
