"""A committed row, run again from its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
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
"""float32 rounds otherwise on other processors, and some test points may change sides. Whole runs of convex models were
.10 apart; of other networks first evaluations were .02 apart (instructions of AVX2 for those of AVX-512, or one weight
of the start by its last bit), and those after 20 rounds .7: there such runs are told from each other by no tolerance
that a wrong rule would break."""
DIGITS = 1e-4
"""Of curves of float64, kept with five digits; numbers of statistics have all of theirs."""


LEARNED = {"fedau/small.fashion_mnist": "average participating, participation=markov"}
"""Rows that are begun again instead of the first, whose models guess at their first evaluation still."""


MORE = {"fast/small.fashion_mnist": "beta, q adaptive 7", "flics/tableI.synthetic": "FedAdam, availability=poisson"}
"""Rows that are run again too, so that there are three of each paper."""
THREE = 3


def rows_of(paths: Iterable[Path]) -> Iterator[tuple[Path, str | None]]:
    """The rows of these files that are run again; the first one has no name here."""
    for path in paths:
        yield path, LEARNED.get(name(path))
        if name(path) in MORE:
            yield path, MORE[name(path)]


def called(row: Path | str | None) -> str:
    return name(row) if isinstance(row, Path) else row or "first"


def first_unit(path: Path, store: Path, called: str | None = None) -> tuple[dict[str, Any], Unit]:
    """The first row that is kept, or that of this name, and the run of its first seed."""
    experiment, rows = read_experiment(path), read_json(published(path))["settings"]
    row = next(row for row in rows if called in (None, row["name"]))
    units = units_of(experiment, experiment.points(), store)
    return row, next(unit for unit in units if (unit.point, unit.seed) == (row["name"], row["seeds"][0]))


def is_long(path: Path) -> bool:
    row = read_json(published(path))["settings"][0]
    return row["seconds"] > LONG * len(row["seeds"])


def pace(row: dict[str, Any], rounds: list[int]) -> float:
    """Seconds a round."""
    return float(row["seconds"] / len(row["seeds"]) / rounds[-1])


def begins_soon(path: Path) -> bool:
    row = read_json(published(path))["settings"][0]
    rounds = row["curves"]["rounds"]
    return pace(row, rounds) * rounds[1] <= PATIENCE


@cache
def federation_of(path: Path) -> dict[str, Any]:
    """What an experiment says of the federation of its first setting."""
    return dict(read_experiment(path).points()[0].content["federation"])


def is_network(path: Path) -> bool:
    return bool(federation_of(path)["kind"] == "Network")


def is_convex(path: Path) -> bool:
    """Whether errors of rounding stay small; in other networks they grow with the rounds."""
    return not is_network(path) or "multinomial_logistic" in str(federation_of(path)["model"])


def near(path: Path, kept: Any, scale: float = 100.0) -> Any:
    """What is as near as float32 or the digits that are kept allow.

    Args:
        scale: of accuracies, 100 in per cent.
    """
    return pytest.approx(kept, abs=IN_PER_CENT * scale / 100) if is_network(path) else pytest.approx(kept, rel=DIGITS)


def performed(unit: Unit, path: Path) -> dict[str, Any]:
    try:
        result = perform(unit)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert result["data"].partition(":")[0] in {copy.partition(":")[0] for copy in read_json(published(path))["data"]}
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "row_name"),
    [
        pytest.param(*each, marks=[pytest.mark.exhaustive] * is_long(each[0]))
        for each in rows_of(path for path in RUN if is_convex(path))
    ],
    ids=called,
)
def test_a_committed_number_is_reproduced(path: Path, row_name: str | None, tmp_path: Path) -> None:
    row, unit = first_unit(path, tmp_path, row_name)
    found = performed(unit, path)["statistics"]
    for each, numbers in row["statistics"].items():
        assert np.ravel(found[each]["values"]) == near(path, np.ravel(numbers["values"][0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "row_name"),
    [
        pytest.param(*each, marks=[pytest.mark.exhaustive] * (not begins_soon(each[0])))
        for each in rows_of(path for path in RUN if is_long(path))
    ],
    ids=called,
)
def test_the_beginning_of_a_long_run_is_reproduced(path: Path, row_name: str | None, tmp_path: Path) -> None:
    """Its committed curve, of a network that is not convex its first evaluation alone; in the first row of a file a
    longer step is seen."""
    row, unit = first_unit(path, tmp_path, row_name)
    rounds, plan = row["curves"].pop("rounds"), unit.content["run"]
    most = max(rounds[1], min(BEGINNING, int(PATIENCE / pace(row, rounds)))) if is_convex(path) else rounds[1]
    most += 1  # the last round of a run is always evaluated
    last = [{**each, "last": 1} if each.get("last") else each for each in unit.content["statistics"]]
    shorter = {**unit.content, "run": {**plan, "rounds": most}, "statistics": last}
    both = [round for round in rounds if round <= most]
    kept = {each: curves[0][: len(both)] for each, curves in row["curves"].items()}

    def differ(content: dict[str, Any], called: str) -> list[str]:
        result = performed(replace(unit, content=content, folder=str(tmp_path / called)), path)
        assert {*both} <= {*result["rounds"]}
        places = [result["rounds"].index(round) for round in both]
        found = {each: np.mean(result["rows"][each], axis=0)[places] for each in kept}  # over a seed's replicas
        return [each for each, curve in kept.items() if found[each] != near(path, np.array(curve), scale=1.0)]

    assert rounds[-1] == plan["rounds"] >= 10 * most
    assert differ(shorter, "as it is") == []
    if row_name and row_name == MORE.get(name(path)):
        return
    algorithm = unit.content["algorithm"]
    size = float(Fraction(algorithm["local_lr"])) * 1.25
    assert differ({**shorter, "algorithm": {**algorithm, "local_lr": size}}, "another rule")


def test_three_rows_of_each_paper_are_run_again() -> None:
    """By the two tests above, without those that run only if they are asked for."""
    again = [*rows_of(path for path in RUN if is_convex(path) and not is_long(path))]
    again += rows_of(path for path in RUN if is_long(path) and begins_soon(path))
    count = Counter(path.parent.name for path, _ in again)
    assert count.keys() == {path.parent.name for path in RUN} and min(count.values()) >= THREE, count


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
