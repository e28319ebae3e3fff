"""Exact moments of every algorithm whose moments close, against the enumeration of everything that can happen.

The enumeration runs each algorithm as its definition says, client by client and step by step, over every string of
participants, every coin and every sign of the two-point noise, in Fractions. It shares no code with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction as F
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.algorithms import built_in_steps
from fedtheory.federations import Quadratic
from fedtheory.moments.expected_errors import exact_errors, expected_models
from fedtheory.participation import Bernoulli, Cyclic, Fixed, Incomplete, Markov, Recorded, Uniform
from fedtheory.setting import Setting

Counts = tuple[int, ...]
Runs = list[tuple[F, list[Counts]]]
"""Each possible sequence of counts of draws, with its probability."""


# Who takes part: every sequence of rounds.


def independent(law: dict[Counts, F], rounds: int) -> Runs:
    assert sum(law.values()) == 1
    runs: Runs = [(F(1), [])]
    for _ in range(rounds):
        runs = [(p * q, [*past, counts]) for p, past in runs for counts, q in law.items() if q]
    return runs


def in_turn(snapshot: dict[Counts, F], other: dict[Counts, F], period: int, rounds: int) -> Runs:
    """Rounds 0, period, 2 period, ... have the one law, the others the other."""
    runs: Runs = [(F(1), [])]
    for r in range(rounds):
        law = other if r % period else snapshot
        runs = [(p * q, [*past, counts]) for p, past in runs for counts, q in law.items()]
    return runs


def bernoulli(p: list[F], rounds: int) -> Runs:
    law = {}
    for counts in product((0, 1), repeat=len(p)):
        law[counts] = F(1)
        for n, p_i in zip(counts, p, strict=True):
            law[counts] *= p_i if n else 1 - p_i
    return independent(law, rounds)


def uniform(clients: int, cohort: int, replacement: bool, rounds: int) -> Runs:
    draws = list(product(range(clients), repeat=cohort) if replacement else combinations(range(clients), cohort))
    law: dict[Counts, F] = {}
    for drawn in draws:
        counts = tuple(drawn.count(i) for i in range(clients))
        law[counts] = law.get(counts, F(0)) + F(1, len(draws))
    return independent(law, rounds)


def markov(p: list[F], entries: list[F], rounds: int) -> Runs:
    """A string of each client's chain after another; exits e (1 - p) / p keep the law p."""
    runs: Runs = [(F(1), [() for _ in range(rounds)])]
    for p_i, e in zip(p, entries, strict=True):
        longer: Runs = []
        for bits in product((0, 1), repeat=rounds):
            chance = p_i if bits[0] else 1 - p_i
            for a, b in pairwise(bits):
                on = 1 - e * (1 - p_i) / p_i if a else e
                chance *= on if b else 1 - on
            longer += [(q * chance, [(*c, b) for c, b in zip(past, bits, strict=True)]) for q, past in runs if chance]
        runs = longer
    return runs


def cyclic(active: list[list[tuple[int, F]]], period: int, rounds: int) -> Runs:
    """Each client's number of active rounds with its probability; offsets are uniform."""
    each = [[(q / period, a, o) for a, q in options for o in range(period)] for options in active]
    runs: Runs = []
    for choice in product(*each):
        chance = F(1)
        for q, _, _ in choice:
            chance *= q
        runs.append((chance, [tuple(int((r + o) % period < a) for _, a, o in choice) for r in range(rounds)]))
    return runs


def answers(groups: list[int], rates: list[F], how: str, available: dict[Counts, F], rounds: int) -> Runs:
    """Of those available in each group, min(rate, available) take part: each by itself, or as many as drawn."""
    law: dict[Counts, F] = {}
    for here, chance in available.items():
        outcomes = {(): chance}
        for j, rate in enumerate(rates):
            own = [i for i, n in enumerate(here) if n and groups[i] == j]
            r, more = min(rate, F(len(own))), {}
            for size in range(len(own) + 1):
                for taken in combinations(own, size):
                    if how == "independent":
                        q = (r / len(own)) ** size * (1 - r / len(own)) ** (len(own) - size) if own else F(1)
                    else:
                        fits = 1 - abs(r - size)  # r lies between two whole numbers, with these chances
                        q = max(F(0), fits) / len(list(combinations(own, size)))
                    for past, p in outcomes.items():
                        more[past + taken] = more.get(past + taken, F(0)) + p * q
            outcomes = more
        for taken, p in outcomes.items():
            counts = tuple(int(i in taken) for i in range(len(here)))
            law[counts] = law.get(counts, F(0)) + p
    return independent(law, rounds)


