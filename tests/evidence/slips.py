"""Statements with one number changed, as a misprint or a slip in a proof leaves them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import sympy

from fedtheory.claims.statement import Claim, Term

FACTORS = (sympy.Rational(1, 8), sympy.Rational(1, 2), sympy.Rational(2, 3), sympy.Integer(2))


def slip(statement: Claim, rng: np.random.Generator) -> Claim:
    """Change a term of the right side: its constant, the exponent of one of its quantities, or its sign."""
    place = int(rng.integers(len(statement.terms)))
    term = statement.terms[place]
    kind, used = rng.random(), sorted(term.expression.free_symbols, key=str)
    if kind < 0.5 or not used:
        expression = term.expression * FACTORS[int(rng.integers(len(FACTORS)))]
    elif kind < 0.85:
        expression = term.expression * used[int(rng.integers(len(used)))] ** int(rng.choice([-1, 1]))
    else:
        expression = -term.expression
    changed = Term(term.name, expression)
    return replace(statement, edition="slip", terms=(*statement.terms[:place], changed, *statement.terms[place + 1 :]))


def slips(statements: Sequence[Claim], count: int, seed: int = 0) -> Iterator[Claim]:
    """Make so many slips, of one statement after another."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        yield slip(statements[i % len(statements)], rng)
