"""Claims as formulas of a terminal: lines of text, in a paper's letters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import sympy

from ..quantities import QUANTITIES
from .paper_letters import spelled

if TYPE_CHECKING:
    from .statement import Claim


def letters_of(claim: Claim) -> dict[str, str]:
    """Return by quantity of the right side the letter that stands for it: the paper's where that is one letter with an
    index, and of one quantity alone; else its name.

    >>> from fedtheory.papers import claim
    >>> letters_of(claim("fast.thm2@appendix"))["strong_convexity"]
    'mu'
    """
    used = sorted({s.name for term in claim.terms for s in term.expression.free_symbols if s.name in QUANTITIES})
    letters = {name: spelled(claim.letters.get(name, "")) for name in used}
    shared = Counter(letters.values())
    return {name: letter if letter and shared[letter] == 1 else name for name, letter in letters.items()}


def formula(claim: Claim, columns: int = 80, unicode: bool = True) -> str:
    """Return the right side as lines of at most ``columns`` characters, its terms in the printed order.

    >>> from fedtheory.papers import claim
    >>> print(formula(claim("safari.thm5@sharper"), 40, unicode=False).count("mu") > 0)
    True
    """
    letters = letters_of(claim)
    total = sympy.Add(*(_lettered(term.expression, letters) for term in claim.terms), evaluate=False)
    text: str = sympy.pretty(total, use_unicode=unicode, num_columns=columns, order="none", wrap_line=True)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _lettered(expression: sympy.Expr, letters: dict[str, str]) -> sympy.Expr:
    known = {s: sympy.Symbol(letters[s.name], **s.assumptions0) for s in expression.free_symbols if s.name in letters}
    return expression.xreplace(known)
