"""A committed row, run again from its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtheory.experiments.construction import statistics
from fedtheory.experiments.results import experiment_files, published
from fedtheory.experiments.schema import model, read_experiment
from fedtheory.experiments.work_units import Unit, perform, units_of
from fedtheory.files import read_json

RUN = [path for path in experiment_files() if published(path).exists()]


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


LONG = 60
"""Runs of so many seconds are run again from their beginning only, unless all of them is asked for."""
BEGINNING, PATIENCE = 40, 8
"""So many rounds of them, or what takes so many seconds, but one evaluation at least: which, where it takes longer, is
made if it is asked for."""
IN_PER_CENT = 0.2
"""float32 rounds otherwise on other processors, and some test points may change sides."""


def first_unit(path: Path, store: Path) -> tuple[dict[str, Any], Unit]:
    """The first row that is kept, and the run of its first seed."""
    experiment, row = read_experiment(path), read_json(published(path))["settings"][0]
    units = units_of(experiment, experiment.points(), store)
    return row, next(unit for unit in units if (unit.point, unit.seed) == (row["name"], row["seeds"][0]))


def is_long(path: Path) -> bool:
    row = read_json(published(path))["settings"][0]
    return row["seconds"] > LONG * len(row["seeds"])


def pace(row: dict[str, Any]) -> float:
    """Seconds a round."""
    return row["seconds"] / len(row["seeds"]) / row["curves"]["rounds"][-1]


def begins_soon(path: Path) -> bool:
    row = read_json(published(path))["settings"][0]
    return pace(row) * row["curves"]["rounds"][1] <= PATIENCE


def performed(unit: Unit, path: Path) -> dict[str, Any]:
    try:
        result = perform(unit)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert result["data"].partition(":")[0] in {copy.partition(":")[0] for copy in read_json(published(path))["data"]}
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[pytest.mark.exhaustive] * is_long(path)) for path in RUN], ids=name
)
def test_a_committed_number_is_reproduced(path: Path, tmp_path: Path) -> None:
    row, unit = first_unit(path, tmp_path)
    found = performed(unit, path)["statistics"]
    for each, numbers in row["statistics"].items():
        assert np.ravel(found[each]["values"]) == pytest.approx(np.ravel(numbers["values"][0]), abs=IN_PER_CENT)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.exhaustive] * (not begins_soon(path))) for path in RUN if is_long(path)],
    ids=name,
)
def test_the_beginning_of_a_long_run_is_reproduced(path: Path, tmp_path: Path) -> None:
    """Its committed curve."""
    row, unit = first_unit(path, tmp_path)
    most = max(row["curves"]["rounds"][1], min(BEGINNING, int(PATIENCE / pace(row))))
    rounds, plan = row["curves"].pop("rounds"), unit.content["run"]
    last = [{**each, "last": 1} if each.get("last") else each for each in unit.content["statistics"]]
    shorter = {**unit.content, "run": {**plan, "rounds": most}, "statistics": last}
    result = performed(replace(unit, content=shorter), path)
    both = [round for round in rounds if round <= most]
    assert rounds[-1] == plan["rounds"] >= 10 * most and {*both} <= {*result["rounds"]}
    places = [result["rounds"].index(round) for round in both]
    for each, curves in row["curves"].items():
        found, kept = np.mean(result["rows"][each], axis=0), curves[0][: len(both)]  # over a seed's replicas
        assert [found[place] for place in places] == pytest.approx(kept, abs=IN_PER_CENT / 100)
    assert any(len(set(curves[0][: len(both)])) > 1 for curves in row["curves"].values())  # some are watched seldom


@pytest.mark.parametrize("path", [path for path in RUN if is_long(path)], ids=name)
def test_the_numbers_of_a_long_run_are_those_of_its_curve(path: Path, tmp_path: Path) -> None:
    """Of the whole curve, or in the range of its later half where not all points of it are kept."""
    row, unit = first_unit(path, tmp_path)
    rounds, plan = row["curves"].pop("rounds"), unit.content["run"]
    whole = len(rounds) == plan["rounds"] // plan["record_every"] + 1
    checked = model().model_validate(dict(unit.content))
    curves = {each: [lists[0]] for each, lists in row["curves"].items()}
    if whole:
        for name, values, _ in statistics(unit.content, np.array(rounds), curves):
            kept = float(np.mean(row["statistics"][name]["values"][0]))  # over the replicas of a seed, as the curve
            assert values == pytest.approx([kept], abs=0.01)
    for each in checked.statistics:
        if each.take == "mean":
            late = [each.plus + each.scale * value for value in curves[each.of][0][len(rounds) // 2 :]]
            assert min(late) <= row["statistics"][each.name]["values"][0] <= max(late)


@pytest.mark.parametrize("path", RUN, ids=name)
def test_every_committed_number_says_where_it_is_from(path: Path) -> None:
    kept = read_json(published(path))
    points = {point.name for point in read_experiment(path).points()}
    assert kept["data"] and kept["settings"]
    for row in kept["settings"]:
        assert row["name"] in points and row["seeds"] and row["seconds"] > 0 and row["commits"]
        assert not any("+" in commit for commit in row["commits"])
        for numbers in row["statistics"].values():
            assert len(numbers["values"]) == len(row["seeds"])
