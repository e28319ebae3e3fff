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
        if self.lower == -math.inf:
            return kind
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
             {"fast": "L", "safari": "L"}, positive=True),
    Quantity("strong_convexity", "every F_i minus strong_convexity/2 |x|^2 is convex", CURVATURE,
             {"fast": r"\mu", "safari": r"\mu"}, positive=True),
    Quantity("gradient_noise", "standard deviation of a client's stochastic gradient, total over coordinates", SLOPE,
             {"fast": r"\sigma", "safari": r"\sigma"}),
    Quantity("dissimilarity", "max over clients and over x of |grad F_i(x) - grad F(x)|", SLOPE,
             {"fast": r"\sigma_G", "safari": r"\sigma_G"}),
    Quantity("dissimilarity_at_optimum", "max over clients of |grad F_i(x*)|", SLOPE),
    Quantity("initial_gap", "F(x_0) - F(x*)", OBJECTIVE,
             {"fast": r"\zeta", "safari": r"\left(F(\mathbf{x}_0)-F(\mathbf{x}^*)\right)"}),
    Quantity("initial_distance", "|x_0 - x*|", LENGTH,
             {"fast": r"\|\mathbf{x}_0-\mathbf{x}^*\|", "safari": r"\|\mathbf{x}_0-\mathbf{x}_*\|"}),
    Quantity("clients", "how many clients there are", DIMENSIONLESS,
             {"fast": "M", "safari": "M"}, lower=1, integer=True),
    Quantity("cohort", "clients in a uniform (snapshot) round", DIMENSIONLESS, {"fast": "m"}, lower=1, integer=True),
    Quantity("arbitrary_cohort", "clients in an arbitrary round", DIMENSIONLESS,
             {"fast": "n", "safari": "m"}, lower=1, integer=True),
    Quantity("local_steps", "gradient steps of a client in a round", DIMENSIONLESS,
             {"fast": "K", "safari": "K"}, lower=1, integer=True),
    Quantity("rounds", "communication rounds", DIMENSIONLESS, {"fast": "R", "safari": "R"}, lower=1, integer=True),
    Quantity("local_lr", "a client's step size", STEP, {"fast": r"\eta_c", "safari": r"\eta_c"}, positive=True),
    Quantity("snapshot_probability", "probability (or long-run share) of uniform rounds", DIMENSIONLESS,
             {"fast": "q"}, upper=1.0),
    Quantity("snapshot_period", "every so many rounds one is uniform", DIMENSIONLESS,
             {"fast": "I"}, lower=1, integer=True),
    Quantity("peak_full_pseudogradient",
             "max over snapshot rounds of |mean over all clients of the sum of local gradients|^2", SQUARED_SLOPE,
             {"fast": "G_1"}),
    Quantity("peak_arbitrary_pseudogradient",
             "max over arbitrary rounds of |mean over the participants of the sum of local gradients|^2",
             SQUARED_SLOPE, {"fast": "G_2", "safari": "G_2"}),
    Quantity("peak_cohort_pseudogradient",
             "max over snapshot rounds of |mean over the participants of the sum of local gradients|^2",
             SQUARED_SLOPE, {"fast": "G_3"}),
    Quantity("gradient_norm", "|grad F(x_0)|", SLOPE,
             {"fast": r"\|\nabla F(\mathbf{x}_r)\|", "safari": r"\|\nabla F(\mathbf{x}_r)\|"}),
    Quantity("objective_decrease", "F(x_0) - E F(x_1) of one round", OBJECTIVE,
             {"fast": r"\left(F(\mathbf{x}_r)-\mathbb{E}_r[F(\mathbf{x}_{r+1})]\right)",
              "safari": r"\left(F(\mathbf{x}_r)-\mathbb{E}_r[F(\mathbf{x}_{r+1})]\right)"}, lower=-math.inf),
    Quantity("full_pseudogradient", "E|mean over all clients of the sum of local gradients|^2 in one round",
             SQUARED_SLOPE,
             {"fast": r"\Big\|\frac1M\sum_{i=1}^M\sum_{k=1}^K\nabla F_i(\mathbf{x}_{r,k}^i)\Big\|^2"}),
    Quantity("cohort_pseudogradient",
             "E|mean over the uniform cohort of the sum of local gradients|^2 in one round", SQUARED_SLOPE,
             {"fast": r"\Big\|\frac1m\sum_{i\in\mathcal{S}_r^u}\sum_{k=1}^K\nabla F_i(\mathbf{x}_{r,k}^i)\Big\|^2"}),
    Quantity("arbitrary_pseudogradient",
             "E|mean over the arbitrary cohort of the sum of local gradients|^2 in one round", SQUARED_SLOPE,
             {"fast": r"\Big\|\frac1n\sum_{i\in\mathcal{S}_r^a}\sum_{k=1}^K\nabla F_i(\mathbf{x}_{r,k}^i)\Big\|^2",
              "safari": r"\Big\|\frac1m\sum_{i\in S_r}\sum_{k\in[K]}\nabla F_i(\mathbf{x}_{r,k}^i)\Big\|^2"}),
    Quantity("young_parameter", "the free parameter of a Young inequality", CURVATURE,
             {"fast": r"\epsilon"}, positive=True),
    Quantity("adaptivity", "gain of the adaptive snapshot probability", DIMENSIONLESS, {"fast": r"\lambda"}),
    Quantity("step_constant", "the constant that an O(.) in the choice of a step size hides", STEP,
             {"fast": "c"}, positive=True),
    Quantity("displacement", "distance of the two points at which a function is compared", LENGTH,
             {"fast": r"\|\mathbf{y}-\mathbf{z}\|"}),
    Quantity("perturbation", "distance of the point of a gradient from the point compared", LENGTH,
             {"fast": r"\|\mathbf{z}-\mathbf{x}\|"}),
    Quantity("server_noise", "standard deviation of the server's stochastic gradient, total over coordinates", SLOPE,
             {"safari": r"\sigma_s"}),
    Quantity("server_lr", "the server's step size", STEP, {"safari": r"\eta_s"}, positive=True),
    Quantity("client_round_probability", "probability (or long-run share) of rounds in which clients train",
             DIMENSIONLESS, {"safari": "q"}, upper=1.0),
    Quantity("peak_server_gradient", "max over server rounds of |grad F(x_r)|^2", SQUARED_SLOPE, {"safari": "G_1"}),
    Quantity("least_server_gradient", "min over server rounds of |grad F(x_r)|^2", SQUARED_SLOPE,
             {"safari": r"G_1^{\min}"}),
    Quantity("least_arbitrary_pseudogradient",
             "min over arbitrary rounds of |mean over the participants of the sum of local gradients|^2",
             SQUARED_SLOPE, {"safari": r"G_2^{\min}"}),
    Quantity("least_client_progress",
             "min over rounds of (mean over the participants of F_i(x_r) - F_i(x*)) / |grad F(x_r)|^2", STEP,
             {"safari": r"\min_r\frac{G_4}{G_3}"}, lower=-math.inf),
    Quantity("peak_client_progress",
             "max over rounds of (mean over the participants of F_i(x_r) - F_i(x*)) / |grad F(x_r)|^2", STEP,
             {"safari": r"\max_r\frac{G_4}{G_3}"}, lower=-math.inf),
    Quantity("arbitrary_excess", "E of the mean over the arbitrary cohort of F_i(x_0) - F_i(x*) in one round",
             OBJECTIVE,
             {"safari": r"\Big(\frac1m\sum_{i\in S_r}[F_i(\mathbf{x}_r)-F_i(\mathbf{x}_*)]\Big)"}, lower=-math.inf),
    Quantity("arbitrary_drift",
             "E of the mean over the arbitrary cohort of the sum over k of |x_{i,k} - x_0|^2 in one round",
             SQUARED_LENGTH, {"safari": r"\Big(\frac1m\sum_{i\in S_r}\sum_{k\in[K]}"
                              r"\|\mathbf{x}_r-\mathbf{x}_{r,k}^i\|^2\Big)"}),
)  # fmt: skip

