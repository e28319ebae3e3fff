"""Quantities and functionals of one's own, defined in a user's file and computed by it.

A file that states a theorem may need what the vocabulary does not have. ``define`` gives a symbol for a quantity, which
then stands in a claim like any other; a ``Functional`` needs no more than its ``compute``. Both compute from a
``moments.evaluators.Question``. It has the ``setting``, the ``rounds`` after which the value is asked for, and
``numbers``: "float", "exact" or "ball". Answers are checked: a value of that kind, or one for each of the rounds.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .quantities import QUANTITIES, Quantity, symbol

if TYPE_CHECKING:
    import sympy


class ComputeError(ValueError):
    """Error of a user's ``compute`` that does not return what it has to; it says where."""


def define(quantity: Quantity) -> sympy.Symbol:
    """Make a quantity known, here and now, and return its symbol.

    Raises:
        ValueError: the vocabulary, or another file, has one of this name with another meaning.

    >>> from fedtheory.quantities import LENGTH
    >>> define(Quantity("reach_of_start", "|x_0|", LENGTH, compute=lambda asked: abs(asked.setting.exact_start[0])))
    reach_of_start
    """
    if not quantity.name.isidentifier():
        raise ValueError(f"name = {quantity.name!r}: allowed is a name such as 'reach_of_start'")
    known = QUANTITIES.get(quantity.name)
    same = known == quantity or (
        known is not None and known.compute is not None and replace(known, compute=quantity.compute) == quantity
    )
    if known is not None and not same:
        raise ValueError(f"{quantity.name} is a quantity already: {known.meaning}; allowed is another name")
    cast(dict[str, Quantity], QUANTITIES)[quantity.name] = quantity
    return symbol(quantity.name)


def computed(what: str, compute: Callable[[Any], Any], question: Any) -> Any:
    """Return the answer of a user's ``compute`` to a question, in the question's kind of number. Exact questions have
    Fractions as answers, or balls if balls are asked for.

    Raises:
        ComputeError: it fails, or its answer is no number (or one for each of the rounds).
    """
    try:
        answer = compute(question)
    except ComputeError:
        raise
    except Exception as error:
        raise ComputeError(f"{place(compute, error)}: {what}: compute fails: {type(error).__name__}: {error}") from None
    shape = np.shape(question.rounds) if question.rounds is not None else ()
    found = np.shape(answer)
    if found not in ((), shape):
        allowed = "one number" + (f", or {shape[0]}, one for each of the rounds" if shape else "")
        raise ComputeError(f"{place(compute)}: {what}: compute returns an array of shape {found}: allowed is {allowed}")
    if found:
        return np.array(
            [_number(what, compute, each, question) for each in answer],
            dtype=float if question.numbers == "float" else object,
        )
    return _number(what, compute, answer[()] if isinstance(answer, np.ndarray) else answer, question)


def _number(what: str, compute: Callable, value: Any, question: Any) -> Any:
    exact = isinstance(value, Fraction) or (isinstance(value, int | np.integer) and not isinstance(value, bool))
    if question.numbers == "float" and (exact or isinstance(value, float | np.floating)):
        return float(value)
    if exact:
        return question.number(Fraction(value if isinstance(value, Fraction) else int(value)))
    if question.numbers == "ball" and type(value).__name__ in ("arb", "Ball"):
        return value
    kinds = {
        "float": "a number",
        "exact": "a Fraction or an int (a float is not exact)",
        "ball": "a Fraction, an int or a ball (a float is not exact)",
    }
    raise ComputeError(f"{place(compute)}: {what}: compute returns {value!r}: allowed is {kinds[question.numbers]}")


def place(compute: Callable, error: Exception | None = None) -> str:
    """Return the file and the line of an error in the file of ``compute``, or else of where that begins."""
    try:
        file = inspect.getsourcefile(compute) or "?"
        line = inspect.unwrap(compute).__code__.co_firstlineno  # type: ignore[attr-defined]
    except (TypeError, AttributeError):
        return repr(compute)
    frames = traceback.extract_tb(error.__traceback__) if error else []
    lines = [frame.lineno for frame in frames if frame.filename == file and frame.lineno]
    return f"{file}, line {lines[-1] if lines else line}"
