"""Built-in algorithms written as steps are the built-in ones: in the engine, in exact moments, in worst cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F
from itertools import combinations

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.algorithms import Algorithm, built_in_steps, own
from fedtheory.algorithms.built_in_steps import as_step
from fedtheory.algorithms.custom_algorithm import StepError
from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.functionals import AVERAGES, FINAL_SQUARED_DISTANCE
from fedtheory.moments.custom_kinks import values_at
from fedtheory.moments.step_trace import FormRound, traces
from fedtheory.neural import SGD
from fedtheory.participation import Bernoulli, Fixed, Participation, Uniform
from fedtheory.setting import Setting
from fedtheory.worstcase import strongly_convex, worst_case

WIDE = Quadratic([[1, 2], [2, 3], [1, 1]], [[1, 0], [-1, 1], [0, 2]], gradient_noise="1/2", server_noise="1/4")
LINE = Quadratic([[1], [2], [1]], [[1], [-1], [0]], gradient_noise="1/2", server_noise="1/4")
LOCAL = {"local_lr": "1/10", "local_steps": 3}
PROCESSES: dict[str, Participation] = {
    "all": Fixed([0, 1, 2]),
    "uniform": Uniform(2),
    "bernoulli": Bernoulli(["1/2", "1/3", "1/4"]),
}
ALGORITHMS: dict[str, Algorithm] = {
    "fedavg": algorithms.fedavg(**LOCAL, global_lr="3/2"),
    "fedavg of all": algorithms.fedavg(**LOCAL, average="all"),
    "fedprox": algorithms.fedprox(**LOCAL, proximal=2),
    "fedavgm": algorithms.fedavgm(**LOCAL, momentum="3/4", global_lr="1/2"),
    "by rule": algorithms.fedavg(local_lr="1/(8 + round_index + step_index)", local_steps=2),
    "known": algorithms.known_statistics(**LOCAL, participation_probability=["1/2", "1/3", "1/4"]),
    "constant": algorithms.constant_weights(**LOCAL, aggregation_weight=[1, "3/2", 2]),
    "mifa": algorithms.mifa(**LOCAL),
    "afl": algorithms.afl(**LOCAL),
    "fedvarp": algorithms.fedvarp(**LOCAL, global_lr="3/4"),
    "groups": algorithms.weighted_groups(groups=[0, 0, 1], estimate=[1, "1/2"], **LOCAL),
    "by samples": algorithms.fedavg(**LOCAL, average="samples", samples=[1, 2, 5]),
    "given": algorithms.given_weights(**LOCAL, aggregation_weight=[[1, 2, "1/2"], [3, 1, 1]]),
    "fast": algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
    "fast, replacement": algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/2", replacement=True, proximal=1),
    "fast by period": algorithms.fast(**LOCAL, cohort=1, snapshot_period=2),
    "fast with momentum": algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/3", momentum="1/2"),
    "safari": algorithms.safari(client_round_probability="1/3", **LOCAL, server_lr="1/20"),
    "clients only": algorithms.safari(client_round_probability=1, **LOCAL, server_lr="1/20"),
    "server only": algorithms.safari(client_round_probability=0, **LOCAL, server_lr="1/20", server_steps=2),
}
KNOWN = {"groups": algorithms.constant_weights(**LOCAL, aggregation_weight=[2, 2, 2])}
"""Moments of the parts themselves are not known of these, but of others that do the same: M p_g/s^_g = 2."""
COUNTED = {
    "fedau": algorithms.fedau(**LOCAL, cutoff=3),
    "fedau, no cutoff": algorithms.fedau(**LOCAL, cutoff=math.inf),
    "fedadam": algorithms.fedadam(**LOCAL, global_lr="1/10"),
    "fedamplify": algorithms.fedamplify(**LOCAL, period=3, global_lr=2),
}
"""Moments of these steps do not close: they count, or are not linear."""


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", ALGORITHMS | COUNTED)
def test_the_engine_runs_a_step_as_the_parts(name: str, process: str) -> None:
    built_in = (ALGORITHMS | COUNTED)[name]
    pair = (Setting(WIDE, each, PROCESSES[process], 3) for each in (built_in, as_step(built_in, 3)))
    one, other = (each.simulate(replicas=4, rounds=12, record_every=1) for each in pair)
    for row, values in one.rows.items():  # of order 10: sums of a few numbers in another order
        np.testing.assert_allclose(other.rows[row], values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_exact_moments_of_a_step_are_those_of_the_parts_as_fractions(name: str, process: str) -> None:
    built_in = ALGORITHMS[name]
    pair = (Setting(LINE, each, PROCESSES[process], 3) for each in (KNOWN.get(name, built_in), as_step(built_in, 3)))
    one, other = (each.exact([0, 1, 3], exact=True) for each in pair)
    for what in ("squared_distance", "squared_gradient", "gradient_sum"):
        assert (getattr(one, what) == getattr(other, what)).all()


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "fedavg of all", "clients only", "server only", "safari"])
def test_worst_cases_of_a_step_are_those_of_the_built_in_algorithm(name: str) -> None:
    built_in = ALGORITHMS[name]
    if name == "server only":
        built_in = algorithms.safari(client_round_probability=0, **LOCAL, server_lr="1/20")
    of, options = strongly_convex(smoothness=1, strong_convexity="1/10"), {"dissimilarity_at_optimum": "1/2"}
    found = [worst_case(of, each, clients=3, cohort=2, **options) for each in (built_in, as_step(built_in, 3))]
    assert found[1].value == pytest.approx(found[0].value, rel=1e-7)


def without_memory(x, memory, round, **numbers):  # type: ignore[no-untyped-def]
    return MIFA(x, memory, round, **numbers)[0], memory


def shares_for_counts(x, memory, round, *, local_lr, local_steps, proximal, global_lr):  # type: ignore[no-untyped-def]
    return x + global_lr * (round.share * round.train(x, local_lr, local_steps, proximal)).mean(1), {}


MIFA = built_in_steps.mifa
RELAPSES = {"mifa": without_memory, "fedavg of all": shares_for_counts}
STEPS = {"mifa": "mifa", "fedavg of all": "fedavg_of_all"}


@pytest.mark.parametrize("name", RELAPSES)
def test_a_step_that_does_something_else_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_in_steps, STEPS[name], RELAPSES[name])
    with pytest.raises(AssertionError):
        test_the_engine_runs_a_step_as_the_parts(name, "uniform")


def test_the_worst_cases_of_fast_are_those_of_its_step() -> None:
    of = strongly_convex(smoothness=1, strong_convexity="1/10")
    options = {"dissimilarity_at_optimum": "1/2", "clients": 3, "arbitrary_cohort": 1}
    for name in ("fast", "fast by period"):
        one, other = (worst_case(of, each, **options) for each in (ALGORITHMS[name], as_step(ALGORITHMS[name], 3)))
        assert other.value == pytest.approx(one.value, rel=1e-7)


def of_the_participants(self, size, where=1, replacement=False):  # type: ignore[no-untyped-def]
    return self


def never_back(self, size, where=1, replacement=False):  # type: ignore[no-untyped-def]
    return COHORT(self, size, 1, replacement)


COHORT = FormRound.cohort


@pytest.mark.parametrize("relapse", [of_the_participants, never_back])
def test_a_cohort_that_is_another_one_is_seen(relapse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FormRound, "cohort", relapse)
    traces.cache_clear()
    with pytest.raises((AssertionError, StepError)):  # by the moments, or where a step is first held against tensors
        test_exact_moments_of_a_step_are_those_of_the_parts_as_fractions("fast", "bernoulli")
    traces.cache_clear()


def test_cohorts_are_told_apart_and_drawn_anew() -> None:
    def step(x, memory, round, *, cohort):  # type: ignore[no-untyped-def]
        one, other = round.cohort(cohort), round.cohort(cohort, replacement=True)
        return x + (one.count * other.count).sum(1), {}

    algorithm = own(step, cohort=2)
    found = traces(algorithm.round, (1, 1, 1), 1)
    assert len(found) == 3 * 6 and sum(each.probability for each in found) == 1
    both = sum(each.probability * each.factors("x")[1] for each in found)
    assert both == 3 * F(2, 3) ** 2  # E sum_i N_i N'_i, of cohorts that are independent
    moved = Setting(LINE, algorithm, Fixed([0]), 3).simulate(replicas=4000, rounds=1).models[1] - 3
    assert abs(moved.mean() - float(both)) < 5 * moved.std() / 4000**0.5


def test_a_cohort_has_its_own_gradients_where_they_have_kinks() -> None:
    lines = [PiecewiseLinear([1, 2], [0], at_zero) for at_zero in ("1", "-1", "1/2")]
    fed = Piecewise([[line] for line in lines])
    step = as_step(algorithms.fast(cohort=2, local_lr="1/4", local_steps=2, snapshot_probability="1/3"), 3)
    found = values_at(Setting(fed, step, Fixed([0]), 3), FINAL_SQUARED_DISTANCE, [1], AVERAGES[0], exact=True)

    def after(*members: int) -> F:
        ends = [(y := F(3) - lines[i](F(3)) / 4) - lines[i](y) / 4 for i in members]
        return (sum(ends) / len(ends) - fed.exact_optimum[0]) ** 2

    drawn = [after(*members) for members in combinations(range(3), 2)]
    assert found[0] == F(2, 3) * after(0) + F(1, 3) * sum(drawn) / 3


@pytest.mark.parametrize(
    ("size", "where", "why"),
    [
        (0, 1, "size = 0: allowed is a whole number from 1 on"),
        (4, 1, "cohort = 4"),
        (2, 2, "where = 2: allowed is 0 or 1"),
        (2, None, "where it depends on the state or the noise"),
    ],
)
def test_a_cohort_that_cannot_be_drawn_is_refused_with_its_line(size: int, where: int | None, why: str) -> None:
    def step(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
        people = round.cohort(size, x[:, :1] if where is None else where)
        return x - local_lr * (people.share * people.gradient(x)).sum(1), {}

    with pytest.raises(ValueError, match=rf"test_built_in_steps.py, line \d+: algorithm step.*{why}"):
        traces(own(step, local_lr=1).round, (1, 1, 1), 1)


def test_what_is_not_written_as_a_step_is_told() -> None:
    for algorithm in (
        algorithms.fast(cohort=2, local_lr="1/10", adaptivity=1),
        algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/2").trained_by(SGD(momentum=0.9)),
        algorithms.flics_avg(groups=[0, 0, 1], budget=2, local_lr="1/10"),
        algorithms.fedavg(local_lr="1/10", local_steps=[1, 2, 3]),
        algorithms.fedavg(local_lr="1/10", average="samples", samples=[1, 0, 3]),
    ):
        with pytest.raises(ValueError, match="its round is not written as a step"):
            as_step(algorithm, 3)
