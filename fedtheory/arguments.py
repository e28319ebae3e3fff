"""Arguments of the right kind, or one line that names what is not: a class or function in place of what it makes, a
name in place of what it names, one argument in another's place."""

from __future__ import annotations

import inspect
import reprlib
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any

from .rationals import checked_count, exact_number

Number = float | str | Fraction


def check_kind(name: str, value: Any, kinds: type | tuple[type, ...], allowed: str) -> None:
    """Refuse what is of none of these classes.

    Raises:
        ValueError: it says what ``value`` is.

    >>> check_kind("rounds", "ten", int, "an integer")
    Traceback (most recent call last):
    ValueError: rounds is 'ten': allowed is an integer
    """
    if not isinstance(value, kinds):
        raise ValueError(f"{name} is {described(value)}: allowed is {allowed}")


def check_has(name: str, value: Any, members: tuple[str, ...], allowed: str) -> None:
    """Refuse what lacks one of these members, whatever its class, and classes themselves.

    Raises:
        ValueError: it says what ``value`` is.
    """
    if isinstance(value, type) or not all([hasattr(value, member) for member in members]):
        raise ValueError(f"{name} is {described(value)}: allowed is {allowed}")


def described(value: Any) -> str:
    """Describe a value in words.

    >>> described(int), described(len), described("digits"), described({1: 2}.items())
    ('the class int, which is not called', 'the function len, which is not called', "'digits'", 'of type dict_items')
    """
    if inspect.isclass(value):
        return f"the class {value.__name__}, which is not called"
    if inspect.isroutine(value):
        return f"the function {getattr(value, '__name__', '')}, which is not called"
    if value is None or isinstance(value, (str, int, float, bytes)):
        return reprlib.repr(value)
    return f"of type {type(value).__name__}"


# Numbers, kept exactly ------------------------------------------------------------------------------------------------


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
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed is one of {', '.join(allowed)}")


def budgets(budget: Number | Sequence[Number]) -> tuple[Fraction, ...]:
    """One number > 0, or several."""
    if isinstance(budget, float | int | str | Fraction):
        return (positive("budget", budget),)
    return each("budget", budget)
