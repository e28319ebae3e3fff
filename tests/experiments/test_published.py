"""What is published of an experiment: put together from several stores as if it were of one, or refused."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.experiments import commands
from fedtheory.experiments import published as kept
from fedtheory.experiments.commands import Report, RunOptions, run_files
from fedtheory.experiments.overview import overview
from fedtheory.experiments.published import new_runs, read_current, read_kept
from fedtheory.experiments.results import WITHIN, experiment_files, gathered, published, runs_of
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.sweeps import perform_all
from fedtheory.experiments.table_pages import pages
from fedtheory.experiments.work_units import Unit, _numbers, units_of
from fedtheory.files import json_text
from fedtheory.report.pictures.result_pictures import Curves
from fedtheory.report.site import experiments as site
from fedtheory.seals import sealed
from fedtheory.simulation.segment import read_segment, write_segment
from fedtheory.simulation.stored import read_stored
from tests.experiments.test_runs import EXPERIMENT, script, written

SMALL = (
    EXPERIMENT.replace("440", "140").replace("record_every = 10", "record_every = 2\nreplicas = 2")
    .replace("seeds = [3]", "seeds = [12, 3, 5]").replace("checkpoint_every = 20", "checkpoint_every = 140")
    + """
[[statistics]]
name = "end"
of = "squared_distance"

[grid]
"algorithm.local_lr" = ["1/50", "1/20", 1000]
"""
)  # fmt: skip
"""Of three settings the last one diverges; more rounds are recorded than kept, and of "end" nothing deviates."""
SEARCH = """
[search]
statistic = "distance"

[[search.stages]]
over = "algorithm.local_lr"
values = ["1/50", "1/20"]
"""
Copy = Callable[[str, list[Unit]], Path]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "paper", SMALL)


@pytest.fixture(scope="session")
def finished_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all runs, in which times, commits and data copies differ from run to run."""
    path = written(tmp_path_factory.mktemp("all") / "paper", SMALL)
    units = units_of(read_experiment(path), read_experiment(path).points(), path.parent / "store")
    outcome = perform_all(units)
    assert len(outcome.results) == 9 and sum(bool(each["diverged"]) for each in outcome.results.values()) == 3
    for place, unit in enumerate(units):
        other = {"seconds": round(0.1 * place + 0.123, 3), "commits": [f"c{place % 4}"], "data": f"copy {place % 5}"}
        unit.result_path.write_text(json_text(sealed(outcome.results[unit] | other)))
    return path.parent / "store"


@pytest.fixture
def store_of(tmp_path: Path, finished_runs: Path) -> Copy:
    """Makes a store that has some of the finished runs."""

    def make(name: str, units: list[Unit]) -> Path:
        for unit in units:
            inner = Path(unit.folder).relative_to(tmp_path / "none")
            shutil.copytree(finished_runs / inner, tmp_path / name / inner)
        return tmp_path / name

    return make


def units(path: Path) -> list[Unit]:
    return units_of(read_experiment(path), read_experiment(path).points(), path.parents[1] / "none")


def publish(path: Path, store: Path, **options: Any) -> Report:
    """Publish what a store has, and run nothing."""
    return run_files([path], RunOptions(store, budget="0s", publish=True, **options))


def kept_runs(path: Path) -> list[tuple[str, list[int]]]:
    return [(row["name"], row["seeds"]) for row in json.loads(published(path).read_text())["settings"]]


@pytest.mark.parametrize("draw", range(12))
def test_several_stores_publish_what_one_store_would(path: Path, store_of: Copy, draw: int) -> None:
    dice = random.Random(draw)
    every = [unit for unit in units(path) if draw < 4 or dice.random() < 0.6]
    assert not publish(path, store_of("one", every)).failed
    assert [name for name, _ in kept_runs(path)] == list(dict.fromkeys(unit.point for unit in every))
    one = published(path).read_bytes()
    published(path).unlink()
    places = [dice.randrange(3) for _ in every]  # of some runs there are two copies
    for number in dice.sample(range(3), 3):
        some = [unit for unit, place in zip(every, places, strict=True) if place == number or dice.random() < 0.2]
        assert not publish(path, store_of(f"store {number}", some)).failed
    assert published(path).read_bytes() == one


