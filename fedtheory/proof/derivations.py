"""Derivations: steps, and the bound on a functional that they show, before any claim is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol, Self

import sympy

from .. import functionals
from ..claims.readings import check_options
from ..claims.statement import Claim
from ..functionals import Functional
from .algorithm_match import Rounds
from .claim_theorems import KernelClaim
from .domain import bare
from .identity import is_identity
from .steps import Step


class Origin(Protocol):
    """Theorem from which a derivation is computed."""

    @property
    def content(self) -> Mapping[str, Any]:
        """Fields of the derivation that are computed from the theorem."""
        ...

    def derivation(self, name: str, step: str, proves: tuple[str, ...]) -> Derivation:
        """Return the derivation that the step shows, for claims with these refs."""
        ...

    def makes(self, steps: Iterable[Step]) -> bool:
        """Whether the steps are this theorem, and nothing else."""
        ...

    def axioms(self) -> tuple[str, ...]:
        """Return the names of the kernel's axioms that the theorem is made of."""
        ...

    def assumed(self) -> tuple[str, ...]:
        """Return the assumptions that the axioms name, each with its constant if it has one."""
        ...

    def of_claim(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> KernelClaim | None:
        """Return the check that a claim is a theorem of the kernel, or ``None`` if it is not found to be."""
        ...

    def apart_from(self, claim: Claim, algorithm: str, rounds: Callable[[Claim, str], Rounds]) -> Iterator[str]:
        """List in words the ways in which the theorem is not about the runs, rounds or functions of a claim."""
        ...


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
        choices: the quantities that it chooses, with their expressions; the claim has to choose the same.
        lacks: the rule without which the kernel does not make the conclusion of the steps, where they decide a claim.
        origin: the theorem of the kernel from which all of this is computed, if there is one: see ``verdict_word``.
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
    choices: Mapping[str, sympy.Expr] = field(default_factory=dict, hash=False)
    lacks: str = ""
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in self.readings:
            check_options(name, self.options(name))

    def of(self, algorithm: str) -> Self:
        """Return a copy about this algorithm's runs, unless it names another algorithm; nothing is computed for it."""
        made = copy(self)
        made.__dict__["algorithm"] = self.algorithm or algorithm
        return made

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
        if self.left_side is None and (self.origin is not None or self.right_side is not None):
            return functional in functionals.named(functional.name)
        own = expression_of(functional)
        return own is not None and (self.left_side is None or own == self.left_side or is_identity(own, self.left_side))


def expression_of(functional: Functional) -> sympy.Expr | None:
    """Return a functional's expression over bare symbols, if it is one of values alone, else ``None``. An expression
    says nothing of runs, rounds or points."""
    of_values = functional.scope == "values" and functional.compute is None and functional.expression is not None
    return bare(functional.expression) if of_values else None
