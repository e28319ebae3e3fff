"""Derivations from theorems about a round in which clients answer, and send updates with weights. They are about one
round, or about runs. Over the rounds delta^2, V and W enter by their means if the addition of a round is linear in
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import sympy

from ...claims import readings
from ...claims.statement import Claim
from ..algorithm_match import Rounds
from ..composition import Descent, OfRounds
from ..kernel.answering_clients import MEAN_ANSWER, SPREAD
from ..kernel.axioms import START_POINT, gradient_at
from ..kernel.forms import ONE, Atom, Form, Product, Term, Vector, dot, square
from ..kernel.round_rules import average
from ..kernel.scalars import Ring, Scalar
from ..kernel.theorems import Refused
from .vocabulary import ReadOff, named

_STEP, _STEPS = sympy.Symbol("local_lr"), sympy.Symbol("local_steps")
_C = _STEP * sympy.Symbol("global_lr")

PLANNED, RECEIVED, PAST = "planned counts", "received counts", "planned counts, given the past alone"
_PROXY, _SPREAD = map(sympy.Symbol, ("selection_proxy", "rate_spread"))
LAWS: Mapping[str, Mapping[str, sympy.Expr]] = {
    PLANNED: {"mismatch": sympy.Symbol("weight_mismatch"), "proxy": _PROXY},
    RECEIVED: {"mismatch": sympy.Symbol("answer_mismatch"), "proxy": sympy.Symbol("answer_proxy")},
    PAST: {"mismatch": sympy.Symbol("mean_mismatch"), "second_moment": _PROXY + _SPREAD},
}
"""Parameters of a theorem, by the counts that the weights use and by what is given. Planned counts are known with who
is there."""

_OF_ANSWERS = {"local_lr", "selected_lr", "mismatch", "proxy", "second_moment"}
"""Parameters of rounds in which clients answer."""


@dataclass(frozen=True)
class _Answered(ReadOff):
    """Theorem on rounds in which clients answer, whose own parameters are those in ``LAWS``."""

    law: str = PLANNED

    def __post_init__(self) -> None:
        known = {"selected_lr": _C, **LAWS[self.law]}
        for name, value in self.theorem.parameters:
            if name not in _OF_ANSWERS:
                raise ValueError(f"{name}: of another algorithm than that in which clients answer")
            if name != "local_lr" and (name not in known or self.read(value) != known[name]):
                raise ValueError(f"{name} = {self.read(value)}: with {self.law} it is {known.get(name, 'not known')}")
        for letter in sorted(self.of_the_law):
            if named(self.letters)[letter] not in self._means:
                raise ValueError(f"{letter} = {self.letters[letter]}: allowed is what {self.law} have, as it stands")
        for condition in self.theorem.where.conditions:
            own = condition.name in self.of_the_law and condition.kind != "nonnegative"
            if own or (condition.bound is not None and self.of_the_law & condition.bound.names):
                raise ValueError(f"{condition.name}: a condition on every round's, and its mean is put in")

    @property
    def _means(self) -> frozenset[sympy.Basic]:
        return frozenset().union(*(value.free_symbols for value in LAWS[self.law].values()))

    @property
    def of_the_law(self) -> frozenset[str]:
        """The letters of delta, V and W."""
        return frozenset(letter for letter, of in named(self.letters).items() if of.free_symbols & self._means)

    @property
    def _own_parameters(self) -> tuple[tuple[str, Scalar], ...]:
        return tuple((name, value) for name, value in self.theorem.parameters if name == "local_lr")

    def check_linear(self, addition: Scalar) -> None:
        """Refuse an addition that is not linear in delta^2, V and W together, with factors >= 0. If it is, their means
        may be put in.

        Raises:
            Refused: which of them enters otherwise.
        """
        for name in sorted(self.of_the_law):
            parts = addition.coefficients(name)
            wanted = {0, 2} if named(self.letters)[name] == LAWS[self.law]["mismatch"] else {0, 1}
            own = [part for power, part in parts.items() if power]
            if not parts.keys() <= wanted or any(part.names & self.of_the_law for part in own):
                raise Refused(f"{name}: allowed is what is added, linear in delta^2, V and W")
            if not all(map(self.theorem.where.certifies, own)):
                raise Refused(f"{name}: what is added need not grow with it")


def _atom(ring: Ring, atom: Atom, bound: str = "") -> Vector:
    return Vector(ring, {Term(bound, atom): ring.number(1)})


class _OfAnswers(OfRounds):
    """Derivation about rounds in which clients answer."""

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """Claims of this scope are about no other rounds."""
        if claim.functional.scope != "selection":
            yield f"it is about rounds in which clients answer, and {claim.functional.name} is of none"


@dataclass(frozen=True)
class AnsweredRound(_OfAnswers):
    """Bound on one round from x_0, of <g, E Delta + eta_L K g> (``inner_product``) or of E|Delta|^2
    (``squared_aggregate``). Here E Delta = -eta_L B and Delta = -eta_L (B + Z), as its first moment or second one."""

    _: KW_ONLY
    bounded: str
    law: str = PLANNED

    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {readings.LINE_14: readings.NOT_DIVIDED}

    @property
    def functional(self) -> str:
        return self.bounded

    @cached_property
    def own(self) -> _Answered:
        """Theorem in the vocabulary, with its weights' law."""
        return _Answered(self.theorem, self.letters, self.law)

    def right_side(self) -> sympy.Expr:
        theorem = self.theorem
        if theorem.context != "start" or theorem.kind:
            raise Refused(f"{theorem}: allowed is a theorem given a round's start")
        of, ring = dict(theorem.parameters), theorem.where.ring
        eta = of["local_lr"]
        gradient, mean = _atom(ring, gradient_at(START_POINT), "M"), _atom(ring, MEAN_ANSWER)
        if self.bounded == "inner_product":
            if of.keys() & {"proxy", "second_moment"}:
                raise Refused(f"{theorem}: allowed is a theorem on the first moment alone")
            bounded = dot(gradient, gradient * ring["K"] - mean) * eta
            return self._right_side(theorem.form, bounded, "squared_mean_update", eta)
        if self.bounded == "squared_aggregate":
            self._check_over_availability()
            bounded = square(mean + _atom(ring, SPREAD)) * eta**2
            return self._right_side(theorem.form * eta**2, bounded, "squared_state_update", eta)
        raise Refused(f"{self.bounded}: allowed are inner_product and squared_aggregate")

    def _check_over_availability(self) -> None:
        """Refuse what is no theorem in the mean over who is there: V is so, linearly, and delta is another number."""
        form, letters = self.theorem.form, self.own.of_the_law
        proxy = dict(self.theorem.parameters).get("proxy")
        for entry, c in form.entries.items():
            own = c.names & letters
            if own and (entry != ONE or proxy is None or own != proxy.names):
                raise Refused(f"({c}) {entry}: allowed is V alone, in what is added")
        self.own.check_linear(form.entries.get(ONE, form.ring.number(0)))

    def _right_side(self, form: Form, bounded: Form, squared: str, eta: Scalar) -> sympy.Expr:
        ring, rest = form.ring, form + bounded
        gradient, mean = _atom(ring, gradient_at(START_POINT), "M"), _atom(ring, MEAN_ANSWER)
        right = sympy.S.Zero
        for vector, value in ((gradient, sympy.Symbol("gradient_norm") ** 2), (mean, sympy.Symbol(squared))):
            (term,) = vector.terms
            factor = rest.entries.get(Product("", term, term), ring.number(0))
            rest = rest - square(vector) * factor
            right += self.own.read(factor if vector is gradient else factor / eta**2) * value
        constant = rest.entries.get(ONE, ring.number(0))
        if rest != Form.constant(constant):
            raise Refused(f"{rest - Form.constant(constant)}: no quantity of one round's start is that")
        return right + self.own.read_apart(constant)


