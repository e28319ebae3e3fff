"""Results of an experiment, as one JSON file: every number with its seeds, commit, data and time.

Settings keep of each seed the values of every statistic, the deviations within its runs, and its curves. So rows of
different seeds are put together to what one row of all would be.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from ..files import read_file
from ..provenance import UNKNOWN, together
from . import schema
from .files_beside import hashes, read_beside
from .printed_tables import folder

CONFIGURATION = ("checks.toml", "curves.toml")
"""Files beside experiments that are not experiment files."""
SHOWN = 60
"""The most points of a curve that are kept."""
WITHIN = "deviation within a run"


def experiment_files(root: Path | None = None) -> list[Path]:
    """All experiment files, by paper and name."""
    return [path for path in sorted((root or folder()).glob("*/*.toml")) if path.name not in CONFIGURATION]


def published(path: Path) -> Path:
    """Return the path of the kept results of an experiment file.

    >>> published(Path("experiments/fast/table2.toml")).as_posix()
    'experiments/fast/tables/ours/table2.json'
    """
    return path.parent / "tables" / "ours" / f"{path.stem}.json"


def digest(path: Path) -> str:
    """Compute the hash by which results are known to be of the file as it is now; of the Python files beside it, see
    ``is_current``."""
    return hashlib.sha256(read_file(path)).hexdigest()


def code_of(experiment: schema.Experiment) -> dict[str, str]:
    """The sha256 of each Python file beside an experiment file that one of its settings names.

    Raises:
        ValueError: one cannot be read.
    """
    beside, found = Path(experiment.name).parent, dict[str, str]()
    for content in experiment.contents():
        found |= hashes(beside, content)
    return dict(sorted(found.items()))


def is_current(path: Path, content: Mapping[str, Any]) -> bool:
    """Whether results are of the experiment file, and of the Python files beside it, as they are now."""
    if content["sha256"] != digest(path):
        return False
    try:
        return all(
            hashlib.sha256(read_beside(path.parent, file)).hexdigest() == kept
            for file, kept in content.get("code", {}).items()
        )
    except ValueError:  # one is not there any more
        return False


def gathered(
    experiment: schema.Experiment,
    results: Iterable[Mapping[str, Any]],
    searched: list[dict[str, Any]] | None = None,
    kept: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The results of an experiment's units, setting by setting, in the order of the units.

    Args:
        results: of units, in any order.
        searched: what a search saw.
        kept: what was gathered of other units of the same file before; the result is that of all of them.
    """
    results, path = list(results), Path(experiment.name)
    before: Mapping[str, Any] = kept or {"settings": [], "commits": [], "data": [], "seconds": 0.0}
    by_point: dict[str, list[Mapping[str, Any]]] = {}
    for row in [*before["settings"], *map(run_row, results)]:
        by_point.setdefault(row["name"], []).append(row)
    settings = [joined(rows) for rows in by_point.values()]
    code = code_of(experiment)
    content: dict[str, Any] = {
        "file": (Path(path.parent.name) / path.name).as_posix(),
        "sha256": digest(path),
        **({"code": code} if code else {}),
        "commits": sorted({*before["commits"], *(each for result in results for each in commits_of(result))}),
        "data": sorted({*before["data"], *(result["data"] for result in results if result["data"])}),
        "seconds": round(before["seconds"] + sum(float(result["seconds"]) for result in results), 3),
        "units": {each.name: each.unit for each in experiment.checked.statistics},
        "settings": settings if searched is not None else _in_order(experiment, settings),
    }
    return content | ({"search": searched} if searched is not None else {})