def test_seeds_and_settings_of_two_stores_are_put_together(path: Path, store_of: Copy) -> None:
    every = units(path)
    ways: dict[str, Callable[[Unit], bool]] = {
        "seeds": lambda unit: unit.seed == 3, "settings": lambda unit: "1|20" in unit.point,
    }  # fmt: skip
    publish(path, store_of("one", every))
    one = published(path).read_bytes()
    assert kept_runs(path) == [(f"local_lr={text}", [3, 5, 12]) for text in ("1|50", "1|20", "1000")]
    for name, first in ways.items():
        parts = [[unit for unit in every if first(unit) == side] for side in (True, False)]
        stores = [store_of(f"{name} {side}", part) for side, part in enumerate(parts)]
        for one_store, other in (stores, stores[::-1]):
            published(path).unlink()
            publish(path, one_store)
            assert published(path).read_bytes() != one
            publish(path, other)
            assert published(path).read_bytes() == one


def test_what_one_store_gives_is_right(path: Path, store_of: Copy) -> None:
    """The numbers of one row from the results themselves, exactly."""
    every = units(path)
    store = store_of("one", every)
    publish(path, store)
    content = json.loads(published(path).read_text())
    results = [json.loads((store / Path(unit.folder).relative_to(path.parents[1] / "none") / "result.json").read_text())
               for unit in every]  # fmt: skip
    row = content["settings"][1]
    runs = sorted((each for each in results if each["point"] == row["name"]), key=lambda each: each["seed"])
    assert row["seeds"] == [each["seed"] for each in runs] == [3, 5, 12]
    numbers = row["statistics"]["distance"]
    for kind in ("values", "deviations"):
        assert numbers[kind] == [each["statistics"]["distance"][kind] for each in runs]
    for kind, mean in (("values", "mean"), ("deviations", WITHIN)):
        flat = [Fraction(value) for each in runs for value in each["statistics"]["distance"][kind]]
        assert numbers[mean] == pytest.approx(float(sum(flat) / 6), rel=1e-15) and numbers["runs"] == 6
    assert row["commits"] == sorted({commit for each in runs for commit in each["commits"]})
    assert row["seconds"] == pytest.approx(sum(each["seconds"] for each in runs), abs=1e-9)
    assert content["seconds"] == pytest.approx(sum(each["seconds"] for each in results), abs=1e-9)
    assert content["commits"] == ["c0", "c1", "c2", "c3"] and content["data"] == [f"copy {k}" for k in range(5)]
    assert [text.split(":")[0] for text in content["settings"][2]["diverged"]] == ["seed 3", "seed 5", "seed 12"]
    assert content["settings"][2]["statistics"]["distance"]["mean"] == "NaN"
    assert len(row["curves"]["rounds"]) == 60 and len(row["curves"]["squared_distance"]) == 3


def changed(store: Path, unit: Unit, root: Path, result: bool = True) -> tuple[Any, Any]:
    """Change a number in a run's last segment, and in its result too, with all seals; the result's numbers before and
    after."""
    here = replace(unit, folder=str(store / Path(unit.folder).relative_to(root / "none")))
    before = json.loads(here.result_path.read_text())
    last = max(Path(here.folder).rglob("segment-*.npz"))
    segment = read_segment(last)
    segment["squared_distance"] = segment["squared_distance"] + np.array([[0.0], [0.5]])
    write_segment(last, segment)
    stored = read_stored(Path(here.folder))
    after = before | {"segments": stored.seal} | _numbers(here, stored.run)
    if result:
        here.result_path.write_text(json_text(sealed(after)))
    return before, json.loads(json_text(after))


