"""Evaluators of participants, start, one round and a run: for quadratic federations; the start also for any convex
one."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import Fast
from ..algorithms.custom_algorithm import Own
from ..extras import torch
from ..federations.constants import BOUND, EXACT, Constant
from ..federations.federation import ConvexFederation
from ..federations.piecewise import Piecewise
from ..federations.quadratic import Quadratic
from ..functionals import (
    AVERAGE_SQUARED_GRADIENT,
    AVERAGES,
    FINAL_SQUARED_DISTANCE,
    LOCAL_GRADIENT_ERROR,
    NEGATED_ARBITRARY_PROGRESS,
    NEGATED_FULL_PROGRESS,
    SQUARED_GRADIENT,
    SQUARED_MOVEMENT,
    Functional,
)
from ..participation import Uniform
from ..quantities import CLIENT_ROUND_QUANTITIES, LEAST_QUANTITIES, ROUND_QUANTITIES, RUN_QUANTITIES
from .evaluators import FLOAT, Question, Unserved, evaluates, evaluates_functional
from .expected_errors import ExactErrors, exact_errors
from .one_round import OneRound, one_round, own_round
from .trajectory import least, peaks

if TYPE_CHECKING:
    from ..setting import Setting


@evaluates("clients")
def _clients(question: Question) -> Constant:
    return Constant(question.number(question.setting.federation.clients), EXACT, "the federation")


@evaluates("arbitrary_cohort")
def _arbitrary_cohort(question: Question) -> Constant:
    setting = question.setting
    fewest, most = setting.participation.sizes(setting.federation.clients)
    if any(kind.selection is not None for kind in setting.algorithm.client_rounds):
        raise Unserved("quantity arbitrary_cohort: the server selects among those who are there; state its value")
    if not fewest == most > 0:
        process = type(setting.participation).__name__
        raise Unserved(
            f"quantity arbitrary_cohort: rounds of {process} have {fewest} to {most} clients; state its value"
        )
    return Constant(question.number(most), EXACT, "the participation process")


def _draws_own_cohorts(question: Question) -> bool:
    algorithm, process = question.setting.algorithm, question.setting.participation
    return isinstance(algorithm, Own) and "cohort" not in algorithm.numbers and isinstance(process, Uniform)


@evaluates("cohort", where=_draws_own_cohorts)
def _cohort(question: Question) -> Constant:
    """The size of the process's uniform cohorts, under an algorithm of one's own."""
    process = question.setting.participation
    assert isinstance(process, Uniform)
    return Constant(question.number(process.cohort), EXACT, "the participation process")


@evaluates("server_noise")
def _server_noise(question: Question) -> Constant:
    fed = question.setting.federation
    if not question.setting.has_server_rounds and fed.server_noise == 0:
        raise Unserved(f"quantity server_noise: {type(question.setting.algorithm).__name__} has no server rounds")
    known = {} if question.numbers == FLOAT else fed.exact_constants()
    return Constant(question.number(known.get("server_noise", fed.server_noise)), EXACT, "as constructed")


@evaluates("rounds")
def _rounds(question: Question) -> Constant:
    if question.rounds is None:
        raise Unserved("quantity rounds: they are not given; say rounds = R")
    return Constant(question.number(question.rounds), EXACT, "given")


# The start.


@evaluates("initial_gap")
def _initial_gap(question: Question) -> Constant:
    """F(x_0) - F*, widened by what the optimum's certificate leaves open."""
    if question.numbers == FLOAT:
        return question.setting.whatever_the_algorithm("initial_gap", lambda: _gap(question))
    return _gap(question)


def _gap(question: Question) -> Constant:
    fed = _convex(question, "initial_gap")
    if isinstance(fed, Piecewise):
        exact = fed.exact_gap(list(question.setting.exact_start))
        return Constant(float(exact) if question.numbers == FLOAT else question.number(exact), EXACT, "F(x_0) - F(x*)")
    if question.numbers != FLOAT:
        quadratic, shift = _exact_shift(question, "initial_gap")
        assert isinstance(quadratic, Quadratic)
        value = shift @ quadratic.exact_hessian @ shift / 2
        return Constant(question.number(value), EXACT, "F(x_0) - F(x*)")
    gap = float(fed.gap(question.setting.start_vector[None])[0])
    return _widened(fed, max(gap, 0.0) + fed.optimal_value_error, "F(x_0) - F(x*)")


@evaluates("initial_distance")
def _initial_distance(question: Question) -> Constant:
    """|x_0 - x*|, widened likewise."""
    fed = _convex(question, "initial_distance")
    if question.numbers != FLOAT:
        _, shift = _exact_shift(question, "initial_distance")
        return Constant(question.root(shift @ shift), EXACT, "|x_0 - x*|")
    return question.setting.whatever_the_algorithm("initial_distance", lambda: _distance(question.setting, fed))


def _distance(setting: Setting, fed: ConvexFederation) -> Constant:
    distance = float(torch.linalg.vector_norm(setting.start_vector - fed.optimum))
    return _widened(fed, distance + fed.optimum_error, "|x_0 - x*|")


def _convex(question: Question, name: str) -> ConvexFederation:
    fed = question.setting.federation
    if not isinstance(fed, ConvexFederation):
        raise Unserved(
            f"quantity {name}: {type(fed).__name__} knows no optimum; state an estimate of it (see estimated_constants)"
        )
    return fed


