"""Derivations: steps, and the bound on a functional that they show, before any claim is looked at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from typing import Self

import sympy

from .. import functionals
from ..claims.readings import check_options
from ..claims.statement import Claim
from ..functionals import Functional
from .algorithm_match import Rounds
from .claim_theorems import KernelClaim
from .domain import bare
from .identity import is_identity


class Origin(ABC):
    """Theorem of the kernel that is a claim's theorem, or is none of it. What it says is compared by the claim's goal
    alone: a derivation of it has no step, and nothing that is written by hand."""

    functional: str
    """Name of the functional that is bounded."""

    @abstractmethod
    def axioms(self) -> tuple[str, ...]:
        """Return the names of the kernel's axioms that the theorem is made of."""

    @abstractmethod
    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name, each with its constant if it has one."""

    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """Return the names of these assumptions."""

    @abstractmethod
    def check(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> KernelClaim:
        """Return the check that a claim is the theorem.

        Raises:
            ValueError: a part of the claim cannot be said in the theorem's letters, or nothing says what its rounds
                are.
        """

    def derivation(self, name: str, proves: tuple[str, ...]) -> Derivation:
        """Return the derivation of the theorem, for claims with these refs."""
        return Derivation(name, functional=self.functional, steps=(), proves=proves, origin=self)

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> KernelClaim | None:
        """Return the check that a claim is the theorem, or ``None`` if it is not found to be."""
        try:
            check = _known(type(self).check(self, claim, algorithm, rounds))
        except ValueError:
            return None
        return check if check.certified().outcome == "proved" else None

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words why the theorem is not the claim."""
        try:
            yield from self.check(claim, algorithm, rounds).apart()
        except ValueError as error:
            yield str(error)


@lru_cache(maxsize=1000)
def _known(check: KernelClaim) -> KernelClaim:
    """Return the first check that is equal to this one, which may have been decided."""
    return check


@dataclass(frozen=True)
class Derivation:
    """Steps that show: functional <= right_side, wherever every need is >= 0.

    Attributes:
        name: its name in code and in reports.
        functional: the name of the functional that it bounds.
        steps: names of the last steps; those that they rest on come along.
        right_side: over bare symbols; ``None`` if the functional is an expression of quantities, to be compared itself.
        needs: pairs (name, expression that has to be >= 0).
        assumptions: the quantities whose standing assumptions it uses.
        readings: the option that it needs of an ambiguity, or several that all do.
        proves: refs of the claims that it was written for; it is tried on every claim with the same functional.
        algorithm: the algorithm whose runs and rounds it is about; its paper's, unless it names another.
        left_side: the functional, if it is an expression of quantities and ``right_side`` is given.
        lacks: the rule without which the kernel does not make the conclusion of the steps, where they decide a claim.
        origin: the theorem of the kernel that it is, if it is one: it has no steps then, and says nothing else.
    """

    name: str
    _: KW_ONLY
    functional: str
    steps: tuple[str, ...]
    right_side: sympy.Expr | None = None
    needs: tuple[tuple[str, sympy.Expr], ...] = ()
    assumptions: tuple[str, ...] = ()
    readings: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    proves: tuple[str, ...] = ()
    algorithm: str = ""
    left_side: sympy.Expr | None = None
    lacks: str = ""
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in self.readings:
            check_options(name, self.options(name))

    def of(self, algorithm: str) -> Self:
        """Return a copy about this algorithm's runs, unless it names another algorithm."""
        return replace(self, algorithm=self.algorithm or algorithm)

    def options(self, name: str) -> tuple[str, ...]:
        """Return the options of an ambiguity under which the derivation holds, or none if it says nothing of it."""
        allowed = self.readings.get(name, ())
        return (allowed,) if isinstance(allowed, str) else tuple(allowed)

    def fits(self, claim: Claim, algorithm: str | None) -> bool:
        """Whether the derivation bounds the functional of a claim about this algorithm's runs."""
        of_runs = claim.functional.scope in ("run", "round")
        return self.bounds(claim.functional) and (not of_runs or self.algorithm == algorithm)

    def bounds(self, functional: Functional) -> bool:
        """Whether the derivation is about this functional, and not only about one of the same name. The functional has
        to be one of ``functionals``, or an expression of values. One with a ``compute`` of its own is another left
        side."""
        if functional.name != self.functional or functional.compute is not None:
            return False
        if self.origin is not None:
            return True  # the claim's goal compares the functional
        if self.left_side is None and self.right_side is not None:
            return functional in functionals.named(functional.name)
        own = expression_of(functional)
        return own is not None and (self.left_side is None or own == self.left_side or is_identity(own, self.left_side))


def expression_of(functional: Functional) -> sympy.Expr | None:
    """Return a functional's expression over bare symbols, if it is one of values alone, else ``None``. An expression
    says nothing of runs, rounds or points."""
    of_values = functional.scope == "values" and functional.compute is None and functional.expression is not None
    return bare(functional.expression) if of_values else None
