"""Derivations from theorems about one round: of one round from x_0, and of runs. In the runs' rounds, of either kind, F
falls by the same multiple of |grad F(x)|^2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import sympy

from ...claims import readings
from ..algorithm_match import Rounds
from ..composition import Composed, Descent, OfRounds
from ..kernel.axioms import ITERATE, NEXT, OPTIMUM, START_POINT, gradient_at
from ..kernel.forms import ONE, Atom, Form, Product, Term, Value, Vector, dot, square
from ..kernel.round_rules import average
from ..kernel.scalars import Ring, Scalar
from ..kernel.theorems import Refused, Theorem
from .vocabulary import ReadOff


def _atom(ring: Ring, atom: Atom, bound: str = "") -> Vector:
    return Vector(ring, {Term(bound, atom): ring.number(1)})


def _distance(ring: Ring) -> Vector:
    return _atom(ring, START_POINT) - _atom(ring, OPTIMUM)


def _gradient(ring: Ring) -> Vector:
    return _atom(ring, gradient_at(START_POINT), "M")


def _full_progress(ring: Ring) -> Form:
    return dot(_atom(ring, gradient_at(ITERATE)).under("M").under("K"), _distance(ring)) * -1


BOUNDED: dict[str, Callable[[Ring], Form]] = {
    "final_squared_distance": lambda ring: square(_atom(ring, NEXT) - _atom(ring, OPTIMUM)),
    "squared_gradient": lambda ring: square(_gradient(ring)),
    "squared_movement": lambda ring: square(_atom(ring, NEXT) - _atom(ring, START_POINT)),
    "local_gradient_error": lambda ring: square(_atom(ring, gradient_at(ITERATE)) - _gradient(ring)),
    "negated_full_progress": _full_progress,
}
"""Functionals of one round, as forms; one with an index is the largest over clients and steps."""


@dataclass(frozen=True)
class OneRound(OfRounds):
    """Bound from form >= 0, given a round's start or its kind: functional <= functional + form. The sum has to be a
    combination of |x_0 - x*|^2, |grad F(x_0)|^2, F(x_0) - E F(x_1) and numbers."""

    _: KW_ONLY
    bounded: str

    @property
    def functional(self) -> str:
        return self.bounded

    def right_side(self) -> sympy.Expr:
        return self._right_side(self.theorem, BOUNDED[self.bounded](self.theorem.where.ring))

    def _right_side(self, theorem: Theorem, bounded: Form) -> sympy.Expr:
        """Return the upper bound of the bounded form."""
        if theorem.context not in ("start", "kind"):
            raise Refused(f"{theorem}: allowed is a theorem given a round's start, or its start and its kind")
        ring, rest = theorem.where.ring, theorem.form + bounded
        end = Value("M", NEXT)
        parts = (
            ("initial_distance", 2, square(_distance(ring)), Product("", *[Term("", START_POINT)] * 2)),
            ("gradient_norm", 2, square(_gradient(ring)), Product("", *[Term("M", gradient_at(START_POINT))] * 2)),
            (
                "objective_decrease",
                1,
                Form.of(ring, {Value("M", START_POINT): ring.number(1), end: -ring.number(1)}),
                end,
            ),
        )
        right = sympy.S.Zero
        for name, power, form, entry in parts:
            factor = self._factor(rest, entry) * (-1 if entry == end else 1)
            rest = rest - form * factor
            right += self.own.read(factor) * sympy.Symbol(name) ** power
        constant = rest.entries.get(ONE, ring.number(0))
        if rest != Form.constant(constant):
            raise Refused(f"{rest - Form.constant(constant)}: no quantity of one round's start is that")
        return right + self.own.read_apart(constant)

    @staticmethod
    def _factor(form: Form, entry: Product | Value) -> Scalar:
        return form.entries.get(entry, form.ring.number(0))

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the needs of the theorem, and that there is one round."""
        return (("one_round", 1 - sympy.Symbol("rounds")), *super().needs())


@dataclass(frozen=True)
class DescentOfKinds(Descent):
    """Bound on the mean squared gradient over the server's rounds and the clients'. The theorems show F(x) - E F(x+) -
    c |grad F(x)|^2 + B >= 0 with the same c and with B_s in the server's rounds, B_c in those of arbitrary clients:

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + ((1 - q) B_s + q B_c)/c,

    by summing over the rounds, whether q R of them are the clients' or each is so with probability q.

    Attributes:
        make: makes the theorem of the clients' rounds.
        server: makes that of the server's.
    """

    _: KW_ONLY
    server: Callable[[], Theorem]

    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        **Descent.own_readings, readings.KINDS_OF_ROUNDS: (readings.EXACT_SHARES, readings.PROBABILITY),
    }  # fmt: skip
    of_one_kind: ClassVar[bool] = False

    @cached_property
    def of_server(self) -> ReadOff:
        """Theorem on the server's rounds, in the vocabulary."""
        return ReadOff(self.server(), self.letters)

    @property
    def all_of(self) -> tuple[ReadOff, ...]:
        """Theorems on the clients' rounds and on the server's, in the vocabulary."""
        return (self.own, self.of_server)

    def strange_to(self, rounds: Rounds) -> Iterator[str]:
        """List in words the parts of the theorems that do not belong to these rounds, which have to be the clients' and
        the server's."""
        yield from super().strange_to(rounds)
        if (rounds.kinds, rounds.chance) != (("arbitrary", "server"), "client_round_probability"):
            yield f"it is about the clients' rounds and the server's, and these are {' and '.join(rounds.kinds)}"

    @property
    def checks(self) -> tuple[Composed, ...]:
        return (Composed(self.make), Composed(self.server))

    def right_side(self) -> sympy.Expr:
        (fall, clients), (other, server) = average(self.theorem), average(self.of_server.theorem)
        if (self.theorem.kind, self.of_server.theorem.kind) != ("arbitrary", "server") or fall != other:
            raise Refused(f"falls {fall} and {other}: allowed is the same in the clients' rounds and in the server's")
        q, gap, rounds = sympy.symbols("client_round_probability initial_gap rounds")
        added = q * self.own.read_apart(clients) + (1 - q) * self.of_server.read_apart(server)
        return (gap / rounds + added) / sympy.factor(self.own.read(fall))
