"""Ways of joining the steps of a proof, which decide between `proved` and `steps decided`.

Every step is decided by certificate. Three things remain: that a step starts from what an earlier one shows, that the
last one gives the right side, and that one round becomes many. They are checked only if the kernel makes the whole, or
if there is nothing to join: the claim is one inequality between numbers, decided on its own data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from .derivations import Derivation
from .steps import Step

KERNEL, SINGLE, DECLARED = "kernel", "single step", "declared"
JOINTS = (KERNEL, SINGLE, DECLARED)
"""Words for three ways. The kernel makes the theorem, from axioms to right side; the claim is a single inequality
between numbers; or the conclusion of the steps together is declared by hand."""

PROVED, STEPS_DECIDED = "proved", "steps decided"

_ABOUT_NUMBERS = {"identity", "polynomial", "definition"}
"""Kinds of steps beside which nothing is left to join."""


def joints(derivation: Derivation | None, own: Sequence[Step]) -> str:
    """Return one of ``JOINTS`` for a derivation and its own steps."""
    if derivation is None:
        return DECLARED
    if derivation.origin is not None:
        return KERNEL if is_of_kernel(derivation) else DECLARED
    about_numbers = {step.kind for step in own} <= _ABOUT_NUMBERS
    single = type(derivation) is Derivation and derivation.right_side is None and about_numbers
    return SINGLE if single else DECLARED


def is_of_kernel(derivation: Derivation) -> bool:
    """Whether a derivation is a theorem of the kernel, which a class of this package reads, and says nothing of its
    own."""
    if derivation.origin is None:
        return False
    reader = type(derivation.origin)
    module = sys.modules.get(reader.__module__)
    ours = reader.__module__.rpartition(".")[0] in (__package__, f"{__package__}.translate")
    if not ours or getattr(module, reader.__name__, None) is not reader:
        return False
    made = reader.derivation(derivation.origin, derivation.name, derivation.proves).of(derivation.algorithm)
    return type(derivation) is Derivation and derivation == made


def table(rows: Iterable[Mapping[str, str]]) -> list[str]:
    """Return a Markdown table of claims by the rule that is missing, from rows with ``claim`` and ``missing``.

    >>> table([{"claim": "a.thm1@main", "missing": "x"}, {"claim": "a.thm2@main", "missing": "x"}])[-1]
    '| x | a.thm1@main, a.thm2@main |'
    """
    by_rule: dict[str, list[str]] = {}
    for row in rows:
        by_rule.setdefault(row["missing"], []).append(row["claim"])
    lines = [f"| {rule} | {', '.join(claims)} |" for rule, claims in sorted(by_rule.items())]
    return ["| what the kernel lacks | claims whose steps are decided |", "| --- | --- |", *lines]
