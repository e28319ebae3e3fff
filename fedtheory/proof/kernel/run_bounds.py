"""Bounds on functionals of whole runs, and the rules that make them from theorems on one round. Nothing else makes one;
every rule computes its conclusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any, Literal

from .forms import STEP, STEPS
from .regions import Condition, Where
from .round_rules import average, contraction
from .scalars import Ring, Scalar
from .sealed import MAKER, Refused, Sealed, intact
from .theorems import Assumption, Theorem

FINAL_DISTANCE, MEAN_GRADIENT = "final_squared_distance", "average_squared_gradient"
ROUNDS, DISTANCE, GAP = "rounds", "initial_distance", "initial_gap"
"""Parameters of a run: how many rounds, |x_0 - x*|, and F(x_0) - inf F."""
KINDS: Mapping[str, Literal["count", "real", "positive"]] = {
    ROUNDS: "count", "period": "count", "objective_decrease": "real", "update_weight": "positive",
}  # fmt: skip
"""Kind of the condition on a parameter of a run; the others are >= 0."""

Sort = Literal["power", "steps", "exponential", "tail", "log", "decay", "root", "gain"]
SORTS = ("power", "steps", "exponential", "tail", "log", "decay", "root", "gain")
EXPONENTS = {"power": ROUNDS, "steps": ROUNDS, "tail": "cutoff"}
"""Parameter that is the exponent in a number of this sort."""


@dataclass(frozen=True)
class Definition:
    """Letter that stands for a number >= 0: of^R, R the number of rounds; of^(K R), K R that of steps; exp(-of); of^C,
    C the cutoff; log(of); -1/(2 log(1 - of)); the root of ``of``; or log(max(of, 1)), wherever ``of`` is defined."""

    name: str
    sort: Sort
    of: Scalar

    def fact(self, where: Where, others: Iterable[Definition] = ()) -> Condition:
        """Return what is known of the letter on a region, where there are ``others``.

            0 <= P <= 1   =>   0 <= P^R, P^(K R) <= 1, and 0 <= P^C <= P as C >= 1,     X >= 0   =>   0 < exp(-X) <= 1,
            X >= 1   =>   log X >= 0, and >= log n for a number n <= X,        n > 1   =>   log n >= 1 - 1/n > 0,
            0 <= p <= 1   =>   -1/(2 log(1 - p)) >= 0 wherever it is defined.

        Raises:
            Refused: what is asked of P, X or p is not certified there.
        """
        one = where.ring.number(1)
        if self.sort == "gain":
            return Condition(self.name, "nonnegative")
        least = one if self.sort == "log" else 0 * one
        if self.sort not in SORTS or not where.certifies(self.of - least):
            raise Refused(f"{self.name}: {self.sort} of {self.of}, not certified to be >= {least} on the region")
        if self.sort in ("power", "steps", "tail", "decay") and not where.certifies(1 - self.of):
            raise Refused(f"{self.name}: {self.sort} of {self.of}, not certified to be at most 1 on the region")
        if self.sort == "log" and not self.of.names:
            return Condition(self.name, "at_least", 1 - 1 / self.of)
        logs = (d for d in others if d.sort == self.sort == "log" and not d.of.names)
        below = (d for d in logs if where.certifies(self.of - d.of))
        if number := next(below, None):
            return Condition(self.name, "at_least", where.ring[number.name])
        if self.sort in ("log", "decay", "root"):
            return Condition(self.name, "nonnegative")
        most = self.of if self.sort == "tail" else one
        return Condition(self.name, "capped" if self.sort == "exponential" else "interval", most)

    def __str__(self) -> str:
        written = {
            "power": "({})^rounds", "steps": "({})^(local_steps rounds)", "exponential": "exp(-({}))",
            "tail": "({})^cutoff", "log": "log({})", "root": "sqrt({})", "gain": "log(max({}, 1))",
        }  # fmt: skip
        return f"{self.name} = {written.get(self.sort, '-1/(2 log(1 - {}))').format(self.of)}"


@dataclass(frozen=True, eq=False)
class RunBound(Sealed):
    """Theorem for every run of an algorithm that meets ``assumptions``, of rounds that are all of ``kind`` if that is
    not "", and for all scalars in ``where`` at which every expression of ``given`` is >= 0:

        functional <= bound, with the letters of ``definitions`` for what they stand for.

    ``parameters`` are those of algorithm and run; a hash of all that it says is kept: see ``untouched``. A bound on
    numbers, or on draws, is an axiom of its own, without a ``premise``.
    """

    functional: str
    kind: str
    where: Where
    given: tuple[Scalar, ...]
    definitions: tuple[Definition, ...]
    assumptions: frozenset[Assumption]
    parameters: tuple[tuple[str, Scalar], ...]
    bound: Scalar
    rule: str
    premise: Theorem | RunBound | None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    _maker: InitVar[object] = None

    @property
    def made_of(self) -> tuple[Sealed, ...]:
        return (*self.arguments.get("others", ()), *([] if self.premise is None else [self.premise]))

    def said(self) -> tuple[Any, ...]:
        return (
            self.functional,
            self.kind,
            self.where.ring.names,
            self.where.conditions,
            self.given,
            self.definitions,
            sorted(map(repr, self.assumptions)),
            self.parameters,
            self.bound,
        )

    @cached_property
    def known(self) -> Where:
        """The region, with what is known of the defined letters."""
        return _known(self.where, self.definitions)

    def __repr__(self) -> str:
        return f"[run {self.kind}] {self.functional} <= {self.bound}"


def untouched(bound: RunBound) -> RunBound:
    """Return the bound if it says what it said when a rule made it. This is asked wherever it is used or saved.

    Raises:
        Refused: it was changed since, or no rule made it; or the theorem that it is from was.
    """
    for premise in bound.made_of:
        intact(premise)
    return intact(bound)


def _known(where: Where, definitions: Iterable[Definition]) -> Where:
    made = sorted(definitions, key=lambda d: d.sort == "log" and not d.of.names)  # numbers last: others are above them
    return Where(where.ring, (*(d.fact(where, made) for d in made), *where.conditions))


def _bound(
    rule: str,
    premise: Theorem | RunBound | None,
    *,
    functional: str,
    where: Where,
    parameters: Mapping[str, Scalar],
    bound: Scalar,
    kind: str = "",
    definitions: Sequence[Definition] = (),
    assumptions: Iterable[Assumption] = (),
    given: Sequence[Scalar] = (),
    **arguments: Any,
) -> RunBound:
    """Make a bound. A definition speaks of the region's letters alone, and of each letter there is one; the bound
    divides by nothing that may be 0, and says nothing of a step."""
    named, free = [d.name for d in definitions], {c.name for c in where.conditions}
    if len({*named}) < len(named) or free & {*named}:
        raise Refused(f"{', '.join(named)}: allowed is one definition a letter, of which the region says nothing")
    for expression in (*(d.of for d in definitions), *given):
        if not expression.names <= free:
            raise Refused(f"{expression}: allowed are letters of which the region says something")
    known = _known(where, definitions)
    known.need(bound, *given)
    said = frozenset(assumptions)
    for expression in (bound, *parameters.values(), *(c for _, c in said if c is not None)):
        if STEP in expression.names or not expression.names <= {c.name for c in known.conditions}:
            raise Refused(f"{expression}: allowed are letters of which the region says something, and no step")
    return RunBound(
        functional,
        kind,
        where,
        tuple(given),
        tuple(definitions),
        said,
        tuple(sorted(parameters.items())),
        bound,
        rule,
        premise,
        arguments,
        _maker=MAKER,
    )


def lifted(where: Where, ring: Ring, *more: Condition) -> Where:
    """Return a region with further conditions, in a ring that has all names of the region's.

    Raises:
        Refused: it is no such ring.
    """
    if not {*where.ring.names} <= {*ring.names}:
        raise Refused(f"ring {' '.join(ring.names)}: allowed is one with the names {' '.join(where.ring.names)}")
    moved = (Condition(c.name, c.kind, None if c.bound is None else c.bound.within(ring)) for c in where.conditions)
    return Where(ring, (*more, *moved))


def _of_rounds(
    rule: str,
    theorem: Theorem,
    ring: Ring,
    functional: str,
    letters: Mapping[str, str],
    bound: Scalar,
    definitions: Sequence[Definition] = (),
    before: Mapping[str, Any] | None = None,
    **but: Any,
) -> RunBound:
    """Make the bound on a run whose every round is as a theorem says, or on one such round. The ``letters`` stand for
    parameters that these have besides, each with a condition by ``KINDS``, and do not occur in the theorem. The kind,
    the parameters, assumptions and conditions are the theorem's, but for those that are named, as a rule says more of a
    run; what else is named are the rule's arguments, of which some are written ``before`` the letters."""
    old = {c.name for c in theorem.where.conditions} | {*theorem.where.ring.names}
    new = [*letters.values(), *(d.name for d in definitions)]
    if old & {*new} or len({*new}) < len(new):
        raise Refused(f"{', '.join(new)}: allowed are different letters that the theorem does not have")
    more = (Condition(letter, KINDS.get(name, "nonnegative")) for name, letter in letters.items())
    kind = theorem.kind if theorem.context == "kind" else ""
    said: dict[str, Any] = {"parameters": theorem.parameters, "assumptions": theorem.assumptions, "kind": kind} | but
    kept = Where(theorem.where.ring, tuple(said.pop("conditions", theorem.where.conditions)))
    own = {name: value.within(ring) for name, value in dict(said["parameters"]).items()}
    said["parameters"] = own | {name: ring[letter] for name, letter in letters.items()}
    said["assumptions"] = [(name, None if c is None else c.within(ring)) for name, c in said["assumptions"]]
    said |= {"where": lifted(kept, ring, *more), "definitions": definitions, "bound": bound}
    return _bound(rule, theorem, functional=functional, **(before or {}), letters=new, **said)


