"""The vocabulary: every quantity of the papers once, with its meaning, units and allowed values.

One name in code for one thing, whatever letter a paper gives it; the letters are kept for typesetting. Units are
powers of F (the objective) and x (the parameter), so a claim can be checked for homogeneity under F -> cF and
x -> cx.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy


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


DIMENSIONLESS = Units()
CURVATURE = Units(1, -2)
SLOPE = Units(1, -1)
SQUARED_SLOPE = Units(2, -2)
OBJECTIVE = Units(1, 0)
LENGTH = Units(0, 1)
SQUARED_LENGTH = Units(0, 2)
STEP = Units(-1, 2)


@dataclass(frozen=True)
class Quantity:
    """One quantity of the vocabulary.

    Attributes:
        name: its one name in code.
        meaning: one line.
        units: powers of F and x.
        letters: LaTeX by paper (key ``fast``, ...).
        lower, upper: the allowed closed interval; with ``positive`` the value 0 is excluded.
        integer: whether only whole numbers are allowed.
    """

    name: str
    meaning: str
    units: Units
    letters: Mapping[str, str] = field(default_factory=dict)
    lower: float = 0.0
    upper: float = math.inf
    positive: bool = False
    integer: bool = False

    @property
    def allowed(self) -> str:
        """The allowed values in words.

        >>> QUANTITIES["snapshot_probability"].allowed, QUANTITIES["cohort"].allowed
        ('a number in [0, 1]', 'an integer >= 1')
        """
        kind = "an integer" if self.integer else "a finite number"
        if self.upper < math.inf:
            return f"{kind.replace(' finite', '')} in {'(' if self.positive else '['}{self.lower:g}, {self.upper:g}]"
        return f"{kind} {'>' if self.positive else '>='} {self.lower:g}"

    def check(self, value: float) -> None:
        """Raise ``ValueError`` unless ``value`` is finite and allowed."""
        ok = math.isfinite(value) and self.lower <= value <= self.upper
        ok = ok and not (self.positive and value == 0) and not (self.integer and value != int(value))
        if not ok:
            raise ValueError(f"{self.name} = {value}: allowed is {self.allowed}")


def _table(*quantities: Quantity) -> dict[str, Quantity]:
    return {quantity.name: quantity for quantity in quantities}


QUANTITIES: Mapping[str, Quantity] = _table(
    Quantity("smoothness", "Lipschitz constant of the gradients of F and of every F_i", CURVATURE,
             {"fast": "L"}, positive=True),
    Quantity("strong_convexity", "every F_i minus strong_convexity/2 |x|^2 is convex", CURVATURE,
             {"fast": r"\mu"}, positive=True),
    Quantity("gradient_noise", "standard deviation of a client's stochastic gradient, total over coordinates", SLOPE,
             {"fast": r"\sigma"}),
    Quantity("dissimilarity", "max over clients and over x of |grad F_i(x) - grad F(x)|", SLOPE,
             {"fast": r"\sigma_G"}),
    Quantity("dissimilarity_at_optimum", "max over clients of |grad F_i(x*)|", SLOPE),
    Quantity("initial_gap", "F(x_0) - F(x*)", OBJECTIVE, {"fast": r"\zeta"}),
    Quantity("initial_distance", "|x_0 - x*|", LENGTH, {"fast": r"\|\mathbf{x}_0-\mathbf{x}^*\|"}),
    Quantity("clients", "how many clients there are", DIMENSIONLESS, {"fast": "M"}, lower=1, integer=True),
    Quantity("cohort", "clients in a uniform (snapshot) round", DIMENSIONLESS, {"fast": "m"}, lower=1, integer=True),
    Quantity("arbitrary_cohort", "clients in an arbitrary round", DIMENSIONLESS,
             {"fast": "n"}, lower=1, integer=True),
    Quantity("local_steps", "gradient steps of a client in a round", DIMENSIONLESS,
             {"fast": "K"}, lower=1, integer=True),
    Quantity("rounds", "communication rounds", DIMENSIONLESS, {"fast": "R"}, lower=1, integer=True),
    Quantity("local_lr", "a client's step size", STEP, {"fast": r"\eta_c"}, positive=True),
    Quantity("snapshot_probability", "probability (or long-run share) of uniform rounds", DIMENSIONLESS,
             {"fast": "q"}, upper=1.0),
    Quantity("snapshot_period", "every so many rounds one is uniform", DIMENSIONLESS,
             {"fast": "I"}, lower=1, integer=True),
    Quantity("peak_full_pseudogradient",
             "max over snapshot rounds of |mean over all clients of the sum of local gradients|^2", SQUARED_SLOPE,
             {"fast": "G_1"}),
    Quantity("peak_arbitrary_pseudogradient",
             "max over arbitrary rounds of |mean over the participants of the sum of local gradients|^2",
             SQUARED_SLOPE, {"fast": "G_2"}),
    Quantity("peak_cohort_pseudogradient",
             "max over snapshot rounds of |mean over the participants of the sum of local gradients|^2",
             SQUARED_SLOPE, {"fast": "G_3"}),
)  # fmt: skip

RUN_QUANTITIES = ("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")
"""Quantities that only a run can tell."""


def quantity(name: str) -> Quantity:
    """The quantity of that name; ``ValueError`` with the nearest known name otherwise.

    >>> quantity("smothness")
    Traceback (most recent call last):
    ValueError: unknown quantity 'smothness': did you mean 'smoothness'?
    """
    if name not in QUANTITIES:
        raise ValueError(f"unknown quantity {name!r}: {nearest(name, QUANTITIES)}")
    return QUANTITIES[name]


def nearest(name: str, known: Iterable[str]) -> str:
    """'did you mean ...?' or the list of what is known.

    >>> nearest("cohrt", ["cohort", "rounds"])
    "did you mean 'cohort'?"
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"


