"""Inequalities between numbers that follow from FAST's conditions on q: a floor, how often a round may be arbitrary,
and Remark 2."""

from __future__ import annotations

from fractions import Fraction

from ....claims import readings
from ....proof.kernel.number_bounds import value
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.run_bounds import RunBound, restrict, weaken
from ....proof.kernel.scalars import Ring
from ....proof.translate.claim_bounds import Bounds, made_bounds
from .kinds_of_round import LETTERS

RING = Ring("eta q L K k mu m n sigma_G slope G1 G3")
eta, q, L, K, _, mu, _, _, sigma_G, slope, G1, G3 = RING.symbols
z = L * K * eta
_CHANCE = Condition("q", "interval", RING.number(1))
_CAPPED = Condition("eta", "capped", 1 / (8 * L * K)), Condition("L", "positive"), Condition("K", "count")


def floor() -> RunBound:
    """c (1 - q) sigma_G^2 <= q G_1 + (1 - q) |grad F|^2, c = 343/2000, of the slack s of the condition on q: with
    t = 29/100 the right side is, but for multiples >= 0 of z, at least t s plus 1 - q times

        (1 - t) (|grad F| - t sigma_G/(1 - t))^2 + (t - c - t^2/(1 - t)) sigma_G^2.
    """
    data = (Condition(name, "nonnegative") for name in ("sigma_G", "slope", "G1", "G3"))
    where = Where(RING, (*_CAPPED, _CHANCE, *data))
    p, share = 1 - q, Fraction(29, 100)
    slack = q * (G1 - 2 * z * G3) - p * (2 * K**2 * sigma_G**2 - (1 - 2 * z) * (sigma_G + slope) ** 2)
    given = restrict(value(where, Fraction(343, 2000) * p * sigma_G**2), where, {}, [slack])
    square = p * (1 - share), slope - sigma_G * share / (1 - share)
    return weaken(given, q * G1 + p * slope**2, [RING.number(share)], [square])


def room() -> RunBound:
    """1 - q = mu^2/(256 L^2) - (mu/(16 L) - 2 z)^2 less the slack of the condition on q."""
    where = Where(RING, (*(Condition(n, "positive") for n in ("eta", "L", "mu")), Condition("K", "count"), _CHANCE))
    slack = q - 1 + mu * K * eta / 4 - 4 * z**2
    given = restrict(value(where, 1 - q), where, {}, [slack])
    return weaken(given, mu**2 / (256 * L**2), [RING.number(1)], [(RING.number(1), mu / (16 * L) - 2 * z)])


def identical() -> RunBound:
    """2 z - 1 <= 0 under z <= 1/8."""
    return weaken(value(Where(RING, _CAPPED), 2 * z - 1), RING.number(0))


_LETTERS = {name: quantity for name, quantity in LETTERS.items() if name in RING.names} | {
    "slope": "gradient_norm", "G1": "least_full_pseudogradient", "G3": "peak_cohort_pseudogradient",
}  # fmt: skip
_BOUNDS: Bounds = {
    "thm1@floor": (floor, _LETTERS, "floor_of_snapshots"),
    "thm2@room": (room, _LETTERS, "arbitrary_probability"),
    "rem2.a@main": (identical, _LETTERS, "least_snapshot_probability_identical"),
}

DERIVATIONS = made_bounds("fast", _BOUNDS, {"rem2.a@main": {readings.Q_CONDITION: readings.PRODUCT}})
"""The claims' theorems."""