# The algorithms, one round each: the state is a dictionary, a round returns the next one.


@dataclass(frozen=True)
class Case:
    """A federation on a line, an algorithm in words and as the package has it, and who takes part."""

    curvatures: list
    centres: list
    how: Callable  # (case, state, counts, delta) -> state
    algorithm: Any
    process: Any
    runs: Callable[[int], Runs]
    sigma: Any = 0
    eta: Any = F(1, 3)
    steps: int = 1
    rho: Any = 0
    start: Any = 2
    rounds: int = 3
    numbers: dict = field(default_factory=dict)

    @property
    def setting(self) -> Setting:
        fed = Quadratic([[h] for h in self.curvatures], [[c] for c in self.centres], self.sigma)
        return Setting(fed, self.algorithm, self.process, self.start)

    @property
    def optimum(self) -> F:
        pairs = list(zip(self.curvatures, self.centres, strict=True))
        return sum(F(h) * F(c) for h, c in pairs) / sum(F(h) for h in self.curvatures)


def local_training(case: Case, client: int, x: F, signs: tuple[int, ...]) -> F:
    """delta_i: K gradient steps from x, each with noise and with the proximal term's pull back to x."""
    h, c, y = F(case.curvatures[client]), F(case.centres[client]), x
    for k in range(case.steps):
        noise = F(case.sigma) * signs[k] if signs else 0
        y = y - F(case.eta) * (h * (y - c) + noise + F(case.rho) * (y - x))
    return y - x


def mean_of_participants(case: Case, state: dict, counts: Counts, delta: dict[int, F]) -> dict:
    x = state["x"] + case.numbers.get("g", 1) * sum(counts[i] * delta[i] for i in delta) / sum(counts)
    return state | {"x": x}


def weighted(case: Case, state: dict, counts: Counts, delta: dict[int, F]) -> dict:
    """x + g/M sum_i N_i omega_i delta_i."""
    omega = case.numbers.get("omega", [F(1)] * len(counts))
    step = sum(counts[i] * F(omega[i]) * delta[i] for i in delta) / len(counts)
    return state | {"x": state["x"] + case.numbers.get("g", 1) * step}


def with_momentum(case: Case, state: dict, counts: Counts, delta: dict[int, F]) -> dict:
    v = case.numbers["beta"] * state["v"] + sum(counts[i] * delta[i] for i in delta) / sum(counts)
    return state | {"v": v, "x": state["x"] + case.numbers.get("g", 1) * v}


def all_with_momentum(case: Case, state: dict, counts: Counts, delta: dict[int, F]) -> dict:
    v = case.numbers["beta"] * state["v"] + sum(counts[i] * delta[i] for i in delta) / len(counts)
    return state | {"v": v, "x": state["x"] + case.numbers.get("g", 1) * v}


def fedvarp(case: Case, state: dict, counts: Counts, delta: dict[int, F]) -> dict:
    kept = state["y"]
    step = sum(kept) / len(kept) + sum(counts[i] * (delta[i] - kept[i]) for i in delta) / sum(counts)
    y = tuple(delta.get(i, old) for i, old in enumerate(kept))
    return state | {"y": y, "x": state["x"] + case.numbers.get("g", 1) * step}


def mifa(case: Case, state: dict, counts: Counts, delta: dict[int, F]) -> dict:
    y = tuple(delta.get(i, old) for i, old in enumerate(state["y"]))
    return state | {"y": y, "x": state["x"] + case.numbers.get("g", 1) * sum(y) / len(y)}


def amplified(case: Case, state: dict, counts: Counts, delta: dict[int, F]) -> dict:
    """Every ``period`` rounds the way gone since the last time is stretched g-fold."""
    x = state["x"] + sum(counts[i] * delta[i] for i in delta) / sum(counts)
    passed, base = state.get("passed", 0) + 1, state.get("base", F(case.start))
    if passed == case.numbers["period"]:
        x = base + case.numbers["g"] * (x - base)
        passed, base = 0, x
    return state | {"x": x, "passed": passed, "base": base}