def iterate(theorem: Theorem, ring: Ring, rounds: str, distance: str, power: str) -> RunBound:
    """Conclude from P |x - x*|^2 + B - E|x+ - x*|^2 >= 0 in every round, 0 <= P < 1 and B >= 0,

        E|x_R - x*|^2 <= P^R |x_0 - x*|^2 + B (1 - P^R)/(1 - P),

    by induction over the rounds: what is left of |x_0 - x*|^2 after r rounds is multiplied by P >= 0 in the next, and
    B (1 + P + ... + P^(R-1)) is added. A theorem given a round's kind is of runs whose rounds are all of it.
    """
    factor, addition = (part.within(ring) for part in contraction(theorem))
    w, letters = ring[power], {ROUNDS: rounds, DISTANCE: distance}
    right = w * ring[distance] ** 2 + addition * (1 - w) / (1 - factor)
    defined = [Definition(power, "power", factor)]
    return _of_rounds("iterate", theorem, ring, FINAL_DISTANCE, letters, right, defined)


def telescope(theorem: Theorem, ring: Ring, rounds: str, gap: str) -> RunBound:
    """Conclude from F(x) - E F(x+) - c |grad F(x)|^2 + B >= 0 in every round, c > 0 and B >= 0,

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + B/c,

    by adding the rounds up: the values in between cancel, and E F(x_R) >= inf F.
    """
    fall, addition = average(theorem)
    right = telescoped(ring, rounds, gap, fall, addition)
    return _of_rounds("telescope", theorem, ring, MEAN_GRADIENT, {ROUNDS: rounds, GAP: gap}, right)


