"""One evaluator a quantity and a functional: what a setting says of it, in the kind of number that is asked for.

Evaluators register by name. Asked for something that it does not have, a setting answers with ``Unserved``, which says
what, of what, and who could supply it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from math import isqrt, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..doors import through
from ..federations.constants import EXACT as KNOWN_EXACTLY
from ..federations.constants import Constant, Constants
from ..functionals import Functional
from ..own import computed
from ..quantities import QUANTITIES
from ..schedule import StepFunction

if TYPE_CHECKING:
    import sympy

from ..setting import Setting

FLOAT, EXACT, BALL = "float", "exact", "ball"
"""Kinds of number: floating point; Fractions; balls, where a Fraction would be too long or does not exist."""


class Unserved(ValueError):
    """Error of a setting that does not have what is asked for."""


@dataclass(frozen=True)
class Question:
    """A question to an evaluator: the setting, the rounds, the reading and the kind of number.

    Attributes:
        setting: the instance that is asked about.
        rounds: R, one number or an array of them; ``None`` where nothing depends on it.
        reading: how the claim's ambiguities are read, where the answer depends on it; else literally.
        numbers: the kind of number of the answer.
        stated: quantities that no setting determines and that the asker states.
    """

    setting: Setting
    rounds: Any = None
    reading: Mapping[str, str] = field(default_factory=dict)
    numbers: str = FLOAT
    stated: Mapping[str, Any] = field(default_factory=dict)
    _found: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, compute: Callable[[Question], Any]) -> Any:
        """Return ``compute(self)``, computed once however many evaluators of this question use it."""
        if compute not in self._found:
            self._found[compute] = compute(self)
        return self._found[compute]

    def number(self, value: Any) -> Any:
        """Convert a number, or an array of such, to the kind of number that is asked for; floats stay as given."""
        if self.numbers == FLOAT:
            return value
        if np.ndim(value):
            return np.array([self.number(each) for each in np.asarray(value).tolist()], dtype=object)
        if self.numbers == EXACT:
            return Fraction(value)
        from ..claims.balls import ball

        return ball(Fraction(value))

    def root(self, square: Fraction) -> Any:
        """Return the square root, in the kind of number that is asked for.

        Raises:
            Unserved: a Fraction is asked for and it is irrational.
        """
        if self.numbers == FLOAT:
            return sqrt(square)
        if self.numbers == BALL:
            return self.number(square).sqrt()
        root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
        if root**2 != square:
            raise Unserved(f"the square root of {square} is irrational; ask for floats or balls")
        return root


QuantityEvaluator = Callable[[Question], Constant]
FunctionalEvaluator = Callable[[Question], Any]

Condition = Callable[[Question], bool]

_QUANTITIES: dict[str, dict[Condition | None, QuantityEvaluator]] = {}
_FUNCTIONALS: dict[str, dict[Condition | None, FunctionalEvaluator]] = {}


def evaluates(*names: str, where: Condition | None = None) -> Callable[[QuantityEvaluator], QuantityEvaluator]:
    """Register a function as the evaluator of these quantities.

    It serves ``where`` the condition holds, else wherever no other one does. Two for one quantity with one condition
    are refused.
    """
    return lambda evaluator: _register(_QUANTITIES, "quantity", names, where, evaluator)


def evaluates_functional(
    *functionals: Functional, where: Condition | None = None
) -> Callable[[FunctionalEvaluator], FunctionalEvaluator]:
    """Register an evaluator for these functionals, as ``evaluates`` does for quantities."""
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
    """Return a quantity with how it is known: as stated, from its evaluator, or from what the federation and algorithm
    say.

    Raises:
        Unserved: the setting does not have it.
    """
    _load()
    if name in question.stated:
        stated = question.stated[name]
        return stated if isinstance(stated, Constant) else Constant(stated, KNOWN_EXACTLY, "given")
    own = QUANTITIES[name].compute if name in QUANTITIES else None
    if own is not None:
        return Constant(computed(f"quantity {name}", own, question), KNOWN_EXACTLY, "as its compute says")
    evaluator = _evaluator(_QUANTITIES, name, question)
    if evaluator is not None:
        try:
            return evaluator(question)
        except Unserved as reason:
            told = str(reason)
            raise type(reason)(told if told.startswith("quantity ") else f"quantity {name}: {told}") from None
    found = _said(name, question)
    if found is None:
        own = question.setting.algorithm.number(name)
        if isinstance(own, StepFunction):
            raise Unserved(
                f"quantity {name}: it is {own}, of which no claim speaks; allowed is a number or an expression"
            )
        parts = " and ".join(type(part).__name__ for part in (question.setting.federation, question.setting.algorithm))
        raise Unserved(f"quantity {name}: {parts} do not say it and no evaluator computes it; state it, {name} = ...")
    return found


def quantities(
    setting: Setting,
    rounds: Any = None,
    needed: Collection[str] | None = None,
    numbers: str = FLOAT,
    reading: Mapping[str, str] | None = None,
    stated: Mapping[str, Any] | None = None,
    strict: bool = False,
) -> dict[str, Constant]:
    """Return the quantities ``needed`` that the setting has, in that order, with how each is known.

    If none are named, return what the federation, the algorithm, the participation process and the start say without
    computing a run or a round.

    Quantities of the run are there where they can be told beforehand: for deterministic runs of a quadratic
    federation, as maxima over all of the first max(rounds) rounds. Quantities of one round are those of the round
    from the start, on a quadratic federation.

    Args:
        rounds, numbers, reading, stated: see ``Question``.
        strict: whether it is an error if the setting lacks one that is needed.

    Raises:
        Unserved: ``strict``, and it does.
    """
    _load()
    question = Question(setting, rounds, reading or {}, numbers, stated or {})
    names = [*question.once(_of_itself), *AT_HAND] if needed is None else needed
    known = {}
    for name in names:
        try:
            known[name] = quantity(name, question)
        except Unserved:
            if strict:
                raise
    return known


def left(functional: Functional, question: Question) -> Any:
    """Compute the functional's value, the expectation of what it names: one number or one for each of the question's
    rounds.

    It is computed by the functional's own ``compute``, by its evaluator, or from the quantities of its ``expression``.

    Raises:
        Unserved: the setting does not have it.
    """
    _load()
    if functional.compute is not None:
        return computed(f"functional {functional.name}", functional.compute, question)
    compute = _evaluator(_FUNCTIONALS, functional.name, question)
    if compute is not None:
        return compute(question)
    if functional.expression is None:
        raise Unserved(f"functional {functional.name}: no evaluator computes it; give it a compute of its own")
    return _of_values(functional.expression, question)


def _evaluator(known: Mapping[str, Mapping[Condition | None, Any]], name: str, question: Question) -> Any:
    """The evaluator whose condition holds, else the one without a condition; ``None`` where there is none."""
    own = known.get(name)
    if own is None:
        return None
    if len(own) == 1 and None in own:
        return own[None]
    return next((one for where, one in own.items() if where is not None and where(question)), own.get(None))


def _of_values(expression: sympy.Expr, question: Question) -> Any:
    from ..claims import arithmetic, balls

    values: dict[str, Any] = {s.name: quantity(s.name, question).value for s in expression.free_symbols}
    if question.numbers == FLOAT:
        return arithmetic.compiled(expression)({name: np.asarray(value, dtype=float) for name, value in values.items()})
    return (balls.evaluate_exactly if question.numbers == EXACT else balls.evaluate_in_balls)(expression, values)


def _said(name: str, question: Question) -> Constant | None:
    """Return a constant that the federation or the algorithm states, in the kind of number that is asked for."""
    own = question.once(_of_algorithm)
    if name in own:
        constant = Constant(own[name], KNOWN_EXACTLY, "the algorithm")
    else:
        constant = question.once(_of_federation).get(name)
    if constant is None or question.numbers == FLOAT:
        return constant
    fed, algorithm = question.setting.federation, question.setting.algorithm
    values, squares = fed.exact_constants(), fed.exact_squared_constants()
    if name in squares:
        return replace(constant, value=question.root(squares[name]))
    value = constant.value if isinstance(constant.value, int) else values.get(name, algorithm.number(name))
    if not isinstance(value, int | Fraction):
        raise Unserved(f"quantity {name}: known in floats only; ask for floats, or state its value")
    return replace(constant, value=question.number(value))


def _of_itself(question: Question) -> dict[str, Constant]:
    """Return the constants that the federation and the algorithm state, in floats."""
    said = question.once(_of_algorithm)
    own = {name: Constant(value, KNOWN_EXACTLY, "the algorithm") for name, value in said.items()}
    return {**question.once(_of_federation), **own}


def _of_algorithm(question: Question) -> dict[str, float]:
    return question.setting.algorithm.quantities()


def _of_federation(question: Question) -> Constants:
    return question.setting.federation.constants()


@cache
def _load() -> None:
    for module in MODULES:
        import_module(f".{module}", __package__)
    through("moments.evaluators")()


AT_HAND = ("clients", "server_noise", "arbitrary_cohort", "rounds", "initial_gap", "initial_distance")
"""Quantities that need no run, besides those that the federation and the algorithm state."""

MODULES = ("run_evaluators", "objective_evaluators", "dissimilarity_evaluators")
"""The modules of this package whose evaluators are registered; a paper names its own."""
