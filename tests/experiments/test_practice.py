"""FedAvg as frameworks run it, from files: the bits of the same in Python, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedtheory as ft
from fedtheory.cli.statuses import run as command
from fedtheory.experiments.commands import RunOptions, run_files
from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.work_units import units_of
from fedtheory.files import read_json
from fedtheory.simulation import stored_run

NETWORK = """
[federation]
kind = "Network"
dataset = "digits"
model = { kind = "multinomial_logistic", features = 64 }
partition = { kind = "LabelDirichlet", clients = 6, alpha = 0.5, least = 20, test = 0.2 }
batch_size = 16
local_epochs = 2
drop_last = %s
[algorithm]
kind = "fedavg"
average = "samples"
local_steps = 60
local_lr = "piecewise((0.1, round_index < 2), ((1 + cos(pi*round_index/9))/20, True))"
[participation]
kind = "Uniform"
cohort = 3
[run]
rounds = 5
seeds = [4]
record_every = 1
keep_models = 2
observers = ["loss"]
"""
QUADRATIC = """
start = 3
[federation]
kind = "common_hessian"
offsets = [1, -1, 0]
gradient_noise = 0.5
[algorithm]
kind = "fedavg"
average = "samples"
samples = [%s]
local_lr = "%s"
%s
[participation]
kind = "Uniform"
cohort = 1
[run]
rounds = 30
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "e.toml"
    path.write_text(text)
    return path


def kept(path: Path) -> tuple[dict[str, Any], Path]:
    """The result of the file's only unit, and its folder."""
    experiment = read_experiment(path)
    (unit,) = units_of(experiment, experiment.points(), path.parent / "store")
    report = run_files([path], RunOptions(path.parent / "store"))
    assert not report.failed, report.lines
    return read_json(unit.result_path), Path(unit.folder)


@pytest.mark.parametrize("drop_last", [False, True])
def test_a_file_has_the_bits_of_python(tmp_path: Path, drop_last: bool) -> None:
    result, folder = kept(written(tmp_path, NETWORK % json.dumps(drop_last)))
    scheme = ft.data.LabelDirichlet(clients=6, alpha=0.5, least=20, test=0.2)
    net = ft.federations.Network(
        ft.neural.multinomial_logistic(features=64), ft.data.load("digits"), scheme, batch_size=16, local_epochs=2,
        drop_last=drop_last,
    )  # fmt: skip
    size = "piecewise((0.1, round_index < 2), ((1 + cos(pi*round_index/9))/20, True))"
    algorithm = ft.algorithms.fedavg(local_lr=size, local_steps=60, average="samples")
    run = ft.Setting(net, algorithm, ft.participation.Uniform(3)).simulate(
        replicas=1, rounds=5, seed=4, record_every=1, observers=["loss"], device="cpu", keep_models=2
    )
    assert result["rows"]["loss"] == run.rows["loss"].tolist()
    models = stored_run(folder).models
    assert set(run.models) == {0, 2, 4, 5} <= set(models)
    assert all((models[round] == values).all() for round, values in run.models.items())
    other, _ = kept(written(tmp_path / ".." / tmp_path.name, (NETWORK % json.dumps(drop_last)).replace(
        'average = "samples"', 'average = "participating"').replace("seeds", "# seeds")))  # fmt: skip
    assert other["rows"]["loss"] != result["rows"]["loss"]


def test_an_epoch_may_end_with_whole_batches(tmp_path: Path) -> None:
    with_last, _ = kept(written(tmp_path, NETWORK % "false"))
    (tmp_path / "other").mkdir()
    without, _ = kept(written(tmp_path / "other", NETWORK % "true"))
    assert with_last["rows"]["loss"] != without["rows"]["loss"]


def test_a_kept_network_is_loaded_from_the_folder(tmp_path: Path) -> None:
    _, folder = kept(written(tmp_path, NETWORK % "false"))
    run = stored_run(folder)
    module = run.model(round=4, into=ft.neural.multinomial_logistic(features=64))
    flat = np.concatenate([each.detach().numpy().ravel() for each in module.parameters()])
    assert (flat == run.parameters(4)[0]).all() and not (flat == run.parameters(5)[0]).all()


def refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The only line that is said where there is no result."""
    assert command(["run", str(written(tmp_path, text)), "--store", str(tmp_path / "store")]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "setting up" not in line and "compil" not in line]
    (line,) = lines
    assert line.startswith("fedtheory: ")
    return line


def test_weights_that_are_all_0_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(tmp_path, QUADRATIC % ("0, 0, 1", "1/10", ""), capsys)
    assert "samples: clients [" in said and "take part and have 0: allowed are cohorts with a sample" in said
    assert "allowed are numbers >= 0, of which one is > 0" in refused(
        tmp_path, QUADRATIC % ("0, 0, 0", "1/10", ""), capsys
    )


def test_an_epoch_without_points_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = (NETWORK % "true").replace("batch_size = 16", "batch_size = 400")
    said = refused(tmp_path, many, capsys)
    assert "local_epochs: client 0 has" in said and "allowed are clients with a step in every epoch" in said
    empty = (NETWORK % "true").replace("clients = 6", "clients = 900").replace("least = 20, ", "")
    assert "some client always had fewer than 1 samples; allowed are fewer clients" in refused(tmp_path, empty, capsys)


@pytest.mark.parametrize(("step", "more", "said"), [
    ("1/10 - round_index/100", "", "local_lr: step size 1/10 - round_index/100 is 0 at round_index = 10"),
    ("1/10", 'global_lr = "1 - round_index/7"', "global_lr: step size 1 - round_index/7 is 0 at round_index = 7"),
    ("1/10 - step_index/100", "local_steps = 4", "is 0 at round_index = 2, step_index = 10"),
    ("piecewise((1/10, round_index < 20))", "", "is nan at round_index = 20"),
    ("cos(round_index)", "", "is -0.41614683654714"),
])  # fmt: skip
def test_a_schedule_that_is_negative_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: str, more: str, said: str
) -> None:
    found = refused(tmp_path, QUADRATIC % ("1, 1, 1", step, more), capsys)
    assert said in found and found.endswith("no round is run")
    assert not list((tmp_path / "store").rglob("segment-*"))


def test_a_file_that_is_put_right_runs_in_the_same_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(tmp_path, QUADRATIC % ("0, 0, 1", "1/10", ""), capsys)
    path = written(tmp_path, QUADRATIC % ("1, 1, 1", "1/10", ""))
    assert command(["run", str(path), "--store", str(tmp_path / "store")]) == 0
