"""The script that measures a device runs with four packages alone, keeps what it has, and says what is wrong."""

from __future__ import annotations

import errno
import importlib.metadata as metadata
import json
import subprocess
import sys
import warnings
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch

import fedtheory
from fedtheory import Setting, algorithms, gpu, provenance
from fedtheory.experiments.commands import RunOptions, run_files
from fedtheory.federations import Quadratic, devices
from fedtheory.neural.gradients import PATHS
from fedtheory.participation import Uniform
from fedtheory.simulation import engine
from fedtheory.testing.pretended_device import pretended_device

from .test_bare_machine import BLOCKED

CPU = ["--device", "cpu", "--budget", "1h", "--short"]
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


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script without what takes its time: a row each of two short steps in their place."""
    for name in ("engine", "networks", "memory"):
        monkeypatch.setattr(gpu, name, lambda on, name=name: iter([lambda: {"measured": name}]))


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
    content = gpu.experiments([file])
    on = gpu.Measured(torch.device("cpu"), tmp_path, gpu.time.monotonic() + 1000)
    rows = [make() for make in gpu.runs(on, content)]
    assert len(rows) == 4
    fed = Quadratic.common_hessian([1, -1, 2])
    how = algorithms.fedavg(local_lr="1/8")
    known = Setting(fed, how, Uniform(1)).simulate(replicas=1, rounds=4, seed=1)
    (found,) = [row for row in rows if row["run"].endswith("cohort=1, seed 1")]
    assert found["distance"] == [known.rows["squared_distance"][0, -1]]
    on.deadline = 0.0
    assert next(gpu.runs(on, content))() == rows[0]  # what is there is read, however late it is
    other = gpu.Measured(on.device, tmp_path / "other", 0.0)
    other.into.mkdir()
    other.take("runs", gpu.runs(other, content), 1.0)
    (left,) = other.steps["runs"]
    assert left["left"] == "not begun"


def test_no_row_is_begun_that_would_end_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(gpu.time, "monotonic", lambda: clock[0])

    def rows(seconds: list[float]):
        def make(lasting: float) -> dict[str, float]:
            clock[0] += lasting
            return {"seconds": lasting}

        for lasting in seconds:
            yield lambda lasting=lasting: make(lasting)

    def taken(seconds: list[float], share: float, deadline: float = 100.0) -> list[object]:
        clock[0] = 0.0
        on = gpu.Measured(torch.device("cpu"), tmp_path, deadline)
        on.take("step", rows(seconds), share)
        return [row.get("seconds", "left") for row in on.steps["step"]]

    assert taken([20, 20, 20, 20], 1.0) == [20, 20, 20, 20]
    assert taken([20, 60, 20], 1.0) == [20, 60, "left"]  # 20 are left, and one took 60
    assert taken([20, 20, 20, 20], 0.3) == [20, 20, "left"]
    assert taken([20], 0.3) == [20]
    assert taken([20], 1.0, deadline=-1.0) == ["left"]


def test_a_package_that_is_not_installed_has_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where its folder was copied, and there is no git."""
    lacking = Mock(side_effect=metadata.PackageNotFoundError("fedtheory"))
    monkeypatch.setattr(metadata, "distribution", lacking)
    monkeypatch.setattr(provenance.subprocess, "run", Mock(side_effect=FileNotFoundError("git")))
    assert provenance.commit.__wrapped__() == f"version {fedtheory.__version__}"


def test_the_device_of_a_file_is_overruled(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE.replace("rounds = 4", 'rounds = 4\ndevice = "cuda:9"'))
    failed = run_files([file], RunOptions(tmp_path / "store"))
    assert failed.failed and "device = 'cuda:9'" in failed.lines[0]
    here = run_files([file], RunOptions(tmp_path / "store", device="cpu"))
    assert not here.failed and len(here.contents[0]["settings"]) == 2
    with pretended_device() as counts:
        there = run_files([file], RunOptions(tmp_path / "other", device="auto"))
    assert counts.operations and not there.failed
    for store, device in (("store", "cpu"), ("other", "cuda: pretended")):
        results = [*(tmp_path / store).rglob("result.json")]
        assert len(results) == 4 and {json.loads(each.read_text())["where"]["device"] for each in results} == {device}
    for one, other in zip(here.contents[0]["settings"], there.contents[0]["settings"], strict=True):
        assert one["statistics"]["distance"]["mean"] == pytest.approx(other["statistics"]["distance"]["mean"], rel=1e-9)