def telescoped(ring: Ring, rounds: str, gap: str, fall: Scalar, addition: Scalar) -> Scalar:
    """Return (F(x_0) - inf F)/(c R) + B/c, of the fall c and what a round adds, B, in the mean over the rounds."""
    return (ring[gap] / ring[rounds] + addition.within(ring)) / fall.within(ring)


def _follows(rule: str, premise: RunBound, bound: Scalar, **but: Any) -> RunBound:
    """Make a bound that says all that its premise says, but for its right side and what is named; what else is named
    are the rule's arguments."""
    parts = ("functional", "kind", "where", "given", "definitions", "assumptions")
    said = {part: getattr(premise, part) for part in parts} | {"parameters": dict(premise.parameters)}
    return _bound(rule, premise, bound=bound, **(said | but))


def weaken(
    premise: RunBound, bound: Scalar, multipliers: Sequence[Scalar | int] = (), squares: Iterable[Sequence[Scalar]] = ()
) -> RunBound:
    """Replace the right side by one that is larger: the difference is certified to be >= 0 on the region, if need be
    after multiples >= 0 of the expressions that are given to be >= 0 are taken off, and multiples c >= 0 of ``squares``
    (c, y) of y. A definition whose letter no parameter has, nor the right side, is dropped."""
    untouched(premise)
    known, factors = premise.known, [premise.where.ring.number(1) * c for c in multipliers]
    if factors and len(factors) != len(premise.given):
        raise Refused(f"{len(factors)} multipliers: allowed is one for each of {len(premise.given)} given expressions")
    rest = bound - premise.bound
    squares = [list(pair) for pair in squares]
    for factor, taken in (*zip(factors, premise.given, strict=bool(factors)), *((c, y**2) for c, y in squares)):
        known.ask(factor, "multiplier")
        known.need(taken)
        rest = rest - factor * taken
    if not known.certifies(rest):
        raise Refused(f"{rest}: not certified to be >= 0 on the region, so that {bound} may be too small")
    kept = [d for d in premise.definitions if d.name in bound.names.union(*(c.names for _, c in premise.parameters))]
    more: dict[str, Any] = {"squares": squares} if squares else {}
    return _follows("weaken", premise, bound, definitions=kept, multipliers=factors, **more)


