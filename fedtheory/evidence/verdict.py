"""Verdicts: one word on a claim, with the evidence that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .counts import VERDICTS
from .judge import Judgement
from .replay import replay


@dataclass(frozen=True)
class Verdict:
    """A verdict on one claim.

    Attributes:
        claim: its ref.
        verdict: one of ``VERDICTS``.
        why: a few sentences.
        evidence: plain data by kind; of a general verdict ``units``, ``consistency``, ``proof``, ``exact``,
            ``measured`` and ``needs``, of one on a setting ``exact`` at most.
        instance: the file content of the refuting instance, if there is one.
        search: the search of the claim, with what is kept of it (``kept_searches``); of editions with the same
            mathematics the first has it.
    """

    claim: str
    verdict: str
    why: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    instance: dict[str, Any] | None = None
    search: dict[str, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict = {self.verdict!r}: allowed is one of {', '.join(VERDICTS)}")
        if self.verdict == "refuted" and self.instance is None:
            raise ValueError(f"{self.claim}: refuted without an instance")

    def replay(self) -> Judgement | None:
        """Judge the instance afresh; ``None`` if the verdict rests on none."""
        return None if self.instance is None else replay(self.instance)
