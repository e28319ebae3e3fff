"""Steps of a proof that are theorems of the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from . import checker
from .claim_goals import EVERYONE, READINGS
from .kernel.saved_theorems import saved
from .kernel.theorems import Theorem
from .steps import Evidence, Finding

_BY_DEFINITION = frozenset({*READINGS, "equal_weights", EVERYONE})
"""Assumptions without a constant that a claim does not make: its algorithm has them, or its hypotheses."""


def other_kinds(theorem: Theorem) -> tuple[str, ...]:
    """Return the kinds of assumption without a constant that a theorem takes, and that a claim has to make."""
    names = (name for name, constant in sorted(theorem.assumptions, key=str) if constant is None)
    return tuple(name for name in names if name not in _BY_DEFINITION)


@dataclass(frozen=True)
class Composed:
    """Check that the kernel makes a theorem, and that the independent checker accepts its saved proof.

    Attributes:
        make: makes the theorem; nothing else here does so before it is asked for.
    """

    make: Callable[[], Theorem]

    @property
    def assumes(self) -> tuple[str, ...]:
        """Kinds of assumption without a constant that the theorem takes, and that a claim has to make."""
        return other_kinds(self.make())

    def certified(self) -> Finding:
        """Return ``proved`` with the theorem's saved proof as evidence if the checker accepts it, else ``unknown``."""
        text = json.dumps(saved(self.make()), separators=(",", ":"))
        return Finding("proved", (text,)) if self.accepts((text,)) else Finding("unknown")

    decide = certified
    """Decide the check; the kernel refutes nothing, so this is ``certified``."""

    def accepts(self, evidence: tuple[Evidence, ...]) -> bool:
        """Whether the checker accepts the text as a proof of the very theorem that the kernel makes now."""
        if len(evidence) != 1 or not isinstance(evidence[0], str):
            return False
        shown = _checked(evidence[0])
        return shown is not None and shown == _conclusion(saved(self.make()))

    def refuted(self, evidence: tuple[Evidence, ...]) -> bool:
        """Return false: a theorem that the kernel does not make may still be true."""
        return False


@lru_cache(maxsize=500)
def _checked(text: str) -> tuple | None:
    """Check the proof in a text, once, and return its conclusion; ``None`` if it is no proof."""
    try:
        data = checker.read(text)
        checker.check(data)
    except (checker.Wrong, ValueError):
        return None
    return _conclusion(data) if isinstance(data, Mapping) and not checker.is_certificate(data) else None


def _conclusion(data: Mapping) -> tuple:
    """The names and all that letters stand for, the last theorem without how it was made, and its region."""
    last = data["theorems"][-1]
    stated = {part: value for part, value in last.items() if part not in ("rule", "premises", "arguments", "where")}
    shared = {part: value for part, value in data.items() if part not in ("regions", "theorems")}
    return shared, data["regions"][last["where"]], stated
