"""The script that measures a device runs with four packages alone, keeps what it has, and says what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fedtheory import Setting, algorithms, gpu
from fedtheory.experiments.commands import RunOptions, run_files
from fedtheory.federations import Quadratic
from fedtheory.participation import Uniform
from fedtheory.simulation import engine
from fedtheory.testing.pretended_device import pretended_device

from .test_bare_machine import BLOCKED

NEEDED_BY_TORCH = ("sympy",)  # torch's own vmap imports it
PROGRAM = """
import sys
for name in {blocked}:
    sys.modules[name] = None
from fedtheory.gpu import main
sys.exit(main(sys.argv[1:]))
"""
FILE = """
title = "two settings"
[federation]
kind = "common_hessian"
offsets = [1, -1, 2]
[algorithm]
kind = "fedavg"
local_lr = "1/8"
[participation]
kind = "Uniform"
cohort = 2
[run]
rounds = 4
observers = ["squared_distance"]
seeds = [0, 1]
[grid]
"participation.cohort" = [1, 2]
[[statistics]]
name = "distance"
of = "squared_distance"
"""


def test_it_runs_with_four_packages_and_a_file_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE)
    program = PROGRAM.format(blocked=[name for name in BLOCKED if name not in NEEDED_BY_TORCH])
    words = ["--device", "cpu", "--budget", "1h", "--short", "--into", str(tmp_path / "into"), "--runs", str(file)]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    measured = json.loads((tmp_path / "into" / "measured.json").read_text())
    assert list(measured) == ["device", "correctness", "engine", "networks", "memory", "runs"]
    assert measured["device"][0]["device"] == "cpu" and all(row["agrees"] for row in measured["correctness"])
    page = (tmp_path / "into" / "measured.md").read_text()
    assert page.count("## ") == 6 and "| cpu |" in page


def test_runs_are_those_of_the_experiments(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE)
    on = gpu.Measured(torch.device("cpu"), tmp_path, gpu.time.monotonic() + 1000)
    rows = list(gpu.runs(on, [file]))
    assert len(rows) == 4
    fed = Quadratic.common_hessian([1, -1, 2])
    how = algorithms.fedavg(local_lr="1/8")
    known = Setting(fed, how, Uniform(1)).simulate(replicas=1, rounds=4, seed=1)
    (found,) = [row for row in rows if row["run"].endswith("cohort=1, seed 1")]
    assert found["distance"] == [known.rows["squared_distance"][0, -1]]
    on.deadline = 0.0
    assert next(gpu.runs(on, [file])) == rows[0]  # what is there is read, however late it is
    (left,) = list(gpu.runs(gpu.Measured(on.device, tmp_path / "other", 0.0), [file]))
    assert left["left"] == "not begun"


def test_the_device_of_a_file_is_overruled(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE.replace("rounds = 4", 'rounds = 4\ndevice = "cuda:9"'))
    failed = run_files([file], RunOptions(tmp_path / "store"))
    assert failed.failed and "device = 'cuda:9'" in failed.lines[0]
    here = run_files([file], RunOptions(tmp_path / "store", device="auto" if torch.cuda.is_available() else "cpu"))
    assert not here.failed and len(here.contents[0]["settings"]) == 2
    with pretended_device() as counts:
        there = run_files([file], RunOptions(tmp_path / "other", device="auto"))
    assert counts.operations and not there.failed
    for one, other in zip(here.contents[0]["settings"], there.contents[0]["settings"], strict=True):
        assert one["statistics"]["distance"]["mean"] == pytest.approx(other["statistics"]["distance"]["mean"], rel=1e-9)


def test_a_pretended_device_is_measured(tmp_path: Path) -> None:
    with pretended_device() as counts:
        assert gpu.main(["--device", "cuda", "--budget", "1h", "--short", "--into", str(tmp_path)]) == 0
    measured = json.loads((tmp_path / "measured.json").read_text())
    assert measured["device"][0]["device"] == "cuda: pretended" and counts.operations
    assert all(len(measured[name]) == 1 for name in ("correctness", "engine", "networks"))


def test_numbers_that_are_not_the_cpus_end_with_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(gpu, "_difference", lambda found, known: 1e-3)
    assert gpu.main(["--device", "cpu", "--budget", "1h", "--short", "--into", str(tmp_path)]) == 1
    assert "not the CPU's numbers" in capsys.readouterr().err


def test_what_fails_is_said_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def failing(on: gpu.Measured):
        raise RuntimeError("CUDA error: out of memory\nmore lines")
        yield

    monkeypatch.setattr(gpu, "engine", failing)
    assert gpu.main(["--device", "cpu", "--budget", "1h", "--short", "--into", str(tmp_path)]) == 0
    measured = json.loads((tmp_path / "measured.json").read_text())
    assert measured["engine"] == [{"failed": "RuntimeError: CUDA error: out of memory"}]
    assert measured["networks"] and "engine: CUDA error: out of memory\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, said",
    [
        (["--device", "cuda:7", "--budget", "1s"], "device = 'cuda:7'"),
        (["--device", "cpu", "--budget", "soon"], "'soon'"),
    ],
)
def test_what_cannot_begin_is_said_in_a_line(words: list[str], said: str, tmp_path: Path, capsys) -> None:
    assert gpu.main([*words, "--into", str(tmp_path / "into")]) == 2
    line = capsys.readouterr().err
    assert said in line and line.count("\n") == 1


def test_a_chunk_without_memory_is_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(Quadratic.common_hessian([1, -1, 2], 0.5), algorithms.fedavg(local_lr="1/8"), Uniform(2))
    known, spans, whole = setting.simulate(replicas=7, rounds=3), [], engine._run_chunk

    def small(plan, ids, *others):
        spans.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        return whole(plan, ids, *others)

    monkeypatch.setattr(engine, "_run_chunk", small)
    found = setting.simulate(replicas=7, rounds=3)
    assert spans == [7, 3, 1, 2, 4, 2, 2]
    for name, values in known.rows.items():
        np.testing.assert_allclose(found.rows[name], values, rtol=1e-12)
    with pytest.raises(ValueError, match=r"no memory for 7 replicas at a time .*lower chunk.*in another directory"):
        setting.simulate(replicas=7, rounds=3, directory=tmp_path)
