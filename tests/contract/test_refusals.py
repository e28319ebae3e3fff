"""What does not run is refused before the run starts, with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fedtheory import Setting, algorithms
from fedtheory.participation import Bernoulli, Fixed, Recorded, Uniform
from fedtheory.simulation import simulate

from .table import ALGORITHMS, CLIENTS, FEDERATIONS, LOCAL, PROCESSES, quadratic, refusal, setting

REFUSED = [(a, p, f) for f in FEDERATIONS for a in ALGORITHMS for p in PROCESSES if refusal(a, p, f)]


@pytest.mark.parametrize(("algorithm", "process", "federation"), REFUSED)
def test_a_combination_that_does_not_run_says_why(
    algorithm: str, process: str, federation: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=refusal(algorithm, process, federation)):
        simulate(setting(algorithm, process, federation), replicas=2, rounds=3, directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_something_is_refused_and_most_is_not() -> None:
    assert 10 < len(REFUSED) < len(ALGORITHMS) * len(PROCESSES) / 4


def plain(**changes: object) -> Setting:
    parts = {"federation": quadratic(), "algorithm": algorithms.fedavg(**LOCAL), "participation": Uniform(2)}
    return Setting(**parts | changes)


WRONG = {
    "a larger cohort than clients": (
        lambda: plain(algorithm=algorithms.fast(**LOCAL, cohort=5, snapshot_period=2)), "cohort = 5: allowed is 1 to"),
    "a larger process than clients": (lambda: plain(participation=Uniform(5)), "cohort = 5: allowed is 1 to"),
    "a client that is not there": (lambda: plain(participation=Fixed([4])), "client 4 is not in 0 to 3"),
    "other clients of the process": (lambda: plain(participation=Bernoulli([1, 1])), "there are 2, allowed is one for"),
    "other clients of a record": (lambda: plain(participation=Recorded([[1, 0, 0]])), "there are 3, allowed is one"),
    "other clients of the weights": (
        lambda: plain(algorithm=algorithms.constant_weights(**LOCAL, aggregation_weight=[1, 2])),
        "aggregation_weight: there are 2, allowed is one for each of 4"),
    "other clients of the probabilities": (
        lambda: plain(algorithm=algorithms.known_statistics(**LOCAL, participation_probability=["1/2"])),
        "participation_probability: there are 1, allowed is one for each of 4"),
    "other clients of the groups": (
        lambda: plain(algorithm=algorithms.flics_avg(**LOCAL, groups=[0, 1], budget=1)),
        "groups: there are 2, allowed is one for each of 4"),
    "another start": (lambda: plain(start=[1.0, 2.0, 3.0]), r"start has shape \(3,\)"),
    "half precision": (lambda: simulate(plain(), rounds=1, dtype=torch.float16), "dtype = torch.float16: allowed is"),
    "run quantities of another algorithm": (
        lambda: simulate(plain(), rounds=1, observers=["peaks"]), "observer peaks: allowed with Fast only"),
    "a chunk of no replicas": (lambda: simulate(plain(), rounds=1, chunk=0), "chunk = 0: allowed is an integer >= 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_says_why(name: str) -> None:
    build, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        build()


def test_a_record_that_ends_too_early_says_so() -> None:
    with pytest.raises(ValueError, match="the record has the rounds 0 to 4; allowed beyond"):
        simulate(plain(participation=Recorded([[1, 1, 1, 1]] * 5)), rounds=CLIENTS + 2)
