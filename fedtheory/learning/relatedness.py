"""Whether distributions are (alpha, beta)-positively related, and noise conditions: the smallest constants.

Assumption 2 of SAFARI: |e_P(h) - e_Q(h)| <= alpha e_Q(h)^beta for all h, e the excess risks; 0^0 = 1, so that beta = 0
says |e_P - e_Q| <= alpha. Assumption 1: P(h != h*) <= a e(h)^b, 0 <= b <= 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..rationals import exact_array, exact_number


@dataclass(frozen=True)
class Smallest:
    """The smallest constant, and the number of the hypothesis at which it is needed.

    Where no constant is enough it is infinite, and the hypothesis is one that violates the condition.
    """

    value: Fraction | float
    at: int


def check_exponent(name: str, value: Any, upper: float = math.inf) -> Fraction:
    """Return ``value`` as a Fraction in [0, upper].

    >>> check_exponent("beta", -1)
    Traceback (most recent call last):
    ValueError: beta = -1: allowed is a number >= 0
    """
    exact = exact_number(name, value)
    if not 0 <= exact <= upper:
        allowed = "a number >= 0" if upper == math.inf else f"a number in [0, {upper:g}]"
        raise ValueError(f"{name} = {value}: allowed is {allowed}")
    return exact


def _excesses(name: str, values: object) -> np.ndarray:
    exact = exact_array(name, values)
    if min(exact.flat) < 0:
        raise ValueError(f"{name} = {min(exact.flat)}: allowed are excess risks >= 0")
    return exact


def smallest_alpha(of_p: object, of_q: object, beta: Any) -> Smallest:
    """The smallest alpha with |e_P(h) - e_Q(h)| <= alpha e_Q(h)^beta for every h of a finite class.

    Args:
        of_p, of_q: (H,), the excess risks of the hypotheses under P and under Q.
        beta: >= 0. For 0 and whole numbers the answer is a Fraction.

    Raises:
        ValueError: an empty class, a negative excess risk, beta < 0.

    Source: SAFARI, Assumption 2.

    >>> smallest_alpha(["1/2", 0], ["1/4", 0], 1)
    Smallest(value=Fraction(1, 1), at=0)
    >>> smallest_alpha(["1/2", 0], [0, 0], "1/2"), smallest_alpha(["1/2", 0], [0, 0], 0).value
    (Smallest(value=inf, at=0), Fraction(1, 2))
    """
    b = check_exponent("beta", beta)
    p, q = _excesses("of_p", of_p), _excesses("of_q", of_q)
    if p.shape != q.shape or p.ndim != 1:
        raise ValueError(f"of_p, of_q have shapes {p.shape}, {q.shape}: allowed is one number for each hypothesis")
    return _largest([_needed(abs(x - y), y, b) for x, y in zip(p, q, strict=True)])


def smallest_noise_constant(excess: object, disagreement: object, exponent: Any) -> Smallest:
    """The smallest a with P(h != h*) <= a e(h)^exponent for every h of a finite class; exponent in [0, 1].

    Source: SAFARI, Assumption 1.

    >>> smallest_noise_constant([0, "1/4"], [0, "1/2"], 1).value
    Fraction(2, 1)
    """
    b = check_exponent("exponent", exponent, 1)
    e, d = _excesses("excess", excess), _excesses("disagreement", disagreement)
    return _largest([_needed(x, y, b) for x, y in zip(d, e, strict=True)])


def _needed(gap: Fraction, base: Fraction, exponent: Fraction) -> Fraction | float:
    """The least c with gap <= c base^exponent."""
    if gap == 0:
        return Fraction(0)
    if exponent.denominator == 1:
        power = base**exponent.numerator  # 0^0 = 1
        return gap / power if power else math.inf
    if base == 0:
        return math.inf
    return math.exp(math.log(gap) - float(exponent) * math.log(base))


def _largest(values: list[Fraction | float]) -> Smallest:
    at = max(range(len(values)), key=lambda i: values[i])
    return Smallest(values[at], at)


def related(of_p: object, of_q: object, alpha: Any, beta: Any) -> bool:
    """Whether Assumption 2 holds with these constants, decided in Fractions: with beta = a/b, both sides to the b.

    >>> related(["1/2"], ["1/4"], "1/2", "1/2"), related(["1/2"], ["1/4"], "499/1000", "1/2")
    (True, False)
    """
    b, a = check_exponent("beta", beta), check_exponent("alpha", alpha)
    power, root = b.numerator, b.denominator
    pairs = zip(_excesses("of_p", of_p), _excesses("of_q", of_q), strict=True)
    return all(abs(x - y) ** root <= a**root * y**power for x, y in pairs)


def smallest_alpha_on_path(of_p: np.ndarray, of_q: np.ndarray, beta: float) -> np.ndarray:
    """The smallest alpha for hypotheses whose excess risks move along straight lines from corner to corner.

    Thresholds under piecewise constant densities do: between two breakpoints both risks are linear. On a piece, with
    gap g = e_P - e_Q and base q = e_Q, |g|/q^beta has its largest value at an end, or where g' q = beta g q'.

    Args:
        of_p, of_q: (..., corners), floats. beta: >= 0.

    Returns:
        (...), the smallest alphas; infinite where none is enough.

    Raises:
        ValueError: fewer than one corner, a negative excess risk, beta < 0.

    >>> float(smallest_alpha_on_path(np.array([0.5, 0, 0.5]), np.array([0.25, 0, 0]), 1.0))
    inf
    >>> float(smallest_alpha_on_path(np.array([0.5, 0, 0.5]), np.array([0.25, 0, 0.25]), 1.0))
    1.0
    """
    if not beta >= 0:
        raise ValueError(f"beta = {beta}: allowed is a number >= 0")
    p, q = np.asarray(of_p, dtype=float), np.asarray(of_q, dtype=float)
    if p.shape != q.shape or p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(f"of_p, of_q have shapes {p.shape}, {q.shape}: allowed is the same, with at least one corner")
    if min(p.min(), q.min()) < 0:
        raise ValueError(f"excess risk = {min(p.min(), q.min())}: allowed is a number >= 0")
    gap = p - q
    most = _ratios(gap, q, beta).max(-1)
    g0, q0 = gap[..., :-1], q[..., :-1]
    dg, dq = gap[..., 1:] - g0, q[..., 1:] - q0
    # a zero of the base at an end of a piece: the limit along the piece
    for g_end, q_end in ((g0, q0), (gap[..., 1:], q[..., 1:])):
        most = np.maximum(most, _limits(g_end, q_end, dg, dq, beta).max(-1, initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        s = (beta * g0 * dq - dg * q0) / (dg * dq * (1 - beta))
        inside = (s > 0) & (s < 1)
        s = np.where(inside, s, 0.0)
    inner = np.where(inside, _ratios(g0 + s * dg, q0 + s * dq, beta), 0.0)
    return np.maximum(most, inner.max(-1, initial=0.0))[()]


def _ratios(gap: np.ndarray, base: np.ndarray, beta: float) -> np.ndarray:
    """|gap|/base^beta; 0/0 is 0 here, its limits are taken apart."""
    if beta == 0:
        return np.abs(gap)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(gap == 0, 0.0, np.abs(gap) / np.maximum(base, 0.0) ** beta)


def _limits(gap: np.ndarray, base: np.ndarray, dg: np.ndarray, dq: np.ndarray, beta: float) -> np.ndarray:
    """The limit of |gap|/base^beta towards an end of a piece where both are 0: |dg| s/(|dq| s)^beta as s -> 0."""
    if beta == 0:
        return np.zeros_like(gap)
    both = (gap == 0) & (base == 0) & (dg != 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        steep = np.abs(dg) / np.abs(dq)
    limit = steep if beta == 1 else np.where(dq == 0, np.inf, np.inf if beta > 1 else 0.0)
    return np.where(both, limit, 0.0)
