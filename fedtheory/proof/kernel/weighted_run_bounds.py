"""Bounds on runs, and on one round, whose rounds add the clients' updates with weights (see ``weighted_rounds``).

A theorem is given a round's start and weights, for any mean F. Its E and Q are the round's own. Read with F the plain
mean, E is the mean over clients of (p_i omega_i - 1)^2, as phi_i = 1/n; else n times sum_i (p_i omega_i/n - phi_i)^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .axioms import ITERATE, NEXT, START_POINT, gradient_at
from .forms import ONE, Atom, Form, Term, Value, Vector, square
from .regions import Condition, Where
from .round_rules import average
from .run_bounds import GAP, MEAN_GRADIENT, ROUNDS, RunBound, _bound, lifted
from .scalars import Ring, Scalar
from .theorems import Assumption, Refused, Theorem, at_step, intact

WEIGHTED_GRADIENT = "average_squared_weighted_gradient"
WEIGHT_ERROR, PEAK_ERROR, OBJECTIVE_ERROR = "weight_error", "peak_weight_error", "objective_error"
EXPECTED_SCALE, LARGEST_SCALE = "expected_weight_scale", "weight_scale"
UPDATE_WEIGHT, LEAST_WEIGHT, GRADIENT = "update_weight", "least_objective_weight", "gradient_norm"
"""Parameters of a run, or of a round, of weighted updates."""

KNOWN_BEFORE: Assumption = ("scale_known_beforehand", None)
OF_THE_ROUND: Assumption = ("weights_of_the_round", None)
PLAIN_MEAN: Assumption = ("equal_weights", None)
"""Readings of a bound: Q is a number that the run does not change; what is given are the weights of the round
alone; F is the plain mean of the clients' functions."""

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
    where, own = theorem.where, _own_letters(theorem)
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
    parameters = {WEIGHT_ERROR: own["error"], scale: own["scale"], ROUNDS: rounds, GAP: gap}
    assumed = [PLAIN_MEAN, *([KNOWN_BEFORE] if scale == LARGEST_SCALE else [])]
    right = ring[gap] / (fall.within(ring) * ring[rounds]) + addition.within(ring) / fall.within(ring)
    if peak:
        parameters[PEAK_ERROR] = peak
    return _of_weights(
        "telescope weights",
        theorem,
        ring,
        MEAN_GRADIENT,
        right,
        parameters={name: ring[letter] for name, letter in parameters.items()},
        conditions=kept,
        more=(Condition(rounds, "count"), Condition(gap, "nonnegative")),
        assumed=assumed,
        letters=[rounds, gap],
        scale=scale,
    )


def telescope_constant_weights(theorem: Theorem, ring: Ring, rounds: str, gap: str, weight: str) -> RunBound:
    """Conclude the same from a theorem with E = 0 for a run with one weight omega_i of each client,

        mean over r < R of E|grad h(x_r)|^2 <= (h(x_0) - inf h)/(c R) + B(Q)/c,

    h the mean by the weights phi_i = p_i omega_i/(n w), w the mean of the p_i omega_i. A round with c' and omega_i is
    one with c = c' w and omega_i/w, whose error is 0 for these phi_i, and whose Q is w^2 times smaller. So c' = c/w and
    Q' = Q w^2 are the run's own.
    """
    fall, addition = average(theorem)
    own, given = _own_letters(theorem), dict(theorem.parameters)
    if own.keys() != {"scale"} or not given["error"].is_zero or "least_weight" in given:
        raise Refused(f"{theorem}: allowed is a theorem with E = 0, a letter for Q, and no least weight")
    if named := OF_PLAIN_MEAN & {name for name, _ in theorem.assumptions}:
        raise Refused(f"{', '.join(sorted(named))}: known of the plain mean, not of the one that weights imply")
    w = ring[weight]
    parameters = {
        ROUNDS: ring[rounds],
        GAP: ring[gap],
        UPDATE_WEIGHT: w,
        "weighted_lr": given["weighted_lr"].within(ring) / w,
        LARGEST_SCALE: ring[own["scale"]] * w**2,
    }
    right = ring[gap] / (fall.within(ring) * ring[rounds]) + addition.within(ring) / fall.within(ring)
    more = (Condition(rounds, "count"), Condition(gap, "nonnegative"), Condition(weight, "positive"))
    return _of_weights(
        "telescope constant weights",
        theorem,
        ring,
        WEIGHTED_GRADIENT,
        right,
        parameters=parameters,
        conditions=theorem.where.conditions,
        more=more,
        letters=[rounds, gap, weight],
    )


