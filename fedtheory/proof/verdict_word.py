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
    made_whole = own or not derivation.steps  # the goal's step alone
    if derivation.origin is not None and made_whole and all(step.kind == "composed" for step in own):
        return KERNEL if is_computed(derivation, own) else DECLARED
    about_numbers = {step.kind for step in own} <= _ABOUT_NUMBERS
    single = type(derivation) is Derivation and derivation.right_side is None and about_numbers
    return SINGLE if single else DECLARED


def is_computed(derivation: Derivation, own: Iterable[Step]) -> bool:
    """Whether a derivation says what is computed from the theorem that its steps make, and no more."""
    origin = derivation.origin
    if origin is None or len(derivation.steps) > 1 or not is_known(type(origin)):
        return False
    (name,) = derivation.steps or ("",)
    computed = origin.derivation(derivation.name, name, derivation.proves)
    same = type(derivation) is type(computed) and derivation == computed.of(derivation.algorithm)
    return same and origin.makes(own)


def is_known(reader: type) -> bool:
    """Whether theorems are read by a class of this package: by another one a right side may be written by hand."""
    module = sys.modules.get(reader.__module__)
    ours = reader.__module__.rpartition(".")[0] in (__package__, f"{__package__}.translate")
    return ours and getattr(module, reader.__name__, None) is reader


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
