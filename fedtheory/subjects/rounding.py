"""Short numbers, and fixed participants, near those of a find."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from ..participation import Fixed
from ..setting import Setting

STEP_SHARES = tuple(Fraction(share) for share in ("1", "999/1000", "9/10", "1/2"))
"""Shares of a find's step size that are tried: rounding other numbers may have lowered the cap on it."""


def short(value: float | Fraction, digits: int, rounding: str = ROUND_HALF_EVEN, whole: bool = False) -> Fraction:
    """The value rounded to so many significant decimal digits.

    >>> short(Fraction(2, 3), 2), short(0.0123, 1), short(98765.0, 3, whole=True)
    (Fraction(67, 100), Fraction(1, 100), Fraction(98800, 1))
    """
    exact = Fraction(value)
    if whole and exact == int(exact) and len(str(int(exact))) <= digits:
        return exact
    context = Context(prec=digits, rounding=rounding)
    return Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def fixed_sets(setting: Setting) -> list[Fixed]:
    """The arbitrary rounds' set, if it is fixed; for other processes, fixed sets of their size: a bound for arbitrary
    participation has to stand these too."""
    if isinstance(setting.participation, Fixed):
        return [setting.participation]
    clients = list(range(setting.federation.clients))
    return [Fixed((clients[i:] + clients[:i])[: setting.participation.cohort]) for i in clients]
