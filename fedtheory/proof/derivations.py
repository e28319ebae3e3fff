"""Derivations: theorems of the kernel, before any claim is looked at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Self

from ..claims.statement import Claim
from ..functionals import Functional
from .algorithm_match import Rounds
from .claim_theorems import KernelClaim


class Origin(ABC):
    """Theorem of the kernel that is a claim's theorem, or is none of it. What it says is compared by the claim's goal
    alone; nothing of it is written by hand."""

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
        return Derivation(name, self.functional, proves, self)

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> KernelClaim | None:
        """Return the check that a claim is the theorem, or ``None`` if it is not found to be."""
        try:
            asked = type(self).check(self, claim, algorithm, rounds)
        except ValueError:
            return None
        check = _known(asked)
        return check if check.certified().outcome == "proved" and check.says(asked) else None

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words why the theorem is not the claim."""
        try:
            yield from _known(type(self).check(self, claim, algorithm, rounds)).apart()
        except ValueError as error:
            yield str(error)


@dataclass(frozen=True)
class Made(Origin):
    """Bound or theorem of the kernel that is made when it is asked for.

    Attributes:
        make: makes it, once.
        letters: the quantities of letters.
        functional: name of the claim's functional.
        more: options of ambiguities that concern the claim's hypotheses alone.
    """

    make: Callable[[], Any]
    letters: Mapping[str, str]
    functional: str
    more: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", cache(self.make))


@lru_cache(maxsize=1000)
def _known(check: KernelClaim) -> KernelClaim:
    """Return the first check that is equal to this one, which may have been decided, and changed since then."""
    return check


@dataclass(frozen=True)
class Derivation:
    """Theorem of the kernel by its name.

    Attributes:
        name: its name in code and in reports.
        functional: the name of the functional that it bounds.
        proves: refs of the claims that it was written for; it is tried on every claim with the same functional.
        origin: the theorem of the kernel.
        algorithm: the algorithm whose runs and rounds it is about; its paper's, unless it names another.
    """

    name: str
    functional: str
    proves: tuple[str, ...]
    origin: Origin
    algorithm: str = ""

    def of(self, algorithm: str) -> Self:
        """Return a copy about this algorithm's runs, unless it names another algorithm."""
        return replace(self, algorithm=self.algorithm or algorithm)

    def fits(self, claim: Claim, algorithm: str | None) -> bool:
        """Whether the derivation bounds the functional of a claim about this algorithm's runs."""
        of_runs = claim.functional.scope in ("run", "round")
        return self.bounds(claim.functional) and (not of_runs or self.algorithm == algorithm)

    def bounds(self, functional: Functional) -> bool:
        """Whether the derivation is about a functional of this name, which has no ``compute`` of its own: that is
        another left side. What it says else is compared by the claim's goal."""
        return functional.name == self.functional and functional.compute is None
