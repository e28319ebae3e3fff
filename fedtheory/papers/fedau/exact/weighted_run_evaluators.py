"""Evaluators of quantities and functionals on weighted updates (FedAU's Algorithm 1) of quadratic clients.

A claim may speak of the gap and the gradients of another objective than F = (1/N) sum_n F_n: whoever asks states it as
``objective_weight``, the weights phi_n >= 0 of f~ = sum_n phi_n F_n, (N,), or ``IMPLIED`` for the one that constant
weights minimise. Steps may be stated too; see ``weighted_update_rounds``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ....claims import readings
from ....claims.balls import Ball
from ....rationals import exact_number
from ....federations.constants import BOUND, Constant
from ....federations.quadratic import Quadratic
from ....functionals import (
    AVERAGE_SQUARED_GRADIENT,
    AVERAGE_SQUARED_WEIGHTED_GRADIENT,
    AVERAGES,
    HISTORY,
    LOCAL_DRIFT,
    OBJECTIVE_WEIGHT,
    WEIGHTED_DIVERGENCE,
    WEIGHTED_INCREASE,
    check_average,
)
from .weight_states import estimated_sums, law_given_weights
from ....moments.evaluators import FLOAT, Question, Unserved, evaluates, evaluates_functional
from ....moments.number_kinds import larger, root
from .weight_evaluators import horizons_of, only_row, over_horizons, said
from .weighted_update_rounds import (
    Law,
    Row,
    Unfollowed,
    WeightedRounds,
    answer,
    expected_increase,
    given_sums,
    in_kind,
    is_weighted,
    largest_divergence,
    largest_drift,
    mean,
    mean_of,
    minimiser,
    powers,
    probabilities_of,
    total,
    weighted_parts,
    weighted_rounds,
)

IMPLIED = "implied"
"""The objective of constant weights, phi_n = p_n omega_n / sum_m p_m omega_m. Source: FedAU, Theorem 1."""


def runs_weighted(question: Question) -> bool:
    """Whether the question's rounds are weighted updates, whose coordinates are followed one by one."""
    return is_weighted(question.setting)


def of_an_objective(question: Question) -> bool:
    """Whether the question's rounds are weighted updates, or another objective than F is stated.

    Only these evaluators know of such objectives.
    """
    return OBJECTIVE_WEIGHT in question.stated or runs_weighted(question)


def objective_of(question: Question) -> Row:
    """Return phi_n, (N,): the stated weights of the objective, else 1/N.

    Raises:
        ValueError: there is not one for each client, one is negative, or they do not sum to 1.
    """
    clients = question.setting.federation.clients
    stated = question.stated.get(OBJECTIVE_WEIGHT)
    if stated is None:
        return in_kind((Fraction(1, clients),) * clients, question.numbers)
    if isinstance(stated, str):
        if stated != IMPLIED:
            raise ValueError(f"objective_weight = {stated!r}: allowed are numbers, or {IMPLIED!r}")
        probabilities = in_kind(probabilities_of(question.setting), question.numbers)
        shares = [p * w for p, w in zip(probabilities, only_row(question), strict=True)]
        return tuple(share / total(shares) for share in shares)
    exact = [exact_number(OBJECTIVE_WEIGHT, value) for value in stated]
    if len(exact) != clients or min(exact) < 0 or not math.isclose(sum(exact), 1, rel_tol=1e-12):
        raise ValueError(f"objective_weight = {list(map(str, exact))}: allowed are {clients} numbers >= 0 with sum 1")
    return in_kind(exact, question.numbers)


def _number(value: Any) -> Any:
    """A float, a Fraction, or a ball as an arb."""
    return value.value if isinstance(value, Ball) else value


# Where runs stay ------------------------------------------------------------------------------------------------------


def squared_gradient_bound(rounds: WeightedRounds) -> Any:
    """max |grad F|^2 over the box in which runs stay (``stays_in``).

    Outside the box F_n may go on with the gradient of its edge, coordinate by coordinate: so there are clients with the
    same runs and the same L, sigma and delta whose global gradient is bounded by this everywhere.

    Raises:
        Unfollowed: the clients' curvatures differ, or one is not positive.
    """
    bound = Fraction(0)
    # Noise moves by sigma/sqrt(D), exactly where that root is rational.
    length = root(rounds.dimension * 1.0 if isinstance(rounds.gradient_noise, float) else Fraction(rounds.dimension))
    reach = rounds.gradient_noise / (length if isinstance(length, (float, Fraction)) else Ball(length))
    for d in range(rounds.dimension):
        (h, *others), slopes = rounds.column(d), [row[d] for row in rounds.slopes]
        if any(other != h for other in others) or not h > 0:
            raise Unfollowed("runs are held in a box where the clients have one positive curvature only")
        centre = mean(slopes)
        # Gradients of f: at the start, and at a minimiser -g_n/h, moved by reach/h.
        ends = [h * rounds.start[d] + centre, *(centre - g + sign * reach for g in slopes for sign in (-1, 1))]
        largest = ends[0] * ends[0]
        for end in ends[1:]:
            largest = larger(largest, end * end)
        bound = bound + largest
    return bound


