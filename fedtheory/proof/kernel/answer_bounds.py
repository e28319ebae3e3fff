"""Bounds on what a server makes of the answers of groups: over a run, of one round, and of a draw with known weights.
Every rule computes its conclusion.

The quantities are those of ``answering_clients``: group j counts p_j in F, its clients answer S_j times, and each
answer has the weight p_j/s^_j; rho_j = E S_j/s^_j, and delta = max |rho_j - 1|.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .answering_clients import MEAN_ANSWER, SPREAD
from .axioms import START_POINT, gradient_at
from .forms import Vector, dot, square
from .regions import Where
from .round_bounds import GRADIENT
from .round_rules import average
from .run_bounds import GAP, ROUNDS, RunBound, _bound, _of_rounds, telescoped
from .scalars import Ring, Scalar
from .theorems import Refused, Theorem, intact, said_besides, split

MEAN_SQUARED_GRADIENT, INNER_PRODUCT, SQUARED_AGGREGATE = (
    "mean_squared_gradient",
    "inner_product",
    "squared_aggregate",
)
AGGREGATE_BIAS, SQUARED_SELECTED_VECTOR = "aggregate_bias", "squared_selected_vector"

OVER_ROUNDS: Mapping[str, str] = {
    "mismatch": "rms_mismatch", "proxy": "mean_proxy", "second_moment": "mean_second_moment",
}  # fmt: skip
"""Parameter of a run by the parameter of its rounds: the root of the mean of E delta^2, and the means of E V and E
W."""

MEAN_UPDATE, STATE_UPDATE = "squared_mean_update", "squared_state_update"
"""Parameters of one round: eta_L^2 |B|^2, and the same given who is there, in the mean over that."""


def _given_the_start(theorem: Theorem) -> dict[str, Scalar]:
    """Return the parameters of a theorem on answers, given a round's start."""
    of = dict(intact(theorem).parameters)
    if theorem.context != "start" or theorem.kind or "selected_lr" not in of:
        raise Refused(f"{theorem}: allowed is a theorem on a round of answers, given its start")
    return of


def _letters(theorem: Theorem, of: Mapping[str, Scalar]) -> dict[str, set[str]]:
    """Return the letters of delta, V and W in a theorem, of which it asks that they are >= 0, and no more: no constant,
    condition or other parameter has them. Delta and V are letters, W is a sum of letters."""
    ring, found = theorem.where.ring, {name: {*of[name].names} for name in OVER_ROUNDS if name in of}
    every = set[str]().union(*found.values())
    for name, letters in found.items():
        total = sum((ring[letter] for letter in letters), ring.number(0))
        if of[name] != total or (name != "second_moment" and len(letters) != 1):
            raise Refused(f"{name} = {of[name]}: allowed is a letter, or for W a sum of letters")
    if sum(map(len, found.values())) != len(every):
        raise Refused(f"{', '.join(sorted(every))}: allowed are different letters for delta, V and W")
    others = said_besides(theorem, *found)
    kinds = {c.name: c.kind for c in theorem.where.conditions}
    if any(kinds.get(letter) != "nonnegative" for letter in every) or any(every & c.names for c in others):
        raise Refused(f"{', '.join(sorted(every))}: allowed are letters that are >= 0, of which nothing else is asked")
    return found


def _linear(theorem: Theorem, added: Scalar, letters: Mapping[str, set[str]]) -> None:
    """Refuse what is added if it is not linear in delta^2, V and W together, with factors >= 0."""
    every = set[str]().union(*letters.values())
    for name in sorted(every):
        parts, power = added.coefficients(name), 2 if name in letters.get("mismatch", ()) else 1
        own = [part for at, part in parts.items() if at]
        if name in added.bottom.names or not parts.keys() <= {0, power} or any(part.names & every for part in own):
            raise Refused(f"{name}: allowed is what is added, linear in delta^2, V and W")
        if not all(map(theorem.where.certifies, own)):
            raise Refused(f"{name}: what is added need not grow with it")


