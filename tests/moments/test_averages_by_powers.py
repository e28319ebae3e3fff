"""Averages of iterates, weighted ones and best rounds, by powers of the rounds' maps: the same in floats, in balls and,
followed round by round, in Fractions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import process_time

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.algorithms import Algorithm
from fedtheory.claims.balls import working_precision
from fedtheory.federations import Quadratic
from fedtheory.functionals import (
    AVERAGE_ITERATE_DISTANCE,
    AVERAGES,
    BEST_GAP,
    GAP_OF_AVERAGE,
    GAP_OF_WEIGHTED_AVERAGE,
    WEIGHTED_AVERAGE_GAP,
    Functional,
)
from fedtheory.moments import averages
from fedtheory.moments.averages import of_run, run_in_floats, value_in_balls
from fedtheory.moments.enclosed import Imprecise
from fedtheory.participation import Fixed, Markov, Participation, Phases, Uniform
from fedtheory.setting import Setting

LINE = Quadratic([[1], [2], [1]], [[1], [-1], [0]], gradient_noise="1/2")
PLANE = Quadratic([[1, 2], [2, 3], [1, 1]], [[1, 0], [-1, 1], [0, 2]], gradient_noise="1/2")
LOCAL = {"local_lr": "1/10", "local_steps": 2}
WHO: dict[str, Participation] = {
    "fixed": Fixed([0, 1]),
    "uniform": Uniform(2),
    "markov": Markov([1, "1/2", "1/3"], [1, "1/4", "1/3"]),
    "cycle": Phases([[0, 1], [1, 2]], [2, 1], cyclic=True),
    "switch": Phases([[0], [1]], [3, 1]),
}
OF_ONES_OWN = replace(WEIGHTED_AVERAGE_GAP, name="by squares", weights=lambda r: 1 + r * r)
LEFTS = (
    AVERAGE_ITERATE_DISTANCE,
    GAP_OF_AVERAGE,
    WEIGHTED_AVERAGE_GAP,
    GAP_OF_WEIGHTED_AVERAGE,
    BEST_GAP,
    OF_ONES_OWN,
)


def off(setting: Setting, functional: Functional, average: str) -> float:
    """The largest relative difference of floats and balls from Fractions, and of floats from balls further out."""
    exact = of_run(setting, functional, [1, 2, 4], exact=True, average=average).astype(float)
    found = run_in_floats(setting, functional, [1, 2, 4, 50], average)
    with working_precision():
        balls = np.array([float(each.mid()) for each in value_in_balls(setting, functional, [1, 2, 4, 50], average)])
    return float(
        max(np.abs(found[:3] / exact - 1).max(), np.abs(balls[:3] / exact - 1).max(), abs(found / balls - 1)[3])
    )


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("functional", LEFTS, ids=lambda functional: functional.name)
def test_they_are_the_same_in_every_kind_of_number(functional: Functional, who: str) -> None:
    """Sums of 50 float64 numbers of one sign, or nearly so."""
    for fed, average in zip((LINE, PLANE), AVERAGES, strict=True):
        assert off(Setting(fed, algorithms.fedavg(**LOCAL), WHO[who], start=3), functional, average) < 1e-11


@pytest.mark.parametrize(
    "algorithm", [algorithms.scaffold(**LOCAL), algorithms.fast(cohort=2, snapshot_period=3, **LOCAL)]
)
def test_they_are_the_same_with_a_memory_and_with_periods(algorithm: Algorithm) -> None:
    setting = Setting(LINE, algorithm, Uniform(2), start=3)
    assert max(off(setting, functional, AVERAGES[0]) for functional in LEFTS) < 1e-11


def test_a_sum_with_a_wrong_weight_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the weight of the last iterate is one less; a mean of iterates forgets its cross terms."""
    setting = Setting(LINE, algorithms.fedavg(**LOCAL), Uniform(2), start=3)
    right: Callable = averages._divisors
    monkeypatch.setattr(averages, "_divisors", lambda f, rounds, ends: [each - 1 for each in right(f, rounds, ends)])
    assert off(setting, WEIGHTED_AVERAGE_GAP, AVERAGES[0]) > 1e-3
    monkeypatch.undo()
    rows: Callable = averages._rows_of_model
    monkeypatch.setattr(averages, "_rows_of_model", lambda *given: (rows(*given)[0], 0 * rows(*given)[1]))
    assert off(setting, GAP_OF_AVERAGE, AVERAGES[0]) > 1e-3


def test_a_hundred_settings_over_a_hundred_thousand_rounds_take_seconds() -> None:
    """About 1 s of CPU; followed one by one, it is 10^7 rounds and minutes."""
    began, horizons = process_time(), np.unique(np.geomspace(1, 1e5, 21).astype(int))
    for i in range(100):
        fed = Quadratic([[1], [2], [1]], [[1], [-1], [i]], gradient_noise=1)
        setting = Setting(fed, algorithms.fedavg(**LOCAL), Uniform(2), start=3)
        assert (run_in_floats(setting, LEFTS[i % 5], horizons) > 0).all()
    assert process_time() - began < 20


def test_what_has_no_enclosure_says_so() -> None:
    setting = Setting(LINE, algorithms.fedavg(**LOCAL), Uniform(2), start=3)
    with pytest.raises(Imprecise, match="no enclosure of it over 3 rounds is known; allowed are weights r"):
        value_in_balls(setting, replace(OF_ONES_OWN, of_mean=True), [3])
