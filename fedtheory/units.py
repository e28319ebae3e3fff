"""Units: powers of F (the objective) and x (the parameter)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Units:
    """F^objective x^parameter.

    >>> print(Units(1, -2), Units(1, -2) * Units(-1, 2), Units(1, -1) ** 2)
    F/x^2 1 F^2/x^2
    """

    objective: float = 0
    parameter: float = 0

    def __mul__(self, other: Units) -> Units:
        return Units(self.objective + other.objective, self.parameter + other.parameter)

    def __truediv__(self, other: Units) -> Units:
        return self * other**-1

    def __pow__(self, exponent: float) -> Units:
        return Units(self.objective * exponent, self.parameter * exponent)

    def __str__(self) -> str:
        powers = [("F", self.objective), ("x", self.parameter)]
        above = [_power(letter, p) for letter, p in powers if p > 0]
        below = [_power(letter, -p) for letter, p in powers if p < 0]
        return "".join(above or ["1"]) + "".join("/" + factor for factor in below)


def _power(letter: str, exponent: float) -> str:
    return letter if exponent == 1 else f"{letter}^{exponent:g}"


DIMENSIONLESS, CURVATURE, STEP = Units(), Units(1, -2), Units(-1, 2)
SLOPE, SQUARED_SLOPE = Units(1, -1), Units(2, -2)
OBJECTIVE, LENGTH, SQUARED_LENGTH = Units(1, 0), Units(0, 1), Units(0, 2)