def bound_round(
    theorem: Theorem,
    ring: Ring,
    functional: str,
    gradient: str,
    rounds: str,
    plain: bool,
    last: Theorem | None = None,
) -> RunBound:
    """Conclude functional <= C + G |grad F(x)|^2 from C + G |grad F(x)|^2 - form >= 0, where the functional is the
    largest value of the form over clients and steps, in one round from x. ``last`` says the same of the last step,
    where the form is followed along a path. F is the plain mean, or any: then nothing is assumed that is known of the
    plain mean only, and E is n times the objective's error. What is given is that there is one round."""
    if functional not in FUNCTIONALS or theorem.context != "start":
        raise Refused(f"{functional}: allowed are {', '.join(FUNCTIONALS)}, of a theorem given a round's start")
    form = FUNCTIONALS[functional](theorem.where.ring)
    constant, factor = _of_gradient(theorem, form)
    if ("k" in form.open) != (last is not None):
        raise Refused(f"{functional}: allowed is a theorem on the last step where it is of a path, and nowhere else")
    if last is not None:
        same = intact(last).where == theorem.where and last.parameters == theorem.parameters
        if not same or last.context != "start" or _of_gradient(last, at_step(form, 0, 1, 0)) != (constant, factor):
            raise Refused(f"{functional}: another bound on the last step")
    own, given = _own_letters(theorem), dict(theorem.parameters)
    if not plain and (named := OF_PLAIN_MEAN & {name for name, _ in theorem.assumptions}):
        raise Refused(f"{', '.join(sorted(named))}: known of the plain mean, not of any mean")
    parameters = {GRADIENT: ring[gradient], ROUNDS: ring[rounds]}
    if "error" in own:
        error = ring[own["error"]]
        parameters |= {WEIGHT_ERROR: error} if plain else {OBJECTIVE_ERROR: error / given["clients"].within(ring)}
    if "scale" in own:
        parameters |= {LARGEST_SCALE: ring[own["scale"]]}
    if "least_weight" in given:
        parameters |= {LEAST_WEIGHT: given["least_weight"].within(ring)}
    assumed = [*([PLAIN_MEAN] if plain else []), *([OF_THE_ROUND] if own else [])]
    return _of_weights(
        "bound round",
        theorem,
        ring,
        functional,
        constant.within(ring) + factor.within(ring) * ring[gradient] ** 2,
        parameters=parameters,
        conditions=theorem.where.conditions,
        more=(Condition(gradient, "nonnegative"), Condition(rounds, "count")),
        assumed=[*assumed, *(last.assumptions if last is not None else ())],
        letters=[gradient, rounds],
        given=[1 - ring[rounds]],
        plain=plain,
        others=[last] if last is not None else [],
    )


def _of_weights(
    rule: str,
    theorem: Theorem,
    ring: Ring,
    functional: str,
    right: Scalar,
    *,
    parameters: Mapping[str, Scalar],
    conditions: tuple[Condition, ...],
    more: tuple[Condition, ...],
    assumed: Any = (),
    letters: list[str],
    others: Any = (),
    given: Any = (),
    **arguments: Any,
) -> RunBound:
    """Make the bound; its letters are new, and the parameters of a round's weights are the run's instead."""
    intact(theorem)
    old = {c.name for c in theorem.where.conditions} | {*theorem.where.ring.names}
    if old & {*letters} or len({*letters}) < len(letters):
        raise Refused(f"{', '.join(letters)}: allowed are different letters that the theorem does not have")
    if "weighted_lr" in dict(theorem.parameters) and {n for n, _ in theorem.parameters} - _ROUND_PARAMETERS:
        raise Refused(f"{theorem}: of another algorithm than that of weighted updates")
    kept = {
        name: value.within(ring) for name, value in theorem.parameters if name not in ("error", "scale", "least_weight")
    }
    return _bound(
        rule,
        theorem,
        functional=functional,
        kind="",
        where=lifted(Where(theorem.where.ring, conditions), ring, *more),
        definitions=(),
        assumptions=[(name, None if c is None else c.within(ring)) for name, c in (*theorem.assumptions, *assumed)],
        parameters=kept | dict(parameters),
        bound=right,
        given=given,
        letters=letters,
        others=tuple(others),
        **arguments,
    )


def _own_letters(theorem: Theorem) -> dict[str, str]:
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


def _atom(ring: Ring, atom: Atom, bound: str = "") -> Vector:
    return Vector(ring, {Term(bound, atom): ring.number(1)})


def _divergence(ring: Ring) -> Form:
    g = gradient_at(START_POINT)
    return square(_atom(ring, g) - _atom(ring, g, "M"))


def _increase(ring: Ring) -> Form:
    return Form.of(ring, {Value("M", NEXT): ring.number(1), Value("M", START_POINT): -ring.number(1)})


def _drift(ring: Ring) -> Form:
    return square(_atom(ring, ITERATE) - _atom(ring, START_POINT))


FUNCTIONALS = {"weighted_divergence": _divergence, "weighted_increase": _increase, "local_drift": _drift}
"""Functionals of one round as forms, of any client and step."""


def _of_gradient(theorem: Theorem, form: Form) -> tuple[Scalar, Scalar]:
    """Return (C, G) of C + G |grad F(x)|^2 - form >= 0."""
    ring, rest = theorem.where.ring, theorem.form + form
    gradient = square(_atom(ring, gradient_at(START_POINT), "M"))
    (entry,) = gradient.entries
    factor = rest.entries.get(entry, ring.number(0))
    rest = rest - gradient * factor
    constant = rest.entries.get(ONE, ring.number(0))
    if rest != Form.constant(constant) or "k" in (constant.names | factor.names):
        raise Refused(f"{theorem}: allowed is C + G |grad F(x)|^2 - ({form}) >= 0, with C and G free of the step")
    return constant, factor
