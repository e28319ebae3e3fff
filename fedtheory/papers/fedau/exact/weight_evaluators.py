"""Evaluators of quantities and functionals on participation probabilities and on the weights of updates (FedAU).

Weights are those of the setting's algorithm: estimated (Algorithm 2) or given round by round. Means over rounds and
extremes are over the question's rounds 0 to T-1; what a claim says of one round is about the last one, t = T-1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ....algorithms.aggregation import FedAUWeights
from ....claims import readings
from ....federations.constants import BOUND, Constant
from ....federations.constants import EXACT as KNOWN
from ....functionals import (
    AVERAGE_WEIGHT_ERROR,
    INTERVAL_MEAN,
    INTERVAL_VARIANCE,
    LONG_RUN_BIAS,
    NEGATED_INTERVAL_MEAN,
    NEGATED_INTERVAL_VARIANCE,
    ROUND_WEIGHT_ERROR,
)
from . import weight_laws as laws
from ....moments.evaluators import FLOAT, Question, Unserved, evaluates, evaluates_functional
from .weighted_update_rounds import Row, aggregation_of, answer, given_rows, in_kind, mean, probabilities_of

CLIENTS, PARTICIPANTS = "the participation process", "the weights of the participants"


# What a question is about ---------------------------------------------------------------------------------------------


def horizons_of(question: Question) -> list[int]:
    """Return the question's rounds T, one after the other.

    Raises:
        Unserved: it has none.
        ValueError: they are not whole numbers >= 1.
    """
    if question.rounds is None:
        raise Unserved("rounds: what is asked for is of a horizon; say which")
    found = np.asarray(question.rounds).ravel()
    if found.size == 0 or not all(r >= 1 and r == int(r) for r in found):
        raise ValueError(f"rounds = {question.rounds!r}: allowed are integers >= 1")
    return [int(r) for r in found]


def over_horizons(question: Question, values: Callable[[list[int]], Sequence[Any]]) -> Any:
    """Return ``values`` of all horizons, in the shape of the question's rounds."""
    found = [answer(question, value) for value in values(horizons_of(question))]
    shape = np.shape(question.rounds)
    if shape == ():
        return found[0]
    array = np.empty(len(found), dtype=float if question.numbers == FLOAT else object)
    array[:] = found
    return array.reshape(shape)


def said(question: Question, value: Any, how: str, kind: str = KNOWN) -> Constant:
    """Return the quantity in the kind of number that is asked for."""
    return Constant(answer(question, value), kind, how)


def _probabilities(question: Question) -> Row:
    return in_kind(probabilities_of(question.setting), question.numbers)


def _single(question: Question, name: str) -> Any:
    """The probability of the clients, where it is the same for all."""
    probabilities = _probabilities(question)
    if len(set(probabilities)) > 1:
        raise Unserved(f"{name}: it is a client's, and clients differ; state it for one of them")
    return probabilities[0]


def cutoff_of(question: Question) -> int | float | None:
    """Return K of estimated weights, an integer or ``math.inf``; ``None`` where weights are given."""
    aggregation = aggregation_of(question.setting)
    return aggregation.cutoff if isinstance(aggregation, FedAUWeights) else None


def _finite_cutoff(question: Question) -> int:
    cutoff = cutoff_of(question)
    if cutoff is None or cutoff == math.inf:
        raise Unserved(
            "cutoff: weights have none here; allowed is fedau with a finite one, so that intervals have an end"
        )
    return int(cutoff)


def _rows(question: Question) -> tuple[Row, ...]:
    return tuple(in_kind(row, question.numbers) for row in given_rows(aggregation_of(question.setting)))


def only_row(question: Question) -> Row:
    """Return the weights of the question's rounds, where they are the same in all.

    They are given ones in one row, those of round 0 (of estimated weights all are 1), or those with the cutoff 1.

    Raises:
        Unserved: they differ between rounds.
    """
    rows = _rows(question)
    alone = question.rounds is not None and max(horizons_of(question)) == 1
    if len(rows) > 1 and not alone:
        raise Unserved("aggregation_weight: given weights differ between rounds; allowed is one row")
    if rows:
        return rows[0]
    if not alone and cutoff_of(question) != 1:
        raise Unserved("aggregation_weight: estimated weights change; allowed are constant ones, or round 0 alone")
    return in_kind((Fraction(1),) * question.setting.federation.clients, question.numbers)


# Participation --------------------------------------------------------------------------------------------------------


