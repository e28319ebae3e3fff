"""`fedtheory run` of two files in one store at the same time. Arguments: two files, a store."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from fedtheory.cli import app
from fedtheory.experiments.construction import setting
from fedtheory.experiments.schema import read_experiment


def warm(file: str) -> None:
    """Import here what a run imports, and load its compiled loops, so that children do not: one round, kept nowhere."""
    for name in ("commands", "results", "work_units"):
        import_module(f"fedtheory.experiments.{name}")
    setting(read_experiment(file).points()[0].content).simulate(replicas=1, rounds=1)


def main() -> None:
    warm(sys.argv[1])
    children = []
    for file in sys.argv[1:3]:
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            app(["run", file, "--store", sys.argv[3]], standalone_mode=False)
            os._exit(0)
        children.append(pid)
    sys.exit(any(os.waitpid(pid, 0)[1] for pid in children))


if __name__ == "__main__":
    main()
