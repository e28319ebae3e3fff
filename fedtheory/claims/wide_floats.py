"""Floating point without limits of range: numbers m 2^e, elementwise on arrays.

A product of small step sizes may be below the smallest float where the quotient that it stands in is an ordinary
number. Digits are those of floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

_NOTHING = -(2.0**60)
"""The exponent of 0, below that of every other number."""

_FAR = 1100
"""Distance in binary digits beyond which the smaller summand is lost."""

_LOG_2 = math.log(2)


@dataclass(frozen=True)
class Wide:
    """Numbers m 2^e, with |m| in [1/2, 1), or 0, infinite or not a number.

    >>> tiny = Wide.of(1e-200)
    >>> float((tiny * tiny).to_float()), float((tiny * tiny / (tiny * Wide.of(2e-200))).to_float())
    (0.0, 0.5)
    """

    mantissa: np.ndarray
    exponent: np.ndarray

    @classmethod
    def of(cls, value: Any, exponent: Any = 0.0) -> Wide:
        """Make value 2^exponent."""
        mantissa, shift = np.frexp(np.asarray(value, dtype=float))
        return cls(mantissa, np.where(mantissa == 0, _NOTHING, shift + exponent))

    @classmethod
    def rational(cls, number: sympy.Rational) -> Wide:
        """Make a constant of an expression."""
        shift = int(number.p).bit_length() - int(number.q).bit_length()
        return cls.of(float(number / sympy.Integer(2) ** shift), float(shift))

    def to_float(self) -> np.ndarray:
        """Return the nearest float, 0 or infinity where there is none of its size."""
        return np.ldexp(self.mantissa, np.clip(self.exponent, -5000, 5000).astype(np.int64))

    def __add__(self, other: Wide) -> Wide:
        most = np.maximum(self.exponent, other.exponent)
        parts = [np.ldexp(x.mantissa, np.maximum(x.exponent - most, -_FAR).astype(np.int64)) for x in (self, other)]
        return Wide.of(parts[0] + parts[1], most)

    def __neg__(self) -> Wide:
        return Wide(-self.mantissa, self.exponent)

    def __mul__(self, other: Wide) -> Wide:
        return Wide.of(self.mantissa * other.mantissa, self.exponent + other.exponent)

    def __truediv__(self, other: Wide) -> Wide:
        return Wide.of(self.mantissa / other.mantissa, self.exponent - other.exponent)

    def __pow__(self, exponent: int | Wide) -> Wide:
        if isinstance(exponent, Wide):
            return self.to_power(exponent)
        result, base = Wide.of(1.0), self
        while exponent:
            if exponent % 2:
                result = result * base
            base, exponent = base * base, exponent // 2
        return result

    def to_power(self, exponent: Wide) -> Wide:
        """Compute the power: by numpy where it is an ordinary number, else by its logarithm."""
        base, times = self.to_float(), exponent.to_float()
        plain = np.power(base, times)
        ordinary = (np.abs(plain) > 1e-300) & (np.abs(plain) < 1e300) & (np.abs(base) > 1e-300) & (base < 1e300)
        magnitude = np.abs(self.mantissa)
        doublings = (np.log2(magnitude) + self.exponent) * times
        sign = np.where((self.mantissa < 0) & (times % 2 == 1), -1.0, 1.0)
        far = Wide.of(sign * np.exp2(doublings - np.floor(doublings)), np.floor(doublings))
        known = ordinary | (magnitude == 0) | (times == 0) | ~np.isfinite(doublings)
        near = Wide.of(plain)
        return Wide(np.where(known, near.mantissa, far.mantissa), np.where(known, near.exponent, far.exponent))

    def exp(self) -> Wide:
        """Return the exponential, elementwise; its size may exceed the range of floats."""
        argument = self.to_float()
        doublings = np.where(np.abs(argument) > 700, np.rint(argument / _LOG_2), 0.0)
        doublings = np.where(np.isfinite(doublings), doublings, 0.0)
        return Wide.of(np.exp(argument - doublings * _LOG_2), doublings)

    def log(self) -> Wide:
        """Return the natural logarithm, elementwise."""
        return Wide.of(np.log(self.mantissa) + self.exponent * _LOG_2)

    def ceil(self) -> Wide:
        """Round up to whole numbers, elementwise; the number has to be within the range of floats."""
        return Wide.of(np.ceil(self.to_float()))

    def __abs__(self) -> Wide:
        return Wide(np.abs(self.mantissa), self.exponent)

    def min(self, other: Wide) -> Wide:
        """Return the minimum, elementwise."""
        return self._chosen(other, (self + -other).mantissa <= 0)

    def max(self, other: Wide) -> Wide:
        """Return the maximum, elementwise."""
        return self._chosen(other, (self + -other).mantissa >= 0)

    def _chosen(self, other: Wide, mine: np.ndarray) -> Wide:
        undefined = np.isnan(self.mantissa)
        mine = mine | undefined
        return Wide(np.where(mine, self.mantissa, other.mantissa), np.where(mine, self.exponent, other.exponent))
