"""Lemma B.6.1, (B.6.8) and Theorem 3, composed by the kernel from the law of the rounds between two participations.

With q = 1 - p, a = q^C, b = q^t, S an interval's length and omega the weight after t rounds, by induction over C, or t:

    p E S = 1 - a,   p^2 E S^2 = 2 - p - 2 a - (2 C - 1) a p,
    p^2 E[S^2; S <= t] - 2 p E[S; S <= t] + P(S <= t) = q (1 - b) - b p^2 t^2                                (t < C)

From t >= m C on E(p omega - 1)^2 = p^2 E(omega - E S)^2 + a^2 <= p^2 Var S/m + a^2, p^2 Var S = q - (2 C - 1) p a -
a^2.
"""

from __future__ import annotations

from functools import cache, partial

from ....proof.composition import Composed
from ....proof.kernel.forms import Form, Vector, square
from ....proof.kernel.interval_bounds import (
    average_errors, bound_bias, bound_every_error, bound_late_error, bound_moment, choose_cutoff,
    choose_cutoff_of_bias, over_clients,
)  # fmt: skip
from ....proof.kernel.run_bounds import Definition, RunBound, define, enlarge, weaken
from ....proof.kernel.participation_intervals import (
    INTERVAL, UNIT, UNIT_ENDED, WEIGHT, WEIGHT_ENDED, Intervals,
)  # fmt: skip
from ....proof.kernel.forms import Atom, Term
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.scalars import Ring, Scalar
from ....proof.kernel.tactics import follow, restricted, rounded, show
from ....proof.kernel.theorems import Multiples, Theorem, combine
from ....proof.steps import Step
from ....proof.translate.claim_bounds import Bounds, made_bounds

RING = Ring("p C a t b m r k K")
p, C, a, t, b, m, r, *_ = RING.symbols
_one = RING.number(1)
q = 1 - p
MEAN, SQUARE = 1 - a, 2 - p - 2 * a - (2 * C - 1) * a * p
"""p E S and p^2 E S^2."""
SPREAD = q - (2 * C - 1) * p * a - a**2
"""p^2 Var S."""
EARLY = (1 - b, 1 - b * (1 + p * t), 2 - p - b * (2 - p + 2 * p * t + p**2 * t**2))
"""p^d E[S^d; S <= t]."""

_TAIL, _CHANCE = Condition("a", "interval", q), Condition("p", "interval", _one)
ANY = Where(RING, (_TAIL, Condition("C", "count"), _CHANCE))
POSITIVE = Where(RING, (_TAIL, Condition("C", "count"), Condition("p", "capped", _one)))
_COUNTS = Condition("C", "count"), Condition("m", "count")
LATE = Where(RING, (_TAIL, Condition("r", "interval", C - 1), *_COUNTS, _CHANCE))
HISTORY = m * C + r
"""Round t, where m intervals of C rounds fit in, and no more."""


def before(first: Condition) -> Where:
    """Return the region of rounds t < C."""
    return Where(RING, (_TAIL, Condition("C", "at_least", t + 1), first, Condition("b", "interval", _one), _CHANCE))


FROM_0, FROM_1 = before(Condition("t", "nonnegative")), before(Condition("t", "count"))


def _number(atom: Atom, factor: Scalar | int = 1) -> Vector:
    return Vector(RING, {Term("", atom): _one * factor})


_u, _S, _error = _number(UNIT), _number(INTERVAL), _number(WEIGHT, p) - _number(UNIT)
_ERROR_GIVEN = _number(WEIGHT_ENDED, p) - _number(UNIT_ENDED)


@cache
def mean() -> Theorem:
    """p E S = 1 - q^C."""
    return Intervals(ANY, q, C, a).moment(1, MEAN)


@cache
def length() -> Theorem:
    """E S = (1 - q^C)/p."""
    return combine([(mean(), 1 / p)], where=POSITIVE, context="run")


@cache
def squared_length() -> Theorem:
    """E S^2."""
    return combine([(Intervals(ANY, q, C, a).moment(2, SQUARE), 1 / p**2)], where=POSITIVE, context="run")


@cache
def falling_moment() -> Theorem:
    """E S(S - 1) = 2 q/p^2 - 2 (C - 1) q^C/p - 2 q^C/p^2."""
    return combine([(squared_length(), 1), (length(), -1)], where=POSITIVE, context="run")


@cache
def split() -> Theorem:
    """(a): E(p omega - 1)^2 = E(p omega - p E S)^2 + q^(2C)."""
    late = Intervals(LATE, q, C, a)
    ended, unit = late.mean_ended(HISTORY), late.unit()
    return follow([(mean(), 2 * a), (unit, -2 * a * MEAN - a**2), (ended, 2 * a * p)], where=LATE)


