"""Vocabulary: every quantity of the papers once, with its meaning, units and allowed values.

One thing has one name in code, whatever letter a paper gives it; the letters are the papers'. Units are powers of F
(the objective) and x (the parameter), so a claim can be checked for homogeneity under F -> cF and x -> cx.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from .units import CURVATURE, DIMENSIONLESS, LENGTH, OBJECTIVE, SLOPE, SQUARED_LENGTH, SQUARED_SLOPE, STEP, Units

if TYPE_CHECKING:
    import sympy


SCOPES = ("run", "server run", "round", "client round", "point", "schedule")
"""Scopes of a quantity that is no constant: a run (maxima); a run in which some rounds are the server's, or any run
(least values); one round from x_0, in expectation; such a round in which clients train; the points at which a lemma
speaks of a function; one gradient step of a run, whose size is told by rule."""


@dataclass(frozen=True)
class Quantity:
    """Quantity of the vocabulary.

    Attributes:
        name: its one name in code.
        meaning: one line.
        units: powers of F and x.
        lower, upper: the allowed closed interval; with ``positive`` the value 0 is excluded.
        integer: whether only whole numbers are allowed.
        scope: one of ``SCOPES`` if it belongs to a run, a round or some points, "" for a constant.
        data: whether it measures a federation or a run. Two right sides are compared product by product of such data.
        algorithms: the only algorithms that have it; empty if it has the same meaning for all.
        compute: its value from a ``Question``, for a quantity of one's own (see ``own``).
    """

    name: str
    meaning: str
    units: Units
    lower: float = 0.0
    upper: float = math.inf
    positive: bool = False
    integer: bool = False
    scope: str = ""
    data: bool = False
    algorithms: tuple[str, ...] = ()
    compute: Callable[[Any], Any] | None = field(default=None, repr=False)

    @property
    def allowed(self) -> str:
        """Allowed values in words.

        >>> QUANTITIES["snapshot_probability"].allowed, QUANTITIES["cohort"].allowed
        ('a number in [0, 1]', 'an integer >= 1')
        """
        kind = "an integer" if self.integer else "a finite number"
        if self.lower == -math.inf:
            return kind
        if self.upper < math.inf:
            return f"{kind.replace(' finite', '')} in {'(' if self.positive else '['}{self.lower:g}, {self.upper:g}]"
        return f"{kind} {'>' if self.positive else '>='} {self.lower:g}"

    def check(self, value: float | Fraction) -> None:
        """Raise ``ValueError`` unless ``value`` is finite and allowed."""
        ok = -sys.float_info.max <= value <= sys.float_info.max and self.lower <= value <= self.upper
        ok = ok and not (self.positive and value == 0) and not (self.integer and value != int(value))
        if not ok:
            raise ValueError(f"{self.name} = {value}: allowed is {self.allowed}")


_FAST, _SAFARI, _FEDAU, _FLICS = ("fast",), ("safari",), ("fedau",), ("flics",)

_ALL = (
    Quantity("smoothness", "Lipschitz constant of the gradients of F and of every F_i", CURVATURE, positive=True),
    Quantity("strong_convexity", "every F_i minus strong_convexity/2 |x|^2 is convex", CURVATURE, positive=True),
    Quantity("gradient_noise", "standard deviation of a client's stochastic gradient, total over coordinates", SLOPE,
             data=True),
    Quantity("dissimilarity", "max over clients and over x of |grad F_i(x) - grad F(x)|", SLOPE, data=True),
    Quantity("dissimilarity_at_optimum", "max over clients of |grad F_i(x*)|", SLOPE),
    Quantity("dissimilarity_factor", "B in: sum of p_i |grad F_i(x)|^2 <= G^2 + B^2 |grad F(x)|^2 for all x",
             DIMENSIONLESS, lower=1.0, data=True),
    Quantity("dissimilarity_offset", "least G with sum of p_i |grad F_i(x)|^2 <= G^2 + B^2 |grad F(x)|^2 for all x, "
             "B the dissimilarity_factor, p the objective's weights", SLOPE, data=True),
    Quantity("heterogeneity_gap", "F* - sum of p_i F_i*, p the objective's weights", OBJECTIVE, data=True),
    Quantity("weighted_noise", "sum of p_i^2 gradient_noise_i^2, p the objective's weights", SQUARED_SLOPE, data=True),
    Quantity("gradient_bound", "root of the max over clients and steps of E|stochastic gradient|^2", SLOPE, data=True),
    Quantity("initial_gap", "F(x_0) - F(x*)", OBJECTIVE, data=True),
    Quantity("initial_distance", "|x_0 - x*|", LENGTH, data=True),
    Quantity("clients", "how many clients there are", DIMENSIONLESS, lower=1, integer=True),
    Quantity("cohort", "clients in a uniform (snapshot) round", DIMENSIONLESS, lower=1, integer=True, algorithms=_FAST),
    Quantity("arbitrary_cohort", "clients in an arbitrary round", DIMENSIONLESS, lower=1, integer=True),
    Quantity("local_steps", "gradient steps of a client in a round", DIMENSIONLESS, lower=1, integer=True),
    Quantity("rounds", "communication rounds", DIMENSIONLESS, lower=1, integer=True),
    Quantity("local_lr", "a client's step size", STEP, positive=True),
    Quantity("snapshot_probability", "probability (or long-run share) of uniform rounds", DIMENSIONLESS, upper=1.0,
             algorithms=_FAST),
    Quantity("snapshot_period", "every so many rounds one is uniform", DIMENSIONLESS, lower=1, integer=True,
             algorithms=_FAST),
    Quantity("peak_full_pseudogradient",
             "max over snapshot rounds of |mean over all clients of the sum of local gradients|^2", SQUARED_SLOPE,
             scope="run", algorithms=_FAST),
    Quantity("peak_arbitrary_pseudogradient",
             "max over arbitrary rounds of |mean over the participants of the sum of local gradients|^2",
             SQUARED_SLOPE, scope="run"),
    Quantity("peak_cohort_pseudogradient",
             "max over snapshot rounds of |mean over the participants of the sum of local gradients|^2", SQUARED_SLOPE,
             scope="run", algorithms=_FAST),
    Quantity("least_full_pseudogradient", "min over snapshot rounds of |mean over all clients of the sum of local "
             "gradients|^2", SQUARED_SLOPE, scope="server run", algorithms=_FAST),
    Quantity("gradient_norm", "|grad F(x_0)|", SLOPE, scope="round", data=True),
    Quantity("objective_decrease", "F(x_0) - E F(x_1) of one round", OBJECTIVE, lower=-math.inf, scope="round",
             data=True),
    Quantity("full_pseudogradient", "E|mean over all clients of the sum of local gradients|^2 in one round",
             SQUARED_SLOPE, scope="round", data=True, algorithms=_FAST),
    Quantity("cohort_pseudogradient", "E|mean over the uniform cohort of the sum of local gradients|^2 in one round",
             SQUARED_SLOPE, scope="round", data=True, algorithms=_FAST),
    Quantity("arbitrary_pseudogradient",
             "E|mean over the arbitrary cohort of the sum of local gradients|^2 in one round", SQUARED_SLOPE,
             scope="round", data=True),
    Quantity("young_parameter", "the free parameter of a Young inequality", CURVATURE, positive=True),
    Quantity("adaptivity", "gain of the adaptive snapshot probability", DIMENSIONLESS, algorithms=_FAST),
    Quantity("step_shift", "gamma in the rule local_lr = 2/(strong_convexity (gamma + step_index))", DIMENSIONLESS,
             positive=True),
    Quantity("round_index", "r = 0, 1, ..., in a step size by rule", DIMENSIONLESS, integer=True, scope="schedule"),
    Quantity("step_index", "r local_steps + k, k = 0, 1, ..., in a step size by rule", DIMENSIONLESS, integer=True,
             scope="schedule"),
    Quantity("step_constant", "the constant that an O(.) in the choice of a step size hides", STEP, positive=True),
    Quantity("displacement", "distance of the two points at which a function is compared", LENGTH, scope="point",
             data=True),
    Quantity("perturbation", "distance of the point of a gradient from the point compared", LENGTH, scope="point",
             data=True),
    Quantity("server_noise", "standard deviation of the server's stochastic gradient, total over coordinates", SLOPE,
             data=True, algorithms=_SAFARI),
    Quantity("server_lr", "the server's step size", STEP, positive=True, algorithms=_SAFARI),
    Quantity("client_round_probability", "probability (or long-run share) of rounds in which clients train",
             DIMENSIONLESS, upper=1.0, algorithms=_SAFARI),
    Quantity("peak_server_gradient", "max over server rounds of |grad F(x_r)|^2", SQUARED_SLOPE, scope="server run",
             algorithms=_SAFARI),
    Quantity("least_server_gradient", "min over server rounds of |grad F(x_r)|^2", SQUARED_SLOPE, scope="server run",
             algorithms=_SAFARI),
    Quantity("least_arbitrary_pseudogradient",
             "min over arbitrary rounds of |mean over the participants of the sum of local gradients|^2",
             SQUARED_SLOPE, scope="server run"),
    Quantity("least_client_progress",
             "min over rounds with x_r != x* of (mean over the participants of F_i(x_r) - F_i(x*)) / |grad F(x_r)|^2",
             STEP,
             lower=-math.inf, scope="server run", algorithms=_SAFARI),
    Quantity("peak_client_progress",
             "max over rounds with x_r != x* of (mean over the participants of F_i(x_r) - F_i(x*)) / |grad F(x_r)|^2",
             STEP,
             lower=-math.inf, scope="server run", algorithms=_SAFARI),
    Quantity("least_gradient", "min over rounds of |grad F(x_r)|^2", SQUARED_SLOPE, scope="server run",
             algorithms=_SAFARI),
    Quantity("arbitrary_excess", "E of the mean over the arbitrary cohort of F_i(x_0) - F_i(x*) in one round",
             OBJECTIVE, lower=-math.inf, scope="client round", data=True),
    Quantity("arbitrary_drift",
             "E of the mean over the arbitrary cohort of the sum over k of |x_{i,k} - x_0|^2 in one round",
             SQUARED_LENGTH, scope="client round", data=True),
    Quantity("participation_probability", "probability that a client takes part in a round", DIMENSIONLESS, upper=1.0,
             algorithms=_FEDAU),
    Quantity("least_participation_probability", "min over clients of participation_probability", DIMENSIONLESS,
             upper=1.0, algorithms=_FEDAU),
    Quantity("absence", "mean over clients n of 1 - p_n, p_n their participation_probability", DIMENSIONLESS, upper=1.0,
             algorithms=_FEDAU),
    Quantity("ever_absent", "share of clients n with p_n < 1", DIMENSIONLESS, upper=1.0, algorithms=_FEDAU),
    Quantity("aggregation_weight", "how much a client's update counts", DIMENSIONLESS, algorithms=_FEDAU),
    Quantity("cutoff", "rounds after which a participation interval ends anyway", DIMENSIONLESS, lower=1, integer=True,
             algorithms=_FEDAU),
    Quantity("history", "rounds that a weight has seen; the weight of round t has seen t", DIMENSIONLESS, lower=1,
             integer=True, algorithms=_FEDAU),
    Quantity("guaranteed_intervals", "max(floor(history / cutoff), 1): so many participation intervals have ended",
             DIMENSIONLESS, lower=1, integer=True, algorithms=_FEDAU),
    Quantity("cutoff_bias", "mean over clients of (1 - participation_probability)^(2 cutoff)", DIMENSIONLESS,
             upper=1.0, algorithms=_FEDAU),
    Quantity("weight_spread", "E[(weight - mean participation interval)^2] of a client in one round", DIMENSIONLESS,
             algorithms=_FEDAU),
    Quantity("weight_error", "mean over clients and rounds of E[(participation_probability * weight - 1)^2]",
             DIMENSIONLESS, data=True, algorithms=_FEDAU),
    Quantity("peak_weight_error",
             "max over rounds of the mean over clients of (participation_probability * weight - 1)^2", DIMENSIONLESS,
             algorithms=_FEDAU),
    Quantity("weight_scale", "max over rounds of the mean over clients of participation_probability * weight^2",
             DIMENSIONLESS, positive=True, algorithms=_FEDAU),
    Quantity("expected_weight_scale", "mean over clients and rounds of E[participation_probability * weight^2]",
             DIMENSIONLESS, positive=True, algorithms=_FEDAU),
    Quantity("update_weight", "mean over clients of participation_probability * weight, for constant weights",
             DIMENSIONLESS, positive=True, algorithms=_FEDAU),
    Quantity("objective_error",
             "sum over clients of (participation_probability * weight / clients - the objective's weight)^2, one round",
             DIMENSIONLESS, data=True, algorithms=_FEDAU),
    Quantity("least_objective_weight", "the least weight of a client in the objective", DIMENSIONLESS, upper=1.0,
             algorithms=_FEDAU),
    Quantity("global_gradient_bound", "max over x of |grad F(x)|", SLOPE, data=True, algorithms=_FEDAU),
    Quantity("global_lr", "multiplies the aggregated update", DIMENSIONLESS, positive=True, algorithms=_FEDAU + _FLICS),
    Quantity("groups", "how many groups of clients there are", DIMENSIONLESS, lower=1, integer=True, algorithms=_FLICS),
    Quantity("weight_concentration", "sum over groups of group_weight^2", DIMENSIONLESS, upper=1.0, algorithms=_FLICS),
    Quantity("estimate_error", "a bound on how far estimates are from the long-term participation", DIMENSIONLESS,
             algorithms=_FLICS),
    Quantity("largest_estimate_error", "max over groups and rounds of |estimate - long-term participation|",
             DIMENSIONLESS, algorithms=_FLICS),
    Quantity("least_participation", "a bound from below on the long-term participation of every group", DIMENSIONLESS,
             positive=True, algorithms=_FLICS),
    Quantity("least_group_participation", "min over groups of the long-term participation", DIMENSIONLESS,
             algorithms=_FLICS),
    Quantity("selection_variance",
             "mean over rounds of sum_ij p_i p_j Cov(S_i, S_j)/(s^_i s^_j), S the numbers of answers of groups",
             DIMENSIONLESS, algorithms=_FLICS),
    Quantity("selection_proxy", "mean over rounds of sum_j p_j^2 r_j/s^_j^2, r the expected numbers of answers",
             DIMENSIONLESS, algorithms=_FLICS),
    Quantity("rate_spread",
             "mean over rounds of E[(sum over groups of group_weight * rate / estimate)^2], over the availability",
             DIMENSIONLESS, algorithms=_FLICS),
    Quantity("weight_mismatch",
             "max over groups of |expected answers / estimate - 1|; of a run, given the past and the round's "
             "availability, its root mean square over rounds", DIMENSIONLESS, algorithms=_FLICS),
    Quantity("mean_mismatch",
             "max over groups of |E[answers / estimate] - 1|, given the past, over the round's availability; of a run, "
             "its root mean square over rounds", DIMENSIONLESS, algorithms=_FLICS),
    Quantity("answer_proxy", "mean over rounds of E sum_j p_j^2 S_j/s^_j^2, S the numbers of answers (0/0 is 0)",
             DIMENSIONLESS, algorithms=_FLICS),
    Quantity("answer_mismatch", "root mean square over rounds of max over groups of |E[S_j/s^_j] - 1|, given the past "
             "and the round's availability, S the numbers of answers (0/0 is 0)", DIMENSIONLESS, algorithms=_FLICS),
    Quantity("local_gradient_bound",
             "max over all clients, asked or not, rounds and local steps of |stochastic gradient|", SLOPE,
             algorithms=_FLICS),
    Quantity("descent_constant", "the constant c of FLICS's Theorem 1", DIMENSIONLESS, positive=True,
             algorithms=_FLICS),
    Quantity("weighted_pseudogradient", "E|sum over groups of group_weight * sum of local gradients|^2 in one round",
             SQUARED_SLOPE, algorithms=_FLICS),
    Quantity("mean_update_length", "sum over groups of group_weight * |a client's mean update|", LENGTH,
             algorithms=_FLICS),
    Quantity("squared_mean_update", "|E of the aggregated update|^2 in one round", SQUARED_LENGTH, algorithms=_FLICS),
    Quantity("squared_state_update", "E of |E of the aggregated update, given availability|^2 in one round",
             SQUARED_LENGTH, algorithms=_FLICS),
    Quantity("squared_mean_vector", "|sum over groups of group_weight * x_j|^2", SQUARED_SLOPE, algorithms=_FLICS),
    Quantity("mean_squared_vector", "sum over groups of group_weight * |x_j|^2", SQUARED_SLOPE, algorithms=_FLICS),
    Quantity("vector_covariance", "sum_ij p_i p_j Cov(S_i, S_j)/(s^_i s^_j) <x_i, x_j>", SQUARED_SLOPE,
             lower=-math.inf, data=True, algorithms=_FLICS),
    Quantity("group_weight", "how much a group counts in the objective", DIMENSIONLESS, upper=1.0, algorithms=_FLICS),
    Quantity("group_clients", "clients of a group", DIMENSIONLESS, lower=1, integer=True, algorithms=_FLICS),
    Quantity("group_participation", "expected number of a group's clients that answer in a round", DIMENSIONLESS,
             algorithms=_FLICS),
    Quantity("participation_estimate", "what the server takes for group_participation", DIMENSIONLESS, positive=True,
             algorithms=_FLICS),
    Quantity("response_probability", "probability that a client of a group answers in a round", DIMENSIONLESS,
             upper=1.0, algorithms=_FLICS),
    Quantity("relative_error", "a bound on |s/s^ - 1| for participation and its estimate", DIMENSIONLESS,
             algorithms=_FLICS),
    Quantity("failure_probability", "how often an estimate may be off", DIMENSIONLESS, positive=True,
             algorithms=_FLICS),
    Quantity("hidden_constant", "the constant that an O(.) hides", DIMENSIONLESS, positive=True),
    Quantity("price_drift",
             "mean over rounds of the clients asked * the spread over groups of (p_j/s^_j(T))^2 - (p_j/s^_j(t))^2",
             DIMENSIONLESS, algorithms=_FLICS),
    Quantity("samples_per_client", "samples that each client has", DIMENSIONLESS, lower=1, integer=True),
    Quantity("samples", "samples in all", DIMENSIONLESS, lower=1, integer=True),
    Quantity("server_samples", "samples that the server has", DIMENSIONLESS, lower=1, integer=True),
    Quantity("client_samples", "samples of the clients that take part", DIMENSIONLESS, lower=1, integer=True),
    Quantity("client_share", "client_samples / (server_samples + client_samples)", DIMENSIONLESS, upper=1.0),
    Quantity("class_size", "how many hypotheses there are", DIMENSIONLESS, lower=1, integer=True),
    Quantity("vc_dimension", "the hypotheses' Vapnik-Chervonenkis dimension", DIMENSIONLESS, lower=1, integer=True),
    Quantity("confidence", "how often a statement about samples may fail", DIMENSIONLESS, upper=1.0),
    Quantity("complexity", "log(class_size / confidence) / samples", DIMENSIONLESS),
    Quantity("server_complexity", "log(class_size / confidence) / server_samples", DIMENSIONLESS),
    Quantity("pair_complexity", "log(class_size^2 / confidence) / samples", DIMENSIONLESS),
    Quantity("vc_complexity", "(d log(e max(2 n, d)/d) + log(4 / confidence))/n, d = vc_dimension, n = samples",
             DIMENSIONLESS),
    Quantity("server_vc_complexity", "the same with n = server_samples", DIMENSIONLESS),
    Quantity("sample_complexity", "A(samples, confidence) as a paper has it", DIMENSIONLESS, lower=-math.inf,
             data=True),
    Quantity("rare_mass", "the probability of the second of two points", DIMENSIONLESS, upper=1.0),
    Quantity("error_level", "the error of which it is said how often it is reached", DIMENSIONLESS, upper=1.0),
    Quantity("relatedness", "alpha in |e_P(h) - e_Q(h)| <= alpha e_Q(h)^beta for all h, e the excess risks",
             DIMENSIONLESS),
    Quantity("relatedness_exponent", "beta in |e_P(h) - e_Q(h)| <= alpha e_Q(h)^beta for all h", DIMENSIONLESS),
    Quantity("noise_constant", "a in P(h != h*) <= a e(h)^b for all h, e the excess risk", DIMENSIONLESS),
    Quantity("noise_exponent", "b in P(h != h*) <= a e(h)^b for all h", DIMENSIONLESS, upper=1.0),
    Quantity("source_excess", "the excess risk of a hypothesis under the distribution of the samples", DIMENSIONLESS,
             upper=1.0, data=True),
    Quantity("related_gap", "relatedness * source_excess^relatedness_exponent", DIMENSIONLESS, data=True),
    Quantity("best_excess", "the excess risk under P of the best hypothesis under Q", DIMENSIONLESS, upper=1.0),
    Quantity("target_width", "the length of the support of P, a uniform distribution", DIMENSIONLESS, positive=True),
    Quantity("source_width", "the length of the support of Q, a uniform distribution", DIMENSIONLESS, positive=True),
    Quantity("threshold_distance", "how far a threshold is from the best one", DIMENSIONLESS, data=True),
    Quantity("outside_support", "how far a threshold is from the support of Q", DIMENSIONLESS),
)  # fmt: skip
QUANTITIES: Mapping[str, Quantity] = {known.name: known for known in _ALL}


def of_scope(scope: str) -> tuple[str, ...]:
    """Return the names of the quantities of a scope, in the vocabulary's order.

    >>> of_scope("point")
    ('displacement', 'perturbation')
    """
    return tuple(name for name, known in QUANTITIES.items() if known.scope == scope)


ANYBODYS = frozenset({"global_lr", "cohort", "participation_probability", "server_noise"})
"""Quantities that a claim about any algorithm that it names may speak of, though only some built-in ones have them."""

OF_A_SETTING = frozenset({
    *(name for name, known in QUANTITIES.items() if known.data or known.scope), "clients", "arbitrary_cohort", "rounds",
    "smoothness", "strong_convexity", "dissimilarity_at_optimum",
})  # fmt: skip
"""Quantities that a federation, its participants or a run have, so that no algorithm can say what they are."""

RUN_QUANTITIES = of_scope("run")
SERVER_RUN_QUANTITIES = of_scope("server run")
LEAST_QUANTITIES = ("least_full_pseudogradient", "least_arbitrary_pseudogradient")  # as RUN_QUANTITIES[:2]
ROUND_QUANTITIES = of_scope("round")
CLIENT_ROUND_QUANTITIES = of_scope("client round")
POINT_QUANTITIES = of_scope("point")

ORDERED_PAIRS = (
    ("strong_convexity", "smoothness"),
    ("cohort", "clients"),
    ("arbitrary_cohort", "clients"),
    ("dissimilarity_at_optimum", "dissimilarity"),
)
"""Pairs (smaller, larger) of quantities of which the first never exceeds the second."""


def quantity(name: str) -> Quantity:
    """Return the quantity of that name; raise ``ValueError`` with the nearest known name otherwise.

    >>> quantity("smothness")
    Traceback (most recent call last):
    ValueError: unknown quantity 'smothness': did you mean 'smoothness'?
    """
    if name not in QUANTITIES:
        raise ValueError(f"unknown quantity {name!r}: {nearest(name, QUANTITIES)}")
    return QUANTITIES[name]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return 'did you mean ...?' or the list of known names, cut where it is long.

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
    """Return the sympy symbol of a quantity, with the assumptions that its allowed values justify."""
    import sympy

    q = quantity(name)
    sign = {"positive": True} if q.positive or q.lower > 0 else {"nonnegative": True} if q.lower == 0 else {}
    return sympy.Symbol(name, real=True, integer=q.integer or None, **sign)


def symbols(*names: str) -> tuple[sympy.Symbol, ...]:
    """Return several symbols at once, in the order of ``names``."""
    return tuple(symbol(name) for name in names)


def bare(expression: Any) -> sympy.Expr:
    """Return an expression with symbols known by their names alone, as files have them.

    >>> bare(symbol("rounds") + 1).free_symbols.pop().is_positive is None
    True
    """
    import sympy

    return _bare(sympy.sympify(expression))


@lru_cache(maxsize=5000)
def _bare(expression: sympy.Expr) -> sympy.Expr:
    import sympy

    return expression.xreplace({s: sympy.Symbol(s.name) for s in expression.free_symbols})


def check_values(values: Mapping[str, Any]) -> None:
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
            worst, cap = (f"{np.asarray(values[name]).tolist()}" for name in (small, large))
            raise ValueError(f"{small} = {worst}: allowed is a number in {opening}, {large}] = {opening}, {cap}]")


def _extremes(name: str, value: object) -> Iterable[float]:
    """Numbers that are all allowed exactly when every entry of ``value`` is."""
    import numpy as np

    try:
        if type(value) in (int, float, Fraction):
            return [float(value)]  # type: ignore[arg-type]  # one of these
        if np.asarray(value).dtype.kind in "US":
            raise ValueError
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value!r}: allowed is {quantity(name).allowed}") from None
    if array.size == 0:
        raise ValueError(f"{name} is empty: allowed is {quantity(name).allowed}")
    bad = ~np.isfinite(array) | (quantity(name).integer & (array != np.round(array)))
    return [float(array[bad].flat[0])] if bad.any() else [float(array.min()), float(array.max())]
