"""The scorecard: for every claim and every kind of evidence, what was found, and the verdict it gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
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
from .work import run_all

PUBLISHED = Path(str(files("fedtheory.evidence"))) / "published"
"""The scorecard and the instances that come with the package."""

SEARCH_BUDGET = {"candidates": 600, "climbs": 12, "steps": 40}

Progress = Callable[[str, int, int], None]
"""Called with what is under way, steps done, steps in all."""


def plans() -> tuple[RealData, ...]:
    """The real data at hand."""
    return (DIGITS, FASHION_MNIST) if fashion_mnist.available() else (DIGITS,)


def assess(ref: str) -> Verdict:
    """All evidence on one claim, and its verdict: see ``assess_all``."""
    return assess_all([find_claim(ref)], workers=1)[0]


def assess_all(
    statements: Sequence[Claim] | None = None, workers: int | None = None, progress: Progress | None = None
) -> list[Verdict]:
    """All evidence on claims (default: every one), and their verdicts.

    A replayed refutation beats everything; a search whose best ratio stays at or below 1 gives ``holds``; a lead
    that no instance confirms leaves the claim ``not checked``. Editions with the same mathematics share their search
    and their runs.
    """
    statements = all_claims() if statements is None else statements
    twins = {s.ref: next(t.ref for t in statements if same_mathematics(s, t)) for s in statements}
    searched = list(dict.fromkeys(twins.values()))
    tasks = {plan.dataset: partial(_measure_all, searched, plan) for plan in reversed(plans())}
    tasks |= {f"search {ref}": partial(search, ref, **SEARCH_BUDGET) for ref in searched}
    tasks |= {f"replay {s.ref}": partial(published_instance, s.ref) for s in statements}
    results = run_all(tasks, workers, progress)
    verdicts = []
    for statement in statements:
        twin, instance = twins[statement.ref], results[f"replay {statement.ref}"]
        evidence = {
            "units": _units(statement),
            "exact": {"search": _search_json(results[f"search {twin}"]), "instance": _instance_json(instance)},
            "measured": [results[plan.dataset][twin] for plan in plans()],
        }
        verdicts.append(Verdict(statement.ref, *_overall(evidence), evidence, instance))
    return verdicts


def _measure_all(refs: Sequence[str], plan: RealData) -> dict[str, dict[str, Any]]:
    return {ref: measure(ref, plan) for ref in refs}


def same_mathematics(one: Claim, other: Claim) -> bool:
    """Whether two editions differ in nothing but where they are printed."""
    return replace(one, edition="", source="") == replace(other, edition="", source="")


def published_instance(ref: str) -> dict[str, Any] | None:
    """The refuting instance that comes with the package, replayed; ``None`` if there is none.

    Raises:
        ReplayError: the file does not say what its numbers say.
    """
    path = PUBLISHED / "instances" / f"{ref}.json"
    if not path.exists():
        return None
    content = read_json(path)
    if content.get("claim") != ref:
        raise ValueError(f"{path.name}: claim = {content.get('claim')!r}, allowed is {ref!r}")
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
