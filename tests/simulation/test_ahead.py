"""What is computed for many rounds at once is what single rounds would compute."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedtheory.algorithms import constant_weights, fast, fedavg, known_statistics
from fedtheory.algorithms.algorithm import Algorithm, ClientRound
from fedtheory.federations import Pairs, random_quadratic
from fedtheory.loops.uniform_cohorts import rank
from fedtheory.participation import Bernoulli, Uniform, processes
from fedtheory.participation.base import Keys
from fedtheory.randomness import Axis, refined, words
from fedtheory.setting import Setting
from fedtheory.simulation import drawn_participants, fused_rounds

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
    monkeypatch.setattr(fused_rounds.Several, "of", lambda plan: None)
    monkeypatch.setattr(Pairs, "known", lambda pairs, name: asked.append(name))
    alone = setting.simulate(replicas=7, rounds=30)
    assert drawn_participants.WEIGHTS in asked
    for name, values in ahead.rows.items():
        np.testing.assert_array_equal(values, alone.rows[name], name)


@pytest.mark.parametrize(("clients", "cohort"), [*((5, n) for n in range(1, 6)), (100, 10), (100, 99), (1000, 2)])
def test_cohorts_do_not_depend_on_how_they_are_found(
    monkeypatch: pytest.MonkeyPatch, clients: int, cohort: int
) -> None:
    """Who has the least words takes part: in main memory as many are counted, on a device the least are picked; all
    clients need no draw."""
    keys = Keys(3, Axis.ARBITRARY, torch.tensor([0, 4, 2**40]), clients)
    found, _ = Uniform(cohort).steps(keys, first=7, rounds=40)
    assert found.dtype == torch.int8 and (found.sum(2) == cohort).all()
    prefixes = words(3, Axis.ARBITRARY, keys.replica_ids[:, None], torch.arange(clients))
    drawn = refined(prefixes, torch.arange(7, 47)[:, None, None]).numpy()
    order = np.argsort(np.argsort(drawn, axis=-1), axis=-1)
    np.testing.assert_array_equal(found.numpy(), order < cohort)
    monkeypatch.setattr(processes, "in_memory", lambda x: False)
    assert torch.equal(Uniform(cohort).steps(keys, first=7, rounds=40)[0], found)


def test_independent_clients_of_many_rounds_are_those_of_each() -> None:
    drawn = PROCESS.init(Keys(3, Axis.ARBITRARY, torch.tensor([0, 4, 2**40]), CLIENTS))
    found, after = PROCESS.steps(drawn, first=7, rounds=40)
    assert after == drawn and found.dtype == torch.int8 and len({tuple(each.flatten().tolist()) for each in found}) > 9
    assert torch.equal(PROCESS.steps(drawn, first=7, rounds=1)[0], found[:1])
    for round, counts in zip(range(7, 47), found, strict=True):
        assert torch.equal(counts, PROCESS.step(drawn, round)[0])


LEAST, MOST = -(2**63), 2**63 - 1
WORDS = {
    "the ends": [LEAST, MOST, 0],
    "next to each other": [*range(5, 25)],
    "at the lower end": [LEAST, LEAST + 1, LEAST + 2, MOST],
    "at the upper end": [LEAST, MOST - 2, MOST - 1, MOST],
    "two heaps": [*range(LEAST, LEAST + 9), *range(MOST - 9, MOST)],
    "ever closer": [MOST - 2**k for k in range(62)],
}


@pytest.mark.parametrize("name", WORDS)
def test_ranks_are_found_wherever_words_are(name: str) -> None:
    """Also where they are not spread evenly, as ranks of hashed words are guessed."""
    given = np.random.default_rng(0).permutation(np.array(WORDS[name], dtype=np.int64))
    for count in range(1, len(given)):
        assert (given < rank(given, count)).sum() == count


def test_equal_words_end_the_search() -> None:
    assert rank(np.array([4, 4, 9]), 1) == 5
