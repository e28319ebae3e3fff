"""The contract of what serves real clients: rules, who is there, what clients answer, and the plain server's models.

Needs numpy alone, so that it holds where a framework is installed and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fedtheory import algorithms
from fedtheory.algorithms import Algorithm, aggregation
from fedtheory.algorithms.every_round import every_round
from fedtheory.deploy import Answer, Server

CLIENTS, DIMENSION = 7, 5
NAMES = [str(i) for i in range(CLIENTS)]
START = {"w": np.array([[1.0, -2.0], [0.5, 3.0]]), "b": np.array(0.25)}

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


def update(client: int, round: int) -> np.ndarray:
    """What a client adds to the model in a round, whatever the model is."""
    return np.random.default_rng((client, round)).normal(size=DIMENSION) / 10


def server_gradient(round: int, step: int) -> np.ndarray:
    return np.random.default_rng((99, round, step)).normal(size=DIMENSION)


def accuracy(x: np.ndarray) -> float:
    """A number in [0, 1] that the model decides."""
    return float(abs(np.sin(x[0])))


def shaped(flat: np.ndarray) -> list[np.ndarray]:
    """A row as the arrays of the model."""
    return [flat[:4].reshape(2, 2), np.asarray(flat[4])]


def flat(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([each.ravel() for each in arrays])


def gradient(model: list[np.ndarray], round: int, step: int) -> list[np.ndarray]:
    return shaped(server_gradient(round, step))


def answers(names: Iterable[str], round: int, model: np.ndarray, accuracy: float | None = None) -> list[Answer]:
    """What clients "0" to "6" answer, in an order that is not theirs."""
    asked = sorted(map(int, names), key=lambda i: (i * 5) % 7)
    return [Answer(str(i), shaped(model + update(i, round)), i + 1, round, accuracy=accuracy) for i in asked]


def opened(algorithm: Algorithm, folder: Path | None = None) -> Server:
    return Server(algorithm, list(START.values()), NAMES, directory=folder, seed=SEED, server_gradient=gradient)


def served(algorithm: Algorithm, mask: np.ndarray) -> np.ndarray:
    """The models of a server without a framework, which runs in one go, (rounds + 1, D). Clients report how accurate
    the model is that they get."""
    server, found = opened(algorithm), []
    for there in mask:
        model = flat(server.model)
        found.append(model)
        task = server.begin(map(str, np.flatnonzero(there)))
        server.end(answers(task.clients, task.round, model, accuracy(model)))
    return np.array([*found, flat(server.model)])
