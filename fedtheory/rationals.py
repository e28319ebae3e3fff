"""Exact numbers: Fractions from int, float, Fraction or str ("1/100"); a float is the dyadic number that it is."""

from __future__ import annotations

import math
import operator
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from .numerals import ALLOWED, EXPONENT, rational


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
        return rational(value) if isinstance(value, str) else Fraction(_plain(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        if isinstance(value, str) and len(value) > 80:
            value = value[:77] + "..."
        numeral = f" (in text {ALLOWED})" if isinstance(value, str) else ""
        raise ValueError(f"{name} = {value!r}: allowed is a finite number{numeral}") from None


def nearest_float(number: Any) -> float:
    """Return the float that is nearest to a number; an infinite one beyond the largest.

    >>> nearest_float(Fraction(1, 4)), nearest_float(-Fraction(10) ** 400)
    (0.25, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _plain(value: Any) -> Any:
    """Not numpy's; and decimals whose exponent has a limit, as that of texts has."""
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > EXPONENT:
        raise ValueError
    return value.item() if isinstance(value, np.generic) else value


SHARED = 2**12
"""The most numbers that are remembered, so that equal ones are one object: there may be one for each client."""


def converter(name: str) -> Callable[[Any], Fraction]:
    """``exact_number`` for many values of ``name``: equal ones give the same object.

    >>> exact = converter("probabilities")
    >>> exact(0.5) is exact(0.5)
    True
    """
    known: dict[object, Fraction] = {}

    def exact(value: Any) -> Fraction:
        if type(value) not in (float, int, str):
            return exact_number(name, value)
        key = type(value), value
        found = known.get(key)
        if found is None:
            found = exact_number(name, value)
            if len(known) < SHARED:
                known[key] = found
        return found

    return exact


def of_each(function: Callable[..., Fraction], *columns: Sequence[Fraction]) -> Iterator[Fraction]:
    """Yield ``function`` of each row of exact numbers: of equal rows once, with the same object.

    >>> list(of_each(lambda p, q: p * q, [Fraction(1, 2)] * 2, [Fraction(1, 3)] * 2))
    [Fraction(1, 6), Fraction(1, 6)]
    """
    known: dict[object, Fraction] = {}
    for row in zip(*columns, strict=True):
        key = tuple(each.as_integer_ratio() for each in row)
        found = known.get(key)
        if found is None:
            found = function(*row)
            if len(known) < SHARED:
                known[key] = found
        yield found


def exact_array(name: str, values: object) -> np.ndarray:
    """The values of ``name`` as an array of Fractions (dtype object).

    Raises:
        ValueError: there are none, or one is no finite number.
    """
    plain = isinstance(values, np.ndarray) and values.dtype.kind == "f"
    array = values if plain else np.asarray(values, dtype=object)
    assert isinstance(array, np.ndarray)
    if array.size == 0:
        raise ValueError(f"{name} is empty: allowed is at least one number")
    flat, exact = np.empty(array.size, dtype=object), converter(name)
    rows = array.ravel()
    for begin in range(0, array.size, SHARED):
        flat[begin : begin + SHARED] = [exact(value) for value in rows[begin : begin + SHARED].tolist()]
    return flat.reshape(array.shape)


def checked_count(name: str, value: Any, least: int = 1, allowed: str = "") -> int:
    """A count as an int; a float may be a whole number.

    Args:
        allowed: what is allowed, in words, if it is not just such integers.

    Raises:
        ValueError: it is no integer from ``least`` to 2^63 - 1, such as text, or infinity.

    >>> checked_count("rounds", 10.0), checked_count("seed", 0, 0)
    (10, 0)
    >>> checked_count("rounds", "ten")
    Traceback (most recent call last):
    ValueError: rounds = 'ten': allowed is an integer >= 1
    >>> checked_count("rounds", 10**30)
    Traceback (most recent call last):
    ValueError: rounds = 1000000000000000000000000000000: allowed is an integer >= 1, below 2^63
    """
    whole = value.item() if isinstance(value, np.generic) else value
    if isinstance(whole, float) and whole.is_integer():
        whole = int(whole)
    fine = isinstance(whole, Integral) and not isinstance(whole, bool)
    if not fine or not least <= whole < 2**63:
        large, long = fine and whole >= 2**63, fine and abs(whole) >= 2**100
        shown = f"{'-' * (whole < 0)}2^{int(whole).bit_length() - 1} or more" if long else reprlib.repr(value)
        raise ValueError(f"{name} = {shown}: allowed is {allowed or f'an integer >= {least}'}{', below 2^63' * large}")
    return int(whole)


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


# Numbers that lie where they are allowed ------------------------------------------------------------------------------


Number = float | str | Fraction


def at_least_zero(name: str, value: Number) -> Fraction:
    """Return ``value``; raise ``ValueError`` unless it is a finite number >= 0."""
    exact = exact_number(name, value)
    if not 0 <= exact <= sys.float_info.max:
        raise ValueError(f"{name} = {value}: allowed is a finite number >= 0")
    return exact


def positive(name: str, value: Number) -> Fraction:
    """Return ``value``; raise ``ValueError`` unless it is a finite number > 0."""
    exact = exact_number(name, value)
    if not 0 < exact <= sys.float_info.max:
        raise ValueError(f"{name} = {value}: allowed is a finite number > 0")
    return exact


def below_one(name: str, value: Number) -> Fraction:
    """Return ``value``; raise ``ValueError`` unless it is in [0, 1)."""
    exact = exact_number(name, value)
    if not 0 <= exact < 1:
        raise ValueError(f"{name} = {value}: allowed is [0, 1)")
    return exact


def each(
    name: str, values: Sequence[Number], check: Callable[[str, Number], Fraction] = positive
) -> tuple[Fraction, ...]:
    """Return the ``values``, each of them checked; raise ``ValueError`` if there is none."""
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
        raise ValueError(f"{name} = {values!r}: allowed is a list of numbers")
    return tuple(check(f"{name}[{i}]", value) for i, value in enumerate(values))


def not_several(name: str, value: object) -> None:
    """Raise ``ValueError`` where ``value`` is a list or another collection of numbers, and not one number.

    >>> not_several("local_steps", [1, 2])
    Traceback (most recent call last):
    ValueError: local_steps = [1, 2]: allowed is one integer >= 1
    """
    if isinstance(value, Iterable) and not isinstance(value, str):
        raise ValueError(f"{name} = {value!r}: allowed is one integer >= 1")


def whole(name: str, value: object) -> int:
    """Return ``value``; raise ``ValueError`` unless it is an integer >= 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} = {value!r}: allowed is an integer >= 1")
    return checked_count(name, value)


def probability(name: str, value: Number) -> Fraction:
    """Return ``value``; raise ``ValueError`` unless it is in (0, 1]."""
    exact = exact_number(name, value)
    if not 0 < exact <= 1:
        raise ValueError(f"{name} = {value}: allowed is (0, 1]")
    return exact


def option(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed is one of {', '.join(allowed)}")


def budgets(budget: Number | Sequence[Number]) -> tuple[Fraction, ...]:
    """One number > 0, or several."""
    if isinstance(budget, float | int | str | Fraction):
        return (positive("budget", budget),)
    return each("budget", budget)
