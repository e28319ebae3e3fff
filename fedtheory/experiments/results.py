"""What an experiment gave, as one JSON file: every number with its seeds, commit, data and time."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from . import schema
from .tables import folder

CONFIGURATION = ("checks.toml", "curves.toml")
"""Files beside experiments that are none."""
SHOWN = 60
"""So many points of a curve are kept."""


def experiment_files(root: Path | None = None) -> list[Path]:
    """All experiment files, by paper and name."""
    return [path for path in sorted((root or folder()).glob("*/*.toml")) if path.name not in CONFIGURATION]


def published(path: Path) -> Path:
    """Where the results of an experiment file are kept.

    >>> published(Path("experiments/fast/table2.toml")).as_posix()
    'experiments/fast/tables/ours/table2.json'
    """
    return path.parent / "tables" / "ours" / f"{path.stem}.json"


def gathered(
    experiment: schema.Experiment, results: Iterable[Mapping[str, Any]], searched: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The results of an experiment's units, setting by setting.

    Args:
        results: of units, in any order.
        searched: what a search saw.
    """
    by_point: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        by_point.setdefault(result["point"], []).append(result)
    every = [result for group in by_point.values() for result in group]
    called = {} if searched is not None else {point.name: dict(point.labels) for point in experiment.points()}
    path = Path(experiment.name)
    content: dict[str, Any] = {
        "file": f"{path.parent.name}/{path.name}",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "commits": sorted({result["commit"] for result in every}),
        "data": sorted({result["data"] for result in every if result["data"]}),
        "seconds": round(sum(float(result["seconds"]) for result in every), 3),
        "units": {each.name: each.unit for each in experiment.checked.statistics},
        "settings": [
            setting_rows(name, group) | ({"labels": called[name]} if name in called else {})
            for name, group in by_point.items()
        ],
    }
    return content | ({"search": searched} if searched is not None else {})


def setting_rows(name: str, results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """One setting's numbers over its seeds."""
    results = sorted(results, key=lambda result: int(result["seed"]))
    names = results[0]["statistics"]
    diverged = [f"seed {result['seed']}: {result['diverged']}" for result in results if result["diverged"]]
    return {
        "name": name,
        "labels": results[0]["labels"],
        "seeds": [result["seed"] for result in results],
        "seconds": round(sum(float(result["seconds"]) for result in results), 3),
        "commits": sorted({result["commit"] for result in results}),
        "statistics": {each: summary(each, results) for each in names},
        "curves": thinned(results),
    } | ({"diverged": diverged} if diverged else {})


def thinned(results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """At most ``SHOWN`` of the recorded rounds, and of each watched row a list for each seed, means over replicas."""
    rounds = results[0]["rounds"]
    kept = sorted({round(k * (len(rounds) - 1) / (SHOWN - 1)) for k in range(SHOWN)}) if len(rounds) > SHOWN else None
    chosen = range(len(rounds)) if kept is None else kept
    rows = {
        name: [[float(f"{fmean(float(row[k]) for row in result['rows'][name]):.5g}") for k in chosen]
               for result in results]
        for name in results[0]["rows"]
    }  # fmt: skip
    return {"rounds": [rounds[k] for k in chosen], **rows}


def holds_more(kept: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Whether results that are kept have runs that others lack, of settings that the others know."""

    def runs(of: Mapping[str, Any]) -> set[tuple[str, int]]:
        return {(row["name"], seed) for row in of["settings"] for seed in row["seeds"]}

    return kept.get("sha256") == content["sha256"] and not runs(kept) <= runs(content)


def summary(name: str, results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean and deviation over all runs of a statistic, and what they are of."""
    values = [[float(v) for v in result["statistics"][name]["values"]] for result in results]
    inside = [float(v) for result in results for v in result["statistics"][name]["deviations"]]
    every = [value for group in values for value in group]
    finite = all(map(math.isfinite, every))
    return {
        "mean": fmean(every) if finite else math.nan,
        "deviation": stdev(every) if finite and len(every) > 1 else math.nan,
        "runs": len(every),
        "values": [group[0] if len(group) == 1 else group for group in values],
    } | ({"deviation within a run": fmean(inside)} if all(map(math.isfinite, inside)) else {})


def short(row: Mapping[str, Any]) -> dict[str, str]:
    """One setting as a row to print."""
    shown = {"setting": str(row["name"]), "seeds": str(len(row["seeds"]))}
    for name, numbers in row["statistics"].items():
        mean, deviation = float(numbers["mean"]), float(numbers["deviation"])
        shown[name] = f"{mean:.4g}" + (f" ± {deviation:.2g}" if math.isfinite(deviation) else "")
    return shown | {"seconds": f"{row['seconds']:g}"}