@cache
def by_intervals() -> Theorem:
    """(b): E(p omega - 1)^2 <= p^2 Var S/m + q^(2C)."""
    late = Intervals(LATE, q, C, a)
    goal = Form.constant(SPREAD / m + a**2) - square(_error)
    premises: Multiples = [
        (late.spread_ended(mean(), m, HISTORY), 1),
        (late.moment(2, SQUARE), -1 / m),
        (late.mean_ended(HISTORY), 2 * p),
        (mean(), 2),
        (late.unit(), -1),
    ]
    return show(goal, premises)


def _late(bound: Scalar) -> Theorem:
    """Enlarge the bound of ``by_intervals`` to this one."""
    return rounded(by_intervals(), LATE, constant=bound - SPREAD / m - a**2)


@cache
def by_rounds() -> Theorem:
    """Line after (b): 1/m <= 2C/t, and Var S >= 0."""
    law, more = Intervals(LATE, q, C, a), 2 * C / HISTORY - 1 / m
    goal = Form.constant(2 * C * SPREAD / HISTORY + a**2) - square(_error)
    premises: Multiples = [
        (by_intervals(), 1),
        (law.moment(2, SQUARE), -more),
        (mean(), 2 * MEAN * more),
        (law.unit(), -(MEAN**2) * more),
    ]
    return show(goal, premises, squares=[(_S * p - _u * MEAN, "", more)])


late = cache(partial(_late, 2 * C * q / HISTORY + a**2))
"""(c): p^2 Var S <= q."""
late_rounded = cache(partial(_late, 2 * C / HISTORY + a**2))
"""E(p omega - 1)^2 <= 2 C/t + q^(2C) for t >= C, with 1 for a factor q."""
late_blocks = cache(partial(_late, q / m + a**2))
"""E(p omega - 1)^2 <= q/m + q^(2C) for t >= C, where m intervals of C rounds fit in."""
late_absence = cache(partial(_late, q))
"""E(p omega - 1)^2 <= q for t >= C."""


def _moments(where: Where) -> list[tuple[Theorem, Scalar | int]]:
    """p^2 E[S^2; S <= t] - 2p E[S; S <= t] + P(S <= t), with its terms."""
    law = Intervals(where, q, C, a)
    return [(law.early_moment(power, EARLY[power], t, b), sign) for power, sign in ((2, -1), (1, 2), (0, -1))]


def _early(where: Where, bound: Scalar) -> Theorem:
    """E(p omega - 1)^2 <= bound for t < C."""
    law = Intervals(where, q, C, a)
    return show(Form.constant(bound) - square(_error), [(law.early_weight(p, -_one, t, b), 1), *_moments(where)])


def _given(where: Where, bound: Scalar) -> Theorem:
    """E[(p omega - 1)^2; M >= 1] <= bound P(M >= 1) for t < C."""
    law, ended = Intervals(where, q, C, a), _number(UNIT_ENDED)
    goal = square(ended) * bound - square(_ERROR_GIVEN)
    given, whole = law.early_given(p, -_one, t, b), law.early_moment(0, EARLY[0], t, b)
    premises = [(given, 1), *_moments(where)[:2], (whole, q - 1)]
    return show(goal, premises)


early_absence = cache(partial(_early, FROM_0, q))
"""E(p omega - 1)^2 <= q for 0 <= t < C."""
_BOUND = 2 * C * q / t + a**2
early_cutoff = cache(partial(_early, FROM_0, C))
"""E(p omega - 1)^2 <= C for 0 <= t < C."""
early_rounded = cache(partial(_early, FROM_1, 2 * C / t + a**2))
"""Line (c) with 1 for q, for 1 <= t < C."""
early = cache(partial(_early, FROM_1, _BOUND))
"""Line (c), for 1 <= t < C."""
early_given = cache(partial(_given, FROM_1, _BOUND))
"""Line (c) for 1 <= t < C, given that an interval has ended."""


# Claims ---------------------------------------------------------------------------------------------------------------

WIDE = Ring(" ".join([*RING.names, "T", "log", "absence", "bias", "spread", "least", "decay", "two"]))
"""The letters above; rounds, their logarithm, the means of q and q^(2C), E(omega - E S)^2, the least p, R, log 2."""
_ERRORS = ("T", "log", "absence", "bias")
_CHOSEN = ("least", "decay", "two")
LETTERS = {
    "p": "participation_probability", "C": "cutoff", "m": "guaranteed_intervals", "t": "history", "T": "rounds",
    "absence": "absence", "bias": "cutoff_bias", "spread": "weight_spread",
    "least": "least_participation_probability",
}  # fmt: skip
LATE_LETTERS = {letter: name for letter, name in LETTERS.items() if letter != "t"} | {"r": "history % cutoff"}
"""Letters of a round t = m C + r >= C."""


def _two_rounds(bound: RunBound) -> RunBound:
    """Restrict a bound to two rounds or more."""
    return restricted(bound, {}, [Condition("T", "at_least", WIDE.number(2))])


