"""Claims as LaTeX."""

from __future__ import annotations

import re
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
    """functional <= term + term - ..., in the printed order."""
    first, *others = (expression_latex(term.expression, claim.paper, vocabulary) for term in claim.terms)
    signed = (f" {term}" if term.startswith("-") else f" + {term}" for term in others)
    return rf"{claim.functional.latex} \le {first}{''.join(signed)}"


def mathtext(latex: str) -> str:
    """LaTeX as matplotlib's own reader knows it: braces around a fraction's parts, no sizes of delimiters,
    another name for "at most".

    >>> mathtext(r"\\Big\\|x\\Big\\| \\le y")
    '\\\\|x\\\\| \\\\leq y'
    """
    braced = re.sub(r"\\frac(\w)(\w)", r"\\frac{\1}{\2}", latex)
    return re.sub(r"\\[Bb]igg?(?![a-z])", "", braced).replace(r"\le ", r"\leq ")
