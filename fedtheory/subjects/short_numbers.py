"""Short numbers, fixed participants and rational constants, near those of a find."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # claims about values alone need none of it, nor torch
    from ..federations import Piecewise, Quadratic
    from ..participation import Fixed
    from ..setting import Setting

STEP_SHARES = tuple(Fraction(share) for share in ("1", "999/1000", "9/10", "1/2"))
"""Shares of a find's step size that are tried: rounding other numbers may have lowered the cap on it."""


def short(value: float | Fraction, digits: int, rounding: str = ROUND_HALF_EVEN) -> Fraction:
    """Round a value to so many significant decimal digits; what has no more of them stays.

    >>> short(Fraction(2, 3), 2), short(0.0123, 1), short(98765.0, 3), short(98765, 5)
    (Fraction(67, 100), Fraction(1, 100), Fraction(98800, 1), Fraction(98765, 1))
    """
    exact = Fraction(value)
    context = Context(prec=digits, rounding=rounding)
    return Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def rounded_to(value: float | Fraction, rounding: str, whole: bool = False) -> Fraction:
    """Return a limit as it is, where it is exact, else to 12 digits; a whole number where that is asked for.

    >>> rounded_to(0.1 + 0.2, "ROUND_FLOOR"), rounded_to(Fraction(7, 3), "ROUND_CEILING", whole=True)
    (Fraction(3, 10), Fraction(3, 1))
    """
    exact = value if isinstance(value, Fraction) else short(value, 12, rounding)
    return Fraction(math.floor(exact) if rounding == ROUND_FLOOR else math.ceil(exact)) if whole else exact


def fixed_sets(setting: Setting) -> list[Fixed]:
    """Return the arbitrary rounds' set, if it is fixed; for other processes, fixed sets of their size.

    A bound for arbitrary participation has to stand these too.
    """
    from ..participation import Fixed

    if isinstance(setting.participation, Fixed):
        return [setting.participation]
    clients = list(range(setting.federation.clients))
    return [Fixed((clients[i:] + clients[:i])[: setting.participation.cohort]) for i in clients]


def constants_of(fed: Quadratic, names: tuple[str, ...], given: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return the federation's constants of these names; ``given`` ones take precedence.

    Raises:
        ValueError: one is neither given nor the federation's.
    """
    from ..federations.relative_dissimilarity import least_whole_factor

    exact = {**fed.exact_constants(), **given}
    known = {
        "dissimilarity": lambda: root_above(fed.exact_squared_dissimilarity),
        "dissimilarity_at_optimum": lambda: root_above(fed.exact_squared_constants()["dissimilarity_at_optimum"]),
        "dissimilarity_factor": lambda: Fraction(least_whole_factor(fed) or 1),
        "dissimilarity_offset": lambda: offset_above(fed, given.get("dissimilarity_factor")),
    }
    missing = [name for name in names if name not in exact and name not in known]
    if missing:
        raise ValueError(f"{missing[0]} is not in a setting: give it")
    return {name: exact[name] if name in exact else known[name]() for name in names}


def offset_above(fed: Quadratic | Piecewise, factor: Fraction | None) -> Fraction:
    """Return the least G for this B (by default the least whole one), or a rational just above it.

    Raises:
        ValueError: it is infinite.
    """
    from ..federations.relative_dissimilarity import least_squared_offset, least_whole_factor

    square = least_squared_offset(fed, Fraction(factor or least_whole_factor(fed) or 1) ** 2)
    if square is None:
        raise ValueError(
            f"dissimilarity_offset is infinite for dissimilarity_factor = {factor}: allowed is a larger one"
        )
    return root_above(square)


def root_above(square: Fraction) -> Fraction:
    """Return the square root where it is rational, else a rational just above it.

    >>> root_above(Fraction(9, 4)), float(root_above(Fraction(2)))
    (Fraction(3, 2), 1.414213562374)
    """
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if root**2 == square:
        return root
    scale = 10**12
    return Fraction(math.isqrt(square.numerator * scale**2 // square.denominator) + 1, scale)
