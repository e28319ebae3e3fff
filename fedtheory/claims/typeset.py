"""Claims as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import sympy
from sympy.printing.latex import LatexPrinter

from ..quantities import QUANTITIES

if TYPE_CHECKING:
    from ..functionals import Functional
    from .statement import Claim


class _Printer(LatexPrinter):
    """Sums begin with a summand that has no minus, where there is one: 1 - mu eta instead of -mu eta + 1."""

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[sympy.Expr]:
        terms = super()._as_ordered_terms(expr, order=order)
        first = next((term for term in terms if not term.could_extract_minus_sign()), terms[0])
        return [first, *(term for term in terms if term is not first)]


def expression_latex(expression: sympy.Basic, letters: Mapping[str, str]) -> str:
    """Write an expression in a paper's letters; a quantity without one is written by its name in the vocabulary.

    >>> step, curvature = (sympy.Symbol(QUANTITIES[name].name) for name in ("local_lr", "strong_convexity"))
    >>> expression_latex(1 - step * curvature, {"local_lr": r"\\eta", "strong_convexity": r"\\mu"})
    '1 - \\\\eta \\\\mu'
    """
    names = {}
    for known in expression.atoms(sympy.Symbol):
        if known.name in QUANTITIES:
            spelled = rf"\mathtt{{{known.name.replace('_', chr(92) + '_')}}}"
            names[known] = letters.get(known.name, spelled)
    return _Printer({"symbol_names": names}).doprint(expression)


def claim_latex(claim: Claim, vocabulary: bool = False) -> str:
    """Write functional <= term + term - ..., in the printed order."""
    letters = {} if vocabulary else claim.letters
    left = left_latex(claim.functional, rounds_letter(letters))
    first, *others = (expression_latex(term.expression, letters) for term in claim.terms)
    signed = (f" {term}" if term.startswith("-") else f" + {term}" for term in others)
    return rf"{left} \le {first}{''.join(signed)}"


def rounds_letter(letters: Mapping[str, str]) -> str:
    """Return a paper's letter for the number of rounds: R where it has none."""
    return letters.get("rounds", "R")


def left_latex(functional: Functional, rounds: str) -> str:
    """Write a functional's formula with this letter for the number of rounds; a calligraphic R is a risk.

    >>> from fedtheory.functionals import FINAL_GAP, CHECKED_EMPIRICAL_GAP
    >>> left_latex(FINAL_GAP, "T")
    '\\\\mathbb{E}[F(\\\\mathbf{x}_T)]-F^*'
    >>> left_latex(FINAL_GAP, r"\\hat R")
    '\\\\mathbb{E}[F(\\\\mathbf{x}_\\\\hat R)]-F^*'
    >>> left_latex(CHECKED_EMPIRICAL_GAP, "T") == CHECKED_EMPIRICAL_GAP.latex
    True
    """
    return re.sub(r"(?<![A-Za-z])(?<!mathcal\{)(?<!mathbb\{)R(?![A-Za-z])", lambda _: rounds, functional.latex)


def mathtext(latex: str) -> str:
    """Rewrite LaTeX for matplotlib's own reader.

    It wants braces around a fraction's parts, no sizes of delimiters, and another name for "at most".

    >>> mathtext(r"\\Big\\|x\\Big\\| \\le y")
    '\\\\|x\\\\| \\\\leq y'
    """
    braced = re.sub(r"\\frac(\w)(\w)", r"\\frac{\1}{\2}", latex)
    return re.sub(r"\\[Bb]igg?(?![a-z])", "", braced).replace(r"\le ", r"\leq ")