def after_round(case: Case, state: dict, counts: Counts) -> Iterator[tuple[F, dict]]:
    """Every next state with its probability: each sign of each participant's noise; an empty round changes nothing,
    unless the aggregation steps from memory."""
    who = [i for i, n in enumerate(counts) if n]
    if not who:
        steps = case.algorithm.client_rounds[0].aggregation.steps_when_empty
        yield F(1), case.how(case, state, counts, {}) if steps else state
        return
    signs = list(product((1, -1), repeat=case.steps)) if case.sigma else [()]
    for chosen in product(signs, repeat=len(who)):
        delta = {i: local_training(case, i, state["x"], s) for i, s in zip(who, chosen, strict=True)}
        yield F(1, len(signs) ** len(who)), case.how(case, state, counts, delta)


def enumerated(case: Case) -> dict[str, list[F]]:
    """E x_r, E|x_r - x*|^2 and E|grad F(x_r)|^2 for r = 0, ..., rounds."""
    clients, x_star = len(case.centres), case.optimum
    mean_curvature = sum(F(h) for h in case.curvatures) / clients
    found = {name: [F(0)] * (case.rounds + 1) for name in ("model", "distance", "gradient")}
    for chance, history in case.runs(case.rounds):
        states = [(chance, {"x": F(case.start), "v": F(0), "y": (F(0),) * clients})]
        for r in range(case.rounds + 1):
            for p, state in states:
                error = state["x"] - x_star
                found["model"][r] += p * state["x"]
                found["distance"][r] += p * error**2
                found["gradient"][r] += p * (mean_curvature * error) ** 2
            if r < case.rounds:
                states = [(p * q, after) for p, s in states for q, after in after_round(case, s, history[r])]
    return found


TWO, THREE = {"curvatures": [1, F(3, 2)], "centres": [1, -2]}, {"curvatures": [F(1, 2), 2, 1], "centres": [1, -1, 2]}
HALF_AND_THIRD = [F(1, 2), F(1, 3)]
BERNOULLI = {"process": Bernoulli(HALF_AND_THIRD), "runs": lambda r: bernoulli(HALF_AND_THIRD, r)}
CERTAIN_AND_HALF = {"process": Bernoulli([1, F(1, 2)]), "runs": lambda r: bernoulli([F(1), F(1, 2)], r)}
OF_THREE = {"process": Bernoulli([F(1, 2), F(1, 4), F(2, 3)]),
            "runs": lambda r: bernoulli([F(1, 2), F(1, 4), F(2, 3)], r)}  # fmt: skip
TWO_OF_THREE = {"process": Uniform(2), "runs": lambda r: uniform(3, 2, False, r)}
REPEATED = {"process": Uniform(2, replacement=True), "runs": lambda r: uniform(2, 2, True, r)}
REPEATED_OF_THREE = {"process": Uniform(2, replacement=True), "runs": lambda r: uniform(3, 2, True, r)}
ONE_ABSENT = {"process": Incomplete(Uniform(1), [1]),
              "runs": lambda r: independent({(1, 0, 0): F(1, 2), (0, 0, 1): F(1, 2)}, r)}  # fmt: skip
CHAINS = {"process": Markov(HALF_AND_THIRD, [F(1, 4), F(2, 5)]),
          "runs": lambda r: markov(HALF_AND_THIRD, [F(1, 4), F(2, 5)], r)}  # fmt: skip
REVERSING = {"process": Markov([F(1, 2), F(1, 3)], [1, F(1, 2)]),
             "runs": lambda r: markov([F(1, 2), F(1, 3)], [F(1), F(1, 2)], r)}  # fmt: skip
CYCLES = {"process": Cyclic([F(1, 3), F(2, 3)], period=3),
          "runs": lambda r: cyclic([[(1, F(1))], [(2, F(1))]], 3, r)}  # fmt: skip
ROUNDED = {"process": Cyclic([F(1, 2), F(3, 4)], period=2, rounding="random"),
           "runs": lambda r: cyclic([[(1, F(1))], [(1, F(1, 2)), (2, F(1, 2))]], 2, r)}  # fmt: skip
SWITCHING = {"process": Recorded.of_sets([[0], [], [0, 1]], 2, after="repeat"),
             "runs": lambda r: [(F(1), [((1, 0), (0, 0), (1, 1))[s % 3] for s in range(r)])]}  # fmt: skip

