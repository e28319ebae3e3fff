"""Tracking: live, gone on with without doubled steps, harmless; TensorBoard for real, the others where installed, else
by the calls that they get."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from fedtheory import Setting
from fedtheory.algorithms import fedavg, fedavgm
from fedtheory.federations import Quadratic
from fedtheory.participation import Uniform
from fedtheory.simulation import Tracking, tracking
from fedtheory.simulation.checkpoint import Checkpoints
from fedtheory.simulation.trackers import plain, tracker
from tests.simulation import notebook
from tests.simulation.notebook import Notebook

FED = Quadratic.common_hessian(offsets=[1, -1, 3], gradient_noise="1/2")
ALIKE = Setting(FED, fedavg(local_lr="1/10"), Uniform(2), start=3)
"""Rounds that the engine makes several of in one call."""
APART = Setting(FED, fedavgm(local_lr="1/10", momentum="1/2"), Uniform(2), start=3)
"""Rounds that it makes one by one."""
RUN = {"replicas": 3, "seed": 5, "record_every": 4}


class Stop(Exception):
    pass


def stopped_at(round: int, replicas: int = 3) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= round * replicas:
            raise Stop

    return progress


@pytest.fixture(autouse=True)
def _as_if_nothing_was_said() -> None:
    tracking._warn.cache_clear()


def test_what_is_recorded_is_told() -> None:
    book = Notebook()
    run = ALIKE.simulate(**RUN, rounds=18, track=book)
    (steps,) = book.steps.values()
    assert book.rounds == run.rounds.tolist() == [0, 4, 8, 12, 16, 18] and book.ended == [True]
    for name in ("squared_distance", "squared_gradient"):
        assert [values[name] for _, values in steps] == run.rows[name].mean(0).tolist()
    assert {name for _, values in steps for name in values} == {"squared_distance", "squared_gradient"}
    (settings,) = book.settings.values()
    assert settings["local_lr"] == "0.1" and settings["clients"] == "3" and settings["seed"] == "5"


def test_it_is_told_while_the_run_goes_on() -> None:
    book, seen = Notebook(), []
    APART.simulate(**RUN, rounds=18, track=book, progress=lambda done, total: seen.append((done // 3, book.rounds[-1])))
    assert seen == [(round, 4 * ((round - 1) // 4)) for round in range(1, 19)]


@pytest.mark.parametrize("setting", [ALIKE, APART])
def test_an_interrupted_run_goes_on_in_the_same_tracked_run(setting: Setting, tmp_path: Path) -> None:
    whole, book = Notebook(), Notebook()
    setting.simulate(**RUN, rounds=40, track=whole)
    for stop in (14, 27):
        with pytest.raises(Stop):
            setting.simulate(
                **RUN, rounds=40, track=book, directory=tmp_path, checkpoint_every=10, progress=stopped_at(stop)
            )
    assert book.ended == [False, False] and book.rounds[-1] >= 24  # ahead of the last checkpoint
    setting.simulate(**RUN, rounds=40, track=book, directory=tmp_path, checkpoint_every=10)
    assert book.steps == whole.steps and book.ended == [False, False, True]
    setting.simulate(**RUN, rounds=40, track=book, directory=tmp_path)  # which is only read
    assert book.steps == whole.steps


def test_what_a_tracker_lost_is_told_again(tmp_path: Path) -> None:
    whole, book = Notebook(), Notebook()
    APART.simulate(**RUN, rounds=40, track=whole)
    with pytest.raises(Stop):
        APART.simulate(**RUN, rounds=40, track=book, directory=tmp_path, checkpoint_every=10, progress=stopped_at(25))
    (steps,) = book.steps.values()
    del steps[3:], steps[-1][1]["squared_gradient"]  # what it had not written when its process was killed
    APART.simulate(**RUN, rounds=40, track=book, directory=tmp_path, checkpoint_every=10)
    lost = steps.pop(3)
    assert lost[0] == 8 and list(lost[1]) == ["squared_gradient"]
    steps[2][1].update(lost[1])
    assert book.steps == whole.steps


def test_a_longer_run_is_the_same_tracked_run(tmp_path: Path) -> None:
    for options in ({"directory": tmp_path}, {}):
        whole, book = Notebook(), Notebook()
        APART.simulate(**RUN, rounds=40, track=whole)
        short = APART.simulate(**RUN, rounds=20, track=book, **options)
        APART.simulate(rounds=40, track=book, **(options | RUN if options else {"start": short}))
        assert book.steps == whole.steps


def test_other_runs_are_other_tracked_runs() -> None:
    book = Notebook()
    for setting, options in ((ALIKE, RUN), (ALIKE, RUN | {"seed": 6}), (APART, RUN), (ALIKE, RUN | {"replicas": 4})):
        setting.simulate(**options, rounds=8, track=book)
    ALIKE.simulate(**RUN, rounds=8, track=Tracking(book, "by another name", {"why": "to see"}))
    assert len(book.steps) == 5 and {"why": "to see"} in book.settings.values()


@pytest.mark.parametrize("many", [False, True])
def test_chunks_are_runs_of_their_own(many: bool) -> None:
    book = Notebook()
    executor = ThreadPoolExecutor(2) if many else None
    run = APART.simulate(**RUN, rounds=8, chunk=2, track=book, executor=executor)
    names = {name: identity for identity, name in book.names.items()}
    assert sorted(names) == [
        f"Quadratic, EveryRound, Uniform, seed 5, replicas {a} to {b}" for a, b in ((0, 1), (2, 2))
    ]
    told = [values["squared_distance"] for _, values in book.steps[names[min(names)]]]
    assert told == run.rows["squared_distance"][:2].mean(0).tolist()


@pytest.mark.parametrize("fails", ["begin", "last", "log", "end"])
def test_a_tracker_that_fails_harms_no_run(fails: str, caplog: pytest.LogCaptureFixture) -> None:
    plain_run = APART.simulate(**RUN, rounds=20)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            run = APART.simulate(**RUN, rounds=20, track=Notebook(fails))
            assert all(np.array_equal(run.rows[name], plain_run.rows[name]) for name in plain_run.rows)
    assert [each.getMessage() for each in caplog.records] == [
        f"track: Notebook failed (no connection at {fails}); the run goes on without it"
    ]


def test_an_interruption_is_no_failure_of_a_tracker() -> None:
    class Impatient(Notebook):
        def tried(self, what: str) -> None:
            if what == "log":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        APART.simulate(**RUN, rounds=20, track=Impatient())


def test_diverged_rows_are_told_as_they_are() -> None:
    book = Notebook()
    Setting(FED, fedavg(local_lr=10**6), Uniform(2), start=3).simulate(**RUN, rounds=100, track=book)
    (steps,) = book.steps.values()
    assert not np.isfinite(steps[-1][1]["squared_distance"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("tensorbord:x", "track = 'tensorbord': did you mean 'tensorboard'?"),
        (3, "track is 3: allowed is a text such as 'tensorboard:runs', or an object with begin"),
    ],
)
def test_wrong_trackers_are_refused_before_the_run(wrong: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        ALIKE.simulate(**RUN, track=wrong)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ImportError, match=r"wandb is not installed; it comes with the extra 'tracking'"):
        ALIKE.simulate(**RUN, track="wandb")


# What the libraries are given ---------------------------------------------------------------------------------------


def interrupted_and_gone_on_with(track: Any, tmp_path: Path) -> list[float]:
    """The means of a run that was stopped at round 25 and goes on to 40."""
    options = {**RUN, "rounds": 40, "track": track, "directory": tmp_path / "run", "checkpoint_every": 10}
    with pytest.raises(Stop):
        APART.simulate(**options, progress=stopped_at(25))
    return APART.simulate(**options).rows["squared_distance"].mean(0).tolist()


def test_tensorboard_has_each_step_once(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    means = interrupted_and_gone_on_with(f"tensorboard:{tmp_path / 'events'}", tmp_path)
    (run,) = (tmp_path / "events").iterdir()
    assert re.fullmatch(r"Quadratic,_EveryRound,_Uniform,_seed_5-[0-9a-f]{8}", run.name)
    files = list(run.iterdir())
    assert len(files) == 2 and all(str(tmp_path).encode() not in each.read_bytes() for each in files)
    found: list[tuple[int, float]] = []
    for each in sorted(files):
        events = accumulator.EventAccumulator(str(each), size_guidance={"scalars": 0}).Reload()
        found += [(event.step, event.value) for event in events.Scalars("squared_distance")]
    assert [step for step, _ in found] == list(range(0, 41, 4))
    assert [value for _, value in found] == pytest.approx(means, rel=1e-6)  # events are in single precision
    APART.simulate(**RUN, rounds=40, track=f"tensorboard:{tmp_path / 'events'}", directory=tmp_path / "run")
    assert list(run.iterdir()) == files  # where there is nothing to tell, nothing is written


def test_tensorboard_is_written_while_the_run_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    seen = []

    def look(done: int, total: int) -> None:
        if done == 10 * 3:
            (run,) = tmp_path.iterdir()
            events = accumulator.EventAccumulator(str(run)).Reload()
            seen.extend(event.step for event in events.Scalars("squared_distance"))

    APART.simulate(**RUN, rounds=20, track=f"tensorboard:{tmp_path}", progress=look)
    assert seen == [0, 4, 8]


class MLflowDouble:
    """What is used of MLflow's client, with a store in memory."""

    store: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self, tracking_uri: str | None) -> None:
        assert tracking_uri == "somewhere"

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id=name) if any(run["in"] == name for run in self.store.values()) else None

    def create_experiment(self, name: str) -> str:
        return name

    def search_runs(self, places: list[str], query: str, max_results: int) -> list[Any]:
        return [
            SimpleNamespace(info=SimpleNamespace(run_id=key))
            for key, run in self.store.items()
            if run["in"] in places and query == f"tags.`fedtheory.run` = '{run['tags']['fedtheory.run']}'"
        ]

    def create_run(self, place: str, tags: dict[str, str], run_name: str) -> Any:
        self.store["1"] = {"in": place, "tags": tags, "name": run_name, "metrics": [], "status": "RUNNING"}
        return SimpleNamespace(info=SimpleNamespace(run_id="1"))

    def update_run(self, run: str, status: str) -> None:
        self.store[run]["status"] = status

    set_terminated = update_run

    def get_metric_history(self, run: str, name: str) -> list[Any]:
        return [each for each in self.store[run]["metrics"] if each.key == name]

    def log_batch(self, run: str, metrics: Any = (), params: Any = ()) -> None:
        self.store[run]["metrics"] += metrics
        self.store[run].setdefault("params", []).extend(params)


