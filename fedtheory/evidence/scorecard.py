"""The scorecard: for every claim its verdict and evidence, as a file that can be compared with the published one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import json_text, read_json, write_beside
from .verdict import Verdict
from .verdict_rule import covered

SCHEMA = 3


def to_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the scorecard as plain data (schema: docs/scorecard.md), its numbers to six digits.

    Tightness is the published one: it depends on a solver, and not on the evidence.
    """
    from ..tightness.scorecard_column import published_column  # lazily: it loads the engine

    rows = []
    for verdict in verdicts:
        id, edition = verdict.claim.split("@")
        rows.append(
            {
                "id": id,
                "edition": edition,
                "verdict": verdict.verdict,
                "readings": covered(verdict.verdict, verdict.evidence),
                "why": verdict.why,
                "evidence": rounded(verdict.evidence),
                "instance": verdict.evidence["exact"]["instance"] and verdict.evidence["exact"]["instance"]["file"],
                "tightness": published_column(verdict.claim),
            }
        )
    return {"schema": SCHEMA, "fedtheory": __version__, "rows": rows}


def published_rows() -> dict[str, dict[str, Any]]:
    """Return the published scorecard's rows by ref.

    >>> published_rows()["fast.thm1@main"]["verdict"]
    'refuted'
    """
    rows = read_json(Path(str(files("fedtheory.evidence"))) / "published" / "scorecard.json")["rows"]
    return {f"{row['id']}@{row['edition']}": row for row in rows}


def rounded(value: Any) -> Any:
    """Return plain data with every number to the six digits of the scorecard."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return [rounded(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def differences(scorecard: dict[str, Any], published: dict[str, Any]) -> list[str]:
    """List the verdicts and the instances that differ from the published ones, one line each.

    A line names the devices on which the two were measured, if they differ.

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
                mine, theirs = (_devices(card.get(ref, {})) for card in (found, known))
                others = f" (measured on {mine}, published on {theirs})" * bool(mine and theirs and mine != theirs)
                lines.append(f"{ref}: {key} is {here}, published is {there}{others}")
    return lines


def _devices(row: Mapping[str, Any]) -> str:
    """Where a row's claim was measured, if it was; rows that do not say it are of a CPU."""
    measured = row.get("evidence", {}).get("measured", [])
    return ", ".join(dict.fromkeys(each.get("device", "cpu") for each in measured))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write indented JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, (json_text(content, indent=1) + "\n").encode())


def least_exceeding(measured: Mapping[str, Any]) -> float | None:
    """Return the left/right that a measurement would find to exceed 1 in four cases of five: what it could see.

    The spread between replicas, relative to their mean, is taken to be what it was; where it is so large that no
    left/right would be found, this is inf. A row that does not have it says None.

    >>> row = {"left": 0.5, "left_interval": [0.4, 0.6], "right": 2.0, "replicas": 8, "confidence": 0.99}
    >>> round(least_exceeding(row), 3)
    1.348
    """
    from ..diagnosis.power import least_excess

    if "left_interval" not in measured:
        return None
    low, high = measured["left_interval"]
    excess = least_excess((high - low) / 2, measured["replicas"], confidence=measured["confidence"])
    share = excess / float(measured["left"]) if measured["left"] > 0 else inf
    return 1 / (1 - share) if share < 1 else inf
