"""Derivations from theorems on learning problems and their samples. The functional, its bound, what is needed and what
is assumed are read off the theorem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import sympy

from ...claims import readings
from ...claims.statement import Claim
from ...quantities import QUANTITIES, symbols
from ..algorithm_match import Rounds
from ..claim_theorems import ClaimTheorem
from ..composition import Composed, Computed, once
from ..derivations import Derivation
from ..domain import bare
from ..kernel.sampling_laws import ANY, BEST_OF_Q, POOL, TARGET, VALUE, SampleTheorem, sample_axioms
from ..kernel.scalars import Scalar
from ..kernel.sealed import intact
from ..steps import Step

_OF_HYPOTHESES = frozenset({readings.CONSTANTS, readings.THRESHOLDS, readings.CONFIDENCE_TERM})
"""The ambiguities that concern a claim's hypotheses alone, so that a derivation may name the option that it covers."""

_LEVELS = {
    "complexity": ("confidence", "class_size", 1, "samples"),
    "server_complexity": ("confidence", "class_size", 1, "server_samples"),
    "pair_complexity": ("confidence", "class_size", 2, "samples"),
}
"""Quantities log(size^p/confidence)/n: the names of confidence, size, p and n."""

_GROWTHS = {"vc_complexity": "samples", "server_vc_complexity": "server_samples"}
"""Quantities (d log(e max(2 n, d)/d) + log(4/confidence))/n, d the dimension: the name of n."""

_NUMBERS = {
    ("excess", TARGET, BEST_OF_Q): "best_excess",
    ("excess", POOL, ANY): "source_excess",
    ("related gap",): "related_gap",
}  # fmt: skip

_ABOVE_ZERO = {"confidence"}
"""Quantities that are > 0 wherever a claim speaks of samples: no complexity is defined at the confidence 0."""