GROUPS, ALL_THREE = [0, 1, 0], {(1, 1, 1): F(1)}
BY_GROUP = {counts: chance for chance, (counts,) in bernoulli([F(1, 2), F(2, 3), F(1, 2)], 1)}
ONE_OF_TWO = {(1, 0): F(1, 2), (0, 1): F(1, 2)}
OF_TWO = {counts: chance for chance, (counts,) in bernoulli(HALF_AND_THIRD, 1)}
SNAPSHOTS_IN_TURN = {"process": Bernoulli(HALF_AND_THIRD), "runs": lambda r: in_turn(ONE_OF_TWO, OF_TWO, 2, r)}
SNAPSHOTS_BY_A_COIN = {
    "process": Bernoulli(HALF_AND_THIRD),
    "runs": lambda r: independent(
        {c: F(1, 4) * ONE_OF_TWO.get(c, F(0)) + F(3, 4) * OF_TWO[c] for c in OF_TWO}, r
    ),
}  # fmt: skip
TWO_STEPS = {"steps": 2, "sigma": F(1, 2), "eta": F(1, 4), "rounds": 2}
STEPS = {"local_lr": F(1, 3)}
LOCAL = {"local_lr": F(1, 4), "local_steps": 2}
OMEGA = [F(3, 2), F(2, 5)]

