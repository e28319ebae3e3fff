"""Rounding of a solver's multipliers to rational ones that prove a bound hardly weaker than the value."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from .certificates import Certificate
from .exact_dual import Exact, Multipliers
from .exact_matrices import is_semidefinite
from .problem import Problem
from .program import Program
from .solver import Solution, clarabel, first_pairs

if TYPE_CHECKING:
    from .worst import WorstCase

MARGINS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Margins that are added to the metric, times the Gram matrices' traces, so that rounding does no harm."""
NEGLIGIBLE = 1e-7
"""Share of the largest multiplier below which others are left out, but for pairs that keep the matrices bounded."""


def certify(found: WorstCase) -> Certificate:
    """Make a certificate of a solved worst case.

    The program is solved again for a metric that is larger by a margin times the traces; its multipliers leave matrices
    that are > 0. They are rounded to short decimals, and pairs with x* take up the rest that rounding left of the
    values F_i. Then every number of the bound is lowered, one after the other, to the least in its last digit that is
    still proved.

    A contraction that was given stays as it is.

    Raises:
        ValueError: the solve was not accurate; there is noise; the start is x*, or bounded by its gap; the
            dissimilarity is not bounded; functions need not be convex; there is a combination in the place of a metric;
            no margin is enough.
    """
    problem = found.problem
    if found.status != "solved":
        raise ValueError(f"status = {found.status!r}: allowed for a certificate is 'solved'")
    if problem.initial_gap is not None:
        raise ValueError(f"initial_gap = {problem.initial_gap}: allowed for a certificate is a start at a distance")
    if not problem.distance or problem.dissimilarity_at_optimum is None:
        raise ValueError(
            "distance, dissimilarity_at_optimum: allowed for a certificate are a distance > 0 and a number"
        )
    assert isinstance(problem, Problem)
    exact = Exact(problem)
    for margin in MARGINS:
        certificate = _rounded(found, exact, margin)
        if certificate is not None:
            return certificate
    raise ValueError(f"{found}: no certificate was found within a margin of {MARGINS[-1]}")


def _rounded(found: WorstCase, exact: Exact, margin: float) -> Certificate | None:
    program = copy(found.program)
    program.objective = program.objective + margin * _traces(program)
    solution = clarabel(program, _pairs(program, found.solution))
    if not np.isfinite(solution.error) or solution.error > 1e-6:
        return None
    grid = Fraction(10) ** floor(log10(margin * program.factor / 100))
    given = _multipliers(program, solution, grid)
    for (o, p), left in exact.unbalanced(given.pairs).items():
        at = (o, p, 0) if left > 0 else (o, 0, p)
        if left:
            given.pairs[at] = given.pairs.get(at, Fraction(0)) + abs(left)
    given.pairs = {at: value for at, value in given.pairs.items() if value}
    fixed = found.problem.contraction
    if fixed is not None:
        given.contraction = fixed * found.problem.length**2 / found.problem.unit
    if not all(map(is_semidefinite, exact.slack(given))):
        return None
    return Certificate(replace(exact.problem, contraction=None), _lowered(exact, given, grid, fixed is None))


def _traces(program: Program) -> np.ndarray:
    row, at = np.zeros(program.length), 0
    for side in program.sides:
        row[[at + k * (k + 3) // 2 for k in range(side)]] = 1
        at += side * (side + 1) // 2
    return row


def _pairs(program: Program, solution: Solution) -> list[tuple[int, int, int]]:
    """Return the pairs that count, and those that keep all matrices bounded."""
    least = NEGLIGIBLE * max(solution.pairs.values(), default=0)
    near = first_pairs(program, list(program.pairs))
    return [pair for pair, also in zip(program.pairs, near, strict=True) if also or solution.pairs.get(pair, 0) > least]


def _multipliers(program: Program, solution: Solution, grid: Fraction) -> Multipliers:
    """Return rounded multipliers in the problem's scale; those of the bound are rounded up."""
    factor, units = program.factor, program.units
    tau, additive = Fraction(1 if program.decrement else 0), {}
    for row, value in zip(program.at_most, solution.at_most, strict=True):
        kind, *at = row.name.split()
        if kind == "distance":
            tau += _up(factor * value / units.distance**2, grid)
        else:
            additive[int(at[0]), int(at[1])] = _up(factor * value / (units.dissimilarity or 1.0) ** 2, grid)
    pairs = {at: _near(factor * value / program.sizes[at], grid) for at, value in solution.pairs.items()}
    operators, symmetric = _of_quadratics(program, solution, grid)
    return Multipliers(max(tau, Fraction(0)), additive, pairs, operators, symmetric)


def _of_quadratics(program: Program, solution: Solution, grid: Fraction) -> tuple[list, list]:
    """Return the rounded multipliers of quadratics, for changes that are not scaled."""
    scales = [float(point.scale) for point in program.geometry.points]
    count, free = len(scales), iter(solution.equal)
    operators, symmetric = [], []
    for matrix in solution.operators:
        entries = {}
        for q in range(1, count):
            for p in range(1, q + 1):
                value = program.factor * matrix[p - 1, q - 1] / (scales[p] * scales[q])
                entries[p, q] = _near(value, grid) + (count * grid if p == q else 0)  # rounding leaves it >= 0
        operators.append(entries)
        order = [(p, q) for p in range(1, count) for q in range(p + 1, count)]
        symmetric.append({(p, q): _near(program.factor * next(free) / (scales[p] * scales[q]), grid) for p, q in order})
    return operators, symmetric


def _near(value: float, grid: Fraction) -> Fraction:
    return round(Fraction(float(value)) / grid) * grid


def _up(value: float, grid: Fraction) -> Fraction:
    return (Fraction(float(value)) // grid + 1) * grid


def _lowered(exact: Exact, given: Multipliers, grid: Fraction, contraction: bool) -> Multipliers:
    """Every number of the bound, first the contraction if it may be, as low in its last digit as the others let it."""
    left = exact.left(given)

    def with_number(at: tuple[int, int] | None, value: Fraction) -> Multipliers:
        if at is None:
            return replace(given, contraction=value)
        return replace(given, additive={**given.additive, at: value})

    def proved(at: tuple[int, int] | None, value: Fraction) -> bool:
        return all(map(is_semidefinite, exact.under(with_number(at, value), left)))

    for at in (*([None] if contraction else []), *given.additive):
        value = given.contraction if at is None else given.additive[at]
        given = with_number(at, _least(value, grid, partial(proved, at)))
    return given


def _least(value: Fraction, grid: Fraction, proved: Callable[[Fraction], bool]) -> Fraction:
    """The least multiple of the grid that is proved: ``value`` is, and what is above one that is, is."""
    high, step = value / grid, 1
    while high >= step and proved((high - step) * grid):
        high, step = high - step, 2 * step
    while step > 1:
        step //= 2
        if high >= step and proved((high - step) * grid):
            high -= step
    return high * grid
