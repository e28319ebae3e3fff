"""Limits of a claim's right side and of its hypotheses as some quantities go to theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from ..claims.statement import Claim, Hypothesis
from ..quantities import symbol

Q, STEP, ROUNDS = "snapshot_probability", "local_lr", "rounds"


def needs_small_steps(claim: Claim) -> str | None:
    """Say why the right side of a claim about runs goes to 0 only with the step size; ``None`` if that is not seen.

    Either the claim chooses a step size that vanishes as rounds grow. Or some summand of the right side's limit for
    infinitely many rounds increases with the step size, from 0 on, while the others are not negative.
    """
    if not claim.functional.observable or symbol(ROUNDS) not in claim.right_side.free_symbols:
        return None
    if STEP in claim.choices:
        return (
            "the local_lr that the claim chooses goes to 0 as the rounds grow"
            if _vanishes(claim.choices[STEP])
            else None
        )
    floors = {term.name: _limit(term.expression, ROUNDS, sympy.oo) for term in claim.terms}
    if any(floor is None or not floor.is_nonnegative for floor in map(_inside, floors.values())):
        return None
    for floor in floors.values():
        positive = _inside(floor)
        assert floor is not None  # neither is None, as was seen above
        # Increasing from 0 on, whatever q is: it goes to 0 along no step sizes but those that do.
        if (
            symbol(Q) not in floor.free_symbols
            and _limit(positive, STEP, 0) == 0
            and sympy.diff(positive, _free(STEP)).is_positive
        ):
            return f"the bound's limit for many rounds is at least {floor}, so it goes to 0 only if local_lr does"
    return None


def _free(name: str) -> sympy.Symbol:
    """A positive real stand-in for a quantity."""
    return sympy.Symbol(name, positive=True)


def _inside(expression: sympy.Expr | None) -> sympy.Expr | None:
    """The expression where no quantity is 0, with q = 1/(1 + t), t > 0, for 0 < q < 1."""
    if expression is None:
        return None
    positive = expression.xreplace({s: _free(s.name) for s in expression.free_symbols})
    return sympy.factor(positive.xreplace({_free(Q): 1 / (1 + sympy.Symbol("t", positive=True))}))


def _limit(expression: sympy.Expr, name: str, to: Any) -> sympy.Expr | None:
    """The limit in one quantity, from above at 0; ``None`` where it is not found."""
    at = expression.xreplace({s: _free(name) for s in expression.free_symbols if s.name == name})
    if not at.has(_free(name)):
        return at
    try:
        limit = sympy.limit(at, _free(name), to, "+" if to == 0 else "-")
    except (NotImplementedError, ValueError, TypeError):
        return None
    unclear = limit.has(sympy.Limit, sympy.nan, sympy.zoo, sympy.sign)
    return None if unclear else sympy.cancel(limit)


def _vanishes(choice: sympy.Expr) -> bool:
    """Whether a chosen step size goes to 0 as rounds grow: it does if one argument of its minimum does, since all are
    positive. A maximum in it is replaced by an argument that exceeds the others for large rounds."""

    def largest(*arguments: sympy.Expr) -> sympy.Expr:
        growing = [a for a in map(sympy.factor, arguments) if _limit(a, ROUNDS, sympy.oo) == sympy.oo]
        return growing[0] if len(growing) == 1 else sympy.Max(*arguments)

    parts = map(_inside, choice.args if isinstance(choice, sympy.Min) else (choice,))
    return any(_limit(part.replace(sympy.Max, largest), ROUNDS, sympy.oo) == 0 for part in parts if part is not None)


def limiting_slack(hypothesis: Hypothesis, limits: Mapping[str, Any]) -> sympy.Expr | None:
    """Compute the limit of a hypothesis's slack as some quantities go where ``limits`` says, one after the other.

    All others are fixed and not 0. The limit is ``None`` where it is not found. A value of q at which it is negative is
    excluded once those quantities are close enough to their limits.

    >>> from fedtheory.papers import claim
    >>> limiting_slack(claim("fast.thm2").hypothesis("q_condition"), {"local_lr": 0})
    snapshot_probability - 1
    """
    slack: sympy.Expr | None = sympy.cancel(hypothesis.slack) if not hypothesis.slack.has(sympy.Min) else None
    for name, to in limits.items():
        slack = None if slack is None else _limit(slack, name, to)
    return slack
