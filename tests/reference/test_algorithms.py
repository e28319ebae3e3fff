"""Every algorithm of the engine against the plain loops, iterate by iterate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from fedtheory import Setting, algorithms, federations
from fedtheory.data import Dataset, Partition
from fedtheory.participation import (
    Bernoulli,
    Cyclic,
    Fixed,
    Incomplete,
    Markov,
    Participation,
    Phases,
    RandomPatterns,
    Recorded,
    Uniform,
    UniformGroups,
    Weighted,
    history,
)
from fedtheory.participation.base import Keys
from fedtheory.randomness import Axis, uniforms, words
from fedtheory.simulation.iterates import iterates

from . import plain
from .layers import TwoLayers

ROUNDS, REPLICAS, SEED, CLIENTS = 14, 2, 5, 5
GROUPS = (0, 1, 0, 2, 1)
TOLERANCE = 1e-10
"""Absolute; iterates are of order 1, and some hundred roundings of 1e-16 lie behind each."""

RNG = np.random.default_rng(7)


def _quadratics() -> tuple[federations.Federation, plain.Problem, list[float]]:
    factors = RNG.normal(size=(CLIENTS, 2, 2))
    hessians, centres = factors @ factors.transpose(0, 2, 1) / 2, RNG.normal(size=(CLIENTS, 2))
    federation = federations.Quadratic(hessians, centres)
    return federation, plain.Quadratic(hessians.tolist(), centres.tolist()), [1.0, -2.0]


def _logistics() -> tuple[federations.Federation, plain.Problem, list[float]]:
    rows = [RNG.normal(size=(n, 2)) for n in (3, 2, 4, 1, 2)]
    labels = [RNG.integers(0, 3, len(block)) for block in rows]
    federation = federations.Logistic(rows, labels, l2=0.125, classes=3)
    problem = plain.Logistic([b.tolist() for b in rows], [y.tolist() for y in labels], 3, 0.125)
    return federation, problem, [0.25, -0.5, 0.0, 1.0, -0.25, 0.5]


def _networks() -> tuple[federations.Federation, plain.Problem, list[float]]:
    """All of a client's points in every step; clients of equal size, so that the server's points are F's."""
    points, labels = RNG.normal(size=(2 * CLIENTS, 3)), RNG.integers(0, 2, 2 * CLIENTS)
    parts = tuple(np.arange(2 * i, 2 * i + 2) for i in range(CLIENTS))
    layers = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 2))
    dataset = Dataset("points", points, labels, classes=2)
    federation = federations.Network(layers, dataset, Partition(parts), batch_size=None, server_points=2 * CLIENTS)
    each = [[a[part].tolist() for part in parts] for a in (points, labels)]
    return federation, TwoLayers(*each, inputs=3, hidden=2, classes=2), RNG.normal(size=federation.dimension).tolist()


PROBLEMS = {"quadratic": _quadratics(), "logistic": _logistics(), "network": _networks()}

PROCESSES: dict[str, Participation] = {
    "uniform": Uniform(2),
    "with replacement": Uniform(3, replacement=True),
    "bernoulli": Bernoulli(["1/5", "1/10", "1/4", "1/2", "1/5"]),
    "markov": Markov.with_largest_entry(["1/5", "1/2", "1/10", "2/5", "1/5"], "1/4"),
    "cyclic": Cyclic(["1/5", "2/5", "1/5", "2/5", "1/5"], period=5),
    "weighted": Weighted(2, [1.0, 2.0, 3.0, 4.0, 0.5]),
    "fixed": Fixed([1, 3]),
    "phases": Phases([[0, 1], [2, 4]], [2, 3], cyclic=True),
    "recorded": Recorded.of_sets([[], [0], [1, 2, 3], [], [], [4], [0, 1, 2, 3, 4]], CLIENTS, after="repeat"),
    "patterns": RandomPatterns.real_random(np.array([[1, 0], [0, 0], [1, 1], [0, 1]]), CLIENTS, after="repeat"),
    "incomplete": Incomplete(Bernoulli(["1/2", "1/3", "1/4", "1/5"]), absent=[2]),
    "groups": UniformGroups(GROUPS, lowest=[0, 0, 0], highest=[1, 1, 1]),
}
SOMETIMES_EMPTY = {"bernoulli", "markov", "cyclic", "recorded", "patterns", "incomplete", "groups"}


