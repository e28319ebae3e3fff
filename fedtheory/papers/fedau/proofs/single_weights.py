"""Inequalities between numbers: (B.6.7), the nearly optimal weights of Assumption 5, and those of appendix A.3."""

from __future__ import annotations

from ....claims import readings
from ....proof.kernel.number_bounds import value
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.run_bounds import RunBound, restrict, weaken
from ....proof.kernel.scalars import Ring
from ....proof.translate.claim_bounds import Bounds, made_bounds

RING = Ring("omega p N S")
omega, p, N, S = RING.symbols
_CHANCE = Condition("p", "interval", RING.number(1))


def initial() -> RunBound:
    """(B.6.7): (p - 1)^2 <= 1."""
    return weaken(value(Where(RING, (_CHANCE,)), (p - 1) ** 2), RING.number(1))


def nearly_optimal() -> RunBound:
    """1/81 - (p omega - 1)^2 = p^2 (10/(9 p) - omega) (omega - 8/(9 p))."""
    most, least = 10 / (9 * p), 8 / (9 * p)
    where = Where(RING, (Condition("omega", "interval", most), Condition("p", "capped", RING.number(1))))
    given = restrict(value(where, (p * omega - 1) ** 2), where, {}, [omega - least])
    return weaken(given, RING.number(1) / 81, [p**2 * (most - omega)])


def known_scale() -> RunBound:
    """p omega^2 = N/S at omega = 1/p, p = S/N."""
    return value(Where(RING, (Condition("N", "count"), Condition("S", "count"))), N / S)


def known_error() -> RunBound:
    """(p omega - 1)^2 = 0 at omega = 1/p."""
    return value(Where(RING, (_CHANCE,)), 0 * p)


_LETTERS = {"omega": "aggregation_weight", "p": "participation_probability", "N": "clients", "S": "cohort"}
_BOUNDS: Bounds = {
    "eqB_6_7@main": (initial, _LETTERS, "initial_weight_error"),
    "asm5.interval@main": (nearly_optimal, _LETTERS, "squared_weight_error"),
    "appA_3.scale@main": (known_scale, _LETTERS, "known_scale"),
    "appA_3.error@main": (known_error, _LETTERS, "known_error"),
}

DERIVATIONS = made_bounds("fedau", _BOUNDS, {"asm5.interval@main": {readings.FRACTIONS: readings.BELOW_THE_LINE}})
"""The claims' theorems."""