@cache
def average() -> RunBound:
    """(B.6.9): (3 C + 2 C log T)/T and the mean of q^(2C)."""
    return average_errors(late_rounded(), early_cutoff(), WIDE, _ERRORS, early_rounded())


def average_by_logarithm() -> RunBound:
    """(7): 1 <= log T/log 2 from T = 2 on."""
    bound, (C, T, log, bias, two) = define(_two_rounds(average()), "two", WIDE.number(2)), _of("C T log bias two")
    return weaken(bound, (2 + 3 / two) * C * log / T + bias)


def average_in_blocks() -> RunBound:
    """q (2 C + C log(T/C))/T and the mean of q^(2C), for T >= C."""
    return average_errors(late_blocks(), early_absence(), WIDE, _ERRORS)


def _of(names: str) -> list[Scalar]:
    return [WIDE[name] for name in names.split()]


@cache
def chosen() -> RunBound:
    """(B.7.1)."""
    return choose_cutoff(average(), _CHOSEN)


def _chosen_in_blocks() -> RunBound:
    """The same, from the bound for T >= C."""
    C, T, bias = _of("C T bias")
    longer = enlarge(average_in_blocks(), "log", Definition("spread", "log", T))
    return choose_cutoff(weaken(longer, C * (2 + WIDE["spread"]) / T + bias), _CHOSEN, early_absence())


def _bias() -> RunBound:
    """(B.7.2): 1/T <= (log T/log 2)^2/T."""
    bound = choose_cutoff_of_bias(bound_bias(mean(), WIDE, ("absence", "bias")), ("T", "log", *_CHOSEN))
    T, log, two = _of("T log two")
    return weaken(bound, (log / two) ** 2 / T)


def _every() -> RunBound:
    return over_clients(bound_every_error(late_absence(), early_absence(), WIDE), "absence", "bias")


def _moment(functional: str) -> RunBound:
    return bound_moment(functional, length(), squared_length(), WIDE)


_FROM_C_ON = {f"eqB_6_8.{line}@corrected": (f"fedau.eqB_6_8.{line}@main",) for line in ("a", "b", "b_next")}
"""Claims on every round that hold from t = C on."""
_ROUND, _AVERAGE = "round_weight_error", "average_weight_error"
_BOUNDS: Bounds = {
    **{f"lemmaB_6_1.{part}@main": (partial(_moment, name), LETTERS, name)
       for part, name in (("mean", "interval_mean"), ("mean_below", "negated_interval_mean"),
                          ("variance", "interval_variance"), ("variance_below", "negated_interval_variance"))},
    "eqB_6_7@sharp": (_every, LETTERS, _ROUND),
    "eqB_6_8.a@corrected": (lambda: bound_late_error(split(), WIDE, mean(), "spread"), LATE_LETTERS, _ROUND),
    "eqB_6_8.b@corrected": (lambda: bound_late_error(by_intervals(), WIDE), LATE_LETTERS, _ROUND),
    "eqB_6_8.b_next@corrected": (lambda: bound_late_error(by_rounds(), WIDE), LATE_LETTERS, _ROUND),
    "eqB_6_8.c@main": (lambda: bound_every_error(late(), early(), WIDE, early_given()), LETTERS, _ROUND),
    "thm3@appendix": (lambda: _two_rounds(average()), LETTERS, _AVERAGE),
    "thm3@main": (average_by_logarithm, LETTERS, _AVERAGE),
    "thm3@sharp": (average_in_blocks, LETTERS, _AVERAGE),
    "lemmaB_7_1@main": (chosen, LETTERS, _AVERAGE),
    "lemmaB_7_1@sharp": (_chosen_in_blocks, {n: q for n, q in LETTERS.items() if n != "spread"}, _AVERAGE),
    "eqB_7_2@main": (_bias, LETTERS, "long_run_bias"),
}  # fmt: skip

DERIVATIONS = made_bounds("fedau", _BOUNDS, also=_FROM_C_ON)
"""The claims' theorems, from those on intervals."""

_REPAIRS = (
    ("falling_moment", "(B.6.4)", "E S(S - 1) = -2(K-1) q^K/p - 2 q^K/p^2 + 2q/p^2, what (B.6.5) uses", falling_moment),
    ("late_a", "(B.6.8), (a)", "for t >= K: E(p omega - 1)^2 = p^2 E(omega - E S)^2 + q^(2K)", split),
    ("late_b", "(B.6.8), (b)", "for t >= K: E(p omega - 1)^2 <= p^2 Var S/floor(t/K) + q^(2K)", by_intervals),
    ("late_b_next", "(B.6.8), after (b)", "for t >= K: E(p omega - 1)^2 <= p^2 2K Var S/t + q^(2K)", by_rounds),
)
STEPS = tuple(
    Step(f"fedau.{name}", equation, says, "composed", (Composed(make),), printed=False)
    for name, equation, says, make in _REPAIRS
)
"""Theorems that hold in the place of printed displays."""
