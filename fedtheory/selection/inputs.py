"""Availability, budget and weights as the selection problems take them: checked, and as floating-point arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

WEIGHT_SUM_TOLERANCE = 1e-9
"""Tolerance of the weights' sum about 1, since they are read from files with a few digits."""

LARGEST_COUNT = 2**53
"""The largest count: up to here every whole number is a float of its own."""


def checked_availability(availability: ArrayLike) -> np.ndarray:
    """The counts a_j(t) as float64, one contiguous row a group: shape (groups, rounds).

    Args:
        availability: (rounds, groups), whole numbers from 0 to 2^53.

    Raises:
        ValueError: an entry is negative, no whole number, too large or not finite (its row and column are named,
            counted from 0), or the shape is wrong.

    >>> checked_availability([[1, 2], [3, 4], [5, 6]]).tolist()
    [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    """
    table = _numbers("availability", availability)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"availability has shape {table.shape}: allowed is (rounds, groups), both at least 1")
    within = table.min() >= 0 and table.max() <= LARGEST_COUNT  # false for NaN
    if not within or (table.dtype.kind == "f" and (table != np.floor(table)).any()):
        row, column = np.argwhere(~((table >= 0) & (table <= LARGEST_COUNT) & (table == np.floor(table))))[0]
        value = table[row, column]
        kind = f"a whole number up to {LARGEST_COUNT}" if value > LARGEST_COUNT else "a whole number >= 0"
        raise ValueError(f"availability[{row}, {column}] = {value}: allowed is {kind}")
    return np.ascontiguousarray(table.T, dtype=float)


def checked_budget(budget: ArrayLike, rounds: int) -> np.ndarray:
    """The budgets k(t), (rounds,) float64; one number stands for the same budget in every round.

    Raises:
        ValueError: an entry is negative or not finite (its place is named), or there are not ``rounds`` of them.

    >>> checked_budget(3, 2).tolist()
    [3.0, 3.0]
    """
    values = _numbers("budget", budget).astype(float)
    if values.ndim == 0:
        values = np.full(rounds, values)
    if values.shape != (rounds,):
        raise ValueError(f"budget has shape {values.shape}: allowed is one number or one a round, ({rounds},)")
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise ValueError(f"budget[{wrong[0]}] = {values[wrong[0]]}: allowed is a finite number >= 0")
    return values


def checked_group_weight(group_weight: ArrayLike, groups: int) -> np.ndarray:
    """The weights p_j, (groups,) float64: non-negative, summing to one.

    Raises:
        ValueError: otherwise.

    >>> checked_group_weight([0.25, 0.75], 2).tolist()
    [0.25, 0.75]
    """
    weight = _numbers("group_weight", group_weight).astype(float)
    if weight.shape != (groups,):
        raise ValueError(f"group_weight has shape {weight.shape}: allowed is one number a group, ({groups},)")
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        raise ValueError(f"group_weight[{wrong[0]}] = {weight[wrong[0]]}: allowed is a finite number >= 0")
    if abs(weight.sum() - 1) > WEIGHT_SUM_TOLERANCE:
        raise ValueError(f"group_weight = {weight.tolist()} sums to {weight.sum():.12g}: allowed is a sum of 1")
    return weight


def checked_number(name: str, value: object, lower: float = 0.0) -> float:
    """Return ``value`` as a finite float of at least ``lower``.

    Raises:
        ValueError: otherwise.
    """
    number = _numbers(name, value)
    if number.ndim != 0 or not (np.isfinite(number) and number >= lower):
        raise ValueError(f"{name} = {value!r}: allowed is a finite number >= {lower:g}")
    return float(number)


def _numbers(name: str, values: object) -> np.ndarray:
    """``values`` as an array of integers or floats."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "b":
            array = array.astype(np.int8)
        if array.dtype.kind == "O":  # Fractions, decimals, missing values
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {values!r}: allowed is an array of numbers") from None
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} has entries of type {array.dtype}: allowed are numbers")
    return array