@pytest.mark.parametrize("place", [1, 4])
def test_a_run_that_both_have_has_to_agree(path: Path, store_of: Copy, place: int) -> None:
    every = units(path)
    publish(path, store_of("first", every[:6]))
    before = published(path).read_bytes()
    second = store_of("second", [every[place], *every[6:]])
    there, here = (each["statistics"]["distance"]["values"] for each in changed(second, every[place], path.parents[1]))
    report = publish(path, second)
    assert report.failed and published(path).read_bytes() == before
    said = f"{every[place].point}, seed {every[place].seed}: distance = {there} there, {here} here; so do "
    assert said in report.lines[-1]
    assert str(published(path)) in report.lines[-1] and str(second) in report.lines[-1]


def test_deviations_have_to_agree_too(path: Path, store_of: Copy) -> None:
    store = store_of("one", units(path)[:1])
    publish(path, store)
    result = json.loads(next(store.rglob("result.json")).read_text())
    result["statistics"]["distance"]["deviations"][1] = 0.25
    kept = read_kept(path, read_experiment(path))
    with pytest.raises(ValueError, match=rf"seed 12: {WITHIN} of distance = .* there, .*0\.25\] here"):
        new_runs(kept or {}, [result], (published(path), store))


def _another(result: Any) -> None:
    result["statistics"]["distance"]["values"][0] = 0.0


def _another_curve(result: Any) -> None:
    result["rows"]["squared_distance"][1][3] = 0.0


def _another_run(result: Any) -> None:
    result["segments"] = "0" * 64


@pytest.mark.parametrize("edit", [_another, _another_curve, _another_run])
@pytest.mark.parametrize("seal", [False, True])
def test_what_segments_do_not_bear_out_is_not_published(path: Path, store_of: Copy, edit: Any, seal: bool) -> None:
    """Whether the result was sealed anew or not; the other runs are published."""
    store = store_of("one", units(path))
    target = next(store.rglob("result.json"))
    result = json.loads(target.read_text())
    edit(result)
    target.write_text(json_text(sealed(result) if seal else result))
    report = publish(path, store)
    wrong = "and the segments beside it do not agree" if seal else "it was changed after it was sealed"
    assert report.failed and str(target) in report.lines[-1] and wrong in report.lines[-1]
    assert sum(len(seeds) for _, seeds in kept_runs(path)) == 8


def test_segments_that_were_changed_are_not_published(path: Path, store_of: Copy) -> None:
    store = store_of("one", units(path))
    changed(store, units(path)[0], path.parents[1], result=False)
    report = publish(path, store)
    assert report.failed and "do not agree (statistics, rows, segments)" in report.lines[-1]
    shutil.rmtree(next(store.rglob("replica-000000")))
    assert any("no run is kept here" in line for line in publish(path, store).lines)


def made_otherwise(store: Path, **entries: str) -> None:
    """Have all runs of a store be made by something else."""
    for tag in store.rglob("run.json"):
        label = json.loads(tag.read_text())
        label["made_by"][0] |= entries
        tag.write_text(json.dumps(sealed(label)))


@pytest.mark.parametrize(("name", "value"), [("threads", "2"), ("vector", "AVX2"), ("chunk", "1"), ("torch", "2.0")])
def test_what_others_made_is_put_together_only_if_asked(path: Path, store_of: Copy, name: str, value: str) -> None:
    """Of one setting, two seeds."""
    every = units(path)
    publish(path, store_of("first", every[:1]))
    before, second = published(path).read_bytes(), store_of("second", [unit for unit in every[1:] if
                                                                       unit.point == every[0].point])  # fmt: skip
    made_otherwise(second, **{name: value})
    report = publish(path, second)
    assert report.failed and published(path).read_bytes() == before
    assert f"{name} = " in report.lines[-1] and value in report.lines[-1] and "--mixed" in report.lines[-1]
    assert not publish(path, second, mixed=True).failed
    (row,) = json.loads(published(path).read_text())["settings"]
    assert value in row["made_by"][name].split(" | ") and len(row["made_by"][name].split(" | ")) == 2


