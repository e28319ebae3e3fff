"""Steps that are chosen, and weights whose error is known: bounds on runs from bounds on runs."""

from __future__ import annotations

from collections.abc import Sequence

from .interval_bounds import AVERAGE_ERROR
from .regions import Where
from .run_bounds import MEAN_GRADIENT, ROUNDS, Definition, RunBound, _follows, untouched
from .scalars import Scalar
from .sealed import Refused
from .theorems import joined, said_besides
from .weighted_run_bounds import WEIGHT_ERROR

ABOVE, BELOW, LEAST = "above", "below", "least"
"""Words of the parameters that say how a step x is chosen: as the largest number with x^2 below_i <= above_i, or as the
least of several."""


def of_choice(name: str, at: int) -> tuple[str, str]:
    """Return the names of the two parameters of an entry of a step's choice.

    >>> of_choice("local_lr", 0)
    ('local_lr above 0', 'local_lr below 0')
    """
    return f"{name} {ABOVE} {at}", f"{name} {BELOW} {at}"


def put_error(premise: RunBound, error: RunBound) -> RunBound:
    """Put a bound on the mean error of weights, over clients and rounds, in the place of that error, with which the
    right side grows. Both are of runs of as many rounds. What the second says of clients' intervals is then said of the
    run, whose weights are the means of these."""
    untouched(premise), untouched(error)
    of, law = dict(premise.parameters), dict(error.parameters)
    if (premise.functional, error.functional) != (MEAN_GRADIENT, AVERAGE_ERROR) or WEIGHT_ERROR not in of:
        raise Refused(f"{premise}, {error}: allowed is a run's bound with the error of weights, and one on it")
    if premise.where.ring is not error.where.ring or law.get(ROUNDS) != of[ROUNDS] or error.given:
        raise Refused(f"{error}: allowed is a bound for runs of {of[ROUNDS]} rounds, in these letters, given nothing")
    letter, rounds = str(of[WEIGHT_ERROR]), str(of[ROUNDS])
    own = {c.name: c for c in premise.where.conditions}
    more = {c.name: c for c in error.where.conditions}
    if own.get(rounds) is None or own[rounds] != more.get(rounds):
        raise Refused(f"{rounds}: allowed is the same condition on the rounds in both")
    taken = {*own, *(d.name for d in premise.definitions)} - {rounds}
    if taken & {*more, *(d.name for d in error.definitions)}:
        raise Refused(f"{error}: letters of the other bound")
    if own[letter].kind != "nonnegative" or _occurs(premise, letter, WEIGHT_ERROR):
        raise Refused(f"{letter}: allowed is a letter >= 0 of which nothing else is said")
    factors = premise.bound.coefficients(letter)
    slope = factors.get(1, 0 * premise.bound)
    if {*factors} - {0, 1} or not premise.known.certifies(slope):
        raise Refused(f"{premise.bound}: allowed is what is linear in {letter}, and grows with it")
    conditions = (*(c for c in more.values() if c.name != rounds), *(c for c in own.values() if c.name != letter))
    return _follows(
        "put error",
        premise,
        factors.get(0, 0 * slope) + slope * error.bound,
        where=Where(premise.where.ring, conditions),
        definitions=[*premise.definitions, *error.definitions],
        assumptions=premise.assumptions | error.assumptions,
        parameters=joined({name: value for name, value in of.items() if name != WEIGHT_ERROR}, law),
        others=(error,),
    )


def choose_step(
    premise: RunBound,
    parameter: str,
    entries: Sequence[tuple[Scalar, Scalar]],
    inverses: Sequence[Scalar] = (),
    share: Scalar | int = 0,
    root: str = "",
) -> RunBound:
    """Choose a step x as the largest number with x^2 S_i <= A_i for all entries (A_i, S_i), which is the least root of
    A_i/S_i over S_i > 0. A right side a/x + b + c x + d x^2, with a, c and d >= 0, is then at most

        (a/A_1 + s) w + a (r_2 + ... + r_n) + b + d A_1/S_1,   w = sqrt(A_1 S_1), for which ``root`` is a letter,

    with the share s, s S_1 >= c, and the inverses r_i >= 0, r_i^2 A_i >= S_i. Nothing is said where no x > 0 is the
    largest one. Where one is, some entry i has x^2 S_i = A_i > 0: if that is the first, a/x = (a/A_1) w, and else 1/x
    <= r_i. As x^2 S_1 <= A_1, S_1 x <= w. What is asked, m x <= p, holds if m^2 A_i <= p^2 S_i for an i with S_i > 0.
    """
    untouched(premise)
    of, ring = dict(premise.parameters), premise.where.ring
    letter, zero = str(of.get(parameter, "")), ring.number(0)
    own = {c.name: c for c in premise.where.conditions}
    if _occurs(premise, letter, parameter) or letter not in own or not entries:
        raise Refused(f"{parameter}: allowed is a letter that is no other parameter, with an entry at least")
    if own[letter].kind not in ("positive", "capped"):
        raise Refused(f"{own[letter]}: allowed is a step > 0, or one with a cap")
    where = Where(ring, tuple(c for c in premise.where.conditions if c.name != letter))
    for scalar in (part for entry in entries for part in entry):
        if not where.certifies(scalar):
            raise Refused(f"{scalar}: an entry that is not certified to be >= 0")
    asked = [expression for expression, strict in own[letter].polynomials(ring) if not strict]
    kept = [g for g in premise.given if letter not in g.names]
    for expression in (*asked, *(g for g in premise.given if letter in g.names)):
        if not any(_holds(expression, letter, A, S, where) for A, S in entries):
            raise Refused(f"{expression} >= 0: not certified for the step that is chosen")
    (A, S), others = entries[0], entries[1:]
    by_x = (premise.bound * ring[letter]).coefficients(letter)
    a, b, c, d = (by_x.get(power, zero) for power in range(4))
    share, ratio = zero + share, zero if a.is_zero else a / A
    known = Where(ring, tuple(c for c in premise.known.conditions if c.name != letter))
    if {*by_x} - {0, 1, 2, 3} or not all(map(known.certifies, (a, c, d, share, share * S - c))):
        raise Refused(f"{premise.bound}: allowed is a/x + b + c x + d x^2, a, d >= 0 and {share} {S} >= c >= 0")
    right, made = b, list[Definition]()
    if not d.is_zero:
        if not where.never_zero(S):
            raise Refused(f"{S}: may be 0, so that the first entry bounds no step")
        right = right + d * A / S
    if not a.is_zero:
        if len(inverses) != len(others) or not all(
            where.certifies(r) and where.certifies(r**2 * above - below)
            for r, (above, below) in zip(inverses, others, strict=True)
        ):
            raise Refused(f"{', '.join(map(str, inverses))}: not certified to be above the inverses of other entries")
        right = right + a * sum(inverses, zero)
        known.ask(ratio)
    if not (lead := share + ratio).is_zero:
        if root in {*own, *(d.name for d in premise.definitions)} or root not in ring.names:
            raise Refused(f"{root or 'no letter'}: allowed is a new letter, for the root of {A * S}")
        right, made = right + lead * ring[root], [Definition(root, "root", A * S)]
    parameters = {name: value for name, value in of.items() if name != parameter}
    for i, (above, below) in enumerate(entries):
        parameters |= dict(zip(of_choice(parameter, i), (above, below), strict=True))
    return _follows(
        "choose step",
        premise,
        right,
        where=where,
        definitions=[*premise.definitions, *made],
        parameters=parameters,
        given=kept,
        parameter=parameter,
        entries=[list(entry) for entry in entries],
        inverses=list(inverses),
        share=share,
        ratio=ratio,
        root=made[0].name if made else "",
    )


