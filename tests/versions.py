"""Installs the project with the lowest versions that it allows, or the newest there are, and runs ten commands.

    python tests/versions.py lowest /tmp/lowest                        # by this Python, into a new environment there
    python tests/versions.py newest /tmp/newest --python python3.13

Lower bounds are those of pyproject.toml: each is installed exactly, with whatever else these releases take. There is a
line for each command, and status 1 if one fails. Torch takes gigabytes where the index has no build for the CPU alone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENT = """
title = "versions"
federation = { kind = "common_hessian", offsets = [1, -1], gradient_noise = "1/2" }
algorithm = { kind = "fedavg", local_lr = "1/10" }
participation = { kind = "Uniform", cohort = 1 }
run = { rounds = 30, seeds = [0, 1], replicas = 2, observers = ["squared_distance"] }
start = 3.0
statistics = [{ name = "d", of = "squared_distance" }]
"""
NETWORK = """
import torch
from fedtheory import Setting, algorithms as A, data, federations as F, participation as P
split = data.Dirichlet(clients=10, alpha=0.3, test=0.2)
network = F.Network(torch.nn.Linear(64, 10), data.load("digits"), split, batch_size=16)
setting = Setting(network, A.fedavg(local_lr="1/10", local_steps=2), P.Bernoulli([0.3] * 10))
run = setting.simulate(replicas=1, rounds=20)
assert run.rows["test_accuracy"][0, -1] > 0.3, run.rows["test_accuracy"]
print(run.where)
"""
COMMANDS = (
    ("-m", "fedtheory", "claims"),
    ("-m", "fedtheory", "show", "fast.thm2@appendix"),
    ("-m", "fedtheory", "evaluate", "fast.thm2", "smoothness=1", "strong_convexity=1/2", "gradient_noise=0",
     "dissimilarity=0.05", "initial_distance=1", "cohort=1", "arbitrary_cohort=1", "local_steps=1", "local_lr=1/100",
     "snapshot_probability=0.9", "rounds=10,1000"),
    ("-m", "fedtheory", "replay", "fast.thm1@main"),
    ("-m", "fedtheory", "prove", "fast.thm2@corrected"),
    ("-m", "fedtheory", "errata", "--paper", "safari"),
    ("-m", "fedtheory", "tightness", "fast.thm2@sharper"),
    ("-m", "fedtheory", "learnability", "digits", "--clients", "10", "--participants", "5", "--server", "100"),
    ("-m", "fedtheory", "run", "e.toml", "--publish"),
    ("-c", NETWORK),
)  # fmt: skip


EXTRAS = ("simulate", "search", "oracle", "data", "report")
"""What the commands take beside the core."""


def bounds() -> list[str]:
    """The dependencies at their lower bounds, those of the extras with them.

    >>> "sympy==1.14" in bounds(), "torch==2.7" in bounds()
    (True, True)
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = [each for extra in EXTRAS for each in project["optional-dependencies"][extra]]
    return [re.sub(r">=", "==", each) for each in dict.fromkeys([*project["dependencies"], *brought])]


def installed(which: str, folder: Path, python: str) -> Path:
    """The Python of a new environment with the project in it."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own, project = folder / "bin" / "python", f"{ROOT}[{','.join(EXTRAS)}]"
    subprocess.run([own, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", project,
                    *(bounds() if which == "lowest" else ())], check=True)  # fmt: skip
    return own


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("which", choices=["lowest", "newest"])
    parser.add_argument("into", type=Path, help="a folder that is not there yet, or an environment made so before")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args(arguments)
    environment = options.into.resolve() / "environment"
    own = environment / "bin" / "python"
    if not (environment / "done").exists():
        installed(options.which, environment, options.python)
        (environment / "done").touch()
    work = options.into.resolve() / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "e.toml").write_text(EXPERIMENT)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean |= {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(work / "cache")}
    subprocess.run([own, "-c", "import sys; print('Python', sys.version.split()[0])"], check=True, env=clean)
    failed = 0
    for command in COMMANDS:
        begun = time.monotonic()
        done = subprocess.run([own, *command], cwd=work, env=clean, capture_output=True, text=True, timeout=900)
        failed += done.returncode != 0
        name = " ".join(command[1:4]) if command[0] == "-m" else "a network"
        print(f"{name}: status {done.returncode}, {time.monotonic() - begun:.0f} s", flush=True)
        if done.returncode != 0:
            print(done.stdout[-1500:], done.stderr[-3000:], flush=True)
    print(f"{len(COMMANDS) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
