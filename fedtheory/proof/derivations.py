"""A derivation: steps, and what they show of a functional, before any claim is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from .. import functionals
from ..functionals import Functional


@dataclass(frozen=True)
class Derivation:
    """Steps that show: functional <= right_side, wherever every need is >= 0.

    Attributes:
        name: in code and in reports.
        functional: the name of what it bounds.
        steps: names of the steps; those that they rest on come along.
        right_side: over bare symbols; ``None`` where the functional is an expression of quantities, to be
            compared itself.
        needs: (name, expression that has to be >= 0).
        assumptions: the quantities whose standing assumptions it uses.
        readings: the option that it needs of an ambiguity.
        proves: refs of the claims that it was written for; it is tried on every claim with the same functional.
    """

    name: str
    functional: str
    steps: tuple[str, ...]
    right_side: sympy.Expr | None
    needs: tuple[tuple[str, sympy.Expr], ...] = ()
    assumptions: tuple[str, ...] = ()
    readings: Mapping[str, str] = field(default_factory=dict)
    proves: tuple[str, ...] = ()

    def bounds(self, functional: Functional) -> bool:
        """Whether it is about this functional, and not only about one of the same name."""
        if functional.name != self.functional:
            return False
        known = [f for f in vars(functionals).values() if isinstance(f, Functional) and f.name == functional.name]
        return functional in known if self.right_side is not None else functional.expression is not None