def test_the_memory_of_a_device_is_told_in_gib(tmp_path: Path) -> None:
    on = gpu.Measured(torch.device("cuda"), tmp_path, 0.0)
    with pretended_device(memory=3 * 2**30):
        torch.cuda.set_per_process_memory_fraction(0.5)
        (row,) = (make() for make in gpu.described(on))
    assert (row["device"], row["GiB"], row["free GiB"]) == ("cuda: pretended", 3, 1.5)


def test_a_pretended_device_is_measured(tmp_path: Path) -> None:
    with pretended_device() as counts:
        assert gpu.main(["--device", "cuda", "--budget", "1h", "--short", "--into", str(tmp_path)]) == 0
    measured = json.loads((tmp_path / "measured.json").read_text())
    assert measured["device"][0]["device"] == "cuda: pretended" and counts.operations
    assert all(len(measured[name]) == 1 for name in ("correctness", "engine", "networks"))


def test_every_way_of_training_networks_is_measured_alone_and_with_several_replicas(tmp_path: Path) -> None:
    on = gpu.Measured(torch.device("cpu"), tmp_path, 0.0)
    measured = {path: {row.args[2] for row in gpu.networks(on) if row.args[1] == path} for path in PATHS}
    assert sum(map(len, measured.values())) == len([*gpu.networks(on)])
    assert all(1 in replicas and max(replicas) > 1 for replicas in measured.values())


@pytest.mark.usefixtures("quick")
def test_numbers_that_are_not_the_cpus_end_with_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(gpu, "_difference", lambda found, known: 1e-3)
    assert gpu.main([*CPU, "--into", str(tmp_path)]) == 1
    assert "not the CPU's numbers" in capsys.readouterr().err


@pytest.mark.usefixtures("quick")
def test_what_fails_is_said_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def failing(on: gpu.Measured):
        raise RuntimeError("CUDA error: out of memory\nmore lines")
        yield

    monkeypatch.setattr(gpu, "engine", failing)
    assert gpu.main([*CPU, "--into", str(tmp_path)]) == 2
    measured = json.loads((tmp_path / "measured.json").read_text())
    assert measured["engine"] == [{"failed": "RuntimeError: CUDA error: out of memory"}]
    assert measured["networks"] == [{"measured": "networks"}]
    assert capsys.readouterr().err == "fedtheory.gpu: engine: RuntimeError: CUDA error: out of memory\n"


