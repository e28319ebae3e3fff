r"""Power of comparisons: rounds or replicas that tell a difference from chance, and differences that they tell.

Of two means of n numbers each with standard deviation sigma, the difference has the standard error sigma sqrt(2/n).
Student's test at a level finds a true difference x with the probability P(|T| > t), T noncentral with 2 (n - 1) degrees
of freedom and noncentrality x / (sigma sqrt(2/n)). Paired numbers, as runs of two algorithms with the same seeds are,
have their differences' standard deviation, sqrt(1/n) and n - 1.
"""

from __future__ import annotations

import math

from scipy.stats import nct, norm
from scipy.stats import t as student

MOST = 10**9


def power(difference: float, deviation: float, number: int, *, paired: bool = False, level: float = 0.05) -> float:
    """Return the probability with which a test at the ``level`` tells a true difference of two means from 0.

    Args:
        difference: of the means.
        deviation: standard deviation of a number; of the differences of two, if they are ``paired``.
        number: of each mean, at least 2.

    Raises:
        ValueError: an argument outside its range.

    >>> round(power(1.0, 1.0, 17), 2)  # 17 a group find one standard deviation in 8 of 10 cases
    0.81
    """
    _check(difference, deviation, level)
    if number < 2:
        raise ValueError(f"number = {number}: allowed is an integer >= 2")
    freedom = (number - 1) * (1 if paired else 2)
    away = abs(difference) / (deviation * math.sqrt((1 if paired else 2) / number))
    edge = student.isf(level / 2, freedom)
    above, below = nct.sf(edge, freedom, away), nct.cdf(-edge, freedom, away)
    if freedom > 10_000 or not math.isfinite(above):  # where scipy's series fails, the normal law is near
        return float(norm.sf(edge - away) + norm.cdf(-edge - away))
    return float(above + (below if math.isfinite(below) else 0.0))


def replicas_to_detect(
    difference: float, deviation: float, *, paired: bool = False, level: float = 0.05, chance: float = 0.8
) -> int:
    """Return the least number of replicas, each, with which a difference is found with this ``chance``.

    Raises:
        ValueError: an argument outside its range; a difference that a billion do not tell.

    >>> replicas_to_detect(1.0, 1.0), replicas_to_detect(1.0, 1.0, paired=True)
    (17, 10)
    """
    _check(difference, deviation, level)
    if difference == 0 or not 0 < chance < 1:
        raise ValueError(f"difference = {difference}, chance = {chance}: allowed are not 0, and a number in (0, 1)")
    few, many = 1, 2
    while power(difference, deviation, many, paired=paired, level=level) < chance:
        few, many = many, min(2 * many, MOST)
        if few == MOST:
            raise ValueError(f"difference = {difference:g}: a billion do not tell it; allowed is a larger one")
    while many - few > 1:
        middle = (few + many) // 2
        enough = power(difference, deviation, middle, paired=paired, level=level) >= chance
        few, many = (few, middle) if enough else (middle, many)
    return many


def detectable_difference(
    deviation: float, number: int, *, paired: bool = False, level: float = 0.05, chance: float = 0.8
) -> float:
    """Return the least difference of two means that so many numbers each tell with this ``chance``.

    Raises:
        ValueError: an argument outside its range.

    >>> round(detectable_difference(1.0, 17), 2)
    0.99
    """
    if not 0 < chance < 1:
        raise ValueError(f"chance = {chance}: allowed is a number in (0, 1)")
    low, high = 0.0, deviation
    while power(high, deviation, number, paired=paired, level=level) < chance:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        found = power(middle, deviation, number, paired=paired, level=level) >= chance
        low, high = (low, middle) if found else (middle, high)
    return high


def least_excess(half_width: float, number: int, *, confidence: float = 0.99, chance: float = 0.8) -> float:
    """Return by how much a mean has to lie above a number, for Student's interval of it to lie above with this chance.

    Args:
        half_width: of the interval, in the units of the mean; another time it is taken to be as wide.
        number: of samples, at least 2.
        confidence: of the interval.

    Raises:
        ValueError: an argument outside its range.

    >>> round(least_excess(1.0, 8), 3)  # of 8 samples whose mean is known to +-1
    1.29
    """
    if not (0 <= half_width < math.inf and number >= 2 and 0 < confidence < 1 and 0 < chance < 1):
        raise ValueError(
            f"half_width = {half_width}, number = {number}, confidence = {confidence}, chance = {chance}: allowed are "
            "a finite number >= 0, an integer >= 2, and two numbers in (0, 1)"
        )
    edge = float(student.isf((1 - confidence) / 2, number - 1))
    low, high = 0.0, 1.0
    while nct.sf(edge, number - 1, high) < chance:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if nct.sf(edge, number - 1, middle) >= chance else (middle, high)
    return half_width / edge * high


def rounds_to_detect(
    difference: float, rate: float, *, inflation: float = 1.0, level: float = 0.05, chance: float = 0.8
) -> int:
    """Return how many rounds tell a client's rate from another, ``difference`` away, with this ``chance``.

    Args:
        rate: the client's, in (0, 1).
        inflation: how many times the variance is that of independent rounds: `Rates.inflation`.

    Raises:
        ValueError: an argument outside its range.

    >>> rounds_to_detect(0.1, 0.5), rounds_to_detect(0.1, 0.5, inflation=7)
    (197, 1374)
    """
    if not (0 < rate < 1 and inflation > 0 and 0 < chance < 1) or difference == 0:
        raise ValueError(
            f"rate = {rate}, difference = {difference}, inflation = {inflation}, chance = {chance}: allowed are a rate "
            "and a chance in (0, 1), a positive inflation, and a difference that is not 0"
        )
    _check(difference, 1.0, level)
    spread = math.sqrt(rate * (1 - rate) * inflation)
    return math.ceil(((norm.isf(level / 2) + norm.isf(1 - chance)) * spread / difference) ** 2)


def _check(difference: float, deviation: float, level: float) -> None:
    if not (math.isfinite(difference) and 0 < deviation < math.inf and 0 < level < 1):
        raise ValueError(
            f"difference = {difference}, deviation = {deviation}, level = {level}: allowed are a finite number, a "
            "positive one, and one in (0, 1)"
        )