CASES = {
    "average participating": Case(
        **TWO, **BERNOULLI, **TWO_STEPS, how=mean_of_participants, numbers={"g": F(3, 2)},
        algorithm=algorithms.fedavg(**LOCAL, global_lr="3/2"),
    ),
    "average participating, three": Case(
        **THREE, **OF_THREE, how=mean_of_participants, algorithm=algorithms.fedavg(**STEPS), sigma=1, rounds=2
    ),
    "average participating, one always": Case(
        **TWO, **CERTAIN_AND_HALF, how=mean_of_participants, algorithm=algorithms.fedavg(**STEPS), sigma=F(1, 3)
    ),
    "average all": Case(
        **TWO, **BERNOULLI, **TWO_STEPS, how=weighted, numbers={"g": 2},
        algorithm=algorithms.fedavg(**LOCAL, average="all", global_lr=2),
    ),
    "average all, with replacement": Case(
        **TWO, **REPEATED, how=weighted, algorithm=algorithms.fedavg(**STEPS, average="all"), sigma=1
    ),
    "proximal": Case(
        **TWO, **BERNOULLI, **TWO_STEPS, how=mean_of_participants, rho=F(2, 3),
        algorithm=algorithms.fedprox(**LOCAL, proximal="2/3"),
    ),
    "proximal, three steps, all": Case(
        **TWO, process=Fixed([0, 1]), runs=lambda r: [(F(1), [(1, 1)] * r)], how=weighted, rho=F(1, 2), steps=3,
        algorithm=algorithms.fedprox(local_lr=F(1, 3), local_steps=3, proximal="1/2", average="all"),
    ),
    "momentum": Case(
        **TWO, **BERNOULLI, how=with_momentum, sigma=1, rounds=4, numbers={"beta": F(1, 2), "g": F(2, 3)},
        algorithm=algorithms.fedavgm(**STEPS, momentum="1/2", global_lr="2/3"),
    ),
    "momentum, all, two of three": Case(
        **THREE, **TWO_OF_THREE, how=all_with_momentum, numbers={"beta": F(1, 4)},
        algorithm=algorithms.fedavgm(**STEPS, momentum="1/4", average="all"),
    ),
    "known statistics": Case(
        **TWO, **BERNOULLI, **TWO_STEPS, how=weighted, numbers={"omega": [2, 3]},
        algorithm=algorithms.known_statistics(**LOCAL),
    ),
    "known statistics, believed": Case(
        **TWO, **BERNOULLI, how=weighted, sigma=1, numbers={"omega": [4, F(3, 2)], "g": F(1, 2)},
        algorithm=algorithms.known_statistics(**STEPS, participation_probability=["1/4", "2/3"], global_lr="1/2"),
    ),
    "constant weights": Case(
        **TWO, **BERNOULLI, **TWO_STEPS, how=weighted, numbers={"omega": OMEGA},
        algorithm=algorithms.constant_weights(**LOCAL, aggregation_weight=OMEGA),
    ),
    "FedVarp": Case(
        **TWO, **BERNOULLI, how=fedvarp, algorithm=algorithms.fedvarp(**STEPS, global_lr="3/4"), sigma=1, rounds=3,
        numbers={"g": F(3, 4)},
    ),
    "FedVarp, two steps": Case(
        **TWO, **BERNOULLI, **TWO_STEPS, how=fedvarp, algorithm=algorithms.fedvarp(**LOCAL)
    ),
    "FedVarp, two of three": Case(
        **THREE, **TWO_OF_THREE, how=fedvarp, algorithm=algorithms.fedvarp(**STEPS), sigma=F(1, 2)
    ),
    "FedVarp, with replacement": Case(
        **THREE, **REPEATED_OF_THREE, how=fedvarp, algorithm=algorithms.fedvarp(**STEPS), rounds=3
    ),
    "MIFA": Case(
        **TWO, **BERNOULLI, how=mifa, algorithm=algorithms.mifa(**STEPS, global_lr="3/4"), sigma=1, rounds=3,
        numbers={"g": F(3, 4)},
    ),
    "MIFA, two steps": Case(**TWO, **BERNOULLI, **TWO_STEPS, how=mifa, algorithm=algorithms.mifa(**LOCAL)),
    "MIFA, one never comes": Case(
        **THREE, **ONE_ABSENT, how=mifa, algorithm=algorithms.mifa(**STEPS), sigma=F(1, 2), rounds=4
    ),
    "MIFA, with replacement": Case(**TWO, **REPEATED, how=mifa, algorithm=algorithms.mifa(**STEPS), sigma=1),
    "AFL": Case(**TWO, **BERNOULLI, how=mifa, algorithm=algorithms.afl(**STEPS), sigma=1, rounds=2),
    "FedAmplify": Case(
        **THREE, **TWO_OF_THREE, how=amplified, sigma=F(1, 2), numbers={"g": F(3, 2), "period": 2}, rounds=3,
        algorithm=algorithms.fedamplify(**STEPS, period=2, global_lr="3/2"),
    ),
    "FedAmplify, one always, periods of three": Case(
        **TWO, **CERTAIN_AND_HALF, how=amplified, numbers={"g": 2, "period": 3}, rounds=7,
        algorithm=algorithms.fedamplify(**STEPS, period=3, global_lr=2),
    ),
    "FAST, snapshots in turn": Case(
        **TWO, **SNAPSHOTS_IN_TURN, how=mean_of_participants, sigma=F(1, 2), rounds=4,
        algorithm=algorithms.fast(**STEPS, cohort=1, snapshot_period=2),
    ),
    "FAST on FedAvgM and FedProx": Case(
        **TWO, **SNAPSHOTS_BY_A_COIN, **TWO_STEPS, how=with_momentum, rho=F(1, 2), numbers={"beta": F(1, 3)},
        algorithm=algorithms.fast(**LOCAL, cohort=1, snapshot_probability="1/4", proximal="1/2", momentum="1/3"),
    ),
    "chains": Case(
        **TWO, **CHAINS, how=mean_of_participants, algorithm=algorithms.fedavg(**STEPS), sigma=1, rounds=4
    ),
    "chains that reverse, momentum": Case(
        **TWO, **REVERSING, how=with_momentum, numbers={"beta": F(1, 2)}, rounds=4, sigma=F(1, 3),
        algorithm=algorithms.fedavgm(**STEPS, momentum="1/2"),
    ),
    "chains, known statistics": Case(
        **TWO, **CHAINS, how=weighted, numbers={"omega": [2, 3]}, algorithm=algorithms.known_statistics(**STEPS),
        rounds=4,
    ),
    "chains, MIFA": Case(**TWO, **CHAINS, how=mifa, algorithm=algorithms.mifa(**STEPS), sigma=1, rounds=3),
    "chains, FedVarp": Case(**TWO, **CHAINS, how=fedvarp, algorithm=algorithms.fedvarp(**STEPS), sigma=1, rounds=3),
    "cycles": Case(
        **TWO, **CYCLES, how=mean_of_participants, algorithm=algorithms.fedavg(**STEPS), sigma=1, rounds=4
    ),
    "cycles, random lengths, MIFA": Case(
        **TWO, **ROUNDED, how=mifa, algorithm=algorithms.mifa(**STEPS), sigma=F(1, 2), rounds=4
    ),
    "NAIVE": Case(
        **THREE, process=Fixed([0, 1, 2]), how=mean_of_participants, sigma=F(1, 2), rounds=2,
        runs=lambda r: answers(GROUPS, [F(9, 8), F(3, 8)], "drawn", ALL_THREE, r),
        algorithm=algorithms.naive(**STEPS, groups=GROUPS, budget="3/2", group_weight=["3/4", "1/4"]),
    ),
    "NAIVE, independent answers of random clients": Case(
        **THREE, process=Bernoulli(["1/2", "2/3", "1/2"]), how=mean_of_participants, rounds=3,
        runs=lambda r: answers(GROUPS, [F(3, 2), F(1, 2)], "independent", BY_GROUP, r),
        algorithm=algorithms.naive(
            **STEPS, groups=GROUPS, budget=2, group_weight=["3/4", "1/4"], answers="independent"
        ),
    ),
    "NAIVE, drawn of random clients": Case(
        **THREE, process=Bernoulli(["1/2", "2/3", "1/2"]), how=mean_of_participants, rounds=3,
        runs=lambda r: answers(GROUPS, [F(3, 2), F(1, 2)], "drawn", BY_GROUP, r),
        algorithm=algorithms.naive(**STEPS, groups=GROUPS, budget=2, group_weight=["3/4", "1/4"]),
    ),
    "NAIVE, one group away": Case(
        **THREE, process=Fixed([2]), how=mean_of_participants, rounds=3, sigma=1,
        runs=lambda r: answers(GROUPS, [F(1, 2), F(1, 2)], "drawn", {(0, 0, 1): F(1)}, r),
        algorithm=algorithms.naive(**STEPS, groups=GROUPS, budget=1, group_weight=["1/2", "1/2"]),
    ),
    "a record with an empty round, MIFA": Case(
        **TWO, **SWITCHING, how=mifa, algorithm=algorithms.mifa(**STEPS), sigma=F(1, 2), rounds=5
    ),
    "a record with an empty round, MIFA that stays": Case(
        **TWO, **SWITCHING, how=mifa, algorithm=algorithms.mifa(**STEPS, steps_when_empty=False), sigma=F(1, 2),
        rounds=5,
    ),
    "a record, momentum": Case(
        **TWO, **SWITCHING, how=with_momentum, numbers={"beta": F(1, 3)}, rounds=5, sigma=F(1, 2),
        algorithm=algorithms.fedavgm(**STEPS, momentum="1/3"),
    ),
}  # fmt: skip
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@each_case
def test_fractions_are_the_enumeration(case: Case) -> None:
    wanted, rounds = enumerated(case), range(case.rounds + 1)
    found = exact_errors(case.setting, rounds, exact=True)
    assert found.squared_distance.tolist() == wanted["distance"]
    assert found.squared_gradient.tolist() == wanted["gradient"]
    assert found.gradient_sum.tolist() == [sum(wanted["gradient"][:r]) for r in rounds]
    assert expected_models(case.setting, rounds, exact=True).ravel().tolist() == wanted["model"]


