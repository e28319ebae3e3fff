"""Bounds on runs whose rounds add the clients' updates with weights (see ``weighted_rounds``).

A theorem is given a round's start and weights, for any mean F. Its E and Q are the round's own. Read with F the plain
mean, E is the mean over clients of (p_i omega_i - 1)^2, as phi_i = 1/n; else n times sum_i (p_i omega_i/n - phi_i)^2.
"""

from __future__ import annotations

from collections.abc import Mapping

from .regions import Condition
from .round_rules import average
from .run_bounds import GAP, MEAN_GRADIENT, ROUNDS, RunBound, _of_rounds, telescoped
from .scalars import Ring, Scalar
from .theorems import Assumption, Refused, Theorem

WEIGHTED_GRADIENT = "average_squared_weighted_gradient"
WEIGHT_ERROR, PEAK_ERROR, OBJECTIVE_ERROR = "weight_error", "peak_weight_error", "objective_error"
EXPECTED_SCALE, LARGEST_SCALE = "expected_weight_scale", "weight_scale"
UPDATE_WEIGHT, LEAST_WEIGHT = "update_weight", "least_objective_weight"
"""Parameters of a run, or of a round, of weighted updates."""

KNOWN_BEFORE: Assumption = ("scale_known_beforehand", None)
PLAIN_MEAN: Assumption = ("equal_weights", None)
"""Readings of a bound: Q is a number that the run does not change; F is the plain mean of the clients' functions."""

OF_PLAIN_MEAN = {
    "bounded_dissimilarity", "bounded_dissimilarity_at_optimum", "bounded_gradient", "equal_weights",
}  # fmt: skip
"""Assumptions on F that are made of the plain mean only."""
_ROUND_PARAMETERS = {"local_lr", "weighted_lr", "clients", "error", "scale", "least_weight"}


def telescope_weights(theorem: Theorem, ring: Ring, rounds: str, gap: str, scale: str) -> RunBound:
    """Conclude from F(x) - E F(x+) - c |grad F(x)|^2 + B(E, Q) >= 0 in every round, c > 0 and B >= 0 linear in E and Q,

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + B(mean of E_r, mean or largest Q_r)/c,

    F the plain mean. Added over the rounds, in expectation, the values of F cancel, and what is linear in E_r and Q_r,
    with factors >= 0, has its mean at their means. Nothing else may depend on them. Only where the largest Q stands for
    each, the region may have Q at most a bound, as every round's is then too. That E is at most a letter says what that
    letter is: the largest E over the rounds.
    """
    fall, addition = average(theorem)
    where, own = theorem.where, own_letters(theorem)
    if own.keys() != {"error", "scale"} or scale not in (EXPECTED_SCALE, LARGEST_SCALE):
        raise Refused(f"{theorem}, {scale}: allowed are letters for E and Q, {EXPECTED_SCALE} and {LARGEST_SCALE}")
    linear = [fall, *_others(theorem)]
    for letter in own.values():
        powers = addition.coefficients(letter)
        factor = powers.get(1, 0 * addition)
        if {*powers} - {0, 1} or factor.names & {*own.values()} or any(letter in s.names for s in linear):
            raise Refused(f"{letter}: allowed is what is linear in E and Q, and nothing else that depends on them")
        if not where.certifies(factor):
            raise Refused(f"{factor} {letter}: not certified to grow with {letter}")
    peak, kept = _conditions(theorem, own, scale == LARGEST_SCALE)
    letters = {WEIGHT_ERROR: own["error"], scale: own["scale"], **({PEAK_ERROR: peak} if peak else {})}
    return _of_rounds(
        "telescope weights",
        theorem,
        ring,
        MEAN_GRADIENT,
        {ROUNDS: rounds, GAP: gap},
        telescoped(ring, rounds, gap, fall, addition),
        parameters=_of_updates(theorem) | {name: where.ring[letter] for name, letter in letters.items()},
        assumptions=[*theorem.assumptions, PLAIN_MEAN, *([KNOWN_BEFORE] if scale == LARGEST_SCALE else [])],
        conditions=kept,
        scale=scale,
        others=(),
    )


