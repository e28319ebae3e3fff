"""Step sizes that a claim chooses by rule: expressions in ``step_index`` and ``round_index``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..quantities import of_scope, symbol
from ..schedule import StepRule, at_round

if TYPE_CHECKING:
    from .statement import Claim

INDICES = frozenset(of_scope("schedule"))

LOOKED_AT = (*range(200), 10**3, 10**4, 10**6, 10**9)
"""The rounds in which two rules are compared, as far as a run has them."""


@lru_cache(maxsize=1024)
def by_rule(expression: sympy.Basic) -> bool:
    """Whether a step size changes with the round or the step."""
    return not INDICES.isdisjoint(s.name for s in expression.free_symbols)


def first_step(choice: sympy.Expr) -> sympy.Expr:
    """Return a chosen step size; for one by rule, that of the first step."""
    return choice.xreplace({symbol(index): sympy.Integer(0) for index in INDICES})


def check_indices(claim: Claim, written: Iterator[tuple[str, set[str]]]) -> None:
    """Refuse an index anywhere but in the choice of a step size, and uses of a rule as if it were one step size.

    ``written`` are the names in the claim's expressions, with where they stand.
    """
    rules = {name for name, choice in claim.choices.items() if by_rule(choice)}
    for where, used in written:
        of_choice = where.startswith("choice of ")
        if used & INDICES and not (of_choice and where.endswith("_lr")):
            raise ValueError(f"{where}: {sorted(used & INDICES)[0]} may stand in the choice of a step size alone")
        if used & rules:
            name = sorted(used & rules)[0]
            raise ValueError(
                f"{where}: {claim.ref} chooses {name} by a rule, so there is no one {name}; say it of the "
                "quantities in the rule"
            )


def rule_of(claim: Claim, name: str, values: Mapping[str, Any]) -> Any:
    """Return the rule that the claim chooses at these values, a ``StepRule``; where values are arrays, an array of
    them.

    Floats are the dyadic numbers that they are.

    Raises:
        ValueError: a value is neither rational nor a float.

    >>> from fedtheory.claims.statement import Claim, Term
    >>> from fedtheory.functionals import FINAL_GAP
    >>> from fedtheory.quantities import symbols
    >>> mu, gamma, t, F = symbols("strong_convexity", "step_shift", "step_index", "initial_gap")
    >>> made = Claim(id="a.thm1", title="t", source="s", functional=FINAL_GAP, terms=(Term("start", F),),
    ...              choices={"local_lr": 2 / (mu * (gamma + t))})
    >>> rule_of(made, "local_lr", {"strong_convexity": Fraction(1, 2), "step_shift": 8}).at(round=0, step=2)
    Fraction(2, 5)
    """
    choice = claim.choices[name]
    used = sorted({s.name for s in choice.free_symbols} - INDICES)

    def made(*numbers: Any) -> StepRule:
        return _made(choice, tuple(_rational(n, value) for n, value in zip(used, numbers, strict=True)))

    given = [values[n] for n in used]
    if not any(np.ndim(value) for value in given):
        return made(*given)
    return np.vectorize(made, otypes=[object])(*given)


@lru_cache(maxsize=256)
def _made(choice: sympy.Expr, numbers: tuple[sympy.Rational, ...]) -> StepRule:
    """The rule at these values of its quantities, in the order of their names."""
    used = sorted({s.name for s in choice.free_symbols} - INDICES)
    return StepRule.of(choice.xreplace({symbol(n): value for n, value in zip(used, numbers, strict=True)}))


def _rational(name: str, value: Any) -> sympy.Rational:
    try:
        exact = Fraction(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value}: allowed in a step size by rule is a rational number") from None
    return sympy.Rational(exact.numerator, exact.denominator)


def difference(chosen: Any, own: Any, local_steps: int, rounds: int) -> float:
    """Return the largest relative difference of two step sizes, numbers or rules, over the steps of a run.

    Of its rounds ``LOOKED_AT`` are compared. It is infinite where a rule has no size.
    """
    largest = 0.0
    try:
        for r in (r for r in LOOKED_AT if r < rounds):
            one, other = (np.array(at_round(step, r, local_steps), dtype=float) for step in (chosen, own))
            largest = max(largest, float(np.max(np.abs(one / other - 1))))
    except ValueError:
        return np.inf
    return largest


STEPS = ("local_lr", "server_lr")
"""The step sizes that a link may join."""


def link_of(claim: Claim, name: str) -> tuple[str, sympy.Expr] | None:
    """Return the step size that the chosen one is proportional to, and its value in terms of the chosen one.

    ``None`` where the choice of ``name`` is no such link.

    >>> from fedtheory.papers import claim
    >>> print(*link_of(claim("safari.thm5"), "server_lr"))
    local_lr 4*server_lr*smoothness/(local_steps*(smoothness + strong_convexity))
    """
    choice = claim.choices.get(name)
    if name not in STEPS or choice is None or by_rule(choice):
        return None
    for other in (step for step in STEPS if step != name and symbol(step) in choice.free_symbols):
        factor = sympy.cancel(choice / symbol(other))
        if other not in claim.choices and not factor.has(symbol(other)):
            return other, sympy.factor(symbol(name) / factor)
    return None


def linked_from(claim: Claim, free: Iterable[str]) -> Claim:
    """Turn a claim's links round so that the steps in ``free`` are not chosen but choose the others.

    It is the claim itself where nothing is to be turned round.

    >>> from fedtheory.papers import claim
    >>> thm4 = claim("safari.thm4")
    >>> list(thm4.choices), list(linked_from(thm4, ["local_lr"]).choices)
    (['local_lr'], ['server_lr'])
    """
    for name in free:
        link = link_of(claim, name) if name in claim.choices else None
        if link is not None:
            other, inverse = link
            choices = {key: value for key, value in claim.choices.items() if key != name}
            claim = replace(claim, choices=choices | {other: inverse})
    return claim
