"""Claims on learning problems and their samples: what a theorem of the kernel has to say, to be the claim, and the
check that it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import sympy

from .. import functionals
from ..claims import readings
from ..claims.statement import Claim
from ..quantities import QUANTITIES
from .claim_goals import Inexpressible, sides
from .claim_theorems import KernelClaim
from .kernel.regions import Condition, Where, standing
from .kernel.sampling_laws import ANY, BEST_OF_Q, POOL, TARGET, VALUE, SampleTheorem
from .kernel.saved_claims import saved_sample_claim
from .kernel.saved_theorems import saved
from .kernel.scalars import Scalar
from .kernel.sealed import intact

OF_HYPOTHESES = frozenset({readings.CONSTANTS, readings.THRESHOLDS, readings.CONFIDENCE_TERM})
"""The ambiguities that concern a claim's hypotheses alone, so that a proof may name the option that it covers."""

_LEVELS = {
    "complexity": ("class_size", 1, "samples"),
    "server_complexity": ("class_size", 1, "server_samples"),
    "pair_complexity": ("class_size", 2, "samples"),
}
"""Quantities log(size^p/confidence)/n: the names of size, p and n."""

_GROWTHS = {"vc_complexity": "samples", "server_vc_complexity": "server_samples"}
"""Quantities (d log(e max(2 n, d)/d) + log(4/confidence))/n, d the dimension: the name of n."""

_NUMBERS = {
    "best_excess": ("excess", TARGET, BEST_OF_Q), "source_excess": ("excess", POOL, ANY),
    "related_gap": ("related gap",),
}  # fmt: skip

_ABOVE_ZERO = {"confidence"}
"""Quantities that are > 0 wherever a claim speaks of samples: no complexity is defined at the confidence 0."""

_HALF = sympy.Rational(1, 2)


