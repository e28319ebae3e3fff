"""Bounds on numbers: an expression of quantities, and the probability that a frequency is off."""

from __future__ import annotations

from collections.abc import Sequence

from .regions import Where
from .run_bounds import Definition, RunBound, _bound, _follows, untouched, with_larger
from .scalars import Scalar
from .theorems import Refused

VALUE, RATIO_FAILURE = "value", "ratio_failure"


def value(where: Where, expression: Scalar) -> RunBound:
    """Conclude that an expression in quantities is at most itself, wherever it is defined."""
    of = {"value": expression}
    return _bound("value", None, functional=VALUE, where=where, parameters=of, bound=expression, expression=expression)


def frequency(
    where: Where, clients: Scalar, rounds: Scalar, probability: Scalar, error: Scalar, deviation: Scalar, letter: str
) -> RunBound:
    """Conclude, n clients answering in t rounds, each with probability r and all independently, s = n r and s^ the mean
    over the rounds of how many answer, for any x >= 0 (``deviation``),

        P(s/s^ is not in [1 - epsilon, 1 + epsilon]) <= 2 exp(-2 n t x^2),

    if |s^ - s| <= n x gives 1 - epsilon <= s/s^ <= 1 + epsilon. By Hoeffding's inequality the frequency s^/n of n t
    independent answers is more than x above r, or below it, with probability at most exp(-2 n t x^2) each. What is
    asked, s - (1 - epsilon) s^ >= 0 and (1 + epsilon) s^ - s >= 0, is affine in s^, so that it holds between s - n x
    and s + n x if it does at both. For r > 0 the second one gives s^ > 0 there; for r = 0 it gives x = 0, and the bound
    is 2.
    """
    counts = {c.name for c in where.conditions if c.kind == "count"}
    for name, scalar in (("clients", clients), ("rounds", rounds)):
        if str(scalar) not in counts or scalar != where.ring[str(scalar)]:
            raise Refused(f"{name} = {scalar}: allowed is a letter that is a count")
    asked = [("deviation", deviation), ("probability", probability), ("1 - probability", 1 - probability),
             ("error", error)]  # fmt: skip
    for end in (probability - deviation, probability + deviation):
        asked += [("above", probability - (1 - error) * end), ("below", (1 + error) * end - probability)]
    for name, scalar in asked:
        where.ask(scalar, f"{name} =")
    defined = Definition(letter, "exponential", 2 * clients * rounds * deviation**2)
    return _bound(
        "frequency",
        None,
        functional=RATIO_FAILURE,
        where=where,
        definitions=(defined,),
        parameters={
            "group_clients": clients, "rounds": rounds, "response_probability": probability, "relative_error": error,
        },
        bound=2 * where.ring[letter],
        clients=clients,
        rounds=rounds,
        probability=probability,
        error=error,
        deviation=deviation,
        letter=letter,
    )  # fmt: skip


def by_logarithm(
    premise: RunBound, letter: str, level: Scalar, logarithm: str, power: int, multipliers: Sequence[Scalar]
) -> RunBound:
    """Replace exp(-Y) by x^c, x the ``level`` in (0, 1] and c the ``power``, where Y >= c log(1/x), if need be after
    multiples >= 0 of what is given to be >= 0 are taken off; log(1/x) stands as a letter >= 0. The right side is a
    polynomial in the letter of exp(-Y) without negative coefficients but the first, and exp(-Y) <= exp(-c log(1/x)) =
    x^c."""
    untouched(premise)
    where, old = premise.where, {d.name: d for d in premise.definitions}
    if letter not in old or old[letter].sort != "exponential" or letter in premise.bound.bottom.names:
        raise Refused(f"{letter}: allowed is the letter of an exponential, by which nothing is divided")
    if "level" in dict(premise.parameters) or type(power) is not int or power < 1:
        raise Refused(f"power {power}: allowed is a whole number >= 1, and one level")
    if {c.name: c.kind for c in where.conditions}.get(logarithm) != "nonnegative":
        raise Refused(f"{logarithm}: allowed is a letter that is >= 0")
    if not (where.certifies(level) and where.never_zero(level) and where.certifies(1 - level)):
        raise Refused(f"level {level}: not certified to be in (0, 1]")
    rest = old[letter].of - power * where.ring[logarithm]
    for factor, given in zip(multipliers, premise.given, strict=True):
        where.ask(factor, "multiplier")
        rest = rest - factor * given
    if not where.certifies(rest):
        raise Refused(f"{rest}: not certified to be >= 0, so that exp(-Y) may be larger")
    return _follows(
        "by logarithm",
        premise,
        with_larger(premise, letter, level**power),
        definitions=[d for d in premise.definitions if d.name != letter],
        parameters={**dict(premise.parameters), "level": level, "logarithm": where.ring[logarithm]},
        letter=letter,
        level=level,
        logarithm=logarithm,
        power=power,
        multipliers=list(multipliers),
    )
