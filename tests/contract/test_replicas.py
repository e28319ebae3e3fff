"""Every combination that runs: nothing about a replica depends on what shares its batch, and a stop changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedtheory.simulation import simulate
from fedtheory.simulation.iterates import iterates
from fedtheory.testing.algorithm_checks import (
    REPLICAS,
    ROUNDS,
    alone_as_in_a_batch,
    empty_rounds_change_nothing,
    goes_on_after_a_stop,
    in_single_precision,
    moves_when_empty,
    replicas_differ,
)

from .table import ALGORITHMS, PROCESSES, allowed, logistic, setting

SEED = 11
OPTIONS = {"rounds": ROUNDS, "replicas": REPLICAS, "seed": SEED, "record_every": 1}

FEW = ["Bernoulli", "with replacement", "UniformGroups"]


def alone_and_idle(algorithm: str, process: str) -> None:
    """A replica alone is the same replica; a round without participants keeps its iterate."""
    this = setting(algorithm, process)
    alone_as_in_a_batch(this, SEED)
    if not moves_when_empty(this.algorithm):
        selecting = algorithm.startswith(("flics", "naive"))  # their selection may bring nobody either
        empty_rounds_change_nothing(this, SEED, others_move=not selecting)


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
    alone_as_in_a_batch(this, SEED)
    rounded = replace(this, federation=logistic(gradient_noise=0.2, server_noise=0.1))  # Gaussian draws are others
    in_single_precision(rounded, SEED)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_replicas_differ_from_one_another(algorithm: str) -> None:
    replicas_differ(setting(algorithm, "Bernoulli", "logistic"), SEED)


def test_iterates_are_the_points_that_the_run_observed() -> None:
    this = setting("fedvarp", "Bernoulli")
    found = iterates(this, rounds=ROUNDS, replicas=REPLICAS, seed=SEED, chunk=2)
    distance = (found - this.federation.optimum).square().sum(2)
    assert found.shape == (ROUNDS + 1, REPLICAS, 2)
    np.testing.assert_allclose(distance.T, simulate(this, **OPTIONS, chunk=2).rows["squared_distance"], rtol=1e-14)
    assert (iterates(this, rounds=ROUNDS, replicas=REPLICAS, seed=SEED, chunk=2, every=2) == found[::2]).all()
    for every in (0, ROUNDS + 1):
        with pytest.raises(ValueError, match=f"every = {every}: allowed is an integer in 1 to rounds = {ROUNDS}"):
            iterates(this, rounds=ROUNDS, every=every)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_that_was_stopped_goes_on_with_the_same_bits(algorithm: str, tmp_path: Path) -> None:
    """Stopped in round 3: the last checkpoint is that before round 2."""
    goes_on_after_a_stop(setting(algorithm, "Markov", "logistic"), tmp_path, SEED)