RUN_QUANTITIES = ("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")
"""Quantities that only a run can tell."""

SERVER_RUN_QUANTITIES = (
    "peak_server_gradient", "least_server_gradient", "least_arbitrary_pseudogradient", "least_client_progress",
    "peak_client_progress",
)  # fmt: skip
"""The same, of runs in which some rounds are the server's."""

ROUND_QUANTITIES = (
    "gradient_norm", "objective_decrease", "full_pseudogradient", "cohort_pseudogradient", "arbitrary_pseudogradient",
)  # fmt: skip
"""Quantities of one round from x_0, in expectation over that round."""

CLIENT_ROUND_QUANTITIES = ("arbitrary_excess", "arbitrary_drift")
"""The same, of a round in which clients train, beside ``arbitrary_pseudogradient``."""

POINT_QUANTITIES = ("displacement", "perturbation")
"""Quantities of the points at which a lemma speaks of a function."""


ORDERED_PAIRS = (
    ("strong_convexity", "smoothness"),
    ("cohort", "clients"),
    ("arbitrary_cohort", "clients"),
    ("dissimilarity_at_optimum", "dissimilarity"),
)
"""(smaller, larger): quantities of which the first never exceeds the second."""


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
    sign = {"positive": True} if q.positive or q.lower > 0 else {"nonnegative": True} if q.lower == 0 else {}
    return sympy.Symbol(name, real=True, integer=q.integer or None, **sign)


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
    for small, large in ORDERED_PAIRS:
        if small in values and large in values and np.any(np.asarray(values[small]) > np.asarray(values[large])):
            opening = "(0" if QUANTITIES[small].positive else f"[{QUANTITIES[small].lower:g}"
            worst, cap = (f"{_plain(values[name])}" for name in (small, large))
            raise ValueError(f"{small} = {worst}: allowed is a number in {opening}, {large}] = {opening}, {cap}]")


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