def stays_in(rounds: WeightedRounds, most: Row) -> bool:
    """Whether no run leaves, coordinate by coordinate, the hull of x_0 and of the clients' minimisers, these moved by
    sigma/(sqrt(D) h) to either side; ``most`` are the largest weights of the clients.

    Where the clients have one curvature h > 0 and local_lr h <= 1, a step of a client goes the share local_lr h of the
    way to its minimiser, which its noise (two-point, of equal size) moves by so much. A round is the same if the shares
    (1 - (1 - local_lr h)^I) global_lr omega_n/N of all clients add up to at most 1.
    """
    for h in rounds.curvatures[0]:
        once, _ = powers(1 - rounds.local_lr * h, rounds.local_steps)
        share = rounds.local_lr * h * once * rounds.global_lr * total(most) / rounds.clients
        if not (_number(rounds.local_lr * h) <= 1 and _number(share) <= 1):
            return False
    return True


@evaluates("global_gradient_bound")
def global_gradient_bound(question: Question) -> Constant:
    """max |grad F| over a box that no run leaves, for clients that go on linearly outside it; where clients have one
    positive curvature and two-point noise. Source: FedAU, Option 2 of Assumption 5.

    Raises:
        Unfollowed: a run may leave the box; or none is known.
        Unserved: the rounds are no weighted updates: state the bound.
    """
    parts = weighted_parts(question.setting)
    if parts is None:
        raise Unserved("global_gradient_bound: known for weighted updates on a quadratic federation; state its value")
    rounds = question.once(weighted_rounds)
    bound, (noise, _) = squared_gradient_bound(rounds), parts
    longest = max(horizons_of(question)) if rounds.cutoff is not None else 1
    if not stays_in(rounds, rounds.largest_weights(longest)) or (noise.gradient_noise and noise.noise != "two-point"):
        raise Unfollowed("the run may leave the region in which its gradient is bounded")
    return said(question, root(_number(bound)), "largest in a box that no run leaves, F linear beyond it", BOUND)


# The objective --------------------------------------------------------------------------------------------------------


@evaluates("initial_gap", where=of_an_objective)
def initial_gap(question: Question) -> Constant:
    """f~(x_0) - min f~, of the stated objective, else F.

    Raises:
        Unserved: f~ has no unique minimiser.
    """
    rounds = question.once(weighted_rounds)
    curvatures, origin = minimiser(rounds, objective_of(question))
    gaps = [h * (x - m) ** 2 for h, x, m in zip(curvatures, rounds.start, origin, strict=True)]
    return said(question, total(gaps) / 2, "of the objective at x_0")


@evaluates("gradient_norm", where=of_an_objective)
def gradient_norm(question: Question) -> Constant:
    """|grad f~(x_0)|, of the stated objective, else F."""
    objective, columns = objective_of(question), zip(*question.once(weighted_rounds).gradients, strict=True)
    square = total([mean_of(objective, column) ** 2 for column in columns])
    return said(question, root(_number(square)), "of the objective at x_0")


@evaluates("dissimilarity", where=runs_weighted)
def dissimilarity(question: Question) -> Constant:
    """max over clients of |grad F_n - grad F|, the same at every x where the clients have one Hessian, else infinite.

    Raises:
        Unserved: it is infinite, and no float is asked for.
    """
    federation = question.setting.federation
    assert isinstance(federation, Quadratic)  # as ``runs_weighted`` says
    if not federation.has_common_hessian:
        if question.numbers == FLOAT:
            return said(question, math.inf, "Hessians differ: unbounded over R^D")
        raise Unserved("curvatures differ between clients, so it is infinite")
    rounds = question.once(weighted_rounds)
    equal = in_kind((Fraction(1, rounds.clients),) * rounds.clients, question.numbers)
    square = largest_divergence(replace(rounds, start=(0,) * rounds.dimension), equal)
    return said(question, root(square), "common Hessian: the same at every x")


