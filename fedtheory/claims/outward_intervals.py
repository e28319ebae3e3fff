"""Intervals by their two ends, in outward rounding.

A ball around the middle says nothing of an interval that is far from 1 at one end and near 0 at the other, such as exp
on [-10^9, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb

_LARGEST_EXPONENT = 2**100


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``, which are exact or infinite; both not a number where it is undefined. Its
    operations are those that ``balls.fold`` asks for.

    >>> wide = Interval(arb(-(10**9)), arb(1))
    >>> [(float(value.low), float(value.high)) for value in (wide * wide, wide**2, wide.exp())]
    [(-1000000000.0, 1e+18), (0.0, 1e+18), (0.0, 2.718281828459046)]
    """

    low: arb
    high: arb

    @classmethod
    def of(cls, low: arb, high: arb) -> Interval:
        """Return the interval from one ball to another."""
        return cls(low.lower(), high.upper())

    @property
    def sign(self) -> bool | None:
        """Whether all of it is >= 0 (``True``) or < 0 (``False``)."""
        return True if self.low >= 0 else False if self.high < 0 else None

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return self.low.is_finite() and self.high.is_finite()

    def __add__(self, other: Interval) -> Interval:
        return Interval.of(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Interval) -> Interval:
        if self.low >= 0 and other.low >= 0:
            return Interval.of(self.low * other.low, self.high * other.high)
        return _hull([a * b for a in (self.low, self.high) for b in (other.low, other.high)])

    def __truediv__(self, other: Interval) -> Interval:
        if not (other.low > 0 or other.high < 0):
            return UNDEFINED
        return self * Interval.of(1 / other.high, 1 / other.low)

    def __pow__(self, exponent: int | Interval) -> Interval:
        if isinstance(exponent, Interval):
            return self.to_power(exponent)
        if exponent % 2 == 1 or self.low >= 0:
            return Interval.of(self.low**exponent, self.high**exponent)
        if self.high <= 0:
            return Interval.of(self.high**exponent, self.low**exponent)
        return Interval(arb(0), ((-self.low).max(self.high) ** exponent).upper())

    def to_power(self, exponent: Interval) -> Interval:
        """Raise a base >= 0 to a power; where the base reaches 0, exponents must be > 0, else the result is
        undefined."""
        if not self.low >= 0 or (self.low == 0 and not exponent.low > 0):
            return UNDEFINED
        return _hull([base**power for base in (self.low, self.high) for power in (exponent.low, exponent.high)])

    def exp(self) -> Interval:
        """Return the exponential, outward rounded."""
        top = arb("inf") if self.high > _LARGEST_EXPONENT else self.high.max(arb(-_LARGEST_EXPONENT)).exp()
        bottom = arb(0) if self.low < -_LARGEST_EXPONENT else self.low.min(arb(_LARGEST_EXPONENT)).exp()
        return Interval.of(bottom, top)

    def log(self) -> Interval:
        """Return the logarithm, outward rounded; undefined unless all numbers are > 0."""
        return self._rising(arb.log) if self.low > 0 else UNDEFINED

    def ceil(self) -> Interval:
        """Round up to whole numbers."""
        return self._rising(arb.ceil)

    def min(self, other: Interval) -> Interval:
        """Return the interval of the minimum of two numbers."""
        return Interval.of(self.low.min(other.low), self.high.min(other.high))

    def max(self, other: Interval) -> Interval:
        """Return the interval of the maximum of two numbers."""
        return Interval.of(self.low.max(other.low), self.high.max(other.high))

    def __abs__(self) -> Interval:
        if self.low >= 0:
            return self
        return self * Interval(arb(-1), arb(-1)) if self.high <= 0 else Interval(arb(0), (-self.low).max(self.high))

    def _rising(self, function: Callable[[arb], arb]) -> Interval:
        return Interval.of(function(self.low), function(self.high))


UNDEFINED = Interval(arb("nan"), arb("nan"))


def _hull(values: list[arb]) -> Interval:
    low, high = values[0], values[0]
    for value in values[1:]:
        low, high = low.min(value), high.max(value)
    return Interval.of(low, high)
