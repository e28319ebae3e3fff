"""Asymptotics of a bound as the rounds grow: the leading order of every term, the floor, and what an O(.) leaves
out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy

from ..quantities import symbol
from .growth import Growth, caps_of, growth
from .rates import unmatched

if TYPE_CHECKING:
    from .statement import Claim


@dataclass(frozen=True)
class Asymptotics:
    """Asymptotics of a claim's right side as rounds -> infinity, with all other values fixed.

    The fixed values are such that no coefficient vanishes.

    Attributes:
        claim: its ref.
        terms: by name, their leading order with the claim's own choices put in.
        rates: by name, the leading order of the printed O(.)'s.
        unmatched: what the printed rates do not cover, one sentence a term: see ``rates.unmatched``.
    """

    claim: str
    terms: Mapping[str, Growth]
    rates: Mapping[str, Growth]
    unmatched: tuple[str, ...] = ()

    @property
    def fading(self) -> tuple[str, ...]:
        """The terms that go to 0."""
        return tuple(name for name, growth in self.terms.items() if growth.order < (0, 0))

    @property
    def floor(self) -> sympy.Expr:
        """The limit of the right side: the sum of what stays (oo if a term grows)."""
        if any(growth.order > (0, 0) for growth in self.terms.values()):
            return sympy.oo
        return sympy.Add(*(growth.coefficient for growth in self.terms.values() if growth.order == (0, 0)))

    @property
    def derived_rates(self) -> dict[str, sympy.Expr]:
        """The rate that follows for each term, to be compared with the printed one in every quantity."""
        return {name: growth.rate for name, growth in self.terms.items()}

    def covered(self, name: str, logarithms: bool = False) -> bool:
        """Whether the term is O(sum of the printed rates) as rounds -> infinity.

        With ``logarithms`` it is so up to powers of log(rounds), as a soft O claims.
        """
        orders = [(rate.power, sympy.oo if logarithms else rate.logs) for rate in self.rates.values()]
        return any(self.terms[name].order <= order for order in orders)

    def excess(self, name: str) -> sympy.Expr:
        """Divide the derived rate by the printed rate of the same name: what the O(.) leaves out besides constants.

        Raises:
            ValueError: no rate of that name is printed.
        """
        if name not in self.rates:
            raise ValueError(f"name = {name!r}: allowed is a printed rate's, one of {sorted(self.rates)}")
        if not self.rates[name].power.is_finite:
            return sympy.Integer(1) if self.terms[name].order <= self.rates[name].order else sympy.oo
        return sympy.factor(self.terms[name].rate / self.rates[name].rate)

    def __str__(self) -> str:
        lines = [f"{self.claim} as rounds -> oo"]
        lines += [f"  {name} ~ {growth}" for name, growth in self.terms.items()]
        lines += [f"  printed {name}: O({growth})" for name, growth in self.rates.items()]
        return "\n".join([*lines, *(f"  {sentence}" for sentence in self.unmatched), f"  floor {self.floor}"])


def asymptotics(claim: Claim, others: Iterable[Claim] = ()) -> Asymptotics:
    """Compute the leading order of every term as rounds -> infinity, after the claim's own choices; exact.

    ``others`` are the statements that it may specialise.

    Raises:
        ValueError: a leading order cancels, or is no power product of the rounds and their logarithm.

    >>> from fedtheory.papers import claim
    >>> print(asymptotics(claim("fast.cor1@corrected")).floor)
    4*dissimilarity**2*(1 - snapshot_probability)**2
    >>> print(asymptotics(claim("fast.thm2@appendix")).terms["initial"])
    exponentially small
    """
    choices = {symbol(name): choice for name, choice in claim.choices.items()}
    caps = caps_of(claim)
    terms = {term.name: growth(term.expression.xreplace(choices), caps) for term in claim.terms}
    rates = {rate.name: growth(rate.expression) for rate in claim.rates}
    return Asymptotics(claim.ref, terms, rates, unmatched(claim, others))