def test_mlflow_gets_each_step_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MLflowDouble.store = {}
    entities = SimpleNamespace(
        Metric=lambda key, value, timestamp, step: SimpleNamespace(key=key, value=value, step=step),
        Param=lambda key, value: (key, value),
    )
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(MlflowClient=MLflowDouble, entities=entities))
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    means = interrupted_and_gone_on_with("mlflow:somewhere", tmp_path)
    (run,) = MLflowDouble.store.values()
    found = [(each.step, each.value) for each in run["metrics"] if each.key == "squared_distance"]
    assert found == list(zip(range(0, 41, 4), means, strict=True))
    assert (run["in"], run["status"], run["name"]) == (
        "fedtheory", "FINISHED", "Quadratic, EveryRound, Uniform, seed 5"
    )  # fmt: skip
    assert ("clients", "3") in run["params"]


def test_mlflow_itself_has_each_step_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    address = f"file:{tmp_path / 'store'}"
    means = interrupted_and_gone_on_with(f"mlflow:{address}", tmp_path)
    client = mlflow.MlflowClient(address)
    (run,) = client.search_runs([client.get_experiment_by_name("fedtheory").experiment_id])
    history = client.get_metric_history(run.info.run_id, "squared_distance")
    assert [(each.step, each.value) for each in history] == list(zip(range(0, 41, 4), means, strict=True))
    assert run.info.status == "FINISHED" and str(tmp_path) not in str((run.data.to_dictionary(), run.info.run_name))


