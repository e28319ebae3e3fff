"""Theorems 4 and 5 of SAFARI as the kernel composes them: what it shows of a round, and of many."""

from __future__ import annotations

from ....proof.composed import Contraction, Descent, OfRounds
from .composed4 import nonconvex, nonconvex_averaged
from .composed5 import strongly_convex
from .kinds import LETTERS

_SET = frozenset({"cohort_is_a_set"})
"""The participants of a round are a set, by the algorithm."""

_THEOREMS: dict[str, OfRounds] = {
    "thm4.sharper": Descent(nonconvex, LETTERS, always=_SET),
    "thm4.averaged": Descent(nonconvex_averaged, LETTERS, always=_SET),
    "thm5.sharper": Contraction(strongly_convex, LETTERS, always=_SET),
}
_SAYS = {"thm4": "F falls in a round, composed from the axioms", "thm5": "a round contracts, composed from the axioms"}

STEPS = tuple(theorem.step(f"{name}.round", "composed", _SAYS[name[:4]]) for name, theorem in _THEOREMS.items())

DERIVATIONS = tuple(
    theorem.derivation(f"composed, {name}", f"{name}.round", (f"safari.{name.replace('.', '@')}",))
    for name, theorem in _THEOREMS.items()
)
