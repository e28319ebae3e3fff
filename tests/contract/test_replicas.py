"""Every combination that runs: nothing about a replica depends on what shares its batch, and a stop changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory.simulation import Run, simulate
from fedtheory.simulation.iterates import iterates

from .table import ALGORITHMS, PROCESSES, allowed, logistic, participants, setting

ROUNDS, REPLICAS, SEED = 5, 3, 11
OPTIONS = {"rounds": ROUNDS, "replicas": REPLICAS, "seed": SEED, "record_every": 1}


def everything(run: Run) -> dict[str, np.ndarray]:
    return run.rows | {"diverged_at": run.diverged_at}


def same(one: Run, other: Run, tolerance: float) -> None:
    """Rows of order 1, so the tolerance is absolute and relative at once."""
    for name, values in everything(one).items():
        np.testing.assert_allclose(values, everything(other)[name], rtol=tolerance, atol=tolerance, err_msg=name)


FEW = ["bernoulli", "with replacement", "groups"]


def alone_and_idle(algorithm: str, process: str) -> None:
    """A replica alone is the same replica; a round without participants keeps its iterate."""
    this = setting(algorithm, process)
    together, apart = (simulate(this, **OPTIONS, chunk=chunk) for chunk in (REPLICAS, 2))
    assert (together.diverged_at == -1).all()
    same(together, apart, 1e-12)
    if algorithm.startswith(("fast", "safari")) or algorithm == "mifa":
        return  # their own cohorts, the server, and MIFA from memory step in rounds without participants
    nobody = (participants(PROCESSES[process], ROUNDS, REPLICAS, SEED).sum(2) == 0).T.numpy()
    distance = together.rows["squared_distance"]
    assert (distance[:, 1:] == distance[:, :-1])[nobody].all()
    if not algorithm.startswith(("flics", "naive")):  # their selection may bring nobody either
        assert (distance[:, 1:] != distance[:, :-1])[~nobody].all()


@pytest.mark.parametrize("process", FEW)
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "fast, adaptive"])
def test_a_replica_alone_is_the_same_replica_and_empty_rounds_keep_its_iterate(algorithm: str, process: str) -> None:
    alone_and_idle(algorithm, process)


@pytest.mark.slow
@pytest.mark.parametrize("process", [name for name in PROCESSES if name not in FEW])
def test_the_same_under_every_process(process: str) -> None:
    for algorithm, brought in allowed("quadratic"):
        if brought == process:
            alone_and_idle(algorithm, process)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_on_logistic_regression_and_in_single_precision(algorithm: str) -> None:
    this = setting(algorithm, "with replacement", "logistic")
    together, apart = (simulate(this, **OPTIONS, chunk=chunk) for chunk in (REPLICAS, 2))
    same(together, apart, 1e-12)
    rounded = replace(this, federation=logistic(gradient_noise=0.2, server_noise=0.1))  # Gaussian draws are others
    double, single = (simulate(rounded, **OPTIONS, dtype=dtype) for dtype in (torch.float64, torch.float32))
    same(double, single, 1e-4)  # roundings of 1e-7, which Adam's small denominators enlarge


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_replicas_differ_from_one_another(algorithm: str) -> None:
    rows = simulate(setting(algorithm, "bernoulli", "logistic"), **OPTIONS).rows["squared_distance"]
    assert len(set(rows[:, -1].tolist())) == REPLICAS


def test_iterates_are_the_points_that_the_run_observed() -> None:
    this = setting("fedvarp", "bernoulli")
    found = iterates(this, rounds=ROUNDS, replicas=REPLICAS, seed=SEED, chunk=2)
    distance = (found - this.federation.optimum).square().sum(2)
    assert found.shape == (ROUNDS + 1, REPLICAS, 2)
    np.testing.assert_allclose(distance.T, simulate(this, **OPTIONS, chunk=2).rows["squared_distance"], rtol=1e-14)
    assert (iterates(this, rounds=ROUNDS, replicas=REPLICAS, seed=SEED, chunk=2, every=2) == found[::2]).all()
    for every in (0, ROUNDS + 1):
        with pytest.raises(ValueError, match=f"every = {every}: allowed is an integer in 1 to rounds = {ROUNDS}"):
            iterates(this, rounds=ROUNDS, every=every)


class Stop(Exception):
    pass


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_that_was_stopped_goes_on_with_the_same_bits(algorithm: str, tmp_path: Path) -> None:
    this = setting(algorithm, "markov", "logistic")
    options = OPTIONS | {"checkpoint_every": 2}

    def stop(done: int, total: int) -> None:
        if done >= 4 * REPLICAS:  # in round 3: the last checkpoint is that before round 2
            raise Stop

    with pytest.raises(Stop):
        simulate(this, **options, directory=tmp_path, progress=stop)
    assert sorted(int(path.stem.split("-")[1]) for path in tmp_path.rglob("segment-*")) == [2]
    resumed, through = simulate(this, **options, directory=tmp_path), simulate(this, **options)
    for name, values in everything(through).items():
        assert (everything(resumed)[name] == values).all(), name
