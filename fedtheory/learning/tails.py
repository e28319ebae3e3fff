"""Tails of the binomial law: exactly in Fractions, and in logarithms for up to 10^12 trials and more."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from ..arguments import check_count
from ..rationals import exact_number

LARGEST_EXACT = 5000
"""The most trials for which tails are computed in Fractions."""

_CHUNK = 4096
_MOST_TERMS = 10**8


def _whole(above: Any) -> int:
    if not isinstance(above, Integral):
        raise ValueError(f"above = {above!r}: allowed is an integer")
    return int(above)


def binomial_tail(trials: int, probability: Any, above: int) -> Fraction:
    """Compute P[X > above] of X with ``trials`` independent trials, exactly.

    Raises:
        ValueError: a probability outside [0, 1], fewer than 0 trials, or more than ``LARGEST_EXACT``; ``log_tail``
            takes those.

    >>> binomial_tail(2, "1/4", above=1), binomial_tail(3, "1/2", above=3)
    (Fraction(1, 16), Fraction(0, 1))
    """
    trials, p = check_count("trials", trials, least=0), check_probability("probability", probability)
    if trials > LARGEST_EXACT:
        raise ValueError(f"trials = {trials}: allowed is at most {LARGEST_EXACT} in Fractions; log_tail takes more")
    a, b = p.numerator, p.denominator - p.numerator
    first = max(_whole(above) + 1, 0)
    total = sum(math.comb(trials, k) * a**k * b ** (trials - k) for k in range(first, trials + 1))
    return Fraction(total, p.denominator**trials)


def log_tail(trials: int, probability: Any, above: int) -> float:
    """Compute log P[X > above], by a sum of the law's terms from the largest on; -inf where the tail is empty.

    The first term is Loader's saddle-point form, whose relative error is that of a deviance, about 1e-15; the others
    follow from ratios of consecutive terms. Below the mean it is log(1 - P[X <= above]).

    Raises:
        ValueError: a probability outside [0, 1], or fewer than 0 trials.

    >>> round(math.exp(log_tail(2, 0.25, above=1)), 12), log_tail(3, 0.5, above=3)
    (0.0625, -inf)
    >>> round(log_tail(10**12, 0.25, above=25 * 10**10), 6)  # a little less than 1/2
    -0.693148
    """
    trials, p = check_count("trials", trials, least=0), check_probability("probability", probability)
    above = _whole(above)
    if above < 0:
        return 0.0
    if above >= trials or p == 0:
        return -math.inf
    if p == 1:
        return 0.0
    if above + 1 >= trials * p:
        return min(0.0, _summed(trials, p, above + 1, 1))
    below = _summed(trials, p, above, -1)
    return math.log(-math.expm1(below)) if below < 0 else -math.inf


def check_probability(name: str, value: Any) -> Fraction:
    """Return ``value`` as a Fraction in [0, 1].

    >>> check_probability("delta", 2)
    Traceback (most recent call last):
    ValueError: delta = 2: allowed is a number in [0, 1]
    """
    exact = exact_number(name, value)
    if not 0 <= exact <= 1:
        raise ValueError(f"{name} = {value}: allowed is a number in [0, 1]")
    return exact


def _summed(trials: int, p: Fraction, first: int, step: int) -> float:
    """log of the sum of the terms first, first + step, ..., which decrease."""
    odds = float(p / (1 - p))
    start, total, term = first, 1.0, 1.0
    while 0 <= start <= trials and abs(start - first) < _MOST_TERMS:
        left = trials - start if step > 0 else start
        k = start + step * np.arange(min(_CHUNK, left))
        ratios = (trials - k) / (k + 1) * odds if step > 0 else k / (trials - k + 1) / odds
        terms = term * np.cumprod(ratios)
        total += float(terms.sum())
        if len(terms) < _CHUNK or terms[-1] < 1e-18 * total:
            break
        start, term = start + step * _CHUNK, float(terms[-1])
    return log_term(trials, p, first) + math.log(total)


def log_term(trials: int, p: Fraction, k: int) -> float:
    """Compute log P[X = k] for 0 < p < 1, in Loader's form.

    >>> round(math.exp(log_term(4, Fraction(1, 2), 2)), 12)
    0.375
    """
    q = 1 - p
    if k == 0:
        return trials * math.log1p(-float(p))
    if k == trials:
        return trials * math.log(float(p))
    shape = _stirling(trials) - _stirling(k) - _stirling(trials - k)
    deviance = _deviance(k, trials * p) + _deviance(trials - k, trials * q)
    return shape - deviance + 0.5 * (math.log(trials) - math.log(2 * math.pi) - math.log(k) - math.log(trials - k))


def _stirling(n: int) -> float:
    """log n! - log(sqrt(2 pi n) (n/e)^n)."""
    if n < 16:
        return math.lgamma(n + 1) - 0.5 * math.log(2 * math.pi * n) - n * math.log(n) + n
    i = 1 / n
    return i * (1 / 12 - i**2 * (1 / 360 - i**2 * (1 / 1260 - i**2 * (1 / 1680 - i**2 / 1188))))


def _deviance(k: int, mean: Fraction) -> float:
    """k log(k/mean) + mean - k, without cancellation where k is near the mean."""
    off = (k - mean) / mean  # exact
    x = float(off)
    if abs(x) > 0.1:
        return float(mean) * ((1 + x) * math.log1p(x) - x)
    total, power = 0.0, x * x
    for j in range(2, 60):  # (1 + x) log(1 + x) - x = sum of (-x)^j/(j (j - 1))
        term = power / (j * (j - 1)) * (1 if j % 2 == 0 else -1)
        total += term
        if abs(term) < 1e-18 * abs(total):
            break
        power *= x
    return float(mean) * total
