"""Claims about the values of quantities alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sympy import Le

from ..claims.balls import evaluate_number
from ..claims.evaluation import compiled
from ..claims.statement import Claim
from ..quantities import QUANTITIES, RUN_QUANTITIES, Quantity
from .file_entries import by_vocabulary, check_names, check_scope, rationals
from .lead import Found, ratio
from .protocol import Checked, Examined, Point, Reading, Sides, Space
from .quantity_limits import limit_of
from .short_numbers import short


@dataclass(frozen=True)
class ValuesPoint(Point):
    """Values of all quantities of a claim."""

    values: Mapping[str, Fraction]

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        check_scope(claim, "values")
        check_names("values", self.values, claim.quantities, claim)

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """The point as the claim speaks of it."""
        return _ExaminedValues(claim, self.values)

    def to_json(self) -> dict[str, Any]:
        """Plain data; ``parse`` reads it back."""
        return {"values": by_vocabulary(self.values)}


class _ExaminedValues(Examined):
    """The left side may be another one under each reading."""

    def __init__(self, claim: Claim, values: Mapping[str, Fraction]) -> None:
        self.values, self.lefts = values, {}
        for functional in map(claim.functional.under, claim.readings()):
            try:
                self.lefts[functional.expression] = evaluate_number(functional.expression, values)
            except ZeroDivisionError:
                raise ValueError(f"values: {functional.meaning} divides by zero") from None
        self.functional = claim.functional

    def sides(self, reading: Reading) -> Sides:
        return Sides(self.lefts[self.functional.under(reading).expression], self.values)


@dataclass(frozen=True)
class SameSides(Examined):
    """Sides that are the same under every reading."""

    both: Sides
    checks: Mapping[str, Checked] = field(default_factory=dict)

    def sides(self, reading: Reading) -> Sides:
        return self.both


def parse(data: Mapping[str, Any], claim: Claim) -> ValuesPoint:
    """Read values from plain data, not yet checked."""
    return ValuesPoint(rationals(data, "values"))


DECADES, RUN_DECADES = 3, 4
"""Decades from which numbers, and maxima over runs, are drawn: from 10 to minus this to 10 to this."""

COUNTS = 6
"""Number of whole numbers to draw from, from the least one on."""


class Values(Space):
    """Space of values of quantities on which a claim about these alone is searched.

    Each goes over several decades, maxima and other quantities that can be 0 also at 0, step sizes below the caps that
    the hypotheses set.
    """

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        under = map(statement.functional.under, statement.readings())
        self.lefts = tuple(dict.fromkeys(functional.expression for functional in under))

    left_out = "larger counts"

    @property
    def searched(self) -> str:
        """Description of the values that are searched, in words."""
        if not self.statement.quantities:
            return "numbers alone: nothing varies"
        return (
            f"values of {', '.join(self.statement.quantities)}: numbers from 1e-{DECADES} to 1e{DECADES}, maxima over "
            f"runs from 1e-{RUN_DECADES} to 1e{RUN_DECADES}, the {COUNTS} least of each count"
        )

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Draw random values."""
        return self._capped({name: _value(QUANTITIES[name], rng) for name in self.statement.quantities}, rng)

    def perturb(self, candidate: Mapping[str, float], rng: np.random.Generator, size: float) -> dict[str, float]:
        """Return a neighbour: every number that need not be whole moves by about ``size`` in the logarithm."""
        moved = {
            name: value
            if QUANTITIES[name].integer
            else min(QUANTITIES[name].upper, value * float(np.exp(size * rng.standard_normal())))
            for name, value in candidate.items()
        }
        return self._capped(moved, rng)

    def _capped(self, values: dict[str, float], rng: np.random.Generator) -> dict[str, float]:
        """The values, in their order and with a step size that the hypotheses allow."""
        if {"strong_convexity", "smoothness"} <= values.keys():
            values["strong_convexity"] = min(values["strong_convexity"], values["smoothness"])
        for name in ("cohort", "arbitrary_cohort"):
            if {name, "clients"} <= values.keys():
                values["clients"] = max(values["clients"], values[name])
        rest = {name: value for name, value in values.items() if name != "local_lr"}
        if "local_lr" in values and (cap := limit_of(self.statement, "local_lr", Le, rest)) is not None:
            values["local_lr"] = min(values["local_lr"], cap * 10.0 ** -rng.uniform(0, 3))
        return values

    def assess(self, candidate: Mapping[str, float]) -> tuple[Found, None] | None:
        """Evaluate both sides at the values, under the reading with the smallest left side.

        It is ``None`` also where a left side divides 0 by 0.
        """
        arrays = {name: np.float64(value) for name, value in candidate.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            left = float(np.min([compiled(expression)(arrays) for expression in self.lefts]))
        known = {name: value for name, value in candidate.items() if name in self.statement.quantities}
        return None if np.isnan(left) else found_at(self.statement, candidate, dict(candidate), known, left)

    def rounded(self, found: Found, digits: int) -> Iterator[ValuesPoint]:
        """Yield the values with so many digits; whole numbers stay whole."""
        values = {name: short(v, digits) for name, v in found.point.items()}
        yield ValuesPoint({name: values[name] for name in self.statement.quantities})


def _value(quantity: Quantity, rng: np.random.Generator) -> float:
    if quantity.integer:
        return float(rng.integers(int(quantity.lower), int(quantity.lower) + COUNTS))
    if quantity.upper < np.inf:
        return float(rng.choice([quantity.lower, quantity.upper, rng.uniform(quantity.lower, quantity.upper)]))
    decades = RUN_DECADES if quantity.name in RUN_QUANTITIES else DECADES
    size = 10.0 ** rng.uniform(-decades, decades)
    if not quantity.positive and rng.random() < 0.2:
        return 0.0
    return -size if quantity.lower < 0 and rng.random() < 0.5 else size


def found_at(
    statement: Claim, candidate: object, point: object, values: Mapping[str, float], left: float
) -> tuple[Found, None] | None:
    """Return the find at these values, where every hypothesis holds."""
    bound = statement.evaluate(**values)
    right = float(bound.value)
    if bound.hypotheses_hold is not True or not np.isfinite(right):
        return None
    return Found(candidate, point, dict(values), 1, left, right, float(ratio(left, bound.terms.values()))), None
