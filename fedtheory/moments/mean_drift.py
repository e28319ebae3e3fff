"""Proven lower bounds of E|x_R - x*|^2 on gradients with kinks, by the drift of the mean of noisy runs.

Take one coordinate, and every client's slopes nondecreasing (a gradient that is convex), lr * slope <= 1. A step
y -> y - lr (g(y) + noise) is then nondecreasing and concave in y. So are the expectation m_k(x) of what training makes
of x, and m(x) = E[x_{r+1} | x_r = x], a mean of the m_k with the cohort's expected shares. By Jensen
E x_{r+1} <= m(E x_r): with u_0 = x_0 and u_{r+1} = m(u_r), E x_R <= u_R, and where u_R < x* the error is at least
(x* - u_R)^2, however many clients average the noise out. Slopes that do not increase are the mirror image.

m is enclosed from above on a grid, since a nondecreasing function is at most its value at the next point; in whole
numbers, so nothing is lost by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.algorithm import ClientRound, ServerRound
from ..federations.piecewise import PiecewiseLinear
from .exchangeable import TooMany, cohorts_of, noise_step
from .kinked_runs import piecewise

if TYPE_CHECKING:
    from ..setting import Setting

FINE = 300
"""Points of the grid in one step of the noise."""

WIDE = 6
"""Distance of the grid's lower end below the start and the clients' minimisers, in steps of the noise times the root of
the local steps, rounded up."""

BITS = 16
"""Binary digits below a grid's unit that are kept in the values of m."""

MOST_POINTS, MOST_TURNS = 400_000, 20_000


def drift_floor(setting: Setting, horizons: Sequence[int], exact: bool = False) -> list[Fraction]:
    """Bound E|x_R - x*|^2 from below at each of the ascending ``horizons``, by the drift of the mean.

    It is proven if ``exact``, which needs short numbers. 0 stands where nothing is shown.

    Raises:
        TooMany: the grid, or its numbers, would be too long.
        ValueError: some rounds are the server's, kinds of round come periodically, rounds are more than SGD and a mean,
            or the noise is not two-point or its step irrational.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Piecewise([[ft.federations.PiecewiseLinear([1, 6], [0])]], [10**4], gradient_noise=1)
    >>> algorithm = ft.algorithms.fast(cohort=1, snapshot_probability=0, local_lr="1/100", local_steps=2)
    >>> everyone = ft.participation.Fixed(range(10**4))
    >>> [float(v) * 10**4 for v in drift_floor(ft.Setting(fed, algorithm, everyone), [1000])]  # doctest: +ELLIPSIS
    [0.15...]
    """
    fed, total = piecewise(setting), [Fraction(0)] * len(horizons)
    for j in range(fed.dimension):
        for sign in (1, -1):
            lines = [row[j] if sign == 1 else mirrored(row[j]) for row in fed.gradients]
            if not all(tuple(sorted(line.slopes)) == line.slopes for line in lines):
                continue
            ends = _means(setting, lines, sign * setting.exact_start[j], horizons, exact)
            best = sign * fed.exact_optimum[j]
            if ends is not None:
                total = [floor + max(best - end, Fraction(0)) ** 2 for floor, end in zip(total, ends, strict=True)]
            break
    return total


def mirrored(line: PiecewiseLinear) -> PiecewiseLinear:
    """Return -g(-x)."""
    return PiecewiseLinear(line.slopes[::-1], [-t for t in line.breakpoints[::-1]], -line.at_zero)


