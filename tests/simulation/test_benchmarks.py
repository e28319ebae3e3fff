"""Benchmarks run on the device that is asked for, and say which it was."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from fedtheory import data
from fedtheory.testing.pretended_device import pretended_device

FOLDER = Path(__file__).parents[2] / "benchmarks"
ENGINE = ["--replicas", "8", "--rounds", "1", "--precisions", "float32", "--repetitions", "1"]
ARGUMENTS = {
    "engine": [
        [*ENGINE, "--hessians", "dense", "--noises", "two-point", "--shares", "0.1"],
        [*ENGINE, "--hessians", "diagonal", "--noises", "gaussian", "--shares", "1.0"],
    ],
    "logistic": [["--datasets", "digits", "--replicas", "2", "--work", "1", "--repetitions", "1"]],
    "training": [["logistic-32", "--repetitions", "1", "--threads", "1"]],
}


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module(name)


def few_images() -> data.Dataset:
    """Noise in the shape of Fashion-MNIST, few points of it."""
    rng = np.random.default_rng(0)

    def drawn(points: int, test: data.Dataset | None = None) -> data.Dataset:
        pixels = rng.integers(0, 256, (points, 1, 28, 28), dtype=np.uint8)
        return data.Dataset("fashion-mnist", pixels, np.arange(points) % 10, 10, test=test)

    return drawn(3000, drawn(20))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_benchmark_runs_on_a_device_and_says_so(name: str, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    module, images = benchmark(name, monkeypatch), few_images()
    monkeypatch.setattr(data, "fashion_mnist", lambda: images)
    monkeypatch.setattr(data, "load", lambda known, load=data.load: images if known == "fashion-mnist" else load(known))
    for arguments in ARGUMENTS[name]:
        with pretended_device() as counts:
            module.main([*arguments, "--json", "--device", "cuda"])
        found = json.loads(capsys.readouterr().out)
        assert found["machine"]["device"] == "cuda: pretended" and counts.operations
        assert found.get("rows") or found["results"]


def test_costs_are_measured_on_a_device(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path: Path) -> None:
    module = benchmark("cost_model", monkeypatch)
    case = module.Case("dense", rounds=2, replicas=2, clients=10, dimension=3)
    with pretended_device() as counts:
        (seconds,) = module.measured([case], 1, torch.device("cuda"))
        assert seconds > 0 and counts.operations
        with pytest.raises(SystemExit):
            module.main(["--device", "cuda", "--keep", str(tmp_path / "kept.json")])
    assert "--keep" in capsys.readouterr().err and not (tmp_path / "kept.json").exists()


@pytest.mark.parametrize("name", [*ARGUMENTS, "cost_model", "precision"])
def test_a_device_that_is_not_there_is_refused(name: str, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    with pytest.raises(SystemExit):
        benchmark(name, monkeypatch).main(["--device", "cuda:9"])
    assert "device = 'cuda:9'" in capsys.readouterr().err


LEFT_BEHIND = """
from multiprocessing import get_context
from time import process_time

def work() -> None:
    while process_time() < SECONDS:
        pass

if __name__ == "__main__":
    worker = get_context("forkserver").Process(target=work)
    worker.start()
    worker.join()
"""


def test_the_time_of_workers_counts_that_a_server_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The server ends after the command, so that the command never waits for it."""
    commands, script = benchmark("commands", monkeypatch), tmp_path / "work.py"
    script.write_text(LEFT_BEHIND.replace("SECONDS", "0.5"))
    found = commands.measured([sys.executable, str(script)])
    assert found["status"] == 0, found["said"]
    assert found["cpu"] > 0.5  # what the worker alone used
