"""Derivations that are a claim's theorem itself: a proof makes a bound of the kernel, and the claim has to be it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy

from ...assumptions import ASSUMPTIONS
from ...claims.statement import Claim
from ..algorithm_match import Rounds
from ..answer_goals import OF_HYPOTHESES, WHICHEVER, readings_of
from ..claim_goals import Inexpressible, theorem_of
from ..claim_theorems import ClaimTheorem
from ..composition import Computed, once
from ..derivations import Derivation
from ..kernel.number_bounds import VALUE
from ..kernel.run_bounds import RunBound, untouched
from ..kernel.saved_theorems import ancestry
from ..kernel.scalars import Scalar
from ..steps import Step


@dataclass(frozen=True)
class MadeBound:
    """Derivation of a bound of the kernel that is a claim's theorem, or is none of it.

    Attributes:
        make: makes the bound.
        letters: the quantity of each letter, or "a - b" of one that is by how much a exceeds b.
        functional: name of the claim's functional.
        more: options of ambiguities that concern the claim's hypotheses alone.
        of_rounds: whether it is about rounds that the engine runs, which have to be the claim's algorithm's.
    """

    make: Callable[[], RunBound]
    letters: Mapping[str, str]
    functional: str
    more: Mapping[str, str] = field(default_factory=dict)
    of_rounds: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", once(self.make))

    @property
    def bound(self) -> RunBound:
        """The bound as the kernel made it."""
        return untouched(self.make())

    def read(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's names."""
        of = {name: _difference(*q.split(" - ")) for name, q in self.letters.items()}
        return scalar.expression().xreplace({sympy.Symbol(name): e for name, e in of.items()})

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation, read off the bound; what it asks is compared by the goal of the claim alone."""
        if self.more.keys() - OF_HYPOTHESES:
            raise ValueError(f"more {sorted(self.more)}: allowed are {', '.join(sorted(OF_HYPOTHESES))}")
        whichever = WHICHEVER.get(self.bound.functional, {})
        return {
            "right_side": None,
            "needs": (),
            "assumptions": tuple(q for n, _ in sorted(self.bound.assumptions, key=str) if (q := _quantity(n))),
            "readings": {**readings_of(self.bound, self._letter), **whichever, **self.more},
            "choices": {},
        }

    def _letter(self, expression: sympy.Expr) -> Scalar:
        """Return a sum or product of quantities in the letters of the bound."""
        if expression.is_Symbol:
            found = [self.bound.where.ring[n] for n, q in self.letters.items() if q == expression.name]
            if not found:
                raise Inexpressible(f"{expression} has no letter")
            return found[0]
        one, *others = map(self._letter, expression.args)
        for other in others:
            one = one + other if expression.is_Add else one * other
        return one

    @property
    def left(self) -> sympy.Expr | None:
        """The expression that is bounded, if it is one of values."""
        expression = dict(self.bound.parameters).get(VALUE)
        return None if expression is None else self.read(expression)

    def makes(self, steps: Iterable[Step]) -> bool:
        """Whether there is no step: that the kernel makes the bound, and that the claim is it, is the goal's step."""
        return not tuple(steps)

    def derivation(self, name: str, step: str, proves: tuple[str, ...]) -> Derivation:
        """Return the derivation of the bound, for claims with these refs; it has no step of its own."""
        return OfBound(name, functional=self.functional, steps=(), proves=proves, origin=self)

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the axioms that the bound is made of."""
        theorem = theorem_of(self.bound)
        if theorem is not None:
            return tuple(sorted({t.rule for t in ancestry(theorem) if not t.premises} - {"combine", "project"}))
        first = self.bound
        while isinstance(first.premise, RunBound):
            first = first.premise
        return (first.rule,)

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions of the bound, each with its constant if it has one."""
        found = sorted(self.bound.assumptions, key=str)
        return tuple(name if c is None else f"{name}({self.read(c)})" for name, c in found)

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> ClaimTheorem | None:
        """Return the check that a claim is this bound, or ``None`` if it is not."""
        try:
            check = self._check(claim, algorithm, rounds)
            return check if check.certified().outcome == "proved" else None
        except ValueError:
            return None

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words why the bound is not the claim."""
        try:
            if missing := self._check(claim, algorithm, rounds).missing():
                yield missing
        except ValueError as error:
            yield str(error)

    def _check(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> ClaimTheorem:
        own = rounds(claim, algorithm) if self.of_rounds else None
        fixed = {n: o for n, o in self.more.items() if n in {a.name for a in claim.ambiguities}}
        return ClaimTheorem(claim, self.make, tuple(self.letters.items()), own, algorithm, tuple(fixed.items()))


def made_bounds(
    paper: str,
    bounds: Mapping[str, tuple[Callable[[], RunBound], Mapping[str, str], str]],
    more: Mapping[str, Mapping[str, str]] | None = None,
    of_rounds: bool = False,
    also: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Derivation, ...]:
    """Return the derivations of a paper's claims, each from (makes the bound, letters, functional's name), with the
    options of its hypotheses that it is compared under, and the refs of other claims to which it is the nearest."""
    return tuple(
        MadeBound(make, letters, functional, (more or {}).get(ref, {}), of_rounds).derivation(
            f"composed, {paper}.{ref}", "", (f"{paper}.{ref}", *(also or {}).get(ref, ()))
        )
        for ref, (make, letters, functional) in bounds.items()
    )


class OfBound(Computed):
    """Derivation of a bound that is a claim's theorem. Its left side is read off the bound where it is an
    expression."""

    def __init__(self, name: str, **given: Any) -> None:
        super().__init__(name, **given)
        del self.__dict__["left_side"]

    @cached_property
    def left_side(self) -> Any:
        """Expression that is bounded, over bare symbols; ``None`` if it is a functional."""
        return self.origin.left if isinstance(self.origin, MadeBound) else None


def _difference(large: str, small: str = "") -> sympy.Expr:
    return sympy.Symbol(large) - (sympy.Symbol(small) if small else 0)


def _quantity(assumption: str) -> str:
    """Return the quantity whose bound an assumption is, or ""."""
    kind = ASSUMPTIONS.get(assumption)
    return kind.quantity if kind is not None else ""
