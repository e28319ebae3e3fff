"""The referee: anyone's theorems, stated in a Python file or a folder, get the treatment of the built-in ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..claims.statement import Claim
from ..files import write_beside
from ..papers import added, explained, papers
from ..papers import load as load_paper
from ..papers.paper import Paper, PaperError
from ..papers.proofs import library, proof_of, prove
from ..papers.whose import algorithm_of
from ..proof.steps import Decision
from .findings import Row, consistency_rows, open_rows, refutation_text, unit_rows
from .judge import Judgement
from .refute import refuting_point
from .repair import repairs
from .rule import Contradiction
from .search import SearchReport, search


class RefereeError(ValueError):
    """A file that states no theorem that can be examined; nothing is decided about it."""


@dataclass(frozen=True)
class Report:
    """What the referee found about a claim.

    Attributes:
        claim: its ref. title: one line.
        state: ``refuted`` (an exact instance falls), ``contradictory``, ``open`` (a step of the given proof does not
            hold, or a lead is not confirmed), ``proved``, or ``survived`` (nothing was found against it; not a proof).
        rows: the findings.
        steps: of the proof, if it is proved, and 0 otherwise.
        search: what was searched, as plain data.
        instance: the refuting instance's file content, or ``None``.
    """

    claim: str
    title: str
    state: str
    rows: tuple[Row, ...]
    steps: int
    search: dict[str, Any]
    instance: dict[str, Any] | None

    def data(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "claim": self.claim, "title": self.title, "state": self.state,
            "findings": [row.data() for row in self.rows], "steps": self.steps, "search": self.search,
            "instance": self.instance,
        }  # fmt: skip

    def markdown(self) -> str:
        """The report as Markdown."""
        lines = [f"# {self.claim}: {self.title}", "", f"**{self.state}**: {STATES[self.state]}", ""]
        lines += (
            [f"Proof: {self.steps} steps, each decided, given by definition or repaired.", ""] if self.steps else []
        )
        lines += [f"Searched: {self.search['candidates']} settings, of which {self.search['admissible']} meet every "
                  f"hypothesis; largest left / right {self.search['largest_ratio']:.6g}.", ""]  # fmt: skip
        lines += table(self.rows) if self.rows else ["No finding."]
        return "\n".join(lines) + "\n"


def save(reports: Sequence[Report], path: str | Path) -> Path:
    """Write reports, as the path's suffix says: ``.json`` (a list of them) or ``.md``; whole or not at all."""
    path = Path(path)
    texts = {
        ".json": lambda: json.dumps([report.data() for report in reports], indent=1, ensure_ascii=False) + "\n",
        ".md": lambda: "\n".join(report.markdown() for report in reports),
    }
    if path.suffix not in texts:
        raise ValueError(f"path = {str(path)!r}: allowed is a name that ends in {' or '.join(texts)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, texts[path.suffix]().encode())
    return path


STATES = {
    "refuted": "an exact instance meets every hypothesis and exceeds the bound",
    "contradictory": "no setting meets all hypotheses",
    "open": "a step of the proof does not hold, or a lead is not confirmed; the statement itself may be right",
    "proved": "every step of its proof is decided, and nothing was found against it",
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


def load(path: str | Path) -> Paper:
    """The paper of a Python file or folder. IT IS EXECUTED: see ``papers.load``.

    Raises:
        RefereeError: it fails, or states nothing; it is said where.
    """
    try:
        paper = load_paper(path)
        stated = paper.claims
    except PaperError as error:
        raise RefereeError(str(error)) from None
    except Exception as error:
        raise RefereeError(explained(error)) from None
    if not stated:
        raise RefereeError(f"{path}: PAPER states nothing: allowed is one with claims")
    return paper


def referee(path: str | Path, seed: int = 0, candidates: int = 1500) -> tuple[Report, ...]:
    """Load a paper and examine all its claims: see ``load`` and ``examine``.

    Raises:
        RefereeError: it states nothing, or another paper has its name.
    """
    paper = load(path)
    try:
        with added(paper):
            return tuple(examine(claim, seed, candidates) for claim in paper.claims)
    except PaperError as error:
        raise RefereeError(str(error)) from None


def examine(claim: Claim, seed: int = 0, candidates: int = 1500) -> Report:
    """Everything that can be checked about a claim: units, contradictory hypotheses, its proof, a search for a
    counterexample that is then confirmed exactly, and how far each constant is from the smallest that survives.

    Its proof is a chain from what the derivations of all papers show; where none proves it, what is open is told of the
    derivations of its own paper, or else of that paper's steps one by one. Its own paper is the one among
    ``papers()`` that has its name.
    """
    rows = [*unit_rows(claim), *consistency_rows(claim)]
    contradictory = any(row.where == "contradictory" for row in rows)
    chain = proof_of(claim)
    gaps = [] if chain else list(open_rows(claim, _own_decisions(claim)))
    report = search(claim, candidates=candidates, seed=seed)
    judgement = refuting_point(claim, report.lead) if report.lead else None
    rows = [*_search_rows(claim, report, judgement), *rows, *gaps, *_repair_rows(claim, seed)]
    opened = gaps or report.lead
    state = "open" if opened else "proved" if chain else "survived"
    state = "refuted" if judgement else "contradictory" if contradictory else state
    searched = {
        "candidates": report.candidates, "admissible": report.admissible, "seed": seed,
        "largest_ratio": report.best.ratio if report.best else 0.0,
    }  # fmt: skip
    if chain and judgement:
        raise Contradiction(f"{claim.ref}: an instance refutes a claim whose proof is complete")
    steps = len(chain.decisions) if chain and state == "proved" else 0
    instance = judgement.to_json() if judgement else None
    return Report(claim.ref, claim.title, state, tuple(rows), steps, searched, instance)


def _own_decisions(claim: Claim) -> Iterable[Decision]:
    paper = papers().get(claim.paper)
    if paper is None:
        return ()
    if any(derivation.fits(claim, algorithm_of(claim)) for derivation in paper.derivations):
        return prove(claim).decisions
    return map(library().decided, [step.name for step in paper.steps])


def _search_rows(claim: Claim, report: SearchReport, judgement: Judgement | None) -> Iterator[Row]:
    if judgement:
        yield Row(claim.ref, "statement", refutation_text(judgement.to_json()), "instance")
    elif report.lead:
        what = f"left / right reaches {report.lead.ratio:.4g} in floating point; no exact instance confirms it"
        yield Row(claim.ref, "statement", what, "search")


def _repair_rows(claim: Claim, seed: int) -> Iterator[Row]:
    for repair in repairs(claim, seed=seed):
        yield Row(claim.ref, repair.where, repair.sentence, "repair")
