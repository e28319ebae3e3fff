"""Statements as data, and their calculus: evaluate, solve, compare rates, typeset. No paper is known here.

A statement is a `Claim`, made of `Term`, `Hypothesis`, `Assumption` and `Ambiguity`; at given values it is a `Bound`.
`compare` says what differs between two editions. Members load on first use.
"""

from ..lazy import lazily

__getattr__, __dir__, __all__ = lazily(__name__)
