"""Experiment files run: the same numbers after any number of kills, from any executor; what is wrong is said."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fedtheory.cli import app
from fedtheory.experiments import sweeps, work_units
from fedtheory.experiments.commands import RunOptions, _chosen, run_files
from fedtheory.experiments.results import commits_of
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.sweeps import dask, perform_all, search
from fedtheory.experiments.work_units import OutOfTime, perform, units_of
from fedtheory.files import locked

HERE = Path(__file__).parent
EXPERIMENT = """
title = "a test"

[federation]
kind = "random_quadratic"
clients = 6
dimension = 3
gradient_noise = 0.5

[algorithm]
kind = "fast"
cohort = 2
local_lr = "1/50"
snapshot_probability = "1/2"

[participation]
kind = "Uniform"
cohort = 2

[run]
rounds = 440
seeds = [3]
observers = [{ kind = "squared_distance" }]
record_every = 10
checkpoint_every = 20

[[statistics]]
name = "distance"
of = "squared_distance"
take = "mean"
last = 5
"""
GRID = """
[grid]
"algorithm.local_lr" = ["1/50", "1/20"]
"""


def written(folder: Path, text: str = EXPERIMENT, name: str = "test.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def results(path: Path, store: Path) -> list[dict[str, Any]]:
    experiment = read_experiment(path)
    outcome = perform_all(units_of(experiment, experiment.points(), store))
    assert not outcome.failed and not outcome.waiting
    return list(outcome.results.values())


def numbers(result: dict[str, Any]) -> Any:
    return result["statistics"], result["rows"], result["rounds"]


def script(name: str, *arguments: object) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1])}
    run = subprocess.run(
        [sys.executable, str(HERE / name), *map(str, arguments)],
        capture_output=True, text=True, timeout=300, env=environment, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_run_killed_twenty_times_ends_with_the_same_numbers(tmp_path: Path) -> None:
    path = written(tmp_path)
    killed = json.loads(script("killed.py", path, tmp_path / "killed"))
    assert killed["inside"] >= 10 and killed["outside"] >= 10
    (after,), (plain,) = results(path, tmp_path / "killed"), results(path, tmp_path / "plain")
    assert numbers(after) == numbers(plain)


def test_what_another_process_runs_comes_last(tmp_path: Path) -> None:
    path = written(tmp_path, EXPERIMENT.replace("seeds = [3]", "seeds = [3, 4, 5]"))
    experiment = read_experiment(path)
    units, ended = units_of(experiment, experiment.points(), tmp_path / "store"), list[int]()
    with contextlib.ExitStack() as other:
        Path(units[0].folder).mkdir(parents=True)
        other.enter_context(locked(Path(units[0].folder) / work_units.LOCK, make=True))

        def done(unit: work_units.Unit, result: dict[str, Any]) -> None:
            ended.append(unit.seed)
            if len(ended) == 2:
                other.close()

        outcome = perform_all(units, done=done)
    assert ended == [4, 5, 3] and outcome.results.keys() == {*units}


def test_one_seed_gives_one_result_and_another_a_different_one(tmp_path: Path) -> None:
    path = written(tmp_path)
    (first,), (again,) = results(path, tmp_path / "a"), results(path, tmp_path / "b")
    (other,) = results(written(tmp_path, EXPERIMENT.replace("seeds = [3]", "seeds = [4]")), tmp_path / "c")
    assert numbers(first) == numbers(again)
    assert first["statistics"] != other["statistics"]


@pytest.mark.parametrize(("one", "two"), [(20, 33), (1, 1000)])
def test_two_processes_leave_one_store_whatever_their_checkpoints(tmp_path: Path, one: int, two: int) -> None:
    paths = [written(tmp_path / str(n), EXPERIMENT.replace("checkpoint_every = 20", f"checkpoint_every = {every}"))
             for n, every in enumerate((one, two))]  # fmt: skip
    script("twins.py", *paths, tmp_path / "store")
    (both,), (plain,) = results(paths[0], tmp_path / "store"), results(paths[1], tmp_path / "plain")
    assert numbers(both) == numbers(plain)
    (tmp_path / "store" / "own" / "test" / "only" / "seed-3" / "result.json").unlink()
    (again,) = results(paths[1], tmp_path / "store")  # from the checkpoints that the two left
    assert numbers(again) == numbers(plain) and again["seconds"] >= both["seconds"]


@pytest.mark.slow
@pytest.mark.parametrize("when", ["result", "checkpoint"])
@pytest.mark.parametrize("executor", ["pool", "dask"])
def test_a_killed_worker_loses_nothing(tmp_path: Path, executor: str, when: str) -> None:
    """Killed at the first result of all, or in the middle of a unit, at its first checkpoint."""
    if executor == "dask":
        pytest.importorskip("distributed")
    text = EXPERIMENT.replace("seeds = [3]", "seeds = [3, 4, 5]") + GRID
    path = written(tmp_path, text)
    got = json.loads(script("workers.py", path, tmp_path / "store", executor, when).strip().splitlines()[-1])
    assert got["killed"] == 1 and not got["failed"]
    assert all(0 <= share <= 1 for share in got["shares"]) and got["shares"]
    plain = {f"{each['point']} {each['seed']}": each["statistics"] for each in results(path, tmp_path / "plain")}
    assert got["found"] == plain and len(plain) == 6


def test_what_another_process_has_done_is_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the second of three when its turn comes."""
    path = written(tmp_path, EXPERIMENT.replace("440", "40").replace("seeds = [3]", "seeds = [3, 4, 5]"))
    experiment = read_experiment(path)
    units = units_of(experiment, experiment.points(), tmp_path / "store")
    shares: list[float] = []
    monkeypatch.setattr(sweeps, "in_use", lambda lock: lock.parent == Path(units[1].folder))

    def meanwhile(unit: Any, result: Any) -> None:
        if unit == units[0]:
            perform(units[1])
            shares.clear()

    perform_all(units, done=meanwhile, progress=lambda name, done, total: shares.append(done / total))
    assert shares and 2 / 3 <= min(shares) <= max(shares) <= 1


