"""The examples of docs/cluster.md: run where Dask can, and else held against what they name."""

from __future__ import annotations

import ast
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fedtheory.extras import absent
from tests.test_readme import DOCS, ROOT, example

PAGE = DOCS / "cluster.md"

pytestmark = [
    pytest.mark.skipif(not PAGE.exists(), reason="the page is not beside the tests"),
    pytest.mark.skipif(absent("distributed"), reason="the extra 'cluster' is not installed"),
]

EXPERIMENT = """title = "x"
federation = { kind = "common_hessian", offsets = [1, -1] }
algorithm = { kind = "fedavg", local_lr = "1/10" }
participation = { kind = "Uniform", cohort = 1 }
run = { rounds = 2, observers = ["squared_distance"] }
statistics = [{ name = "d", of = "squared_distance" }]
"""


def blocks() -> list[str]:
    """What stands between fences, of whatever language."""
    return re.findall(r"```\w*\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.slow
def test_a_cluster_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    script = tmp_path / "script.py"
    script.write_text(example(PAGE, "LocalCluster").replace("n_workers=2", "n_workers=1"))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("False ") and list((tmp_path / "runs").rglob("result.json"))


@pytest.mark.slow
def test_the_commands_of_a_cluster_on_this_machine(tmp_path: Path) -> None:
    """As they stand there, but for the file, the store, the port, and how many workers there are."""
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    (shell,) = (each for each in blocks() if "dask worker" in each)
    (file,) = re.findall(r"experiments/\S+\.toml", shell)
    assert (ROOT / file).is_file()
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    for there, here in (
        (file, "mine.toml"),
        ("/shared/runs", "runs"),
        ("8786", str(port)),
        ("--nworkers 4", "--nworkers 1"),
    ):
        assert there in shell
        shell = shell.replace(there, here)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", shell], cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            status = process.wait(timeout=600)
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # the scheduler and its workers, which do not end by themselves
    assert status == 0 and list((tmp_path / "runs").rglob("result.json")), (tmp_path / "log").read_text()


def test_what_is_not_run_is_python() -> None:
    (slurm,) = (each for each in blocks() if "SLURMCluster(" in each)
    names = {node.id for node in ast.walk(ast.parse(slurm)) if isinstance(node, ast.Name)}
    assert names == {"SLURMCluster", "cluster", "print"}
    assert len(blocks()) == 3
