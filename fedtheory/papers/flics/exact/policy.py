"""FLICS's policy: the laws of answers at given rates, and the participation in the long run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ....participation import GroupChain
from ....selection.rational import Number, best_participation
from ....selection.offline import offvar
from ....setting import Setting
from ....moments.evaluators import Unserved
from .selected import Counts, selection_of, settled, stationary_counts

CERTAIN = 1e-10
"""Variance of answers, relative to their number, that rounding leaves where all who are there are asked."""

LARGEST_GROUPS = 12
"""Largest number of groups whose subsets are tried."""


def number_of(exact: bool) -> Callable[[Any], Number]:
    """The type of the policy's numbers: ``Fraction`` if ``exact``, else ``float``."""
    return Fraction if exact else float


def answer_variance(answers: str, rate: Any, available: int) -> Any:
    """Compute the variance of the number of a group's answers, where ``answers`` is as in ``Selection``."""
    if answers == "independent":
        return rate * (1 - rate / available) if available else rate * 0
    part = rate - math.floor(rate)
    return part * (1 - part)


def answer_law(answers: str, rate: Any, available: int) -> list[Any]:
    """Return the probabilities P(0), P(1), ... of so many answers.

    >>> [str(chance) for chance in answer_law("independent", Fraction(1), 2)]
    ['1/4', '1/2', '1/4']
    >>> [str(chance) for chance in answer_law("drawn", Fraction(5, 4), 2)]
    ['0', '3/4', '1/4']
    """
    if answers == "independent":
        if rate == available:
            return [rate * 0] * available + [rate * 0 + 1]
        q = rate / available if available else rate
        return [math.comb(available, n) * q**n * (1 - q) ** (available - n) for n in range(available + 1)]
    whole = math.floor(rate)
    return [rate * 0] * whole + [1 - rate + whole, rate - whole]


def answer_range(answers: str, rate: Any, available: int) -> tuple[int, int]:
    """Return the fewest and the most answers."""
    if answers == "independent":
        return (available if rate == available else 0), (available if rate > 0 else 0)
    return math.floor(rate), math.ceil(rate)


def best(
    availability: Sequence[Sequence[int]], budget: Sequence[Any], weight: Sequence[Any], least: Any, exact: bool
) -> tuple[Any, ...]:
    """Return the best participation in hindsight, (groups,), that gives every group ``least``; in floats unless
    ``exact``.

    Raises:
        Unserved: there is none, or some group is in no round; or there are too many groups for Fractions.
    """
    if exact and len(weight) > LARGEST_GROUPS:
        raise Unserved(f"group_participation: the best of {len(weight)} groups is known in floats only")
    try:
        if exact:
            return best_participation(availability, budget, weight, Fraction(least))
        floats = [float(k) for k in budget], [float(p) for p in weight]
        return tuple(offvar(availability, *floats, float(least)).participation.tolist())
    except ValueError as error:
        raise Unserved(f"group_participation: {error}") from None


def long_term(setting: Setting, exact: bool) -> tuple[Any, ...]:
    """Return s*, (groups,): the participation to which the policy converges, the best of the rounds that repeat for
    ever.

    Where availability is random, it is the mean number of clients that are there: the server asks all of them.

    Raises:
        Unserved: they do not exist; or as ``best``.
    """
    if isinstance(setting.participation, GroupChain) and not setting.participation.deterministic:
        law = _all_asked(setting)
        return tuple(sum(p * there[j] for p, there in law) for j in range(len(selection_of(setting).group_weight)))
    end = settled(setting)
    return best(end.availability, end.budget, selection_of(setting).group_weight, 0, exact)


def answer_covariance(setting: Setting, exact: bool) -> tuple[tuple[Any, ...], ...]:
    """Return Sigma, (groups, groups): the covariance of the numbers of answers in a round of the long run.

    Raises:
        Unserved: availability or budget change for ever, and which answers vary together depends on the plan.
    """
    mean = long_term(setting, exact)
    if isinstance(setting.participation, GroupChain) and not setting.participation.deterministic:
        law, groups = _all_asked(setting), range(len(mean))
        return tuple(
            tuple(sum(p * (a[i] - mean[i]) * (a[j] - mean[j]) for p, a in law) for j in groups) for i in groups
        )
    end = settled(setting)
    if len(end.budget) > 1:
        raise Unserved(
            "selection_variance: in the long run availability or budget change for ever, and which answers then vary "
            "together depends on the plan; state it"
        )
    found = [
        answer_variance(selection_of(setting).answers, s, a) for s, a in zip(mean, end.availability[0], strict=True)
    ]
    variances = [v if exact or v > CERTAIN * s else v * 0 for v, s in zip(found, mean, strict=True)]
    return tuple(tuple(v if i == j else v * 0 for j in range(len(mean))) for i, v in enumerate(variances))


def _all_asked(setting: Setting) -> list[tuple[Fraction, Counts]]:
    """Return the law of how many clients of each group are there in a round, and so answer.

    Raises:
        Unserved: the process is not stationary and ergodic, or a budget does not always allow all who are there.
    """
    law = stationary_counts(setting)
    if not asks_everybody(setting):
        raise Unserved("budget: where availability is random, allowed is one for everybody who may be there")
    return law


def asks_everybody(setting: Setting) -> bool:
    """Whether the budget always allows everybody who may be there; then all answer, and planned counts are received."""
    process = setting.participation
    return isinstance(process, GroupChain) and max(map(sum, process.counts)) <= min(selection_of(setting).budget)