def telescope_answers(theorem: Theorem, ring: Ring, rounds: str, gap: str) -> RunBound:
    """Conclude from F(x) - E F(x+) - c |grad F(x)|^2 + B >= 0 in every round of answers, c > 0 and B >= 0,

        mean over t < T of E|grad F(w_t)|^2 <= (F(w_0) - inf F)/(c T) + B/c,

    where B, which is linear in delta^2, V and W, has their means over the rounds: ``OVER_ROUNDS``. Each round has a
    delta, V and W of its own, which depend on the past, and the theorem holds with these, as its region asks of them
    that they are >= 0 alone; c does not depend on them. Added over the rounds, in expectation, what a round adds is
    linear in E delta^2, E V and E W, so that the mean has their means. Of F(w_t) only the ends are left.
    """
    of = _given_the_start(theorem)
    fall, addition = average(theorem)
    letters = _letters(theorem, of)
    if fall.names & set[str]().union(*letters.values()):
        raise Refused(f"{fall}: allowed is a fall that is the same whatever the round's weights are")
    _linear(theorem, addition, letters)
    parameters = {OVER_ROUNDS.get(name, name): value for name, value in of.items()}
    return _of_rounds(
        "telescope answers",
        theorem,
        ring,
        MEAN_SQUARED_GRADIENT,
        {ROUNDS: rounds, GAP: gap},
        telescoped(ring, rounds, gap, fall, addition),
        parameters=parameters,
    )


def bound_inner_product(theorem: Theorem, ring: Ring, gradient: str, update: str) -> RunBound:
    """Conclude from g |grad F(x)|^2 + b |B|^2 + C - eta_L <grad F(x), K grad F(x) - B> >= 0, with E Delta = -eta_L B,

    <grad F(x), E Delta + eta_L K grad F(x)> <= g |grad F(x)|^2 + b/eta_L^2 |E Delta|^2 + C.
    """
    of = _given_the_start(theorem)
    if of.keys() & {"proxy", "second_moment"}:
        raise Refused(f"{theorem}: allowed is a theorem on the first moment alone")
    own, eta = theorem.where.ring, of["local_lr"]
    g, mean = Vector.one(own, gradient_at(START_POINT), "M"), Vector.one(own, MEAN_ANSWER)
    form = theorem.form + dot(g, g * own["K"] - mean) * eta
    parts = split(form, {GRADIENT: square(g), MEAN_UPDATE: square(mean)})
    made = {name: part.within(ring) for name, part in parts.items()}
    right = made[GRADIENT] * ring[gradient] ** 2 + made[MEAN_UPDATE] / eta.within(ring) ** 2 * ring[update] + made[""]
    letters = {GRADIENT: gradient, MEAN_UPDATE: update}
    return _of_rounds("bound inner product", theorem, ring, INNER_PRODUCT, letters, right)


def bound_square(theorem: Theorem, ring: Ring, update: str) -> RunBound:
    """Conclude from b |B|^2 + C - |B + Z|^2 >= 0 given who is there, where C is linear in V and b has no delta or V,

        E|Delta|^2 <= b E|E[Delta | who is there]|^2 + eta_L^2 C   with E V for V, as Delta = -eta_L (B + Z):

    the mean over who is there of a theorem that holds given it.
    """
    of = _given_the_start(theorem)
    if "second_moment" in of or "proxy" not in of:
        raise Refused(f"{theorem}: allowed is a theorem given who is there")
    own, eta, letters = theorem.where.ring, of["local_lr"], _letters(theorem, of)
    mean = Vector.one(own, MEAN_ANSWER)
    parts = split(theorem.form + square(mean + Vector.one(own, SPREAD)), {STATE_UPDATE: square(mean)})
    every = set[str]().union(*letters.values())
    if parts[STATE_UPDATE].names & every or parts[""].names & letters.get("mismatch", set()):
        raise Refused(f"{theorem}: allowed is V alone, in what is added")
    _linear(theorem, parts[""], letters)
    right = parts[STATE_UPDATE].within(ring) * ring[update] + parts[""].within(ring) * eta.within(ring) ** 2
    parameters = {OVER_ROUNDS["proxy"] if n == "proxy" else n: value for n, value in of.items() if n != "mismatch"}
    new = {STATE_UPDATE: update}
    return _of_rounds("bound square", theorem, ring, SQUARED_AGGREGATE, new, right, parameters=parameters)


