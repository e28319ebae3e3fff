"""FedAU on the digits with 20 clients that come and go by a recorded trace: a server that is killed, and the engine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fedtheory.diagnosis import diagnose
from fedtheory.participation import read_log

HERE = Path(__file__).parents[2] / "docs" / "real_clients"

pytestmark = pytest.mark.skipif(not HERE.exists(), reason="the example is not beside the tests")

SERVER = """
import os, signal, sys
from digits import task
from fedtheory.deploy import Answer, Server
there, keys = task.there(), list(task.start())
with Server(task.ALGORITHM, list(task.start().values()), task.NAMES, directory=sys.argv[1]) as server:
    while server.round < task.ROUNDS:
        asked = server.begin(name for name, here in zip(task.NAMES, there[server.round]) if here)
        if server.round == 12 and sys.argv[2] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        answers, model = [], dict(zip(keys, server.model))
        for name in asked.clients:
            x, y = task.points(task.NAMES.index(name))
            after = task.trained(model, x, y, asked.instructions["local_lr"], asked.instructions["local_steps"])
            answers.append(Answer(name, list(after.values()), len(y)))
        server.end(answers)
    print(task.accuracy(dict(zip(keys, server.model))))
"""


def run(*arguments: str, script: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *([] if script else ["-c"]), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (HERE.parents[1], HERE)))}
    return subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=3600, check=False)


def engine() -> list[float]:
    """The accuracy before each round of the engine's run, and after the last."""
    done = run("engine.py", script=True)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def check(folder: Path, accuracy: float) -> None:
    """The accuracy is the engine's, the log the trace, and it can be diagnosed."""
    assert abs(accuracy - engine()[-1]) <= 0.005 and accuracy > 0.9
    names = [f"client {i}" for i in range(20)]
    log, trace = (read_log(path, names=names) for path in (folder / "log.csv", HERE / "trace.csv"))
    assert log.mask().tolist() == trace.mask().tolist() and log.names == trace.names
    assert "20 clients" in str(diagnose(log))


def test_a_server_that_is_killed_ends_with_the_engines_accuracy(tmp_path: Path) -> None:
    assert run(SERVER, str(tmp_path), "killed").returncode == -9
    assert len(read_log(tmp_path / "log.csv").mask()) == 12
    done = run(SERVER, str(tmp_path), "on")
    assert done.returncode == 0, done.stderr
    check(tmp_path, float(done.stdout))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("flwr") is None, reason="the extra 'flower' is not installed")
def test_the_same_behind_flower_with_processes(tmp_path: Path) -> None:
    done = run("run.py", str(tmp_path), "--kill-at", "12", script=True)
    assert done.returncode == 0, done.stderr
    killed, last = done.stdout.splitlines()
    assert killed.startswith("killed the server after 1")  # as soon as the twelfth round is seen
    check(tmp_path, float(last.split(",")[1]))
