"""The evaluators of selection against the classes of ``subjects.selection``, in Fractions, at random points."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from importlib import import_module

import numpy as np
import pytest

from fedtheory.claims.balls import ball, working_precision
from fedtheory.functionals import (
    LEAST_SQUARED_GRADIENT,
    MEAN_SQUARED_GRADIENT,
    POLICY_GAP,
    POLICY_LIMIT,
    RATIO_FAILURE,
)
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, left, quantity
from fedtheory.papers.flics.counterexamples import COUNTEREXAMPLES
from fedtheory.subjects.selection.rounds import SelectionRound
from fedtheory.subjects.selection.runs import SelectionRun
from fedtheory.subjects.selection.samples import Selections
from fedtheory.subjects.selection.traces import Answers, PolicyTrace, Trace

from .selection_settings import along_a_trace, answers, one_round

CLAIMS = {c.ref: c for m in ("lemmas", "thm1", "eq7", "thm2")
          for c in import_module(f"fedtheory.papers.flics.statements.{m}").EDITIONS
          if c.functional.scope == "selection"}  # fmt: skip
OF_RUNS = ("local_gradient_bound", "largest_estimate_error", "selection_variance", "selection_proxy", "rate_spread",
           "weight_mismatch", "least_group_participation")  # fmt: skip
STATIC = ("groups", "weight_concentration")
OF_ROUNDS = ("local_gradient_bound", "largest_estimate_error", "least_group_participation", "weight_mismatch",
             "selection_variance", "selection_proxy", "mean_update_length", "squared_mean_update",
             "squared_state_update", "weighted_pseudogradient", "squared_mean_vector", "mean_squared_vector",
             "vector_covariance")  # fmt: skip


def drawn(ref: str, number: int, seed: int = 0) -> list:
    space, rng = Selections(CLAIMS[ref]), np.random.default_rng(seed)
    candidates = (space.draw(rng) for _ in range(10 * number))
    return list(itertools.islice((c for c in candidates if c is not None), number))


def setting_of(point):
    """The point as a setting."""
    if isinstance(point, SelectionRound):
        states = [(s.probability, s.availability, s.rates) for s in point.states]
        return one_round(point.weight, point.estimate, states, point.curvature, point.centres, point.start,
                         point.gradient_noise, point.local_steps, point.local_lr)  # fmt: skip
    if isinstance(point, Answers):
        return answers(point.probability, point.clients)
    trace = point.trace if isinstance(point, PolicyTrace | SelectionRun) else point
    parts = {} if isinstance(point, PolicyTrace) else {
        "curvature": point.curvature, "centres": point.centres, "start": point.start,
        "gradient_noise": point.gradient_noise, "local_steps": point.local_steps,
        "local_lr": point.local_lr or F(1), "global_lr": point.global_lr or F(1),
    }  # fmt: skip
    setting = along_a_trace(trace.weight, trace.availability, trace.budget, **parts)
    if isinstance(point, SelectionRun):
        selection = setting.algorithm.round.selection
        object.__setattr__(selection, "start", point.initial_estimate)
    return setting


def same(one, other) -> bool:
    return one == other or (ball(one).overlaps(ball(other)) and abs(float(one) - float(other)) <= 1e-60)


def check_run(point: SelectionRun, statement, numbers: str) -> None:
    setting = setting_of(point)
    steps = {"local_lr": ball(point.local_lr), "global_lr": ball(point.global_lr)}
    for reading in statement.readings():
        for functional in (LEAST_SQUARED_GRADIENT, MEAN_SQUARED_GRADIENT):
            expected, values = point.sides(functional, reading, steps)
            question = Question(setting, point.rounds, reading, numbers)
            value = left(functional, question)
            assert ball(value).overlaps(expected)
            assert float(value) == pytest.approx(float(expected), rel=1e-12)
        for name in (*OF_RUNS, *STATIC):
            if name not in values:
                continue
            found, known = quantity(name, question).value, values[name]
            if isinstance(known, float) or not ball(known).is_finite():
                assert not np.isfinite(float(found))
            else:
                assert ball(found).overlaps(ball(known)), (name, found, known)


@pytest.mark.parametrize("seed", range(12))
def test_runs(seed: int) -> None:
    (candidate,) = drawn("flics.thm1@main", 1, seed)
    point = candidate.point
    point = SelectionRun(**{**point.__dict__, "rounds": min(point.rounds, 3)}) if point.local_steps > 3 else point
    with working_precision():
        check_run(point, CLAIMS["flics.thm1@main"], EXACT)


@pytest.mark.parametrize("ref", ["flics.thm1@main"])
def test_published_runs(ref: str) -> None:
    instance, statement = COUNTEREXAMPLES[ref](ref), CLAIMS[ref]
    with working_precision():
        check_run(instance.point, statement, BALL)


def test_the_corollary_s_run() -> None:
    ref = "flics.cor1_1@main"
    instance, statement = COUNTEREXAMPLES[ref](ref), CLAIMS[ref]
    setting = setting_of(instance.point)
    with working_precision():
        steps = instance.steps(statement)
        for reading in statement.readings():
            expected, values = instance.point.sides(LEAST_SQUARED_GRADIENT, reading, steps)
            question = Question(setting, 64, reading, BALL, steps)
            assert left(LEAST_SQUARED_GRADIENT, question).overlaps(expected)
            for name in OF_RUNS:
                assert ball(quantity(name, question).value).overlaps(ball(values[name]))


@pytest.mark.parametrize("ref", [ref for ref in CLAIMS if "lemma" in ref])
def test_rounds(ref: str) -> None:
    tried = 0
    for candidate in drawn(ref, 25):
        point = candidate.point
        if point.curvature < 0 or any(e == 0 for e in point.estimate):
            continue
        tried += 1
        setting, statement = setting_of(point), CLAIMS[ref]
        for reading in statement.readings():
            question = Question(setting, None, reading, EXACT, candidate.constants)
            expected, values = point.sides(statement.functional, reading, candidate.constants)
            assert left(statement.functional, question) == expected
            for name in (*OF_ROUNDS, *STATIC):
                if name == "weighted_pseudogradient" and "local gradients" not in reading:
                    reading_all = reading | {"local gradients": "k = 0..K-1"}
                    question_all = Question(setting, None, reading_all, EXACT)
                    assert quantity(name, question_all).value == values[name]
                else:
                    assert quantity(name, question).value == values[name], name
            close = Question(setting, None, reading, FLOAT, candidate.constants)
            assert left(statement.functional, close) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)
    assert tried >= 5


@pytest.mark.parametrize("ref", ["flics.thm2@main", "flics.thm2@corrected"])
def test_the_policy(ref: str) -> None:
    for candidate in drawn(ref, 25):
        point, statement = candidate.point, CLAIMS[ref]
        setting = setting_of(point)
        for reading in statement.readings():
            question = Question(setting, point.rounds, reading, EXACT, candidate.constants)
            try:
                expected, values = point.sides(statement.functional, reading, candidate.constants)
            except ValueError:
                with pytest.raises(ValueError, match="participation"):
                    left(statement.functional, question)
                continue
            assert left(statement.functional, question) == expected
            name = "price_drift" if statement.functional == POLICY_GAP else "least_group_participation"
            assert quantity(name, question).value == values[name]
            close = Question(setting, [point.rounds], reading, FLOAT, candidate.constants)
            found = np.ravel(left(statement.functional, close))[0]
            assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-12)
            assert np.ravel(quantity(name, close).value)[0] == pytest.approx(float(values[name]), rel=1e-9, abs=1e-12)


def test_two_alike() -> None:
    """Theorem 2's published instance, under its three readings."""
    instance = COUNTEREXAMPLES["flics.thm2@main"]("flics.thm2@main")
    setting = setting_of(instance.point)
    found = [left(POLICY_LIMIT, Question(setting, 1, reading, EXACT, instance.constants))
             for reading in CLAIMS["flics.thm2@main"].readings()]  # fmt: skip
    assert found == [F(1, 2), 1, 0]


def test_answers() -> None:
    for candidate in drawn("flics.eq7.e@main", 25):
        point = candidate.point
        expected, values = point.sides(RATIO_FAILURE, {}, candidate.constants)
        question = Question(setting_of(point), point.rounds, {}, EXACT, candidate.constants)
        assert left(RATIO_FAILURE, question) == expected
        assert {name: quantity(name, question).value for name in ("response_probability", "group_clients")} == {
            name: values[name] for name in ("response_probability", "group_clients")
        }
        close = Question(setting_of(point), [point.rounds], {}, FLOAT, candidate.constants)
        assert left(RATIO_FAILURE, close) == pytest.approx([float(expected)], rel=1e-9, abs=1e-13)


def test_a_trace_is_a_setting() -> None:
    trace = Trace((F(1, 3), F(2, 3)), ((2, 1), (1, 1)), (F(3), F(5, 4)))
    question = Question(setting_of(PolicyTrace(trace, 1)), numbers=EXACT)
    assert quantity("least_group_participation", question).value == min(trace.long_term)
