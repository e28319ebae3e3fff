"""Step sizes that a claim links to each other.

Some claims choose the clients' from the server's, some the other way round. A link read the other way is
the same statement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy

from ..quantities import symbol
from .schedules import by_rule

if TYPE_CHECKING:
    from .statement import Claim

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
        link = link_of(claim, name)
        if link is not None:
            other, inverse = link
            choices = {key: value for key, value in claim.choices.items() if key != name}
            claim = replace(claim, choices=choices | {other: inverse})
    return claim
