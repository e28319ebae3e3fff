"""Claims about a function at some points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..claims.balls import ball
from ..claims.statement import Claim
from ..moments.function_points import Points
from .file_entries import (
    by_vocabulary,
    check_constants,
    check_kind,
    check_scope,
    check_size,
    entry,
    rationals,
    stated_constants,
    texts,
    vector,
)
from .lead import Found
from .protocol import Examined, Point, Sides, Space, assumption_checks
from .short_numbers import short
from .values import SameSides, found_at

VECTORS = ("curvatures", "slope", "x", "y", "z")


@dataclass(frozen=True)
class FunctionPoint(Point):
    """A quadratic function and points; ``constants`` are the values of ``stated_constants``."""

    points: Points
    constants: Mapping[str, Fraction]
    bearer = "function"

    def check(self, claim: Claim) -> None:
        """Raise ``ValueError`` unless this is an example of what the claim speaks of, with numbers in bounds."""
        check_scope(claim, "function")
        check_constants(claim, self.constants)
        check_size("dimension", len(self.points.x))

    def examined(self, claim: Claim, follow: bool = True) -> Examined:
        """Return the points as the claim speaks of them."""
        points, functional = self.points, claim.functional
        true = {"smoothness": points.smoothness, "strong_convexity": points.strong_convexity}
        distances = {name: ball(square).sqrt() for name, square in points.squares(functional).items()}
        sides = Sides(points.left(functional), true | dict(self.constants) | distances)
        return SameSides(sides, assumption_checks(claim, self.constants, true))

    def to_json(self) -> dict[str, Any]:
        """Plain data; ``parse`` reads it back."""
        points = self.points
        return {
            "function": {"kind": "quadratic", "curvatures": texts(points.curvatures), "slope": texts(points.slope)},
            "points": {name: texts(getattr(points, name)) for name in "xyz"},
            "constants": by_vocabulary(self.constants),
        }


def parse(data: Mapping[str, Any], claim: Claim) -> FunctionPoint:
    """Read points from plain data, not yet checked."""
    function, points = entry(data, "function", dict), entry(data, "points", dict)
    check_kind(function, "quadratic")
    vectors = {name: vector(function if name in ("curvatures", "slope") else points, name) for name in VECTORS}
    return FunctionPoint(Points(**vectors), rationals(data, "constants"))


@dataclass(frozen=True)
class FunctionCandidate:
    """A quadratic function and three points, in floats; see ``Points``."""

    curvatures: tuple[float, ...]
    slope: tuple[float, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    z: tuple[float, ...]

    def points(self) -> Points:
        """The function and its points in Fractions."""
        return Points(*(tuple(map(Fraction, v)) for v in (self.curvatures, self.slope, self.x, self.y, self.z)))


MOST_DIMENSIONS = 3


class Functions(Space):
    """Space of functions and points on which a lemma is searched.

    There are a few dimensions, curvatures at the ends of their range or inside it, points on an axis, mirrored (y and z
    on two sides of x) or anywhere.
    """

    def __init__(self, statement: Claim) -> None:
        self.statement = statement
        self.convex = "strong_convexity" in {*statement.quantities, *(a.quantity for a in statement.assumptions)}

    left_out = "functions that are not quadratic"

    @property
    def searched(self) -> str:
        """Description of the functions that are searched, in words."""
        kind = "convex quadratic" if self.convex else "quadratic"
        return f"{kind} functions in 1 to {MOST_DIMENSIONS} dimensions, at three points"

    def draw(self, rng: np.random.Generator) -> FunctionCandidate:
        """A random candidate."""
        dimension = int(rng.integers(1, MOST_DIMENSIONS + 1))
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
        """Return a neighbour: numbers move by about ``size`` in the logarithm, points also relative to their
        distances."""
        spread = size * max(map(abs, (*candidate.x, *candidate.y, *candidate.z)))
        moves = {
            name: tuple(v + spread * rng.standard_normal() * rng.integers(2) for v in getattr(candidate, name))
            for name in ("x", "y", "z")
        }
        curvatures = tuple(
            h * float(np.exp(size * rng.standard_normal() * rng.integers(2))) for h in candidate.curvatures
        )
        return replace(candidate, curvatures=curvatures, **moves)

    def assess(self, candidate: FunctionCandidate) -> tuple[Found, None] | None:
        """Evaluate both sides at the points."""
        points = candidate.points()
        values = points.quantities(self.statement.functional)
        values = {name: value for name, value in values.items() if name in self.statement.quantities}
        left = float(points.left(self.statement.functional))
        return found_at(self.statement, candidate, points, values, left)

    def rounded(self, found: Found, digits: int) -> Iterator[FunctionPoint]:
        """Yield the points with so many digits; constants are those of the rounded function."""
        near = Points(**{name: tuple(short(v, digits) for v in getattr(found.point, name)) for name in VECTORS})
        true = {"smoothness": near.smoothness, "strong_convexity": near.strong_convexity}
        yield FunctionPoint(near, {n: true[n] for n in stated_constants(self.statement) if n in true})
