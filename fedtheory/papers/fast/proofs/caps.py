"""For which constant c of a printed cap the inequality that needs it holds."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from ....proof.positivity import weakest_cap
from .coefficients_a2 import left_side
from .coefficients_a3 import cohort_cap, dissimilarity_absorption, distance_absorption, noise_absorption
from .tables import K, L, m, n, setting, z

CAPS = {
    "a2.11": (left_side(15, z**2), lambda c: setting(cap=c / (L * K))),
    "a2.22": (left_side(30, z**2), lambda c: setting(cap=c / (L * K))),
    "a3.30_distance": (distance_absorption(), lambda c: cohort_cap(m, c)),
    "a3.30_dissimilarity": (dissimilarity_absorption(), lambda c: cohort_cap(m, c)),
    "a3.30_noise": (noise_absorption(m), lambda c: cohort_cap(m, c)),
    "a3.38_noise": (noise_absorption(n), lambda c: cohort_cap(n, c)),
}
"""Inequality and region by the constant c of the cap: z <= c in A.2, z <= c/m or c/n in A.3."""


@cache
def cap_of(name: str, tolerance: Fraction = Fraction(1, 10**4)) -> tuple[Fraction | None, Fraction | None]:
    """The weakest cap of a step: the largest constant proved, and the smallest refuted.

    >>> proved, refuted = cap_of("a2.22", Fraction(1, 100))
    >>> bool(proved**2 <= Fraction(1, 120) <= refuted**2)
    True
    """
    if name not in CAPS:
        raise ValueError(f"no cap is named {name!r}: known are {', '.join(CAPS)}")
    expression, where = CAPS[name]
    return weakest_cap(expression, where, Fraction(0), Fraction(1, 2), tolerance)
