"""Every deployed rule beside the engine's round: the same clients, fixed updates, 200 rounds, a restart, to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra 'simulate' is not installed")

import torch

import fedtheory as ft
from fedtheory import algorithms
from fedtheory.algorithms import Algorithm, aggregation, server_step
from fedtheory.deploy import Server, numpy_rounds
from fedtheory.federations import Federation
from fedtheory.federations.federation import Pairs
from fedtheory.participation import Recorded
from fedtheory.simulation.observer import Observer

from .rounds_beside import (
    CLIENTS,
    DIMENSION,
    SEED,
    START,
    STEP,
    STOP,
    TABLE,
    accuracy,
    answers,
    flat,
    opened,
    server_gradient,
    trace,
    update,
)


class FixedUpdates(Federation):
    """Clients whose updates are fixed beforehand."""

    clients, dimension = CLIENTS, DIMENSION

    def loss(self, x: torch.Tensor, pairs: Pairs) -> torch.Tensor:
        return x.new_zeros(len(x))

    def gradient(self, x: torch.Tensor, pairs: Pairs) -> torch.Tensor:
        return torch.zeros_like(x)

    def to(self, device: Any = "cpu", dtype: Any = "float64") -> FixedUpdates:
        return self

    def local_update(self, start: torch.Tensor, pairs: Pairs, training: Any, state: Any) -> tuple[torch.Tensor, Any]:
        added = [update(client, pairs.round) for client in pairs.client.tolist()]
        return start + torch.from_numpy(np.array(added).reshape(len(added), DIMENSION)), state

    def server_gradient(self, x: torch.Tensor, replica_ids: Any, seed: int, round: int, draw: int = 0) -> torch.Tensor:
        return torch.from_numpy(server_gradient(round, draw))[None]

    def training_accuracy(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor([accuracy(row) for row in x.numpy()], dtype=torch.float64)


class Nothing(Observer):
    """What is observed where nothing is."""

    names = ("nothing",)

    def observe(self, plan: Any, state: Any, round: int) -> dict[str, torch.Tensor]:
        return {"nothing": torch.zeros(1, dtype=torch.float64)}


def simulated(algorithm: Algorithm, mask: np.ndarray) -> np.ndarray:
    """The engine's models before each round and after the last, (rounds + 1, D)."""
    setting = ft.Setting(FixedUpdates(), algorithm, Recorded(mask), start=flat(START.values()).tolist())
    run = setting.simulate(replicas=1, rounds=len(mask), seed=SEED, keep_models=1, observers=[Nothing()], device="cpu")
    return np.array([run.models[r][0] for r in range(len(mask) + 1)])


def deployed(algorithm: Algorithm, mask: np.ndarray, folder: Path, stop: int | None = STOP) -> np.ndarray:
    """The models of a server that is stopped in the middle of a round and started again."""

    server, found = opened(algorithm, folder), []
    for r, there in enumerate(mask):
        if r == stop:
            server.begin(["0", "1"])
            server.close()
            server = opened(algorithm, folder)
            assert server.round == r
        model = flat(server.model)
        found.append(model)
        reached = np.ones(CLIENTS, bool) if algorithm.own_cohorts and is_snapshot(server) else there
        task = server.begin(map(str, np.flatnonzero(reached)))
        server.end(answers(task.clients, r, model), accuracy=accuracy(model))
    server.close()
    return np.array([*found, flat(server.model)])


def is_snapshot(server: Server) -> bool:
    return numpy_rounds.is_first(server.algorithm, SEED, server.round, server.probability)


@pytest.mark.parametrize("name", TABLE)
def test_a_deployed_round_is_the_engines(name: str, tmp_path: Path) -> None:
    assert DIMENSION == 5
    mask = trace()
    found, engine = deployed(TABLE[name], mask, tmp_path), simulated(TABLE[name], mask)
    assert len(np.unique(engine, axis=0)) > 100  # it moves
    assert found.tolist() == engine.tolist()


def test_samples_that_clients_report_count_as_those_that_are_given(tmp_path: Path) -> None:
    reported = algorithms.fedavg(**STEP, average="samples")
    assert deployed(reported, trace(), tmp_path).tolist() == simulated(TABLE["samples"], trace()).tolist()


RELAPSES: dict[str, tuple[str, object, str, Any]] = {
    "weights of all, of participants": (
        "mean of all", aggregation.AverageAll, "weights", aggregation.AverageParticipating.weights
    ),
    "memory that is not kept": ("momentum", server_step.Momentum, "initial", lambda self, x: {"velocity": x}),
    "rows that are added and not replaced": (
        "MIFA", aggregation, "_replace_rows", lambda table, total, replaced, r, i, rows: np.add.at(total, (r, 0), rows)
    ),
    "cohorts by the largest words": (
        "FAST, probability", numpy_rounds, "cohort",
        lambda uniform, seed, round, clients: np.eye(clients, dtype=np.int8)[0] * 0 + (np.arange(clients) < 3),
    ),
    "an interval that empty rounds do not lengthen": ("FedAU, no cutoff", numpy_rounds, "client_round", None),
}  # fmt: skip


@pytest.mark.parametrize("relapse", RELAPSES)
def test_planted_relapses_are_seen(relapse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, place, attribute, other = RELAPSES[relapse]
    engine = simulated(TABLE[name], trace()[:40])
    if other is None:
        whole = numpy_rounds.client_round

        def other(kind: Any, r: int, x: Any, there: Any, counts: Any, *rest: Any) -> Any:
            return whole(kind, r, x, there, counts, *rest) if counts.any() else (x, rest[-1])

        place = ft.deploy.server
    elif attribute == "cohort":
        monkeypatch.setattr(numpy_rounds, "cohort", other)
    monkeypatch.setattr(place, attribute, other)
    assert deployed(TABLE[name], trace()[:40], tmp_path, stop=None).tolist() != engine.tolist()
