"""Entries of files that anyone may have written: parsed, never evaluated; what is wrong is refused by its name."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Rationals = tuple[Fraction, ...]

CHOSEN = "chosen"
"""What a file has for a step size or a cutoff that the claim chooses."""


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        return f"a whole number of {x.bit_length()} bits" if x.bit_length() > 1000 else repr(x)


_SHORT = _Short()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, 120, 120


def shown(value: object) -> str:
    """A value as an error message shows it: its ``repr``, cut where it is long or deep.

    >>> deep = []
    >>> for _ in range(10**5):
    ...     deep = [deep]
    >>> shown("1e5"), shown(deep), len(shown("9" * 10**6)) < 200
    ("'1e5'", '[[[[...]]]]', True)
    """
    text = _SHORT.repr(value)
    return text if len(text) <= 160 else text[:157] + "..."


def rational(name: str, value: object) -> Fraction:
    """A Fraction from "3", "-1/2" or "0.25".

    >>> rational("start", "1/3")
    Fraction(1, 3)
    >>> rational("start", "1e999999999")
    Traceback (most recent call last):
    ValueError: start = '1e999999999': allowed is a rational such as "3", "-1/2" or "0.25"
    """
    if not isinstance(value, str) or not re.fullmatch(r"-?[0-9]{1,60}(\.[0-9]{1,60}|/0{0,59}[1-9][0-9]{0,59})?", value):
        raise ValueError(f'{name} = {shown(value)}: allowed is a rational such as "3", "-1/2" or "0.25"')
    return Fraction(value)


def entry(data: Mapping[str, Any], key: str, kind: type) -> Any:
    """The entry ``key``, which must be of that kind."""
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{key} = {shown(value)}: allowed is {'an' if kind is int else 'a'} {kind.__name__}")
    return value


def rational_entry(data: Mapping[str, Any], key: str) -> Fraction:
    """The entry ``key``, a rational."""
    return rational(key, entry(data, key, str))


def rationals(data: Mapping[str, Any], key: str) -> dict[str, Fraction]:
    """The entry ``key``, an object of rationals."""
    inner = entry(data, key, dict)
    return {name: rational_entry(inner, name) for name in inner}


def vector(data: Mapping[str, Any], key: str) -> Rationals:
    """The entry ``key``, a list of rationals."""
    return tuple(rational(key, value) for value in entry(data, key, list))


def indices(data: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """The entry ``key``, a list of at most 1000 whole numbers, none far off 0."""
    values = entry(data, key, list)
    if len(values) > 1000 or not all(type(value) is int and abs(value) < 10**15 for value in values):
        raise ValueError(f"{key} = {shown(values)}: allowed is a list of whole numbers")
    return tuple(values)


def matrix(data: Mapping[str, Any], key: str) -> tuple[Rationals, ...]:
    """The entry ``key``, a list of lists of rationals."""
    rows = entry(data, key, list)
    if not all(isinstance(row, list) for row in rows):
        raise ValueError(f"{key}: allowed is a list of lists")
    return tuple(tuple(rational(key, value) for value in row) for row in rows)


def check_kind(data: Mapping[str, Any], kind: str) -> None:
    """Refuse an object whose entry ``kind`` is another one."""
    if data.get("kind") != kind:
        raise ValueError(f"kind = {shown(data.get('kind'))}: allowed is {kind!r}")