def test_other_settings_may_be_split_otherwise_but_not_run_elsewhere(path: Path, store_of: Copy) -> None:
    every = units(path)
    publish(path, store_of("first", every[:1]))
    second = store_of("second", every[1:2])
    made_otherwise(second, threads="2")
    assert "threads = 1 there, 2 here" in publish(path, second).lines[-1]
    third = store_of("third", every[1:2])
    made_otherwise(third, chunk="1", pairs_at_once="1")
    assert not publish(path, third).failed and len(kept_runs(path)) == 2


def test_runs_without_a_record_are_put_together_only_if_asked(path: Path, store_of: Copy) -> None:
    """As published before there were records."""
    every = units(path)
    publish(path, store_of("first", every[:5]))
    content = json.loads(published(path).read_text())
    assert len(content["settings"][0]["seeds"]) == 2
    for row in content["settings"]:
        del row["made_by"], row["segments"]
    published(path).write_text(json_text(sealed(content)))
    report = publish(path, store_of("second", every[5:]))
    assert report.failed and "of some runs of 'local_lr=1|50' it is not recorded" in report.lines[-1]
    assert not publish(path, store_of("third", every[5:]), mixed=True).failed
    assert json.loads(published(path).read_text())["settings"][0]["segments"].count("not recorded") == 2


def test_a_run_that_both_have_stays_as_it_is_published(path: Path, store_of: Copy) -> None:
    every = units(path)
    publish(path, store_of("first", every))
    before = published(path).read_bytes()
    second = store_of("second", every[:1])
    target = next(second.rglob("result.json"))
    target.write_text(json_text(sealed(json.loads(target.read_text()) | {"commits": ["later"], "seconds": 77.0})))
    assert not publish(path, second).failed and published(path).read_bytes() == before


def test_runs_that_recorded_other_rounds_are_not_put_together(path: Path, store_of: Copy) -> None:
    every = units(path)
    publish(path, store_of("first", every[:3]))
    content = json.loads(published(path).read_text())
    for row in content["settings"]:
        row["curves"]["rounds"] = [each + 1 for each in row["curves"]["rounds"]]
    published(path).write_text(json_text(sealed(content)))
    before = published(path).read_bytes()
    report = publish(path, store_of("second", every[3:4]))
    assert report.failed and published(path).read_bytes() == before
    assert report.lines[-1].startswith(f"{path}: {every[3].point}: other statistics or rounds were kept of one run")


def test_what_is_no_experiment_file_is_named(tmp_path: Path) -> None:
    report = run_files([tmp_path, tmp_path / "none.toml"], RunOptions(tmp_path / "store", publish=True))
    folder, none = report.lines
    assert (
        report.failed
        and folder == f"{tmp_path}: is a folder: allowed is a regular file"
        and none == f"{tmp_path}/none.toml: no such file"
    )


def shown(path: Path) -> dict[str, list[int]]:
    """The seeds of each setting that are shown."""
    found = read_current(path, read_experiment(path))
    return {} if found is None else {row["name"]: row["seeds"] for row in found["settings"]}


def test_words_and_more_seeds_leave_runs_as_they_are(path: Path, store_of: Copy) -> None:
    every = units(path)
    publish(path, store_of("first", every[:6]))
    before = shown(path)
    path.write_text(SMALL.replace('"a test"', '"another title"').replace("[12, 3, 5]", "[7, 12, 3, 5]"))
    assert shown(path) == before
    report = publish(path, store_of("second", every[6:]))
    assert not report.failed and all(seeds == [3, 5, 12] for seeds in shown(path).values())