@dataclass(frozen=True)
class AnsweredDescent(_OfAnswers, Descent):
    """Bound on the mean squared gradient from F(x) - E F(x+) - f |grad F(x)|^2 + B >= 0 in every round:

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(f R) + B/f.

    In B, which is linear in delta^2, V and W, these stand for their means over the rounds.
    """

    _: KW_ONLY
    law: str

    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {readings.LINE_14: readings.NOT_DIVIDED}

    @property
    def functional(self) -> str:  # type: ignore[override]
        return "mean_squared_gradient"

    @cached_property
    def own(self) -> _Answered:
        """Theorem in the vocabulary, with its weights' law."""
        return _Answered(self.theorem, self.letters, self.law)

    def right_side(self) -> sympy.Expr:
        fall, addition = average(self.theorem)
        if fall.names & self.own.of_the_law:
            raise Refused(f"{fall}: allowed is a fall that is the same whatever the round's weights are")
        self.own.check_linear(addition)
        return super().right_side()

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation, with the readings of the counts and of a run's start."""
        counts = readings.RECEIVED if self.law == RECEIVED else readings.PLANNED
        reads = {readings.COUNTS: counts, readings.START: (readings.FORGOTTEN, readings.COUNTED)}
        computed = super().content
        return {**computed, "readings": {**computed["readings"], **reads}}
