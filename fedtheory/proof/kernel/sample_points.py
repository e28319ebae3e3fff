"""Values at a few points of a region, by which a sign that fails is seen before anything is expanded. Nothing here is
trusted: a sign is only ever refused by it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from flint import fmpq

from .scalars import Scalar

if TYPE_CHECKING:
    from .charts import Chart

_POINTS: WeakKeyDictionary[Chart, list[list[fmpq]]] = WeakKeyDictionary()


def somewhere(chart: Chart, expression: Scalar, says: Callable[[fmpq], bool]) -> bool:
    """Whether this is so of the value at one of a few points of a chart."""
    if chart not in _POINTS:
        _POINTS[chart] = _points(chart)
    if expression.is_polynomial:
        return any(says(expression.numerator(*values)) for values in _POINTS[chart])
    for values in _POINTS[chart]:
        bottom = expression.denominator(*values)
        if bottom != 0 and says(expression.numerator(*values) / bottom):
            return True
    return False


def _points(chart: Chart) -> list[list[fmpq]]:
    """Return a few points, as values of the letters of theorems; a letter of which the region says nothing is 0."""
    rng, found, zero = Random(0), [], fmpq(0)
    for _ in range(16):
        at = {
            n: fmpq(1 if n in chart.positive else rng.choice((0, 0, 1, 9)), rng.choice((1, 3, 20)))
            for n in chart.parameters
        }
        for name, letter in reversed(chart.letters):
            values = [at.get(n, zero) for n in chart.ring.names]
            bottom = letter.denominator(*values)
            if bottom == 0:
                break
            at[name] = letter.numerator(*values) / bottom
        else:
            found.append([at.get(n, zero) for n in chart.of])
    return found
