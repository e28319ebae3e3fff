"""Search for the bound that is a claim's theorem, from one that says more. Nothing here is trusted: the rules and the
goal compute and check all of it again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import sympy

from .claim_goals import Goal, Inexpressible
from .kernel.regions import Condition, Where
from .kernel.run_bounds import ROUNDS, Definition, RunBound, enlarge, restrict, weaken
from .kernel.saved_claims import by_data
from .kernel.scalars import Scalar
from .kernel.theorems import Refused

DECAY = "decay"
"""Letter for what the claim has in the place of P^R."""


class Unreached(ValueError):
    """Error of a goal that no bound was found for; the message says what is missing."""


def reach(start: RunBound, goal: Goal) -> RunBound:
    """Return the claim's theorem, from a bound that says more, or on a larger region.

    Raises:
        Unreached: it is not found; the message says why each try failed.
        Inexpressible: a part of the claim that cannot be said in these letters.
    """
    values = _values(start, goal)
    why: list[str] = []
    slacks = goal.slacks()
    for where, given in _regions(start, goal, slacks, values):
        try:
            bound = larger(restrict(start, where, values, given), goal)
        except (Refused, ValueError) as error:
            why.append(str(error))
            continue
        if not (apart := list(goal.differences(bound))):
            return bound
        why += apart
    said = " | ".join(dict.fromkeys(why))
    raise Unreached(f"{goal.claim.ref}: {said or 'no region of the claim is one of the theorem'}")


def roots_in(goal: Goal, bound: RunBound) -> tuple[Scalar, ...]:
    """Return all roots that are drawn in the right side, each once, for the checker."""
    found: list[Scalar] = []
    waiting = [term.expression for term in goal.claim.terms]
    while waiting:
        factors = sympy.Mul.make_args(waiting.pop())
        halves = [f for f in factors if f.is_Pow and f.exp.is_Rational and f.exp.q == 2]
        if halves and (y := goal.scalar(sympy.Mul(*halves), bound.definitions, bound.known)) not in found:
            found.append(y)
        waiting += [part for f in factors if f not in halves for part in f.args]
    return tuple(found)


def sought(made: RunBound, goal: Goal) -> RunBound:
    """Return the claim's theorem: the bound, with the claim's hypotheses where they are stronger and its right side
    where that is larger, or what it is where they hold.

    Raises:
        ValueError: it is not found; the message says why.
    """
    known = (*goal.slacks(), *goal.bounded_below)
    try:
        bound = made
        if any(g not in known for g in made.given):
            given = [next((h for h in known if made.where.certifies(g - h)), g) for g in made.given]
            bound = restrict(made, made.where, {}, given)
        bound = larger(bound, goal)
        if not list(goal.differences(bound)):
            return bound
    except ValueError:  # it may be larger where the claim's hypotheses hold
        pass
    return reach(made, goal)


def why_not(made: RunBound, goal: Goal) -> str:
    """Return in words why the claim's theorem is not found, as far as was tried."""
    try:
        sought(made, goal)
    except ValueError as error:
        return str(error).removeprefix(f"{goal.claim.ref}: ")
    return "it is not found again"


def _values(bound: RunBound, goal: Goal) -> dict[str, Scalar]:
    """Return what is put in for letters: what the claim chooses, and 1 for those that stand for no quantity and may be
    any number > 0, as they are nowhere else."""
    chosen = {n: goal.letter(q) for n, q in goal.letters.items() if q in goal.in_place}
    loose = (c for c in bound.where.conditions if c.name not in goal.letters and c.kind in ("positive", "count"))
    return chosen | {c.name: goal.ring.number(1) for c in loose}


def larger(bound: RunBound, goal: Goal) -> RunBound:
    """Return the bound with the claim's right side."""
    for smaller in (d for d in bound.definitions if d.sort in ("power", "exponential")):
        wanted = _decay(goal)
        if smaller.sort != wanted.sort or smaller.of != wanted.of:
            bound = enlarge(bound, smaller.name, wanted)
    right = goal.right_side(bound.definitions, bound.known)
    if right == bound.bound:
        return bound
    return weaken(bound, right, _multipliers(bound, right))


def _decay(goal: Goal) -> Definition:
    """Return the only exponential or power of the claim's right side, as a definition."""
    found: set[tuple[str, sympy.Expr]] = set()
    for term in goal.claim.terms:
        found |= {("exponential", -e.args[0]) for e in term.expression.atoms(sympy.exp)}
        powers = term.expression.atoms(sympy.Pow)
        found |= {("power", p.base) for p in powers if p.exp.is_Symbol and p.exp.name == ROUNDS}
    if len(found) != 1:
        raise Inexpressible(
            f"{goal.claim.ref}: allowed is a right side with one exponential, or one power of the rounds"
        )
    ((sort, of),) = found
    return Definition(DECAY, "power" if sort == "power" else "exponential", goal.scalar(of))


