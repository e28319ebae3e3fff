"""The scorecard: for every claim and every kind of evidence, what was found, and the verdict it gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import __version__
from ..claims import all_claims
from ..claims import claim as find_claim
from ..claims.statement import Claim
from ..data import fashion_mnist
from ..simulation.checkpoint import write_beside
from .confirm import replay
from .instance import SCHEMA, read_json
from .measured import DIGITS, FASHION_MNIST, RealData, measure
from .search import ROUNDING, SearchReport, search
from .units import check_units
from .verdict import Verdict

PUBLISHED = Path(str(files("fedtheory.evidence"))) / "published"
"""The scorecard and the instances that come with the package."""

SEARCH_BUDGET = {"candidates": 600, "climbs": 12, "steps": 40}

Progress = Callable[[str, int, int], None]
"""Called with what is under way, steps done, steps in all."""


def plans() -> tuple[RealData, ...]:
    """The real data at hand."""
    return (DIGITS, FASHION_MNIST) if fashion_mnist.available() else (DIGITS,)


def assess(ref: str, progress: Progress | None = None) -> Verdict:
    """All evidence on a claim, and its verdict: a replayed refutation beats everything; a search whose best ratio
    stays at or below 1 gives ``holds``; a lead that no instance confirms leaves the claim ``not checked``."""
    statement = find_claim(ref)
    instance = published_instance(statement)
    report = search(statement.ref, **SEARCH_BUDGET, progress=_labelled(progress, f"{ref}: search"))
    evidence = {
        "units": _units(statement),
        "exact": {"search": _search_json(report), "instance": _instance_json(instance)},
        "measured": [measure(ref, plan, progress=_labelled(progress, f"{ref}: {plan.dataset}")) for plan in plans()],
    }
    verdict, why = _overall(evidence)
    return Verdict(statement.ref, verdict, why, evidence, instance)


def assess_all(progress: Progress | None = None) -> list[Verdict]:
    """``assess`` for every claim; an edition that repeats another one's mathematics shares its search and runs."""
    verdicts: dict[str, Verdict] = {}
    for statement in all_claims():
        twin = next((find_claim(r) for r in verdicts if same_mathematics(find_claim(r), statement)), None)
        if twin is None:
            verdicts[statement.ref] = assess(statement.ref, progress)
            continue
        instance = published_instance(statement)
        evidence = dict(verdicts[twin.ref].evidence)
        evidence["exact"] = evidence["exact"] | {"instance": _instance_json(instance)}
        verdict, why = _overall(evidence)
        verdicts[statement.ref] = Verdict(statement.ref, verdict, why, evidence, instance)
    return list(verdicts.values())


def same_mathematics(one: Claim, other: Claim) -> bool:
    """Whether two editions differ in nothing but where they are printed."""
    return replace(one, edition="", source="") == replace(other, edition="", source="")


def published_instance(statement: Claim) -> dict[str, Any] | None:
    """The refuting instance that comes with the package, replayed; ``None`` if there is none.

    Raises:
        ReplayError: the file does not say what its numbers say.
    """
    path = PUBLISHED / "instances" / f"{statement.ref}.json"
    if not path.exists():
        return None
    content = read_json(path)
    if content.get("claim") != statement.ref:
        raise ValueError(f"{path.name}: claim = {content.get('claim')!r}, allowed is {statement.ref!r}")
    replay(content)
    return content


def _overall(evidence: dict[str, Any]) -> tuple[str, str]:
    """The verdict and one sentence of why."""
    instance, found = evidence["exact"]["instance"], evidence["exact"]["search"]
    if instance and instance["refutes"]:
        return "refuted", (
            f"A deterministic instance exceeds the bound {instance['ratio']:.3g} times with every printed hypothesis "
            f"met, under all {instance['readings']} readings."
        )
    exceeded = [row["data"] for row in evidence["measured"] if row["outcome"] == "exceeded"]
    if exceeded:
        return "not checked", f"The bound is exceeded on {exceeded[0]}; no exact instance confirms it."
    if found["largest_ratio"] > 1 + ROUNDING:
        return "not checked", f"The search found a ratio of {found['largest_ratio']:.3g}; no instance confirms it."
    units = evidence["units"]["findings"]
    remark = f" Not homogeneous in {' and '.join(f['where'] for f in units)}." if units else ""
    return "holds", (
        f"No admissible setting among {found['candidates']} exceeds the bound; the largest left / right is "
        f"{found['largest_ratio']:.3g}, and {found['largest_late_ratio']:.3g} once the first term has faded.{remark}"
    )


def _units(statement: Claim) -> dict[str, Any]:
    findings = [{"where": finding.where, "what": finding.what} for finding in check_units(statement)]
    return {"homogeneous": not findings, "findings": findings}


def _search_json(report: SearchReport) -> dict[str, Any]:
    return {
        "candidates": report.candidates,
        "admissible": report.admissible,
        "seed": report.seed,
        "largest_ratio": report.best.ratio if report.best else 0.0,
        "largest_ratio_rounds": report.best.rounds if report.best else 0,
        "largest_late_ratio": report.best_late.ratio if report.best_late else 0.0,
        "largest_late_ratio_rounds": report.best_late.rounds if report.best_late else 0,
    }


def _instance_json(instance: dict[str, Any] | None) -> dict[str, Any] | None:
    if instance is None:
        return None
    return {
        "file": f"instances/{instance['claim']}.json",
        "refutes": instance["refutes"],
        "ratio": float(instance["ratio"]),
        "readings": len(instance["readings"]),
    }


def _labelled(progress: Progress | None, label: str) -> Callable[[int, int], None] | None:
    return (lambda done, total: progress(label, done, total)) if progress else None


def to_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The scorecard as plain data (schema: docs/scorecard.md), its numbers to six digits."""
    rows = []
    for verdict in verdicts:
        id, edition = verdict.claim.split("@")
        rows.append({
            "id": id, "edition": edition, "verdict": verdict.verdict, "why": verdict.why,
            "evidence": _rounded(verdict.evidence),
            "instance": verdict.evidence["exact"]["instance"] and verdict.evidence["exact"]["instance"]["file"],
        })  # fmt: skip
    return {"schema": SCHEMA, "fedtheory": __version__, "rows": rows}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list) else value


def differences(scorecard: dict[str, Any], published: dict[str, Any]) -> list[str]:
    """Where the verdicts differ from the published ones, one line each.

    >>> row = {"id": "a.thm1", "edition": "main", "verdict": "holds", "instance": None}
    >>> differences({"rows": [row]}, {"rows": [row | {"verdict": "refuted"}]})
    ['a.thm1@main: verdict is holds, published is refuted']
    """
    found, known = ({f"{r['id']}@{r['edition']}": r for r in card["rows"]} for card in (scorecard, published))
    lines = []
    for ref in sorted(found | known):
        for key in ("verdict", "instance"):
            here, there = (card[ref][key] if ref in card else "absent" for card in (found, known))
            if here != there:
                lines.append(f"{ref}: {key} is {here}, published is {there}")
    return lines


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Indented JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
