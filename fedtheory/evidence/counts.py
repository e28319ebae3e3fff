"""Numbers of statements by verdict: those that the papers print, and our own editions, apart.

Printed statements that are proved under a reading which is not the literal one are listed too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..claims.comparison import is_printed
from ..claims.statement import Claim
from .verdict_rule import PROVED_AND_REFUTED

VERDICTS = (
    "proved", "steps decided", "holds", "untested", "unproved", "needs", "refuted", "vacuous", PROVED_AND_REFUTED,
    "not applicable", "not checked",
)  # fmt: skip
"""The possible verdicts, the most favourable first; see docs/scorecard.md."""

DECIDED = ("proved", "steps decided")
"""The verdicts of a statement whose proof may cover some readings only."""


@dataclass(frozen=True)
class Count:
    """The statements that have a verdict.

    Attributes:
        printed: refs of those that a paper prints. own: refs of editions of our own.
        not_literally: those of the printed ones whose proof does not cover the literal reading.
    """

    printed: tuple[str, ...]
    own: tuple[str, ...]
    not_literally: tuple[str, ...]

    def of(self, paper: str) -> tuple[int, int]:
        """Count the statements of one paper: printed ones, our own."""
        printed, own = (sum(ref.startswith(f"{paper}.") for ref in refs) for refs in (self.printed, self.own))
        return printed, own


def counted(claims: Iterable[Claim], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Count]:
    """Sort claims by verdict, from a scorecard's rows by ref; a claim without a row is ``not checked``.

    >>> from fedtheory.papers import claim
    >>> counted([claim("fast.thm2@sharp")], {"fast.thm2@sharp": {"verdict": "proved", "readings": {}}})["proved"].own
    ('fast.thm2@sharp',)
    """
    by: dict[str, list[Claim]] = {verdict: [] for verdict in VERDICTS}
    for claim in claims:
        by[rows[claim.ref]["verdict"] if claim.ref in rows else "not checked"].append(claim)
    found = {}
    for verdict, those in by.items():
        printed = [claim for claim in those if is_printed(claim)]
        own = [claim.ref for claim in those if not is_printed(claim)]
        aside = [claim.ref for claim in printed if not read_literally(claim, rows.get(claim.ref))]
        if those:
            found[verdict] = Count(tuple(claim.ref for claim in printed), tuple(own), tuple(aside))
    return found


def read_literally(claim: Claim, row: Mapping[str, Any] | None) -> bool:
    """Whether a row's proof covers the claim's literal reading, if it is complete.

    >>> from fedtheory.papers import claim
    >>> row = {"verdict": "proved", "readings": {"q-condition": ["product"]}}
    >>> read_literally(claim("fast.rem2.a"), row), read_literally(claim("fast.rem2.a"), row | {"readings": {}})
    (False, True)
    """
    if row is None or row["verdict"] not in DECIDED:
        return True
    literal = next(claim.readings())
    return all(literal[name] in options for name, options in row["readings"].items())


def text(claims: Iterable[Claim], rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the counts as Markdown: how many there are, and a table of the verdicts."""
    counts = counted(claims, rows)
    printed, own = sum(len(c.printed) for c in counts.values()), sum(len(c.own) for c in counts.values())
    return "\n".join(
        [
            f"There are {printed + own} statements, each edition counted: {printed} as the papers print them, and "
            f"{own} editions of our own: repaired, sharper or other forms of them.",
            "",
            "| verdict | printed | editions of our own |",
            "| --- | --- | --- |",
            *_rows(counts),
        ]
    )


def _rows(counts: Mapping[str, Count]) -> Iterator[str]:
    for verdict, count in counts.items():
        aside = ", ".join(f"`{ref}`" for ref in count.not_literally)
        mark = f" ({len(count.not_literally)} of them under a reading that is not the literal one: {aside})"
        yield f"| {verdict} | {len(count.printed)}{mark if aside else ''} | {len(count.own)} |"
