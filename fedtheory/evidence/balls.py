"""Ball arithmetic (python-flint): every number carries a proven error radius."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from flint import arb, arb_mat, ctx, fmpq

from ..claims.evaluation import fold

PRECISION = 256
"""Bits: far above what a million contracting rounds lose."""


@contextmanager
def working_precision(bits: int = PRECISION):
    """Ball arithmetic in so many bits inside the block."""
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Fraction | int) -> arb:
    """The ball of an exact number."""
    value = Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


def interval(low: arb | Fraction, high: arb | Fraction) -> arb:
    """The smallest ball that holds both ends."""
    low, high = (end if isinstance(end, arb) else ball(end) for end in (low, high))
    return low.union(high)


def ball_matrix(matrix: np.ndarray) -> arb_mat:
    """A matrix (or, as a column, a vector) of Fractions in balls."""
    rows, columns = matrix.shape if matrix.ndim == 2 else (len(matrix), 1)
    return arb_mat(rows, columns, [ball(v) for v in matrix.ravel()])


def evaluate_in_balls(expression: sympy.Expr, values: Mapping[str, arb | Fraction]) -> arb:
    """The expression, enclosed."""
    balls = {name: value if isinstance(value, arb) else ball(value) for name, value in values.items()}
    return fold(expression, balls, lambda c: ball(Fraction(int(c.p), int(c.q))))


def evaluate_exactly(expression: sympy.Expr, values: Mapping[str, Fraction]) -> Fraction:
    """The expression in rational arithmetic."""
    return fold(expression, values, lambda c: Fraction(int(c.p), int(c.q)))


def lower_bound_over_box(function: Callable[[Sequence[arb]], arb], box: Sequence[arb], depth: int = 16) -> arb | None:
    """A number that ``function`` is at or above everywhere on a product of intervals; ``None`` if it is not shown to
    be >= 0 there within ``depth`` bisections, each of the side that blurs the value most.

    >>> with working_precision():
    ...     print(lower_bound_over_box(lambda v: 1 + v[0] * (v[0] - 1), [interval(0, 1)]) is not None)
    ...     print(lower_bound_over_box(lambda v: v[0] * (v[0] - 1), [interval(0, 1)]) is not None)
    True
    False
    """
    value = function(box)
    if value.is_finite() and value >= 0:
        return value.lower()
    open_sides = [i for i, side in enumerate(box) if not side.is_exact()]
    if depth == 0 or not open_sides or (value.is_finite() and value < 0):
        return None

    def blur_without(i: int) -> float:
        sharper = function([*box[:i], box[i].mid(), *box[i + 1 :]])
        return float(sharper.rad()) if sharper.is_finite() else float("inf")

    i = min(open_sides, key=blur_without)
    bounds = []
    for half in (interval(box[i].lower(), box[i].mid()), interval(box[i].mid(), box[i].upper())):
        bounds.append(lower_bound_over_box(function, [*box[:i], half, *box[i + 1 :]], depth - 1))
        if bounds[-1] is None:
            return None
    return bounds[0].min(bounds[1])


def decimal(value: Any) -> str:
    """Twelve significant digits of a ball's middle or of a Fraction, for people and for comparing files."""
    value = value if isinstance(value, arb) else ball(value)
    return value.mid().str(12, radius=False)
