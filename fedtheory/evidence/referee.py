"""Referee of anyone's theorems: stated in a Python file or a folder, they get the treatment of the built-in ones."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from ..arguments import check_kind
from ..claims.statement import Claim
from ..files import check_target, json_text, write_beside
from ..markdown import cell
from ..papers import added, explained, papers
from ..papers import load as load_paper
from ..papers.paper import Paper, PaperError
from ..papers.proofs import library, proof_of, sentence
from ..papers.registry import subject_of
from ..proof.chains import Chain, decided_by
from ..proof.step_certificates import chain_data
from ..proof.steps import Decision
from ..rationals import checked_seed
from .findings import Row, consistency_rows, needs_text, open_rows, refutation_text, unit_rows
from .judge import Judgement
from .refute import falls_without, followed_up, search_further
from .repair import repairs
from .search import SearchReport, search
from .verdict_rule import PROVED_AND_REFUTED, proved_and_refuted

Tell = Callable[[str, int, int], None] | None


class RefereeError(ValueError):
    """Error where a file states no theorem that can be examined; nothing is decided about it."""


@dataclass(frozen=True)
class Report:
    """Findings of the referee about a claim.

    Attributes:
        claim: its ref. title: one line.
        state: one of ``STATES``.
        rows: the findings.
        steps: of the complete proof that the state rests on, and 0 where it rests on none.
        proof: by what it is proved, or why not, in a sentence.
        search: what was searched and what was not, as plain data.
        instance: the refuting instance's file content, or ``None``.
        statement: the claim itself.
        chain: the complete proof that an instance contradicts, with its certificates, as plain data; or ``None``.
    """

    claim: str
    title: str
    state: str
    rows: tuple[Row, ...]
    steps: int
    proof: str
    search: dict[str, Any]
    instance: dict[str, Any] | None
    statement: Claim | None = field(default=None, repr=False, compare=False)
    chain: dict[str, Any] | None = None

    def data(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "claim": self.claim,
            "title": self.title,
            "state": self.state,
            "search": self.search,
            "proof": self.proof,
            "findings": [row.data() for row in self.rows],
            "steps": self.steps,
            "instance": self.instance,
            **({"chain": self.chain} if self.chain else {}),
        }

    def markdown(self) -> str:
        """Return the report as Markdown."""
        found = self.search
        lines = [f"# {cell(self.claim)}: {cell(self.title)}", "", f"**{self.state}**: {STATES[self.state]}", ""]
        lines += [
            f"Searched: {found['searched']}. {found['candidates']} settings, of which {found['admissible']} meet "
            f"every hypothesis; largest left / right {found['largest_ratio']:.6g}.",
            "",
            f"Not searched: {found['left_out']}.",
            "",
            f"Proof: {cell(self.proof)}.",
            "",
        ]
        lines += table(self.rows) if self.rows else ["No finding."]
        return "\n".join([*lines, *self._instance_lines()]) + "\n"

    def _instance_lines(self) -> list[str]:
        if self.instance is None:
            return []
        own = {key: value for key, value in self.instance.items() if key not in JUDGED}
        content = ",\n".join(f"  {json_text(key)}: {json_text(value)}" for key, value in own.items())
        both = "" if self.chain is None else f" The proof, with its certificates, is written to `{self.proof_file}`."
        return [
            "",
            "The instance:",
            "",
            "```json",
            f"{{\n{content}\n}}",
            "```",
            "",
            f"`--save` writes it, with what was judged, to `{self.instance_file}` beside the report; "
            f"`fedtheory replay {self.instance_file} --theorem FILE` judges it afresh, where FILE states the theorem."
            f"{both}",
        ]

    @property
    def instance_file(self) -> str:
        """The name of the instance's file."""
        return f"{self.claim}.instance.json"

    @property
    def proof_file(self) -> str:
        """The name of the file of the proof that an instance contradicts."""
        return f"{self.claim}.proof.json"