def test_progress_is_what_checkpoints_have(tmp_path: Path) -> None:
    path = written(tmp_path)
    (unit,) = units_of(read_experiment(path), read_experiment(path).points(), tmp_path / "store")
    assert work_units.checkpointed(unit) == 0
    results(path, tmp_path / "store")
    assert work_units.checkpointed(unit) == 1
    for segment in Path(unit.folder).rglob("segment-*.npz"):
        if int(segment.stem[-12:]) > 221:
            segment.unlink()
    assert work_units.checkpointed(unit) == pytest.approx(0.5, abs=0.05)


FAILING = """
import json, sys
from pathlib import Path
from distributed import LocalCluster
from fedtheory.experiments.commands import RunOptions, run_files
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as local:
        report = run_files([Path(sys.argv[1])], RunOptions(Path(sys.argv[2]), scheduler=local.scheduler_address))
    print(json.dumps([report.failed, report.lines, len(report.contents[0]["settings"])]))
"""


@pytest.mark.slow
def test_a_unit_that_fails_on_a_cluster_is_told_in_one_line(tmp_path: Path) -> None:
    """And the others are done."""
    pytest.importorskip("distributed")
    path = written(tmp_path, EXPERIMENT.replace("440", "40") + GRID)
    first, _ = units_of(read_experiment(path), read_experiment(path).points(), tmp_path / "store")
    first.result_path.parent.mkdir(parents=True)
    first.result_path.write_text("[]")
    program = tmp_path / "program.py"
    program.write_text(FAILING)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(
        [sys.executable, str(program), str(path), str(tmp_path / "store")],
        capture_output=True, text=True, timeout=300, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    failed, lines, settings = json.loads(done.stdout.splitlines()[-1])
    assert failed and settings == 1 and len(lines) == 1 and "\n" not in lines[0]
    assert str(first.result_path) in lines[0]


def test_a_scheduler_that_does_not_answer_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match=r"scheduler 'tcp://127.0.0.1:9' does not answer"):
        dask("tcp://127.0.0.1:9", timeout=1)


