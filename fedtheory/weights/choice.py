"""Choice of the cutoff, and the printed bound on the weight error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from ..arguments import listed
from ..numerals import rational
from .exact_moments import weight_moments
from .weight_arguments import check_count, check_cutoff, check_probabilities

RULE_OF_THUMB = 50
"""The cutoff of FedAU's experiments, chosen there without a search."""

ALL_CANDIDATES = 64
"""The most rounds for which `best_cutoff` tries every cutoff."""


def weight_error_bound(participation_probability: object, cutoff: float, rounds: int) -> float:
    """Compute the average over clients of (3 K + 2 K log T) / T + (1-p)^{2K}, natural logarithm.

    It bounds (1/NT) sum_t sum_n E[(p_n omega_t^n - 1)^2], which `weight_moments(...).average_error()` gives exactly.
    Without a cutoff it is infinite.

    Args:
        participation_probability: p in (0, 1]: a number, or one for each client.
        cutoff: K.
        rounds: T >= 2.

    Raises:
        ValueError: an argument outside its range.

    Source: FedAU, (B.6.9), the last line.

    >>> round(weight_error_bound(0.02, cutoff=50, rounds=10_000), 6)
    0.239723
    """
    cutoff, rounds = check_cutoff(cutoff), _check_horizon(rounds)
    p = check_probabilities(participation_probability, never="the theorem assumes p > 0")
    if cutoff == math.inf:
        return math.inf
    with np.errstate(divide="ignore"):
        bias = np.exp(2 * cutoff * np.log1p(-p))
    return float((3 * cutoff + 2 * cutoff * math.log(rounds)) / rounds + bias.mean())


def logarithmic_cutoff(participation_probability: Any, rounds: int) -> int:
    """K = ceil(log_c T) with c = 1 / (1 - min p)^2: the least K >= 1 with T (1 - min p)^{2K} <= 1.

    Decided in exact arithmetic, so that an exact power is not rounded up. A float stands for the decimal that it
    prints as (0.99 is 99/100), since here one unit in the last place decides. At p = 1, where c is infinite, it is 1.

    Args:
        participation_probability: in (0, 1]: float, int, str ("99/100"), Fraction, or a sequence of those.
        rounds: T >= 2.

    Raises:
        ValueError: an argument outside its range.

    Source: FedAU, Corollary 4.

    >>> logarithmic_cutoff(0.5, 4**10), logarithmic_cutoff(0.5, 4**10 + 1), logarithmic_cutoff([0.02, 0.9], 10_000)
    (10, 11, 228)
    """
    rounds = _check_horizon(rounds)
    single = isinstance(participation_probability, (str, Fraction)) or np.ndim(participation_probability) == 0
    probabilities = [participation_probability] if single else list(participation_probability)
    if not probabilities:
        raise ValueError("participation_probability is empty: allowed is one number for each client")
    absent = 1 - min(_printed(p) for p in probabilities)
    if absent == 0:
        return 1
    if absent.numerator == 1:  # only then can T (1-p)^{2K} be 1: T is an integer
        power, cutoff = absent.denominator**2, 1
        while power < rounds:
            power, cutoff = power * absent.denominator**2, cutoff + 1
        return cutoff
    return _ceil_of_quotient(rounds, absent)


def _printed(value: Any) -> Fraction:
    """The number that ``value`` prints as."""
    try:
        number = value if isinstance(value, Fraction) else rational(value if isinstance(value, str) else _repr(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"participation_probability = {value!r}: allowed is a number in (0, 1]") from None
    if not 0 < number <= 1:
        raise ValueError(f"participation_probability = {value!r}: allowed is (0, 1], since log to base 1 is undefined")
    return number


def _repr(value: Any) -> str:
    return repr(float(value))


def _ceil_of_quotient(rounds: int, absent: Fraction) -> int:
    """ceil(log T / (-2 log(1-p))), which is no integer; digits are added until the ceiling is certain."""
    digits = 30 + len(str(absent.denominator))  # log(1-p) has at most so many leading zeros
    while True:
        with localcontext() as context:
            context.prec = digits
            log_absent = Decimal(absent.numerator).ln() - Decimal(absent.denominator).ln()
            # Each logarithm is right to its last digit; their difference may have lost the leading ones.
            lost = Decimal(absent.denominator).ln() * Decimal(10) ** (2 - digits) / -log_absent
            quotient = Decimal(rounds).ln() / (-2 * log_absent)
            slack = quotient * (lost + Decimal(10) ** (2 - digits))
            low = (quotient - slack).to_integral_value("ROUND_CEILING")
            high = (quotient + slack).to_integral_value("ROUND_CEILING")
            if low == high:
                return int(low)
        digits *= 2


def best_cutoff(
    participation_probability: object, rounds: int, candidates: Sequence[float] | None = None
) -> tuple[float, float]:
    """Find the cutoff whose exact average weight error over T rounds is least, and that error.

    Args:
        participation_probability: p in (0, 1]: a number, or one for each client (the average over clients counts).
        rounds: T >= 2.
        candidates: cutoffs to compare. By default all from 1 to T-1 and none at all for T <= 64 (then the answer is
            the best of all cutoffs). For more rounds, 1 to 8, then steps of a fifth and ``math.inf``, then, until
            nothing changes, the eight cutoffs around the best at ever smaller steps; the error as a function of the
            cutoff need not have a single valley, so that this is the best of what was tried.

    Returns:
        The smallest of the best cutoffs, and its error. Cutoffs from T on act like none, and are reported as
        ``math.inf``.

    Raises:
        ValueError: an argument outside its range, or no candidate; p = 0, where the error is 1 whatever the cutoff.

    >>> best_cutoff(0.5, rounds=50)[0]
    3
    """
    p = check_probabilities(participation_probability, never="the error is 1 whatever the cutoff")
    rounds = _check_horizon(rounds)
    errors: dict[float, float] = {}

    def error(cutoff: float) -> float:
        if cutoff not in errors:
            errors[cutoff] = weight_moments(p, cutoff, rounds).average_error()
        return errors[cutoff]

    if candidates is not None:
        chosen = {c if c < rounds else math.inf for c in map(check_cutoff, listed("candidates", candidates))}
        if not chosen:
            raise ValueError("candidates is empty: allowed is at least one cutoff")
        best = min(sorted(chosen), key=error)
    elif rounds <= ALL_CANDIDATES:
        best = min([*range(1, rounds), math.inf], key=error)
    else:
        best = _refine(error, _ladder(rounds), rounds)
    return best, error(best)


def _ladder(rounds: int) -> list[float]:
    """1 to 8, then a fifth more each time, up to T-1, and none."""
    steps, k = [], 1
    while k < rounds:
        steps.append(k)
        k = max(k + 1, k * 6 // 5) if k >= 8 else k + 1
    return [*steps, math.inf]


def _refine(error, cutoffs: list[float], rounds: int) -> float:
    best = min(cutoffs, key=error)
    if best == math.inf:
        return best
    width = max(1, best // 8)
    while True:
        near = [best + i * width for i in range(-4, 5) if 1 <= best + i * width < rounds]
        better = min(near, key=error)
        if better == best and width == 1:
            return best
        best, width = better, max(1, width // 3) if better == best else width


def _check_horizon(rounds: int) -> int:
    if check_count("rounds", rounds, "an integer >= 2") < 2:
        raise ValueError(f"rounds = {rounds}: allowed is an integer >= 2")
    return int(rounds)
