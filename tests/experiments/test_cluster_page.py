"""The examples of docs/cluster.md: run where Dask can, and else held against what they name."""

from __future__ import annotations

import ast
import re
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


def helped(*command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command, "--help"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_cluster_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    script = tmp_path / "script.py"
    script.write_text(example(PAGE, "LocalCluster").replace("n_workers=2", "n_workers=1"))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("False ") and list((tmp_path / "runs").rglob("result.json"))


@pytest.mark.slow
def test_options_of_commands_are_there() -> None:
    (shell,) = (each for each in blocks() if "dask worker" in each)
    scheduler, worker, run = (line for line in shell.splitlines() if line)
    for line, command in (
        (scheduler, ("distributed.cli.dask_scheduler",)),
        (worker, ("distributed.cli.dask_worker",)),
        (run, ("fedtheory", "run")),
    ):
        told = helped(*command)
        assert all(option in told for option in re.findall(r"--[a-z-]+", line)), line
    (file,) = re.findall(r"experiments/\S+\.toml", run)
    assert (ROOT / file).is_file()


def test_what_is_not_run_is_python() -> None:
    (slurm,) = (each for each in blocks() if "SLURMCluster(" in each)
    names = {node.id for node in ast.walk(ast.parse(slurm)) if isinstance(node, ast.Name)}
    assert names == {"SLURMCluster", "cluster", "print"}
    assert len(blocks()) == 3
