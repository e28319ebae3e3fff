"""FLICS's policy along recorded availability beside the best in hindsight, and how often answers mislead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ....selection.rational import Number, proxy, var_rates
from ....selection.online import online
from ....moments.evaluators import FLOAT, Question, Unserved
from .policy import LARGEST_GROUPS, answer_law, answer_variance, best, long_term, number_of
from .selected import (
    CORRELATION,
    FORGOTTEN,
    MATRIX,
    PLANNED,
    RECEIVED,
    UPDATES,
    horizons,
    read,
    selection_of,
    settled,
    states_of,
)

SPREAD, IN_COROLLARY, IN_PROOF, IN_OBJECTIVE = "sigma_T", "of Corollary 1.1", "of the proof", "the policy's objective"
"""Readings of sigma_T in Theorem 2."""

LARGEST_ANSWERS = 10**4
"""Largest product of clients and rounds whose answers are told apart in Fractions."""


@dataclass(frozen=True)
class PolicyTrace:
    """The policy with planned counts along known availability.

    Attributes:
        weight: (groups,), p. availability: (T, groups). budget: (T,).
        estimates: (T, groups), s^(t).
        used: (T,), how many clients are asked for.
        exact: whether all are Fractions; else estimates and used are arrays of floats.
    """

    weight: tuple
    availability: Sequence
    budget: Sequence
    estimates: Sequence | np.ndarray
    used: Sequence | np.ndarray
    exact: bool

    def best(self, rounds: int) -> Any:
        """sum_j p_j^2 / s_j of the best participation in hindsight over the first rounds.

        Raises:
            Unserved: some group is in none of them.
        """
        found = best(self.availability[:rounds], self.budget[:rounds], self.weight, 0, self.exact)
        return proxy(found, self.weight)

    def gap(self, rounds: int) -> Any:
        """Compute the gap between the policy's objective and the best one."""
        return proxy(self.estimates[rounds - 1], self.weight) - self.best(rounds)

    def price_drift(self, rounds: int) -> Any:
        """(1/T) sum_t u(t) (max_j D_j(t) - min_j D_j(t)) with D = W(T) - W(t), W_j = (p_j / s^_j)^2; infinite where a
        group has nothing in the first round."""
        if any(e == 0 for e in self.estimates[0]):
            return math.inf
        if not self.exact:
            prices = (np.array(self.weight) / self.estimates[:rounds]) ** 2
            moves = prices[-1] - prices
            return float((self.used[:rounds] * (moves.max(1) - moves.min(1))).sum() / rounds)
        prices = [[(p / s) ** 2 for p, s in zip(self.weight, row, strict=True)] for row in self.estimates[:rounds]]
        moves = ([last - now for last, now in zip(prices[-1], price, strict=True)] for price in prices)
        return sum(u * (max(d) - min(d)) for u, d in zip(self.used, moves, strict=False)) / rounds


def trace_of(question: Question) -> PolicyTrace:
    """Follow the policy over the most of the question's rounds.

    Raises:
        Unserved: counts or updates are not those of display (6), or availability is random.
    """
    _check_planned(question)
    return question.once(_traced)


def _check_planned(question: Question) -> None:
    selection = selection_of(read(question.setting, question.reading))
    if (selection.counts, selection.update) != (PLANNED, UPDATES[FORGOTTEN]):
        raise Unserved(
            f"counts = {selection.counts!r}, update = {selection.update!r}: Theorem 2 speaks of planned "
            "counts and of their mean over the rounds"
        )


def _traced(question: Question) -> PolicyTrace:
    setting, rounds, exact = question.setting, max(horizons(question)), question.numbers != FLOAT
    selection = selection_of(setting)
    budget = [selection.exact_budget(t) for t in range(rounds)]
    states = [states_of(setting, t, exact=True) for t in range(rounds)]
    if any(len(there) > 1 for there in states):
        raise Unserved(
            "participation: Theorem 2 speaks of one trace of availability; allowed are deterministic processes"
        )
    availability = [there[0][1] for there in states]
    if not exact:
        floats, budgets = tuple(map(float, selection.group_weight)), list(map(float, budget))
        run = online(availability, budgets, floats)
        return PolicyTrace(floats, availability, budgets, run.estimate(), run.rates.sum(axis=1), exact)
    weight = selection.group_weight
    sums: list[Number] = [Fraction(0)] * len(weight)
    used, estimates = [], []
    for t, (a, k) in enumerate(zip(availability, budget, strict=True), start=1):
        rates = var_rates(sums, a, k, weight)
        sums = [s + r for s, r in zip(sums, rates, strict=True)]
        used.append(sum(rates))
        estimates.append(tuple(s / t for s in sums))
    return PolicyTrace(weight, availability, budget, estimates, used, exact)