@cache
def symbol(name: str) -> sympy.Symbol:
    """The sympy symbol of a quantity, with the assumptions that its allowed values justify."""
    import sympy

    q = quantity(name)
    positive = q.positive or q.lower > 0
    assumptions = {"positive": True} if positive else {"nonnegative": True}
    return sympy.Symbol(name, real=True, integer=q.integer or None, **assumptions)


def symbols(*names: str) -> tuple[sympy.Symbol, ...]:
    """Several symbols at once, in the order of ``names``."""
    return tuple(symbol(name) for name in names)


def check_values(values: Mapping[str, float]) -> None:
    """Refuse unknown names, values outside their bounds, and contradictory pairs (mu > L, m > M, n > M).

    >>> check_values({"smoothness": 1.0, "strong_convexity": 2.0})
    Traceback (most recent call last):
    ValueError: strong_convexity = 2.0: allowed is a number in (0, smoothness] = (0, 1.0]
    """
    import numpy as np

    for name, value in values.items():
        known = quantity(name)
        for extreme in _extremes(name, value):
            known.check(extreme)
    for small, large in _ORDERED_PAIRS:
        if small in values and large in values and np.any(np.asarray(values[small]) > np.asarray(values[large])):
            opening = "(0" if QUANTITIES[small].positive else f"[{QUANTITIES[small].lower:g}"
            worst, cap = (f"{_plain(values[name])}" for name in (small, large))
            raise ValueError(f"{small} = {worst}: allowed is a number in {opening}, {large}] = {opening}, {cap}]")


_ORDERED_PAIRS = (
    ("strong_convexity", "smoothness"),
    ("cohort", "clients"),
    ("arbitrary_cohort", "clients"),
    ("dissimilarity_at_optimum", "dissimilarity"),
)


def _plain(value: object) -> object:
    return value.tolist() if hasattr(value, "tolist") else value


def _extremes(name: str, value: object) -> Iterable[float]:
    """Numbers that are all allowed exactly when every entry of ``value`` is."""
    import numpy as np

    try:
        if np.asarray(value).dtype.kind in "US":
            raise ValueError
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value!r}: allowed is {quantity(name).allowed}") from None
    if array.size == 0:
        raise ValueError(f"{name} is empty: allowed is {quantity(name).allowed}")
    bad = ~np.isfinite(array)
    if quantity(name).integer:
        bad |= array != np.round(array)
    return [float(array[bad].flat[0])] if bad.any() else [float(array.min()), float(array.max())]
