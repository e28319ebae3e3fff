"""Evaluators of FLICS's quantities and functionals on a setting: by ``selected_round``, ``selected_runs``, ``policy``.

Without rounds a question is about the round from x_0; with rounds it is about runs of so many rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from ....federations.constants import BOUND, EXACT, Constant
from ....federations.quadratic import Quadratic
from ....functionals import (
    AGGREGATE_BIAS,
    AGGREGATE_ERROR,
    INNER_PRODUCT,
    LEAST_SQUARED_GRADIENT,
    MEAN_SQUARED_GRADIENT,
    POLICY_GAP,
    POLICY_LIMIT,
    RATIO_FAILURE,
    SCALED_INNER_PRODUCT,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
    Functional,
)
from . import policy_trace
from .branching_runs import follow
from ....moments.evaluators import FLOAT, Question, Unserved, evaluates, evaluates_functional
from ....moments.number_kinds import root, smaller
from .policy import long_term
from .selected import CORRELATION, DIVIDED, DIVISION, MATRIX, UNDIVIDED, aggregation_of, horizons, read
from .selected_round import round_of
from .selected_runs import Followed

MINIMUM, FROM_FIRST, FROM_START = "minimum", "t = 1..T", "t = 0..T-1"

OF_RUNS: dict[str, Callable[[Followed], list[Any]]] = {
    "local_gradient_bound": lambda run: _bounded(run),
    "largest_estimate_error": lambda run: _known(run.long_term, run.error),
    "selection_variance": lambda run: _known(run.covariance, _means(run.variance)),
    "selection_proxy": lambda run: _means(run.proxy),
    "rate_spread": lambda run: _means(run.rate_spread),
    "answer_proxy": lambda run: _means(run.answer_proxy),
    "answer_mismatch": lambda run: [root(mean) for mean in _means(run.answer_mismatch)],
    "mean_mismatch": lambda run: [root(mean) for mean in _means(run.mean_mismatch)],
    "weight_mismatch": lambda run: [root(mean) for mean in _means(run.squared_mismatch)],
}
"""Values of each quantity after 1, 2, ... rounds."""

OF_ROUNDS = (
    "mean_update_length", "squared_mean_update", "squared_state_update", "weighted_pseudogradient",
    "squared_mean_vector", "mean_squared_vector", "vector_covariance",
)  # fmt: skip
"""Quantities that only one round has."""


def _bounded(run: Followed) -> list[Any]:
    """The bounds on gradients, where noise is bounded."""
    federation = run.setting.federation
    assert isinstance(federation, Quadratic)  # else it has no groups to follow
    noise = federation.noise
    if run.groups.gradient_noise and noise != "two-point":
        raise Unserved(f"local_gradient_bound: noise = {noise!r} takes runs anywhere; state it")
    return run.bound


def _known(reason: Any, values: list[Any]) -> list[Any]:
    if isinstance(reason, Unserved):
        raise reason
    return values


def _means(values: list[Any]) -> list[Any]:
    """Return the means of the first one, two, ... values."""
    return [total / number for number, total in enumerate(accumulate(values), start=1)]


def at_horizons(question: Question, values: Callable[[int], Any]) -> Any:
    """Return the value at each of the question's rounds: one number, or an array of the rounds' shape."""
    found = [values(r) for r in horizons(question)]
    if np.ndim(question.rounds) == 0:
        return found[0]
    return np.array(found, dtype=float if question.numbers == FLOAT else object).reshape(np.shape(question.rounds))


# What does not depend on runs ----------------------------------------------------------------------------------------


@evaluates("groups")
def _groups(question: Question) -> Constant:
    weight = aggregation_of(question.setting).group_weight
    return Constant(_plain(question, Fraction(len(weight))), EXACT, "the algorithm")


@evaluates("weight_concentration")
def _weight_concentration(question: Question) -> Constant:
    weight = aggregation_of(question.setting).group_weight
    return Constant(_plain(question, sum(p**2 for p in weight)), EXACT, "the algorithm's group_weight")


def _plain(question: Question, value: Any) -> Any:
    """An exact number as a float where floats are asked for; in balls it stays exact."""
    return float(value) if question.numbers == FLOAT else value


@evaluates("least_group_participation")
def _least_group_participation(question: Question) -> Constant:
    if _has_own_estimate(question):
        return _of_round(question, "least_group_participation")
    found = min(long_term(read(question.setting, question.reading), question.numbers != FLOAT))
    return Constant(_plain(question, found), EXACT, "the participation to which the policy converges")


# Of runs, or of the round from x_0 -----------------------------------------------------------------------------------


def _has_own_estimate(question: Question) -> bool:
    return aggregation_of(question.setting).estimate is not None


def _of_round(question: Question, name: str) -> Constant:
    value = question.once(round_of).values((name,), read_division(question))[name]
    return Constant(value, EXACT, "the moments of the round from x_0")


def read_division(question: Question) -> dict[str, str]:
    """Return the question's reading, with the setting's own way of dividing where that is left open."""
    divided = aggregation_of(read(question.setting, question.reading)).divided
    return {**question.reading, DIVISION: DIVIDED if divided else UNDIVIDED}


def _register(name: str) -> None:
    @evaluates(name)
    def evaluator(question: Question) -> Constant:
        if question.rounds is None:
            return _of_round(question, name)
        run = follow(question)
        correlated = name == "selection_variance" and question.reading.get(MATRIX) == CORRELATION
        values = _known(run.covariance, _means(run.correlation)) if correlated else OF_RUNS[name](run)
        kind = BOUND if name == "local_gradient_bound" else EXACT
        how = "an interval that no run leaves" if kind == BOUND else "the moments of the runs"
        return Constant(at_horizons(question, lambda r: values[r - 1]), kind, how)


for _name in OF_RUNS:
    _register(_name)


def _register_round(name: str) -> None:
    evaluates(name)(lambda question: _of_round(question, name))


for _name in OF_ROUNDS:
    _register_round(_name)


@evaluates_functional(LEAST_SQUARED_GRADIENT)
def _least_squared_gradient(question: Question) -> Any:
    squares = follow(question).squares
    counted = squares[1:] if question.reading.get(MINIMUM, FROM_FIRST) == FROM_FIRST else squares[:-1]
    least = list(accumulate(counted, smaller))
    return at_horizons(question, lambda r: least[r - 1])


@evaluates_functional(MEAN_SQUARED_GRADIENT)
def _mean_squared_gradient(question: Question) -> Any:
    means = _means(follow(question).squares[:-1])
    return at_horizons(question, lambda r: means[r - 1])


def _register_left(functional: Functional) -> None:
    @evaluates_functional(functional)
    def evaluator(question: Question) -> Any:
        return question.once(round_of).left(functional, read_division(question), question.stated)


for _functional in (
    AGGREGATE_ERROR,
    AGGREGATE_BIAS,
    SCALED_INNER_PRODUCT,
    INNER_PRODUCT,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
):
    _register_left(_functional)


# The policy, and how often answers mislead ---------------------------------------------------------------------------


@evaluates("price_drift")
def _price_drift(question: Question) -> Constant:
    trace = policy_trace.trace_of(question)
    how = "the policy along the recorded availability"
    return Constant(at_horizons(question, trace.price_drift), EXACT, how)


@evaluates_functional(POLICY_GAP)
def _policy_gap(question: Question) -> Any:
    return at_horizons(question, policy_trace.trace_of(question).gap)


@evaluates_functional(POLICY_LIMIT)
def _policy_limit(question: Question) -> Any:
    if "least_participation" not in question.stated:
        raise Unserved("functional policy_limit: it speaks of least_participation, which is no setting's; state it")
    return _plain(question, policy_trace.limit(question, question.stated["least_participation"]))


@evaluates("response_probability")
def _response_probability(question: Question) -> Constant:
    _, probability = policy_trace.answers_of(question)
    return Constant(_plain(question, probability), EXACT, "budget over the clients that are there")


@evaluates("group_clients")
def _group_clients(question: Question) -> Constant:
    clients, _ = policy_trace.answers_of(question)
    return Constant(_plain(question, Fraction(clients)), EXACT, "the clients that are there")


@evaluates_functional(RATIO_FAILURE)
def _ratio_failure(question: Question) -> Any:
    if "relative_error" not in question.stated:
        raise Unserved("functional ratio_failure: it speaks of relative_error, which is no setting's; state it")
    clients, probability = policy_trace.answers_of(question)
    error = Fraction(question.stated["relative_error"])
    failure = policy_trace.ratio_failure
    return at_horizons(question, lambda r: failure(probability, clients * r, error, question.numbers))
