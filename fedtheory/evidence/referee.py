"""The referee: anyone's theorem, stated in one Python file, gets the treatment of the built-in ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..claims.statement import Claim
from ..files import write_beside
from ..papers import load as load_paper
from ..papers.paper import PaperError
from ..proof.steps import Step
from .findings import Row, consistency_rows, proof_rows, refutation_text, unit_rows
from .judge import Judgement
from .refute import refuting_point
from .repair import repairs
from .search import SearchReport, search


class RefereeError(ValueError):
    """A file that states no theorem that can be examined; nothing is decided about it."""


@dataclass(frozen=True)
class Report:
    """What the referee found about a claim.

    Attributes:
        claim: its ref. title: one line.
        state: ``refuted`` (an exact instance falls), ``contradictory``, ``open`` (a step of the given proof does not
            hold, or a lead is not confirmed), or ``survived`` (nothing was found against it; not a proof).
        rows: the findings.
        search: what was searched, as plain data.
        instance: the refuting instance's file content, or ``None``.
    """

    claim: str
    title: str
    state: str
    rows: tuple[Row, ...]
    search: dict[str, Any]
    instance: dict[str, Any] | None

    def data(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "claim": self.claim, "title": self.title, "state": self.state,
            "findings": [row.data() for row in self.rows], "search": self.search, "instance": self.instance,
        }  # fmt: skip

    def markdown(self) -> str:
        """The report as Markdown."""
        lines = [f"# {self.claim}: {self.title}", "", f"**{self.state}**: {STATES[self.state]}", ""]
        lines += [f"Searched: {self.search['candidates']} settings, of which {self.search['admissible']} meet every "
                  f"hypothesis; largest left / right {self.search['largest_ratio']:.6g}.", ""]  # fmt: skip
        lines += table(self.rows) if self.rows else ["No finding."]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the report, as its suffix says: ``.json`` or ``.md``; whole or not at all."""
        path = Path(path)
        texts = {".json": lambda: json.dumps(self.data(), indent=1, ensure_ascii=False) + "\n", ".md": self.markdown}
        if path.suffix not in texts:
            raise ValueError(f"path = {str(path)!r}: allowed is a name that ends in {' or '.join(texts)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_beside(path, texts[path.suffix]().encode())
        return path


STATES = {
    "refuted": "an exact instance meets every hypothesis and exceeds the bound",
    "contradictory": "no setting meets all hypotheses",
    "open": "a step of the proof does not hold, or a lead is not confirmed; the statement itself may be right",
    "survived": "nothing was found against it, which is no proof",
}
"""What a report's state means."""


def table(rows: Sequence[Row]) -> list[str]:
    """Findings as a Markdown table."""
    lines = ["| claim | where | finding | found by |", "| --- | --- | --- | --- |"]
    return lines + [f"| {row.claim} | {cell(row.where)} | {cell(row.what)} | {row.check} |" for row in rows]


def cell(text: str) -> str:
    """Text that does not break a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def load(path: str | Path) -> tuple[Claim, tuple[Step, ...]]:
    """The claim of a Python file and the steps of its proof, if any. THE FILE IS EXECUTED: see ``papers.load``.

    Raises:
        RefereeError: the file fails, or defines no claim; it is said where.
    """
    try:
        paper = load_paper(path)
    except PaperError as error:
        raise RefereeError(str(error)) from None
    if not paper.claims:
        raise RefereeError(f"{path}: PAPER states nothing: allowed is one with claims")
    return paper.claims[0], paper.steps


def referee(path: str | Path, seed: int = 0, candidates: int = 1500) -> Report:
    """Load a theorem and examine it: see ``load`` and ``examine``."""
    return examine(*load(path), seed=seed, candidates=candidates)


def examine(claim: Claim, steps: Sequence[Step] = (), seed: int = 0, candidates: int = 1500) -> Report:
    """Everything that can be checked about a claim: units, contradictory hypotheses, the steps of its proof, a search
    for a counterexample that is then confirmed exactly, and how far each constant is from the smallest that survives.
    """
    rows = [*unit_rows(claim), *consistency_rows(claim)]
    contradictory = any(row.where == "contradictory" for row in rows)
    gaps = list(proof_rows(claim, steps)) if steps else []
    report = search(claim, candidates=candidates, seed=seed)
    judgement = refuting_point(claim, report.lead) if report.lead else None
    rows = [*_search_rows(claim, report, judgement), *rows, *gaps, *_repair_rows(claim, seed)]
    opened = gaps or report.lead
    state = "refuted" if judgement else "contradictory" if contradictory else "open" if opened else "survived"
    searched = {
        "candidates": report.candidates, "admissible": report.admissible, "seed": seed,
        "largest_ratio": report.best.ratio if report.best else 0.0,
    }  # fmt: skip
    return Report(claim.ref, claim.title, state, tuple(rows), searched, judgement and judgement.to_json())


def _search_rows(claim: Claim, report: SearchReport, judgement: Judgement | None) -> Iterator[Row]:
    if judgement:
        yield Row(claim.ref, "statement", refutation_text(judgement.to_json()), "instance")
    elif report.lead:
        what = f"left / right reaches {report.lead.ratio:.4g} in floating point; no exact instance confirms it"
        yield Row(claim.ref, "statement", what, "search")


def _repair_rows(claim: Claim, seed: int) -> Iterator[Row]:
    for repair in repairs(claim, seed=seed):
        yield Row(claim.ref, repair.where, repair.sentence, "repair")
