"""Arguments of the right kind, or one line that names what is not: a class or function in place of what it makes, a
name in place of what it names, one argument in another's place."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any


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


def is_real(value: Any) -> bool:
    """Whether a value is a real number, and so can be compared with one."""
    return isinstance(value, Real)


def listed(name: str, value: Any, allowed: str = "a list") -> tuple[Any, ...]:
    """Return the entries of a list, array or the like.

    Raises:
        ValueError: it has no entries, or is a text.

    >>> listed("members", 3)
    Traceback (most recent call last):
    ValueError: members is 3: allowed is a list
    """
    if (
        isinstance(value, (str, bytes))
        or not isinstance(value, Iterable)
        or (hasattr(value, "ndim") and not value.ndim)
    ):
        raise ValueError(f"{name} is {described(value)}: allowed is {allowed}")
    return tuple(value)


def number_array(name: str, values: Any, kind: Any = float) -> Any:
    """Return an array, of floats by default; with ``None`` for ``kind``, of the values' own kind.

    Raises:
        ValueError: the values are no numbers, or have rows of several lengths.

    >>> number_array("features", [[1], [1, 2]])
    Traceback (most recent call last):
    ValueError: features is of type list: allowed is an array of numbers
    """
    import numpy as np

    try:
        return np.asanyarray(values, dtype=kind)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {described(values)}: allowed is an array of numbers") from None


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


def check_count(name: str, value: object, least: int = 1) -> int:
    """Return ``value`` as an int.

    Raises:
        ValueError: it is no integer >= ``least``.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name} = {value!r}: allowed is an integer >= {least}")
    from .rationals import checked_count  # which takes numpy

    return checked_count(name, value, least)


def check_option(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} = {value!r}: allowed is one of {', '.join(allowed)}")


def check_clients(name: str, given: int, clients: int) -> None:
    """Raise ``ValueError`` unless there is one entry for each client."""
    if given != clients:
        raise ValueError(f"{name}: there are {given}, allowed is one for each of {clients} clients")