def test_a_store_of_another_experiment_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    results(path, tmp_path / "store")
    path = written(tmp_path, EXPERIMENT.replace("cohort = 2", "cohort = 3"))
    report = run_files([path], RunOptions(tmp_path / "store"))
    assert report.failed and "holds the result of another experiment (algorithm.cohort = 2 there, 3" in report.lines[0]
    (unit,) = units_of(read_experiment(path), read_experiment(path).points(), tmp_path / "store")
    unit.result_path.unlink()  # now only the checkpoints are another's
    report = run_files([path], RunOptions(tmp_path / "store"))
    assert report.failed and "holds the checkpoints of another experiment (algorithm.cohort" in report.lines[0]


def test_what_does_not_change_numbers_may_change(tmp_path: Path) -> None:
    (before,) = results(written(tmp_path), tmp_path / "store")
    changed = EXPERIMENT.replace('"a test"', '"another title"').replace("seeds = [3]", "seeds = [3, 9]")
    after = results(written(tmp_path, changed), tmp_path / "store")
    assert after[0] == before and after[1]["seed"] == 9


def test_one_file_that_fails_stops_no_other(tmp_path: Path) -> None:
    good = written(tmp_path / "p", EXPERIMENT, "good.toml")
    bad = written(tmp_path / "p", EXPERIMENT.replace("rounds = 440", "rouns = 440"), "bad.toml")
    data = EXPERIMENT.replace('kind = "random_quadratic"\nclients = 6\ndimension = 3\ngradient_noise = 0.5',
                              'kind = "logistic"\ndataset = "digitz"\nclients = 6\nalpha = 1.0\nl2 = 0.1')  # fmt: skip
    missing = written(tmp_path / "p", data, "missing.toml")
    report = run_files([bad, missing, good], RunOptions(tmp_path / "store"))
    assert [content["file"] for content in report.contents] == ["p/good.toml"]
    assert report.failed
    assert "bad.toml, line 21: run.rouns is unknown; did you mean 'rounds'?" in report.lines[0]
    assert "digitz" in report.lines[1]


def test_a_budget_leaves_checkpoints_and_says_what_waits(tmp_path: Path) -> None:
    path = written(tmp_path)
    report = run_files([path], RunOptions(tmp_path / "store", budget="0s"))
    assert not report.failed and not report.contents
    assert report.lines == [f"{path}: 1 runs wait; the same command goes on with them"]
    experiment = read_experiment(path)
    (unit,) = units_of(experiment, experiment.points(), tmp_path / "store")
    with pytest.raises(OutOfTime):
        perform(unit, deadline=0.0)
    assert perform(unit)["statistics"] == results(path, tmp_path / "plain")[0]["statistics"]


