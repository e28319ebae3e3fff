"""(B, G)-dissimilarity: sum_i p_i |grad F_i(x)|^2 <= G^2 + B^2 |grad F(x)|^2 for all x, F = sum_i p_i F_i.

Source: Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020, (A1).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .piecewise import Piecewise, PiecewiseLinear
from .quadratic import Quadratic

LARGEST_FACTOR = 2**20
"""The largest factor that is tried."""


def least_squared_offset(fed: Quadratic | Piecewise, squared_factor: Fraction) -> Fraction | None:
    """Compute the least G^2 for this B^2, in units of (F/x)^2; ``None`` where it is infinite.

    It is the supremum over x of sum_i p_i |grad F_i(x)|^2 - B^2 |grad F(x)|^2.

    >>> fed = Quadratic([[1], [3]], [[1], [0]])  # gradients x - 1 and 3 x; of F, 2 x - 1/2
    >>> least_squared_offset(fed, Fraction(5, 4)), least_squared_offset(fed, Fraction(2))
    (None, Fraction(3, 4))
    """
    if isinstance(fed, Quadratic):
        return _of_quadratic(fed, squared_factor)
    total = Fraction(0)
    for j, mean in enumerate(fed.mean_gradient):
        largest = _on_a_line([row[j] for row in fed.gradients], fed.shares, mean, squared_factor)
        if largest is None:
            return None
        total += largest
    return total


def least_whole_factor(fed: Quadratic | Piecewise) -> int | None:
    """The least whole number B >= 1 for which G is finite; ``None`` where none up to ``LARGEST_FACTOR`` is.

    >>> least_whole_factor(Quadratic([[1], [3]], [[1], [0]]))
    2
    """

    def enough(factor: int) -> bool:
        return least_squared_offset(fed, Fraction(factor) ** 2) is not None

    high = 1
    while not enough(high):
        high *= 2
        if high > LARGEST_FACTOR:
            return None
    low = high // 2  # too small, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _of_quadratic(fed: Quadratic, squared_factor: Fraction) -> Fraction | None:
    weights, hessians, slopes = fed.exact_weight, fed.exact_hessians, fed.exact_slopes
    hessian, slope = fed.exact_hessian, weights @ slopes
    form, linear, constant = -squared_factor * (hessian @ hessian), -squared_factor * (hessian @ slope), Fraction(0)
    constant -= squared_factor * (slope @ slope)
    for p, h, g in zip(weights, hessians, slopes, strict=True):
        form, linear, constant = form + p * (h @ h), linear + p * (h @ g), constant + p * (g @ g)
    return supremum(form, linear, constant)


def supremum(form: np.ndarray, linear: np.ndarray, constant: Fraction) -> Fraction | None:
    """Compute sup over x of x^T form x + 2 linear^T x + constant, form symmetric, all in Fractions.

    It is infinite (``None``) unless -form is positive semidefinite and linear in its range. By elimination, l^T
    (-form)^+ l is a sum of squares over pivots.
    """
    rows, value = np.column_stack([-form, linear]), constant
    for i in range(len(form)):
        pivot = rows[i, i]
        if pivot < 0 or (pivot == 0 and any(rows[i, i + 1 :] != 0)):
            return None
        if pivot > 0:
            value += rows[i, -1] ** 2 / pivot
            for j in range(i + 1, len(form)):
                rows[j] = rows[j] - rows[i] * (rows[j, i] / pivot)
    return value


def _on_a_line(
    lines: Sequence[PiecewiseLinear], shares: Sequence[Fraction], mean: PiecewiseLinear, squared_factor: Fraction
) -> Fraction | None:
    """sup over t of sum_k shares_k g_k(t)^2 - B^2 g(t)^2, g their ``mean``: a parabola on each piece."""
    weighted = [*zip(shares, lines, strict=True), (-squared_factor, mean)]
    places = sorted({t for line in lines for t in line.breakpoints})
    ends = [None, *places, None]
    found = [sum((w * g(t) ** 2 for w, g in weighted), Fraction(0)) for t in places]
    for low, high in itertools.pairwise(ends):
        inside = _between(low, high)
        pieces = [(w, *_piece(g, inside)) for w, g in weighted]
        a, b, c = (
            sum((w * products[k] for w, *products in ((w, s * s, s * i, i * i) for w, s, i in pieces)), Fraction(0))
            for k in range(3)
        )
        unbounded = a > 0 or (a == 0 and ((high is None and b > 0) or (low is None and b < 0)))
        if unbounded and (low is None or high is None):
            return None
        top = -b / a if a < 0 else inside
        if (low is None or low <= top) and (high is None or top <= high) and (a < 0 or b == 0):
            found.append(a * top**2 + 2 * b * top + c)
    return max(found)


def _between(low: Fraction | None, high: Fraction | None) -> Fraction:
    """A point inside."""
    if low is not None and high is not None:
        return (low + high) / 2
    if low is not None:
        return low + 1
    return Fraction(0) if high is None else high - 1


def _piece(line: PiecewiseLinear, at: Fraction) -> tuple[Fraction, Fraction]:
    """(slope, intercept) of the piece around a point."""
    piece = sum(t < at for t in line.breakpoints)
    return line.slopes[piece], line.intercepts[piece]
