"""Clients' names do not matter, and with everybody there many algorithms are one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from fedtheory import Setting, algorithms
from fedtheory.algorithms import Algorithm
from fedtheory.federations import Federation
from fedtheory.participation import Fixed, Participation, Phases, Recorded
from fedtheory.simulation import Run, simulate
from fedtheory.simulation.iterates import iterates
from fedtheory.testing.algorithm_checks import names_do_not_matter

from .table import CLIENTS, FEDERATIONS, GROUPS, LOCAL, OBSERVED, PROCESSES, STARTS, logistic, participants, quadratic

ORDER = [2, 0, 3, 1]
"""Client i of the renamed federation is client ORDER[i]."""


def weighty(order: list[int]) -> dict[str, Algorithm]:
    """Algorithms that name clients, with the clients in another order; and those that do not."""
    p, omega = ["1/4", "1/2", "1/2", "1/3"], [1, 2, "1/2", 3]
    groups = [GROUPS[i] for i in order]
    shares = {"groups": groups, "group_weight": ["1/4", "3/4"]}
    return {
        # All clients in a snapshot, and all that are available answer: no draw has a client's name in it.
        "fast": algorithms.fast(**LOCAL, cohort=CLIENTS, snapshot_period=3, proximal="1/2", momentum="1/2"),
        "safari": algorithms.safari(**LOCAL, client_round_probability="2/3", server_lr="1/16"),
        "fedavg": algorithms.fedavg(**LOCAL, global_lr="3/2"),
        "average all": algorithms.fedavg(**LOCAL, average="all"),
        "fedadam": algorithms.fedadam(**LOCAL, global_lr="1/8"),
        "fedamplify": algorithms.fedamplify(**LOCAL, period=2, global_lr="5/4"),
        "fedau": algorithms.fedau(**LOCAL, cutoff=2),
        "known": algorithms.known_statistics(**LOCAL, participation_probability=[p[i] for i in order]),
        "constant": algorithms.constant_weights(**LOCAL, aggregation_weight=[omega[i] for i in order]),
        "given": algorithms.given_weights(
            **LOCAL, aggregation_weight=[[row[i] for i in order] for row in (omega, [3, "1/2", 1, 1])]
        ),
        "fedvarp": algorithms.fedvarp(**LOCAL),
        "mifa": algorithms.mifa(**LOCAL),
        "flics": algorithms.flics_avg(**LOCAL, **shares, budget=CLIENTS),
        "naive": algorithms.naive(**LOCAL, **shares, budget=2 * CLIENTS),
    }


DRAWN = ("Bernoulli", "Recorded")
"""Processes of which ``schedules`` takes what they brought once."""


def schedules(order: list[int]) -> dict[str, Participation]:
    """Participants that are fixed beforehand, also those that random processes brought once."""
    position = {client: i for i, client in enumerate(order)}
    drawn = {name: participants(PROCESSES[name], 9, 1, seed=1)[:, 0, order].numpy()
             for name in DRAWN}  # fmt: skip
    return {
        "phases": Phases([[position[0], position[1]], [position[3], position[2]]], [2, 1], cyclic=True),
        **{name: Recorded(mask) for name, mask in drawn.items()},
    }


ORDERED = list(range(CLIENTS))


@pytest.mark.parametrize("process", ["phases", *DRAWN])
@pytest.mark.parametrize("algorithm", weighty(ORDERED))
def test_renaming_the_clients_changes_nothing(algorithm: str, process: str) -> None:
    renamed(algorithm, process, quadratic, STARTS["quadratic"])


@pytest.mark.parametrize("algorithm", weighty(ORDERED))
def test_renaming_the_clients_of_logistic_regression_changes_nothing(algorithm: str) -> None:
    renamed(algorithm, "Bernoulli", logistic, STARTS["logistic"])


def renamed(algorithm: str, process: str, build: Callable[[list[int]], Federation], start: list[float]) -> None:
    def ordered(order: Sequence[int]) -> Setting:
        return Setting(build(order), weighty(order)[algorithm], schedules(order)[process], start)

    names_do_not_matter(ordered, ORDER, rounds=9, seed=4)


def test_renaming_only_the_federation_is_seen() -> None:
    """The test above could not fail if nothing depended on who is who."""
    rows = [simulate(Setting(quadratic(order), weighty(ORDERED)["fedau"], schedules(ORDERED)["Recorded"]),
                     replicas=1, rounds=9).rows["squared_distance"][0, -1] for order in (ORDERED, ORDER)]  # fmt: skip
    assert abs(rows[0] - rows[1]) > 1e-3


EVERYBODY: dict[str, Algorithm] = {
    "average all": algorithms.fedavg(**LOCAL, average="all"),
    "fedprox without its term": algorithms.fedprox(**LOCAL, proximal=0),
    "fedavgm without momentum": algorithms.fedavgm(**LOCAL, momentum=0),
    "fedamplify of every round": algorithms.fedamplify(**LOCAL, period=1, global_lr=1),
    "fedamplify by 1": algorithms.fedamplify(**LOCAL, period=3, global_lr=1),
    "fedau": algorithms.fedau(**LOCAL, cutoff=3),
    "fedau, no cutoff": algorithms.fedau(**LOCAL, cutoff=math.inf),
    "known from the process": algorithms.known_statistics(**LOCAL),
    "constant": algorithms.constant_weights(**LOCAL, aggregation_weight=[1] * CLIENTS),
    "given": algorithms.given_weights(**LOCAL, aggregation_weight=[[1] * CLIENTS] * 2),
    "fedvarp": algorithms.fedvarp(**LOCAL),
    "mifa": algorithms.mifa(**LOCAL),
    "afl": algorithms.afl(**LOCAL),
    "fast": algorithms.fast(**LOCAL, cohort=CLIENTS, snapshot_period=2),
    "fast at random": algorithms.fast(**LOCAL, cohort=CLIENTS, snapshot_probability="1/2"),
    "safari without the server": algorithms.safari(**LOCAL, client_round_probability=1, server_lr=1),
    "flics": algorithms.flics_avg(**LOCAL, groups=GROUPS, budget=CLIENTS),
    "flics, received": algorithms.flics_avg(**LOCAL, groups=GROUPS, budget=CLIENTS, counts="received"),
    "naive": algorithms.naive(**LOCAL, groups=GROUPS, budget=2 * CLIENTS),
}


def everybody(
    federation: Federation, algorithm: Algorithm, start: list[float] | None, observed: list[str] | None
) -> Run:
    setting = Setting(federation, algorithm, Fixed(ORDERED), start)
    return simulate(setting, replicas=3, rounds=7, record_every=1, seed=2, observers=observed, dtype="float64")


@pytest.mark.parametrize("federation", FEDERATIONS)
@pytest.mark.parametrize("name", EVERYBODY)
def test_with_everybody_there_it_is_fedavg(name: str, federation: str) -> None:
    """Noise included: a client's draws do not depend on the algorithm."""
    fed, start = FEDERATIONS[federation], STARTS[federation]
    expected, found = (
        everybody(fed, a, start, OBSERVED[federation]) for a in (algorithms.fedavg(**LOCAL), EVERYBODY[name])
    )
    for row, values in expected.rows.items():
        np.testing.assert_allclose(found.rows[row], values, rtol=1e-12, atol=1e-12, err_msg=row)


def test_fedavg_with_everybody_and_one_step_is_gradient_descent() -> None:
    fed = quadratic()
    this = Setting(fed, algorithms.fedavg(local_lr="1/4", global_lr=2), Fixed(ORDERED), STARTS["quadratic"])
    x = torch.tensor([STARTS["quadratic"]], dtype=torch.float64)
    for found in iterates(this, rounds=8)[:, 0]:
        np.testing.assert_allclose(found, x[0], rtol=0, atol=1e-13)
        x = x - 0.5 * fed.global_gradient(x)