def test_a_run_is_of_all_commits_that_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    experiment = read_experiment(path)
    (unit,) = units_of(experiment, experiment.points(), tmp_path / "store")
    Path(unit.folder).mkdir(parents=True)
    for each in ("later", "first", "later"):
        monkeypatch.setattr(work_units, "commit", partial(str, each))
        work_units.Clock(Path(unit.folder) / "time.json").note()
    monkeypatch.setattr(work_units, "commit", lambda: "last")
    result = perform(unit)
    assert result["commits"] == ["later", "first", "last"] and commits_of(result) == ["first", "last", "later"]
    assert commits_of({"commit": "alone"}) == ["alone"]  # as results were kept before


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    sync, left = os.fsync, [5]

    def full(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    report = run_files([path], RunOptions(tmp_path / "store"))
    assert report.failed and "No space left on device" in report.lines[0] and "cannot be written" in report.lines[0]
    monkeypatch.undo()
    assert results(path, tmp_path / "store")[0]["statistics"] == results(path, tmp_path / "plain")[0]["statistics"]


def test_statistics_are_those_of_the_rows(tmp_path: Path) -> None:
    more = """
[[statistics]]
name = "late"
of = "squared_distance"
take = "mean"
last_rounds = 40
scale = 100.0
plus = 3.0

[[statistics]]
name = "least"
of = "squared_distance"
take = "least"

[[statistics]]
name = "end"
of = "squared_distance"
"""
    (result,) = results(written(tmp_path, EXPERIMENT + more), tmp_path / "store")
    row = result["rows"]["squared_distance"][0]
    taken = {name: each["values"][0] for name, each in result["statistics"].items()}
    assert result["rounds"][-5:] == [400, 410, 420, 430, 440]
    assert taken["distance"] == pytest.approx(sum(row[-5:]) / 5)
    assert taken["late"] == pytest.approx(3 + 100 * sum(row[-4:]) / 4)  # rounds 410 to 440
    assert taken["least"] == min(row) and taken["end"] == row[-1]


def test_a_statistic_of_what_was_not_observed_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, EXPERIMENT.replace('of = "squared_distance"', 'of = "squared_distanse"'))
    report = run_files([path], RunOptions(tmp_path / "store"))
    assert "of = 'squared_distanse' was not observed; did you mean 'squared_distance'" in report.lines[0]


def test_a_search_takes_one_key_after_another(tmp_path: Path) -> None:
    text = (
        EXPERIMENT
        + """
[search]
statistic = "distance"

[[search.stages]]
over = "algorithm.local_lr"
values = ["1/1000", "1/20", 10]

[[search.stages]]
over = "algorithm.snapshot_probability"
values = [0.25, 0.75]
"""
    )
    text = text.replace('title = "a test"', 'title = "a test"\nstart = 10.0')
    experiment = read_experiment(written(tmp_path, text))
    chosen, seen, outcome = search(experiment, tmp_path / "store")
    assert chosen["algorithm.local_lr"] == "1/20"
    assert [len(stage["scores"]) for stage in seen] == [3, 2] and len(outcome.results) == 5
    scores = seen[1]["scores"]
    assert chosen["algorithm.snapshot_probability"] == min((0.25, 0.75), key=lambda value: scores[str(value)])


@pytest.mark.parametrize("what", ["failed", "waiting"])
def test_a_search_ends_with_a_stage_that_is_not_whole(tmp_path: Path, what: str) -> None:
    """Of what fails, or is left for want of time, nothing is chosen, and no further stage begins."""
    stage = '\n[[search.stages]]\nover = "algorithm.local_lr"\nvalues = ["1/20", "1/50"]\n'
    text = EXPERIMENT.replace("440", "20") + '\n[search]\nstatistic = "distance"\n' + 2 * stage
    text = text.replace("clients = 6", "clients = 1") if what == "failed" else text  # of whom 2 cannot be drawn
    experiment = read_experiment(written(tmp_path, text))
    chosen, seen, outcome = search(experiment, tmp_path / "store", deadline=0.0 if what == "waiting" else math.inf)
    assert (chosen, seen) == ({}, []) and len(getattr(outcome, what)) == 2 and not outcome.results


def test_the_command_publishes_what_it_ran(tmp_path: Path) -> None:
    path = written(tmp_path / "paper", EXPERIMENT + GRID)
    runner = CliRunner()
    run = runner.invoke(app, ["run", str(path), "--store", str(tmp_path / "store"), "--publish"])
    assert run.exit_code == 0, run.output
    kept = json.loads((tmp_path / "paper" / "tables" / "ours" / "test.json").read_text())
    assert kept["file"] == "paper/test.toml" and len(kept["commits"]) == 1 and kept["seconds"] > 0
    assert [row["labels"] for row in kept["settings"]] == [{"local_lr": "1|50"}, {"local_lr": "1|20"}]
    values = kept["settings"][0]["statistics"]["distance"]["values"]
    assert values == results(written(tmp_path / "plain"), tmp_path / "p")[0]["statistics"]["distance"]["values"]
    assert kept["settings"][0]["seeds"] == [3]


