"""A quadratic function and points: what lemmas about smooth and strongly convex functions speak of, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..functionals import LINEARIZATION_ERROR, PERTURBED_LINEARIZATION_ERROR, Functional
from ..rationals import exact_array

Vector = tuple[Fraction, ...]


@dataclass(frozen=True)
class Points:
    """A quadratic function g(u) = sum_j curvatures_j u_j^2 / 2 + slope_j u_j, and three points.

    Args:
        curvatures: (D,), of any sign, in units of F/x^2. slope: (D,), in units of F/x.
        x, y, z: (D,), in units of x: the gradient is taken at x; Lemma 1 compares it with y, Lemma 2 y with z.

    Numbers are kept as Fractions; floats are the dyadic numbers that they are.

    Raises:
        ValueError: a number that is not finite, or vectors of different lengths.

    >>> points = Points(curvatures=["1/2", 2], slope=[1, 0], x=[0, 0], y=[1, 1], z=[0, 1])
    >>> points.left(LINEARIZATION_ERROR), points.squares(LINEARIZATION_ERROR)
    (Fraction(5, 4), {'displacement': Fraction(2, 1), 'perturbation': Fraction(0, 1)})
    """

    curvatures: Vector
    slope: Vector
    x: Vector
    y: Vector
    z: Vector

    def __post_init__(self) -> None:
        for name in ("curvatures", "slope", "x", "y", "z"):
            values = exact_array(name, getattr(self, name))
            if values.shape != (len(self.curvatures),):
                raise ValueError(f"{name} has shape {values.shape}: allowed is ({len(self.curvatures)},)")
            object.__setattr__(self, name, tuple(values))

    @property
    def smoothness(self) -> Fraction:
        """The least Lipschitz constant of grad g: max |curvature|."""
        return max(abs(h) for h in self.curvatures)

    @property
    def strong_convexity(self) -> Fraction:
        """The largest mu for which g - mu/2 |u|^2 is convex (negative where g is not convex)."""
        return min(self.curvatures)

    def value(self, point: Vector) -> Fraction:
        """Return g at a point."""
        return sum(
            (h * u * u / 2 + b * u for h, b, u in zip(self.curvatures, self.slope, point, strict=True)), Fraction(0)
        )

    def left(self, functional: Functional) -> Fraction:
        """Return the value of a functional of scope "function".

        Raises:
            ValueError: the functional is of another kind.
        """
        start, end = self._ends(functional)
        gradient = [h * u + b for h, b, u in zip(self.curvatures, self.slope, self.x, strict=True)]
        linear = sum((g * (e - s) for g, s, e in zip(gradient, start, end, strict=True)), Fraction(0))
        return self.value(end) - self.value(start) - linear

    def squares(self, functional: Functional) -> dict[str, Fraction]:
        """Return displacement^2 and perturbation^2.

        The displacement is |y - x| for Lemma 1 and |y - z| for Lemma 2. The perturbation is the distance from x to the
        point that the step leads to: 0 for Lemma 1, |z - x| for Lemma 2.
        """
        start, end = self._ends(functional)
        perturbed = Fraction(0) if functional == LINEARIZATION_ERROR else _squared_distance(self.z, self.x)
        return {"displacement": _squared_distance(start, end), "perturbation": perturbed}

    def quantities(self, functional: Functional) -> dict[str, float]:
        """Return the quantities that a claim about ``functional`` needs, in floats.

        ``strong_convexity`` is there only where g is strongly convex.
        """
        known = {name: float(np.sqrt(float(square))) for name, square in self.squares(functional).items()}
        known["smoothness"] = float(self.smoothness)
        return known | ({"strong_convexity": float(self.strong_convexity)} if self.strong_convexity > 0 else {})

    def _ends(self, functional: Functional) -> tuple[Vector, Vector]:
        """The points between which g is compared: where the step starts and where it ends."""
        if functional == LINEARIZATION_ERROR:
            return self.x, self.y
        if functional == PERTURBED_LINEARIZATION_ERROR:
            return self.y, self.z
        raise ValueError(
            f"functional = {functional.name}: allowed is {LINEARIZATION_ERROR.name} or "
            f"{PERTURBED_LINEARIZATION_ERROR.name}"
        )


def _squared_distance(one: Vector, other: Vector) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))
