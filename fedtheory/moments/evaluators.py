"""One evaluator a quantity and a functional: what a setting says of it, in the kind of number that is asked for.

Evaluators register by name. Asked for something that it does not have, a setting answers with ``Unserved``, which says
what, of what, and who could supply it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
Condition = Callable[[Question], bool]

_QUANTITIES: dict[str, dict[Condition | None, QuantityEvaluator]] = {}
_FUNCTIONALS: dict[str, dict[Condition | None, FunctionalEvaluator]] = {}


def evaluates(*names: str, where: Condition | None = None) -> Callable[[QuantityEvaluator], QuantityEvaluator]:
    """Register a function as the evaluator of these quantities: ``where`` it says so, else wherever no other one does;
    two for one quantity with one condition are refused."""
    return lambda evaluator: _register(_QUANTITIES, "quantity", names, where, evaluator)


def evaluates_functional(
    *functionals: Functional, where: Condition | None = None
) -> Callable[[FunctionalEvaluator], FunctionalEvaluator]:
    """The same for functionals."""
    names = [functional.name for functional in functionals]
    return lambda evaluator: _register(_FUNCTIONALS, "functional", names, where, evaluator)


def _register(
    known: dict[str, dict[Condition | None, Any]], kind: str, names: Iterable[str], where: Condition | None, one: Any
) -> Any:
    for name in names:
        if where in known.setdefault(name, {}):
            raise ValueError(f"{kind} {name!r} has an evaluator already")
        known[name][where] = one
    return one


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


def _of(known: Mapping[str, Mapping[Condition | None, Any]], name: str, kind: str, question: Question) -> Any:
    for module in MODULES:
        import_module(f".{module}", __package__)
    evaluator = _evaluator(known, name, question)
    if evaluator is None:
        raise Unserved(f"{kind} {name}: no evaluator knows it here; state its value, or give one that computes it")
    return evaluator(question)


def _evaluator(known: Mapping[str, Mapping[Condition | None, Any]], name: str, question: Question) -> Any:
    """The evaluator whose condition holds, else the one without a condition; ``None`` where there is none."""
    own = known.get(name, {})
    return next((one for where, one in own.items() if where is not None and where(question)), own.get(None))


MODULES: tuple[str, ...] = ("of_weights", "of_weighted_runs", "of_selection")
"""The modules of this package whose evaluators are registered."""