@pytest.mark.parametrize("only", ["*", "*1|20"])
def test_a_damaged_unit_is_named_and_the_others_are_published(tmp_path: Path, only: str) -> None:
    """A segment of another layout where a run has to go on, and a result that is none."""
    path = written(tmp_path / "paper", EXPERIMENT.replace("440", "40") + GRID)
    store = tmp_path / "store"
    first, _ = units_of(read_experiment(path), read_experiment(path).points(), store)
    perform(first)
    damaged = max(Path(first.folder).rglob("segment-*.npz"))
    np.savez(damaged, first_round=0, next_round=int(damaged.stem[-12:]))
    first.result_path.unlink()
    command = ["run", str(path), "--store", str(store), "--publish"]
    run = CliRunner().invoke(app, command)
    assert run.exit_code == 1 and run.stderr.count("it has no seal") == 1 and str(damaged) in run.stderr
    kept = tmp_path / "paper" / "tables" / "ours" / "test.json"
    assert [row["name"] for row in json.loads(kept.read_text())["settings"]] == ["local_lr=1|20"]
    kept.unlink()
    first.result_path.write_text("[]")
    run = CliRunner().invoke(app, [*command, "--only", only])
    assert run.exit_code == 1 and run.stderr.count(str(first.result_path)) == 1, run.stderr
    assert [row["name"] for row in json.loads(kept.read_text())["settings"]] == ["local_lr=1|20"]


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "allowed are experiment files and figure files"),
    (["x.toml", "--budget", "soon"], "budget = 'soon': allowed is a number with a unit"),
    (["x.toml", "--workers", "-1"], "workers = -1: allowed is an integer >= 0"),
    (["x.toml", "--track", "tensorbord:x"], "did you mean 'tensorboard'"),
])  # fmt: skip
def test_wrong_options_are_named(arguments: list[str], message: str) -> None:
    run = CliRunner().invoke(app, ["run", *arguments])
    assert run.exit_code != 0 and message in str(run.exception)


def test_other_statistics_of_a_finished_run_are_taken_from_it(tmp_path: Path) -> None:
    results(written(tmp_path), tmp_path / "store")
    (again,) = results(written(tmp_path, EXPERIMENT.replace("last = 5", "last = 3")), tmp_path / "store")
    row = again["rows"]["squared_distance"][0]
    assert again["statistics"]["distance"]["values"][0] == pytest.approx(sum(row[-3:]) / 3)


MISSING = EXPERIMENT.replace(
    'kind = "random_quadratic"\nclients = 6\ndimension = 3\ngradient_noise = 0.5',
    'kind = "Network"\ndataset = "svhn"\nmodel = "small_cnn"\nbatch_size = 8\n'
    'partition = { kind = "Uniform", clients = 6 }',
)


def test_data_that_are_missing_are_named_and_the_others_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDTHEORY_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    missing, good = written(tmp_path / "p", MISSING, "missing.toml"), written(tmp_path / "p", EXPERIMENT, "good.toml")
    report = run_files([missing, good], RunOptions(tmp_path / "store"))
    assert report.failed and [content["file"] for content in report.contents] == ["p/good.toml"]
    (line,) = report.lines
    assert line.startswith(f"{missing}: svhn is in none of the folders") and "FEDTHEORY_DATA" in line
    assert "fedtheory data fetch svhn" in line


