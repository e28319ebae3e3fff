"""Runs an experiment over workers, one of which is killed, and prints the results.

Arguments: an experiment file, a store, "pool" or "dask", and when: at the first "result", or at the first "checkpoint",
which is in the middle of a unit.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
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

    store = Path(sys.argv[2])
    shares: list[float] = []

    def kill(*_: Any) -> None:
        if not killed:
            killed.append(victim())
            os.kill(killed[0], signal.SIGKILL)

    def watch() -> None:
        while not any(store.rglob("segment-*.npz")):
            time.sleep(0.002)
        kill()

    at_checkpoint = sys.argv[4:] == ["checkpoint"]
    if at_checkpoint:
        threading.Thread(target=watch, daemon=True).start()
    units = units_of(experiment, experiment.points(), store)
    outcome = perform_all(
        units,
        make,
        done=(lambda *_: None) if at_checkpoint else kill,
        progress=lambda name, done, total: shares.append(done / total),
    )
    found = {f"{unit.point} {unit.seed}": result["statistics"] for unit, result in outcome.results.items()}
    print(
        json.dumps({"killed": len(killed), "failed": list(outcome.failed.values()), "found": found, "shares": shares})
    )
    sys.stdout.flush()
    if sys.argv[3] == "dask":
        os._exit(0)  # the workers follow their scheduler


if __name__ == "__main__":
    main()
