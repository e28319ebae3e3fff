"""Published evidence on a claim, from the scorecard and certificates, as a page shows it. Nothing is verified anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ...evidence.scorecard import published_rows
from ...files import read_json
from ...papers import papers
from ...papers.proofs import library
from ...papers.saved_certificates import STEPS, folders, source_of
from ...proof.derivations import Derivation
from ...proof.library import CLAIM
from ...proof.printed_proof import PrintedProof
from ...proof.text import JOINTS, in_letters
from ...tightness import scorecard_column

NOT_CHECKED = "not checked"

KINDS = ("proof", "search", "instance", "needs", "measured", "units", "consistency")
"""The kinds of evidence that the scorecard can be filtered by."""

TIES = {"assumes": "the claim assumes {}", "reading": "the claim is read as the proof needs it: {}"}
"""Words of the steps on a claim itself, by the second part of their names."""


@dataclass(frozen=True)
class ProofStep:
    """One step of a proof.

    Attributes:
        equation: where it is printed. says: one line. kind: one of ``proof.steps.KINDS``. outcome: as decided.
        why: by hand. evidence: on what the decision rests, in words. against: where it fails. repaired_by: other steps'
            names. rests_on: likewise. printed: whether the paper prints it.
    """

    name: str
    equation: str
    says: str
    kind: str
    outcome: str
    why: str = ""
    evidence: str = ""
    against: str = ""
    rests_on: tuple[str, ...] = ()
    repaired_by: tuple[str, ...] = ()
    printed: bool = True


@dataclass(frozen=True)
class Proof:
    """A claim's proof as its certificate has it.

    Attributes:
        source: its name. outcome: of its steps. joints: how they are joined, in words. axioms, assumptions: what the
            kernel's theorem rests on. steps: the printed proof's. ties: those on the claim itself.
    """

    source: str
    outcome: str
    joints: str
    axioms: tuple[str, ...]
    assumptions: tuple[str, ...]
    steps: tuple[ProofStep, ...]
    ties: tuple[ProofStep, ...]

    @property
    def to_decide(self) -> int:
        """The number of steps besides those that are given."""
        return sum(step.outcome != "given" for step in (*self.steps, *self.ties))


@cache
def rows() -> dict[str, dict[str, Any]]:
    """The published scorecard's rows by ref.

    >>> rows()["fast.thm1@main"]["verdict"]
    'refuted'
    """
    return published_rows()


def kinds_of(row: Mapping[str, Any] | None) -> list[str]:
    """List the kinds of evidence in a row, out of ``KINDS``."""
    if row is None:
        return []
    evidence = row["evidence"]
    proof, exact = evidence["proof"], evidence["exact"]
    there = {
        "proof": proof is not None and proof["outcome"] == "proved",
        "search": exact["search"] is not None,
        "instance": exact["instance"] is not None,
        "needs": bool(evidence["needs"]),
        "measured": bool(evidence["measured"]),
        "units": not evidence["units"]["homogeneous"],
        "consistency": bool(evidence["consistency"]),
    }
    return [kind for kind in KINDS if there[kind]]


def largest_ratio(row: Mapping[str, Any] | None) -> str:
    """The largest left/right of a row, with where it was seen.

    >>> largest_ratio(rows()["fast.thm1@main"]), largest_ratio(None)
    ('3.29 (instance)', 'not checked')
    """
    exact = row["evidence"]["exact"] if row else {"instance": None, "search": None}
    if exact["instance"]:
        return f"{_ratio(exact['instance']['ratio'])} (instance)"
    return f"{_ratio(exact['search']['largest_ratio'])} (search)" if exact["search"] else NOT_CHECKED


def _ratio(value: Any) -> str:
    return "unlimited" if value is None else f"{float(value):.3g}"


def tightness_of(ref: str) -> Mapping[str, Any] | None:
    """Return the published tightness of a claim, or ``None`` where nothing is published."""
    return scorecard_column.published().get(ref)


def tightness_in_short(ref: str) -> str:
    """A claim's tightness in a cell.

    >>> tightness_in_short("fast.thm2@wide"), tightness_in_short("flics.thm2@main"), tightness_in_short("my.thm1@main")
    ('1.16', 'not applicable', 'not checked')
    """
    found = tightness_of(ref)
    if found is None:
        return NOT_CHECKED
    column = found["column"]
    return str(column["status"]) if column["value"] is None else scorecard_column.text(column)


def instances(ref: str) -> list[dict[str, Any]]:
    """List the published instances' files of a claim: the one that refutes it first, then those that violate what it
    needs.

    Each has ``command``, which judges it afresh, and ``file``.
    """
    folder = papers()[name].folder if (name := ref.partition(".")[0]) in papers() else None
    if folder is None:
        return []
    found = [folder / "instances" / f"{ref}.json", *sorted((folder / "needs").glob(f"{ref}.*.json"))]
    return [
        {
            "file": path.relative_to(folder.parents[2]).as_posix(),
            "data": read_json(path),
            "command": _replayed(path, ref, folder),
        }
        for path in found
        if path.exists()
    ]


def _replayed(path: Path, ref: str, folder: Path) -> str:
    first = path.parent.name == "instances" or not (folder / "instances" / f"{ref}.json").exists()
    alone = path.parent.name == "instances" or path == min((folder / "needs").glob(f"{ref}.*.json"))
    return f"fedtheory replay {ref if first and alone else path.relative_to(folder.parents[2]).as_posix()}"


def proof_of(ref: str) -> Proof | None:
    """The proof in a claim's certificate; ``None`` where there is none."""
    path = folders().get(ref.partition(".")[0], Path()) / f"{ref}.json"
    if not path.exists():
        return None
    data = read_json(path)
    source = source_of(ref, data["source"], library())
    names = library().needed(source.steps) if isinstance(source, PrintedProof) else ()
    origin = source.origin if isinstance(source, Derivation) else None
    row = rows().get(ref)
    said = row["evidence"]["proof"]["joints"] if row and row["evidence"]["proof"] else ""
    return Proof(
        data["source"],
        data["outcome"],
        JOINTS.get(said, "") if data["outcome"] == "proved" else "",
        tuple(origin.axioms()) if origin else (),
        tuple(origin.assumed()) if origin else (),
        tuple(_step(name) for name in names),
        tuple(_tie(step) for step in data["steps"]),
    )


