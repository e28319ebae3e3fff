"""Derivations from theorems about the rounds between two participations, and the weights that are means of them. The
meaning of a theorem's letters is read off its parameters; nothing is said of them by hand.

A theorem for t >= C has t = m C + r with 0 <= r <= C - 1, so that m = floor(t/C); one for t < C has its own t and q^t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import sympy

from ...claims import readings
from ...claims.statement import Claim
from ..algorithm_match import Rounds
from ..composition import Composed, OfRounds
from ..kernel.forms import ONE, Atom, Form, Product, Term, Vector, dot, square
from ..kernel.participation_intervals import INTERVAL, UNIT, UNIT_ENDED, WEIGHT, WEIGHT_ENDED
from ..kernel.regions import Condition
from ..kernel.scalars import Ring, Scalar
from ..kernel.theorems import Refused, Theorem
from .vocabulary import Letters, ReadOff

_P, _C, _T, _M = sympy.symbols("participation_probability cutoff history guaranteed_intervals")
_ABSENCE, _BIAS, _ROUNDS = sympy.symbols("absence cutoff_bias rounds")
_PARAMETERS = {"absence", "cutoff", "tail", "history", "head", "ended"}
EARLY, LATE = "early", "late"
"""Theorems for rounds t < C, and for rounds t >= C."""


@dataclass(frozen=True)
class Lengths(ReadOff):
    """Theorem on intervals, read by its parameters.

    >>> from fedtheory.papers.fedau.proofs.thm3 import late, mean
    >>> Lengths(late()).when, Lengths(mean()).when
    ('late', '')
    """

    letters: Letters = field(default_factory=dict)

    def __post_init__(self) -> None:
        foreign = {name for name, _ in self.theorem.parameters} - _PARAMETERS
        if foreign or self.theorem.context != "run":
            raise Refused(f"{self.theorem}: allowed is a theorem on intervals, and no {', '.join(sorted(foreign))}")
        self._check_letters()
        for condition in self.theorem.where.conditions:
            if not self._is_known(condition):
                raise Refused(f"{condition}: of no rounds that have a name")

    def _check_letters(self) -> None:
        """Refuse a theorem that has a number or another letter where C, q^C, p, or t < C and q^t stand: it is about
        no other cutoff or chance than that, and what it says would be read as if it were about all of them."""
        early = ("history", "head") if "head" in self.of else ()
        if lacking := {"absence", "cutoff", "tail", *early} - self.of.keys():
            raise Refused(f"{self.theorem}: no {', '.join(sorted(lacking))}, so that it is about no intervals")
        letters = [self.chance, *(str(self.of[name]) for name in ("cutoff", "tail", *early))]
        free = {condition.name for condition in self.theorem.where.conditions}
        if not free.issuperset(letters) or len({*letters}) < len(letters):
            raise Refused(
                f"p, C, q^C{', t, q^t' * bool(early)} = {', '.join(letters)}: allowed are letters of their "
                "own on which the region has conditions"
            )

    @property
    def of(self) -> dict[str, Scalar]:
        """Parameters of the theorem, by name."""
        return dict(self.theorem.parameters)

    @property
    def ring(self) -> Ring:
        """Ring of the theorem's scalars."""
        return self.theorem.where.ring

    @cached_property
    def chance(self) -> str:
        """Letter of p.

        Raises:
            Refused: q is not 1 less a letter.
        """
        for name in self.of["absence"].names:
            if self.of["absence"] == 1 - self.ring[name]:
                return name
        raise Refused(f"q = {self.of['absence']}: allowed is 1 - p of a letter p")

    @property
    def when(self) -> str:
        """Rounds for which the theorem holds: ``EARLY``, ``LATE``, or "" if it speaks of no round.

        Raises:
            Refused: other rounds.
        """
        if "history" not in self.of:
            return ""
        conditions = {c.name: c for c in self.theorem.where.conditions}
        if "head" in self.of:
            own = conditions.get(str(self.of["cutoff"]))
            if own is not None and own.kind == "at_least" and own.bound == self.of["history"] + 1:
                return EARLY
        elif self.rest in conditions and conditions[self.rest].bound == self.of["cutoff"] - 1:
            return LATE
        raise Refused(f"t = {self.of['history']}: allowed are all t < C, or all t >= C")

    @property
    def _ended(self) -> Scalar | None:
        """m of t = m C + r."""
        if "head" in self.of or "history" not in self.of:
            return None
        (found,) = (self.of["history"].coefficients(str(self.of["cutoff"])).get(1, self.ring.number(0)),)
        return found if self.of.get("ended", found) == found and {str(found)} == found.names else None

    @property
    def rest(self) -> str:
        """Letter r of t = m C + r."""
        if self._ended is None:
            return ""
        rest = self.of["history"] - self._ended * self.of["cutoff"]
        return str(rest) if {str(rest)} == rest.names else ""

    def _is_known(self, condition: Condition) -> bool:
        """Whether a condition of the region holds by what its letter is, or says for which rounds the theorem is."""
        of, (name, kind, bound) = self.of, (condition.name, condition.kind, condition.bound)
        known = {
            str(of["tail"]): kind == "interval" and bound == of["absence"],
            str(of["cutoff"]): kind == "count" or ("head" in of and kind == "at_least" and bound == of["history"] + 1),
            self.chance: kind in ("interval", "capped") and bound == 1,
        }
        if "head" in of:
            known |= {
                str(of["head"]): kind == "interval" and bound == 1,
                str(of["history"]): kind in ("nonnegative", "count"),
            }
        elif self._ended is not None:
            known |= {str(self._ended): kind == "count", self.rest: kind == "interval" and bound == of["cutoff"] - 1}
        return known.get(name, False)

    def check_every_chance(self) -> None:
        """Refuse a theorem for p > 0 alone."""
        if not any(c.name == self.chance and c.kind == "interval" for c in self.theorem.where.conditions):
            raise Refused(f"{self.theorem}: allowed is a theorem for p = 0 too")

    @property
    def starts(self) -> int:
        """First round of a theorem for t < C."""
        kinds = {c.name: c.kind for c in self.theorem.where.conditions}
        return 1 if kinds[str(self.of["history"])] == "count" else 0

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the condition on the round: before the cutoff, after it, or none."""
        return {EARLY: (("before_the_cutoff", _C - 1 - _T),), LATE: (("after_the_cutoff", _T - _C),), "": ()}[self.when]

    def read(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's names."""
        return self._named(scalar).xreplace({sympy.Symbol(str(self.of["tail"])): (1 - _P) ** _C})

    def _named(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's names, but for q^C.

        Raises:
            Refused: a letter stands for nothing that has a name.
        """
        of, value = self.of, scalar.expression()
        names = {str(of["cutoff"]): _C, self.chance: _P}
        if self.rest:
            history = sympy.Symbol("history") - sympy.Symbol(str(self._ended)) * sympy.Symbol(str(of["cutoff"]))
            value = sympy.cancel(value.xreplace({sympy.Symbol(self.rest): history}))
            names[str(self._ended)] = _M
        elif "head" in of:
            names[str(of["history"])] = _T
        left = {s.name for s in value.free_symbols} - {*names, str(of["tail"]), "history"}
        if left:
            raise Refused(f"{sorted(left)}: letters that stand for no quantity")
        return value.xreplace({sympy.Symbol(a): b for a, b in names.items()})

    def averaged(self, scalar: Scalar) -> sympy.Expr:
        """Return the mean of a scalar over clients with probabilities of their own; it has to be linear in q and
        q^(2C).

        Raises:
            Refused: it is not.
        """
        tail, q = sympy.Symbol(str(self.of["tail"])), sympy.Dummy("q")
        value = sympy.expand(self._named(scalar).xreplace({_P: 1 - q}))
        linear = value.coeff(q, 0).coeff(tail, 0), value.coeff(q, 1).coeff(tail, 0), value.coeff(q, 0).coeff(tail, 2)
        if sympy.expand(value - linear[0] - linear[1] * q - linear[2] * tail**2) != 0:
            raise Refused(f"{scalar}: allowed is what is linear in q and q^(2C), whose means over clients have names")
        return linear[0] + linear[1] * _ABSENCE + linear[2] * _BIAS

    def _check_parameters(self) -> None:
        """Check the parameters, off which the letters are read."""


def _number(ring: Ring, atom: Atom, factor: Scalar | int = 1) -> Vector:
    return Vector(ring, {Term("", atom): ring.number(1) * factor})


def _constant(form: Form) -> Scalar:
    value = form.entries.get(ONE, form.ring.number(0))
    if form != Form.constant(value):
        raise Refused(f"{form}: allowed is a number")
    return value


class OfIntervals(OfRounds):
    """Derivation from several theorems on intervals."""

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """Claims of this scope are about no other weights."""
        if claim.functional.scope != "weights":
            yield f"it is about the rounds between two participations, and {claim.functional.name} is not"

    @property
    def _others(self) -> tuple[Callable[[], Theorem], ...]:
        return ()

    @cached_property
    def own(self) -> Lengths:  # type: ignore[override]
        """Theorem on intervals, read by its parameters."""
        return Lengths(self.theorem)

    @property
    def all_of(self) -> tuple[Lengths, ...]:  # type: ignore[override]
        """All theorems that are used, this one first, read by their parameters."""
        return (self.own, *(Lengths(make()) for make in self._others))

    @property
    def checks(self) -> tuple[Composed, ...]:
        return tuple(map(Composed, (self.make, *self._others)))


@dataclass(frozen=True)
class IntervalMoment(OfIntervals):
    """Mean mu of an interval, or its variance v - mu^2, from either side, by E S - mu = 0 and E S^2 - v = 0. If p = 0
    they have no value, and nothing is said."""

    letters: Letters = field(default_factory=dict)
    _: KW_ONLY
    bounded: str
    second: Callable[[], Theorem]

    @property
    def functional(self) -> str:
        return self.bounded

    @property
    def _others(self) -> tuple[Callable[[], Theorem], ...]:
        return (self.second,)

    def right_side(self) -> sympy.Expr:
        first, second = self.all_of
        unit, length = (_number(first.ring, atom) for atom in (UNIT, INTERVAL))
        if not (first.theorem.equality and second.theorem.equality) or dict(first.of) != dict(second.of):
            raise Refused(f"{first.theorem}, {second.theorem}: allowed are equalities on the same intervals")
        mean = _constant(dot(length, unit) - first.theorem.form)
        square_ = _constant(square(length) - second.theorem.form)
        sides = {
            "interval_mean": mean,
            "negated_interval_mean": -mean,
            "interval_variance": square_ - mean**2,
            "negated_interval_variance": mean**2 - square_,
        }
        if self.bounded not in sides:
            raise Refused(f"{self.bounded}: allowed are {', '.join(sides)}")
        if first.chance not in sides[self.bounded].bottom.names:
            raise Refused(f"{self.bounded}: allowed is what has no value for p = 0, of which nothing is shown")
        return first.read(sides[self.bounded])


@dataclass(frozen=True)
class RoundError(OfIntervals):
    """Bound B on the weight's error after t rounds, from B - E(p omega - 1)^2 >= 0 for t >= C. With ``early`` the same
    B holds for t < C. With ``given``, B P(M >= 1) bounds E[(p omega - 1)^2; M >= 1], so that B holds given that an
    interval has ended too. B may be p^2 E(omega - E S)^2 and a number, if ``mean`` shows the value of E S.

    Attributes:
        averaged: whether clients have probabilities of their own.
    """

    letters: Letters = field(default_factory=dict)
    _: KW_ONLY
    early: Callable[[], Theorem] | None = None
    given: Callable[[], Theorem] | None = None
    mean: Callable[[], Theorem] | None = None
    averaged: bool = False

    functional: ClassVar[str] = "round_weight_error"  # type: ignore[misc]

    @property
    def _others(self) -> tuple[Callable[[], Theorem], ...]:
        return tuple(make for make in (self.early, self.given, self.mean) if make is not None)

    def right_side(self) -> sympy.Expr:
        late = self._bound(self.own, LATE)
        if self.early is not None and self._bound(Lengths(self.early()), EARLY) != late:
            raise Refused("another bound before the cutoff than from then on")
        if self.given is not None and self._given(Lengths(self.given())) != late:
            raise Refused("another bound where it is given that an interval has ended")
        return late

    def _read(self, of: Lengths, scalar: Scalar) -> sympy.Expr:
        value = of.averaged(scalar) if self.averaged else sympy.factor(of.read(scalar))
        if of.when == EARLY and of.starts > 0 and not value.has(_T):
            raise Refused(f"{of.theorem}: allowed is a theorem from t = 0 on, of which there is one round")
        return sympy.expand(value)

    def _bound(self, of: Lengths, when: str) -> sympy.Expr:
        if of.when != when:
            raise Refused(f"{of.theorem}: allowed is a theorem for {when} rounds")
        of.check_every_chance()
        chance = of.ring[of.chance]
        error = _number(of.ring, WEIGHT, chance) - _number(of.ring, UNIT)
        rest = of.theorem.form + square(error)
        entry = Product("", *[Term("", WEIGHT)] * 2)
        if self.mean is None or entry not in rest.entries:
            return self._read(of, _constant(rest))
        around = _number(of.ring, WEIGHT, chance) - _number(of.ring, UNIT, self._mean_of(of))
        factor = rest.entries[entry] / chance**2
        spread = sympy.Symbol("weight_spread") * _P**2 * of.read(factor)
        return sympy.expand(spread + self._read(of, _constant(rest - square(around) * factor)))

    def _mean_of(self, of: Lengths) -> Scalar:
        """p E S."""
        assert self.mean is not None
        known = Lengths(self.mean())
        unit, length = (_number(of.ring, atom) for atom in (UNIT, INTERVAL))
        if not known.theorem.equality or any(of.of[name] != value for name, value in known.of.items()):
            raise Refused(f"{known.theorem}: allowed is p E S - nu = 0, of the same intervals")
        return _constant(dot(length, unit) * of.ring[of.chance] - known.theorem.form)

    def _given(self, of: Lengths) -> sympy.Expr:
        if of.when != EARLY:
            raise Refused(f"{of.theorem}: allowed is a theorem for {EARLY} rounds")
        of.check_every_chance()
        error = _number(of.ring, WEIGHT_ENDED, of.ring[of.chance]) - _number(of.ring, UNIT_ENDED)
        rest, entry = of.theorem.form + square(error), Product("", *[Term("", UNIT_ENDED)] * 2)
        if rest.entries.keys() != {entry}:
            raise Refused(f"{of.theorem}: allowed is B P(M >= 1) - E[(p omega - 1)^2; M >= 1] >= 0")
        return self._read(of, rest.entries[entry])

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return no needs if the theorems are for all rounds."""
        return () if self.early is not None else self.own.needs()

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation, with the readings of its condition."""
        both = {} if self.given is None else {readings.CONDITION: (readings.GIVEN_AN_INTERVAL, readings.IN_EXPECTATION)}
        return {**super().content, "readings": both}


@dataclass(frozen=True)
class AverageError(RoundError):
    """Bound on the weights' mean error over rounds t < T. From a bound x/t + y for t >= 1, and a bound z from t = 0 on
    (``first``), it is

        (z + x (1 + log T))/T + y,   as the sum of 1/t over 1 <= t < T is at most 1 + log T.

    From a bound x/m + y for t >= C, m = floor(t/C), and z before, it is for T >= C

        (C z + C x (1 + log(T/C)))/T + y,   as the sum of 1/floor(t/C) over C <= t < T is at most C (1 + log(T/C)).

    With T = C (n + u), 0 <= u < 1, that sum is C (1 + 1/2 + ... + 1/(n - 1) + u/n). For n >= 2 the sum to 1/(n - 1) is
    at most 1 + log(n - 1), and u/n <= (1 + u)/(n + u) <= log((n + u)/(n - 1)). For n = 1 it is C u.

    Attributes:
        first: makes the theorem from t = 0 on.
        rate: whether log T/log 2 stands for 1, from T = 2 on.
    """

    _: KW_ONLY
    first: Callable[[], Theorem]
    rate: bool = False

    functional: ClassVar[str] = "average_weight_error"  # type: ignore[misc]

    @property
    def _others(self) -> tuple[Callable[[], Theorem], ...]:
        return (*super()._others, self.first)

    @cached_property
    def parts(self) -> tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr]:
        """Parts of the bound: (1 or C, z, x, y)."""
        if not self.averaged:
            raise Refused("a mean over clients: allowed is averaged")
        bound, first = super().right_side(), self._bound(Lengths(self.first()), EARLY)
        if first.has(_T) or Lengths(self.first()).starts:
            raise Refused(f"{first}: allowed is the same bound for all t < C, from t = 0 on")
        count, many = (_T, sympy.S.One) if self.early is not None else (_M, _C)
        share, rest = sympy.expand(bound).coeff(count, -1), sympy.expand(bound).coeff(count, 0)
        if sympy.expand(bound - share / count - rest) != 0 or (share.free_symbols | rest.free_symbols) & {_T, _M}:
            raise Refused(f"{bound}: allowed is x/t + y, or x/floor(t/C) + y")
        for part in (share, rest, first):
            if any(c.is_negative or not c.is_number for c in sympy.Poly(part, _ABSENCE, _BIAS, _C).coeffs()):
                raise Refused(f"{part}: not seen to be >= 0")
        return many, first, share, rest

    def right_side(self) -> sympy.Expr:
        many, first, share, rest = self.parts
        one = sympy.log(_ROUNDS) / sympy.log(2) if self.rate else sympy.S.One
        return many * ((first + share) * one + share * sympy.log(_ROUNDS / many)) / _ROUNDS + rest

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        rate = (("two_rounds", _ROUNDS - 2),) if self.rate else ()
        return rate if self.early is not None else (("cutoff_in_time", _ROUNDS - _C), *rate)
