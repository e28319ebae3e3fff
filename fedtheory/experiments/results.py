"""Results of an experiment, as one JSON file: every number with its seeds, commit, data and time.

Settings keep of each seed the values of every statistic, the deviations within its runs, and its curves. So rows of
different seeds are put together to what one row of all would be.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from ..files import read_file
from ..provenance import UNKNOWN, together
from . import schema
from .files_beside import hashes
from .grid import asked_for
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
    """Compute the hash of the file, by which results of a search are known to be of it as it is now."""
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


def hash_of_asked(asked: Mapping[str, Any]) -> str:
    """Compute the hash of all that decides a setting's numbers but its seed, which may stand at the keys that
    ``run.seeded`` names.

    >>> seeded = {"run": {"seeded": ["federation.seed"]}}
    >>> one, other = (hash_of_asked(seeded | {"federation": {"kind": "x", "seed": seed}}) for seed in (1, 2))
    >>> one == other == hash_of_asked(seeded | {"federation": {"kind": "x"}})
    True
    """
    seeded = asked["run"].get("seeded", ())
    content = copy.deepcopy(dict(asked)) if seeded else asked
    for key in seeded:
        *above, last = key.split(".")
        part = content
        for name in above:
            part = part.get(name, {}) if isinstance(part, dict) else {}
        if isinstance(part, dict):
            part.pop(last, None)
    return hashlib.sha256(json.dumps(dict(content), sort_keys=True).encode()).hexdigest()


def settings_now(experiment: schema.Experiment) -> dict[str, str]:
    """The hash of what decides its numbers, by the name of each setting as the file and the Python files beside it are
    now; none of a setting whose Python file is not there."""
    found = {}
    for point in experiment.points():
        try:
            code = hashes(Path(experiment.name).parent, point.content)
        except ValueError:
            continue
        found[point.name] = hash_of_asked(asked_for(point.content) | ({"code": code} if code else {}))
    return found


def current(path: Path, experiment: schema.Experiment, content: Mapping[str, Any]) -> dict[str, Any] | None:
    """The runs of results that are of the experiment file as it is now; ``None`` if there are none.

    A setting's runs are if all that decides its numbers is as it was: words, labels, other settings and other seeds may
    have changed. A search is one whole, and is of the very file that was searched.
    """
    if "search" in content:
        same = content["sha256"] == digest(path) and content.get("code", {}) == _codes(experiment)
        return dict(content) if same else None
    now, seeds = settings_now(experiment), set(experiment.plan.seeds)
    rows = [_of_seeds(row, seeds) for row in content["settings"] if row.get("asked") == now.get(row["name"], "")]
    kept = [row for row in rows if row is not None]
    if not kept:
        return None
    if len(kept) == len(content["settings"]) and all(map(operator.is_, kept, content["settings"])):
        return {**content, "settings": _in_order(experiment, kept)}
    return {
        **content,
        "commits": sorted({commit for row in kept for commit in row["commits"]}),
        "seconds": round(math.fsum(float(row["seconds"]) for row in kept), 3),
        "settings": _in_order(experiment, kept),
    }


def _codes(experiment: schema.Experiment) -> dict[str, str] | None:
    try:
        return code_of(experiment)
    except ValueError:  # a Python file is not there any more
        return None


def _of_seeds(row: dict[str, Any], seeds: Set[int]) -> dict[str, Any] | None:
    """A setting's row without the runs of other seeds; ``None`` if none is left. The time is shared out evenly."""
    places = [k for k, seed in enumerate(row["seeds"]) if seed in seeds]
    if len(places) == len(row["seeds"]):
        return row
    if not places:
        return None

    def chosen(each: Sequence[Any]) -> list[Any]:
        return [each[k] for k in places]

    def put_together(numbers: Mapping[str, Any]) -> dict[str, Any]:
        return _together([numbers], lambda lists: chosen(lists[0]))

    left = [row["seeds"][k] for k in places]
    segments = {"segments": chosen(row["segments"])} if row.get("segments") else {}
    diverged = [text for text in row.get("diverged", ()) if _seed_of(text) in left]
    return {
        **{key: value for key, value in row.items() if key != "diverged"},
        "seeds": left,
        "seconds": round(float(row["seconds"]) * len(places) / len(row["seeds"]), 3),
        "statistics": {name: put_together(each) for name, each in row["statistics"].items()},
        "curves": {name: each if name == "rounds" else chosen(each) for name, each in row["curves"].items()},
        **segments,
    } | ({"diverged": diverged} if diverged else {})


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
        "asked": hash_of_asked(result["asked"]),
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
        "asked": first.get("asked", ""),
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
