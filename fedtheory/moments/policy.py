"""FLICS's policy: how rates become answers, and where participation goes in the long run."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ..selection.exact import best_participation
from ..selection.offline import offvar
from ..setting import Setting
from .evaluators import FLOAT, Unserved
from .selected import selection_of, settled

LARGEST_GROUPS = 12
"""Groups whose subsets are tried."""


def answer_variance(answers: str, rate: Any, available: int) -> Any:
    """Of the number of a group's answers, where ``answers`` is as in ``Selection``."""
    if answers == "independent":
        return rate * (1 - rate / available) if available else rate * 0
    part = rate - math.floor(rate)
    return part * (1 - part)


def answer_law(answers: str, rate: Any, available: int) -> list[Any]:
    """P(0), P(1), ... answers.

    >>> [str(chance) for chance in answer_law("independent", Fraction(1), 2)]
    ['1/4', '1/2', '1/4']
    >>> [str(chance) for chance in answer_law("drawn", Fraction(5, 4), 2)]
    ['0', '3/4', '1/4']
    """
    if answers == "independent":
        q = rate / available if available else rate
        return [math.comb(available, n) * q**n * (1 - q) ** (available - n) for n in range(available + 1)]
    whole = math.floor(rate)
    return [rate * 0] * whole + [1 - rate + whole, rate - whole]


def answer_range(answers: str, rate: Any, available: int) -> tuple[int, int]:
    """The fewest and the most answers."""
    if answers == "independent":
        return (available if rate == available else 0), (available if rate > 0 else 0)
    return math.floor(rate), math.ceil(rate)


def long_term(setting: Setting, numbers: str) -> tuple[Any, ...]:
    """(groups,), s*: the participation to which the policy converges, the best of the rounds that repeat for ever.

    Raises:
        Unserved: they do not exist, or some group is in none of them; or there are too many groups for Fractions.
    """
    end, weight = settled(setting), selection_of(setting).group_weight
    try:
        if numbers == FLOAT:
            found = offvar(end.availability, [float(k) for k in end.budget], [float(p) for p in weight])
            return tuple(found.participation.tolist())
        if len(weight) > LARGEST_GROUPS:
            raise Unserved(f"group_participation: of {len(weight)} groups it is known in floats only")
        return best_participation(end.availability, end.budget, weight, Fraction(0))
    except Unserved:
        raise
    except ValueError as error:
        raise Unserved(f"group_participation: {error}") from None
