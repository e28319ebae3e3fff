"""Theorems 4 and 5 of SAFARI as the kernel composes them: of one round, and of many."""

from __future__ import annotations

from ....proof.composition import Contraction, Descent, OfRounds
from .thm4 import nonconvex, nonconvex_averaged
from .thm5 import strongly_convex
from .repaired_editions import DERIVATIONS as OF_KINDS
from .repaired_editions import THEOREMS as REPAIRED
from .kinds_of_round import LETTERS

_THEOREMS: dict[str, OfRounds] = {
    "thm4.sharper": Descent(nonconvex, LETTERS),
    "thm4.averaged": Descent(nonconvex_averaged, LETTERS),
    "thm5.sharper": Contraction(strongly_convex, LETTERS),
    **REPAIRED,
}


def _says(theorem: OfRounds) -> str:
    what = "a round contracts" if theorem.functional == "final_squared_distance" else "F falls in a round"
    return f"{what}, composed from the axioms"


def _label(name: str) -> str:
    """Name a display with the paper where FAST's displays have the same number."""
    return f"safari.{name}" if name.startswith("eq") else name


STEPS = tuple(
    theorem.step(f"{_label(name)}.composed", "composed", _says(theorem)) for name, theorem in _THEOREMS.items()
)

DERIVATIONS = (
    tuple(
        theorem.derivation(
            f"composed, {_label(name)}", f"{_label(name)}.composed", (f"safari.{'@'.join(name.rsplit('.', 1))}",)
        )
        for name, theorem in _THEOREMS.items()
    )
    + OF_KINDS
)
"""Each from its theorem on a round, or on rounds of either kind."""