@dataclass(frozen=True)
class SampleGoal:
    """Claim in the letters of a theorem on samples.

    Attributes:
        letters: the quantities of letters that are no quantity of the problem in the theorem.
        read: the options under which the claim is read.
    """

    claim: Claim
    theorem: SampleTheorem
    letters: Mapping[str, str]
    read: Mapping[str, str]

    @cached_property
    def stands_for(self) -> dict[str, str]:
        """The quantity of each letter that is no number: a parameter's by its name, else the given one.

        Raises:
            Inexpressible: one letter is two quantities.
        """
        of = self.theorem.of
        found: dict[str, str] = {}
        for name, scalar in of.parameters.items():
            letter = str(scalar)
            if letter in of.where.ring.names and letter not in of.numbers and found.setdefault(letter, name) != name:
                raise Inexpressible(f"{letter}: {name} and {found[letter]}: allowed is one quantity for a letter")
        free = {n: q for n, q in self.letters.items() if n not in found and n not in of.numbers}
        used = {c.name for c in of.where.conditions}
        return found | {n: q for n, q in free.items() if n in used and q not in of.parameters}

    def letter(self, quantity: str) -> Scalar:
        """Return the scalar that a quantity is."""
        of = self.theorem.of
        if quantity in of.parameters:
            return of.parameters[quantity]
        for letter, name in self.stands_for.items():
            if name == quantity:
                return of.where.ring[letter]
        if quantity in _LEVELS:
            size, power, count = _LEVELS[quantity]
            return of.number("level", self.letter("confidence") / self.letter(size) ** power, self.letter(count))
        if quantity in _GROWTHS:
            return of.number("growth", *map(self.letter, ("confidence", _GROWTHS[quantity], "vc_dimension")))
        if quantity in _NUMBERS:
            return of.number(*_NUMBERS[quantity])
        raise Inexpressible(f"{quantity} has no letter")

    def scalar(self, expression: sympy.Expr) -> Scalar:
        """Return an expression in quantities as a scalar in letters.

        Raises:
            Inexpressible: a part of it is no letter, number, sum, product, power or root that the theorem has.
        """
        ring = self.theorem.of.where.ring
        if expression.is_Symbol:
            return self.letter(expression.name)
        if expression.is_Rational:
            return ring.number(int(expression.p)) / int(expression.q)
        if expression.is_Add:
            known = self._complexity(expression)
            return known if known is not None else sum(map(self.scalar, expression.args), ring.number(0))
        if expression.is_Mul or expression.is_Pow:
            total = radicand = ring.number(1)
            for factor in sympy.Mul.make_args(expression):
                one, root = self._power(*factor.as_base_exp()) if factor.is_Pow else (self.scalar(factor), None)
                total, radicand = total * one, radicand * (1 if root is None else root)
            return total if radicand == 1 else total * self._number("power", radicand, ring.number(1) / 2)
        raise Inexpressible(f"{expression}: allowed are sums, products, powers and what the theorem names")

    def _power(self, base: sympy.Expr, exponent: sympy.Expr) -> tuple[Scalar, Scalar | None]:
        """Return a power as a factor, and one below a root; the latter is certified to be >= 0."""
        value, one = self.scalar(base), self.theorem.of.where.ring.number(1)
        if exponent.is_Integer:
            return (value ** int(exponent) if exponent > 0 else one / value ** int(-exponent)), None
        if exponent == _HALF:
            if not self.theorem.of.certifies(value):
                raise Inexpressible(f"sqrt({base}): not certified to be of what is >= 0")
            return one, value
        power = self.scalar(exponent)
        try:
            return self._number("power", value, power), None
        except Inexpressible:
            return one, self._number("power", value, power * 2)

    def _number(self, *meaning: str | Scalar) -> Scalar:
        try:
            return self.theorem.of.number(*meaning)
        except ValueError as error:
            raise Inexpressible(str(error)) from None

    def _complexity(self, expression: sympy.Expr) -> Scalar | None:
        """Return the letter of (d max(log(max(n, d)/d), 1) + log(1/x))/n, if an expression is one."""
        of = self.theorem.of
        symbols = {s.name: s for s in expression.free_symbols}
        for letter, meaning in of.numbers.items():
            names = [self.stands_for.get(str(part)) for part in meaning[1:]]
            if meaning[0] == "complexity" and all(name in symbols for name in names):
                x, n, d = (symbols[name] for name in names if name is not None)
                if expression == d / n * sympy.Max(sympy.log(sympy.Max(n, d) / d), 1) + sympy.log(1 / x) / n:
                    return of.where.ring[letter]
        return None

    def differences(self) -> Iterator[str]:
        """List in words what the theorem says otherwise than the claim; none if it is the claim, or says more.

        Raises:
            Inexpressible: a part of the claim that cannot be said in the theorem's letters.
        """
        theorem, claim = intact(self.theorem), self.claim
        of, functional = theorem.of, claim.functional.under(self.read)
        if theorem.functional == VALUE:
            letter = of.where.ring[str(theorem.arguments["letter"])]
            if functional.scope != "values" or self.scalar(functional.expression) != letter:
                yield f"it bounds {letter}, and the claim {functional.expression}"
        elif functional.name != theorem.functional or claim.functional not in functionals.named(functional.name):
            yield f"it bounds {theorem.functional}, and the claim {functional.name}"
        if functional.compute is not None or claim.choices:
            yield "a left side, or a choice, of the claim's own"
        if theorem.confidence is not None and theorem.confidence != self.letter("confidence"):
            yield f"its confidence is {theorem.confidence}"
        right = sum((self.scalar(term.expression) for term in claim.terms), of.where.ring.number(0))
        if not of.certifies(right - theorem.form):
            yield f"its bound is {theorem.form}, and the claim's {right}, which is not certified to be as large"
        yield from (f"it assumes {name}" for name in sorted(theorem.assumptions) if name not in claim.assumed)
        options = {a.name: a.options for a in claim.ambiguities}
        for name in sorted({*self.read, *options}):
            if name not in OF_HYPOTHESES or self.read.get(name) not in options.get(name, ()):
                yield f"it is read with {name} = {self.read.get(name)}"
        yield from self._region()

    def _region(self) -> Iterator[str]:
        of = self.theorem.of
        pairs = [sides(h.relation) for h in self.claim.under(self.read).hypotheses]
        made = {name: scalar for name, scalar in of.parameters.items() if str(scalar) not in self.stands_for}
        apart = [pair for pair in pairs if not all({*map(str, side.free_symbols)} & made.keys() for side in pair)]
        for name, scalar in made.items():
            known = QUANTITIES[name]
            below = scalar.is_zero and known.lower >= 0
            above = scalar == 1 and known.upper <= 1
            for small, large in apart:
                above |= small.is_Symbol and small.name == name and self.scalar(large) == scalar
                below |= large.is_Symbol and large.name == name and self.scalar(small) == scalar
            if not (below and above):
                yield f"{name} = {scalar}: no hypothesis of the claim"
        slacks = [self.scalar(large) - self.scalar(small) for small, large in pairs]
        for at, condition in enumerate(of.where.conditions):
            later = Where(of.where.ring, standing(of.where.conditions[at + 1 :]))  # numbers have no conditions
            for expression, strict in condition.polynomials(of.where.ring):
                if not self._known(condition, expression, strict) and not (
                    not strict and any(_multiple(expression, slack, later) for slack in slacks)
                ):
                    yield f"{condition}: neither of the vocabulary nor a hypothesis of the claim"

    def _known(self, condition: Condition, expression: Scalar, strict: bool) -> bool:
        """Whether the vocabulary, or the meaning of a number, says that an expression is >= 0, or > 0."""
        of, plain = self.theorem.of, expression == self.theorem.of.where.ring[condition.name]
        if condition.name in of.numbers:
            return plain and not strict
        quantity = self.stands_for.get(condition.name)
        if quantity is None:
            return False
        known = QUANTITIES[quantity]
        if condition.kind == "count":
            return known.integer and known.lower >= 1
        if plain:
            above = known.positive or known.lower > 0 or quantity in _ABOVE_ZERO
            return above if strict else known.lower >= 0
        return condition.kind in ("capped", "interval") and condition.bound == 1 and known.upper <= 1


