"""From a theorem of the kernel to a derivation: everything in it is computed from the theorem.

What a claim needs and assumes is read off the theorem; the claim is tied to it as to every other derivation.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import sympy

from ..claims import readings
from ..quantities import QUANTITIES
from . import checker
from .derivations import Derivation
from .kernel.forms import STEPS
from .kernel.regions import Condition
from .kernel.rounds import average, contraction
from .kernel.saved import ancestry, saved
from .kernel.scalars import Scalar
from .kernel.theorems import Theorem
from .steps import Evidence, Finding, Step

_QUANTITY = {"smooth": ("smoothness", 1), "strongly_convex": ("strong_convexity", 1),
             "bounded_noise": ("gradient_noise", 2), "bounded_dissimilarity": ("dissimilarity", 2),
             "bounded_dissimilarity_at_optimum": ("dissimilarity", 2), "bounded_server_noise": ("server_noise", 2),
}  # fmt: skip
"""The assumptions with a constant: the quantity, and its power. What bounds the dissimilarity everywhere bounds it at
the optimum."""

_NO_AXIOMS = {"combine", "project"}
"""The rules that need no premise: sums of squares, and what a projection is."""

_READINGS = {
    "random_kinds": (readings.SNAPSHOTS, readings.PROBABILITY),
    "random_client_rounds": (readings.KINDS_OF_ROUNDS, readings.PROBABILITY),
    "cohort_is_a_set": (readings.UNIFORM_COHORT, readings.WITHOUT_REPLACEMENT),
}
"""The assumptions that are a reading of the algorithm."""

_PARAMETERS = {
    "local_lr": "local_lr", "server_lr": "server_lr", "cohort": "cohort", "arbitrary_cohort": "arbitrary_cohort",
    "probability": "snapshot_probability", "client_round_probability": "client_round_probability",
}  # fmt: skip
"""The quantity that each of the algorithm's parameters is; the free ``share`` of a draw is none."""


@dataclass(frozen=True)
class Composed:
    """The check that the kernel makes a theorem, and that the independent checker accepts its proof as saved."""

    make: Callable[[], Theorem]

    def certified(self) -> Finding:
        text = json.dumps(saved(self.make()), separators=(",", ":"))
        return Finding("proved", (text,)) if self.accepts((text,)) else Finding("unknown")

    decide = certified

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the text is a proof, by the checker, of the very theorem that the kernel makes now."""
        if len(evidence) != 1 or not isinstance(evidence[0], str):
            return False
        try:
            data = json.loads(evidence[0])
            checker.check(data)
        except (checker.Wrong, ValueError, RecursionError):
            return False
        now = saved(self.make())
        same = data["names"] == now["names"] and _conclusion(data) == _conclusion(now)
        return same

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Never: what the kernel does not make may be true."""
        return False


def _conclusion(data: Mapping) -> tuple:
    """The last theorem without how it was made, and its region."""
    last = data["theorems"][-1]
    stated = {part: value for part, value in last.items() if part not in ("rule", "premises", "arguments", "where")}
    return data["regions"][last["where"]], stated


