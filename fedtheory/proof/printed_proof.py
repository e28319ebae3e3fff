"""Proofs as papers print them, or as they are repaired step by step: what the kernel does not make, or not yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..claims.readings import check_options


@dataclass(frozen=True)
class PrintedProof:
    """Steps by which a paper, or a repair of it, shows some of its claims. Each step is decided; that they follow on
    each other, and end in the claims, is declared by hand.

    Attributes:
        name: its name in code and in reports.
        claims: refs of the claims, as the paper states them.
        steps: names of the last steps; those that they rest on come along. A name that ends in * stands for all that
            begin so.
        readings: the option that it covers of an ambiguity, or several.
        lacks: the rule without which the kernel does not make it; where that is named, the steps decide the claims.
    """

    name: str
    claims: tuple[str, ...]
    steps: tuple[str, ...]
    readings: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    lacks: str = ""

    def __post_init__(self) -> None:
        for name in self.readings:
            check_options(name, self.options(name))

    def options(self, name: str) -> tuple[str, ...]:
        """Return the options of an ambiguity that it covers, or none if it says nothing of it."""
        allowed = self.readings.get(name, ())
        return (allowed,) if isinstance(allowed, str) else tuple(allowed)