def choose_by_logarithm(
    premise: RunBound, parameter: str, of: Scalar, cap: Scalar, logarithm: str, decay: str
) -> RunBound:
    """Choose a step x as the least of l/A and of a cap, where l = log(max(Y, 1)) and Y is ``of``. A right side exp(-A
    x) D + b x + d, with A > 0, D and b >= 0, is then at most

        exp(-A cap) D + D/Y + b l/A + d,

    as x <= l/A, and exp(-A x) is 1/max(Y, 1), or exp(-A cap). D is (D/Y) Y, so that it is 0 where Y <= 0. The region,
    and what is given, may still speak of x; the right side does not. The letters are those of l and of the exponential.
    """
    untouched(premise)
    where, ring = premise.where, premise.where.ring
    x = str(dict(premise.parameters).get(parameter, ""))
    if _is_chosen(premise, parameter):
        raise Refused(f"{parameter}: chosen already, by what another choice would replace")
    falling = [d for d in premise.definitions if x in d.of.names]
    if x not in {c.name for c in where.conditions} or [d.sort for d in falling] != ["exponential"]:
        raise Refused(f"{parameter}: allowed is a letter of one exponential")
    parts, by_x = premise.bound.coefficients(falling[0].name), falling[0].of.coefficients(x)
    slope, data, rest = by_x.get(1, 0 * of), parts.get(1, 0 * of), parts.get(0, 0 * of)
    linear = rest.coefficients(x)
    others = linear.get(1, 0 * of)
    if {*by_x} != {1} or {*parts} - {0, 1} or {*linear} - {0, 1} or x in (data.names | cap.names | of.names):
        raise Refused(f"{premise.bound}: allowed is exp(-A {x}) D + b {x} + d")
    signs = all(map(premise.known.certifies, (slope, data, others, cap, data / of)))
    if not signs or not premise.known.never_zero(slope):
        raise Refused(f"{slope}, {data}, {others}, {data / of}: not certified to be >= 0")
    kept = [d for d in premise.definitions if d is not falling[0]]
    made = [Definition(logarithm, "gain", of), Definition(decay, "exponential", slope * cap)]
    entries = ring[logarithm] / slope, cap
    return _follows(
        "choose by logarithm",
        premise,
        ring[decay] * data + data / of + others * ring[logarithm] / slope + linear.get(0, 0 * of),
        definitions=[*kept, *made],
        parameters=dict(premise.parameters) | {f"{parameter} {LEAST} {i}": entry for i, entry in enumerate(entries)},
        parameter=parameter,
        of=of,
        cap=cap,
        quotient=data / of,
        letters=[logarithm, decay],
    )


def _is_chosen(premise: RunBound, parameter: str) -> bool:
    """Whether a step was chosen by a logarithm before."""
    return any(name.startswith(f"{parameter} {LEAST} ") for name, _ in premise.parameters)


def _holds(expression: Scalar, letter: str, above: Scalar, below: Scalar, where: Where) -> bool:
    """Whether p - m x >= 0 for x >= 0 with x^2 below <= above."""
    if letter in expression.bottom.names:
        return False
    parts = expression.coefficients(letter)
    p, m = parts.get(0, 0 * above), -parts.get(1, 0 * above)
    signs = not {*parts} - {0, 1} and where.certifies(p) and where.certifies(m) and where.never_zero(below)
    return signs and where.certifies(p**2 * below - m**2 * above)


def _occurs(premise: RunBound, letter: str, parameter: str) -> bool:
    """Whether a letter is elsewhere than in its own condition, the right side, what is given, and one parameter."""
    others = [*said_besides(premise, parameter), *(d.of for d in premise.definitions)]
    own = dict(premise.parameters)[parameter]
    return own != premise.where.ring[letter] or any(letter in scalar.names for scalar in others)