@pytest.mark.usefixtures("quick")
def test_a_device_that_answers_no_more_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def failing(on: gpu.Measured):
        monkeypatch.setattr(torch, "ones", refuse)
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
        yield

    def refuse(*args, **options):
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered\nCompile with ...")

    monkeypatch.setattr(gpu, "engine", failing)
    assert gpu.main([*CPU, "--into", str(tmp_path)]) == 2
    measured = json.loads((tmp_path / "measured.json").read_text())
    assert list(measured) == ["device", "correctness", "engine"] and measured["correctness"][0]["agrees"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and "device = 'cpu' does not answer: AcceleratorError" in lines[1]


def test_a_driver_that_torch_refuses_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def old() -> bool:
        warnings.warn("CUDA initialization: The NVIDIA driver on your system is too old (11040).\nUpdate", stacklevel=1)
        return False

    words = ["--device", "cuda", "--budget", "1h", "--short", "--into", str(tmp_path / "into")]
    monkeypatch.setattr(torch.cuda, "is_available", old)
    assert gpu.main(words) == 2
    line = capsys.readouterr().err
    assert "device = 'cuda' (torch finds no CUDA device)" in line and "driver on your system is too old" in line
    assert line.count("\n") == 1

    def none(*args, **options):
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device\nCUDA kernel ...")

    with pretended_device():
        monkeypatch.setattr(torch, "ones", none)
        assert gpu.main(words) == 2
    line = capsys.readouterr().err
    assert "does not answer: RuntimeError: CUDA error: no kernel image" in line and line.count("\n") == 1
    assert not (tmp_path / "into").exists()


def test_too_little_memory_for_a_client_is_said_and_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    with pretended_device():
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda which=None: (2**23, 2**23))
        monkeypatch.setattr(gpu, "engine", lambda on: iter([lambda: {"ratio": 1.0}]))
        assert gpu.main(["--device", "cuda", "--budget", "1h", "--short", "--into", str(tmp_path)]) == 2
    measured = json.loads((tmp_path / "measured.json").read_text())
    assert "ratio" in measured["engine"][0] and "memory_limit" in measured["networks"][0]["failed"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fedtheory.gpu: networks: ValueError: memory_limit = ") and "needs" in line


@pytest.mark.usefixtures("quick")
def test_a_full_disk_ends_it_and_what_was_written_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    write = gpu.write_beside

    def full(path: Path, content: bytes) -> None:
        if b"engine" in content:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(gpu, "write_beside", full)
    assert gpu.main([*CPU, "--into", str(tmp_path)]) == 2
    assert [*json.loads((tmp_path / "measured.json").read_text())] == ["device", "correctness"]
    line = capsys.readouterr().err.splitlines()[-1]
    assert "takes no more ([Errno 28] No space left on device); what was written before is whole" in line


@pytest.mark.parametrize(
    "words, said",
    [
        (["--device", "cuda:7", "--budget", "1s"], "device = 'cuda:7'"),
        (["--device", "cpu", "--budget", "soon"], "'soon'"),
        (["--device", "cpu", "--into", "{folder}/here.toml/below"], "allowed is a file in a folder"),
        (["--device", "cpu", "--runs", "{folder}/there.toml"], "there.toml"),
        (["--device", "cpu", "--runs", "{folder}/here.toml"], "here.toml: federation is missing"),
        (["--device", "cpu", "--runs", "{folder}/words.toml"], "words.toml: not a TOML file"),
    ],
)
def test_what_cannot_begin_is_said_in_a_line(words: list[str], said: str, tmp_path: Path, capsys) -> None:
    (tmp_path / "here.toml").write_text("[run]\nrounds = 3\n")
    (tmp_path / "words.toml").write_text("these are words")
    given = [word.format(folder=tmp_path) for word in words]
    assert gpu.main(["--into", str(tmp_path / "into"), *given]) == 2
    line = capsys.readouterr().err
    assert said in line and line.count("\n") == 1 and not (tmp_path / "into").exists()


@pytest.mark.usefixtures("quick")
def test_a_file_with_an_unknown_kind_fails_at_its_step(tmp_path: Path, capsys) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE.replace('"fedavg"', '"fedavgg"'))
    assert gpu.main([*CPU, "--into", str(tmp_path), "--runs", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "runs: ValueError: algorithm of kind 'fedavgg' is unknown; did you mean 'fedavg'?" in line


def test_on_a_device_products_are_whole_and_give_the_same_bits_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def settings() -> list[object]:
        asked = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        return [*asked, *(getattr(place, name) for place, name, _ in devices._exact())]

    before, seen, chunk = settings(), [], engine._run_chunk

    def seeing(*arguments):
        seen.append(settings())
        return chunk(*arguments)

    monkeypatch.setattr(engine, "_run_chunk", seeing)
    setting = Setting(Quadratic.common_hessian([1, -1, 2]), algorithms.fedavg(local_lr="1/8"), Uniform(2))
    with pretended_device():
        setting.simulate(replicas=2, rounds=2)
    assert seen.pop() == [True, True, *(value for _, _, value in devices._exact())] != before == settings()
    setting.simulate(replicas=2, rounds=2, device="cpu")
    assert seen == [before]


def test_a_chunk_for_which_a_device_has_no_memory_is_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spans, chunk = [], engine._chunk
    monkeypatch.setattr(engine, "_chunk", lambda plan, span, *others: spans.append(span) or chunk(plan, span, *others))
    on = gpu.Measured(torch.device("cuda"), tmp_path, 0.0)
    with pretended_device():
        row = gpu._halved(on, 4)
        assert torch.cuda.mem_get_info()[0] > 7 * 2**30  # as before
    assert row["halved"] and row["limit, GiB"] < row["peak, GiB"]
    assert spans == [(0, 1), (0, 4), (0, 4), (0, 2), (2, 4)]


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


def test_the_difference_is_the_largest_relative_to_numbers_above_one() -> None:
    assert gpu._difference(np.array([1.0, 0.5, 9.0]), np.array([1.0, 0.0, 10.0])) == 0.5
    assert gpu._difference(np.array([1.0, 0.0, 5.0]), np.array([1.0, 0.0, 20.0])) == 0.75
    assert gpu._difference(np.empty(0), np.empty(0)) == 0.0