CLIMBS, DRAWN_FOR_A_CLIMB = 12, 30
"""Largest number of candidates from which a search climbs, and number of those drawn for each."""

JUDGED = ("schema", "fedtheory", "functional", "chosen", "hypotheses", "left", "right", "ratio", "refutes", "readings")
"""Entries of an instance's file that hold the judgement, and not the instance."""

SUFFIXES = (".md", ".json")
"""Formats in which a report can be written."""


def save(reports: Sequence[Report], path: str | Path) -> Path:
    """Write reports in the format of the path's suffix, ``.json`` (a list of them) or ``.md``.

    Beside them, each refuting instance is written in a file that can be replayed. Each file is there whole or not at
    all.
    """
    path = check_target(path, *SUFFIXES)
    texts = {
        ".json": lambda: json_text([report.data() for report in reports], indent=1) + "\n",
        ".md": lambda: "\n".join(report.markdown() for report in reports),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, texts[path.suffix]().encode())
    save_instances(reports, path.parent)
    return path


def save_instances(reports: Iterable[Report], folder: Path) -> None:
    """Write each refuting instance in a file of the folder that can be replayed, and the proof that it contradicts, if
    there is one."""
    for report in reports:
        for name, content in ((report.instance_file, report.instance), (report.proof_file, report.chain)):
            if content:
                write_beside(folder / name, (json_text(content, indent=1) + "\n").encode())


STATES = {
    PROVED_AND_REFUTED: "its proof is complete, and an exact instance refutes it: one of the two is wrong, and both "
    "are given",
    "refuted": "an exact instance meets every hypothesis and exceeds the bound",
    "contradictory": "no setting meets all hypotheses",
    "needs": "it falls where an assumption is violated that it does not make; no exact instance was found that does "
    "not violate one and exceeds the bound",
    "open": "a step of the proof does not hold, or how its steps follow on each other is only declared, or a lead is "
    "not confirmed; the statement itself may be right",
    "proved": "its proof is composed by the kernel, and nothing was found against it",
    "steps decided": "every step of a proof from the papers at hand is decided, how they follow on each other is "
    "declared there, and nothing was found against it",
    "untested": "no setting that was looked at meets every hypothesis, so nothing is said for or against it",
    "survived": "nothing was found against it, which is no proof",
}
"""Meanings of a report's states."""


def status(reports: Iterable[Report]) -> int:
    """Return the exit status of some reports.

    It is 0 if every claim is proved, has its steps decided or survived. It is 1 if one is refuted (with a proof or
    without), contradictory or needs what it does not assume. Else it is 2: one is not judged.
    """
    states = {report.state for report in reports}
    if states & {PROVED_AND_REFUTED, "refuted", "contradictory", "needs"}:
        return 1
    return 2 if states & {"open", "untested"} else 0


def table(rows: Sequence[Row]) -> list[str]:
    """Write findings as a Markdown table."""
    lines = ["| claim | where | finding | found by |", "| --- | --- | --- | --- |"]
    return lines + [f"| {cell(row.claim)} | {cell(row.where)} | {cell(row.what)} | {cell(row.check)} |" for row in rows]


def load(path: str | Path) -> Paper:
    """Load the paper of a Python file or folder. IT IS EXECUTED: see ``papers.load``.

    Raises:
        RefereeError: it fails, or states nothing; it is said where.
    """
    try:
        paper = load_paper(path)
        stated = paper.claims
    except PaperError as error:
        raise RefereeError(str(error)) from None
    except Exception as error:
        raise RefereeError(explained(error, Path(path))) from None
    if not stated:
        raise RefereeError(f"{path}: PAPER states nothing: allowed is one with claims")
    return paper


