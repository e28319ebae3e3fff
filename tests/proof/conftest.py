"""Changed claims, for the tests that a proof is lost with what it proves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest
import sympy
from sympy import Le, Rational

from fedtheory.claims.statement import Claim


def lowered(expression: sympy.Expr, share: Rational) -> sympy.Expr:
    """A term times ``share``, or times 2 - ``share`` where it is negative for small quantities (counts aside)."""
    names = sorted(expression.free_symbols, key=str)
    small = expression.subs({s: 3 + i if s.is_integer else Rational(100 + i, 10_000) for i, s in enumerate(names)})
    return expression * (2 - share if small < 0 else share)


def changed(this: Claim) -> Iterator[tuple[str, Claim]]:
    for term in this.terms:
        others = tuple(t for t in this.terms if t is not term)
        for name, share in (("half", Rational(1, 2)), ("99%", Rational(99, 100))):
            yield f"{name} of {term.name}", this.edited("main", "", terms={term.name: lowered(term.expression, share)})
        if others:
            yield f"without {term.name}", replace(this, terms=others)
    for hypothesis in this.hypotheses:
        name, relation = hypothesis.name, hypothesis.relation
        yield f"no {name}", replace(this, hypotheses=tuple(h for h in this.hypotheses if h is not hypothesis))
        if relation.has(sympy.Min):
            swapped = relation.replace(sympy.Min, lambda *caps: sympy.Max(*caps, evaluate=False))
            yield f"max for min in {name}", this.edited("main", "", hypotheses={name: swapped})
        if name.endswith("_cap"):
            for word, factor in (("1% looser", Rational(101, 100)), ("twice", 2)):
                looser = Le(relation.lhs, factor * relation.rhs)
                yield f"{word} {name}", this.edited("main", "", hypotheses={name: looser})
    for assumption in (a for a in this.assumptions if a.quantity):  # of the others: tests/evidence/test_needs.py
        yield (
            f"not assuming {assumption.name}",
            replace(this, assumptions=tuple(a for a in this.assumptions if a is not assumption)),
        )


LESS = {"half of ": "99% of ", "twice ": "1% looser "}
"""What a change begins with, and another one that says less."""


def kept(changes: Iterable[tuple[str, Claim]], proved: Callable[[Claim], bool]) -> set[str]:
    """Which changes keep a proof. Where one keeps none, what says more of its kind keeps none, and is not tried."""
    made, found = dict(changes), set[str]()
    for name in sorted(made, key=lambda name: name.startswith((*LESS,))):
        less = next((small + name.removeprefix(large) for large, small in LESS.items() if name.startswith(large)), name)
        if (less not in made or less == name or less in found) and proved(made[name]):
            found.add(name)
    return found


@pytest.fixture
def mutants() -> Callable[[Claim], Iterator[tuple[str, Claim]]]:
    """(what is changed, the changed claim): every term, hypothesis and assumption of a claim, one at a time."""
    return changed


@pytest.fixture
def keeping() -> Callable[[Iterable[tuple[str, Claim]], Callable[[Claim], bool]], set[str]]:
    """Which of some changes keep a proof."""
    return kept