def limit(question: Question, least: Any) -> Any:
    """Return |lim (sigma_T - sigma_T^Off)|.

    The policy's s^(t) goes to s*, and OffVar's value to that of the rounds that repeat for ever.

    Raises:
        Unserved: as ``long_term`` and ``trace_of``; or sigma_T is Corollary 1.1's and availability changes for ever.
    """
    _check_planned(question)
    setting, selection = question.setting, selection_of(question.setting)
    # In floats a difference that is 0 would not be.
    exact = question.numbers != FLOAT or len(selection.group_weight) <= LARGEST_GROUPS
    end, s = settled(setting), long_term(setting, exact)
    weight = tuple(map(number_of(exact), selection.group_weight))
    spread = question.reading.get(SPREAD, IN_COROLLARY)
    off = proxy(best(end.availability, end.budget, weight, least, exact), weight)
    if spread == IN_OBJECTIVE:
        return abs(proxy(s, weight) - off)
    first = trace_of(replace(question, rounds=1)).estimates[0]
    if any(e == 0 for e in first):  # 1/s^_j(1), and so the sum over t, is infinite
        return math.inf
    if spread == IN_PROOF:
        return abs(proxy(s, weight, power=1) - off)
    if len(end.budget) > 1:
        raise Unserved("selection_variance: availability or budget change for ever; read sigma_T as the proof has it")
    answers, there = selection.answers, end.availability[0]
    variances = (answer_variance(answers, rate, a) for rate, a in zip(s, there, strict=True))
    if question.reading.get(MATRIX) == CORRELATION:
        variances = (v and 1 for v in variances)
    return abs(sum((p / rate) ** 2 * v for p, rate, v in zip(weight, s, variances, strict=True)) - off)


def answers_of(question: Question) -> tuple[int, Fraction]:
    """Return the number of one group's clients, and the probability with which each of them answers in every round.

    Raises:
        Unserved: there are several groups, or rounds differ, or s^ does not count answers.
    """
    setting = read(question.setting, question.reading)
    selection = selection_of(setting)
    one = len(selection.group_weight) == 1 and selection.answers == "independent"
    counting = one and selection.counts == RECEIVED and selection.update == UPDATES[FORGOTTEN]
    end = settled(setting) if counting else None
    if end is None or end.beginning > 0 or not len(set(end.availability)) == len(set(end.budget)) == 1:
        raise Unserved(
            "response_probability: the statement speaks of one group whose clients answer independently, "
            "with the same probability in every round, and of their mean number: allowed are one group, "
            'one budget, constant availability, counts="received" and update="mean"'
        )
    clients = end.availability[0][0]
    if clients == 0:
        raise Unserved("group_clients: nobody is there")
    return clients, min(end.budget[0] / clients, Fraction(1))


def ratio_failure(probability: Fraction, answers: int, error: Fraction, numbers: str) -> Any:
    """Compute P(s/s^ is not in [1 - error, 1 + error]) where each of so many answers comes with this probability.

    s/0 counts as outside.

    Raises:
        Unserved: the answers are too many for Fractions.
    """
    mean = answers * probability
    low = max(1, math.ceil(mean / (1 + error)))
    high = answers if error >= 1 else min(answers, math.floor(mean / (1 - error)))
    if numbers == FLOAT:
        from scipy.stats import binom  # lazily: it takes half as long to import as torch

        q = float(probability)
        return float(binom.cdf(low - 1, answers, q) + binom.sf(high, answers, q)) if high >= low else 1.0
    if answers > LARGEST_ANSWERS:
        raise Unserved(f"rounds: {answers} answers; in Fractions allowed are {LARGEST_ANSWERS}")
    law = answer_law("independent", mean, answers) if high >= low else []
    return 1 - sum(law[low : high + 1], Fraction(0))
