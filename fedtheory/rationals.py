"""Exact numbers: Fractions from int, float, Fraction or str ("1/100"); a float is the dyadic number that it is."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np


def exact_number(name: str, value: Any) -> Fraction:
    """The value of ``name`` as a Fraction.

    Raises:
        ValueError: it is no finite number.

    >>> exact_number("local_lr", "1/100"), exact_number("start", 0.5)
    (Fraction(1, 100), Fraction(1, 2))
    """
    if type(value) is Fraction:
        return value
    try:
        return Fraction(value.item() if isinstance(value, np.generic) else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ValueError(f"{name} = {value!r}: allowed is a finite number") from None


def exact_array(name: str, values: object) -> np.ndarray:
    """The values of ``name`` as an array of Fractions (dtype object).

    Raises:
        ValueError: there are none, or one is no finite number.
    """
    array = np.asarray(values, dtype=object)
    if array.size == 0:
        raise ValueError(f"{name} is empty")
    exact = np.empty(array.shape, dtype=object)
    exact.ravel()[:] = [exact_number(name, value) for value in array.flat]
    return exact


def checked_seed(seed: Any, least: int = 0) -> int:
    """A seed as an int: rounding one would give another seed's draws.

    Raises:
        ValueError: it is no integer from ``least`` to 2^63 - 1.

    >>> checked_seed(np.int64(3))
    3
    >>> checked_seed(1.7)
    Traceback (most recent call last):
    ValueError: seed = 1.7: allowed is an integer from 0 to 2^63 - 1
    """
    lowest = {-(2**63): "-2^63"}.get(least, least)
    try:
        number = operator.index(seed)
    except TypeError:
        number = least - 1
    if not least <= number < 2**63:
        raise ValueError(f"seed = {seed!r}: allowed is an integer from {lowest} to 2^63 - 1")
    return number
