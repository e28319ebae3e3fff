"""One round, exactly: against every outcome of the noise and of the cohorts, and against plain loops."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast
from fedtheory.federations import Logistic, Quadratic
from fedtheory.functionals import (
    AVERAGE_SQUARED_GRADIENT,
    FINAL_SQUARED_DISTANCE,
    LINEARIZATION_ERROR,
    LOCAL_GRADIENT_ERROR,
    NEGATED_ARBITRARY_PROGRESS,
    NEGATED_FULL_PROGRESS,
    SQUARED_GRADIENT,
    SQUARED_MOVEMENT,
)
from fedtheory.moments.one_round import one_round
from fedtheory.participation import Fixed, IndexBeta, Uniform
from fedtheory.quantities import ROUND_QUANTITIES
from fedtheory.setting import Setting

LEFTS = (SQUARED_GRADIENT, LOCAL_GRADIENT_ERROR, NEGATED_FULL_PROGRESS, NEGATED_ARBITRARY_PROGRESS, SQUARED_MOVEMENT,
         FINAL_SQUARED_DISTANCE)  # fmt: skip


def round_setting(hessians, centres, arbitrary, cohort, q, start, sigma=0, eta="1/4", local_steps=1, replacement=False):
    algorithm = fast(cohort=cohort, local_lr=eta, local_steps=local_steps, snapshot_probability=q,
                     replacement=replacement)  # fmt: skip
    return Setting(Quadratic(hessians, centres, sigma), algorithm, arbitrary, start)


# The definitions, with every outcome counted: everything in the arithmetic of the setting's Fractions, or in floats.


def cohorts(process: Fixed | Uniform, clients: int) -> list[tuple[int, ...]]:
    """The equally likely draws of a round."""
    if isinstance(process, Fixed):
        return [process.members]
    everyone = range(clients)
    return list(product(everyone, repeat=process.cohort) if process.replacement else
                combinations(everyone, process.cohort))  # fmt: skip


def paths_of(setting: Setting, client: int, number: type) -> list[list[np.ndarray]]:
    """For every outcome of the client's noise, its exact gradients at x_{i,0}, ..., x_{i,K} and then x_{i,K}."""
    fed, d = setting.federation, setting.federation.dimension
    kind = object if number is Fraction else float
    hessian, centre = fed.exact_hessians[client].astype(kind), fed.exact_centres[client].astype(kind)
    eta, K = number(setting.algorithm.local_lr), setting.algorithm.local_steps
    size = number(fed.exact_gradient_noise) / (number(math.isqrt(d)) if number is Fraction else math.sqrt(d))
    found = []
    for signs in product((1, -1), repeat=d * K) if size else [(0,) * (d * K)]:
        x, gradients = setting.exact_start.astype(kind), []
        for k in range(K):
            gradients.append(hessian @ (x - centre))
            x = x - eta * (gradients[-1] + size * np.array(signs[k * d : (k + 1) * d]))
        found.append([*gradients, hessian @ (x - centre), x])
    return found


def mean(values: list) -> object:
    return sum(values[1:], values[0]) / len(values)


