"""Evaluators: quantities and functionals of a setting in floats, Fractions and balls; what is not served says why."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from flint import arb

import fedtheory as ft
from fedtheory.claims.balls import ball
from fedtheory.federations import Constant, Logistic, Quadratic
from fedtheory.functionals import (
    AVERAGE_SQUARED_GRADIENT,
    FINAL_SQUARED_DISTANCE,
    LENGTH,
    LOCAL_GRADIENT_ERROR,
    SQUARED_MOVEMENT,
    Functional,
    of_values,
)
from fedtheory.moments import evaluators, stationary
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, Unserved, left, quantities, quantity
from fedtheory.moments.expected_errors import exact_errors
from fedtheory.moments.one_round import one_round
from fedtheory.participation import Bernoulli, Fixed
from fedtheory.quantities import CLIENT_ROUND_QUANTITIES, QUANTITIES, ROUND_QUANTITIES, RUN_QUANTITIES, symbols

ALGORITHMS = {
    "fast": ft.algorithms.fast(cohort=2, local_lr="1/100", local_steps=3, snapshot_period=4),
    "safari": ft.algorithms.safari(client_round_probability="1/3", local_lr="1/50", server_lr="1/40"),
    "fedavg": ft.algorithms.fedavg(local_lr="1/30", local_steps=2, global_lr=1),
}


def quadratic(**options: object) -> Quadratic:
    """Two clients with the Hessian diag(1, 4) at (1, 1) and (-1, 3): x* = (0, 2), gradients (-+1, +-4) there."""
    return Quadratic.common_hessian([[1, 1], [-1, 3]], [1, 4], **options)


def usual(which: str = "fast", **options: object) -> ft.Setting:
    parts = {
        "federation": quadratic(gradient_noise="1/2", server_noise="1/3" if which == "safari" else 0),
        "algorithm": ALGORITHMS[which], "participation": Fixed([0]), "start": [3, 6],
    }  # fmt: skip
    return ft.Setting(**parts | options)


ASKED = [*QUANTITIES]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_kinds_of_number_agree(algorithm: str) -> None:
    setting = usual(algorithm)
    floats, fractions, balls = (quantities(setting, 5, ASKED, numbers=n) for n in (FLOAT, EXACT, BALL))
    assert list(fractions) == [name for name in floats if name in fractions] and len(fractions) >= 12
    assert floats.keys() - balls.keys() == set() and balls.keys() >= fractions.keys()
    for name, constant in fractions.items():
        assert isinstance(constant.value, F), name
        assert balls[name].value.contains(ball(constant.value)), name
    for name, constant in balls.items():
        assert isinstance(constant.value, arb), name
        assert float(constant.value) == pytest.approx(floats[name].value, rel=1e-12, abs=1e-15), name
        assert (constant.kind, constant.how) == (floats[name].kind, floats[name].how), name


def test_exact_quantities_by_hand() -> None:
    known = quantities(usual(), 5, ASKED, numbers=EXACT)
    expected = {
        "smoothness": 4, "strong_convexity": 1, "gradient_noise": F(1, 2), "clients": 2, "cohort": 2,
        "arbitrary_cohort": 1, "local_lr": F(1, 100), "local_steps": 3, "snapshot_probability": F(1, 4),
        "snapshot_period": 4, "initial_gap": F(73, 2), "initial_distance": 5, "rounds": 5,
    }  # fmt: skip
    assert {name: known[name].value for name in expected} == expected
    # sqrt(17) and |(3, 16)| = sqrt(265) are irrational.
    assert not {"dissimilarity", "dissimilarity_at_optimum", "gradient_norm"} & known.keys()
    enclosed = quantities(usual(), 5, ["dissimilarity", "gradient_norm"], numbers=BALL)
    assert (enclosed["dissimilarity"].value ** 2).contains(17) and (enclosed["gradient_norm"].value ** 2).contains(265)
    with pytest.raises(Unserved, match="the square root of 17 is irrational; ask for floats or balls"):
        quantity("dissimilarity", Question(usual(), numbers=EXACT))


def test_rounds_may_be_an_array() -> None:
    found = quantities(usual(), [3, 2**70], ["rounds"], numbers=EXACT)["rounds"].value
    assert found.tolist() == [3, 2**70] and all(type(each) is F for each in found)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_quantities_and_lefts_of_a_round_are_those_of_the_round(algorithm: str) -> None:
    setting = usual(algorithm)
    found, exact = one_round(setting), one_round(setting, exact=True)
    names = [*ROUND_QUANTITIES, *CLIENT_ROUND_QUANTITIES]
    assert {n: c.value for n, c in quantities(setting, needed=names).items()} == found.known
    for functional in (LOCAL_GRADIENT_ERROR, SQUARED_MOVEMENT):
        assert left(functional, Question(setting)) == found.left(functional)
        value = left(functional, Question(setting, numbers=EXACT))
        assert value == exact.left(functional) and isinstance(value, F)
        assert left(functional, Question(setting, numbers=BALL)).contains(ball(value))


def test_lefts_of_runs() -> None:
    setting, rounds = usual(), [1, 4, 9]
    errors = exact_errors(setting, rounds)
    assert (left(FINAL_SQUARED_DISTANCE, Question(setting, rounds)) == errors.squared_distance).all()
    for average in ("r = 1..R", "r = 0..R-1"):
        expected = errors.functional(AVERAGE_SQUARED_GRADIENT, average)
        assert (left(AVERAGE_SQUARED_GRADIENT, Question(setting, rounds, {"average": average})) == expected).all()
    for numbers, kind in ((FLOAT, float), (EXACT, F), (BALL, arb)):
        one = left(FINAL_SQUARED_DISTANCE, Question(setting, 4, numbers=numbers))
        assert isinstance(one, kind) and float(one) == pytest.approx(errors.squared_distance[1], rel=1e-12)


def test_what_is_stated_goes_before_what_is_known() -> None:
    stated = {"smoothness": 7, "weight_scale": Constant(2.0, "estimate", "a guess")}
    known = usual().quantities(needed=["smoothness", "weight_scale", "cohort"], stated=stated)
    assert [c.value for c in known.values()] == [7, 2.0, 2] and known["weight_scale"].kind == "estimate"


LOGISTIC = Logistic([[[1.0], [0.5]], [[1.0], [-1.0]]], [[0, 1], [0, 1]], l2=0.5)


@pytest.mark.parametrize(
    ("name", "changes", "rounds", "reason"),
    [
        ("weight_scale", {}, 5, "quantity weight_scale: weights of updates: the algorithm has none of its own"),
        ("rounds", {}, None, "quantity rounds: they are not given"),
        ("server_noise", {}, 5, "quantity server_noise: Fast has no server rounds"),
        (
            "arbitrary_cohort",
            {"participation": Bernoulli(["1/2", "1/2"])},
            5,
            "rounds of Bernoulli have 0 to 2 clients",
        ),
        (RUN_QUANTITIES[0], {}, 5, "the run is random; simulate.observers=.'peaks'.. measures it"),
        (RUN_QUANTITIES[0], {}, None, "the rounds are not given"),
        (RUN_QUANTITIES[0], {"federation": LOGISTIC}, 5, "Logistic is not quadratic"),
        (RUN_QUANTITIES[0], {"algorithm": ALGORITHMS["fedavg"]}, 5, "EveryRound is not plain fast"),
        ("gradient_norm", {"federation": LOGISTIC}, 5, "Logistic has no exact round; a Quadratic federation has"),
        ("arbitrary_drift", {}, 5, "quantity arbitrary_drift: Fast has no such round"),
        ("gradient_norm", {"algorithm": ft.algorithms.fedavgm(local_lr="1/9", momentum="1/2")}, 5, "more than SGD and"),
    ],
)
def test_what_is_not_served_says_what_and_who_could(name: str, changes: dict, rounds: object, reason: str) -> None:
    setting = usual(**changes | ({"start": 1.0} if "federation" in changes else {}))
    assert setting.quantities(rounds, needed=[name]) == {}
    with pytest.raises(Unserved, match=reason):
        setting.quantities(rounds, needed=[name], strict=True)


def test_functionals_that_are_not_served() -> None:
    with pytest.raises(Unserved, match="functional final_squared_distance: the rounds are not given"):
        left(FINAL_SQUARED_DISTANCE, Question(usual()))
    with pytest.raises(Unserved, match=r"exact moments need a Quadratic .*; simulate\(\) measures"):
        left(FINAL_SQUARED_DISTANCE, Question(usual(federation=LOGISTIC, start=1.0), 5))
    own = Functional("way", "|x_1 - x_0|", LENGTH, "w")
    with pytest.raises(Unserved, match="functional way: no evaluator computes it; give it a compute of its own"):
        left(own, Question(usual()))
    computed = replace(own, compute=lambda question: question.rounds * 2)
    assert left(computed, Question(usual(), 3)) == 6 and computed != own


def test_a_functional_that_is_an_expression_is_that_of_the_quantities() -> None:
    smoothness, rounds, convexity = symbols("smoothness", "rounds", "strong_convexity")
    ratio = of_values("ratio", "L / (mu R)", smoothness / (convexity * rounds), r"\kappa")
    assert left(ratio, Question(usual(), [2, 5])).tolist() == [2, 0.8]
    assert left(ratio, Question(usual(), 5, numbers=EXACT)) == F(4, 5)
    assert left(ratio, Question(usual(), 5, numbers=BALL)).contains(ball(F(4, 5)))
    with pytest.raises(Unserved, match="quantity rounds: they are not given"):
        left(ratio, Question(usual()))


def test_two_evaluators_for_one_name_are_refused() -> None:
    quantity("clients", Question(usual()))
    with pytest.raises(ValueError, match="quantity 'clients' has an evaluator already"):
        evaluators.evaluates("clients")(lambda question: Constant(1, "exact", ""))
    with pytest.raises(ValueError, match="functional 'squared_movement' has an evaluator already"):
        evaluators.evaluates_functional(SQUARED_MOVEMENT)(lambda question: 1)


def test_a_question_computes_once() -> None:
    calls, question = [], Question(usual())
    assert [question.once(calls.append) for _ in range(3)] == [None] * 3 and calls == [question]


def test_roots_are_of_the_kind_that_is_asked_for() -> None:
    for numbers, found in ((FLOAT, 1.5), (EXACT, F(3, 2)), (BALL, 1.5)):
        assert Question(usual(), numbers=numbers).root(F(9, 4)) == found
    assert Question(usual()).root(F(2)) == 2**0.5


def test_doors_of_a_setting() -> None:
    setting = usual("fedavg")
    assert {"quantities", "exact", "simulate", "fixed_point", "stationary"} <= set(dir(ft.Setting))
    assert setting.fixed_point(exact=True).point.tolist() == stationary.fixed_point(setting, True).point.tolist()
    assert setting.stationary().squared_distance == stationary.stationary(setting).squared_distance
    assert np.array_equal(
        setting.exact([2], exact=True).squared_distance, exact_errors(setting, [2], True).squared_distance
    )