def enlarge(premise: RunBound, letter: str, larger: Definition) -> RunBound:
    """Replace a defined letter by one that stands for a larger number, where the right side is a polynomial in it
    without negative coefficients but the first:

        P^R <= Q^R if P <= Q;   P^R <= exp(-X) if X <= R (1 - P), as P <= exp(-(1 - P));   exp(-Y) <= exp(-X) if X <= Y;
        log X <= log Y if X <= Y.

    All of it is certified on the region.
    """
    untouched(premise)
    old = {d.name: d for d in premise.definitions}
    if letter not in old:
        raise Refused(f"{letter}: allowed is a letter that is defined")
    if larger.name in {*premise.where.ring.names} & {*old, *(c.name for c in premise.where.conditions)}:
        raise Refused(f"{larger.name}: allowed is a letter that is not used yet")
    smaller = old[letter]
    difference = {
        ("power", "power"): larger.of - smaller.of,
        ("power", "exponential"): dict(premise.parameters).get(ROUNDS, 0) * (1 - smaller.of) - larger.of,
        ("exponential", "exponential"): smaller.of - larger.of,
        ("log", "log"): larger.of - smaller.of,
    }.get((smaller.sort, larger.sort))
    if difference is None:
        raise Refused(f"{larger}: allowed is no power in the place of an exponential")
    if not premise.where.certifies(difference):
        raise Refused(f"{difference}: not certified to be >= 0, so that {larger} may be smaller than {smaller}")
    right = with_larger(premise, letter, premise.where.ring[larger.name])
    kept = [d for d in premise.definitions if d.name != letter]
    said: dict[str, Any] = {"letter": letter, "name": larger.name, "sort": larger.sort, "of": larger.of}
    return _follows("enlarge", premise, right, definitions=[*kept, larger], **said)


