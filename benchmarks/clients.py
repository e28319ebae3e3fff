"""What a round of ten clients costs in a federation of many.

    OMP_NUM_THREADS=1 python benchmarks/clients.py [--json] [--keep benchmarks/kept/clients.json] [--most 1000000]

CPU milliseconds a round after set-up, of quadratics in four dimensions without noise, two local steps: the difference
of a longer and a shorter run over the rounds between them, the least of the repetitions. Cohorts of ten, uniform; ten
clients on average, each on its own, in Markov chains of twenty rounds, and in cycles.
"""

from __future__ import annotations

import argparse
import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from selection import processor

from fedtheory import Setting, algorithms
from fedtheory.federations import Quadratic
from fedtheory.files import json_text, write_beside
from fedtheory.participation import Bernoulli, Cyclic, Markov, Participation, Uniform

COHORT, DIMENSION, SHORT, LONG = 10, 4, 5, 105
ALGORITHMS: dict[str, Callable[..., Any]] = {
    "FedAvg": algorithms.fedavg,
    "FedAU": lambda **local: algorithms.fedau(cutoff=50, **local),
    "FedVarp": algorithms.fedvarp,
    "MIFA": algorithms.mifa,
}
PROCESSES: dict[str, Callable[[int], Participation]] = {
    "uniform": lambda clients: Uniform(COHORT),
    "Bernoulli": lambda clients: Bernoulli([COHORT / clients] * clients),
    "Markov": lambda clients: Markov([COHORT / clients] * clients, [COHORT / clients / 20] * clients),
    "cyclic": lambda clients: Cyclic([COHORT / clients] * clients, period=clients // COHORT),
}


def milliseconds(setting: Setting, repetitions: int) -> float:
    """CPU time of a round, without set-up: of the quickest runs of either length."""

    def took(rounds: int) -> float:
        begin = time.process_time()
        setting.simulate(replicas=1, rounds=rounds, observers=["squared_distance"])
        return time.process_time() - begin

    took(2)
    pairs = [(took(LONG), took(SHORT)) for _ in range(repetitions)]
    return 1e3 * (min(long for long, _ in pairs) - min(short for _, short in pairs)) / (LONG - SHORT)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--most", type=int, default=10**6, help="clients")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments)
    sizes = [each for each in (10**3, 10**4, 10**5, 10**6) if each <= options.most]
    panels = []
    for process, made in PROCESSES.items():
        curves: dict[str, list[list[float]]] = {name: [] for name in ALGORITHMS}
        for clients in sizes:
            centres = np.random.default_rng(0).standard_normal((clients, DIMENSION))
            federation, participation = Quadratic(np.ones((clients, DIMENSION)), centres), made(clients)
            for name, algorithm in ALGORITHMS.items():
                setting = Setting(federation, algorithm(local_steps=2, local_lr=0.1), participation)
                took = float(f"{milliseconds(setting, options.repetitions):.3g}")
                curves[name].append([clients, took])
                if not options.json:
                    print(f"{process:<10}{clients:>9}  {name:<8}{took:>9.3g} ms", flush=True)
        panels.append({"across": f"clients ({process})", "curves": curves})
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    python = f"{processor()}, Python {platform.python_version()}, torch {torch.__version__.split('+')[0]}"
    found = {"up": "CPU milliseconds a round", "machine": python, "panels": panels}
    if options.json:
        print(json_text(found, indent=1))
    else:
        print(f"at most {held} MB were held")
    if options.keep:
        write_beside(options.keep, (json_text(found, indent=1) + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1:])
