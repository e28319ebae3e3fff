"""Derivations from theorems about a round that adds updates with weights: of one round, and of runs.

The objective that a theorem's F is decides the meaning of its c, E and Q: see ``OBJECTIVES``. E and Q are a round's
own. Over the rounds they enter through their means if the addition of a round is linear in them, or else through their
largest values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import sympy

from ...claims import readings
from ...claims.statement import Claim, leaves_objective_open
from ..algorithm_match import Rounds
from ..composition import Composed, Descent
from ..kernel.axioms import ITERATE, NEXT, START_POINT, gradient_at
from ..kernel.forms import Atom, Form, Term, Value, Vector, square
from ..kernel.round_rules import average
from ..kernel.scalars import Ring, Scalar
from ..kernel.theorems import Refused, Theorem, at_step
from .round_bounds import OneRound
from .vocabulary import Letters, ReadOff, named

_C, _N = sympy.Symbol("local_lr") * sympy.Symbol("global_lr"), sympy.Symbol("clients")
_ERROR, _SCALE, _EXPECTED, _W, _OBJECTIVE_ERROR = map(
    sympy.Symbol, ("weight_error", "weight_scale", "expected_weight_scale", "update_weight", "objective_error")
)  # fmt: skip
_PEAK, _LEAST = "peak_weight_error", sympy.Symbol("least_objective_weight")

PLAIN, ANY, IMPLIED = "the plain mean", "any mean", "the mean that constant weights imply"
OBJECTIVES: Mapping[str, tuple[sympy.Expr, tuple[sympy.Expr, ...], tuple[sympy.Expr, ...]]] = {
    PLAIN: (_C, (_ERROR,), (_SCALE, _EXPECTED)),
    ANY: (_C, (_N * _OBJECTIVE_ERROR,), (_SCALE,)),
    IMPLIED: (_C * _W, (sympy.S.Zero,), (_SCALE / _W**2,)),
}
"""Meaning of c, and possible meanings of E and Q, by the objective F. With phi_i = p_i omega_i/sum p_j omega_j and w
the mean of p_i omega_i, a round is one of steps c w and weights omega_i/w, for which E = 0."""

_OF_THE_PLAIN_MEAN = {"bounded_dissimilarity", "bounded_dissimilarity_at_optimum", "bounded_gradient"}
"""Assumptions on F that are known of the plain mean only."""

_OF_WEIGHTED_ROUNDS = {"local_lr", "weighted_lr", "clients", "error", "scale", "least_weight"}
"""Parameters of rounds that add updates with weights."""

OPTIONS = {readings.AVERAGE: readings.FROM_ROUND_0, readings.WEIGHTS: readings.GIVEN,
           readings.CONDITIONING: readings.OF_THE_ROUND, readings.SCALE: readings.KNOWN_BEFOREHAND}  # fmt: skip
"""Readings that may be declared: of the weights, of their conditioning, and of the mean over the rounds."""


@dataclass(frozen=True)
class _Weighted(ReadOff):
    """Theorem on weighted updates, whose own parameters are those in ``OBJECTIVES``."""

    objective: str = PLAIN

    def __post_init__(self) -> None:
        foreign = {name for name, _ in self.theorem.parameters} - _OF_WEIGHTED_ROUNDS
        if foreign:
            raise ValueError(f"{', '.join(sorted(foreign))}: of another algorithm than that of weighted updates")
        step, errors, scales = OBJECTIVES[self.objective]
        known = {"weighted_lr": (step,), "error": errors, "scale": scales, "least_weight": (_LEAST,)}
        for name, value in self.theorem.parameters:
            if name in known and self.read(value) not in known[name]:
                raise ValueError(f"{name} = {self.read(value)}: of {self.objective} it is {known[name][0]}")
        if self.objective == IMPLIED and "least_weight" in dict(self.theorem.parameters):
            raise ValueError(f"least_weight: known of an objective that is given, not of {IMPLIED}")
        for mean in (_ERROR, _EXPECTED):
            self._check_conditions(self.letter_of(mean))
        named = _OF_THE_PLAIN_MEAN & {name for name, _ in self.theorem.assumptions}
        if self.objective != PLAIN and named:
            raise ValueError(f"{', '.join(sorted(named))}: known of the plain mean, not of {self.objective}")

    def _check_conditions(self, letter: str) -> None:
        """Refuse a condition on what is a mean over the rounds; that E is at most its largest value is none."""
        for condition in self.theorem.where.conditions if letter else ():
            peak = condition.kind == "interval" and self.letters.get(str(condition.bound)) == _PEAK
            own = condition.name == letter and condition.kind != "nonnegative" and not peak
            if own or (condition.bound is not None and letter in condition.bound.names):
                raise ValueError(f"{letter}: a condition on every round's, and its mean over the rounds is put in")

    @property
    def _own_parameters(self) -> tuple[tuple[str, Scalar], ...]:
        own = ("weighted_lr", "error", "scale", "least_weight")
        return tuple((name, c) for name, c in self.theorem.parameters if name not in own)

    @property
    def of_rounds(self) -> frozenset[str]:
        """The letters of E and Q, which are every round's own."""
        of = dict(self.theorem.parameters)
        return frozenset().union(*(of[name].names for name in ("error", "scale") if name in of))

    def letter_of(self, mean: sympy.Symbol) -> str:
        """The letter of E or Q for which this mean over the rounds is put in, or "".

        Raises:
            ValueError: it is put in otherwise than for one of them, as it stands.
        """
        own = {name: of for name, of in named(self.letters).items() if name in self.of_rounds and of.has(mean)}
        wrong = any(of != mean for of in own.values())
        values = {str(value) for name, value in self.theorem.parameters if name in ("error", "scale")}
        if wrong or len(own) > 1 or not own.keys() <= values:
            raise ValueError(f"{', '.join(sorted(own))}: allowed is one letter for {mean}, which is the round's E or Q")
        return "".join(own)

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return the needs of the theorem, but for E being at most its largest value over the rounds, which holds by
        its meaning."""
        asked = super().needs()
        peaks = {name for name, stands_for in self.letters.items() if stands_for == _PEAK}
        of_round = [
            c
            for c in self.theorem.where.conditions
            if c.name == self.letter_of(_ERROR)
            and c.bound is not None
            and c.kind == "interval"
            and str(c.bound) in peaks
        ]
        own = {self.read(e) for c in of_round for e, _ in c.polynomials(self.theorem.where.ring)}
        return tuple((name, need) for name, need in asked if need not in own)


@dataclass(frozen=True)
class OfWeights:
    """Declaration about the weights of a theorem's rounds.

    Attributes:
        objective: the meaning of F, one of ``OBJECTIVES``.
        reads: options of ambiguities that hold of it, see ``OPTIONS``.
    """

    objective: str = PLAIN
    reads: Mapping[str, str] = field(default_factory=dict)

    def read(self, theorem: Theorem, letters: Letters) -> _Weighted:
        """Read a theorem with these letters and this objective."""
        return _Weighted(theorem, letters, self.objective)

    def strange_to(self, rounds: Rounds) -> Iterator[str]:
        """Say in words why F is another mean than these rounds'."""
        if self.objective == PLAIN and not rounds.plain_mean:
            yield f"it is about {PLAIN}, and here clients weigh differently"

    def with_readings(self, computed: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the fields of a derivation with these readings added."""
        if any(OPTIONS.get(name) != option for name, option in self.reads.items()):
            raise ValueError(f"reads {dict(self.reads)}: allowed are {OPTIONS}")
        return {**computed, "readings": {**computed["readings"], **self.reads}}


def _atom(ring: Ring, atom: Atom, bound: str = "") -> Vector:
    return Vector(ring, {Term(bound, atom): ring.number(1)})


def _divergence(ring: Ring) -> Form:
    g = gradient_at(START_POINT)
    return square(_atom(ring, g) - _atom(ring, g, "M"))


def _increase(ring: Ring) -> Form:
    return Form.of(ring, {Value("M", NEXT): ring.number(1), Value("M", START_POINT): -ring.number(1)})


_OF_A_ROUND: Mapping[str, Callable[[Ring], Form]] = {
    "weighted_divergence": _divergence, "weighted_increase": _increase,
    "local_drift": lambda ring: square(_atom(ring, ITERATE) - _atom(ring, START_POINT)),
}  # fmt: skip
"""Functionals of one round, as forms; the largest over clients, and over the steps k = 0, ..., K."""


@dataclass(frozen=True)
class WeightedRound(OneRound):
    """Bound on one round that adds updates with weights. For a functional that is followed along a path, ``end`` makes
    the theorem at the last step."""

    _: KW_ONLY
    weights: OfWeights
    end: Callable[[], Theorem] | None = None

    @cached_property
    def own(self) -> ReadOff:
        """Theorem in the vocabulary, with its weights."""
        return self.weights.read(self.theorem, self.letters)

    @property
    def _others(self) -> tuple[Callable[[], Theorem], ...]:
        return () if self.end is None else (self.end,)

    @property
    def all_of(self) -> tuple[ReadOff, ...]:
        """All theorems that are used, this one first, in the vocabulary."""
        return (self.own, *(self.weights.read(make(), self.letters) for make in self._others))

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words the ways in which the theorems are not about a claim's rounds. If the claim's F is any mean,
        the theorem's has to be so too."""
        yield from super().apart_from(claim, algorithm, rounds)
        if self.weights.objective != (ANY if leaves_objective_open(claim) else PLAIN):
            yield f"it is about {self.weights.objective}"

    @property
    def checks(self) -> tuple[Composed, ...]:
        return tuple(Composed(make) for make in (self.make, *self._others))

    def right_side(self) -> sympy.Expr:
        form = _OF_A_ROUND[self.bounded](self.theorem.where.ring)
        if ("k" in form.open) != (self.end is not None):
            raise Refused(
                f"{self.bounded}: allowed is a theorem on the last step, where it is of a path, and nowhere else"
            )
        right = self._right_side(self.theorem, form)
        if self.end is not None and self._right_side(self.end(), at_step(form, 0, 1, 0)) != right:
            raise Refused(f"{self.bounded}: another bound on the last step")
        return right

    def strange_to(self, rounds: Rounds) -> Iterator[str]:
        """List in words the parts of the theorems, and of their weights, that do not belong to these rounds."""
        yield from super().strange_to(rounds)
        yield from self.weights.strange_to(rounds)

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation, with the readings of the weights."""
        return self.weights.with_readings(super().content)


@dataclass(frozen=True)
class WeightedDescent(Descent):
    """Bound on the mean squared gradient from F(x) - E F(x+) - f |grad F(x)|^2 + B(E, Q) >= 0 in every round:

        mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(f R) + B/f.

    In B, which is linear in E and Q, these stand for their means over the rounds, or else for their largest values.
    """

    _: KW_ONLY
    weights: OfWeights

    own_readings: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}

    @property
    def functional(self) -> str:  # type: ignore[override]
        return "average_squared_weighted_gradient" if self.weights.objective == IMPLIED else "average_squared_gradient"

    @cached_property
    def own(self) -> _Weighted:
        """Theorem in the vocabulary, with its weights."""
        return self.weights.read(self.theorem, self.letters)

    def right_side(self) -> sympy.Expr:
        fall, addition = average(self.theorem)
        if self.weights.objective == ANY:
            raise Refused("a run has one objective: allowed is the plain mean, or that which constant weights imply")
        letters = self.own.of_rounds
        for name in sorted(letters):
            powers = addition.coefficients(name)
            product = letters & powers.get(1, 0 * addition).names
            if name in fall.names or max(powers, default=0) > 1 or product:
                raise Refused(f"{name}: allowed is a fall without E and Q, and what is added linear in them")
            if not self.theorem.where.certifies(powers.get(1, 0 * addition)):
                raise Refused(f"{name}: what is added need not grow with it")
        return super().right_side()

    def strange_to(self, rounds: Rounds) -> Iterator[str]:
        """List in words the parts of the theorem, and of its weights, that do not belong to these rounds."""
        yield from super().strange_to(rounds)
        yield from self.weights.strange_to(rounds)

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation. Means over rounds that the theorem speaks of are read as it has them, whether that
        is asked for or not."""
        computed = self.weights.with_readings(super().content)
        reads = {} if self.weights.objective == IMPLIED else {readings.AVERAGE: readings.FROM_ROUND_0}
        if reads and computed["right_side"].has(_SCALE) and readings.SCALE not in self.weights.reads:
            reads |= {readings.WEIGHTS: readings.GIVEN}
        return {**computed, "readings": {**computed["readings"], **reads}}