def _in_order(experiment: schema.Experiment, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Settings with the file's labels, as units are ordered: by their first seed, then as in the file."""
    points = {point.name: (place, dict(point.labels)) for place, point in enumerate(experiment.points())}
    seeds = {seed: place for place, seed in enumerate(experiment.plan.seeds)}
    ordered = sorted(settings, key=lambda row: (min(seeds[seed] for seed in row["seeds"]), points[row["name"]][0]))
    return [row | {"labels": points[row["name"]][1]} for row in ordered]


def commits_of(result: Mapping[str, Any]) -> list[str]:
    """List the commits on which a run was made; of earlier results only that is known on which it ended."""
    return sorted(result["commits"] if "commits" in result else [result["commit"]])


def run_row(result: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a setting of which there is one run."""
    numbers = {
        name: summary([listed(each["values"])], [listed(each["deviations"])])
        for name, each in result["statistics"].items()
    }
    return {
        "name": result["point"],
        "labels": result["labels"],
        "seeds": [result["seed"]],
        "seconds": round(float(result["seconds"]), 3),
        "commits": commits_of(result),
        "made_by": together(result["made_by"]),
        "segments": [result["segments"]],
        "statistics": numbers,
        "curves": thinned([result]),
    } | ({"diverged": [f"seed {result['seed']}: {result['diverged']}"]} if result["diverged"] else {})


def joined(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One setting's rows, of different seeds, as the row of all these seeds.

    Raises:
        ValueError: other statistics or other recorded rounds in one row than in another.
    """
    first = rows[0]
    if len(rows) == 1:
        return dict(first)
    if any(_kept_of(row) != _kept_of(first) for row in rows):
        raise ValueError(
            f"{first['name']}: other statistics or rounds were kept of one run than of another; allowed "
            "are runs of one experiment"
        )
    runs = sorted((seed, k, place) for k, row in enumerate(rows) for place, seed in enumerate(row["seeds"]))

    def by_seed(lists: Sequence[Sequence[Any]]) -> list[Any]:
        return [lists[k][place] for _, k, place in runs]

    diverged = sorted((text for row in rows for text in row.get("diverged", ())), key=_seed_of)
    return {
        "name": first["name"],
        "labels": first["labels"],
        "seeds": [seed for seed, *_ in runs],
        "seconds": round(sum(float(row["seconds"]) for row in rows), 3),
        "commits": sorted({commit for row in rows for commit in row["commits"]}),
        "made_by": together([rows[k].get("made_by", {}) for k in dict.fromkeys(k for _, k, _ in runs)]),
        "segments": by_seed([row.get("segments", [UNKNOWN] * len(row["seeds"])) for row in rows]),
        "statistics": {
            name: _together([row["statistics"][name] for row in rows], by_seed) for name in first["statistics"]
        },
        "curves": {
            name: lists if name == "rounds" else by_seed([row["curves"][name] for row in rows])
            for name, lists in first["curves"].items()
        },
    } | ({"diverged": diverged} if diverged else {})


def _seed_of(text: str) -> int:
    """Return the seed whose run diverged, according to a text.

    >>> _seed_of("seed 12: 1 of 1 runs diverged")
    12
    """
    return int(text.partition(":")[0].removeprefix("seed "))


def _kept_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return set(row["statistics"]), set(row["curves"]), row["curves"]["rounds"]


def _together(several: Sequence[Mapping[str, Any]], by_seed: Callable[[Sequence[Any]], list[Any]]) -> dict[str, Any]:
    """A statistic over the seeds of several rows. Where a row has no deviation of each run, as files kept before they
    were, its runs count with their mean, and the result has none either."""
    values = [list(map(listed, each["values"])) for each in several]
    inside = []
    for each, groups in zip(several, values, strict=True):
        mean = float(each.get(WITHIN, math.nan))
        inside.append(list(map(listed, each.get("deviations", [[mean] * len(group) for group in groups]))))
    found = summary(by_seed(values), by_seed(inside))
    if any("deviations" not in each for each in several):
        found.pop("deviations", None)
    return found


def listed(entry: Any) -> list[float]:
    """One run's numbers, of which there is one for each replica; of one replica it stands alone."""
    return list(map(float, entry if isinstance(entry, list) else [entry]))


def thinned(results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Keep at most ``SHOWN`` of the recorded rounds, and of each watched row a list for each seed, means over
    replicas."""
    rounds = results[0]["rounds"]
    kept = sorted({round(k * (len(rounds) - 1) / (SHOWN - 1)) for k in range(SHOWN)}) if len(rounds) > SHOWN else None
    chosen = range(len(rounds)) if kept is None else kept
    rows = {
        name: [
            [float(f"{fmean(float(row[k]) for row in result['rows'][name]):.5g}") for k in chosen] for result in results
        ]
        for name in results[0]["rows"]
    }
    return {"rounds": [rounds[k] for k in chosen], **rows}


def runs_of(content: Mapping[str, Any]) -> set[tuple[str, int]]:
    """The runs that results are of: settings' names with seeds."""
    return {(row["name"], seed) for row in content["settings"] for seed in row["seeds"]}


def summary(values: Sequence[list[float]], inside: Sequence[list[float]]) -> dict[str, Any]:
    """Compute mean and deviation of a statistic over all runs, and say what they are of.

    Args:
        values: of each seed, those of its replicas.
        inside: the deviations within these runs.
    """
    every, spreads = [value for group in values for value in group], [value for group in inside for value in group]
    finite = all(map(math.isfinite, every))
    within = {WITHIN: fmean(spreads), "deviations": _alone(inside)} if all(map(math.isfinite, spreads)) else {}
    return {
        "mean": fmean(every) if finite else math.nan,
        "deviation": stdev(every) if finite and len(every) > 1 else math.nan,
        "runs": len(every),
        "values": _alone(values),
    } | within


def _alone(groups: Sequence[list[float]]) -> list[Any]:
    return [group[0] if len(group) == 1 else group for group in groups]


def short(row: Mapping[str, Any]) -> dict[str, str]:
    """One setting as a row to print."""
    shown = {"setting": str(row["name"]), "seeds": str(len(row["seeds"]))}
    for name, numbers in row["statistics"].items():
        mean, deviation = float(numbers["mean"]), float(numbers["deviation"])
        shown[name] = f"{mean:.4g}" + (f" ± {deviation:.2g}" if math.isfinite(deviation) else "")
    return shown | {"seconds": f"{row['seconds']:g}"}
