"""Differences between two claims."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from .statement import Assumption, Claim, slack_of


@dataclass(frozen=True)
class Difference:
    """One difference between two claims.

    Attributes:
        kind: ``functional``, ``term``, ``hypothesis``, ``assumption``, ``choice`` or ``rate``.
        name: of the term, hypothesis, assumption, chosen quantity or rate; of another reading of a hypothesis ``name
            (option)``.
        before, after: the part in the one and in the other claim; ``absent`` where there is none.
    """

    kind: str
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.before} -> {self.after}"


def compare(one: Claim, other: Claim, /) -> list[Difference]:
    """List the mathematical differences between two claims, by name; empty if there are none.

    Compared are the functional, terms, hypotheses (with their other readings), assumptions, choices and printed rates.
    Two expressions are the same if their difference simplifies to 0, two hypotheses if their slacks are. Order and
    sources do not count.

    >>> from fedtheory.papers import editions
    >>> for difference in compare(*editions("fast.thm2")[:2]):
    ...     print(difference.kind, difference.name)
    term arbitrary_rounds
    hypothesis q_condition
    >>> compare(*editions("fast.thm1")[:2])
    []
    """
    differences = []
    if one.functional != other.functional:
        differences.append(Difference("functional", "functional", one.functional.name, other.functional.name))
    for kind, parts in _PARTS.items():
        before, after = parts(one), parts(other)
        for name in before | after:
            a, b = before.get(name), after.get(name)
            if a is None or b is None or not _same(a, b):
                texts = ("absent" if part is None else str(part) for part in (a, b))
                differences.append(Difference(kind, name, *texts))
    return differences


def _terms(claim: Claim) -> dict[str, sympy.Basic]:
    return {term.name: term.expression for term in claim.terms}


def _relations(claim: Claim) -> dict[str, sympy.Basic]:
    relations = {}
    for hypothesis in claim.hypotheses:
        relations[hypothesis.name] = hypothesis.relation
        relations |= {f"{hypothesis.name} ({option})": r for option, r in hypothesis.alternatives.items()}
    return relations


def _assumptions(claim: Claim) -> dict[str, str]:
    def text(assumption: Assumption) -> str:
        if not assumption.quantity:
            return assumption.meaning
        return f"{assumption.quantity} bounds from {'below' if assumption.from_below else 'above'}"

    return {assumption.name: text(assumption) for assumption in claim.assumptions}


_PARTS = {
    "term": _terms, "hypothesis": _relations, "assumption": _assumptions, "choice": lambda claim: dict(claim.choices),
    "rate": lambda claim: {rate.name: rate.expression for rate in claim.rates},
}  # fmt: skip


def part_of(claim: Claim, difference: Difference) -> Any:
    """Return the part of a claim that a difference is about: an expression, a relation, or words; ``None`` if it is
    absent."""
    if difference.kind == "functional":
        return claim.functional.meaning
    return _PARTS[difference.kind](claim).get(difference.name)


def _same(a: Any, b: Any) -> bool:
    if a == b or isinstance(a, str):
        return a == b
    if isinstance(a, sympy.core.relational.Relational):
        a, b = slack_of(a), slack_of(b)
    return _vanishes(a - b)


_POINTS, _FURTHER_POINTS = 3, 20
"""Number of points that are tried before a numerator is expanded, and before anything is simplified."""


def _vanishes(difference: sympy.Expr) -> bool:
    """Whether an expression is 0. One that is not 0 at a point is not; that costs little where simplifying costs much.
    A rational function is 0 where its numerator over a common denominator is."""
    if not _zero_at(difference, _POINTS, range(2, 10), 100):
        return False
    if difference.is_rational_function(*difference.free_symbols):
        numerator, _ = sympy.fraction(sympy.together(difference))
        return sympy.expand(numerator) == 0
    # Two minima are often the same while all numbers are of one size.
    return _zero_at(difference, _FURTHER_POINTS, (1, 2, 3, 10, 100, 1000), 10_000) and sympy.simplify(difference) == 0


def _zero_at(difference: sympy.Expr, points: int, whole: Sequence[int], below: int) -> bool:
    """Whether an expression is 0, or has no value, at some points: of these whole numbers, and shares of ``below``."""
    symbols = sorted(difference.free_symbols, key=lambda s: s.name)
    draw = random.Random(0)

    def number(of: sympy.Symbol) -> sympy.Rational:
        return sympy.Integer(draw.choice(whole)) if of.is_integer else sympy.Rational(draw.randint(1, below - 1), below)

    for _ in range(points):
        point = {symbol: number(symbol) for symbol in symbols}
        value = difference.xreplace(point)
        if value.is_Rational and value != 0:
            return False
        if not value.is_Rational and value.is_finite and abs(value.evalf(50)) > sympy.Float(10) ** -30:
            return False
    return True


PRINTED = ("main", "appendix", "submission")
"""The editions that a paper prints: its text, its appendix, the version that was submitted. The others are ours."""

NOT_PRINTED = "not printed"
"""Ending of the source of a statement that is ours although its edition is printed, such as a consequence of a printed
one."""


def is_printed(claim: Claim) -> bool:
    """Whether a paper prints a statement, by its edition and its source.

    >>> from fedtheory.papers import editions
    >>> [claim.edition for claim in editions("fast.thm2") if is_printed(claim)]
    ['main', 'appendix']
    """
    return claim.edition in PRINTED and not claim.source.endswith(NOT_PRINTED)
