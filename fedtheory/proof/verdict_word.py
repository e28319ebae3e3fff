"""Words on a complete proof, `proved` or `steps decided`, and whether a derivation is of the kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from .derivations import Derivation

KERNEL, DECLARED = "kernel", "declared"
"""Words for two ways in which a proof is joined. The kernel makes the theorem, from axioms to right side; or each step
is decided, and it is declared by hand that they follow on each other and end in the claim."""

PROVED, STEPS_DECIDED = "proved", "steps decided"


def is_of_kernel(derivation: Derivation) -> bool:
    """Whether a derivation is a theorem of the kernel, which a class of this package reads, and says nothing of its
    own."""
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
