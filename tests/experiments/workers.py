"""Runs an experiment over workers, one of which is killed at the first result; prints the results.

Arguments: an experiment file, a store, "pool" or "dask".
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from fedtheory.experiments.schema import read_experiment
from fedtheory.experiments.sweeps import dask, perform_all, process_pool
from fedtheory.experiments.work_units import units_of


def pool() -> tuple[Callable[[], Executor], Callable[[], int]]:
    made: list[Any] = []
    make = process_pool(2)

    def recording() -> Executor:
        made.append(make())
        return made[-1]

    return recording, lambda: next(iter(made[-1]._processes))


def cluster() -> tuple[Callable[[], Executor], Callable[[], int]]:
    from distributed import Client, LocalCluster

    local = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)

    def worker() -> int:
        with Client(local) as client:
            return int(next(iter(client.run(os.getpid).values())))

    return dask(local.scheduler_address), worker


def main() -> None:
    experiment = read_experiment(sys.argv[1])
    make, victim = {"pool": pool, "dask": cluster}[sys.argv[3]]()
    killed: list[int] = []

    def kill(unit: Any, result: Any) -> None:
        if not killed:
            killed.append(victim())
            os.kill(killed[0], signal.SIGKILL)

    outcome = perform_all(units_of(experiment, experiment.points(), Path(sys.argv[2])), make, done=kill)
    found = {f"{unit.point} {unit.seed}": result["statistics"] for unit, result in outcome.results.items()}
    print(json.dumps({"killed": len(killed), "failed": list(outcome.failed.values()), "found": found}))
    sys.stdout.flush()
    if sys.argv[3] == "dask":
        os._exit(0)  # the workers follow their scheduler


if __name__ == "__main__":
    main()
