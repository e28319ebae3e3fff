"""Statements as data, and their calculus: evaluate, solve, compare rates, typeset. No paper is known here.

A statement is a `Claim`, made of `Term`, `Hypothesis`, `Assumption` and `Ambiguity`; at given values it is a `Bound`.
`compare` says what differs between two editions. Members load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily

if TYPE_CHECKING:
    from .asymptotics import Asymptotics as Asymptotics
    from .comparison import Difference as Difference
    from .comparison import compare as compare
    from .evaluation import Bound as Bound
    from .ranges import Allowed as Allowed
    from .statement import Ambiguity as Ambiguity
    from .statement import Assumption as Assumption
    from .statement import Claim as Claim
    from .statement import Hypothesis as Hypothesis
    from .statement import Term as Term
    from .undecided import Undecided as Undecided

_HOMES = {
    "Allowed": "ranges",
    "Ambiguity": "statement",
    "Assumption": "statement",
    "Asymptotics": "asymptotics",
    "Bound": "evaluation",
    "Claim": "statement",
    "Difference": "comparison",
    "Hypothesis": "statement",
    "Term": "statement",
    "Undecided": "undecided",
    "compare": "comparison",
}
__getattr__, __dir__, __all__ = lazily(__name__, _HOMES)
