"""Claims as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import sympy

from ..quantities import QUANTITIES

if TYPE_CHECKING:
    from .statement import Claim


def expression_latex(expression: sympy.Basic, letters: Mapping[str, str]) -> str:
    """An expression in a paper's letters; a quantity for which it has none by its name in the vocabulary."""
    names = {}
    for known in expression.atoms(sympy.Symbol):
        if known.name in QUANTITIES:
            spelled = rf"\mathtt{{{known.name.replace('_', chr(92) + '_')}}}"
            names[known] = letters.get(known.name, spelled)
    return sympy.latex(expression, symbol_names=names)


def claim_latex(claim: Claim, vocabulary: bool = False) -> str:
    """functional <= term + term - ..., in the printed order."""
    letters = {} if vocabulary else claim.letters
    first, *others = (expression_latex(term.expression, letters) for term in claim.terms)
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
