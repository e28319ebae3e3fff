"""Classes of objectives over which a worst case is taken."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..rationals import exact_number


@dataclass(frozen=True)
class FunctionClass:
    """Class of all F_i: R^D -> R, in every dimension D, that are ``smoothness``-smooth and
    ``strong_convexity``-strongly convex. With ``quadratic``, only the quadratic ones among them. Use
    ``strongly_convex``, ``convex``, ``quadratic`` or ``smooth`` to make one.

    Attributes:
        smoothness, strong_convexity: L and mu, in units of F/x^2, exact; mu = -L says that nothing is convex.
    """

    smoothness: Fraction
    strong_convexity: Fraction
    quadratic: bool = False

    @property
    def condition(self) -> Fraction:
        """Ratio mu / L."""
        return self.strong_convexity / self.smoothness

    @property
    def nonconvex(self) -> bool:
        """Whether functions need not be convex."""
        return self.strong_convexity < 0

    def __str__(self) -> str:
        if self.nonconvex:
            return f"smooth(smoothness={self.smoothness})"
        kind = "quadratic" if self.quadratic else "convex" if self.strong_convexity == 0 else "strongly_convex"
        return f"{kind}(smoothness={self.smoothness}, strong_convexity={self.strong_convexity})"


def strongly_convex(*, smoothness: Any, strong_convexity: Any) -> FunctionClass:
    """Return the class of L-smooth and mu-strongly convex functions, 0 < mu <= L.

    Raises:
        ValueError: L or mu is no finite number, or out of bounds.

    >>> strongly_convex(smoothness=1, strong_convexity="1/10").condition
    Fraction(1, 10)
    >>> strongly_convex(smoothness=1, strong_convexity=0)
    Traceback (most recent call last):
    ValueError: strong_convexity = 0: allowed is a number in (0, smoothness = 1]; `convex` is the class for 0
    """
    L, mu = _smoothness(smoothness), exact_number("strong_convexity", strong_convexity)
    if not 0 < mu <= L:
        raise ValueError(
            f"strong_convexity = {mu}: allowed is a number in (0, smoothness = {L}]; `convex` is the class for 0"
        )
    return FunctionClass(L, mu)


def convex(*, smoothness: Any) -> FunctionClass:
    """Return the class of L-smooth convex functions, L > 0.

    Raises:
        ValueError: L is no finite number > 0.
    """
    return FunctionClass(_smoothness(smoothness), Fraction(0))


def smooth(*, smoothness: Any) -> FunctionClass:
    """Return the class of L-smooth functions, L > 0, convex or not, whose mean F has a minimiser x*. They are those for
    which F_i + L/2 |x|^2 is convex and 2L-smooth.

    Raises:
        ValueError: L is no finite number > 0.

    >>> smooth(smoothness=2).condition
    Fraction(-1, 1)
    """
    L = _smoothness(smoothness)
    return FunctionClass(L, -L)


def quadratic(*, smoothness: Any, strong_convexity: Any = 0) -> FunctionClass:
    """Return the class of quadratics whose Hessians have their eigenvalues in [mu, L], 0 <= mu <= L, L > 0.

    Raises:
        ValueError: L or mu is no finite number, or out of bounds.
    """
    L, mu = _smoothness(smoothness), exact_number("strong_convexity", strong_convexity)
    if not 0 <= mu <= L:
        raise ValueError(f"strong_convexity = {mu}: allowed is a number in [0, smoothness = {L}]")
    return FunctionClass(L, mu, quadratic=True)


def _smoothness(value: Any) -> Fraction:
    L = exact_number("smoothness", value)
    if L <= 0:
        raise ValueError(f"smoothness = {L}: allowed is a number > 0")
    return L
