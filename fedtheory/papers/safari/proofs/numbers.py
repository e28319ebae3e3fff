"""Inequalities between numbers: SAFARI's floor under runs that meet a condition on q, and appendix A.1's ratio."""

from __future__ import annotations

from ....proof.kernel.number_bounds import value
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.run_bounds import RunBound, restrict, weaken
from ....proof.kernel.scalars import Ring
from ....proof.translate.claim_bounds import Bounds, made_bounds
from .kinds_of_round import LETTERS

RING = Ring("q N m c eta_s L sigma sigma_G slope G1")
q, N, m, c, eta_s, L, sigma, sigma_G, slope, G1 = RING.symbols


def floor() -> RunBound:
    """q (sigma_G^2/6 - w sigma sigma_G - w^2 sigma^2/2) <= (1 - q) G_1 + q |grad F|^2, w = L eta_s.

    With b = sigma_G + w sigma and a = |grad F|, six times the right side's excess is the slack of the condition on q,

        (1 - w) (1 - q) G_1 - q (4 sigma_G^2 - 2 (1 - 4 w)/(1 - w)^2 (a + b)^2),

    plus q (2 a - b)^2 and what is >= 0 as 1 - 4 w <= (1 - w)^2.
    """
    data = (Condition(name, "nonnegative") for name in ("sigma", "sigma_G", "slope", "G1"))
    step = Condition("eta_s", "capped", 1 / (2 * L)), Condition("L", "positive")
    where = Where(RING, (*step, Condition("q", "interval", RING.number(1)), *data))
    w = L * eta_s
    b = sigma_G + w * sigma
    slack = (1 - w) * (1 - q) * G1 - q * (4 * sigma_G**2 - 2 * (1 - 4 * w) / (1 - w) ** 2 * (slope + b) ** 2)
    least = q * (sigma_G**2 / 6 - w * sigma * sigma_G - w**2 * sigma**2 / 2)
    given = restrict(value(where, least), where, {}, [slack])
    return weaken(given, (1 - q) * G1 + q * slope**2, [RING.number(1) / 6], [(q / 6, 2 * slope - b)])


def ratio() -> RunBound:
    """(1 - q)/q <= x/(1 - x) where q >= 1 - x > 0, x = c/(m K)."""
    x = c / (m * N)
    rounds = Condition("q", "at_least", 1 - x), Condition("N", "above", c / m)
    where = Where(RING, (*rounds, Condition("m", "count"), Condition("c", "positive")))
    return weaken(value(where, (1 - q) / q), x / (1 - x))


_LETTERS = {name: quantity for name, quantity in LETTERS.items() if name in RING.names} | {
    "N": "local_steps", "c": "hidden_constant", "slope": "gradient_norm", "G1": "least_server_gradient",
}  # fmt: skip
_BOUNDS: Bounds = {
    "thm4@floor": (floor, _LETTERS, "floor_of_client_rounds"),
    "appA_1.ratio@main": (ratio, _LETTERS, "server_rounds_per_client_round"),
}

DERIVATIONS = made_bounds("safari", _BOUNDS)
"""The claims' theorems."""