def _exact_shift(question: Question, name: str) -> tuple[Quadratic | Piecewise, np.ndarray]:
    """The federation, and x_0 - x* in Fractions."""
    fed = question.setting.federation
    if not isinstance(fed, Quadratic | Piecewise):
        raise Unserved(f"quantity {name}: {type(fed).__name__} knows its optimum in floats only; ask for floats")
    return fed, question.setting.exact_start - fed.exact_optimum


def _widened(fed: ConvexFederation, value: float, how: str) -> Constant:
    if fed.optimum_error == 0:
        return Constant(value, EXACT, how)
    return Constant(value, BOUND, how + ", widened by the optimum's certificate")


# A run.


def _extreme(name: str, question: Question) -> Constant:
    setting = question.setting
    fed, named = type(setting.federation).__name__, type(setting.algorithm).__name__
    served = {
        "the rounds are not given": question.rounds is not None,
        "it is known beforehand in floats only": question.numbers == FLOAT,
        f"{fed} is not quadratic": isinstance(setting.federation, Quadratic),
        f"{named} is not plain fast": isinstance(setting.algorithm, Fast) and setting.algorithm.plain,
        "the run is random": setting.deterministic,
        "the step sizes change": not setting.algorithm.by_rule,
    }
    for why, true in served.items():
        if not true:
            measured = "; simulate(observers=['peaks']) measures it on runs of fast" * (name in RUN_QUANTITIES)
            raise Unserved(f"quantity {name}: {why}{measured}")
    extreme, compute = ("maximum", _peaks) if name in RUN_QUANTITIES else ("minimum", _least)
    how = f"{extreme} over the deterministic run's first {int(np.max(question.rounds))} rounds"
    return Constant(question.once(compute)[name], EXACT, how)


def _peaks(question: Question) -> dict[str, float]:
    return peaks(question.setting, int(np.max(question.rounds)))


def _least(question: Question) -> dict[str, float]:
    return least(question.setting, int(np.max(question.rounds)))


for _name in (*RUN_QUANTITIES, *LEAST_QUANTITIES):
    evaluates(_name)(partial(_extreme, _name))


def _of_run(functional: Functional, question: Question) -> Any:
    if question.rounds is None:
        raise Unserved(f"functional {functional.name}: the rounds are not given; say rounds = R")
    found = question.once(_errors)
    if isinstance(found, ValueError):
        raise Unserved(f"functional {functional.name}: {found}; simulate() measures it")
    values = question.number(found.functional(functional, question.reading.get("average", AVERAGES[0])).copy())
    return values if np.ndim(question.rounds) else values[0]


_FEW = 64
"""The most horizons whose errors are kept with a setting, since several claims and readings may ask for them."""


def _errors(question: Question) -> ExactErrors | ValueError:
    setting, rounds, exact = question.setting, np.asarray(question.rounds), question.numbers != FLOAT
    if rounds.size > _FEW:
        return _errors_at(setting, rounds, exact)
    return setting.once(
        ("errors", rounds.dtype.str, rounds.tobytes(), exact), lambda: _errors_at(setting, rounds, exact)
    )


def _errors_at(setting: Setting, rounds: np.ndarray, exact: bool) -> ExactErrors | ValueError:
    try:
        return exact_errors(setting, rounds, exact)
    except ValueError as error:
        return error


for _functional in (FINAL_SQUARED_DISTANCE, AVERAGE_SQUARED_GRADIENT):
    evaluates_functional(_functional)(partial(_of_run, _functional))


# One round.


def _round(what: str, question: Question) -> OneRound:
    setting = question.setting
    if not isinstance(setting.federation, Quadratic):
        raise Unserved(f"{what}: {type(setting.federation).__name__} has no exact round; a Quadratic federation has")
    if not setting.algorithm.plain and not isinstance(setting.algorithm, Own):
        raise Unserved(
            f"{what}: {type(setting.algorithm).__name__} is more than SGD and a mean; no evaluator follows it"
        )
    return question.once(_one_round)


def _one_round(question: Question) -> OneRound:
    setting, exact = question.setting, question.numbers != FLOAT
    compute = own_round if isinstance(setting.algorithm, Own) else one_round
    return setting.once(("one round", exact), lambda: compute(setting, exact))


def _quantity_of_round(name: str, question: Question) -> Constant:
    found = _round(f"quantity {name}", question)
    if name in found.known:
        return Constant(question.number(found.known[name]), EXACT, "the moments of one round")
    if name == "gradient_norm":
        return Constant(question.root(Fraction(found.left(SQUARED_GRADIENT))), EXACT, "the moments of one round")
    raise Unserved(f"quantity {name}: {type(question.setting.algorithm).__name__} has no such round; state its value")


for _name in (*ROUND_QUANTITIES, *CLIENT_ROUND_QUANTITIES):
    evaluates(_name)(partial(_quantity_of_round, _name))


def _left_of_round(functional: Functional, question: Question) -> Any:
    return question.number(_round(f"functional {functional.name}", question).left(functional))


for _functional in (
    SQUARED_GRADIENT,
    LOCAL_GRADIENT_ERROR,
    NEGATED_FULL_PROGRESS,
    NEGATED_ARBITRARY_PROGRESS,
    SQUARED_MOVEMENT,
):
    evaluates_functional(_functional)(partial(_left_of_round, _functional))
