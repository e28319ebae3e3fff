"""The published comparisons of theory and practice: one for each paper, logistic regression on digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import algorithms, data, participation
from ..data.partition import LabelsPerClient
from ..federations import Network
from ..functionals import AVERAGE_SQUARED_GRADIENT
from ..neural.models import multinomial_logistic
from ..papers import claim
from ..setting import Setting
from .practice import Pair, Watched, plot_practice, twin_of

ROUNDS, REPLICAS, STEPS = 150, 6, 5
LR, TWIN_LR, LONGER = "1/20", "1/200", 10
"""Step sizes of the model, and of its twin, which the theorems' caps allow; the twin goes as far in more rounds."""


def network(clients: int = 20, labels: int = 1, **options: Any) -> Network:
    """Digits by clients of so many labels each, every label at equally many; a fifth of a client's points is for
    testing."""
    scheme = LabelsPerClient(clients=clients, labels=labels, choice="even", shared=False, test=0.2)
    return Network(multinomial_logistic(64), data.load("digits"), scheme, 8, **options)


def label_of(federation: Network) -> list[int]:
    """The label that each client has most of."""
    dataset = federation.dataset
    return [int(label) for label in federation.partition.counts(dataset.labels, dataset.classes).argmax(1)]


def pair(federation: Network, twin: Any, algorithm: Any, process: Any, **twin_changes: Any) -> Pair:
    """A method on the data and on the twin, which differ in step sizes only."""
    changes = {"local_lr": TWIN_LR} | twin_changes
    return Pair(Setting(federation, algorithm(local_lr=LR), process), Setting(twin, algorithm(**changes), process),
                LONGER)  # fmt: skip


def fast() -> Figure:
    """FAST with the share q of snapshots, participants by index-weighted Beta(1, 10)."""
    federation = network()
    twin = twin_of(federation)

    def method(q: str) -> Pair:
        return pair(
            federation, twin,
            lambda local_lr: algorithms.fast(
                snapshot_probability=q, cohort=2, local_lr=local_lr, local_steps=STEPS
            ),
            participation.IndexBeta(2),
        )  # fmt: skip

    methods = {f"q = {q}": method(q) for q in ("0", "1/4", "1/2", "1")}
    return plot_practice([claim("fast.thm2"), claim("fast.thm2@corrected")], methods, ROUNDS, REPLICAS,
                         "FAST: digits, one label a client")  # fmt: skip


def safari() -> Figure:
    """SAFARI with the share q of client rounds; 8 of 20 clients, those with the last four labels, never take part."""
    federation = network(server_points=100)
    twin = twin_of(federation)
    absent = tuple(client for client, label in enumerate(label_of(federation)) if label >= 6)
    process = participation.Incomplete(participation.Uniform(4), absent)

    def method(q: str) -> Pair:
        def made(local_lr: str, server_lr: Any = "1/8") -> Any:
            return algorithms.safari(
                client_round_probability=q, local_lr=local_lr, server_lr=server_lr, local_steps=STEPS
            )

        tied = algorithms.theorem_5_server_lr(TWIN_LR, STEPS, smoothness=1, strong_convexity=1)
        return pair(federation, twin, made, process, server_lr=tied)

    methods = {f"q = {q}": method(q) for q in ("1", "4/5", "2/5", "1/5")}
    return plot_practice([claim("safari.thm5"), claim("safari.thm5@corrected")], methods, 2 * ROUNDS, REPLICAS,
                         "SAFARI: digits, 8 of 20 clients absent")  # fmt: skip


def fedau() -> Figure:
    """FedAU and what it compares with, where the clients of half of the labels come rarely."""
    federation = network()
    twin = twin_of(federation)
    process = participation.Bernoulli(["1/2" if label < 5 else "1/20" for label in label_of(federation)])
    makers = {
        "average participating": algorithms.fedavg,
        "average all": lambda **o: algorithms.fedavg(average="all", **o),
        "FedAU, K = 50": lambda **o: algorithms.fedau(cutoff=50, **o),
        "known statistics": algorithms.known_statistics,
    }
    methods = {
        name: pair(federation, twin, lambda local_lr, make=make: make(local_lr=local_lr, local_steps=STEPS), process)
        for name, make in makers.items()
    }
    return plot_practice([claim("fedau.thm2"), claim("fedau.thm2@corrected")], methods, ROUNDS, REPLICAS,
                         "FedAU: digits, half of the labels rare")  # fmt: skip


def flics() -> Figure:
    """FLICS-AVG, FedAvg and NAIVE; a group for each label, of two clients: three groups are there always, three in
    every second round, three in every third, one in every fourth."""
    federation = network()
    twin = twin_of(federation)
    groups = label_of(federation)
    present = [[round % (1 + group // 3) == 0 for group in groups] for round in range(12)]
    process = participation.Recorded(np.array(present), after="repeat")
    makers = {
        "FedAvg": lambda **o: algorithms.fedavg(budget=5, **o),
        "NAIVE": lambda **o: algorithms.naive(groups=groups, budget=5, **o),
        "FLICS-AVG": lambda **o: algorithms.flics_avg(groups=groups, budget=5, **o),
    }
    methods = {
        name: pair(federation, twin, lambda local_lr, make=make: make(local_lr=local_lr, local_steps=STEPS), process)
        for name, make in makers.items()
    }
    claims = [claim("flics.thm1@corrected"), claim("flics.thm1@intermittent")]
    return plot_practice(claims, methods, ROUNDS, REPLICAS, "FLICS: digits, later groups scarcer",
                         Watched(AVERAGE_SQUARED_GRADIENT, "r = 0..R-1"))  # fmt: skip
