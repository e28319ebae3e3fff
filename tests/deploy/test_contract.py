"""Every deployed rule beside the engine's round: the same clients, fixed updates, 200 rounds, a restart, to the bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fedtheory as ft
from fedtheory import algorithms
from fedtheory.algorithms import Algorithm, aggregation, server_step
from fedtheory.algorithms.every_round import every_round
from fedtheory.deploy import Server, numpy_rounds
from fedtheory.participation import Recorded
from fedtheory.simulation.observer import Observer

from .rounds_beside import CLIENTS, DIMENSION, FixedUpdates, accuracy, answers, server_gradient

ROUNDS, SEED, STOP = 200, 3, 77
STEP: dict[str, Any] = {"local_lr": "1/10"}
ADAM: dict[str, Any] = STEP | {"global_lr": "1/20"}
GROUPS = {"groups": [0, 0, 1, 1, 1, 2, 2], "budget": ["5/2", 2, 4]}
SAMPLES = list(range(1, CLIENTS + 1))
RATES = ["1/2", "1/3", "1/5", 1, "1/7", "9/10", "1/100"]

TABLE: dict[str, Algorithm] = {
    "mean of participants": algorithms.fedavg(**STEP),
    "mean of all": algorithms.fedavg(**STEP, average="all", global_lr="3/2"),
    "samples": algorithms.fedavg(**STEP, average="samples", samples=SAMPLES),
    "objective weights": algorithms.fedavg(**STEP, average="weighted", objective_weight=["1/8"] * 6 + ["1/4"]),
    "budget": algorithms.fedavg(**STEP, budget=["3/2", 3]),
    "step by rule": algorithms.fedavg(local_lr="1/(3 + step_index)", local_steps=2, global_lr="1/(1 + round_index)"),
    "FedAU, cutoff 50": algorithms.fedau(**STEP),
    "FedAU, cutoff 4": algorithms.fedau(**STEP, cutoff=4, global_lr="1/3"),
    "FedAU, no cutoff": algorithms.fedau(**STEP, cutoff=math.inf),
    "known statistics": algorithms.known_statistics(**STEP, participation_probability=RATES),
    "constant weights": algorithms.constant_weights(**STEP, aggregation_weight=SAMPLES),
    "given weights": algorithms.given_weights(**STEP, aggregation_weight=[SAMPLES, SAMPLES[::-1], [1] * CLIENTS]),
    "MIFA": algorithms.mifa(**STEP),
    "MIFA that waits": algorithms.mifa(**STEP, steps_when_empty=False),
    "FedVarp": algorithms.fedvarp(**STEP, global_lr="2/3"),
    "FedVarp that goes on": algorithms.fedvarp(**STEP, steps_when_empty=True),
    "momentum": algorithms.fedavgm(**STEP, momentum="9/10"),
    "Adam": algorithms.fedadam(**ADAM),
    "amplified": algorithms.fedamplify(**STEP, period=3, global_lr=2),
    "FedAU with Adam": every_round(
        algorithms.fedau(**STEP).local_lr, 1, algorithms.fedadam(**ADAM).round.server, aggregation.FedAUWeights(9)
    ),
    "FAST, period": algorithms.fast(**STEP, cohort=3, snapshot_period=4),
    "FAST, probability": algorithms.fast(**STEP, cohort=3, snapshot_probability="1/3"),
    "FAST, all": algorithms.fast(**STEP, cohort=CLIENTS, snapshot_probability="1/3"),
    "FAST, with replacement": algorithms.fast(**STEP, cohort=3, snapshot_probability="1/3", replacement=True),
    "FAST, adaptive": algorithms.fast(**STEP, cohort=3, adaptivity=2),
    "FAST, momentum": algorithms.fast(**STEP, cohort=3, snapshot_probability="1/3", momentum="1/2"),
    "SAFARI": algorithms.safari(**STEP, client_round_probability="2/3", server_lr="1/7", server_steps=2),
    "FLICS-Avg": algorithms.flics_avg(**STEP, **GROUPS),
    "FLICS-Avg, drawn": algorithms.flics_avg(**STEP, **GROUPS, answers="drawn", divided=True),
    "FLICS-Avg, received": algorithms.flics_avg(**STEP, **GROUPS, counts="received", start=1, update="start_counts"),
    "FLICS-Avg, printed": algorithms.flics_avg(**STEP, **GROUPS, update="printed", start=1),
    "FLICS-Adam": algorithms.flics_adam(**ADAM, **GROUPS),
    "NAIVE": algorithms.naive(**STEP, **GROUPS),
    "NAIVE, independent": algorithms.naive(**STEP, **GROUPS, answers="independent"),
}  # fmt: skip


def trace() -> np.ndarray:
    """Who is there, (rounds, clients): at rates that differ, client 6 late and seldom, every ninth round empty."""
    rng = np.random.default_rng(0)
    mask = rng.random((ROUNDS, CLIENTS)) < np.array([0.9, 0.6, 0.5, 0.3, 0.7, 0.2, 0.05])
    mask[:40, 6] = False
    mask[::9] = False
    return mask


class Nothing(Observer):
    """What is observed where nothing is."""

    names = ("nothing",)

    def observe(self, plan: Any, state: Any, round: int) -> dict[str, torch.Tensor]:
        return {"nothing": torch.zeros(1, dtype=torch.float64)}


def simulated(algorithm: Algorithm, mask: np.ndarray) -> np.ndarray:
    """The engine's models before each round and after the last, (rounds + 1, D)."""
    setting = ft.Setting(FixedUpdates(), algorithm, Recorded(mask), start=[1.0, -2.0, 0.5, 3.0, 0.25])
    run = setting.simulate(replicas=1, rounds=len(mask), seed=SEED, keep_models=1, observers=[Nothing()], device="cpu")
    return np.array([run.models[r][0] for r in range(len(mask) + 1)])


def deployed(algorithm: Algorithm, mask: np.ndarray, folder: Path, stop: int | None = STOP) -> np.ndarray:
    """The models of a server that is stopped in the middle of a round and started again."""

    def started() -> Server:
        return Server(
            algorithm, [np.array([[1.0, -2.0], [0.5, 3.0]]), np.array(0.25)], [str(i) for i in range(CLIENTS)],
            directory=folder, seed=SEED, server_gradient=lambda model, r, k: shaped(server_gradient(r, k)),
        )  # fmt: skip

    def shaped(flat: np.ndarray) -> list[np.ndarray]:
        return [flat[:4].reshape(2, 2), flat[4]]

    server, found = started(), []
    for r, there in enumerate(mask):
        if r == stop:
            server.begin(["0", "1"])
            server.close()
            server = started()
            assert server.round == r
        model = np.concatenate([each.ravel() for each in server.model])
        found.append(model)
        reached = np.ones(CLIENTS, bool) if algorithm.own_cohorts and is_snapshot(server) else there
        task = server.begin(map(str, np.flatnonzero(reached)))
        flat = answers(task.clients, r, model)
        server.end(
            [ft.deploy.Answer(a.client, shaped(a.arrays[0]), a.examples, a.round) for a in flat],
            accuracy=accuracy(model),
        )
    server.close()
    return np.array([*found, np.concatenate([each.ravel() for each in server.model])])


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