@dataclass(frozen=True)
class Draws:
    """What one replica's run draws, from the package: who is there, and the dice."""

    process: Participation
    replica: int

    @property
    def _ids(self) -> torch.Tensor:
        return torch.arange(REPLICAS)

    @property
    def present(self) -> list[list[int]]:
        return history(self.process, CLIENTS, ROUNDS, REPLICAS, SEED)[:, self.replica].tolist()

    def cohort(self, size: int, replacement: bool = False) -> list[list[int]]:
        """The cohorts that an algorithm draws for itself."""
        process, keys = Uniform(size, replacement), Keys(SEED, Axis.COHORT, self._ids, CLIENTS)
        return [process.step(keys, r)[0][self.replica].tolist() for r in range(ROUNDS)]

    @property
    def dice(self) -> list[float]:
        """One uniform number a round: which kind of round it is."""
        return [float(uniforms(words(SEED, Axis.SNAPSHOT, self._ids, r))[self.replica]) for r in range(ROUNDS)]

    def answers(self, round: int, client: int, chance: float) -> bool:
        return float(uniforms(words(SEED, Axis.SELECTION, self._ids, client, round))[self.replica]) < chance


Plainly = Callable[[plain.Problem, list[float], Draws], list[list[float]]]
LOCAL, STEP = {"local_lr": "1/8", "local_steps": 3}, {"lr": 0.125, "steps": 3}
LARGER = {"global_lr": "3/2"}


def _of_present(function: Callable, **options: object) -> Plainly:
    return lambda problem, x, draws: function(problem, x, draws.present, **STEP, **options)


