"""Searching claims about a function at some points, and claims about the values of quantities alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from sympy import Le

from ..claims.evaluation import compiled
from ..claims.statement import Claim
from ..moments.points import Points
from ..quantities import QUANTITIES, RUN_QUANTITIES, Quantity
from .found import Found, ratio
from .runs import limit_of


@dataclass(frozen=True)
class FunctionCandidate:
    """A quadratic function and three points, in floats; see ``Points``."""

    curvatures: tuple[float, ...]
    slope: tuple[float, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    z: tuple[float, ...]

    def points(self) -> Points:
        """The same in Fractions."""
        return Points(self.curvatures, self.slope, self.x, self.y, self.z)


class Functions:
    """The functions and points on which a lemma is searched: one to three dimensions, curvatures at the ends of their
    range or inside it, points on an axis, mirrored (y and z on two sides of x) or anywhere."""

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        self.convex = "strong_convexity" in {*statement.quantities, *(a.quantity for a in statement.assumptions)}

    def structured(self) -> Iterator[FunctionCandidate]:
        """Nothing to look at first."""
        return iter(())

    def draw(self, rng: np.random.Generator) -> FunctionCandidate:
        """A random candidate."""
        dimension = int(rng.integers(1, 4))
        largest = 10.0 ** rng.uniform(-3, 3)
        smallest = largest * float(rng.choice([1.0, 10.0 ** -rng.uniform(0, 4)])) if self.convex else -largest
        inner = rng.uniform(smallest, largest, dimension)
        curvatures = np.where(rng.random(dimension) < 0.6, rng.choice([smallest, largest], dimension), inner)
        x, y, z, slope = (self._vector(rng, dimension) for _ in range(4))
        if rng.random() < 0.4:
            y = 2 * x - z
        return FunctionCandidate(*(tuple(map(float, vector)) for vector in (curvatures, slope, x, y, z)))

    @staticmethod
    def _vector(rng: np.random.Generator, dimension: int) -> np.ndarray:
        """Zero, along an axis, or anywhere."""
        vector, kind = 10.0 ** rng.uniform(-3, 3) * rng.standard_normal(dimension), rng.integers(3)
        return vector * (np.arange(dimension) == rng.integers(dimension)) if kind == 1 else kind * vector

    def perturb(self, candidate: FunctionCandidate, rng: np.random.Generator, size: float) -> FunctionCandidate:
        """A neighbour: numbers move by about ``size`` in the logarithm, points also relative to their distances."""
        spread = size * max(map(abs, (*candidate.x, *candidate.y, *candidate.z)))
        moves = {
            name: tuple(v + spread * rng.standard_normal() * rng.integers(2) for v in getattr(candidate, name))
            for name in ("x", "y", "z")
        }
        curvatures = tuple(h * float(np.exp(size * rng.standard_normal() * rng.integers(2)))
                           for h in candidate.curvatures)  # fmt: skip
        return replace(candidate, curvatures=curvatures, **moves)

    def readings(self, found: Found) -> tuple[str, ...]:
        """There is one."""
        return ("",)

    def assess(self, candidate: FunctionCandidate) -> tuple[Found, None] | None:
        """Both sides at the points."""
        points = candidate.points()
        values = points.quantities(self.statement.functional)
        values = {name: value for name, value in values.items() if name in self.statement.quantities}
        left = float(points.left(self.statement.functional))
        return _found(self.statement, candidate, points, values, left)


class Values:
    """The values of quantities on which a claim about these alone is searched: each over several decades, maxima and
    other quantities that can be 0 also at 0, step sizes below the caps that the hypotheses set."""

    def __init__(self, statement: Claim) -> None:
        self.statement = statement

    def structured(self) -> Iterator[dict[str, float]]:
        """Nothing to look at first."""
        return iter(())

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Random values."""
        return self._capped({name: _value(QUANTITIES[name], rng) for name in self.statement.quantities}, rng)

    def perturb(self, candidate: Mapping[str, float], rng: np.random.Generator, size: float) -> dict[str, float]:
        """A neighbour: every number that need not be whole moves by about ``size`` in the logarithm."""
        moved = {
            name: value if QUANTITIES[name].integer
            else min(QUANTITIES[name].upper, value * float(np.exp(size * rng.standard_normal())))
            for name, value in candidate.items()
        }  # fmt: skip
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

    def readings(self, found: Found) -> tuple[str, ...]:
        """There is one."""
        return ("",)

    def assess(self, candidate: Mapping[str, float]) -> tuple[Found, None] | None:
        """Both sides at the values; ``None`` also where the left side divides 0 by 0."""
        arrays = {name: np.float64(value) for name, value in candidate.items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            left = float(compiled(self.statement.functional.expression)(arrays))
        known = {name: value for name, value in candidate.items() if name in self.statement.quantities}
        return None if np.isnan(left) else _found(self.statement, candidate, dict(candidate), known, left)


def _value(quantity: Quantity, rng: np.random.Generator) -> float:
    if quantity.integer:
        return float(rng.integers(int(quantity.lower), int(quantity.lower) + 6))
    if quantity.upper < np.inf:
        return float(rng.choice([quantity.lower, quantity.upper, rng.uniform(quantity.lower, quantity.upper)]))
    size = 10.0 ** rng.uniform(-4, 4) if quantity.name in RUN_QUANTITIES else 10.0 ** rng.uniform(-3, 3)
    if not quantity.positive and rng.random() < 0.2:
        return 0.0
    return -size if quantity.lower < 0 and rng.random() < 0.5 else size


def _found(
    statement: Claim, candidate: object, point: object, values: Mapping[str, float], left: float
) -> tuple[Found, None] | None:
    """The find at these values, where every hypothesis holds."""
    bound = statement.evaluate(**values)
    right = float(bound.value)
    if bound.hypotheses_hold is not True or not np.isfinite(right):
        return None
    return Found(candidate, point, dict(values), 1, left, right, float(ratio(left, bound.terms.values()))), None