@evaluates("objective_error")
def objective_error(question: Question) -> Constant:
    """sum_n (p_n omega_n/N - phi_n)^2, with the weights of round 0. Source: FedAU, Lemma B.3.3."""
    rounds = question.once(weighted_rounds)
    parts = zip(rounds.probabilities, rounds.first_row, objective_of(question), strict=True)
    return said(question, total([(p * w / rounds.clients - phi) ** 2 for p, w, phi in parts]), "round 0")


@evaluates("least_objective_weight")
def least_objective_weight(question: Question) -> Constant:
    """min_n phi_n, of the stated objective, else 1/N."""
    return said(question, min(objective_of(question)), "the objective")


# Functionals of runs --------------------------------------------------------------------------------------------------


def _average(question: Question, objective: Row, average: str) -> Any:
    check_average(average)
    rounds = question.once(weighted_rounds)
    sums = given_sums if rounds.rows else estimated_sums
    first = int(average == AVERAGES[0])  # it is in the sum, and is not to be

    def averages(horizons: list[int]) -> list[Any]:
        alone, *all_of_them = sums(rounds, objective, [1, *(T + first for T in horizons)])
        found = [(s - first * alone) / T for s, T in zip(all_of_them, horizons, strict=True)]
        return [math.inf if value != value else value for value in found] if question.numbers == FLOAT else found

    with np.errstate(over="ignore", invalid="ignore"):  # runs that diverge; infinity less infinity is infinite here
        return over_horizons(question, averages)


@evaluates_functional(AVERAGE_SQUARED_GRADIENT, where=runs_weighted)
def average_squared_gradient(question: Question) -> Any:
    """Compute the mean over the rounds of E|grad F(x_t)|^2; the reading ``average`` says which rounds.

    Given weights take binary powers of a linear map of moments; estimated ones are followed state by state.

    Raises:
        Unfollowed: estimated weights have too many states.

    >>> import fedtheory as ft
    >>> fed, who = ft.federations.Quadratic.common_hessian([0]), ft.participation.Bernoulli(["1/2"])
    >>> setting = ft.Setting(fed, ft.algorithms.fedau(local_lr="1/2", cutoff=2), who, start=1)
    >>> average_squared_gradient(Question(setting, rounds=2, reading={"average": "r = 0..R-1"}, numbers="exact"))
    Fraction(13, 16)
    """
    return _average(question, objective_of(question), question.reading.get(readings.AVERAGE, AVERAGES[0]))


@evaluates_functional(AVERAGE_SQUARED_WEIGHTED_GRADIENT)
def average_squared_weighted_gradient(question: Question) -> Any:
    """The mean over the rounds t = 0..T-1 of E|grad h(x_t)|^2, h the objective that constant weights minimise."""
    implied = replace(question, stated={**question.stated, OBJECTIVE_WEIGHT: IMPLIED})
    return _average(question, objective_of(implied), AVERAGES[1])


# Functionals of one round ---------------------------------------------------------------------------------------------


@evaluates_functional(WEIGHTED_DIVERGENCE)
def weighted_divergence(question: Question) -> Any:
    """max over clients of |grad F_n(x_0) - grad f~(x_0)|^2."""
    return answer(question, largest_divergence(question.once(weighted_rounds), objective_of(question)))


@evaluates_functional(LOCAL_DRIFT)
def local_drift(question: Question) -> Any:
    """max over clients n and steps i = 0..I of E|y_i - x_0|^2."""
    return answer(question, largest_drift(question.once(weighted_rounds)))


@evaluates_functional(WEIGHTED_INCREASE)
def weighted_increase(question: Question) -> Any:
    """Compute E f~(x_1) - f~(x_0).

    By the reading, it is given the estimated weights of all rounds, to which the stated history of participation leads.

    Raises:
        ValueError: a stated history that has no positive probability, or does not tell of every client.
    """
    rounds = question.once(weighted_rounds)
    law: Law = [(1, rounds.probabilities)]
    if question.reading.get(readings.CONDITIONING) == readings.OF_ALL_ROUNDS and rounds.cutoff is not None:
        history = question.stated.get(HISTORY, ())
        if any(len(row) != rounds.clients or not {*row} <= {0, 1} for row in history):
            raise ValueError(f"history of participation: allowed are rows of {rounds.clients} entries 0 or 1")
        law = law_given_weights(rounds.probabilities, rounds.cutoff, history)
    value = expected_increase(rounds, objective_of(question), law)
    return float(value) if question.numbers == FLOAT else answer(question, value)
