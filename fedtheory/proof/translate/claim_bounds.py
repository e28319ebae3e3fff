"""Derivations that are a claim's theorem itself: a proof makes a bound of the kernel, and the claim has to be it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sympy

from ...claims.statement import Claim
from ..algorithm_match import Rounds
from ..claim_goals import asked_of, theorem_of
from ..claim_theorems import ClaimTheorem
from ..derivations import Derivation, Made
from ..kernel.run_bounds import RunBound, untouched
from ..kernel.scalars import Scalar
from ..kernel.sealed import ancestry


@dataclass(frozen=True)
class MadeBound(Made):
    """Bound of the kernel that is a claim's theorem, or is none of it.

    Attributes:
        make: makes the bound.
        letters: the quantity of each letter, or "a - b" of one that is by how much a exceeds b.
        functional: name of the claim's functional.
        more: options of ambiguities that concern the claim's hypotheses alone.
        of_rounds: whether it is about rounds that the engine runs, which have to be the claim's algorithm's.
    """

    make: Callable[[], RunBound]
    of_rounds: bool = False

    @property
    def bound(self) -> RunBound:
        """The bound as the kernel made it."""
        return untouched(self.make())

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
        return tuple(name if c is None else f"{name}({self._read(c)})" for name, c in asked_of(self.bound))

    def _read(self, scalar: Scalar) -> sympy.Expr:
        """Return a scalar in the vocabulary's names."""
        of = {name: _difference(*q.split(" - ")) for name, q in self.letters.items()}
        return scalar.expression().xreplace({sympy.Symbol(name): e for name, e in of.items()})

    def assumptions(self) -> tuple[str, ...]:
        """Return the names of the bound's assumptions."""
        return tuple(name for name, _ in asked_of(self.bound))

    def check(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> ClaimTheorem:
        """Return the check that a claim is the bound.

        Raises:
            ValueError: nothing says what the claim's rounds are.
        """
        own = rounds(claim, algorithm) if self.of_rounds else None
        fixed = {n: o for n, o in self.more.items() if n in {a.name for a in claim.ambiguities}}
        return ClaimTheorem(claim, self.make, tuple(self.letters.items()), own, algorithm, tuple(fixed.items()))


Bounds = Mapping[str, tuple[Callable[[], RunBound], Mapping[str, str], str]]
"""Makers of bounds, by what they are of, each with the quantities of its letters and its functional's name."""


def made_bounds(
    paper: str,
    bounds: Bounds,
    more: Mapping[str, Mapping[str, str]] | None = None,
    of_rounds: bool = False,
    also: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Derivation, ...]:
    """Return the derivations of a paper's claims, with the options of its hypotheses that each is compared under, and
    the refs of other claims to which it is the nearest."""
    return tuple(
        MadeBound(make, letters, functional, (more or {}).get(ref, {}), of_rounds).derivation(
            f"composed, {paper}.{ref}", (f"{paper}.{ref}", *(also or {}).get(ref, ()))
        )
        for ref, (make, letters, functional) in bounds.items()
    )


def _difference(large: str, small: str = "") -> sympy.Expr:
    return sympy.Symbol(large) - (sympy.Symbol(small) if small else 0)