def with_larger(premise: RunBound, letter: str, number: Scalar) -> Scalar:
    """Return the right side with a number in the place of a letter: it is no smaller if the number is not, as the
    factors of all powers of the letter are certified to be >= 0."""
    right = premise.where.ring.number(0)
    for power, coefficient in premise.bound.coefficients(letter).items():
        if power and not premise.known.certifies(coefficient):
            raise Refused(f"{coefficient} {letter}^{power}: its factor is not certified to be >= 0 on the region")
        right = right + coefficient * number**power
    return right


def define(premise: RunBound, letter: str, of: Scalar) -> RunBound:
    """Name the logarithm of a number, log(of), by a letter that is not used yet; nothing else changes."""
    untouched(premise)
    taken = {d.name for d in premise.definitions} | {c.name for c in premise.where.conditions}
    if of.names or letter in taken:
        raise Refused(f"{letter}: allowed is a letter that is not used yet, for the logarithm of a number")
    kept = [*premise.definitions, Definition(letter, "log", of)]
    return _follows("define", premise, premise.bound, definitions=kept, letter=letter, of=of)


def restrict(
    premise: RunBound, where: Where, values: Mapping[str, Scalar] | None = None, given: Sequence[Scalar] = ()
) -> RunBound:
    """Restrict a bound to a smaller region, with scalars for some of its letters, and with further expressions that are
    given to be >= 0: a bound that is asked of fewer points is weaker. The region's conditions on what is put in are
    certified on the new one, or are multiples by something >= 0 of what is given, or no smaller than it; of what was
    given to be >= 0 each is given again, or certified, or certified to be no smaller than what is given. No scalar is
    put in for a defined letter, nor for what is the exponent of one, nor for the number of steps, or of a step."""
    untouched(premise)
    put, ring = dict(values or {}), where.ring
    closed = {STEP, STEPS, *(d.name for d in premise.definitions)}
    exponents = {EXPONENTS[d.sort] for d in premise.definitions if d.sort in EXPONENTS}
    closed.update(*(of.names for name, of in premise.parameters if name in exponents | {"step_index"}))
    if ring is not premise.where.ring or closed & put.keys():
        raise Refused(f"{', '.join(put)}: allowed are letters that are not defined, but {', '.join(sorted(closed))}")
    where.need(*put.values())
    factors, rests = list[Scalar](), list[Scalar]()
    for condition in premise.where.conditions:
        for expression, strict in condition.polynomials(ring):
            changed = expression.replace(put)
            holds = where.certifies(changed) or changed in given
            if not holds and (factor := _factor(changed, given, where)) is not None:
                holds = True
                factors.append(factor)
            if not holds and (above := next(filter(where.certifies, (changed - g for g in given)), None)) is not None:
                holds = True
                rests.append(above)
            if not holds or (strict and not where.never_zero(changed)):
                raise Refused(f"{changed} {'>' if strict else '>='} 0: not certified on the region")
    for expression in (g.replace(put) for g in premise.given):
        less = (expression - h for h in given)
        if expression not in given and not (where.certifies(expression) or any(map(where.certifies, less))):
            raise Refused(f"{expression} >= 0: neither given nor certified on the region")
    more: dict[str, Any] = {"factors": factors} if factors else {}
    more |= {"rests": rests} if rests else {}
    return _follows(
        "restrict",
        premise,
        premise.bound.replace(put),
        where=where,
        given=given,
        definitions=[Definition(d.name, d.sort, d.of.replace(put)) for d in premise.definitions],
        assumptions=[(name, None if c is None else c.replace(put)) for name, c in premise.assumptions],
        parameters={name: value.replace(put) for name, value in premise.parameters},
        values=put,
        **more,
    )


def _factor(expression: Scalar, given: Sequence[Scalar], where: Where) -> Scalar | None:
    """Return something >= 0 by which one of the expressions that are given to be >= 0 becomes this one."""
    quotients = (expression / g for g in given if not g.is_zero)
    return next((quotient for quotient in quotients if where.certifies(quotient)), None)
