"""Bounds on runs from theorems about one local step. All clients make steps, also those that are not asked, and the
mean X_k of their iterates is followed from step to step, over the rounds.

With A_k = E|X_k - x*|^2 the kernel shows P A_k + B >= A_{k+1} for every step k of every round, and for a round's end
A_K + C >= E|x+ - x*|^2; the next round starts from x+ = X_0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import sympy

from ...claims import readings
from ..composition import Composed, OfRounds
from ..kernel.axioms import OPTIMUM, START_POINT
from ..kernel.client_means import one_step, round_end
from ..kernel.forms import STEP, STEPS, Form, Product, Term, Value, Vector, square
from ..kernel.scalars import Scalar
from ..kernel.theorems import Refused, Theorem
from .vocabulary import ReadOff

_STEPS_TAKEN = sympy.Symbol("rounds") * sympy.Symbol("local_steps")
_DISTANCE, _S, _N = map(sympy.Symbol, ("initial_distance", "arbitrary_cohort", "clients"))
_EVERYONE, _DRAWS = "full_participation", "independent_draws"

SHARES: Mapping[str, sympy.Expr] = {readings.BY_WEIGHT: 1 / _S, readings.UNIFORMLY: (_N - _S) / (_S * (_N - 1))}
"""Variance of the mean of S clients drawn, divided by that of one: independently, by weight; or a set of S of N."""


@dataclass(frozen=True)
class _OfSteps(OfRounds):
    """Derivation from a theorem on one local step.

    Attributes:
        make: makes the theorem on a step.
        end: makes that on a round's end.
    """

    _: KW_ONLY
    end: Callable[[], Theorem]

    @cached_property
    def own(self) -> ReadOff:
        return self._read(self.theorem)

    @cached_property
    def of_end(self) -> ReadOff:
        return self._read(self.end())

    def _read(self, theorem: Theorem) -> ReadOff:
        return ReadOff(theorem, self.letters)

    @property
    def all_of(self) -> tuple[ReadOff, ...]:
        return (self.own, self.of_end)

    @property
    def checks(self) -> tuple[Composed, ...]:
        return (Composed(self.make), Composed(self.end))

    @cached_property
    def recursion(self) -> tuple[Scalar, Scalar, Scalar]:
        """Coefficients (P, B, C) of the recursion, from theorems on one algorithm.

        Raises:
            Refused: the theorems are of other forms, or of two algorithms.
        """
        end = dict(self.of_end.theorem.parameters)
        for name, value in self.theorem.parameters:
            if end.get(name, value) != value:
                raise Refused(f"{name} = {value} in a step, {end[name]} at a round's end: allowed is one algorithm")
        return *one_step(self.theorem), round_end(self.of_end.theorem)


class GeometricSteps(_OfSteps):
    """Bound E|x_R - x*|^2 <= P^(K R) |x_0 - x*|^2 + B/(1 - P), for steps with one P and B, and rounds that end in X_K.
    The proof is by induction over the steps of all rounds."""

    functional = "final_squared_distance"

    def right_side(self) -> sympy.Expr:
        factor, addition, more = self.recursion
        where = self.theorem.where
        if not more.is_zero or STEP in factor.names | addition.names:
            raise Refused(
                f"{factor}, {addition}, {more}: allowed is the same in all steps, and nothing more at the end"
            )
        if not (where.certifies(factor) and where.never_zero(1 - factor)):
            raise Refused(f"factor {factor}: not certified to be in [0, 1)")
        if not where.certifies(1 - factor):
            raise Refused(f"factor {factor}: not certified to be in [0, 1)")
        fall = sympy.factor(self.own.read(1 - factor))
        return (1 - fall) ** _STEPS_TAKEN * _DISTANCE**2 + self.own.read_apart(addition) / fall


@dataclass(frozen=True)
class _ByStep(ReadOff):
    """Theorem on steps whose sizes are a schedule, after which clients may be drawn."""

    @property
    def _own_parameters(self) -> tuple[tuple[str, Scalar], ...]:
        return tuple((name, c) for name, c in self.theorem.parameters if name not in ("local_lr", "share"))

    @property
    def share(self) -> str:
        """The letter of the draw's share, or ""."""
        share = dict(self.theorem.parameters).get("share")
        if share is not None and str(share) not in share.names:
            raise Refused(f"share {share}: allowed is a letter")
        return "" if share is None else str(share)

    def check_every_round(self, first: str) -> None:
        """Refuse a region that has not every round: any number >= 0 of its first step."""
        conditions = self.theorem.where.conditions
        if any(c.name == first and c.kind != "nonnegative" for c in conditions):
            raise Refused(f"{first}: allowed is the condition {first} >= 0, as rounds begin at any step")

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the needs of the theorem, but for share >= 0 of a draw, which holds by its meaning."""
        asked = [c for c in self.theorem.where.conditions if c.name == self.share and c.kind == "nonnegative"]
        of_share = {self.read(value) for c in asked for value, _ in c.polynomials(self.theorem.where.ring)}
        return tuple((name, need) for name, need in super().needs() if need not in of_share)


@dataclass(frozen=True)
class DecayingSteps(_OfSteps):
    """Bound for steps of size 2/(mu (s + t + k)), where t is the number of a round's first step. With P = 1 - 2/(s + t
    + k), B = b/(s + t + k)^2 and C = c/(s + t + K - 1)^2, after T = K R steps

        E|x_R - x*|^2 <= (s - 1)/(s + T - 1) |x_0 - x*|^2 + b/(s + T) + c/(s + T - 1)   for s >= 2,

    by induction over the steps of all rounds. It uses P (s - 1)/(s + T - 1) <= (s - 1)/(s + T), and P/(s + T) + 1/(s +
    T)^2 <= 1/(s + T + 1), so that even (b + c)/(s + T) bounds what is added. With a theorem F(x) - F(x*) <= a |x -
    x*|^2 that bounds E F(x_R) - F(x*).

    Attributes:
        gap: makes the theorem on F(x) - F(x*).
        who: whose models are averaged, an option of ``readings.WHO``.
        first: the letter of t.
    """

    _: KW_ONLY
    gap: Callable[[], Theorem]
    who: str
    first: str = "t"

    functional = "final_gap"

    def _read(self, theorem: Theorem) -> ReadOff:
        share = dict(theorem.parameters).get("share")
        law = {} if share is None else {str(share): SHARES[self.who]}
        if self.first in self.letters:
            raise Refused(f"{self.first} = {self.letters[self.first]}: allowed is no quantity, as it is any round's")
        read = _ByStep(theorem, {**self.letters, **law})
        read.check_every_round(self.first)
        if read.share and read.share in {*self.letters, self.first, STEP, STEPS}:
            raise Refused(f"share {share}: allowed is a letter of its own")
        return read

    @cached_property
    def of_gap(self) -> ReadOff:
        """Theorem on F(x) - F(x*), in the vocabulary."""
        return self._read(self.gap())

    @property
    def all_of(self) -> tuple[ReadOff, ...]:
        """All theorems that are used: on a step, on a round's end and on F(x) - F(x*)."""
        return (self.own, self.of_end, self.of_gap)

    @property
    def checks(self) -> tuple[Composed, ...]:
        return (*super().checks, Composed(self.gap))

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation, with the reading of whose models are averaged."""
        computed = super().content
        kinds = {name for name, _ in self.of_end.theorem.assumptions}
        if (self.who == readings.EVERYONE) != (_EVERYONE in kinds) or (self.who in SHARES) != (_DRAWS in kinds):
            raise ValueError(f"who = {self.who!r}: the theorem on a round's end is of others")
        return {**computed, "readings": {**computed["readings"], readings.WHO: self.who}}

    @property
    def _step(self) -> Scalar:
        return dict(self.theorem.parameters)["local_lr"]

    def _of_index(self, scalar: Scalar) -> Scalar:
        """Return a scalar that depends on t + k alone, with the letter t for t + k.

        Raises:
            Refused: it depends on t and k otherwise.
        """
        ring = scalar.ring
        of_t = scalar.replace({self.first: ring[self.first] - ring[STEP]})
        if STEP in of_t.names:
            raise Refused(f"{scalar}: allowed is what depends on {self.first} + {STEP} alone")
        return of_t

    def choices(self) -> Mapping[str, sympy.Expr]:
        """Return the schedule of the steps."""
        size, index = self._of_index(self._step), {self.first: "step_index"}
        return {"local_lr": sympy.factor(ReadOff(self.theorem, {**self.letters, **index}).read(size))}

    @cached_property
    def shift(self) -> Scalar:
        """Shift s of P = 1 - 2/(s + t + k)."""
        ring = self.theorem.where.ring
        shift = 2 / (1 - self._of_index(self.recursion[0])) - ring[self.first]
        if {self.first, STEP} & shift.names:
            raise Refused(f"factor {self.recursion[0]}: allowed is 1 - 2/(s + {self.first} + {STEP})")
        return shift

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the needs of the theorems, and s >= 2."""
        return (("start", self.own.read(self.shift) - 2), *super().needs())

    def right_side(self) -> sympy.Expr:
        _, addition, more = self.recursion
        ring, s = self.theorem.where.ring, self.own.read(self.shift)
        at = self.shift + ring[self.first]
        last = at + ring[STEPS] - 1
        b, c = addition * (at + ring[STEP]) ** 2, more * last**2
        if {self.first, STEP} & (b.names | c.names):
            raise Refused(f"{addition}, {more}: allowed are multiples of 1/(s + {self.first} + {STEP})^2")
        left = (s - 1) / (s + _STEPS_TAKEN - 1) * _DISTANCE**2
        added = self.own.read_apart(b) / (s + _STEPS_TAKEN) + self.of_end.read_apart(c) / (s + _STEPS_TAKEN - 1)
        return self.own.read(self._of_gap()) * (left + added)

    def _of_gap(self) -> Scalar:
        """a of the theorem a |x - x*|^2 - F(x) + F(x*) >= 0."""
        theorem, ring = self.of_gap.theorem, self.theorem.where.ring
        one = ring.number(1)
        values = Form.of(ring, {Value("M", START_POINT): -one, Value("M", OPTIMUM): one})
        distance = Vector(ring, {Term("", START_POINT): one, Term("", OPTIMUM): -one})
        rest = theorem.form - values
        a = rest.entries.get(Product("", *[Term("", START_POINT)] * 2), ring.number(0))
        if theorem.context != "start" or rest != square(distance) * a:
            raise Refused(f"{theorem}: allowed is a |x - x*|^2 - F(x) + F(x*) >= 0")
        return a
