"""Regions on which theorems hold: conditions on the scalars, and the chart by which inequalities on them are
certified."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from .charts import Chart
from .forms import STEP, STEPS
from .scalars import Ring, Scalar
from .sealed import Refused

Kind = Literal["positive", "nonnegative", "count", "capped", "interval", "at_least", "above", "real"]


@dataclass(frozen=True)
class Condition:
    """Condition on one scalar: > 0, >= 0, a count >= 1, 0 < name <= bound, 0 <= name <= bound, name >= bound,
    name > bound, or none: any number."""

    name: str
    kind: Kind
    bound: Scalar | None = None

    def polynomials(self, ring: Ring) -> list[tuple[Scalar, bool]]:
        """Return pairs (expression, whether strict); all expressions are >= 0, and > 0 if strict."""
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
            case "at_least" | "above":
                return [(x - self._bound, self.kind == "above")]
            case "real":
                return []

    @property
    def used(self) -> frozenset[str]:
        """Letters of the bound."""
        return frozenset() if self.bound is None else self.bound.names

    @property
    def _bound(self) -> Scalar:
        if self.bound is None:
            raise ValueError(f"{self.name}: {self.kind} needs a bound")
        return self.bound

    def written(self, ring: Ring) -> Scalar:
        """Write the name through its own parameters >= 0, in a ring that has them."""
        own = [ring[name] for name in self.parameters]
        match self.kind:
            case "positive" | "nonnegative":
                return own[0]
            case "count":
                return own[0] + 1
            case "capped":
                return self._bound.within(ring) / (1 + own[0])
            case "interval":
                return self._bound.within(ring) * own[0] / (own[0] + own[1])
            case "at_least" | "above":
                return self._bound.within(ring) + own[0]
            case "real":
                return own[0] - own[1]

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters by which the letter is written; none is a letter's name."""
        made = [f"{self.name}_", f"{self.name}__"]
        return made if self.kind in ("interval", "real") or self.name == STEPS else made[:1]


def standing(conditions: Sequence[Condition], known: Set[str] = frozenset()) -> tuple[Condition, ...]:
    """Return the conditions whose bounds have letters that are known, or that later ones of these speak of."""
    kept: list[Condition] = []
    for condition in reversed(conditions):
        if condition.used <= known | {c.name for c in kept}:
            kept.insert(0, condition)
    return tuple(kept)


@lru_cache(maxsize=1000)
def _chart(ring: Ring, conditions: tuple[Condition, ...], step: Literal["any", "first", "later"] = "any") -> Chart:
    """Return the chart of conditions whose bounds use only letters of later ones; equal regions share theirs."""
    parameters = tuple(p for c in conditions for p in c.parameters)
    wide = Ring(" ".join([*ring.names, *parameters]))
    letters: list[tuple[str, Scalar]] = []
    for i, condition in enumerate(conditions):
        later = {c.name for c in conditions[i + 1 :]}
        if condition.name in later or not condition.used <= later:
            raise ValueError(f"{condition.name}: allowed is one condition a name, with a bound in names of later ones")
        if condition.name != STEPS:
            letters.append((condition.name, condition.written(wide)))
        elif condition.kind == "count":
            own, more = (wide[name] for name in condition.parameters)
            at = {"any": own, "first": 0 * own, "later": own + 1}[step]
            letters += [(STEP, at), (STEPS, at + 1 + more)]
        else:
            raise ValueError(f"{STEPS}: allowed is a count, as steps are counted from 0 to {STEPS} - 1")
    positive = frozenset(c.parameters[0] for c in conditions if c.kind in ("positive", "above"))
    return Chart(ring.names, wide, tuple(letters), parameters, positive)


@dataclass(frozen=True)
class Where:
    """Region with one condition for each scalar. A bound uses only scalars of later conditions, and divides by nothing
    that may be 0 under these."""

    ring: Ring
    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        for i, condition in enumerate(self.conditions):
            if condition.name == STEP:
                raise ValueError(f"{STEP}: allowed is no condition, as it is any step from 0 to {STEPS} - 1")
            taken = {*condition.parameters} & {*self.ring.names}
            if taken:
                raise ValueError(f"{condition.name}: {', '.join(sorted(taken))} is a name of the ring, allowed is none")
            bound = condition.bound
            if bound is not None and not bound.is_polynomial:
                later = _chart(self.ring, self.conditions[i + 1 :])
                if not (later.never_zero(bound.bottom) or later.never_zero(-bound.bottom)):
                    raise ValueError(f"{condition.name}: the bound {bound} divides by what may be 0")

    @cached_property
    def chart(self) -> Chart:
        """Chart of all points of the region, with every step k from 0 to K - 1 if there are steps."""
        return _chart(self.ring, self.conditions)

    def certifies(self, expression: Scalar) -> bool:
        """Whether expression >= 0 is certified everywhere on the region, where it is defined everywhere."""
        if (STEP not in expression.names and self.chart.seen_negative(expression)) or not self.defines(expression):
            return False
        parts = self._parts(expression)
        return (len(parts) > 1 and all(map(self._certified, parts))) or self._certified(expression)

    def ask(self, expression: Scalar, what: str = "") -> None:
        """Refuse an expression that is not certified to be >= 0 on the region."""
        if not self.certifies(expression):
            raise Refused(f"{what} {expression}".strip() + ": not certified to be >= 0 on the region")

    def _certified(self, expression: Scalar) -> bool:
        if expression.is_zero or self.chart.certifies(expression):
            return True
        return STEP in expression.names and all(chart.certifies(expression) for chart in self._first_and_later)

    @cached_property
    def _first_and_later(self) -> tuple[Chart, Chart]:
        """The points at the step 0, and those at later steps: a step is a whole number."""
        return _chart(self.ring, self.conditions, "first"), _chart(self.ring, self.conditions, "later")

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
        return self.never_zero(expression.bottom) or self.never_zero(-expression.bottom)

    def need(self, *expressions: Scalar) -> None:
        """Refuse an expression that divides by what may be 0 on the region."""
        for expression in expressions:
            if not self.defines(expression):
                raise Refused(f"{expression}: divides by what may be 0 on the region")

    def never_zero(self, expression: Scalar) -> bool:
        """Whether the numerator is seen to be > 0 everywhere on the region."""
        return self.chart.never_zero(expression)

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
                if strict and not self.never_zero(expression):
                    return False
        return True

    def __hash__(self) -> int:
        return hash(self.conditions)