class WandbDouble:
    """What is used of Weights & Biases: runs, online with the steps that its server has, offline without."""

    def __init__(self, folder: Path, offline: bool) -> None:
        self.folder, self.offline = folder, offline
        self.steps: dict[str, list[tuple[int, dict[str, float]]]] = {}
        self.asked: list[dict[str, Any]] = []
        self.Settings = SimpleNamespace

    def init(self, **options: Any) -> Any:
        self.asked.append(options)
        steps = self.steps.setdefault(options["id"], [])
        known = -1 if self.offline or not steps else steps[-1][0]
        return SimpleNamespace(
            log=lambda values, step: steps.append((step, values)),
            finish=lambda exit_code: self.asked.append({"exit_code": exit_code}),
            starting_step=known + 1,
            offline=self.offline,
            settings=SimpleNamespace(wandb_dir=str(self.folder)),
        )


@pytest.mark.parametrize("offline", [False, True])
def test_weights_and_biases_gets_each_step_once(offline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    double = WandbDouble(tmp_path, offline)
    monkeypatch.setitem(sys.modules, "wandb", double)
    means = interrupted_and_gone_on_with("wandb:mine", tmp_path)
    (steps,) = double.steps.values()
    assert [(step, values["squared_distance"]) for step, values in steps] == list(
        zip(range(0, 41, 4), means, strict=True)
    )
    begun, stopped, again, done = double.asked
    assert begun == again and begun["project"] == "mine" and begun["resume"] == "allow"
    assert (stopped, done) == ({"exit_code": 1}, {"exit_code": 0})


def test_weights_and_biases_itself_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    means = interrupted_and_gone_on_with("wandb:mine", tmp_path)
    first, second = files = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))

    def written(path: Path) -> set[float]:
        return set(map(float, re.findall(rb"squared_distance[^0-9]{1,6}([0-9.e+-]+)", path.read_bytes())))

    for _ in range(100):  # another process writes them, and is not waited for
        if {*means} <= written(first) | written(second):
            break
        time.sleep(0.1)
    assert written(first) == {*means[:7]} and written(second) == {*means[7:]}
    assert all(str(tmp_path).encode() not in each.read_bytes() for each in files)


# Relapses -----------------------------------------------------------------------------------------------------------


def test_steps_that_are_known_would_be_doubled_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The tests above see it if what the tracker has is not asked for, and if restored rows are not told."""
    monkeypatch.setattr(notebook.Page, "last", lambda page, name: -1)
    with pytest.raises(AssertionError):
        test_an_interrupted_run_goes_on_in_the_same_tracked_run(APART, tmp_path / "a")
    monkeypatch.undo()
    monkeypatch.setattr(Checkpoints, "rows", lambda store, names: iter(()))
    with pytest.raises((AssertionError, IndexError)):
        test_what_a_tracker_lost_is_told_again(tmp_path / "b")


@pytest.mark.parametrize(("name", "folder"), [("a/b: c", "a_b_c"), ("..", "run"), ("lr = 0.1", "lr_=_0.1")])
def test_folders_are_named_plainly(name: str, folder: str) -> None:
    assert plain(name) == folder


def test_targets_have_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace())
    made: Any = tracker("wandb")
    assert made.project == "fedtheory"
    settings: Mapping[str, str] = Tracking(made, "n").settings
    assert settings == {}