# draws with known weights -------------------------------------------------------------------------------------------


def _draw(rule: str, where: Where, functional: str, assumptions: tuple[str, ...], bound: Scalar,
          parameters: Mapping[str, Scalar], **arguments: Any) -> RunBound:  # fmt: skip
    where.need(*parameters.values())
    assumed = [(name, None) for name in assumptions]
    return _bound(rule, None, functional=functional, where=where, assumptions=assumed, parameters=parameters,
                  bound=bound, **arguments)  # fmt: skip


def selected_square(
    where: Where, mean: Scalar, vectors: Scalar, covariance: Scalar, mismatch: Scalar, first: Scalar, second: Scalar
) -> RunBound:
    """Conclude for x_j that are fixed before the answers, delta >= |E S_j/s^_j - 1| for every j,

        E|sum_j p_j/s^_j S_j x_j|^2 <= (1 + a) |sum_j p_j x_j|^2 + (delta^2 + b) sum_j p_j |x_j|^2
                                       + sum_ij p_i p_j Cov(S_i, S_j)/(s^_i s^_j) <x_i, x_j>,

    a, b >= 0 with a b >= delta^2 (``first`` and ``second``), the p_j >= 0 of sum 1. A second moment is the square of
    the mean and the covariance. The mean is m + e, m = sum p_j x_j and e = sum p_j (rho_j - 1) x_j, and by Jensen |e|^2
    <= delta^2 V with V = sum p_j |x_j|^2. 2 <m, e> <= a |m|^2 + |e|^2/a, which is at most a |m|^2 + b V as delta^2 <= a
    b (if a = 0, then delta = 0 and e = 0).
    """
    for name, value in (("first", first), ("second", second), ("first second - delta^2", first * second - mismatch**2),
                        ("mismatch", mismatch), ("mean", mean), ("vectors", vectors)):  # fmt: skip
        where.ask(value, f"{name} =")
    bound = (1 + first) * mean + (mismatch**2 + second) * vectors + covariance
    parameters = {
        "squared_mean_vector": mean, "mean_squared_vector": vectors, "vector_covariance": covariance,
        "mismatch": mismatch,
    }  # fmt: skip
    return _draw("selected square", where, SQUARED_SELECTED_VECTOR, ("cohort_before_noise",), bound, parameters,
                 mean=mean, vectors=vectors, covariance=covariance, mismatch=mismatch, first=first,
                 second=second)  # fmt: skip


def selected_bias(where: Where, error: Scalar, least: Scalar, length: Scalar) -> RunBound:
    """Conclude for s_j = E S_j with |s^_j - s_j| <= e and s_j >= l > e for every j, l the ``least``,

        |E Delta - sum_j p_j v_j| <= e/(l - e) sum_j p_j |v_j|,   v_j the mean update of a client of group j.

    Who answers is independent of the updates, so that E Delta = sum_j p_j s_j/s^_j v_j, where in a stationary process
    as many answer in a round as in the long run. |s_j/s^_j - 1| = |s_j - s^_j|/s^_j, which is at most e/(l - e), as
    s^_j >= s_j - e >= l - e > 0. The length of a sum is at most the sum of the lengths.
    """
    for name, value in (("error", error), ("least - error", least - error), ("length", length)):
        where.ask(value, f"{name} =")
    if not where.never_zero(least - error):
        raise Refused(f"least - error = {least - error}: not certified to be > 0 on the region")
    parameters = {
        "largest_estimate_error": error, "least_group_participation": least, "mean_update_length": length,
    }  # fmt: skip
    return _draw("selected bias", where, AGGREGATE_BIAS, ("independent_answers", "stationary_availability"),
                 error / (least - error) * length, parameters, error=error, least=least, length=length)  # fmt: skip
