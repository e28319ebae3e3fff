"""Printed rates against the leading orders of the terms, in every quantity that the rates display.

An O(.) hides constants and the quantities that it does not display. A term is covered where, for many rounds, it is at
most a multiple of the sum of the printed rates, as each displayed quantity goes to an end of its range, the others
being fixed. Powers of log(rounds) are not held against a rate: a soft O hides them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy

from ..quantities import ORDERED_PAIRS, QUANTITIES, symbol
from .growth import Growth, caps_of, growth

if TYPE_CHECKING:
    from .statement import Claim


def unmatched(claim: Claim, others: Iterable[Claim] = ()) -> tuple[str, ...]:
    """Say which terms a claim's printed rates do not cover, one sentence each; () where it prints no rates.

    The terms are its own, and those of the statement that it specialises (``premise``, of ``others``) with the claim's
    choices put in.

    Raises:
        ValueError: as ``asymptotics.asymptotics``.

    >>> from fedtheory.papers import all_claims, claim
    >>> unmatched(claim("fast.cor1"), all_claims())
    ()
    >>> print(unmatched(claim("fast.cor3"), all_claims())[2])    # doctest: +NORMALIZE_WHITESPACE
    for many rounds, heterogeneity of fast.thm2@main with the local_lr chosen here is
    8*dissimilarity**2*log(rounds)/(rounds*strong_convexity**2), where
    O(dissimilarity**2/(rounds*strong_convexity)) is printed: as strong_convexity goes to 0, it exceeds any multiple of
    all printed rates together
    """
    if not claim.rates:
        return ()
    rates = [growth(rate.expression) for rate in claim.rates]
    printed = {rate.name: f"where O({rate.expression}) is printed" for rate in claim.rates}
    found: dict[str, str] = {}
    for source in filter(None, (claim, premise(claim, others))):
        chosen = f" with the {' and '.join(claim.choices)} chosen here" if source is not claim else ""
        for name, order in _derived(claim, source).items():
            way = _escape(order, rates, _displayed(claim))
            if way is not None:
                found.setdefault(
                    name,
                    (
                        f"for many rounds, {name} of {source.ref}{chosen} is {_shortest(order)}, "
                        f"{printed.get(name, 'which no printed rate covers')}: as {way}, it exceeds any multiple of "
                        "all printed rates together"
                    ),
                )
    return tuple(found.values())


def _shortest(order: Growth) -> str:
    factored = replace(order, coefficient=sympy.factor(order.coefficient))
    return min(str(order), str(factored), key=len)


def premise(claim: Claim, others: Iterable[Claim]) -> Claim | None:
    """Return the first statement among ``others`` that the claim specialises.

    It is of the same paper about the same functional, and leaves free what the claim chooses, under no other hypotheses
    and assumptions than the claim's. So its bound holds for every admissible choice.

    >>> from fedtheory.papers import all_claims, claim
    >>> [premise(claim(ref), all_claims()).ref for ref in ("fast.cor3", "fast.cor3@corrected")]
    ['fast.thm2@main', 'fast.thm2@appendix']
    """
    if not claim.choices:
        return None
    for other in others:
        leaves_free = not other.choices and set(claim.choices) <= set(other.quantities)
        alike = other.paper == claim.paper and other.functional == claim.functional
        asks_no_more = set(other.hypotheses) <= set(claim.hypotheses)
        if leaves_free and alike and asks_no_more and set(other.assumptions) <= set(claim.assumptions):
            return other
    return None


def _derived(claim: Claim, source: Claim) -> dict[str, Growth]:
    """The leading orders of the source's terms with the claim's choices, under the equalities that the claim supposes,
    in the letters that the rates display where there is a choice."""
    choices = {symbol(name): choice for name, choice in claim.choices.items()}
    equal = _equalities(claim)
    return {t.name: growth(t.expression.xreplace(choices).xreplace(equal), caps_of(claim)) for t in source.terms}


def _equalities(claim: Claim) -> dict[sympy.Symbol, sympy.Expr]:
    """Read equalities off hypotheses (a - b)^2 <= 0: a quantity, and what stands for it, which the rates display."""
    shown = set().union(*(rate.expression.free_symbols for rate in claim.rates))
    equal: dict[sympy.Symbol, sympy.Expr] = {}
    for relation in (h.relation for h in claim.hypotheses):
        if isinstance(relation, sympy.Le) and relation.rhs == 0 and relation.lhs.is_Pow and relation.lhs.exp == 2:
            unknowns = sorted(relation.lhs.base.free_symbols, key=lambda s: (s in shown, s.name))
            equal[unknowns[0]] = sympy.solve(relation.lhs.base, unknowns[0])[0]
    return equal


def _displayed(claim: Claim) -> list[str]:
    """The quantities in the printed rates besides the rounds, in the vocabulary's order."""
    names = {s.name for rate in claim.rates for s in rate.expression.free_symbols} - {"rounds"}
    return [name for name in QUANTITIES if name in names]


def _escape(order: Growth, rates: list[Growth], displayed: list[str]) -> str | None:
    """The way in which a term outgrows every multiple of the rates' sum; ``None`` if it is covered."""
    slowest = max(rate.power for rate in rates)
    if order.power != slowest:
        return "the rounds grow" if order.power > slowest else None
    if not slowest.is_finite:
        return None
    total = sympy.Add(*(rate.coefficient for rate in rates if rate.power == slowest))
    present = {s.name for s in (order.coefficient / total).free_symbols}
    for name in displayed:
        for way, towards in _ends(name, present):
            if _power_of_ratio(order.coefficient, total, name, towards) > 0:
                return f"{name} {way}"
    return None


def _power_of_ratio(top: sympy.Expr, bottom: sympy.Expr, name: str, towards: sympy.Expr) -> sympy.Expr:
    """The power of the rounds with which top/bottom grows as a quantity goes to an end with them: of the two apart,
    where both have one."""
    try:
        powers = _power(top, name, towards), _power(bottom, name, towards)
    except ValueError:  # leading orders cancel
        return _power(top / bottom, name, towards)
    finite = all(power.is_finite for power in powers)
    return powers[0] - powers[1] if finite else _power(top / bottom, name, towards)


@functools.lru_cache(maxsize=1000)
def _power(expression: sympy.Expr, name: str, towards: sympy.Expr) -> sympy.Expr:
    """The power of the rounds with which an expression grows so; kept, as all terms have the same rates."""
    return growth(sympy.factor(expression.xreplace({symbol(name): towards}))).power


def _ends(name: str, present: set[str]) -> Iterator[tuple[str, sympy.Expr]]:
    """Yield the limits of a quantity with the others that are present fixed, each in words and as a sequence over the
    rounds."""
    known, rounds = QUANTITIES[name], symbol("rounds")
    if known.lower == 0 and not any(name == large and small in present for small, large in ORDERED_PAIRS):
        yield "goes to 0", 1 / rounds
    if known.upper == 1:
        yield "goes to 1", rounds / (1 + rounds)
    elif not any(name == small and large in present for small, large in ORDERED_PAIRS):
        yield "grows", rounds
