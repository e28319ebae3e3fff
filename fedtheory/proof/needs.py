"""Check whether a claim gives what a derivation needs: from its domain, or from one of its hypotheses almost word for
word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import sympy

from ..quantities import QUANTITIES
from .domain import Domain, Follows, rational
from .identity import is_identity
from .positivity import Certificate
from .steps import Evidence, Finding

_SHARE = sympy.Symbol("client_round_probability")
"""Quantity whose conditions are printed as quotients, q <= N/D."""


@dataclass(frozen=True)
class Needed:
    """Check that an expression is >= 0 on a domain, either directly or by one hypothesis. By a hypothesis it holds if
    the expression is at least factor * slack with factor > 0. Evidence of this kind begins with the name of the
    way.

    >>> x, y = sympy.symbols("objective_decrease smoothness")
    >>> Needed(2 * x + y, Domain((("progress", 2 * x),))).certified().evidence[0]
    'progress'
    """

    expression: sympy.Expr
    domain: Domain

    def ways(self) -> Iterator[tuple[str, tuple[sympy.Expr, ...]]]:
        """Yield (name, expressions that have to be >= 0 on the domain); any one of the ways suffices."""
        yield "", (self.expression,)
        for name, known, conditions in _hypotheses(self.domain):
            for i, factor in enumerate(_factors(self.expression, known)):
                rest = _rest(self.expression, factor * known)
                yield f"{name}{' scaled' * i}", (*conditions, rest)

    def certified(self) -> Finding:
        """Return a certificate on one of the ways, or ``unknown``."""
        return _certified(self)

    def decide(self) -> Finding:
        """Return a certificate on one of the ways, or else the decision of the direct check."""
        finding = self.certified()
        if finding.outcome == "proved" or has_unknown_sign(self.expression):
            return finding
        return self._direct.decide()

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether this is a counterexample in the domain."""
        return self._direct.refuted(evidence)

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether these certificates prove it; nothing is searched."""
        name = evidence[0] if evidence and isinstance(evidence[0], str) else ""
        certificates = evidence[1:] if name else evidence
        if not all(isinstance(c, Certificate) for c in certificates):
            return False
        return any(
            len(parts) == len(certificates)
            and all(Follows(p, self.domain).accepts((c,)) for p, c in zip(parts, certificates, strict=True))
            for way, parts in self.ways()
            if way == name and not any(map(has_unknown_sign, parts))
        )

    @property
    def _direct(self) -> Follows:
        return Follows(self.expression, self.domain)


@lru_cache(maxsize=2000)
def _certified(check: Needed) -> Finding:
    for name, parts in check.ways():
        if any(map(has_unknown_sign, parts)):
            continue
        found = [Follows(part, check.domain).directly() for part in parts]
        if all(f.outcome == "proved" for f in found):
            return Finding("proved", (*([name] if name else []), *(e for f in found for e in f.evidence)))
    return Finding("unknown")


def has_unknown_sign(expression: sympy.Expr) -> bool:
    """Whether a quantity in it may be negative."""
    return any(s.name in QUANTITIES and QUANTITIES[s.name].lower < 0 for s in expression.free_symbols)


Known = tuple[str, sympy.Expr, tuple[sympy.Expr, ...]]
"""A name, what is known to be >= 0, what has to be >= 0 for that."""


def _hypotheses(domain: Domain) -> Iterator[Known]:
    for name, slack in domain.slacks:
        yield from _known(name, slack)


@lru_cache(maxsize=2000)
def _known(name: str, slack: sympy.Expr) -> tuple[Known, ...]:
    return tuple(_of_hypothesis(name, slack))


def _of_hypothesis(name: str, slack: sympy.Expr) -> Iterator[Known]:
    """Return the expressions that a hypothesis makes >= 0. A bound q <= N/D with N >= 0 is also multiplied out. If D >
    0 it says q D <= N; if D < 0 that is so as q >= 0; and if D = 0 it does not hold."""
    if not rational(slack):
        return
    yield name, slack, ()
    bound = sympy.cancel(sympy.together(slack + _SHARE))
    top, bottom = sympy.fraction(bound)
    if slack.has(_SHARE) and not bound.has(_SHARE) and not bottom.is_number:
        assert is_identity(slack, top / bottom - _SHARE)
        for sign, word in ((1, "multiplied out"), (-1, "multiplied out by minus one")):
            yield f"{name} {word}", sign * (top - _SHARE * bottom), (sign * top,)


@lru_cache(maxsize=2000)
def _rest(need: sympy.Expr, known: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(need - known)


@lru_cache(maxsize=2000)
def _factors(need: sympy.Expr, known: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """1, and the quotient of the two at q = 0 where that is a product of positive quantities."""
    first, second = (sympy.cancel(e.subs(_SHARE, 0)) for e in (need, known))
    quotient = sympy.cancel(first / second) if first.is_finite is not False and second != 0 else sympy.Integer(0)
    return (sympy.Integer(1), quotient) if is_positive_product(quotient) else (sympy.Integer(1),)


def is_positive_product(factor: sympy.Expr) -> bool:
    """Whether it is a quotient of products of positive numbers and quantities."""
    parts = sympy.fraction(factor)
    known = [QUANTITIES.get(s.name) for s in factor.free_symbols]
    return all(not part.is_Add and part.as_coeff_Mul()[0] > 0 for part in parts) and all(
        k is not None and (k.positive or k.lower > 0) for k in known
    )
