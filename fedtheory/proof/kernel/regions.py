"""Where a theorem holds: conditions on the scalars, and the chart by which inequalities on them are certified."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .. import positivity, regions
from .forms import STEP, STEPS
from .scalars import Ring, Scalar

Kind = Literal["positive", "nonnegative", "count", "capped", "interval", "at_least"]


@dataclass(frozen=True)
class Condition:
    """One scalar's condition: > 0, >= 0, a count >= 1, 0 < name <= bound, 0 <= name <= bound, or name >= bound."""

    name: str
    kind: Kind
    bound: Scalar | None = None

    def polynomials(self, ring: Ring) -> list[tuple[Scalar, bool]]:
        """(expression, whether strict): all of them >= 0 (> 0 where strict)."""
        x = ring[self.name]
        match self.kind:
            case "positive":
                return [(x, True)]
            case "nonnegative":
                return [(x, False)]
            case "count":
                return [(x - 1, False)]
            case "capped":
                return [(x, True), (self._bound - x, False)]
            case "interval":
                return [(x, False), (self._bound - x, False)]
            case "at_least":
                return [(x - self._bound, False)]

    @property
    def _bound(self) -> Scalar:
        if self.bound is None:
            raise ValueError(f"{self.name}: {self.kind} needs a bound")
        return self.bound

    def part(self) -> regions.Part:
        """The same as a part of a chart, which covers every point that meets the condition."""
        if self.kind in ("positive", "nonnegative", "count"):
            return getattr(regions, self.kind)(self.name)
        bound = self._bound.expression()
        if self.kind == "interval":
            return regions.interval(self.name, 0, bound)
        return getattr(regions, self.kind)(self.name, bound)


def _chart(ring: Ring, conditions: tuple[Condition, ...], step: regions.Part | None = None) -> regions.Region:
    parts = []
    for condition in conditions:
        if condition.name == STEPS:
            if condition.kind != "count":
                raise ValueError(f"{STEPS}: allowed is a count, as steps are counted from 0 to {STEPS} - 1")
            parts += [regions.at_least(STEPS, (ring[STEP] + 1).expression()), step or regions.count(STEP, 0)]
        else:
            parts.append(condition.part())
    return regions.region(*parts)


@dataclass(frozen=True)
class Where:
    """A region: one condition a scalar; a bound uses only scalars of later conditions, and divides by nothing that may
    be 0 under these."""

    ring: Ring
    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        for i, condition in enumerate(self.conditions):
            bound = condition.bound
            if bound is not None and not bound.is_polynomial:
                later, bottom = _chart(self.ring, self.conditions[i + 1 :]), bound.bottom.expression()
                if not (later.never_zero(bottom) or later.never_zero(-bottom)):
                    raise ValueError(f"{condition.name}: the bound {bound} divides by what may be 0")

    def chart(self) -> regions.Region:
        """All points of the region, and with them every step k from 0 to K - 1 where there are steps."""
        return _chart(self.ring, self.conditions)

    def certifies(self, expression: Scalar) -> bool:
        """Whether expression >= 0 is certified everywhere on the region, where it is defined everywhere."""
        if not self.defines(expression):
            return False
        parts = self._parts(expression)
        return (len(parts) > 1 and all(map(self._certified, parts))) or self._certified(expression)

    def _certified(self, expression: Scalar) -> bool:
        if expression.is_zero or positivity.certify(expression.expression(), self.chart()) is not None:
            return True
        return STEP in expression.names and all(
            positivity.certify(expression.expression(), chart) is not None for chart in self._first_and_later()
        )

    def _first_and_later(self) -> Iterator[regions.Region]:
        """The points at the step 0, and those at later steps: a step is a whole number."""
        for step in (regions.equal(STEP, 0), regions.count(STEP, 1)):
            yield _chart(self.ring, self.conditions, step)

    def _parts(self, expression: Scalar) -> list[Scalar]:
        """The coefficients of the products of letters that are only known to be >= 0: if all are >= 0, so is the sum,
        and each is in lower terms."""
        parts = [expression]
        for name in (c.name for c in self.conditions if c.kind == "nonnegative"):
            if name not in expression.bottom.names:
                parts = [part for p in parts for part in p.coefficients(name).values()]
        return parts

    def defines(self, expression: Scalar) -> bool:
        """Whether the denominator is never 0 on the region."""
        if expression.is_polynomial:
            return True
        chart, bottom = self.chart(), expression.bottom.expression()
        return chart.never_zero(bottom) or chart.never_zero(-bottom)

    def within(self, other: Where) -> bool:
        """Whether every point of this region is certified to be one of the other."""
        if self == other or set(other.conditions) <= set(self.conditions):
            return True
        named = {condition.name for condition in self.conditions}
        for condition in other.conditions:
            if condition in self.conditions:
                continue
            if condition.name not in named:
                return False
            for expression, strict in condition.polynomials(self.ring):
                if not self.certifies(expression):
                    return False
                if strict and not self.chart().never_zero(expression.expression()):
                    return False
        return True

    def __hash__(self) -> int:
        return hash(self.conditions)