def telescope_constant_weights(theorem: Theorem, ring: Ring, rounds: str, gap: str, weight: str) -> RunBound:
    """Conclude the same from a theorem with E = 0 for a run with one weight omega_i of each client,

        mean over r < R of E|grad h(x_r)|^2 <= (h(x_0) - inf h)/(c R) + B(Q)/c,

    h the mean by the weights phi_i = p_i omega_i/(n w), w the mean of the p_i omega_i. A round with c' and omega_i is
    one with c = c' w and omega_i/w, whose error is 0 for these phi_i, and whose Q is w^2 times smaller. So c' = c/w and
    Q' = Q w^2 are the run's own.
    """
    fall, addition = average(theorem)
    own, given, w = own_letters(theorem), dict(theorem.parameters), ring[weight]
    if own.keys() != {"scale"} or not given["error"].is_zero:
        raise Refused(f"{theorem}: allowed is a theorem with E = 0, a letter for Q, and no least weight")
    if named := OF_PLAIN_MEAN & {name for name, _ in theorem.assumptions}:
        raise Refused(f"{', '.join(sorted(named))}: known of the plain mean, not of the one that weights imply")
    own_step = given["weighted_lr"].within(ring) / w
    return _of_rounds(
        "telescope constant weights",
        theorem,
        ring,
        WEIGHTED_GRADIENT,
        {ROUNDS: rounds, GAP: gap, UPDATE_WEIGHT: weight},
        telescoped(ring, rounds, gap, fall, addition),
        parameters=_of_updates(theorem) | {"weighted_lr": own_step, LARGEST_SCALE: ring[own["scale"]] * w**2},
        others=(),
    )


def check_weighted(theorem: Theorem) -> None:
    """Refuse a theorem on weighted updates that has parameters of another algorithm."""
    if "weighted_lr" in dict(theorem.parameters) and {n for n, _ in theorem.parameters} - _ROUND_PARAMETERS:
        raise Refused(f"{theorem}: of another algorithm than that of weighted updates")


def _of_updates(theorem: Theorem) -> dict[str, Scalar]:
    """Return the parameters but E and Q. A least weight is one of the mean that a theorem is about, not of a run's."""
    check_weighted(theorem)
    if "least_weight" in dict(theorem.parameters):
        raise Refused(f"{theorem}: allowed is a theorem with no least weight")
    return {name: value for name, value in theorem.parameters if name not in ("error", "scale")}


def own_letters(theorem: Theorem) -> dict[str, str]:
    """Return the letters that are E and Q of a theorem's rounds."""
    own = {name: value for name, value in theorem.parameters if name in ("error", "scale")}
    found = {name: str(value) for name, value in own.items() if value.names == {str(value)}}
    lacking = any(name not in found and not value.is_zero for name, value in own.items())
    if lacking or len({*found.values()}) < len(found):
        raise Refused(f"{', '.join(f'{n} = {v}' for n, v in own.items())}: allowed are letters of their own, or 0")
    return found


def _others(theorem: Theorem) -> list[Scalar]:
    """Return the parameters but E and Q, and the constants that are assumed."""
    constants = [c for _, c in theorem.assumptions if c is not None]
    return constants + [value for name, value in theorem.parameters if name not in ("error", "scale")]


def _conditions(theorem: Theorem, own: Mapping[str, str], largest: bool) -> tuple[str, tuple[Condition, ...]]:
    """Return the letter that E is at most, or "", and the region without what is said of every round's E and Q."""
    peak, kept = "", []
    for condition in theorem.where.conditions:
        bound, error = condition.bound, condition.name == own["error"]
        if bound is not None and bound.names & {*own.values()}:
            raise Refused(f"{condition}: a bound by what is every round's own")
        if error and condition.kind == "interval" and bound is not None and {str(bound)} == bound.names:
            peak = str(bound)
            if any(peak in scalar.names for scalar in _others(theorem)):
                raise Refused(f"{peak}: allowed is a letter that is no other parameter")
            condition = Condition(condition.name, "nonnegative")
        elif condition.name in own.values():
            free = condition.kind == "nonnegative" or (condition.kind == "interval" and largest and not error)
            if not free:
                raise Refused(f"{condition}: a condition on every round's, and its mean over the rounds is put in")
        kept.append(condition)
    return peak, tuple(kept)