@dataclass(frozen=True)
class OfRounds(ABC):
    """What a theorem on one round shows of many.

    Attributes:
        make: makes the theorem.
        letters: the quantity of each letter of the theorem's scalars.
        more: readings under which the functional is the one that is bounded, beside ``own_readings``.
        always: readings' assumptions that every run of the algorithm meets, so that the claim cannot be read otherwise.
    """

    own_readings: ClassVar[Mapping[str, str]] = {}

    make: Callable[[], Theorem]
    letters: Mapping[str, str]
    more: Mapping[str, str] = field(default_factory=dict)
    always: frozenset[str] = frozenset()

    @property
    @abstractmethod
    def functional(self) -> str:
        """The name of what is bounded."""

    @abstractmethod
    def right_side(self) -> sympy.Expr:
        """The bound, computed from the theorem."""

    @cached_property
    def theorem(self) -> Theorem:
        return self.make()

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """What the region asks of quantities, beyond what the vocabulary says of each; and P >= 0, P < 1."""
        found = []
        for condition in self.theorem.where.conditions:
            if condition.bound is None or condition.name not in self.letters or self._in_vocabulary(condition):
                continue
            for i, (expression, strict) in enumerate(condition.polynomials(self.theorem.where.ring)):
                if not strict:
                    found.append((f"{self.letters[condition.name]}_{i}", self.read(expression)))
        return tuple(found)

    def _in_vocabulary(self, condition: Condition) -> bool:
        """Whether the vocabulary says as much of the quantity."""
        known = QUANTITIES[self.letters[condition.name]]
        return condition.kind == "interval" and condition.bound == 1 and known.lower >= 0 and known.upper <= 1

    def read(self, scalar: Scalar) -> sympy.Expr:
        """A scalar in the vocabulary's names."""
        unknown = scalar.names - self.letters.keys()
        if unknown:
            raise ValueError(f"{sorted(unknown)}: letters of the theorem that stand for no quantity")
        return scalar.expression().xreplace({sympy.Symbol(a): sympy.Symbol(b) for a, b in self.letters.items()})

    def read_apart(self, scalar: Scalar) -> sympy.Expr:
        """The same as a sum over products of the letters of which the denominator is free, each in lowest terms."""
        parts = {sympy.S.One: scalar}
        for name in (c.name for c in self.theorem.where.conditions if c.kind == "nonnegative"):
            if name not in scalar.bottom.names:
                letter = self.read(self.theorem.where.ring[name])
                parts = {data * letter**power: part for data, whole in parts.items()
                         for power, part in whole.coefficients(name).items()}  # fmt: skip
        return sympy.Add(*(data * self.read(part) for data, part in parts.items()))

    def kinds(self) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
        """(quantities whose bounds it assumes, other kinds of assumption, readings), read off the theorem.

        Raises:
            ValueError: a constant is another one than the quantity itself.
        """
        if self.always - _READINGS.keys():
            raise ValueError(f"always {sorted(self.always)}: allowed are {', '.join(_READINGS)}")
        quantities, others, read = [], [], {}
        for name, constant in sorted(self.theorem.assumptions, key=str):
            if name in self.always:
                continue
            if name in _READINGS:
                ambiguity, option = _READINGS[name]
                read[ambiguity] = option
            elif constant is None:
                others.append(name)
            else:
                quantity, power = _QUANTITY[name]
                own = sympy.Symbol(quantity) ** power
                weaker = (sympy.S.Zero,) if name == "strongly_convex" else ()  # a strongly convex function is convex
                if self.read(constant) not in (own, *weaker):
                    raise ValueError(f"{name}: the theorem takes the constant {constant}, not {own}")
                quantities.append(quantity)
        self._check_parameters()
        return tuple(dict.fromkeys(quantities)), tuple(others), read

    def _check_parameters(self) -> None:
        """Refuse letters that stand for other quantities than those that the theorem's algorithm has in their place."""
        for name, value in self.theorem.parameters:
            own = value.is_polynomial and str(value) in value.names
            if name == "share" and own:
                continue
            if name not in _PARAMETERS or not own or self.letters.get(str(value)) != _PARAMETERS[name]:
                raise ValueError(f"{name} = {value}: allowed is the letter of the algorithm's {_PARAMETERS.get(name)}")
        if self.letters.get(STEPS, "local_steps") != "local_steps":
            raise ValueError(f"{STEPS} = {self.letters[STEPS]}: allowed is local_steps")

    def step(self, name: str, equation: str, says: str) -> Step:
        """The one step of a proof that the kernel composed; its assumptions are the theorem's."""
        return Step(name, equation, says, "composed", (Composed(self.make),), printed=False, assumes=self.kinds()[1])

    def makes(self, steps: Iterable[Step]) -> bool:
        """Whether the steps are this theorem, with its assumptions, and nothing else."""
        checks = (Composed(self.make),)
        return all((s.kind, s.checks, s.assumes) == ("composed", checks, self.kinds()[1]) for s in steps)

    def axioms(self) -> tuple[str, ...]:
        """The kernel's axioms that the theorem is made of."""
        return tuple(sorted({t.rule for t in ancestry(self.theorem) if not t.premises} - _NO_AXIOMS))

    def assumed(self) -> tuple[str, ...]:
        """The assumptions that those name, each with its constant where it has one."""
        found = []
        for name, constant in sorted(self.theorem.assumptions, key=str):
            found.append(name if constant is None else f"{name}({self.read(constant)})")
        return tuple(found)

    def derivation(self, name: str, step: str, proves: tuple[str, ...]) -> Derivation:
        """What the step shows."""
        return replace(self._computed, name=name, steps=(step,), proves=proves)

    @cached_property
    def _computed(self) -> Derivation:
        quantities, _, read = self.kinds()
        unknown = {q for q in quantities if q not in QUANTITIES}
        if unknown:
            raise ValueError(f"{sorted(unknown)}: no quantities of the vocabulary")
        return Derivation(
            "",
            functional=self.functional,
            steps=(),
            right_side=self.right_side(),
            needs=self.needs(),
            assumptions=quantities,
            readings={**read, **self.more, **self.own_readings},
            origin=self,
        )


class Contraction(OfRounds):
    """Of E|x+ - x*|^2 <= P |x - x*|^2 + B: E|x_R - x*|^2 <= exp(-(1 - P) R) |x_0 - x*|^2 + B/(1 - P), by induction over
    the rounds and P <= exp(-(1 - P))."""

    functional = "final_squared_distance"

    def right_side(self) -> sympy.Expr:
        factor, addition = contraction(self.theorem)
        rounds, distance = sympy.symbols("rounds initial_distance")
        fall = sympy.factor(self.read(1 - factor))
        return sympy.exp(-fall * rounds) * distance**2 + self.read_apart(addition) / fall


class Descent(OfRounds):
    """Of E F(x+) <= F(x) - c |grad F(x)|^2 + B: mean over r < R of E|grad F(x_r)|^2 <= (F(x_0) - inf F)/(c R) + B/c, by
    summing over the rounds."""

    functional = "average_squared_gradient"
    own_readings: ClassVar[Mapping[str, str]] = {readings.AVERAGE: readings.FROM_ROUND_0}

    def right_side(self) -> sympy.Expr:
        fall, addition = average(self.theorem)
        gap, rounds = sympy.symbols("initial_gap rounds")
        return (gap / rounds + self.read_apart(addition)) / sympy.factor(self.read(fall))
