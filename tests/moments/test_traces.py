"""Exact moments where the participants are known: every algorithm on records, and where a repeated one settles."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from fractions import Fraction as F
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory import algorithms
from fedtheory.algorithms import Algorithm
from fedtheory.federations import Quadratic
from fedtheory.moments import known_past
from fedtheory.moments.known_past import filled
from fedtheory.moments.linear_rounds import NotClosed
from fedtheory.moments.stationary import fixed_point, stationary
from fedtheory.participation import Bernoulli, Incomplete, Recorded
from fedtheory.selection import var
from fedtheory.setting import Setting
from fedtheory.weights import FedAU

CURVED = Quadratic([[1], [2], [1], [3]], [[1], [-1], [2], [0]])
GROUPS = (0, 1, 1, 0)
LOCAL = {"local_lr": "1/8", "local_steps": 2}
WEIGHTS = [[1, 2, "1/2", 3], [3, "1/2", 1, 1], [1, 1, 1, 1]]
ALGORITHMS: dict[str, Algorithm] = {
    "fast": algorithms.fast(**LOCAL, cohort=4, snapshot_period=3),
    "fast, momentum": algorithms.fast(**LOCAL, cohort=4, snapshot_period=2, proximal="1/2", momentum="1/2"),
    "fedavg": algorithms.fedavg(**LOCAL, global_lr="3/2"),
    "average all": algorithms.fedavg(**LOCAL, average="all"),
    "by samples": algorithms.fedavg(**LOCAL, average="samples", samples=[1, 2, 3, 4]),
    "weighted": algorithms.fedavg(**LOCAL, average="weighted", objective_weight=["1/2", "1/4", "1/8", "1/8"]),
    "by rule": algorithms.fedavg(local_lr="1/(8 + step_index)", local_steps=2, global_lr="2/(1 + round_index)"),
    "budgets": algorithms.fedavg(**LOCAL, budget=[4, 5]),
    "fedprox": algorithms.fedprox(**LOCAL, proximal="1/2"),
    "fedavgm": algorithms.fedavgm(**LOCAL, momentum="1/2"),
    "fedamplify": algorithms.fedamplify(**LOCAL, period=3, global_lr="5/4"),
    "fedau": algorithms.fedau(**LOCAL, cutoff=3),
    "fedau, no cutoff": algorithms.fedau(**LOCAL, cutoff=math.inf),
    "known": algorithms.known_statistics(**LOCAL, participation_probability=["1/4", "1/2", "1/2", "1/3"]),
    "constant": algorithms.constant_weights(**LOCAL, aggregation_weight=WEIGHTS[0]),
    "given": algorithms.given_weights(**LOCAL, aggregation_weight=WEIGHTS),
    "fedvarp": algorithms.fedvarp(**LOCAL),
    "mifa": algorithms.mifa(**LOCAL),
    "mifa, staying": algorithms.mifa(**LOCAL, steps_when_empty=False),
    "afl": algorithms.afl(**LOCAL, variant="cross_device"),
    "flics": algorithms.flics_avg(**LOCAL, groups=GROUPS, budget=4),
    "flics, printed": algorithms.flics_avg(**LOCAL, groups=GROUPS, budget=4, update="printed", start=1),
    "flics, divided": algorithms.flics_avg(
        **LOCAL, groups=GROUPS, budget=4, update="start_counts", start="1/2", divided=True
    ),
    "naive": algorithms.naive(**LOCAL, groups=GROUPS, budget=8),
    "weighted groups": algorithms.weighted_groups(**LOCAL, groups=GROUPS, estimate=[1, "3/2"]),
    "weighted groups, divided": algorithms.weighted_groups(**LOCAL, groups=GROUPS, estimate=["1/2", 1], divided=True),
    "safari": algorithms.safari(**LOCAL, client_round_probability=1, server_lr="1/8"),
    "fednova": algorithms.fednova(local_lr="1/8", local_steps=[1, 2, 3, 2]),
    "feddyn": algorithms.feddyn(**LOCAL, penalty="1/2"),
    "fedlin": algorithms.fedlin(**LOCAL),
    "scaffold": algorithms.scaffold(**LOCAL),
    "scaffnew": algorithms.scaffnew(local_lr="1/8", communication_probability=1),
    "sag": algorithms.sag(local_lr="1/8"),
    "saga": algorithms.saga(local_lr="1/8"),
}
"""Where all who are there take part, and there is no noise, nothing is random."""

RANDOM: dict[str, Algorithm] = {
    "flics": algorithms.flics_avg(**LOCAL, groups=GROUPS, budget=[1, "3/2"]),
    "flics, drawn": algorithms.flics_avg(
        **LOCAL, groups=GROUPS, budget=1, answers="drawn", divided=True, update="start_counts", start=1
    ),
    "budgets": algorithms.fedavg(**LOCAL, budget=["3/2", 1]),
    "naive": algorithms.naive(**LOCAL, groups=GROUPS, budget=["3/2", 1]),
    "fast": algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
    "safari": algorithms.safari(**LOCAL, client_round_probability="2/3", server_lr="1/8"),
}
"""Cohorts, or kinds of rounds, are drawn."""


def record(seed: int, rounds: int = 12) -> np.ndarray:
    """A random record of four clients, two of five rounds each; with this law some rounds are empty."""
    return np.random.default_rng(seed).random((rounds, 4)) < 0.4


REFUSED: dict[str, Algorithm] = {
    "fedadam": algorithms.fedadam(**LOCAL, global_lr="1/10"),
    "flics_adam": algorithms.flics_adam(**LOCAL, global_lr="1/10", groups=GROUPS, budget=4),
}
"""Those whose server divides by a root of squares: no recursion of moments."""


def test_no_algorithm_of_the_library_is_left_out() -> None:
    """Those that the package makes, by what they return, against those that the tables above make."""
    makers = {
        name
        for name in dir(algorithms)
        if inspect.isfunction(made := getattr(algorithms, name))
        and issubclass(get_type_hints(made).get("return", int), Algorithm)
    }
    tables = Path(__file__).read_text().partition("REFUSED: ")[0::2]
    made = {*re.findall(r"algorithms\.(\w+)\(", tables[0] + tables[1].partition("def ")[0])}
    assert makers - {"own"} == made and len(made) > 20  # own makes what a user gives; built-in steps are such
    for algorithm in REFUSED.values():
        with pytest.raises(NotClosed, match="its step divides by a root"):
            Setting(CURVED, algorithm, Recorded(record(0)), start=4).exact(range(3), exact=True)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_equals_its_run(name: str) -> None:
    """The engine's run in floats and the recursion in Fractions: 1e-12 leaves room for a dozen rounds' rounding."""
    for seed in range(20):
        setting = Setting(CURVED, ALGORITHMS[name], Recorded(record(seed)), start=4)
        run = setting.simulate(replicas=1, rounds=12).rows["squared_distance"][0]
        exact = setting.exact(range(13), exact=True).squared_distance.astype(float)
        np.testing.assert_allclose(exact, run, rtol=1e-12, atol=1e-15, err_msg=f"record {seed}")
        np.testing.assert_allclose(setting.exact(range(13)).squared_distance, exact, rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize("name", RANDOM)
def test_selections_in_the_mean(name: str) -> None:
    """Within five standard errors of 20,000 runs: a right one fails once in 300,000 numbers."""
    noisy = Quadratic([[1], [2], [1], [3]], [[1], [-1], [2], [0]], gradient_noise=1)
    setting = Setting(noisy, RANDOM[name], Recorded(record(5, 6) | record(7, 6)), start=4)
    runs = setting.simulate(replicas=20_000, rounds=6).rows["squared_distance"]
    away = np.abs(runs.mean(0) - setting.exact(range(7)).squared_distance)
    assert (away[1:] < 5 * runs.std(0)[1:] / math.sqrt(20_000)).all()


@pytest.mark.parametrize("name", RANDOM)
def test_selections_and_noise_in_floats_are_those_in_fractions(name: str) -> None:
    """Floats are enclosed, and the nearest but one at most: 1e-15."""
    for seed in range(20):
        setting = Setting(NOISY, RANDOM[name], Recorded(record(seed, 6)), start=4)
        exact = setting.exact(range(7), exact=True).squared_distance
        assert all(isinstance(each, F) for each in exact)
        np.testing.assert_allclose(setting.exact(range(7)).squared_distance, exact.astype(float), rtol=1e-15)


def test_fedau_by_hand() -> None:
    """Weights by ``weights.FedAU``, and one gradient step of who is there."""
    mask = np.array([[1, 0], [0, 0], [1, 1], [0, 0], [0, 1], [1, 1]])
    weights, x = FedAU(cutoff=3).batch(mask), F(4)
    for here, own in zip(mask, weights, strict=True):
        moves = (F(w) * F(-1, 10) * (x - c) for i, w, c in zip(here, own, (1, -1), strict=True) if i)
        x += sum(moves, F(0)) / 2
    fed = Quadratic.common_hessian([1, -1])
    for algorithm in (
        algorithms.fedau(local_lr="1/10", cutoff=3),
        algorithms.given_weights(local_lr="1/10", aggregation_weight=[[F(w) for w in row] for row in weights]),
    ):
        assert Setting(fed, algorithm, Recorded(mask), 4).exact([6], exact=True).squared_distance.tolist() == [x * x]


@pytest.mark.parametrize(
    "relapse",
    [
        lambda intervals, here, cutoff: (intervals[0] + here, intervals[1] + here * (intervals[2] + 1), 0),
        lambda intervals, here, cutoff: _true(intervals, here, math.inf),
        lambda intervals, here, cutoff: _true(intervals, here, cutoff + 1),
    ],
    ids=["gaps are forgotten", "no cutoff", "a cutoff later"],
)
def test_wrong_intervals_are_seen(relapse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_past, "after_round", relapse)
    with pytest.raises(AssertionError):
        test_every_algorithm_equals_its_run("fedau")


_true = known_past.after_round


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.fractions(0, 9, max_denominator=12), st.integers(0, 5)), min_size=1, max_size=6
    ),
    st.fractions("1/8", 20, max_denominator=8),
)
@settings(max_examples=200, deadline=None)
def test_rates_in_fractions(groups: list[tuple[int, F, int]], budget: F) -> None:
    """They use up what they may, and are those of the solver in floats; 1e-9 is its rounding where levels meet."""
    whole = sum(p for p, _, _ in groups)
    p, history, available = (list(each) for each in zip(*((F(p, whole), b, a) for p, b, a in groups), strict=True))
    rates = filled(tuple(p), history, available, budget)
    assert sum(rates) == min(budget, sum(available)) and all(0 <= r <= a for r, a in zip(rates, available, strict=True))
    found = var([float(b) for b in history], available, float(budget), [float(each) for each in p])
    np.testing.assert_allclose([float(r) for r in rates], found.rates, atol=1e-9)


def test_what_is_drawn_is_refused() -> None:
    for ask in (lambda s: s.exact([3]), fixed_point, stationary):
        with pytest.raises(ValueError, match="weights estimated from participation that is drawn"):
            ask(Setting(CURVED, ALGORITHMS["fedau"], Bernoulli(["1/2"] * 4)))
        received = algorithms.flics_avg(**LOCAL, groups=GROUPS, budget=4, counts="received")
        with pytest.raises(ValueError, match="selection = VarSelection: its rates follow"):
            ask(Setting(CURVED, received, Recorded(record(1), after="repeat")))


# Where a repeated record settles.

NOISY = Quadratic([[1], [2], [1], [3]], [[1], [-1], [2], [0]], gradient_noise=2)
SETTLING = {  # algorithm, length of the cycle for a record of six rounds of which five have somebody
    "fedavg": 6,
    "fast": 6,
    "fast, momentum": 6,
    "budgets": 6,
    "fedavgm": 6,
    "fedamplify": 18,
    "constant": 6,
    "given": 6,
    "fedvarp": 6,
    "mifa": 6,
}


@pytest.mark.parametrize("name", SETTLING)
def test_a_repeated_record_settles(name: str) -> None:
    """The recursion of errors, 2,000 rounds later; 1e-11 leaves room for the linear systems' rounding."""
    mask = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0], [1, 0, 0, 0]])
    setting = Setting(NOISY, ALGORITHMS[name], Recorded(mask, after="repeat"), start=4)
    found, exact, point = stationary(setting), stationary(setting, exact=True), fixed_point(setting)
    length = SETTLING[name]
    assert found.means.shape == point.points.shape == (length, 1) and found.covariances.shape == (length, 1, 1)
    late = setting.exact(range(1800, 1800 + length)).squared_distance
    squares = (found.means**2).sum(1) + np.trace(found.covariances, axis1=1, axis2=2)
    np.testing.assert_allclose(squares, late, rtol=1e-11)
    assert found.squared_distance == pytest.approx(late.mean(), rel=1e-11)
    assert float(exact.squared_distance) == pytest.approx(found.squared_distance, rel=1e-12)
    spread = found.covariance + np.outer(found.mean, found.mean)
    assert np.trace(spread) == pytest.approx(late.mean(), rel=1e-11)
    optimum = NOISY.exact_optimum.astype(float)
    np.testing.assert_allclose(point.points - optimum, found.means, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(point.point, point.points.mean(0), rtol=1e-12)


def test_fedau_settles_at_its_limits() -> None:
    """The weights of round t are within a cycle's length over t of their limits: 6 over the intervals of a cycle."""
    mask = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0], [1, 0, 0, 0]])
    repeated = Recorded(mask, after="repeat")
    for cutoff, intervals in ((math.inf, [3, 2, 3, 2]), (3, [3, 3, 4, 2]), (2, [4, 4, 4, 4]), (1, [6, 6, 6, 6])):
        limits = [F(6, n) for n in intervals]
        fedau = Setting(NOISY, algorithms.fedau(**LOCAL, cutoff=cutoff), repeated, start=4)
        constant = algorithms.constant_weights(**LOCAL, aggregation_weight=limits)
        there = stationary(fedau, exact=True).squared_distance
        assert there == stationary(Setting(NOISY, constant, repeated), exact=True).squared_distance
        late = fedau.exact(range(900, 906)).squared_distance.mean()
        assert late == pytest.approx(float(there), rel=6 / 900 * 10)


def test_records_that_end_and_absent_clients() -> None:
    last = Recorded(np.array([[1, 1, 0, 0], [0, 1, 0, 1]]), after="last")
    then = Recorded(np.array([[0, 1, 0, 1]]), after="repeat")
    fedau = algorithms.fedau(**LOCAL, cutoff=2)
    assert (
        stationary(Setting(NOISY, fedau, last), True).mean.tolist()
        == stationary(Setting(NOISY, fedau, then), True).mean.tolist()
    )
    for name, process in {
        "allowed is after=": Recorded(record(3)),
        "spectral radius = 1.0: allowed is less than 1": Recorded(record(3), after="absent"),
    }.items():
        with pytest.raises(ValueError, match=name):
            stationary(Setting(NOISY, fedau, process))
    three = Recorded(record(4)[:, :3])
    narrow = Setting(CURVED, fedau, Incomplete(three, absent=[1]), start=4)
    wide = Setting(CURVED, fedau, Recorded(np.insert(record(4)[:, :3], 1, 0, axis=1)), start=4)
    assert narrow.exact([12], True).squared_distance == wide.exact([12], True).squared_distance