@dataclass(frozen=True)
class OfSamples:
    """Bound on a functional of a learning problem, from a theorem of the kernel that is said of the whole problem.

    Attributes:
        make: makes the theorem.
        letters: the quantities of letters that are no quantity of the problem in the theorem.
        functional: the functional's name.
        more: the options of hypotheses that it is compared under.
    """

    make: Callable[[], SampleTheorem]
    letters: Mapping[str, str]
    functional: str
    more: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", once(self.make))  # type: ignore[arg-type]

    @property
    def theorem(self) -> SampleTheorem:
        """Theorem as the kernel made it."""
        return intact(self.make())

    @cached_property
    def _stands_for(self) -> dict[str, str]:
        """The quantity of each letter that is no number: a parameter's by its name, else the given one."""
        of = self.theorem.of
        found: dict[str, str] = {}
        for name, scalar in of.parameters.items():
            letter = str(scalar)
            if letter in of.where.ring.names and letter not in of.numbers and found.setdefault(letter, name) != name:
                raise ValueError(f"{letter}: {name} and {found[letter]}: allowed is one quantity for a letter")
        return {**self.letters, **found}

    def _symbol(self, name: str) -> sympy.Symbol:
        return symbols(name)[0]

    def read(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's symbols.

        Raises:
            ValueError: a letter stands for no quantity.
        """
        return scalar.expression().xreplace({sympy.Symbol(n): self._letter(n) for n in scalar.names})

    def _letter(self, name: str) -> sympy.Expr:
        meaning = self.theorem.of.numbers.get(name)
        if meaning is None:
            if name not in self._stands_for:
                raise ValueError(f"{name}: a letter of the theorem that stands for no quantity")
            return self._symbol(self._stands_for[name])
        kind, *parts = meaning
        if kind == "power":
            base, exponent = parts
            return sympy.Pow(self.read(base), self._exponent(exponent))  # type: ignore[arg-type]
        if kind == "level":
            return self._level(*parts)  # type: ignore[arg-type]
        if kind == "growth":
            return self._growth(*parts)  # type: ignore[arg-type]
        if kind == "complexity":
            x, n, d = map(self.read, parts)  # type: ignore[arg-type]
            return d / n * sympy.Max(sympy.log(sympy.Max(n, d) / d), 1) + sympy.log(1 / x) / n
        if meaning in _NUMBERS:
            return self._symbol(_NUMBERS[meaning])  # type: ignore[index]
        raise ValueError(f"{name}: {meaning} is no quantity")

    def _exponent(self, scalar: Scalar) -> sympy.Expr:
        """Read a scalar as a quotient whose denominator is > 0."""
        if self.theorem.of.never_zero(-scalar.bottom):
            return self.read(-scalar * scalar.bottom) / self.read(-scalar.bottom)
        return self.read(scalar)

    def _level(self, share: Scalar, count: Scalar) -> sympy.Expr:
        read = self.read(share), self.read(count)
        for name, (confidence, size, power, samples) in _LEVELS.items():
            if read == (self._symbol(confidence) / self._symbol(size) ** power, self._symbol(samples)):
                return self._symbol(name)
        raise ValueError(f"log(1/({share}))/({count}): allowed are {', '.join(_LEVELS)}")

    def _growth(self, share: Scalar, count: Scalar, dimension: Scalar) -> sympy.Expr:
        read = self.read(share), self.read(count), self.read(dimension)
        for name, samples in _GROWTHS.items():
            if read == tuple(map(self._symbol, ("confidence", samples, "vc_dimension"))):
                return self._symbol(name)
        raise ValueError(f"growth by {share}, {count}, {dimension}: allowed are {', '.join(_GROWTHS)}")

    def needs(self) -> tuple[tuple[str, sympy.Expr], ...]:
        """Return what has to be >= 0, beyond what the vocabulary says: the region's conditions, and that a quantity of
        the problem is the theorem's expression in its place."""
        of, found = self.theorem.of, []
        for condition in of.where.conditions:
            for i, (expression, strict) in enumerate(condition.polynomials(of.where.ring)):
                own = self._letter(condition.name)
                plain = expression == of.where.ring[condition.name]
                if not self._in_vocabulary(own, condition.kind, plain, strict, condition.bound):
                    found.append((f"{condition.name}_{i}", self._need(own, expression, condition.name)))
        for name, scalar in of.parameters.items():
            if str(scalar) not in self._stands_for:
                apart = self._symbol(name) - self.read(scalar)
                found += [(f"{name}_at_least", bare(apart)), (f"{name}_at_most", bare(-apart))]
        return tuple(found)

    def _need(self, own: sympy.Expr, expression: Scalar, letter: str) -> sympy.Expr:
        """An expression in the vocabulary, without a denominator > 0: the letter itself, less what bounds it in its
        factors."""
        bound = expression.ring[letter] - expression
        if letter in bound.names:
            above_zero = self.theorem.of.never_zero(expression.bottom)
            return bare(self.read(expression * expression.bottom if above_zero else expression))
        factored = sympy.factor(bound.expression())
        return bare(own - factored.xreplace({sympy.Symbol(n): self._letter(n) for n in bound.names}))

    @staticmethod
    def _in_vocabulary(own: sympy.Expr, kind: str, plain: bool, strict: bool, bound: Scalar | None) -> bool:
        """Whether the vocabulary says as much.

        Raises:
            ValueError: a quantity has to be > 0, or a count, and the vocabulary does not say so.
        """
        known = QUANTITIES.get(str(own))
        if known is None:
            raise ValueError(f"{own}: {kind}, of which the vocabulary says nothing")
        above_zero = known.positive or known.lower > 0 or known.name in _ABOVE_ZERO
        if (strict and not above_zero) or (kind == "count" and not (known.integer and known.lower >= 1)):
            raise ValueError(f"{own}: {kind}, which it need not be")
        if plain or kind == "count":
            return strict or kind == "count" or known.lower >= 0
        return bound is not None and bound == 1 and kind in ("capped", "interval") and known.upper <= 1

    @property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation, computed from the theorem.

        Raises:
            ValueError: a letter stands for no quantity; or the theorem was changed after it was made.
        """
        theorem = self.theorem
        if theorem.functional != (self.functional if self._left is None else VALUE):
            raise ValueError(f"{theorem.functional}: allowed is a bound on {self.functional}")
        if theorem.confidence is not None and self.read(theorem.confidence) != self._symbol("confidence"):
            raise ValueError(f"{theorem.confidence}: allowed is the letter of the confidence")
        if self.more.keys() - _OF_HYPOTHESES:
            raise ValueError(f"more {sorted(self.more)}: allowed are {', '.join(sorted(_OF_HYPOTHESES))}")
        return MappingProxyType(
            {
                "right_side": bare(self.read(theorem.form)),
                "needs": self.needs(),
                "assumptions": (),
                "readings": dict(self.more),
                "choices": {},
            }
        )

    @property
    def _left(self) -> sympy.Expr | None:
        letter = self.theorem.arguments.get("letter")
        return bare(self._letter(letter)) if self.theorem.functional == VALUE and letter else None

    @property
    def checks(self) -> tuple[Composed, ...]:
        """Return the one check, that the kernel makes the theorem."""
        return (Composed(self.make),)

    def step(self, name: str, equation: str, says: str) -> Step:
        """Return the one step of a proof that the kernel composed; its assumptions are the theorem's."""
        return Step(name, equation, says, "composed", self.checks, printed=False)

    def makes(self, steps: Iterable[Step]) -> bool:
        """Whether the steps are this theorem, with its assumptions, and nothing else."""
        own = ("composed", self.checks, ())
        return all(
            type(s) is Step and all(type(c) is Composed for c in s.checks) and (s.kind, s.checks, s.assumes) == own
            for s in steps
        )

    def derivation(self, name: str, step: str, proves: tuple[str, ...]) -> Derivation:
        """Return the derivation with this step."""
        more = {"left_side": self._left} if self.functional.endswith("_rate") else {}
        return Computed(name, functional=self.functional, steps=(step,), proves=proves, origin=self, **more)

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the kernel's axioms that the theorem is made of."""
        return sample_axioms(self.theorem)

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name."""
        return tuple(sorted(self.theorem.assumptions))

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> ClaimTheorem | None:
        """Return no check on whole runs: samples are none."""
        return None

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words the ways in which the theorem is not about what a claim is."""
        if claim.functional.scope != ("values" if self._left is not None else "learning"):
            yield f"it is about samples, and {claim.functional.name} is not"
