"""Claims as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy

from ..quantities import QUANTITIES, symbol

if TYPE_CHECKING:
    from .statement import Claim


def expression_latex(expression: sympy.Basic, paper: str, vocabulary: bool = False) -> str:
    """An expression in the letters of ``paper`` (the vocabulary's names where the paper has no letter)."""
    names = {}
    for name, quantity in QUANTITIES.items():
        spelled = rf"\mathtt{{{name.replace('_', chr(92) + '_')}}}"
        names[symbol(name)] = spelled if vocabulary else quantity.letters.get(paper, spelled)
    return sympy.latex(expression, symbol_names=names)


def claim_latex(claim: Claim, vocabulary: bool = False) -> str:
    """functional <= term + term + ..., in the printed order."""
    terms = " + ".join(expression_latex(term.expression, claim.paper, vocabulary) for term in claim.terms)
    return rf"{claim.functional.latex} \le {terms}"
