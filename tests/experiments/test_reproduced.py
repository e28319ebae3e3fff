"""A committed row, run again from its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtheory.experiments.results import experiment_files, published
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.units import perform, units_of
from fedtheory.files import read_json

RUN = [path for path in experiment_files() if published(path).exists()]


@pytest.mark.slow
@pytest.mark.parametrize("path", RUN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_committed_number_is_reproduced(path: Path, tmp_path: Path) -> None:
    kept = read_json(published(path))
    experiment = read_experiment(path)
    row = kept["settings"][0]
    unit = next(unit for unit in units_of(experiment, experiment.points(), tmp_path) if unit.point == row["name"])
    try:
        result = perform(unit)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    place = row["seeds"].index(unit.seed)
    for name, numbers in row["statistics"].items():
        # In per cent: float32 rounds otherwise on other processors, and some test points may change sides.
        assert result["statistics"][name]["values"][0] == pytest.approx(numbers["values"][place], abs=0.2)
    assert result["data"].partition(":")[0] in {copy.partition(":")[0] for copy in kept["data"]}


@pytest.mark.parametrize("path", RUN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_committed_number_says_where_it_is_from(path: Path) -> None:
    kept = read_json(published(path))
    points = {point.name for point in read_experiment(path).points()}
    assert kept["data"] and kept["settings"]
    for row in kept["settings"]:
        assert row["name"] in points and row["seeds"] and row["seconds"] > 0 and row["commits"]
        assert not any("+" in commit for commit in row["commits"])
        for numbers in row["statistics"].values():
            assert len(numbers["values"]) == len(row["seeds"])