@evaluates("participation_probability")
def participation_probability(question: Question) -> Constant:
    """p, where it is the same for all clients."""
    return said(question, _single(question, "participation_probability"), CLIENTS)


@evaluates("least_participation_probability")
def least_participation_probability(question: Question) -> Constant:
    """min_n p_n."""
    return said(question, min(_probabilities(question)), CLIENTS)


@evaluates("absence")
def absence(question: Question) -> Constant:
    """(1/N) sum_n (1 - p_n)."""
    return said(question, mean([1 - p for p in _probabilities(question)]), CLIENTS)


@evaluates("ever_absent")
def ever_absent(question: Question) -> Constant:
    """The share of clients n with p_n < 1."""
    probabilities = _probabilities(question)
    one = probabilities[0] ** 0
    return said(question, mean([one if p < 1 else one * 0 for p in probabilities]), CLIENTS)


# Intervals and cutoffs ------------------------------------------------------------------------------------------------


@evaluates("cutoff")
def cutoff(question: Question) -> Constant:
    """K, where there is one."""
    return said(question, _finite_cutoff(question), "the algorithm")


@evaluates("history")
def history(question: Question) -> Constant:
    """Return T - 1, the rounds that the weight of the last one has seen; the first one has seen none."""
    if min(horizons_of(question)) < 2:
        raise Unserved("history: the weight of round 0 has seen no round; allowed are rounds >= 2")
    return said(question, over_horizons(question, lambda horizons: [T - 1 for T in horizons]), "rounds - 1")


