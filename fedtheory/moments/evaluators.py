"""One evaluator a quantity and a functional: what a setting says of it, in the kind of number that is asked for.

Evaluators register by name. Asked for something that it does not have, a setting answers with ``Unserved``, which says
what, of what, and who could supply it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..federations.constants import Constant
from ..functionals import Functional

if TYPE_CHECKING:
    from ..setting import Setting

FLOAT, EXACT, BALL = "float", "exact", "ball"
"""Kinds of number: floating point; Fractions; balls, where a Fraction would be too long or does not exist."""


class Unserved(ValueError):
    """A setting does not have what is asked for."""


@dataclass(frozen=True)
class Question:
    """What an evaluator is asked.

    Attributes:
        setting: of what.
        rounds: R, one number or an array of them; ``None`` where nothing depends on it.
        reading: how the claim's ambiguities are read, where the answer depends on it; else literally.
        numbers: the kind of number of the answer.
        stated: quantities that are no setting's and that whoever asks states.
    """

    setting: Setting
    rounds: Any = None
    reading: Mapping[str, str] = field(default_factory=dict)
    numbers: str = FLOAT
    stated: Mapping[str, Any] = field(default_factory=dict)


QuantityEvaluator = Callable[[Question], Constant]
FunctionalEvaluator = Callable[[Question], Any]

_QUANTITIES: dict[str, QuantityEvaluator] = {}
_FUNCTIONALS: dict[str, FunctionalEvaluator] = {}


def evaluates(*names: str) -> Callable[[QuantityEvaluator], QuantityEvaluator]:
    """Register a function as the evaluator of these quantities; two for one quantity are refused."""

    def register(evaluator: QuantityEvaluator) -> QuantityEvaluator:
        for name in names:
            if name in _QUANTITIES:
                raise ValueError(f"quantity {name!r} has an evaluator already")
            _QUANTITIES[name] = evaluator
        return evaluator

    return register


def evaluates_functional(*functionals: Functional) -> Callable[[FunctionalEvaluator], FunctionalEvaluator]:
    """The same for functionals."""

    def register(evaluator: FunctionalEvaluator) -> FunctionalEvaluator:
        for functional in functionals:
            if functional.name in _FUNCTIONALS:
                raise ValueError(f"functional {functional.name!r} has an evaluator already")
            _FUNCTIONALS[functional.name] = evaluator
        return evaluator

    return register


def quantity(name: str, question: Question) -> Constant:
    """The quantity, with how it is known.

    Raises:
        Unserved: the setting does not have it.
    """
    return _of(_QUANTITIES, name, "quantity", question)


def left(functional: Functional, question: Question) -> Any:
    """The functional's value: E of what it names, one number or one for each of the question's rounds.

    Raises:
        Unserved: the setting does not have it.
    """
    return _of(_FUNCTIONALS, functional.name, "functional", question)


def _of(known: Mapping[str, Callable[[Question], Any]], name: str, kind: str, question: Question) -> Any:
    for module in MODULES:
        import_module(f".{module}", __package__)
    if name not in known:
        raise Unserved(f"{kind} {name}: no evaluator knows it; state its value, or give one that computes it")
    return known[name](question)


MODULES: tuple[str, ...] = ("of_selection",)
"""The modules of this package whose evaluators are registered."""
