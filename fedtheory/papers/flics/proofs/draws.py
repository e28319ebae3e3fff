"""Draws with known weights: Lemmas 4 and 6, repaired, and display (7) with its band and Hoeffding's step, by the
kernel."""

from __future__ import annotations

from ....claims import readings
from ....proof.kernel.answer_bounds import AGGREGATE_BIAS, SQUARED_SELECTED_VECTOR, selected_bias, selected_square
from ....proof.kernel.number_bounds import RATIO_FAILURE, by_logarithm, frequency, value
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.run_bounds import RunBound, restrict, weaken
from ....proof.kernel.scalars import Ring
from ....proof.kernel.tactics import each
from ....proof.translate.claim_bounds import Bounds, made_bounds

_MOMENTS = Ring("mean vectors covariance delta")
_ERRORS = Ring("worst least error room length")


def lemma_6() -> RunBound:
    """Lemma 6, repaired: with a = b = delta."""
    mean, vectors, covariance, delta = _MOMENTS.symbols
    known = (Condition("covariance", "real"), *(Condition(n, "nonnegative") for n in ("mean", "vectors", "delta")))
    bound = selected_square(Where(_MOMENTS, known), mean, vectors, covariance, delta, delta, delta)
    return weaken(bound, (1 + delta) * mean + (1 + delta) * delta * vectors + covariance)


def lemma_4() -> RunBound:
    """Lemma 4, repaired: with any e >= max |s^_j - s_j| and r <= min s_j, r = e + room."""
    worst, least, error, room, length = _ERRORS.symbols
    larger = Condition("least", "at_least", error + room), Condition("error", "at_least", worst)
    known = (*larger, *each("nonnegative", "worst length"), *each("positive", "room"))
    return weaken(selected_bias(Where(_ERRORS, known), worst, least, length), error / room * length)


_GROUP = Ring("n p s hat r t epsilon w delta l C decay")
_n, _p, _s, _hat, _r, _t, _e, _w = _GROUP.symbols[:8]
_ONE_GROUP = (Condition("hat", "positive"), Condition("n", "count"), Condition("p", "interval", _GROUP.number(1)),
              Condition("r", "interval", _GROUP.number(1)))  # fmt: skip
_VARIANCE, _OF_CHANCE = _p**2 / _hat**2 * (_s - _s**2 / _n), _p**2 / _hat**2 * _n * _r * (1 - _r)
_ABOVE, _BELOW = _s - (1 - _e) * _hat, (1 + _e) * _hat - _s
_MOST, _LEAST = (_p**2 * part / (2 * _n * _hat**2) for part in (2 * _n - _s - _hat, _s + _hat))


def display_7(sign: int) -> RunBound:
    """(7): p^2/s^^2 n r (1 - r) is p^2/s^^2 (s - s^2/n) with s = n r."""
    made = value(Where(_GROUP, _ONE_GROUP), _OF_CHANCE * sign)
    return weaken(made, _VARIANCE.replace({"s": _n * _r}) * sign)


def band(upper: bool) -> RunBound:
    """The band of (7), by both bounds on s/s^: the difference is the sum of both, with these multipliers."""
    known = (Condition("s", "interval", _n), Condition("hat", "capped", _n), *_ONE_GROUP[1:3],
             Condition("epsilon", "nonnegative"))  # fmt: skip
    where, sign = Where(_GROUP, known), 1 if upper else -1
    made = restrict(value(where, _VARIANCE * sign), where, {}, (_ABOVE, _BELOW))
    right = ((1 + _e) if upper else -(1 - _e)) * _p**2 / _hat - sign * _p**2 / _n
    return weaken(made, right, (_LEAST, _MOST) if upper else (_MOST, _LEAST))


def hoeffding() -> RunBound:
    """Hoeffding's step, repaired: both deviations of n t answers by x = epsilon r/(1 + epsilon)."""
    known = (Condition("n", "count"), Condition("t", "count"), _ONE_GROUP[3], Condition("epsilon", "nonnegative"))
    return frequency(Where(_GROUP, known), _n, _t, _r, _e, _e * _r / (1 + _e), "w")


def enough_rounds() -> RunBound:
    """Hoeffding's step with a constant of the group: 2 n t x^2 >= 2 log(1/delta), and 2 delta^2 <= delta."""
    known = (Condition("n", "count"), Condition("t", "count"), Condition("r", "capped", _GROUP.number(1)),
             Condition("epsilon", "capped", _GROUP.number(1)), Condition("delta", "capped", _GROUP.number(1) / 2),
             Condition("l", "nonnegative"), Condition("C", "positive"))  # fmt: skip
    where, delta, log, C = Where(_GROUP, known), *(_GROUP[name] for name in ("delta", "l", "C"))
    given = (_t - C * log / _e**2, C - 4 / (_n * _r**2))
    made = restrict(frequency(where, _n, _t, _r, _e, _e * _r / (1 + _e), "w"), where, {}, given)
    factors = (2 * _n * (_e * _r / (1 + _e)) ** 2, 2 * _n * log * (_r / (1 + _e)) ** 2)
    return weaken(by_logarithm(made, "w", delta, "l", 2, factors), delta)


_LETTERS = {"n": "group_clients", "p": "group_weight", "hat": "participation_estimate", "r": "response_probability"}
_OF_BAND = {**_LETTERS, "s": "group_participation", "epsilon": "relative_error"}
_OF_HOEFFDING = {"n": "group_clients", "r": "response_probability", "t": "rounds", "epsilon": "relative_error"}

_BOUNDS: Bounds = {
    "lemma4@corrected": (lemma_4, {"worst": "largest_estimate_error", "least": "least_group_participation",
                                   "error": "estimate_error", "room": "least_participation - estimate_error",
                                   "length": "mean_update_length"}, AGGREGATE_BIAS),
    "lemma6@corrected": (lemma_6, {"mean": "squared_mean_vector", "vectors": "mean_squared_vector",
                                   "covariance": "vector_covariance", "delta": "weight_mismatch"},
                         SQUARED_SELECTED_VECTOR),
    "eq7.a@main": (lambda: display_7(1), _LETTERS, "group_variance"),
    "eq7.b@main": (lambda: display_7(-1), _LETTERS, "negated_group_variance"),
    "eq7.c@main": (lambda: band(False), _OF_BAND, "negated_variance"),
    "eq7.d@main": (lambda: band(True), _OF_BAND, "variance"),
    "eq7.e@corrected": (hoeffding, _OF_HOEFFDING, RATIO_FAILURE),
    "eq7.e@main": (enough_rounds, {**_OF_HOEFFDING, "delta": "failure_probability", "C": "hidden_constant",
                                   "l": "log(1/failure_probability)"}, RATIO_FAILURE),
}  # fmt: skip

DERIVATIONS = made_bounds("flics", _BOUNDS, {"eq7.e@main": {readings.CONSTANTS: readings.OF_THE_PROBLEM}})