@evaluates("guaranteed_intervals")
def guaranteed_intervals(question: Question) -> Constant:
    """max(floor((T - 1)/K), 1)."""
    K = _finite_cutoff(question)
    value = over_horizons(question, lambda horizons: [max((T - 1) // K, 1) for T in horizons])
    return said(question, value, "rounds and cutoff")


@evaluates("cutoff_bias")
def cutoff_bias(question: Question) -> Constant:
    """(1/N) sum_n (1 - p_n)^(2K)."""
    K = _finite_cutoff(question)
    return said(question, mean([(1 - p) ** (2 * K) for p in _probabilities(question)]), "probabilities and cutoff")


def _given_an_interval(question: Question) -> bool:
    return question.reading.get(readings.CONDITION) == readings.GIVEN_AN_INTERVAL


@evaluates("weight_spread")
def weight_spread(question: Question) -> Constant:
    """E[(omega_t - E[S])^2] of a client in the last round, t = T - 1, where all have the same probability."""
    p, K = _single(question, "weight_spread"), _finite_cutoff(question)
    given, centre = (
        question.reading.get(readings.CONDITION) == readings.GIVEN_AN_INTERVAL,
        laws.interval_moments(p, K)[0],
    )
    value = over_horizons(
        question, lambda horizons: [laws.squared_distance(p, K, T - 1, p * 0 + 1, centre, given) for T in horizons]
    )
    return said(question, value, "the law of the weights")


# Weights over rounds --------------------------------------------------------------------------------------------------


def _given_summaries(question: Question) -> list[laws.GivenSummary]:
    rows, probabilities = question.once(_rows), _probabilities(question)
    return laws.given_summaries(probabilities, rows, horizons_of(question))


def _of_rounds(
    question: Question, estimated: Callable[[Row, Any, list[int]], Sequence[Any]], given: str, random: str = KNOWN
) -> Constant:
    """A summary of the weights, of estimated ones of kind ``random``; given ones say it by the name ``given``."""
    rows, probabilities = question.once(_rows), _probabilities(question)
    if rows and len(rows) == 1 and question.rounds is None:
        return said(question, getattr(laws.given_summary(probabilities, rows, 1), given), PARTICIPANTS)
    if rows:
        found = question.once(_given_summaries)
        return said(question, over_horizons(question, lambda _: [getattr(one, given) for one in found]), PARTICIPANTS)
    K = cutoff_of(question)
    value = over_horizons(question, lambda horizons: estimated(probabilities, K, horizons))
    how = "the law of the weights" if random == KNOWN else "the least bound known before the run"
    return said(question, value, how, random)


@evaluates("weight_error")
def weight_error(question: Question) -> Constant:
    """W = (1/NT) sum_{t<T} sum_n E[(p_n omega_t^n - 1)^2]. Source: FedAU, Theorem 2."""
    return _of_rounds(question, laws.average_error, "error")


@evaluates("peak_weight_error")
def peak_weight_error(question: Question) -> Constant:
    """max_{t<T} (1/N) sum_n (p_n omega_t^n - 1)^2; of estimated weights the least number that it never exceeds."""
    return _of_rounds(
        question, lambda p, K, horizons: [laws.largest_error(p, K, T) for T in horizons], "largest_error", BOUND
    )


@evaluates("weight_scale")
def weight_scale(question: Question) -> Constant:
    """Q = max_{t<T} (1/N) sum_n p_n (omega_t^n)^2; of estimated weights the least number that it never exceeds."""
    return _of_rounds(
        question, lambda p, K, horizons: [laws.largest_scale(p, K, T) for T in horizons], "largest_scale", BOUND
    )


@evaluates("expected_weight_scale")
def expected_weight_scale(question: Question) -> Constant:
    """(1/NT) sum_{t<T} sum_n E[p_n (omega_t^n)^2]."""
    return _of_rounds(question, laws.average_scale, "scale")


@evaluates("aggregation_weight")
def aggregation_weight(question: Question) -> Constant:
    """omega, where it is the same for all clients and rounds."""
    row = only_row(question)
    if len(set(row)) > 1:
        raise Unserved("aggregation_weight: it is a client's, and clients differ; state it for one of them")
    return said(question, row[0], "the algorithm")


@evaluates("update_weight")
def update_weight(question: Question) -> Constant:
    """P/N = (1/N) sum_n p_n omega_n, of constant weights. Source: FedAU, Theorem 1."""
    pairs = zip(_probabilities(question), only_row(question), strict=True)
    return said(question, mean([p * w for p, w in pairs]), PARTICIPANTS)


# Functionals of scope "weights" ---------------------------------------------------------------------------------------


@evaluates_functional(AVERAGE_WEIGHT_ERROR)
def average_weight_error(question: Question) -> Any:
    """The left side of FedAU's Theorem 3; the same number as ``weight_error``.

    >>> import fedtheory as ft
    >>> fed, who = ft.federations.Quadratic.common_hessian([0]), ft.participation.Bernoulli(["1/2"])
    >>> setting = ft.Setting(fed, ft.algorithms.fedau(local_lr=1, cutoff=2), who)
    >>> average_weight_error(Question(setting, rounds=4, numbers="exact"))  # 1/4, 1/4, 1/8, 3/32
    Fraction(23, 128)
    """
    return weight_error(question).value


@evaluates_functional(ROUND_WEIGHT_ERROR)
def round_weight_error(question: Question) -> Any:
    """(1/N) sum_n E[(p_n omega_t^n - 1)^2] in the last round, t = T - 1; by the reading given that an interval has
    ended before."""
    rows, probabilities = _rows(question), _probabilities(question)
    if rows:
        errors = [laws.given_summary(probabilities, [row], 1).error for row in rows]
        return over_horizons(question, lambda horizons: [errors[(T - 1) % len(rows)] for T in horizons])
    K, given = cutoff_of(question), _given_an_interval(question)
    assert K is not None  # weights that are not given are estimated

    def of_round(T: int) -> Any:
        return mean([laws.squared_distance(p, K, T - 1, p, p * 0 + 1, given) for p in probabilities])

    return over_horizons(question, lambda horizons: [of_round(T) for T in horizons])


def _of_intervals(question: Question, value: Callable[[Any, int], Any]) -> Any:
    K = _finite_cutoff(question)
    return answer(question, mean([value(p, K) for p in _probabilities(question)]))


@evaluates_functional(INTERVAL_MEAN)
def interval_mean(question: Question) -> Any:
    """(1/N) sum_n E[S_n], S_n the interval between participations, cut off at K, by definition."""
    return _of_intervals(question, lambda p, K: laws.interval_moments(p, K)[0])


@evaluates_functional(NEGATED_INTERVAL_MEAN)
def negated_interval_mean(question: Question) -> Any:
    """Minus the mean interval."""
    return -interval_mean(question)


@evaluates_functional(INTERVAL_VARIANCE)
def interval_variance(question: Question) -> Any:
    """(1/N) sum_n Var[S_n], by definition."""
    return _of_intervals(question, lambda p, K: laws.interval_moments(p, K)[1])


@evaluates_functional(NEGATED_INTERVAL_VARIANCE)
def negated_interval_variance(question: Question) -> Any:
    """Minus the variance of the interval."""
    return -interval_variance(question)


@evaluates_functional(LONG_RUN_BIAS)
def long_run_bias(question: Question) -> Any:
    """(1/N) sum_n (p_n E[S_n] - 1)^2."""
    return _of_intervals(question, laws.long_run_bias)