def enumerated(setting: Setting, number: type = Fraction) -> tuple[dict, dict]:
    """The left sides and the round quantities, from their definitions."""
    fed, algorithm, K = setting.federation, setting.algorithm, setting.algorithm.local_steps
    kind = object if number is Fraction else float
    hessians, best = fed.exact_hessians.astype(kind), fed.exact_optimum.astype(kind)
    hessian = hessians.sum(0) / fed.clients
    start = setting.exact_start.astype(kind) - best
    outcomes = [paths_of(setting, i, number) for i in range(fed.clients)]
    sums = [[sum(path[1:K], path[0]) for path in paths] for paths in outcomes]

    def objective(x: np.ndarray) -> object:
        return (x - best) @ hessian @ (x - best) / 2

    def expectation(process: object, value: object) -> object:
        """E of value(sums of the participants, their models), over cohorts and noise; who is drawn twice trains
        once."""
        values = []
        for drawn in cohorts(process, fed.clients):
            who = sorted(set(drawn))
            choices = list(product(*(range(len(outcomes[i])) for i in who)))
            of_cohort = []
            for choice in choices:
                at = dict(zip(who, choice, strict=True))
                of_cohort.append(value(mean([sums[i][at[i]] for i in drawn]), mean([outcomes[i][at[i]][-1]
                                                                                   for i in drawn])))  # fmt: skip
            values.append(mean(of_cohort))
        return mean(values)

    q, uniform, arbitrary = number(algorithm.snapshot_probability), algorithm.uniform, setting.participation

    def either(value: object) -> object:
        return q * expectation(uniform, value) + (1 - q) * expectation(arbitrary, value)

    everyone = Fixed(range(fed.clients))
    errors = [mean([e @ e for e in (path[k] - hessian @ start for path in paths)])
              for paths in outcomes for k in range(K + 1)]  # fmt: skip
    lefts = {
        "squared_gradient": (hessian @ start) @ (hessian @ start),
        "local_gradient_error": max(errors),
        "negated_full_progress": -expectation(everyone, lambda g, x: g @ start),
        "negated_arbitrary_progress": -2 * number(algorithm.local_lr) * expectation(arbitrary, lambda g, x: g @ start),
        "squared_movement": either(lambda g, x: (x - best - start) @ (x - best - start)),
        "final_squared_distance": either(lambda g, x: (x - best) @ (x - best)),
    }
    known = {
        "objective_decrease": objective(start + best) - either(lambda g, x: objective(x)),
        "full_pseudogradient": expectation(everyone, lambda g, x: g @ g),
        "cohort_pseudogradient": expectation(uniform, lambda g, x: g @ g),
        "arbitrary_pseudogradient": expectation(arbitrary, lambda g, x: g @ g),
    }
    return lefts, known


ONE = [[1], [3]], [[1], [-2]]
THREE = [["1/2"], [2], [1]], [["3/2"], [-1], [0]]
FOUR_DIMENSIONS = [[1, 2, "1/3", 1], [2, 1, 1, "1/2"]], [[1, 0, -1, 2], [0, 1, 1, "1/3"]]
PLANE = [[[1, "1/2"], ["1/2", 2]], [[3, 0], [0, "1/4"]]], [[1, 0], [-1, 2]]

CASES = {
    "snapshot": round_setting(*ONE, Fixed([0]), 1, 1, [2], "1/2", local_steps=2),
    "arbitrary": round_setting(*ONE, Fixed([0]), 2, 0, [2], "1/2", local_steps=3),
    "either": round_setting(*THREE, Fixed([0, 2]), 2, "1/3", ["7/2"], 2, local_steps=2),
    "uniform in both": round_setting(*THREE, Uniform(2), 1, "3/4", [-1], "1/3", local_steps=2),
    "with replacement": round_setting(*THREE, Uniform(2, True), 3, "3/4", [-1], 1, replacement=True),
    "replacement, local steps": round_setting(*ONE, Uniform(1), 3, "2/3", [-1], 2, "1/5", 2, True),
    "four dimensions": round_setting(*FOUR_DIMENSIONS, Fixed([1]), 1, "1/5", [1, 2, 0, -1], "3/2"),
    "at the optimum": round_setting([[1], [1]], [[1], [-1]], Fixed([0]), 1, "1/5", [0], 0, local_steps=4),
    "a long step": round_setting(*ONE, Fixed([0]), 2, "1/2", [0], "1/2", 3, local_steps=3),
    "plane, no noise": round_setting(*PLANE, Fixed([1]), 1, "1/5", [1, 2], local_steps=3),
}


@pytest.mark.parametrize("setting", CASES.values(), ids=CASES)
def test_every_outcome_counted(setting: Setting) -> None:
    """Equal, as Fractions."""
    found = one_round(setting, exact=True)
    lefts, known = enumerated(setting)
    assert {functional.name: found.left(functional) for functional in LEFTS} == lefts
    quantities = found.quantities()
    gradient_norm = quantities.pop("gradient_norm", None)
    assert quantities == known
    assert gradient_norm is None or gradient_norm**2 == lefts["squared_gradient"]
    assert gradient_norm is not None or setting.federation.dimension > 1