def _known(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
    p = [0.5, 0.25, 0.125, 1.0, 0.75]
    return plain.weighted(problem, x, draws.present, lambda t, n: 1 / p[n], **STEP, global_lr=1.5)


def _constant(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
    omega = [1.0, 2.0, 0.5, 3.0, 0.25]
    return plain.weighted(problem, x, draws.present, lambda t, n: omega[n], **STEP, global_lr=1.5)


def _given(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
    omega = [[1.0, 2.0, 0.5, 3.0, 0.25], [2.0, 0.5, 1.0, 1.0, 4.0], [0.5, 1.0, 3.0, 0.25, 1.0]]
    return plain.weighted(problem, x, draws.present, lambda t, n: omega[t % 3][n], **STEP, global_lr=1.5)


def _fast(kind: Callable[[int, float], bool], replacement: bool = False, **options: float) -> Plainly:
    def path(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
        dice, own = draws.dice, draws.cohort(3, replacement)
        return plain.fast(problem, x, draws.present, own, lambda r: kind(r, dice[r]), **STEP, **options)

    return path


def _safari(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
    dice = draws.dice
    return plain.safari(problem, x, draws.present, lambda r: dice[r] < 0.625, **STEP, server_lr=0.1875)


_STEPPING = algorithms.EveryRound(
    replace(algorithms.fedvarp(**LOCAL, **LARGER).round, aggregation=algorithms.FedVarp(steps_when_empty=True))
)

ALGORITHMS: dict[str, tuple[algorithms.Algorithm, Plainly]] = {
    "fedavg": (algorithms.fedavg(**LOCAL), _of_present(plain.fedavg)),
    "fedavg, larger": (algorithms.fedavg(**LOCAL, **LARGER), _of_present(plain.fedavg, global_lr=1.5)),
    "average all": (
        algorithms.fedavg(**LOCAL, **LARGER, average="all"),
        _of_present(plain.fedavg, global_lr=1.5, everyone=True),
    ),
    "fedprox": (algorithms.fedprox(**LOCAL, proximal="3/4"), _of_present(plain.fedavg, proximal=0.75)),
    "fedavgm": (algorithms.fedavgm(**LOCAL, momentum="3/5", **LARGER),
                _of_present(plain.fedavg, momentum=0.6, global_lr=1.5)),
    "fedadam": (
        algorithms.fedadam(**LOCAL, global_lr="1/4", beta1="4/5", beta2="19/20", epsilon="1/50"),
        _of_present(plain.fedadam, global_lr=0.25, beta1=0.8, beta2=0.95, epsilon=0.02),
    ),
    "fedamplify": (algorithms.fedamplify(**LOCAL, period=3, **LARGER),
                   _of_present(plain.amplified, period=3, global_lr=1.5)),
    "fedau": (algorithms.fedau(**LOCAL, **LARGER, cutoff=4), _of_present(plain.fedau, cutoff=4, global_lr=1.5)),
    "fedau, no cutoff": (algorithms.fedau(**LOCAL, **LARGER, cutoff=math.inf),
                         _of_present(plain.fedau, cutoff=math.inf, global_lr=1.5)),
    "known": (
        algorithms.known_statistics(**LOCAL, **LARGER, participation_probability=["1/2", "1/4", "1/8", 1, "3/4"]),
        _known,
    ),
    "constant": (algorithms.constant_weights(**LOCAL, **LARGER, aggregation_weight=[1, 2, "1/2", 3, "1/4"]), _constant),
    "given": (
        algorithms.given_weights(
            **LOCAL,
            **LARGER,
            aggregation_weight=[[1, 2, "1/2", 3, "1/4"], [2, "1/2", 1, 1, 4], ["1/2", 1, 3, "1/4", 1]],
        ),
        _given,
    ),
    "fedvarp": (algorithms.fedvarp(**LOCAL, **LARGER), _of_present(plain.fedvarp, global_lr=1.5)),
    "mifa": (algorithms.mifa(**LOCAL, **LARGER), _of_present(plain.mifa, global_lr=1.5)),
    "mifa, staying": (algorithms.mifa(**LOCAL, **LARGER, steps_when_empty=False),
                      _of_present(plain.mifa, global_lr=1.5, stays=True)),
    "fedvarp, stepping": (_STEPPING, _of_present(plain.fedvarp, global_lr=1.5, stays=False)),
    "afl, cross silo": (algorithms.afl(**LOCAL, **LARGER), _of_present(plain.mifa, global_lr=1.5, stays=True)),
    "afl, cross device": (algorithms.afl(**LOCAL, **LARGER, variant="cross_device"),
                          _of_present(plain.fedavg, global_lr=1.5)),
    "fast, period": (algorithms.fast(**LOCAL, cohort=3, snapshot_period=3), _fast(lambda r, die: r % 3 == 0)),
    "fast, probability": (algorithms.fast(**LOCAL, cohort=3, snapshot_probability="2/5", replacement=True),
                          _fast(lambda r, die: die < 0.4, replacement=True)),
    "fast, proximal": (algorithms.fast(**LOCAL, cohort=3, snapshot_period=2, proximal="3/4"),
                       _fast(lambda r, die: r % 2 == 0, proximal=0.75)),
    "fast, momentum": (algorithms.fast(**LOCAL, cohort=3, snapshot_period=2, momentum="3/5"),
                       _fast(lambda r, die: r % 2 == 0, momentum=0.6)),
    "safari": (algorithms.safari(**LOCAL, client_round_probability="5/8", server_lr="3/16"), _safari),
}  # fmt: skip


def _agree(problem: str, algorithm: algorithms.Algorithm, process: Participation, plainly: Plainly) -> None:
    federation, loops, start = PROBLEMS[problem]
    setting = Setting(federation, algorithm, process, start)
    found = iterates(setting, rounds=ROUNDS, replicas=REPLICAS, seed=SEED, dtype="float64")
    for replica in range(REPLICAS):
        expected = plainly(loops, start, Draws(process, replica))
        np.testing.assert_allclose(found[:, replica].numpy(), np.array(expected), rtol=0, atol=TOLERANCE)


HARD = ["with replacement", "bernoulli", "recorded", "markov"]
"""Counts above 1, rounds without participants, and absences of all lengths."""
REMEMBER = ["fedau", "fedvarp", "fast, momentum"]


@pytest.mark.parametrize("process", HARD)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_is_its_pseudo_code(name: str, process: str) -> None:
    _agree("quadratic", ALGORITHMS[name][0], PROCESSES[process], ALGORITHMS[name][1])


@pytest.mark.parametrize("process", [name for name in PROCESSES if name not in HARD])
@pytest.mark.parametrize("name", REMEMBER)
def test_the_same_under_every_process(name: str, process: str) -> None:
    _agree("quadratic", ALGORITHMS[name][0], PROCESSES[process], ALGORITHMS[name][1])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_same_on_logistic_regression(name: str) -> None:
    _agree("logistic", ALGORITHMS[name][0], PROCESSES["bernoulli"], ALGORITHMS[name][1])


@pytest.mark.parametrize("process", ["bernoulli", "with replacement"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_same_on_a_network(name: str, process: str) -> None:
    _agree("network", ALGORITHMS[name][0], PROCESSES[process], ALGORITHMS[name][1])


@pytest.mark.parametrize("problem", ["logistic", "network"])
@pytest.mark.parametrize("process", ["uniform", "bernoulli"])
def test_adaptive_snapshots_are_algorithm_2(process: str, problem: str) -> None:
    algorithm = algorithms.fast(**LOCAL, cohort=3, adaptivity=4)

    def path(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
        return plain.fast_adaptive(problem, x, draws.present, draws.cohort(3), draws.dice, adaptivity=4.0, **STEP)

    _agree(problem, algorithm, PROCESSES[process], path)


def test_the_processes_bring_what_the_comparison_needs() -> None:
    """Rounds without participants, clients that come back and, with replacement, a client drawn twice."""
    for name, process in PROCESSES.items():
        drawn = history(process, CLIENTS, ROUNDS, REPLICAS, SEED)
        empty = bool((drawn.sum(2) == 0).any())
        assert empty == (name in SOMETIMES_EMPTY), name
        assert (drawn.sum((0, 1)) > 1).sum() >= 2, name
    assert history(PROCESSES["with replacement"], CLIENTS, ROUNDS, REPLICAS, SEED).max() > 1


WEIGHTS = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
AVAILABILITY = {
    "uniform groups": PROCESSES["groups"],
    "bernoulli": PROCESSES["bernoulli"],
    "everybody": Fixed(range(CLIENTS)),
}
READINGS = [
    {},
    {"divided": True},
    {"counts": "received", "update": "start_counts", "start": "1/2"},
    {"counts": "planned", "update": "start_counts", "start": "1/2", "divided": True},
    {"counts": "received", "update": "mean"},
    {"counts": "planned", "update": "printed", "start": "1/10"},
    {"counts": "received", "update": "printed", "start": "1/10", "divided": True},
]


def _flics(reading: dict, server: Callable[[], Callable]) -> Plainly:
    chosen = reading | {"start": Fraction(reading.get("start", 0))}

    def path(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
        budget = [Fraction(2), Fraction(3, 2)]
        return plain.flics(problem, x, draws.present, draws.answers, server(), groups=GROUPS, weights=WEIGHTS,
                           budget=budget, **STEP, **chosen)  # fmt: skip

    return path


@pytest.mark.parametrize("process", AVAILABILITY)
@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_flics_is_its_pseudo_code(reading: dict, process: str) -> None:
    chosen = {"groups": GROUPS, "group_weight": WEIGHTS, "budget": [2, "3/2"], **LOCAL}
    algorithm = algorithms.flics_avg(**chosen, **LARGER, **reading)
    server = lambda: lambda w, delta: plain.moved(w, (1.5, delta))  # noqa: E731
    _agree("quadratic", algorithm, AVAILABILITY[process], _flics(reading, server))


def _adam() -> Callable[[list[float], list[float]], list[float]]:
    m, v = [0.0, 0.0], [0.02**2, 0.02**2]

    def step(w: list[float], delta: list[float]) -> list[float]:
        for j, d in enumerate(delta):
            m[j], v[j] = 0.8 * m[j] + (1 - 0.8) * d, 0.95 * v[j] + (1 - 0.95) * d**2
        return [a + 0.25 * b / (math.sqrt(c) + 0.02) for a, b, c in zip(w, m, v, strict=True)]

    return step


def test_flics_adam_is_its_pseudo_code() -> None:
    algorithm = algorithms.flics_adam(
        groups=GROUPS, group_weight=WEIGHTS, budget=[2, "3/2"], **LOCAL, global_lr="1/4", beta1="4/5", beta2="19/20",
        epsilon="1/50",
    )  # fmt: skip
    _agree("quadratic", algorithm, AVAILABILITY["bernoulli"], _flics({}, _adam))


@pytest.mark.parametrize("process", AVAILABILITY)
def test_naive_answers_are_its_rates(process: str) -> None:
    """Every available client of group j answers with probability min(p_j k, a_j) / a_j; the server takes the mean."""
    algorithm = algorithms.naive(groups=GROUPS, group_weight=WEIGHTS, budget=2, **LOCAL, answers="independent")

    def path(problem: plain.Problem, x: list[float], draws: Draws) -> list[list[float]]:
        present = []
        for t, there in enumerate(draws.present):
            a = [sum(n for n, g in zip(there, GROUPS, strict=True) if g == j) for j in range(3)]
            chance = [min(float(w) * 2, n) / n if n else 0.0 for w, n in zip(WEIGHTS, a, strict=True)]
            present.append([int(n and draws.answers(t, i, chance[GROUPS[i]])) for i, n in enumerate(there)])
        return plain.fedavg(problem, x, present, **STEP)

    _agree("quadratic", algorithm, AVAILABILITY[process], path)