def referee(
    path: str | Path, seed: int = 0, candidates: int = 1500, progress: Callable[[str, int, int], None] | None = None
) -> tuple[Report, ...]:
    """Load a paper and examine all its claims: see ``load`` and ``examine``.

    Args:
        progress: called with (what is done, how much of it is done, how much it is in all).

    Raises:
        RefereeError: it states nothing, another paper has its name, a claim names an algorithm that nobody knows, or
            what the file computes fails; it is said where.
    """
    check_kind("path", path, (str, PathLike), "a file with a paper in it")
    path, seed = Path(path), checked_seed(seed)
    paper = load(path)
    try:
        with added(paper):
            for claim in paper.claims:
                _check_algorithm(claim, path)
            return tuple(_examined(claim, path, seed, candidates, progress) for claim in paper.claims)
    except PaperError as error:
        raise RefereeError(str(error)) from None


def _check_algorithm(claim: Claim, path: Path) -> None:
    """Refuse an algorithm that nobody knows, with the line that names it."""
    try:
        subject_of(claim)
    except ValueError as error:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        lines = [
            node.value.lineno
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.keyword)
            and isinstance(node.value, ast.Constant)
            and node.value.value == claim.algorithm
        ]
        where = f", line {lines[0]}" if lines else ""
        raise RefereeError(f"{path}{where}: {error}") from None


def _examined(claim: Claim, path: Path, seed: int, candidates: int, progress: Tell) -> Report:
    """The report; an error that comes from the file's own code, or from what it says, is told as such."""
    try:
        return examine(claim, seed, candidates, progress)
    except Exception as error:
        files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
        if any(file == str(path) or Path(file).is_relative_to(path) for file in files):
            raise RefereeError(f"{explained(error, path)}; nothing is decided about {claim.ref}") from None
        if isinstance(error, ValueError):
            told = str(error)  # a step's error says where already
            raise RefereeError(told if told.startswith(f"{path}, ") else f"{path}: {claim.ref}: {told}") from None
        raise


