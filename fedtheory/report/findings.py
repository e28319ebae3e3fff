"""The generated parts of docs/findings: tables between two markers in a Markdown file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..evidence.assess import PUBLISHED
from ..evidence.findings import Row
from ..evidence.referee import cell, table
from ..evidence.rule import with_readings
from ..files import read_file, read_json, write_beside
from ..papers import all_claims

BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def put(path: Path, generated: str) -> None:
    """Replace what stands between the markers of a file.

    Raises:
        ValueError: the file has not exactly one marker of each kind, in order.
    """
    text = read_file(path).decode("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in after:
        raise ValueError(f"{path}: allowed is a file with one line {BEGIN!r} and, after it, one line {END!r}")
    write_beside(path, f"{before}{BEGIN}\n{generated}\n{END}{after}".encode())


def generated(paper: str, rows: Sequence[Row]) -> str:
    """The verdicts, from the published scorecard, and the findings, as Markdown."""
    card = {f"{row['id']}@{row['edition']}": row for row in read_json(PUBLISHED / "scorecard.json")["rows"]}
    lines = ["## Verdicts", "", "| claim | source | verdict | why |", "| --- | --- | --- | --- |"]
    for claim in all_claims():
        if claim.paper == paper and claim.ref in card:
            row = card[claim.ref]
            lines.append(f"| {claim.ref} | {claim.source} | {with_readings(row)} | {cell(row['why'])} |")
    return "\n".join([*lines, "", "## Findings", "", *table(rows)])