def _multiple(expression: Scalar, slack: Scalar, later: Where) -> bool:
    """Whether an expression is a slack times what is certified to be >= 0 by the conditions on other letters."""
    if slack.is_zero:
        return False
    factor = expression / slack
    return factor.names | factor.bottom.names <= {c.name for c in later.conditions} and later.certifies(factor)


@dataclass(frozen=True)
class SampleClaim(KernelClaim):
    """Check that a claim is a theorem of the kernel on samples.

    Attributes:
        make: makes the theorem.
        letters: the quantities that its letters stand for.
        options: those under which the claim is read.
    """

    about: ClassVar[str] = "samples"
    claim: Claim
    make: Callable[[], SampleTheorem]
    letters: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]
    algorithm: str

    @cached_property
    def goal(self) -> SampleGoal:
        """The claim in the letters of the theorem."""
        return SampleGoal(self.claim, self.make(), dict(self.letters), dict(self.options))

    @property
    def read(self) -> dict[str, str]:
        """The option of each ambiguity under which the theorem is the claim."""
        return dict(self.options)

    @cached_property
    def differences(self) -> tuple[str, ...]:
        """Ways in which the theorem says otherwise than the claim, in words."""
        try:
            return tuple(self.goal.differences())
        except ValueError as error:
            return (str(error),)

    def apart(self) -> Iterator[str]:
        """List in words the ways in which the theorem says otherwise than the claim."""
        yield from self.differences

    def found(self) -> bool:
        """Whether the theorem is the claim."""
        return not self.differences

    def data(self) -> dict[str, Any]:
        """Return the saved proof of the claim."""
        return saved_sample_claim(self.make(), self.goal.stands_for, self.said(self.read))

    def is_of(self, data: Mapping[str, Any]) -> bool:
        """Whether a saved proof is one of the very theorem that the kernel makes now."""
        own, last = saved(self.make()), data["theorems"][-1]
        shared = [part for part in own if part not in ("format", "theorems")]
        stated = [part for part in last if part not in ("rule", "premises", "arguments")]
        of_value = last["arguments"].get("letter") == own["theorems"][-1]["arguments"].get("letter")
        return of_value and all(own[p] == data[p] for p in shared) and all(
            own["theorems"][-1][p] == last[p] for p in stated
        )  # fmt: skip
