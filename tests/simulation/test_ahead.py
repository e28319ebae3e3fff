"""What is computed for many rounds at once is what single rounds would compute."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedtheory.algorithms import constant_weights, fast, fedavg, known_statistics
from fedtheory.algorithms.base import Algorithm, ClientRound
from fedtheory.federations import Pairs, random_quadratic
from fedtheory.participation import Bernoulli, Uniform, processes
from fedtheory.setting import Setting
from fedtheory.simulation import participants, several

CLIENTS = 5
LOCAL = {"local_lr": "1/8", "local_steps": 2}
WEIGHTS: dict[str, Algorithm] = {
    "mean": fedavg(**LOCAL),
    "of all": fedavg(**LOCAL, average="all"),
    "constant": constant_weights(**LOCAL, aggregation_weight=["1/2", "1", "3/2", "1", "1"]),
    "known": known_statistics(**LOCAL),
    "two kinds": fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
}
PROCESS = Bernoulli(["1/4", "1/2", "1/8", "1/2", "3/4"])


@pytest.mark.parametrize("algorithm", WEIGHTS)
def test_weights_of_many_rounds_are_those_of_each(monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    """Also where nobody shows up, and in replicas of which a round is of another kind."""
    process = Uniform(2) if algorithm == "two kinds" else PROCESS
    setting = Setting(random_quadratic(CLIENTS, 3, seed=1, gradient_noise=0.5), WEIGHTS[algorithm], process)
    ahead = setting.simulate(replicas=7, rounds=30)
    assert any(isinstance(kind, ClientRound) and kind.by_counts for kind in setting.algorithm.kinds)
    asked = []
    monkeypatch.setattr(several.Several, "of", lambda plan: None)
    monkeypatch.setattr(Pairs, "known", lambda pairs, name: asked.append(name))
    alone = setting.simulate(replicas=7, rounds=30)
    assert participants.WEIGHTS in asked
    for name, values in ahead.rows.items():
        np.testing.assert_array_equal(values, alone.rows[name], name)


@pytest.mark.parametrize("cohort", range(1, CLIENTS + 1))
def test_cohorts_do_not_depend_on_how_they_are_found(monkeypatch: pytest.MonkeyPatch, cohort: int) -> None:
    """In main memory words are partitioned, on a device the least of them are picked; all clients need no draw."""
    words = torch.from_numpy(np.random.default_rng(0).integers(-(2**63), 2**63, (3, 50, CLIENTS)))
    found = processes._smallest_words(words, cohort)
    assert (found.sum(2) == cohort).all() and found.dtype == torch.int8
    largest = torch.where(found > 0, words, -(2**63)).amax(2)
    assert (largest <= torch.where(found > 0, 2**63 - 1, words).amin(2)).all()
    monkeypatch.setattr(processes, "in_memory", lambda x: False)
    assert torch.equal(processes._smallest_words(words, cohort), found)