def examine(claim: Claim, seed: int = 0, candidates: int = 1500, progress: Tell = None) -> Report:
    """Check everything that can be checked about a claim.

    These are its proof, which is tried first, units, contradictory hypotheses, a search for a counterexample that is
    then confirmed exactly, and how far each constant is from the smallest that survives.

    The search draws so many ``candidates``, and climbs from one in ``DRAWN_FOR_A_CLIMB`` of them, at most ``CLIMBS``.
    It is compared with the kernel's theorems of all papers. Where it is none, what is open is told of its own paper's
    theorem or printed proof of it, or else of that paper's steps one by one. Its own paper is the one among
    ``papers()`` that has its name.
    """
    tell = progress or (lambda label, done, total: None)
    tell(f"{claim.ref}: proof", 0, 1)
    chain = proof_of(claim)
    attempt = chain or _attempt(claim)
    gaps = [] if chain else list(open_rows(claim, _own_decisions(claim, attempt)))
    rows = [*unit_rows(claim), *consistency_rows(claim)]
    contradictory = any(row.where == "contradictory" for row in rows)
    tell(f"{claim.ref}: proof", 1, 1)
    climbs = min(CLIMBS, max(1, candidates // DRAWN_FOR_A_CLIMB))
    searching = partial(tell, f"{claim.ref}: search")
    report = search(claim, candidates=candidates, climbs=climbs, seed=seed, progress=searching)
    tell(f"{claim.ref}: what was found", 0, 1)
    judgement, why = followed_up(claim, report)
    if judgement is None:
        report, judgement, more = search_further(claim, report, seed)
        why = why or more
    needed = {} if judgement else falls_without(claim)
    repaired = list(_repair_rows(claim, seed))
    tell(f"{claim.ref}: what was found", 1, 1)
    unseen = [row for row in _unseen_rows(claim, report) if row.where not in {r.where for r in repaired}]
    found = [*_search_rows(claim, report, judgement, why), *_needs_rows(claim, needed)]
    shown = judgement or next(iter(needed.values()), None)
    both = chain is not None and shown is not None
    if both:
        what = f"{proved_and_refuted(_proof_text(chain), 'below')} Both are saved with the report."
        found.append(Row(claim.ref, "proof", what, "proof and instance"))
    rows = [*found, *rows, *gaps, *unseen, *repaired]
    opened = gaps or report.lead
    state = "open" if opened else "untested" if not report.admissible else chain.verdict if chain else "survived"
    state = "refuted" if judgement else "contradictory" if contradictory else "needs" if needed else state
    state = PROVED_AND_REFUTED if both else state
    searched = {
        "searched": report.searched,
        "left_out": report.left_out,
        "candidates": report.candidates,
        "admissible": report.admissible,
        "seed": seed,
        "largest_ratio": report.best.ratio if report.best else 0.0,
        "unseen": list(report.unseen),
    }
    steps = len(chain.decisions) if chain and state in (chain.verdict, PROVED_AND_REFUTED) else 0
    instance = shown.to_json() if shown else None
    proof = chain_data(chain) if chain and both else None
    return Report(
        claim.ref, claim.title, state, tuple(rows), steps, _proof_text(attempt), searched, instance, claim, proof
    )


def _attempt(claim: Claim) -> Chain | None:
    """The chain of the theorem, or of the printed proof, that is nearest to a claim: its own paper's if there is one,
    else another's."""
    paper, nearest = papers().get(claim.paper), library().nearest(claim)
    own = [source for source in nearest if paper and source in (*paper.derivations, *paper.printed_proofs)]
    return decided_by(claim, (own or nearest)[0], library()) if nearest else None


def _proof_text(attempt: Chain | None) -> str:
    """Name what proves a claim, or say how far that comes which was tried first."""
    if attempt is None or attempt.source is None:
        return "no theorem of any paper is about this left side of this algorithm's runs"
    name, first = attempt.source.name, attempt.first_open
    if first is None:
        under = "; ".join(f"{of}: {' or '.join(options)}" for of, options in attempt.narrowed.items())
        many = f"{len(attempt.decisions)} steps, each decided, given by definition or repaired"
        steps = f"'{name}', {'made by the kernel' if attempt.theorem is not None else many}"
        return f"{steps}, read with {under}" if under else steps
    return f"not proved; '{name}' does not show it: {sentence(first).rstrip('.')}"


def _own_decisions(claim: Claim, attempt: Chain | None) -> Iterable[Decision]:
    paper = papers().get(claim.paper)
    if paper is None:
        return ()
    if attempt and attempt.source in (*paper.derivations, *paper.printed_proofs):
        return attempt.decisions
    return map(library().decided, [step.name for step in paper.steps])


def _search_rows(claim: Claim, report: SearchReport, judgement: Judgement | None, why: str) -> Iterator[Row]:
    if judgement:
        yield Row(claim.ref, "statement", refutation_text(judgement.to_json()), "instance")
    elif report.lead:
        what = f"left / right reaches {report.lead.ratio:.4g} in floating point; no exact instance confirms it: {why}"
        yield Row(claim.ref, "statement", what, "search")


def _needs_rows(claim: Claim, needed: Mapping[str, Judgement]) -> Iterator[Row]:
    for kind, judgement in needed.items():
        yield Row(claim.ref, "assumptions", needs_text(kind, judgement.to_json()), "instance")


def _unseen_rows(claim: Claim, report: SearchReport) -> Iterator[Row]:
    for name in report.unseen:
        most = f"at most {report.shares[name]:.2g} of the right side at the worst places looked at"
        what = f"{name} is unseen: {most}, which do not say whether it is needed"
        yield Row(claim.ref, name, what, "search")


def _repair_rows(claim: Claim, seed: int) -> Iterator[Row]:
    for repair in repairs(claim, seed=seed):
        yield Row(claim.ref, repair.where, repair.sentence, "repair")
