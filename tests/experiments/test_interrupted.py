"""Ctrl-C: one line, no trace, whole checkpoints, and the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .test_runs import EXPERIMENT, HERE, numbers, results, written

LONG = (
    EXPERIMENT.replace("rounds = 440", "rounds = 1200")
    .replace("record_every = 10", "record_every = 200")
    .replace("checkpoint_every = 20", "checkpoint_every = 30")
    .replace("seeds = [3]", "seeds = [3, 4]")
)


def interrupted(path: Path, store: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`fedtheory run`, with SIGINT to all its processes, as a terminal sends it, once there is a checkpoint."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, "-c", "from fedtheory.cli import main; main()", "run", str(path), "--store", str(store)]
    run = subprocess.Popen([*command, *options], env=environment, text=True, start_new_session=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    try:
        end = time.monotonic() + 120
        while not list(store.glob("**/segment-*.npz")):
            assert run.poll() is None and time.monotonic() < end, run.communicate()
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)
        out, error = run.communicate(timeout=60)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, run.returncode, out, error)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    folder = tmp_path_factory.mktemp("plain")
    return [numbers(result) for result in results(written(folder, LONG), folder / "store")]


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "workers"])
def test_an_interrupted_run_ends_cleanly_and_goes_on(
    tmp_path: Path, plain: list[object], options: tuple[str, ...]
) -> None:
    path, store = written(tmp_path, LONG), tmp_path / "store"
    run = interrupted(path, store, *options)
    assert run.returncode == 130, run.stderr
    said = f"fedtheory: interrupted; the same command goes on from the checkpoints in {store}\n"
    told = run.stderr.splitlines(keepends=True)  # how far it is, if it took long, and then this
    assert told[-1] == said and run.stdout == "" and "Traceback" not in run.stderr
    assert not list(store.glob("**/result.json")) and not list(store.glob("**/.*"))
    before = len(list(store.glob("**/segment-*.npz")))
    assert 0 < before < 80
    assert [numbers(result) for result in results(path, store)] == plain