@cache
def _decided() -> dict[str, dict[str, Any]]:
    """The decisions of all papers' steps, as their files have them."""
    files = (folder / STEPS for folder in folders().values())
    return {step["name"]: step for path in files if path.exists() for step in read_json(path)["steps"]}


@cache
def _step(name: str) -> ProofStep:
    step, decided = library().step(name), _decided().get(name)
    outcome = decided["outcome"] if decided else NOT_CHECKED
    rests, against = _evidence(decided or {"findings": []})
    says, why = (in_letters(text, papers()[step.paper]) for text in (step.says, step.why))
    return ProofStep(
        name,
        step.equation,
        says,
        step.kind,
        outcome,
        why,
        rests,
        against,
        step.rests_on,
        step.repaired_by,
        step.printed,
    )


def _tie(step: Mapping[str, Any]) -> ProofStep:
    kind, _, rest = step["name"].removeprefix(CLAIM).partition(".")
    says = TIES.get(kind, "{}").format(rest if kind == "assumes" else rest.replace("_", " "))
    rests, against = _evidence(step)
    return ProofStep(step["name"], "", says.rstrip(": "), kind, step["outcome"], "", rests, against)


_WORDS = {
    "Certificate": "a certificate of positivity", "GramCertificate": "a certificate over the Gram matrix",
    "Counterexample": "a counterexample", "GramCounterexample": "vectors that contradict it", "text": "",
}  # fmt: skip


def _evidence(step: Mapping[str, Any]) -> tuple[str, str]:
    """Say on what a decision rests, and where a step fails."""
    found = [each for finding in step["findings"] for each in finding["evidence"]]
    kinds = [_WORDS[each["type"]] or _text(each["data"]) for each in found]
    counted = [f"{kinds.count(kind)} times {kind}" if kinds.count(kind) > 1 else kind for kind in dict.fromkeys(kinds)]
    points = [_point(each["data"]) for each in found if each["type"] == "Counterexample"]
    return "; ".join(counted), "; ".join(filter(None, points))


def _text(text: str) -> str:
    """A decision's text: a theorem of the kernel as such, else a point."""
    return "a proof that the kernel checks" if text.startswith("{") else text


def _point(data: Any) -> str:
    if not isinstance(data, dict) or "point" not in data:
        return ""
    pairs = data["point"].items() if isinstance(data["point"], dict) else data["point"]
    return f"{', '.join(f'{name} = {value}' for name, value in pairs)}: off by {data.get('value', '')}"
