"""Checks of the arguments of this package's functions."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

SMALLEST_PROBABILITY = 1e-75
"""The smallest probability: fourth powers of smaller ones underflow, and with them the moments of intervals."""

LARGEST_CUTOFF = 2**53
"""The largest cutoff: up to here every integer is a float."""


def check_cutoff(cutoff: float) -> int | float:
    """Return the cutoff as an int, or ``math.inf``; a float may be a whole number.

    Raises:
        ValueError: it is neither an integer from 1 to 2^53 nor infinity.

    >>> check_cutoff(50), check_cutoff(5.0), check_cutoff(math.inf)
    (50, 5, inf)
    """
    if isinstance(cutoff, (float, np.floating)) and cutoff == math.inf:
        return math.inf
    if isinstance(cutoff, (float, np.floating)) and float(cutoff).is_integer():
        cutoff = int(cutoff)
    allowed = "an integer >= 1, or math.inf for none"
    if check_count("cutoff", cutoff, allowed) > LARGEST_CUTOFF:
        raise ValueError(f"cutoff = {cutoff}: allowed is {allowed}; above 2^53 floats skip integers")
    return int(cutoff)


def check_count(name: str, value: object, allowed: str = "an integer >= 1") -> int:
    """Return ``value`` as an int.

    Raises:
        ValueError: it is no integer >= 1.
    """
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)) or value < 1:
        raise ValueError(f"{name} = {value!r}: allowed is {allowed}")
    return int(value)


def check_probability(value: Any, name: str = "participation_probability", never: str | None = None) -> float:
    """Return ``value`` as a float in [0, 1], 0 or at least 1e-75.

    Args:
        never: why 0 is not allowed; None where it is.

    Raises:
        ValueError: it lies outside.
    """
    interval = "[0, 1]" if never is None else "(0, 1]"
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value!r}: allowed is a number in {interval}") from None
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} = {value!r}: allowed is {interval}")
    if 0.0 < number < SMALLEST_PROBABILITY:
        raise ValueError(f"{name} = {value!r}: allowed is {interval}, and nothing between 0 and {SMALLEST_PROBABILITY}")
    if number == 0.0 and never is not None:
        raise ValueError(f"{name} = {value!r}: allowed is (0, 1], since {never}")
    return number


def check_probabilities(
    values: object, name: str = "participation_probability", never: str | None = None
) -> np.ndarray:
    """Return a non-empty float64 array of probabilities.

    Raises:
        ValueError: as `check_probability`, naming the entry.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} has rows of several lengths: allowed is one number for each client") from None
    if array.size == 0:
        raise ValueError(f"{name} is empty: allowed is one number for each client")
    checked = [
        check_probability(v, f"{name}{list(i)}" if i else name, never) for i, v in np.ndenumerate(array.astype(object))
    ]
    return np.array(checked).reshape(array.shape)


def check_mask(participation: object, name: str = "participation") -> np.ndarray:
    """Return a mask as bool, without a copy where it is bool, or uint8 in one piece.

    Raises:
        ValueError: an entry is neither 0 nor 1.
    """
    mask = np.asarray(participation)
    if mask.dtype == bool:
        return mask
    if mask.dtype == np.uint8 and mask.flags.c_contiguous:
        if mask.size and mask.max() > 1:
            raise ValueError(f"{name} has the entry {mask.max()}: allowed are 0 and 1")
        return mask.view(bool)
    if mask.dtype.kind not in "iuf":
        raise ValueError(f"{name} has dtype {mask.dtype}: allowed are 0 and 1")
    wrong = (mask != 0) & (mask != 1)
    if wrong.any():
        raise ValueError(f"{name} has the entry {mask[wrong].flat[0]}: allowed are 0 and 1")
    return mask == 1


def check_participants(participated: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return the mask of one round, of the given shape.

    Raises:
        ValueError: as `check_mask`, or another shape.
    """
    mask = check_mask(participated)
    if mask.shape != shape:
        raise ValueError(f"participated has shape {mask.shape}: allowed is that of the state, {shape}")
    return mask


def check_history(participation: object) -> np.ndarray:
    """Return a mask (rounds, ..., clients) with at least one round.

    Raises:
        ValueError: as `check_mask`, or there is no round.
    """
    mask = check_mask(participation)
    if mask.ndim == 0 or len(mask) == 0:
        raise ValueError(f"participation has shape {mask.shape}: allowed is (rounds, ...) with at least one round")
    return mask
