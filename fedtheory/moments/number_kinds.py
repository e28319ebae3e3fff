"""Arithmetic that floats, Fractions and balls share."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb

from ..claims.balls import Ball, ball, interval
from .evaluators import BALL, EXACT, FLOAT

CONVERT: dict[str, Callable[[Any], Any]] = {FLOAT: float, EXACT: Fraction, BALL: ball}
"""Conversions of a Fraction to a number of each kind."""

INFINITE: dict[str, Any] = {FLOAT: math.inf, EXACT: math.inf, BALL: arb("inf")}


def smaller(one: Any, other: Any) -> Any:
    """Return the smaller of two numbers of one kind."""
    return one.min(other) if isinstance(one, arb) else min(one, other)


def larger(one: Any, other: Any) -> Any:
    """Return the larger of two numbers of one kind; of a ``Ball`` and a Fraction a ``Ball``."""
    if isinstance(one, Ball) or isinstance(other, Ball):
        return Ball(ball(one).max(ball(other)))
    return one.max(other) if isinstance(one, arb) else max(one, other)


def power(base: Any, exponent: int) -> Any:
    """Return a power of a number >= 0.

    A ball that reaches 0 has no logarithm, by which balls take powers: its power is between 0 and that of its upper
    end.
    """
    if isinstance(base, arb) and not base > 0 and exponent > 0:
        return interval(Fraction(0), base.abs_upper() ** exponent)
    try:
        return base**exponent
    except OverflowError:
        return math.inf


def geometric(base: Any, number: int) -> Any:
    """Compute 1 + base + ... + base^(number - 1), for base >= 0."""
    return base * 0 + number if base == 1 else (1 - power(base, number)) / (1 - base)


def root(value: Any) -> Any:
    """Return the square root; of a Fraction whose root is not rational, and of a ball, a ball."""
    if isinstance(value, arb):
        return value.sqrt()
    if not isinstance(value, Fraction):
        return math.sqrt(value)
    above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
    exact = above**2 == value.numerator and below**2 == value.denominator
    return Fraction(above, below) if exact else ball(value).sqrt()
