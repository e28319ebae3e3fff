"""What the contract is about: federations, participation processes and algorithms, all of CLIENTS clients."""

from __future__ import annotations

import math

import numpy as np
import torch

from fedtheory import Setting, algorithms
from fedtheory.algorithms import Algorithm
from fedtheory.data import Dataset, Partition
from fedtheory.federations import Federation, Network
from fedtheory.participation import Incomplete, Participation, Recorded, Uniform, history
from fedtheory.participation.examples import examples
from fedtheory.testing import settings
from fedtheory.testing.settings import CLIENTS, logistic, quadratic

GROUPS = (0, 1, 1, 0)
"""The groups of the examples of processes, too."""
STARTS: dict[str, list[float] | None] = {**settings.STARTS, "network": None}
OBSERVED: dict[str, list[str] | None] = {
    "quadratic": None,
    "logistic": None,
    "network": ["loss", "squared_gradient", "training_accuracy"],
}
"""What is watched of each federation; None: the usual."""


def network(order: list[int] | None = None, **options: object) -> Network:
    """Two layers, 17 parameters, on eleven random points of two classes."""
    rng = np.random.default_rng(3)
    points, labels = rng.normal(size=(11, 2)), np.array([0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0])
    parts = [np.arange(0, 3), np.arange(3, 5), np.arange(5, 9), np.arange(9, 11)]
    order = list(range(CLIENTS)) if order is None else order
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    partition = Partition(tuple(parts[i] for i in order))
    return Network(layers, Dataset("points", points, labels, 2), partition, **{"batch_size": 2} | options)


FEDERATIONS: dict[str, Federation] = {
    "quadratic": quadratic(gradient_noise=2.5, server_noise=1.5),
    "logistic": logistic(gradient_noise=0.2, noise="gaussian", server_noise=0.1),
    "network": network(server_points=5),
}

PROCESSES: dict[str, Participation] = {
    name: process for name, process in examples(CLIENTS).items() if name != "LargestNoise"
} | {
    "with replacement": Uniform(3, replacement=True),
    "recorded, then nobody": Recorded([[1, 0, 0, 1]], after="absent"),
    "incomplete cohort": Incomplete(Uniform(2), absent=[3]),
}  # fmt: skip
"""Every process by its class, but the one that looks at the noise of gradients; and some by what is particular."""

LOCAL = {"local_lr": "1/8", "local_steps": 2}


def control_variates(x, memory, round, *, local_lr, local_steps):
    """FedVarp, as one step."""
    y = memory["updates"]
    change = round.train(x, local_lr, local_steps) - y
    moved = y.mean(1) + (round.share * change).sum(1)
    return x + round.somebody * moved, {"updates": y + round.present * change}


ALGORITHMS: dict[str, Algorithm] = {
    "fast, period": algorithms.fast(**LOCAL, cohort=2, snapshot_period=3),
    "fast, probability": algorithms.fast(**LOCAL, cohort=3, snapshot_probability="1/3", replacement=True),
    "fast, proximal and momentum": algorithms.fast(
        **LOCAL, cohort=2, snapshot_period=2, proximal="1/2", momentum="1/2"
    ),
    "fast, adaptive": algorithms.fast(**LOCAL, cohort=2, adaptivity=2),
    "safari": algorithms.safari(**LOCAL, client_round_probability="2/3", server_lr="1/16"),
    "fedavg": algorithms.fedavg(**LOCAL, global_lr="3/2"),
    "average all": algorithms.fedavg(**LOCAL, global_lr="3/2", average="all"),
    "fedavg, by rule": algorithms.fedavg(local_lr="1/(8 + step_index)", local_steps=2, global_lr="2/(1 + round_index)"),
    "weighted": algorithms.fedavg(**LOCAL, average="weighted", objective_weight=["1/2", "1/4", "1/8", "1/8"]),
    "by samples": algorithms.fedavg(**LOCAL, average="samples", samples=[1, 2, "1/2", 3]),
    "fedprox": algorithms.fedprox(**LOCAL, proximal="1/2"),
    "fedavgm": algorithms.fedavgm(**LOCAL, momentum="1/2"),
    "fedadam": algorithms.fedadam(**LOCAL, global_lr="1/8", epsilon="1/10"),
    "fedamplify": algorithms.fedamplify(**LOCAL, period=2, global_lr="5/4"),
    "fedau": algorithms.fedau(**LOCAL, cutoff=3),
    "fedau, no cutoff": algorithms.fedau(**LOCAL, cutoff=math.inf),
    "known": algorithms.known_statistics(**LOCAL, participation_probability=["1/4", "1/2", "1/2", "1/3"]),
    "known from the process": algorithms.known_statistics(**LOCAL),
    "constant": algorithms.constant_weights(**LOCAL, aggregation_weight=[1, 2, "1/2", 3]),
    "given": algorithms.given_weights(**LOCAL, aggregation_weight=[[1, 2, "1/2", 3], [3, "1/2", 1, 1]]),
    "fedvarp": algorithms.fedvarp(**LOCAL),
    "mifa": algorithms.mifa(**LOCAL),
    "mifa, staying": algorithms.mifa(**LOCAL, steps_when_empty=False),
    "afl, cross device": algorithms.afl(**LOCAL, variant="cross_device"),
    "flics": algorithms.flics_avg(**LOCAL, groups=GROUPS, budget=[2, "3/2"]),
    "flics, received": algorithms.flics_avg(
        **LOCAL, groups=GROUPS, budget=2, counts="received", update="start_counts", start=1, divided=True
    ),
    "flics adam": algorithms.flics_adam(**LOCAL, groups=GROUPS, budget=1, global_lr="1/8", epsilon="1/10"),
    "own": algorithms.own(control_variates, memory={"updates": "clients"}, **LOCAL),
    "naive": algorithms.naive(**LOCAL, groups=GROUPS, budget="3/2"),
}  # fmt: skip

NOT_THE_SAME_IN_EVERY_ROUND = {"Phases", "Recorded", "recorded, then nobody", "DayNightGroups", "RandomPatterns"}
NEVER_COME = {"Fixed", "Incomplete", "incomplete cohort"}
"""Processes some of whose clients never take part."""


def refusal(algorithm: str, process: str, federation: str) -> str | None:
    """Why a combination does not run, as a pattern of the message; None if it does."""
    if algorithm == "fast, adaptive" and federation == "quadratic":
        return "Quadratic has no training accuracy: allowed is a federation that classifies"
    if algorithm == "known from the process" and process in NEVER_COME:
        return r"participation_probability\[\d\] = 0: allowed is a number > 0"
    if algorithm == "known from the process" and process in NOT_THE_SAME_IN_EVERY_ROUND:
        return "marginal|differ"
    return None


def allowed(federation: str) -> list[tuple[str, str]]:
    """All (algorithm, process) that run on it."""
    return [(a, p) for a in ALGORITHMS for p in PROCESSES if refusal(a, p, federation) is None]


def setting(algorithm: str, process: str, federation: str = "quadratic") -> Setting:
    return Setting(FEDERATIONS[federation], ALGORITHMS[algorithm], PROCESSES[process], STARTS[federation])


def participants(process: Participation, rounds: int, replicas: int, seed: int) -> torch.Tensor:
    """Who is there, (rounds, replicas, clients), as in a simulation with this seed."""
    return history(process, CLIENTS, rounds, replicas, seed)