def test_runs_of_a_changed_setting_are_put_together_with_none(path: Path, store_of: Copy) -> None:
    every = units(path)
    publish(path, store_of("first", every))
    path.write_text(SMALL.replace('"1/20"', '"1/10"'))
    assert shown(path) == {"local_lr=1|50": [3, 5, 12], "local_lr=1000": [3, 5, 12]}
    report = publish(path, store_of("second", every[:1]))
    assert f"{published(path)} is made anew: 3 of its 9 runs were of another content of {path}" in report.lines[-1]
    assert {name for name, _ in kept_runs(path)} == {"local_lr=1|50", "local_lr=1000"}
    path.write_text(SMALL.replace('"1/20"', '"1/10"').replace("record_every = 2", "record_every = 4"))
    assert shown(path) == {} and "another version of the file" in overview(path.parents[1])


def test_runs_of_seeds_that_the_file_has_no_more_are_not_shown(path: Path, store_of: Copy) -> None:
    publish(path, store_of("first", units(path)))
    whole = read_current(path, read_experiment(path))
    path.write_text(SMALL.replace("[12, 3, 5]", "[12, 5]"))
    part = read_current(path, read_experiment(path))
    assert whole is not None and part is not None and shown(path)["local_lr=1|50"] == [5, 12]
    for row in part["settings"]:
        (all_of_it,) = (each for each in whole["settings"] if each["name"] == row["name"])
        for name, numbers in row["statistics"].items():
            assert json_text(numbers["values"]) == json_text(all_of_it["statistics"][name]["values"][1:])
            assert numbers["runs"] == 4
        assert row["curves"]["squared_distance"] == all_of_it["curves"]["squared_distance"][1:]
    assert part["seconds"] < whole["seconds"]


def test_a_file_that_is_changed_while_it_runs_is_not_published(
    path: Path, store_of: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*arguments: Any, **named: Any) -> Any:
        path.write_text(SMALL.replace("seeds = [12, 3, 5]", "seeds = [12]"))
        return perform_all(*arguments, **named)

    monkeypatch.setattr(commands, "perform_all", slow)
    report = run_files([path], RunOptions(store_of("one", units(path)), publish=True))
    assert report.failed and f"{path} was changed while it was run" in report.lines[-1]
    assert not published(path).exists()