def _regions(
    bound: RunBound, goal: Goal, slacks: Sequence[Scalar], values: Mapping[str, Scalar]
) -> Iterator[tuple[Where, list[Scalar]]]:
    """Yield regions that the claim's hypotheses give, each with the other hypotheses that are defined on it. In the
    place of a theorem's cap stands a hypothesis that caps the same letter, if there is one; in that of a floor, one
    that is a floor, or the floor itself, which the vocabulary may say."""
    choices: list[list[tuple[Condition, Scalar | None]]] = []
    for condition in bound.where.conditions:
        if condition.name in values:
            continue
        others: list[tuple[Condition, Scalar | None]] = [*_hypotheses(condition, goal, slacks)]
        if condition.kind == "at_least" or not others:
            others.append((condition, None))
        if condition.kind == "capped" and condition.bound != 1:
            others.append((Condition(condition.name, "positive"), None))
        choices.append(others)
    for chosen in itertools.product(*choices):
        used = [slack for _, slack in chosen if slack is not None]
        of = {name for value in values.values() for name in value.names} - {c.name for c, _ in chosen}
        more = [Condition(name, "positive") for name in sorted(of)]  # what the claim chooses by
        inside = {c.name for c, _ in chosen} | of
        given = [s for s in (*slacks, *goal.bounded_below) if s not in used and not s.is_zero and s.names <= inside]
        try:
            where = Where(goal.ring, (*(condition for condition, _ in chosen), *more))
        except ValueError:
            continue  # a bound that uses what comes before it
        yield where, [slack for slack in given if where.defines(slack)]


def _hypotheses(condition: Condition, goal: Goal, slacks: Sequence[Scalar]) -> Iterator[tuple[Condition, Scalar]]:
    """Yield the hypotheses that are a cap of a letter that the theorem caps, or that it is at least something."""
    x = goal.ring[condition.name]
    for slack in slacks:
        bound = {"capped": slack + x, "at_least": x - slack}.get(condition.kind)
        if bound is not None and condition.name not in bound.names:
            yield replace(condition, bound=bound), slack


def _multipliers(bound: RunBound, right: Scalar) -> list[Scalar]:
    """Return multipliers of the given expressions by which the right side is certified to be larger, found for each
    product of data on its own.

    Raises:
        Unreached: none are found for one of them; the message says which.
    """
    zero = right.ring.number(0)
    found, both = [zero for _ in bound.given], (right, bound.bound)
    ours, theirs = (by_data(each, bound.known, both) for each in both)  # their difference at once is far longer
    for data in ours | theirs:
        rest = ours.get(data, zero) - theirs.get(data, zero)
        if bound.known.certifies(rest):
            continue
        factors = next((f for f in _tries(rest, bound) if _suffice(rest, f, bound)), None)
        if factors is None:
            raise Unreached(f"of {data}: claimed - derived = {rest}, not certified to be >= 0")
        found = [one + factor * data for one, factor in zip(found, factors, strict=True)]
    return [] if all(factor.is_zero for factor in found) else found


def _suffice(rest: Scalar, factors: Sequence[Scalar], bound: RunBound) -> bool:
    for factor, given in zip(factors, bound.given, strict=True):
        rest = rest - factor * given
    return all(map(bound.known.certifies, (*factors, rest)))


def _tries(rest: Scalar, bound: RunBound) -> Iterator[list[Scalar]]:
    """Yield multipliers: where g = b - x is given, terms -N of the rest with x in them are -(N/x) b + (N/x) g. Of two
    such expressions a share q is taken of one and 1 - q of the other, q a probability."""
    ring, zero = rest.ring, rest.ring.number(0)
    shares = [ring[c.name] for c in bound.where.conditions if c.kind == "interval" and c.bound == 1]
    of: dict[str, list[int]] = {}
    for at, given in enumerate(bound.given):
        for name in given.names:
            if name not in (given + ring[name]).names:
                of.setdefault(name, []).append(at)
    for name, places in of.items():
        factor = _negative_part(rest, name, bound.known) / ring[name]
        weights = [{at: ring.number(1)} for at in places]
        weights += [{i: q, j: 1 - q} for q in shares for i, j in itertools.permutations(places, 2)]
        for weight in weights if not factor.is_zero else ():
            yield [weight.get(at, zero) * factor for at in range(len(bound.given))]


def _negative_part(scalar: Scalar, name: str, known: Where) -> Scalar:
    """Return minus the sum of the terms with negative coefficients in which a letter's power is not the least one, over
    the whole denominator."""
    ring, sign = scalar.ring, 1 if known.never_zero(scalar.bottom) else -1
    at, terms = ring.names.index(name), scalar.numerator.to_dict()
    least = min((p[at] for p in terms), default=0)
    terms = {p: -sign * c for p, c in terms.items() if p[at] > least and sign * c < 0}
    return Scalar(ring, ring.context.from_dict(terms), scalar.denominator * sign)
