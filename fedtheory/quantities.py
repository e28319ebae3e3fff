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
             {"fast": "L", "safari": "L", "fedau": "L", "flics": "L"}, positive=True),
    Quantity("strong_convexity", "every F_i minus strong_convexity/2 |x|^2 is convex", CURVATURE,
             {"fast": r"\mu", "safari": r"\mu"}, positive=True),
    Quantity("gradient_noise", "standard deviation of a client's stochastic gradient, total over coordinates", SLOPE,
             {"fast": r"\sigma", "safari": r"\sigma", "fedau": r"\sigma", "flics": r"\sigma_L"}),
    Quantity("dissimilarity", "max over clients and over x of |grad F_i(x) - grad F(x)|", SLOPE,
             {"fast": r"\sigma_G", "safari": r"\sigma_G", "fedau": r"\delta", "flics": r"\sigma_G"}),
    Quantity("dissimilarity_at_optimum", "max over clients of |grad F_i(x*)|", SLOPE),
    Quantity("initial_gap", "F(x_0) - F(x*)", OBJECTIVE,
             {"fast": r"\zeta", "safari": r"\left(F(\mathbf{x}_0)-F(\mathbf{x}^*)\right)", "fedau": r"\mathcal{F}",
              "flics": r"\big(f(\bar{\mathbf{w}}^0)-f(\mathbf{w}^*)\big)"}),
    Quantity("initial_distance", "|x_0 - x*|", LENGTH,
             {"fast": r"\|\mathbf{x}_0-\mathbf{x}^*\|", "safari": r"\|\mathbf{x}_0-\mathbf{x}_*\|"}),
    Quantity("clients", "how many clients there are", DIMENSIONLESS,
             {"fast": "M", "safari": "M", "fedau": "N"}, lower=1, integer=True),
    Quantity("cohort", "clients in a uniform (snapshot) round", DIMENSIONLESS,
             {"fast": "m", "fedau": "S"}, lower=1, integer=True),
    Quantity("arbitrary_cohort", "clients in an arbitrary round", DIMENSIONLESS,
             {"fast": "n", "safari": "m"}, lower=1, integer=True),
    Quantity("local_steps", "gradient steps of a client in a round", DIMENSIONLESS,
             {"fast": "K", "safari": "K", "fedau": "I", "flics": "K"}, lower=1, integer=True),
    Quantity("rounds", "communication rounds", DIMENSIONLESS,
             {"fast": "R", "safari": "R", "fedau": "T", "flics": "T"}, lower=1, integer=True),
    Quantity("local_lr", "a client's step size", STEP,
             {"fast": r"\eta_c", "safari": r"\eta_c", "fedau": r"\gamma", "flics": r"\eta_L"}, positive=True),
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
             {"fast": r"\|\nabla F(\mathbf{x}_r)\|", "safari": r"\|\nabla F(\mathbf{x}_r)\|",
              "fedau": r"\|\nabla\tilde{f}(\mathbf{x}_t)\|", "flics": r"\|\nabla f(\bar{\mathbf{w}}^t)\|"}),
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
    Quantity("participation_probability", "probability that a client takes part in a round", DIMENSIONLESS,
             {"fedau": "p_n"}, upper=1.0),
    Quantity("least_participation_probability", "min over clients of participation_probability", DIMENSIONLESS,
             {"fedau": "p"}, upper=1.0),
    Quantity("absence", "mean over clients of 1 - participation_probability", DIMENSIONLESS,
             {"fedau": r"\Big(\frac1N\sum_{n=1}^N(1-p_n)\Big)"}, upper=1.0),
    Quantity("aggregation_weight", "how much a client's update counts", DIMENSIONLESS, {"fedau": r"\omega_t^n"}),
    Quantity("cutoff", "rounds after which a participation interval ends anyway", DIMENSIONLESS,
             {"fedau": "K"}, lower=1, integer=True),
    Quantity("history", "rounds that a weight has seen; the weight of round t has seen t", DIMENSIONLESS,
             {"fedau": "t"}, lower=1, integer=True),
    Quantity("guaranteed_intervals", "max(floor(history / cutoff), 1): so many participation intervals have ended",
             DIMENSIONLESS, {"fedau": r"\max\{\lfloor t/K\rfloor,1\}"}, lower=1, integer=True),
    Quantity("cutoff_bias", "mean over clients of (1 - participation_probability)^(2 cutoff)", DIMENSIONLESS,
             {"fedau": r"\Big(\frac1N\sum_{n=1}^N(1-p_n)^{2K}\Big)"}, upper=1.0),
    Quantity("weight_spread", "E[(weight - mean participation interval)^2] of a client in one round", DIMENSIONLESS,
             {"fedau": r"\mathbb{E}[(\omega_t^n-\mathbb{E}[S_n])^2]"}),
    Quantity("weight_error", "mean over clients and rounds of E[(participation_probability * weight - 1)^2]",
             DIMENSIONLESS,
             {"fedau": r"\frac{1}{NT}\sum_{t=0}^{T-1}\sum_{n=1}^N\mathbb{E}[(p_n\omega_t^n-1)^2]"}),
    Quantity("peak_weight_error",
             "max over rounds of the mean over clients of (participation_probability * weight - 1)^2",
             DIMENSIONLESS, {"fedau": r"\max_t\frac{1}{N}\sum_{n=1}^N(p_n\omega_t^n-1)^2"}),
    Quantity("weight_scale", "max over rounds of the mean over clients of participation_probability * weight^2",
             DIMENSIONLESS, {"fedau": "Q"}, positive=True),
    Quantity("expected_weight_scale", "mean over clients and rounds of E[participation_probability * weight^2]",
             DIMENSIONLESS, {"fedau": r"\bar{Q}"}, positive=True),
    Quantity("update_weight", "mean over clients of participation_probability * weight, for constant weights",
             DIMENSIONLESS, {"fedau": r"\frac{P}{N}"}, positive=True),
    Quantity("objective_error",
             "sum over clients of (participation_probability * weight / clients - the objective's weight)^2, one round",
             DIMENSIONLESS, {"fedau": r"\sum_{n=1}^N\Big(\frac{p_n\omega_t^n}{N}-\varphi_n\Big)^2"}),
    Quantity("least_objective_weight", "the least weight of a client in the objective", DIMENSIONLESS,
             {"fedau": r"\min_n\varphi_n"}, upper=1.0),
    Quantity("gradient_bound", "max over x of |grad F(x)|", SLOPE, {"fedau": "G"}),
    Quantity("global_lr", "multiplies the aggregated update", DIMENSIONLESS,
             {"fedau": r"\eta", "flics": r"\eta"}, positive=True),
    Quantity("groups", "how many groups of clients there are", DIMENSIONLESS, {"flics": "M"}, lower=1, integer=True),
    Quantity("weight_concentration", "sum over groups of group_weight^2", DIMENSIONLESS,
             {"flics": r"\Big(\sum_ip_i^2\Big)"}, upper=1.0),
    Quantity("estimate_error", "a bound on how far estimates are from the long-term participation", DIMENSIONLESS,
             {"flics": r"\epsilon"}),
    Quantity("largest_estimate_error", "max over groups and rounds of |estimate - long-term participation|",
             DIMENSIONLESS, {"flics": r"\max_{k,t}|s_k^*-\hat s_k(t)|"}),
    Quantity("least_participation", "a bound from below on the long-term participation of every group", DIMENSIONLESS,
             {"flics": r"r_{\min}"}, positive=True),
    Quantity("least_group_participation", "min over groups of the long-term participation", DIMENSIONLESS,
             {"flics": r"\min_ks_k^*"}),
    Quantity("selection_variance",
             "mean over rounds of sum_ij p_i p_j Cov(S_i, S_j)/(s^_i s^_j), S the numbers of answers of groups",
             DIMENSIONLESS, {"flics": r"\sigma_T"}),
    Quantity("selection_proxy", "mean over rounds of sum_j p_j^2 r_j/s^_j^2, r the expected numbers of answers",
             DIMENSIONLESS, {"flics": r"\bar V_T"}),
    Quantity("rate_spread",
             "mean over rounds of E[(sum over groups of group_weight * rate / estimate)^2], over the availability",
             DIMENSIONLESS, {"flics": r"\bar S_T"}),
    Quantity("weight_mismatch",
             "max over groups of |expected answers / estimate - 1|; of a run, its root mean square over rounds",
             DIMENSIONLESS, {"flics": r"\bar\delta_T"}),
    Quantity("local_gradient_bound", "max over clients, rounds and local steps of |stochastic gradient|", SLOPE,
             {"flics": "G"}),
    Quantity("descent_constant", "the constant c of FLICS's Theorem 1", DIMENSIONLESS, {"flics": "c"}, positive=True),
    Quantity("weighted_pseudogradient", "E|sum over groups of group_weight * sum of local gradients|^2 in one round",
             SQUARED_SLOPE,
             {"flics": r"\mathbb{E}\Big\|\sum_{i=1}^Mp_i\sum_{k=0}^{K-1}\nabla F_i(\mathbf{w}_i^{t,k})\Big\|^2"}),
    Quantity("mean_update_length", "sum over groups of group_weight * |a client's mean update|", LENGTH,
             {"flics": r"\sum_ip_i\|\mathbf{v}_i^{t+1}\|"}),
    Quantity("squared_mean_update", "|E of the aggregated update|^2 in one round", SQUARED_LENGTH,
             {"flics": r"\|\mathbb{E}_t\Delta^{t+1}\|^2"}),
    Quantity("squared_state_update", "E of |E of the aggregated update, given availability|^2 in one round",
             SQUARED_LENGTH, {"flics": r"\mathbb{E}\|\mathbb{E}_t[\Delta^{t+1}|\mathbf{a}(t),k(t)]\|^2"}),
    Quantity("squared_mean_vector", "|sum over groups of group_weight * x_j|^2", SQUARED_SLOPE,
             {"flics": r"\mathbb{E}\Big\|\sum_ip_i\mathbf{x}_i\Big\|^2"}),
    Quantity("mean_squared_vector", "sum over groups of group_weight * |x_j|^2", SQUARED_SLOPE,
             {"flics": r"\sum_ip_i\|\mathbf{x}_i\|^2"}),
    Quantity("vector_covariance", "sum_ij p_i p_j Cov(S_i, S_j)/(s^_i s^_j) <x_i, x_j>", SQUARED_SLOPE,
             {"flics": r"\sum_{i,j}\frac{p_ip_j\Sigma_{ij}}{\hat s_i\hat s_j}\langle\mathbf{x}_i,\mathbf{x}_j\rangle"},
             lower=-math.inf),
    Quantity("group_weight", "how much a group counts in the objective", DIMENSIONLESS, {"flics": "p_i"}, upper=1.0),
    Quantity("group_clients", "clients of a group", DIMENSIONLESS, {"flics": "n"}, lower=1, integer=True),
    Quantity("group_participation", "expected number of a group's clients that answer in a round", DIMENSIONLESS,
             {"flics": "s_i"}),
    Quantity("participation_estimate", "what the server takes for group_participation", DIMENSIONLESS,
             {"flics": r"\hat s_i(t)"}, positive=True),
    Quantity("response_probability", "probability that a client of a group answers in a round", DIMENSIONLESS,
             {"flics": "r_i"}, upper=1.0),
    Quantity("relative_error", "a bound on |s/s^ - 1| for participation and its estimate", DIMENSIONLESS,
             {"flics": r"\varepsilon"}),
    Quantity("failure_probability", "how often an estimate may be off", DIMENSIONLESS, {"flics": r"\beta"},
             positive=True),
    Quantity("hidden_constant", "the constant that an O(.) hides", DIMENSIONLESS, {"flics": "C_0"}, positive=True),
    Quantity("price_drift",
             "mean over rounds of the clients asked * the spread over groups of (p_j/s^_j(T))^2 - (p_j/s^_j(t))^2",
             DIMENSIONLESS,
             {"flics": r"\frac1T\sum_{t=1}^Tu(t)\big(\max_jD_j(t)-\min_jD_j(t)\big)"}),
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
    """'did you mean ...?' or the list of what is known, cut where it is long.

    >>> nearest("cohrt", ["cohort", "rounds"])
    "did you mean 'cohort'?"
    >>> nearest("x", map(str, range(100)))
    'known are 0, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, ... (100 in all)'
    """
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    more = [f"... ({len(known)} in all)"] if len(known) > 24 else []
    return f"known are {', '.join((known[:12] if more else known) + more)}"


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