def forgetting(x, memory, round, **numbers):  # type: ignore[no-untyped-def]
    return MIFA(x, memory, round, **numbers)[0], memory


def shares_for_counts(x, memory, round, *, local_lr, local_steps, proximal, global_lr):  # type: ignore[no-untyped-def]
    return x + global_lr * (round.share * round.train(x, local_lr, local_steps, proximal)).mean(1), {}


def moving_when_empty(x, memory, round, *, global_lr, momentum, **numbers):  # type: ignore[no-untyped-def]
    velocity = momentum * memory["velocity"] + built_in_steps.fedavg(x, {}, round, global_lr=1, **numbers)[0] - x
    return x + global_lr * velocity, {"velocity": velocity}


MIFA = built_in_steps.mifa
RELAPSES = {
    "MIFA": ("mifa", forgetting),
    "average all": ("fedavg_of_all", shares_for_counts),
    "a record, momentum": ("fedavgm", moving_when_empty),
}


@pytest.mark.parametrize("name", RELAPSES)
def test_a_step_that_does_something_else_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_in_steps, *RELAPSES[name])
    with pytest.raises(AssertionError):
        test_fractions_are_the_enumeration(CASES[name])


@each_case
def test_floats_are_the_fractions(case: Case) -> None:
    rounds = [0, 1, 2, 7]
    found, wanted = case.setting.exact(rounds), exact_errors(case.setting, rounds, exact=True)
    for name in ("squared_distance", "squared_gradient", "gradient_sum"):
        # Rounding: the same sums; with remembered updates some terms cancel.
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name).astype(float), rtol=1e-11)
    models = expected_models(case.setting, rounds, exact=True).astype(float)
    np.testing.assert_allclose(expected_models(case.setting, rounds), models, rtol=1e-11, atol=1e-14)
