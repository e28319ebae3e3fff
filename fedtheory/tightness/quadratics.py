"""Exact values of a claim's left side on federations of quadratics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..federations import Quadratic
from ..participation import Fixed
from ..setting import Setting
from .matched_problem import Comparison

ATTAINED_ROUNDS = 10**5
"""Largest number of rounds for which exact errors are computed."""


def attained_by_quadratics(compared: Comparison, rounds: Sequence[int]) -> dict[int, float]:
    """Compute the largest exact error of quadratics on a line with one curvature, mu or L.

    Participants all pull one way as hard as the dissimilarity lets them; it is the same everywhere, as the claims ask.
    Where all clients take part, they pull in turn one way and the other.
    """
    counted = [r for r in rounds if r <= ATTAINED_ROUNDS]
    if compared.statement.functional.name not in ("final_squared_distance", "final_gap") or not counted:
        return {}
    functions = compared.functions
    best: dict[int, float] = {}
    for curvature in {functions.strong_convexity, functions.smoothness} - {Fraction(0)}:
        setting = line_setting(compared, curvature)
        exact = setting.exact(counted).squared_distance
        scale = curvature / 2 if compared.statement.functional.name == "final_gap" else 1
        for count, error in zip(counted, exact, strict=True):
            best[count] = max(best.get(count, 0.0), float(scale) * float(error))
    return best


def line_setting(compared: Comparison, curvature: Fraction) -> Setting:
    """Make quadratics on a line of one curvature: participants have their minimisers on the start's side of x* = 0,
    unless they are all clients."""
    values = compared.values
    clients, size = int(values["clients"]), int(values["arbitrary_cohort"])
    reach = _slope(compared) / curvature
    if size == clients:
        offsets = [reach, -reach] * (clients // 2) + [Fraction(0)] * (clients % 2)
    else:
        inside, outside = Fraction(1), Fraction(size, clients - size)
        most = max(inside, outside)
        offsets = [reach * inside / most] * size + [-reach * outside / most] * (clients - size)
    federation = Quadratic.common_hessian(offsets, curvature, compared.noise, server_noise=compared.server_noise)
    return Setting(federation, compared.algorithm, Fixed(range(size)), start=values["initial_distance"])


def _slope(compared: Comparison) -> Fraction:
    """|grad F_i(x*)| of the largest: the dissimilarity; where the claim bounds the heterogeneity gap instead, what that
    allows at every curvature."""
    if "heterogeneity_gap" in compared.statement.quantities:
        ratio = compared.functions.condition
        return compared.dissimilarity * Fraction(int(ratio ** Fraction(1, 2) * 10**6), 10**6)
    return compared.dissimilarity
