"""Numbers that algorithms take, kept exactly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Integral

from ..rationals import checked_count, exact_number

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
