"""The digits with clients that come and go by a recorded trace: a server that is killed, and the engine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedtheory.diagnosis import diagnose
from fedtheory.participation import read_log

HERE = Path(__file__).parents[2] / "docs" / "real_clients"

pytestmark = pytest.mark.skipif(not HERE.exists(), reason="the example is not beside the tests")


def absent(package: str) -> pytest.MarkDecorator:
    """Skip, by name, what needs an extra that is not installed."""
    extra = {"flwr": "flower"}.get(package, package)
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"the extra '{extra}' is not installed")


SERVER = """
import os, signal, sys
from digits import task
from fedtheory.deploy import Answer, Server
folder, killed, algorithm, clients, rounds = sys.argv[1], int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:])
there, keys, names = task.there(clients), list(task.start()), task.names(clients)
with Server(task.ALGORITHMS[algorithm], list(task.start().values()), names, directory=folder) as server:
    while server.round < rounds:
        asked = server.begin(name for name, here in zip(names, there[server.round]) if here)
        if server.round == killed:
            os.kill(os.getpid(), signal.SIGKILL)
        answers, model = [], dict(zip(keys, server.model))
        for name in asked.clients:
            x, y = task.points(names.index(name), clients)
            after = task.trained(model, x, y, asked.instructions["local_lr"], asked.instructions["local_steps"])
            answers.append(Answer(name, list(after.values()), len(y)))
        server.end(answers)
    print(task.accuracy(dict(zip(keys, server.model))))
"""
NEVER = "-1"


def run(*arguments: str, script: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *([] if script else ["-c"]), *arguments]
    paths = os.pathsep.join(map(str, (HERE.parents[1], HERE)))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}  # sums in one order
    return subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=3600, check=False)


def answered(*arguments: str, script: bool = False) -> str:
    done = run(*arguments, script=script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(folder: Path, accuracy: float, algorithm: str, clients: int, rounds: int) -> None:
    """The accuracy is the engine's, the log the trace, and it can be diagnosed."""
    options = ("--algorithm", algorithm, "--clients", str(clients), "--rounds", str(rounds))
    assert abs(accuracy - json.loads(answered("engine.py", *options, script=True))[-1]) <= 0.005
    names = [f"client-{i}" for i in range(20)]
    log = read_log(folder / "log.csv", names=names[:clients], until=rounds)
    trace = read_log(HERE / "trace.csv", names=names, until=30).mask()[:rounds, :clients]
    assert log.mask().tolist() == trace.tolist()
    assert f"{clients} clients" in str(diagnose(log))


def test_a_server_that_is_killed_ends_with_the_engines_accuracy(tmp_path: Path) -> None:
    rest = ("fedau", "20", "30")
    assert run(SERVER, str(tmp_path), "12", *rest).returncode == -9
    assert len(read_log(tmp_path / "log.csv").mask()) == 12
    accuracy = float(answered(SERVER, str(tmp_path), NEVER, *rest))
    assert accuracy > 0.9
    check(tmp_path, accuracy, "fedau", 20, 30)


EXAMPLES = {
    "flower": pytest.param("run_flower.py", "fedau", 20, 30, 12, marks=[absent("flwr"), pytest.mark.exhaustive]),
    "flower, short": pytest.param("run_flower.py", "fedau", 5, 6, 3, marks=[absent("flwr"), pytest.mark.slow]),
    "nvflare": pytest.param("run_nvflare.py", "mifa", 20, 30, 12, marks=[absent("nvflare"), pytest.mark.exhaustive]),
    "nvflare, short": pytest.param("run_nvflare.py", "mifa", 5, 8, 4, marks=[absent("nvflare"), pytest.mark.slow]),
}


@pytest.mark.parametrize(("script", "algorithm", "clients", "rounds", "killed"), EXAMPLES.values(), ids=EXAMPLES)
def test_the_same_with_processes(
    script: str, algorithm: str, clients: int, rounds: int, killed: int, tmp_path: Path
) -> None:
    """The model is that of a server without a framework, to the bit: arrays travel as they are."""
    numbers = [f"--{name}={n}" for name, n in {"clients": clients, "rounds": rounds, "kill-at": killed}.items()]
    said, last = answered(script, str(tmp_path / "deployed"), *numbers, script=True).splitlines()
    assert killed <= int(said.removeprefix("killed the server after ").removesuffix(" rounds")) < rounds
    check(tmp_path / "deployed", float(last), algorithm, clients, rounds)
    answered(SERVER, str(tmp_path / "plain"), NEVER, algorithm, str(clients), str(rounds))
    plain, found = (np.load(tmp_path / folder / "state.npz")["x"] for folder in ("plain", "deployed"))
    assert found.tolist() == plain.tolist()