def _means(
    setting: Setting, lines: list[PiecewiseLinear], start: Fraction, horizons: Sequence[int], exact: bool
) -> list[Fraction] | None:
    """Upper bounds of E x_R along a coordinate; ``None`` without noise, where a step overshoots, or where a gradient
    has no zero or several."""
    weights, (training, *others) = [Fraction(0)] * len(lines), setting.algorithm.client_rounds
    for share, kind in zip(
        (setting.algorithm.share, 1 - setting.algorithm.share), setting.algorithm.kinds, strict=True
    ):
        if isinstance(kind, ServerRound):
            raise ValueError("some rounds are the server's: allowed are clients' rounds")
        cohorts = cohorts_of(setting, kind)
        weights = [w + share * first / cohorts.size for w, first in zip(weights, cohorts.first, strict=True)]
    if setting.algorithm.period is not None and setting.algorithm.period > 1:
        raise ValueError("kinds of round come periodically: allowed are drawn ones")
    assert all(replace(other, uniform=training.uniform) == training for other in others)
    if piecewise(setting).noise != "two-point":
        raise ValueError(f"noise = {piecewise(setting).noise!r}: allowed is 'two-point'")
    noise, lr = noise_step(piecewise(setting)), training.local_lr
    unit, zeros = lr * noise / FINE, [zero for line in lines if (zero := line.minimiser()) is not None]
    if not noise or len(zeros) < len(lines) or any(lr * line.slopes[-1] > 1 for line in lines):
        return None
    base = max(ceil(value / unit) for value in (start, *zeros)) + 1
    reach = WIDE * FINE * (isqrt(training.local_steps) + 1)
    low = min(ceil(value / unit) for value in (start, *zeros)) - reach
    size = base + training.local_steps * FINE - low + 2
    if size > MOST_POINTS:
        raise TooMany(f"points of the grid are {size}: at most {MOST_POINTS} are followed")
    values = [_trained(line, training, unit, low, size, exact) for line in lines]
    place, ends, r = min(base, ceil(start / unit)), [], 0
    for rounds in horizons:
        while r < rounds:
            mean = sum(w * int(v[max(0, place - low)]) for w, v in zip(weights, values, strict=True))
            after = min(base, ceil(mean / 2**BITS))
            r = rounds if after == place else r + 1
            place = after
            if r > MOST_TURNS and r < rounds:
                raise TooMany(f"rounds before the mean settles: more than {MOST_TURNS}")
        ends.append(place * unit)
    return ends


def _trained(line: PiecewiseLinear, kind: ClientRound, unit: Fraction, low: int, size: int, exact: bool) -> np.ndarray:
    """Upper bounds of E y_K from y_0 = (low + i) * unit for i < size, in units of ``unit`` / 2^BITS; not valid for the
    last K * FINE of them."""
    places = np.arange(low, low + size, dtype=np.int64)
    stepped = np.empty(size, dtype=np.int64)
    bounds = [low, *(ceil(t / unit) for t in line.breakpoints), low + size]
    for slope, intercept, first, last in zip(line.slopes, line.intercepts, bounds, bounds[1:], strict=False):
        here = slice(max(0, min(size, first - low)), max(0, min(size, last - low)))
        keep, shift = 1 - kind.local_lr * slope, -kind.local_lr * intercept / unit
        stepped[here] = _ceilings(places[here], keep, shift, exact)
    up, down = (np.clip(stepped + step - low, 0, size - 1) for step in (FINE, -FINE))
    values = places << BITS
    for _ in range(kind.local_steps):
        values = (values[up] + values[down] + 1) >> 1
    return values


def _ceilings(places: np.ndarray, keep: Fraction, shift: Fraction, exact: bool) -> np.ndarray:
    """keep * i + shift, rounded up."""
    if not exact:
        return np.ceil(places * float(keep) + float(shift)).astype(np.int64)
    both = keep.denominator * shift.denominator // np.gcd(keep.denominator, shift.denominator)
    both = int(both)
    a, b = int(keep * both), int(shift * both)
    if places.size and max(abs(a), both) * (int(np.abs(places).max()) + 1) + abs(b) >= 2**62:
        raise TooMany("numbers are too long for whole numbers of 64 bits: allowed are rounder ones")
    return -((-(places * a + b)) // both)
