"""Checks of the arguments of participation processes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..rationals import converter


def check_probabilities(name: str, values: Sequence[Any]) -> tuple[Fraction, ...]:
    """Return one probability for each client, as Fractions.

    Raises:
        ValueError: there is none, or one is no number in [0, 1].

    >>> check_probabilities("probabilities", [0.5, "1/3"])
    (Fraction(1, 2), Fraction(1, 3))
    """
    if isinstance(values, str) or not _is_rectangular(values) or np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"{name} = {values!r}: allowed is a list of one probability for each client")
    exact, convert = [], converter(name)
    for i, value in enumerate(values):
        try:
            exact.append(convert(value))
        except ValueError:
            raise ValueError(f"{name}[{i}] = {value!r}: allowed is a number in [0, 1]") from None
        if not 0 <= exact[-1] <= 1:
            raise ValueError(f"{name}[{i}] = {value!r}: allowed is [0, 1]")
    return tuple(exact)


def _is_rectangular(values: object) -> bool:
    try:
        np.asarray(values)
    except ValueError:
        return False
    return True


def check_mask(name: str, values: object) -> np.ndarray:
    """Return a copy of ``values`` (rounds, columns) as bool.

    Raises:
        ValueError: it is not two-dimensional and non-empty, or an entry is neither 0 nor 1.
    """
    if not _is_rectangular(values):
        raise ValueError(f"{name} has rows of several lengths: allowed is (rounds, columns)")
    array = np.asarray(values)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: allowed is (rounds, columns), none of them 0")
    wrong = np.argwhere(~((array == 0) | (array == 1)))
    if len(wrong):
        round, column = (int(i) for i in wrong[0])
        raise ValueError(f"{name}[{round}, {column}] = {array[round, column]}: allowed is 0 or 1")
    return array.astype(bool)
