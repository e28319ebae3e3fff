"""How long exact moments take, beside a plain numpy recursion of E (x - x*) and E (x - x*)(x - x*)^T.

    OMP_NUM_THREADS=1 python benchmarks/moments.py [--json] [--repetitions 3]

FedAvg with 5 local steps and a uniform cohort of three tenths, gradient noise, from x_0 = 1. The recursion makes the
clients' maps once and goes through the rounds up to the last horizon; a shared Hessian is one there. More than
``--followed`` rounds of it are given in proportion. Both run in turns; times are process times, medians, without
making the federation, which is made anew for each. The run stops if errors differ by more than 1e-10.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fedtheory import Setting
from fedtheory.algorithms import fedavg
from fedtheory.federations.quadratic import Quadratic
from fedtheory.participation import Uniform

STEPS, LR, LEVEL = 5, 0.05, 0.5
LONG = 20_000
CASES = [
    (clients, dimension, hessians, horizons)
    for clients, dimension in ((10, 2), (10, 10), (10, 30), (100, 100))
    for hessians in ("dense", "common", "diagonal")
    for horizons in ("100", "all to 20,000", "10^8")
    if dimension < 100 or hessians != "dense"
]


def federation(clients: int, dimension: int, hessians: str) -> Quadratic:
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((clients, dimension, dimension)) / dimension**0.5
    matrices = roots @ roots.transpose(0, 2, 1) / 4 + 0.1 * np.eye(dimension)
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    if hessians == "common":
        matrices = np.stack([matrices[0]] * clients)
    elif hessians == "diagonal":
        matrices = rng.uniform(0.1, 1, (clients, dimension))
    return Quadratic(matrices, rng.standard_normal((clients, dimension)), gradient_noise=LEVEL)


def recursion(fed: Quadratic, cohort: int, rounds: int) -> np.ndarray:
    """E|x_r - x*|^2, r = 0..rounds."""
    M, D = fed.clients, fed.dimension
    same = (fed.hessians == fed.hessians[0]).all()
    hessians = fed.hessians[:1] if same else fed.hessians
    optimum = fed.optimum.numpy()
    step = np.eye(D) - LR * hessians
    powers = [np.linalg.matrix_power(step, k) for k in range(STEPS + 1)]
    maps, noise = powers[STEPS], LR**2 * LEVEL**2 / D * sum(power @ power for power in powers[:STEPS])
    offsets = ((np.eye(D) - maps) @ (fed.centres - optimum)[..., None])[..., 0]
    own, pair = 1 / (cohort * M), (cohort - 1) / (cohort * M * (M - 1)) if M > 1 else 0.0
    drift, total, added = offsets.mean(0), offsets.sum(0), noise.sum(0) * own * (M if same else 1)
    spread = (own - pair) * offsets.T @ offsets + pair * np.outer(total, total) + added
    summed = maps.sum(0)
    crossed = (own - pair) * np.einsum("mi,mjk->ijk", offsets, maps) if not same else None
    mean = 1 - optimum
    moment, found = np.outer(mean, mean), []
    for _ in range(rounds):
        found.append(np.trace(moment))
        if same:
            moved = maps[0] @ mean
            both = np.outer(moved, drift)
            moment = maps[0] @ moment @ maps[0].T + both + both.T + spread
            mean = moved + drift
        else:
            both = crossed @ mean + pair * np.outer(total, summed @ mean)
            each = (own - pair) * (maps @ moment @ maps.transpose(0, 2, 1)).sum(0)
            moment = each + pair * summed @ moment @ summed.T + both + both.T + spread
            mean = summed @ mean / M + drift
    return np.array([*found, np.trace(moment)])


def process_seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def measured(case: tuple[int, int, str, str], repetitions: int, most: int) -> dict[str, Any]:
    clients, dimension, hessians, horizons = case
    asked = {"100": np.array([100]), "all to 20,000": np.arange(LONG + 1), "10^8": np.array([10**8])}[horizons]
    last = int(asked.max())
    followed, cohort = min(last, most), 3 * clients // 10
    times = []
    for _ in range(repetitions):
        fed = federation(clients, dimension, hessians)  # anew: nothing is kept from the time before
        setting = Setting(fed, fedavg(local_steps=STEPS, local_lr=LR), Uniform(cohort), start=1.0)
        seconds, found = process_seconds(lambda setting=setting: setting.exact(asked).squared_distance)
        plain, wanted = process_seconds(lambda fed=fed: recursion(fed, cohort, followed))
        times.append((seconds, plain * last / followed))
        known = asked <= followed
        if known.any() and not (apart := np.abs(found[known] / wanted[asked[known]] - 1).max()) < 1e-10:
            raise SystemExit(f"{case}: errors differ by {apart:.1e}")
    exact, plain = (statistics.median(each) for each in zip(*times, strict=True))
    return {"clients": clients, "dimension": dimension, "hessians": hessians, "horizons": horizons,
            "seconds": exact, "recursion": plain, "ratio": plain / exact}  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--followed", type=int, default=1000, help="rounds of the recursion")
    parser.add_argument("--dimensions", nargs="*", type=int, default=[2, 10, 30, 100])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = [measured(case, options.repetitions, options.followed) for case in CASES if case[1] in options.dimensions]
    machine = {"numpy": np.__version__, "python": platform.python_version(), "machine": platform.machine()}
    if options.json:
        print(json.dumps({"machine": machine, "rows": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    print("clients  dimension  hessians  horizons         seconds  recursion    ratio")
    for row in rows:
        print(f"{row['clients']:>7}{row['dimension']:>11}  {row['hessians']:<10}{row['horizons']:<15}"
              f"{row['seconds']:>9.3g}{row['recursion']:>11.3g}{row['ratio']:>9.2g}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