def test_settings_are_chosen_by_name(tmp_path: Path) -> None:
    path = written(tmp_path / "p", EXPERIMENT + GRID)
    report = run_files([path], RunOptions(tmp_path / "store", publish=True, only="*1|20"))
    assert [row["name"] for row in report.contents[0]["settings"]] == ["local_lr=1|20"]
    with pytest.raises(ValueError, match=r"only = 'local_lr=1.30' is no setting; did you mean 'local_lr=1.50'"):
        _chosen(read_experiment(path), "local_lr=1|30")
    run_files([path], RunOptions(tmp_path / "store", publish=True, only="*1|50"))
    kept = tmp_path / "p" / "tables" / "ours" / "test.json"
    assert [row["name"] for row in json.loads(kept.read_text())["settings"]] == ["local_lr=1|50", "local_lr=1|20"]
    before = kept.read_bytes()
    report = run_files(
        [path], RunOptions(tmp_path / "other", publish=True, only="*1|50")
    )  # the run is published already
    assert not report.lines and not report.failed
    assert kept.read_bytes() == before


def test_how_a_run_is_made_is_asked_for_and_recorded(tmp_path: Path) -> None:
    """By options of the command; another way is refused by name, unless it is asked for."""
    path, store = written(tmp_path, EXPERIMENT.replace("440", "40")), tmp_path / "store"
    command = ["run", str(path), "--store", str(store)]
    little = CliRunner().invoke(app, [*command, "--memory-limit", "100"])
    assert little.exit_code == 2 and "memory_limit = 100: one replica with one client" in little.stderr
    run = CliRunner().invoke(app, [*command, "--threads", "2", "--memory-limit", str(2**28)])
    assert run.exit_code == 0, run.output
    result = next(store.rglob("result.json"))
    assert [each["threads"] for each in json.loads(result.read_text())["made_by"]] == ["2"]
    assert "threads" not in json.loads(result.read_text())["asked"]["run"]
    result.unlink()
    last = max(store.rglob("segment-*.npz"))
    last.unlink()  # there is something left to do
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2 and "threads = 2 there, 1 here" in refused.stderr and "--mixed" in refused.stderr
    mixed = CliRunner().invoke(app, [*command, "--mixed"])
    assert mixed.exit_code == 0, mixed.output
    assert [each["threads"] for each in json.loads(result.read_text())["made_by"]] == ["2", "1"]


def test_a_store_from_before_the_record_says_what_to_do(tmp_path: Path) -> None:
    """And the command that it names goes on, to the same bits; the result says so."""
    path, store = written(tmp_path, EXPERIMENT.replace("440", "40")), tmp_path / "store"
    (plain,) = results(path, store)
    next(store.rglob("result.json")).unlink()
    max(store.rglob("segment-*.npz")).unlink()
    for tag in store.rglob("run.json"):
        label = json.loads(tag.read_text())
        tag.write_text(json.dumps({name: value for name, value in label.items() if name not in ("made_by", "seal")}))
    command = ["run", str(path), "--store", str(store)]
    refused = CliRunner().invoke(app, command)
    (line,) = [each for each in refused.stderr.splitlines() if "replica" in each or "begun" in each]
    assert refused.exit_code == 2 and "begun before stores recorded what made their bits" in line
    assert "allowed is mixed=True (--mixed)" in line
    assert CliRunner().invoke(app, [*command, "--mixed"]).exit_code == 0
    found = json.loads(next(store.rglob("result.json")).read_text())
    assert numbers(found) == numbers(plain) and [*found["made_by"][0]] == [] != [*found["made_by"][1]]


def test_an_edited_clock_is_refused(tmp_path: Path) -> None:
    path, store = written(tmp_path, EXPERIMENT.replace("440", "40")), tmp_path / "store"
    results(path, store)
    next(store.rglob("result.json")).unlink()
    clock = next(store.rglob("time.json"))
    clock.write_text(clock.read_text().replace('"commits": ["', '"commits": ["f00d", "'))
    experiment = read_experiment(path)
    (said,) = perform_all(units_of(experiment, experiment.points(), store)).failed.values()
    assert f"{clock}: it was changed after it was sealed" in said