def test_searches_are_not_put_together(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("440", "40").replace("seeds = [3]", "seeds = [3, 4]") + SEARCH
    path = written(tmp_path / "paper", text)
    assert not run_files([path], RunOptions(tmp_path / "a", publish=True)).lines
    before = published(path).read_bytes()
    assert json.loads(before)["search"][0]["over"] == "algorithm.local_lr"
    run_files([path], RunOptions(tmp_path / "b", budget="0s", publish=True))  # of a store with nothing
    assert published(path).read_bytes() == before
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    sorted((tmp_path / "c").rglob("result.json"))[0].unlink()
    report = run_files([path], RunOptions(tmp_path / "c", budget="0s", publish=True, missing=True))
    assert report.lines[0] == f"{path}: --missing leaves out nothing of a search, which is run whole"
    assert report.lines[-1].startswith(
        f"{published(path)} stays as it is: it has runs that {tmp_path / 'c'} has not, and "
    )
    assert "searches are not put together" in report.lines[-1] and published(path).read_bytes() == before


def _set(place: list[Any], value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for step in place[:-1]:
            content = content[step]
        content[place[-1]] = value

    return change


ROW = ["settings", 0]
DISTANCE = [*ROW, "statistics", "distance"]
DAMAGES = [
    (_set(["settings"], 3), "settings = 3"),
    (_set(["sha256"], None), "sha256 = None"),
    (_set([*ROW, "seeds"], [3, 3, 12]), "seeds = [3, 3, 12]: allowed are increasing integers"),
    (_set([*ROW, "seeds"], [3, 5]), "allowed is an entry for each of 2 seeds"),
    (_set([*ROW, "name"], "local_lr=1|20"), "allowed is each name once"),
    (_set([*DISTANCE, "mean"], 0.25), "mean = 0.25, runs = 6: allowed are those of the values"),
    (_set([*DISTANCE, "runs"], 5), "runs = 5: allowed are those of the values"),
    (_set([*DISTANCE, "values"], ["many"] * 6), "values"),
    (_set([*DISTANCE, "deviations"], [0.1]), "deviations: allowed is one for each of 6 values"),
    (_set([*DISTANCE, "deviations"], [[0.1] * 6]), "statistics.distance: allowed is an entry for each of 3 seeds"),
    (_set([*ROW, "statistics", "more"], {"mean": 1.0, "deviation": "NaN", "runs": 3, "values": [1.0] * 3}),
     "statistics are distance, end, more: allowed is distance, end"),
    (_set([*ROW, "curves", "squared_distance", 1], [0.5]), "curves.squared_distance: allowed is for each of 3 seeds"),
    (_set([*ROW, "curves", "rounds"], []), "a number for each of 0 rounds"),
    (_set([*ROW, "diverged"], ["3"]), "diverged"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "said"), [(None, "not a JSON file"), *DAMAGES])
def test_a_damaged_file_is_named(path: Path, store_of: Copy, damage: Any, said: str) -> None:
    every = units(path)
    publish(path, store_of("first", every))
    target, text = published(path), published(path).read_text()
    if damage is None:
        target.write_text(text[: len(text) // 2])
    else:
        content = json.loads(text)
        damage(content)
        target.write_text(json.dumps(sealed(content)))
    before = target.read_bytes()
    for report in (publish(path, store_of("second", every[:1])), publish(path, store_of("third", []), missing=True)):
        assert report.failed and str(target) in report.lines[-1] and said in report.lines[-1], report.lines
        assert target.read_bytes() == before


@pytest.mark.parametrize("place", [[*DISTANCE, "deviation"], [*ROW, "seconds"], ["commits", 0], [*ROW, "labels", "lr"]])
def test_an_edited_file_is_refused_wherever_it_is_shown(path: Path, store_of: Copy, place: list[Any]) -> None:
    publish(path, store_of("first", units(path)))
    content = json.loads(published(path).read_text())
    _set(place, "other" if place[-1] in (0, "lr") else 98.7654)(content)
    published(path).write_text(json_text(content))
    experiment = read_experiment(path)
    for read in (read_kept, read_current):
        with pytest.raises(ValueError, match=f"{published(path)}: it was changed after it was sealed; .* are damaged"):
            read(path, experiment)
    with pytest.raises(ValueError, match="it was changed after it was sealed"):
        overview(path.parents[1])
    del content["seal"]
    published(path).write_text(json_text(content))
    with pytest.raises(ValueError, match="it has no seal"):
        read_kept(path, experiment)


SHOWN: dict[str, Callable[[], object]] = {
    "overview": overview,
    "pages": pages,
    "site, experiments": lambda: list(site.experiment_pages()),
    "site, tables": lambda: list(site.table_pages()),
    "figures": lambda: Curves(kind="curves", experiment="safari/table6_7.fashion_mnist").found(),
}


@pytest.mark.parametrize("show", SHOWN)
def test_no_page_or_figure_shows_what_was_edited(show: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mean of the project's own results."""
    (path,) = [path for path in experiment_files() if path.stem == "table6_7.fashion_mnist"]
    content = json.loads(published(path).read_text())
    content["settings"][0]["statistics"]["accuracy"]["mean"] = 98.7654
    (tmp_path / "edited.json").write_text(json_text(content))
    monkeypatch.setattr(kept, "published", lambda each: tmp_path / "edited.json" if each == path else published(each))
    with pytest.raises(ValueError, match=r"edited\.json: it was changed after it was sealed"):
        SHOWN[show]()


def test_a_folder_in_place_of_the_file_is_named(path: Path, store_of: Copy) -> None:
    published(path).mkdir(parents=True)
    report = publish(path, store_of("first", units(path)))
    assert report.failed and str(published(path)) in report.lines[-1]


@pytest.mark.parametrize(
    "path", [path for path in experiment_files() if published(path).exists()], ids=lambda p: p.stem
)
def test_what_is_published_is_read_and_stays(path: Path) -> None:
    experiment = read_experiment(path)
    kept = read_kept(path, experiment)
    assert kept and json_text(sealed(gathered(experiment, [], None, kept))) + "\n" == published(path).read_text()


def test_deviations_within_runs_that_were_not_kept_one_by_one(path: Path, store_of: Copy) -> None:
    """As in files published before they were: the mean is that of all runs, up to rounding."""
    every = units(path)
    publish(path, store_of("one", every))
    whole = json.loads(published(path).read_text())
    published(path).unlink()
    publish(path, store_of("first", every[:6]))
    content = json.loads(published(path).read_text())
    for row in content["settings"]:
        row["statistics"]["distance"].pop("deviations", None)
    published(path).write_text(json.dumps(sealed(content)))
    assert not publish(path, store_of("second", every[6:])).failed
    found = json.loads(published(path).read_text())
    for row, other in zip(found["settings"][:2], whole["settings"][:2], strict=True):
        numbers, wanted = row["statistics"]["distance"], other["statistics"]["distance"]
        assert "deviations" not in numbers and len(wanted.pop("deviations")) == 3
        assert numbers.pop(WITHIN) == pytest.approx(wanted.pop(WITHIN), rel=1e-14)
    assert found.pop("seal") != whole.pop("seal") and found == whole


@pytest.mark.parametrize("only", ["*", "*1|50"])
def test_missing_runs_alone_are_run(path: Path, tmp_path: Path, store_of: Copy, only: str) -> None:
    every = units(path)
    publish(path, store_of("one", every))
    one = published(path).read_bytes()
    published(path).unlink()
    publish(path, store_of("first", [unit for unit in every if unit.seed != 5]))
    command = ["run", str(path), "--store", str(tmp_path / "fresh"), "--missing", "--publish", "--only", only]
    run = CliRunner().invoke(app, command)
    assert run.exit_code == 0, run.output
    made = sorted(result.parent.name for result in (tmp_path / "fresh").rglob("result.json"))
    assert made == ["seed-5"] * (3 if only == "*" else 1)
    numbers = [(row["name"], row["seeds"], row["statistics"], row["curves"]) for row in json.loads(one)["settings"]]
    found = [(row["name"], row["seeds"], row["statistics"], row["curves"])
             for row in json.loads(published(path).read_text())["settings"]]  # fmt: skip
    assert found[0] == numbers[0] and (found == numbers) == (only == "*")
    before = published(path).read_bytes()
    run = CliRunner().invoke(app, command)
    many = 9 if only == "*" else 3
    assert run.exit_code == 0 and f"nothing is missing, {published(path)} has all {many} runs" in run.stderr
    assert published(path).read_bytes() == before


def test_of_changed_settings_every_run_is_missing(path: Path, tmp_path: Path, store_of: Copy) -> None:
    publish(path, store_of("one", units(path)))
    path.write_text(SMALL.replace("record_every = 2", "record_every = 4"))
    report = run_files([path], RunOptions(tmp_path / "fresh", budget="0s", missing=True))
    assert report.lines == [f"{path}: 9 runs wait; the same command goes on with them"]


def test_two_processes_publish_the_runs_of_both(path: Path, store_of: Copy) -> None:
    """At the same time, from two stores: neither's runs are lost."""
    every = units(path)
    publish(path, store_of("one", every))
    one = published(path).read_bytes()
    published(path).unlink()
    script("publishers.py", path, *(store_of(f"part {n}", every[n::2]) for n in range(2)))
    assert published(path).read_bytes() == one


def test_all_that_is_published_here_is_of_its_file() -> None:
    """Also where a seed stands in the setting (``run.seeded``): runs of every seed are of one setting."""
    for path in experiment_files():
        experiment = read_experiment(path)
        whole, now = read_kept(path, experiment), read_current(path, experiment)
        if whole is not None:
            assert now is not None and runs_of(now) == runs_of(whole), path
