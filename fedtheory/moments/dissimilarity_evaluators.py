"""Evaluators of (B, G)-dissimilarity: exact where gradients are piecewise linear, else by what the federation knows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..federations.constants import BOUND, EXACT, Constant
from ..federations.federation import ConvexFederation
from ..federations.piecewise import Piecewise
from ..federations.quadratic import Quadratic
from ..federations.relative_dissimilarity import least_squared_offset, least_whole_factor
from .evaluators import FLOAT, Question, Unserved, evaluates, quantity

FACTOR, OFFSET = "dissimilarity_factor", "dissimilarity_offset"


@evaluates(FACTOR)
def dissimilarity_factor(question: Question) -> Constant:
    """Return B: as stated, else the least whole number for which G is finite, since a setting has many B.

    Raises:
        Unserved: none is known.
    """
    fed = question.setting.federation
    if isinstance(fed, Quadratic | Piecewise):
        factor = least_whole_factor(fed)
        if factor is None:
            raise Unserved(
                "no whole number makes the offset finite; F has directions in which its gradient is constant"
            )
        return Constant(question.number(factor), EXACT, "least whole B >= 1 for which G is finite")
    _dissimilarity(question, FACTOR)
    return Constant(question.number(1), BOUND, "1, as the dissimilarity is bounded")


@evaluates(OFFSET)
def dissimilarity_offset(question: Question) -> Constant:
    """Return the least G for the B that is stated, or else is ``dissimilarity_factor``.

    Raises:
        Unserved: it is infinite, or not known.
    """
    fed = question.setting.federation
    if not isinstance(fed, Quadratic | Piecewise):
        # sum p_i |grad F_i|^2 = |grad F|^2 + sum p_i |grad F_i - grad F|^2
        spread = np.shape(quantity(FACTOR, question).value)
        value: Any = np.full(spread, _dissimilarity(question, OFFSET))[()]
        return Constant(value, BOUND, "the dissimilarity, which bounds it for every B >= 1")
    stated = question.stated.get(FACTOR)
    factors: Any = stated.value if isinstance(stated, Constant) else stated
    if factors is None:
        quantity(FACTOR, question)  # says why there is none
        factors = least_whole_factor(fed)
    if not np.ndim(factors):
        return Constant(_offset(fed, factors, question), EXACT, "supremum over x, for this B")
    each: Any = np.array([_offset(fed, factor, question) for factor in np.ravel(factors).tolist()])
    return Constant(each.reshape(np.shape(factors)), EXACT, "supremum over x, for each B")


def _offset(fed: Quadratic | Piecewise, factor: Any, question: Question) -> Any:
    exact = Fraction(factor)
    square = least_squared_offset(fed, exact**2)
    if square is None:
        raise Unserved(f"infinite for {FACTOR} = {float(exact):g}; state a larger one")
    return float(square) ** 0.5 if question.numbers == FLOAT else question.root(square)


def _dissimilarity(question: Question, name: str) -> float:
    """Bound |grad F_i - grad F| everywhere."""
    fed = question.setting.federation
    if not isinstance(fed, ConvexFederation):
        raise Unserved(f"{type(fed).__name__} bounds no gradients over all x; state it")
    if question.numbers != FLOAT:
        raise Unserved(f"{type(fed).__name__} knows it in floats only; ask for floats, or state it")
    known = fed.constants().get("dissimilarity")
    if known is None or not np.isfinite(known.value):
        raise Unserved(f"{type(fed).__name__} does not bound its dissimilarity; state {name}")
    return float(known.value)
