"""Built-in algorithms written as steps are the built-in ones: in the engine, in exact moments, in worst cases."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.algorithms import Algorithm, built_in_steps
from fedtheory.algorithms.built_in_steps import as_step
from fedtheory.federations import Quadratic
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
    "clients only": algorithms.safari(client_round_probability=1, **LOCAL, server_lr="1/20"),
    "server only": algorithms.safari(client_round_probability=0, **LOCAL, server_lr="1/20", server_steps=2),
}
KNOWN = {"groups": algorithms.constant_weights(**LOCAL, aggregation_weight=[2, 2, 2])}
"""Moments of the parts themselves are not known of these, but of others that do the same: M p_g/s^_g = 2."""
COUNTED = {"fedau": algorithms.fedau(**LOCAL, cutoff=3), "fedau, no cutoff": algorithms.fedau(**LOCAL, cutoff=math.inf)}
"""Moments of these do not close."""
DRAWN = {"safari": algorithms.safari(client_round_probability="1/3", **LOCAL, server_lr="1/20")}
"""These draw in the engine by keys of their own: a step does so in law."""


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", ALGORITHMS | COUNTED)
def test_the_engine_runs_a_step_as_the_parts(name: str, process: str) -> None:
    built_in = (ALGORITHMS | COUNTED)[name]
    pair = (Setting(WIDE, each, PROCESSES[process], 3) for each in (built_in, as_step(built_in, 3)))
    one, other = (each.simulate(replicas=4, rounds=12, record_every=1) for each in pair)
    for row, values in one.rows.items():  # of order 10: sums of a few numbers in another order
        np.testing.assert_allclose(other.rows[row], values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", ALGORITHMS | DRAWN)
def test_exact_moments_of_a_step_are_those_of_the_parts_as_fractions(name: str, process: str) -> None:
    built_in = (ALGORITHMS | DRAWN)[name]
    pair = (Setting(LINE, each, PROCESSES[process], 3) for each in (KNOWN.get(name, built_in), as_step(built_in, 3)))
    one, other = (each.exact([0, 1, 3], exact=True) for each in pair)
    for what in ("squared_distance", "squared_gradient", "gradient_sum"):
        assert (getattr(one, what) == getattr(other, what)).all()


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "fedavg of all", "clients only", "server only", "safari"])
def test_worst_cases_of_a_step_are_those_of_the_built_in_algorithm(name: str) -> None:
    built_in = (ALGORITHMS | DRAWN)[name]
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
@pytest.mark.parametrize(
    "check",
    [test_the_engine_runs_a_step_as_the_parts, test_exact_moments_of_a_step_are_those_of_the_parts_as_fractions],
)
def test_a_step_that_does_something_else_is_seen(name: str, check: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_in_steps, STEPS[name], RELAPSES[name])
    with pytest.raises(AssertionError):
        check(name, "uniform")


def test_what_is_not_written_as_a_step_is_told() -> None:
    for algorithm in (
        algorithms.fast(cohort=2, local_lr="1/10", snapshot_probability="1/2"),
        algorithms.flics_avg(groups=[0, 0, 1], budget=2, local_lr="1/10"),
        algorithms.fedadam(local_lr="1/10", global_lr="1/10"),
        algorithms.given_weights(local_lr="1/10", aggregation_weight=[[1, 2], [3, 1]]),
    ):
        with pytest.raises(ValueError, match="its round is not written as a step"):
            as_step(algorithm, 3)