@pytest.mark.parametrize("setting", CASES.values(), ids=CASES)
def test_floats_are_the_fractions(setting: Setting) -> None:
    exact, floats = one_round(setting, exact=True), one_round(setting)
    for functional in LEFTS:  # sums of a dozen numbers that cancel to a thousandth at worst
        assert floats.left(functional) == pytest.approx(float(exact.left(functional)), rel=1e-12, abs=1e-15)
    quantities = floats.quantities()
    assert tuple(quantities) == ROUND_QUANTITIES
    for name, value in exact.quantities().items():
        assert quantities[name] == pytest.approx(float(value), rel=1e-12, abs=1e-15), name
    assert quantities["gradient_norm"] ** 2 == pytest.approx(float(exact.left(SQUARED_GRADIENT)))


def test_noise_in_the_plane() -> None:
    """In two dimensions the noise a coordinate is irrational: every outcome, in floats."""
    setting = round_setting(*PLANE, Fixed([1]), 1, "1/5", [1, 2], "3/4", local_steps=2)
    found, (lefts, known) = one_round(setting), enumerated(setting, float)
    for functional in LEFTS:
        assert found.left(functional) == pytest.approx(lefts[functional.name], rel=1e-12)
    for name, value in known.items():
        assert found.quantities()[name] == pytest.approx(value, rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_any_small_setting(data: st.DataObject) -> None:
    numbers = st.fractions(-2, 2, max_denominator=5)
    clients = data.draw(st.integers(1, 3))
    process = data.draw(st.sampled_from([Fixed([0]), Fixed([clients - 1]), Uniform(1), Uniform(clients)]))
    setting = round_setting(
        [[data.draw(st.fractions("1/5", 2, max_denominator=5))] for _ in range(clients)],
        [[data.draw(numbers)] for _ in range(clients)],
        process,
        data.draw(st.integers(1, clients)),
        data.draw(st.fractions(0, 1, max_denominator=4)),
        [data.draw(numbers)],
        data.draw(st.fractions(0, 1, max_denominator=3)),
        data.draw(st.fractions("1/10", 1, max_denominator=10)),
        data.draw(st.integers(1, 2)),
    )
    found, (lefts, known) = one_round(setting, exact=True), enumerated(setting)
    assert {functional.name: found.left(functional) for functional in LEFTS} == lefts
    assert {name: value for name, value in found.quantities().items() if name != "gradient_norm"} == known


def test_the_recursion_of_moments_agrees() -> None:
    """Another route, with a process that has floats only."""
    setting = round_setting(*THREE, IndexBeta(2), 1, "3/4", [-1], "1/3", local_steps=3)
    expected = setting.exact([1]).squared_distance[0]
    assert one_round(setting).left(FINAL_SQUARED_DISTANCE) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="IndexBeta knows its inclusion probabilities in floating point only"):
        one_round(setting, exact=True)


def test_round_0_of_a_period_is_a_snapshot() -> None:
    setting = CASES["snapshot"]
    periodic = replace(setting, algorithm=fast(cohort=1, local_lr="1/4", local_steps=2, snapshot_period=3))
    assert one_round(periodic, exact=True) == one_round(setting, exact=True)


def test_small_steps_keep_their_digits() -> None:
    """F(x_0) - F(x_1) is 1e-18 of F(x_0) here."""
    setting = round_setting([[1]], [[0]], Fixed([0]), 1, 1, [1], eta=1e-18)
    decrease = one_round(setting).quantities()["objective_decrease"]
    assert decrease == pytest.approx(float(one_round(setting, exact=True).quantities()["objective_decrease"]))


def test_wrong_input_is_named() -> None:
    found = one_round(CASES["snapshot"])
    for functional in (AVERAGE_SQUARED_GRADIENT, LINEARIZATION_ERROR):
        with pytest.raises(ValueError, match=f"functional = {functional.name}: allowed is one of"):
            found.left(functional)
    features, labels = np.eye(2), np.array([0, 1])
    logistic = Logistic([features, features], [labels, labels], l2=0.1, classes=2)
    with pytest.raises(ValueError, match="need a Quadratic federation, not Logistic"):
        one_round(Setting(logistic, fast(cohort=1, local_lr=1, snapshot_period=1), Fixed([0])))
