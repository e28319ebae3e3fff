"""How many local steps a second the engine makes on quadratic federations, beside a batched torch loop.

    OMP_NUM_THREADS=1 python benchmarks/engine.py [--json] [--rounds 200] [--hessians dense diagonal common]

The loop is what one would write for one run of this kind: all replicas at once, torch's own generator for cohorts and
noise, of as many numbers; of dense Hessians it gathers one a pair at partial participation, and takes clients one after
the other by batched products at full. Both sides have the same threads and replicas, and run in turns, between which
rates.py measures anew; times are process times, on another ``--device`` those of the clock, medians over the
repetitions. 100 clients, 50 dimensions, 5 local steps. ``floor`` is the share of the engine's time that the steps'
numbers take at the rates of rates.py: each moved once, with a number of torch's generator where there is noise, and one
product with dense Hessians; and one number of the generator for each client of each replica where cohorts are drawn; of
another device there is none. Above 1 the engine needs less: its signs come 64 from a word, and without noise it makes
all steps at once.
"""

from __future__ import annotations

import argparse
import itertools
import math
import platform
import statistics
import sys
from typing import Any

import numpy as np
import torch
from devices import add_device, device_name, timer
from rates import Rates
from torch import Tensor

from fedtheory import Setting
from fedtheory.algorithms import fedavg
from fedtheory.federations.quadratic import Quadratic
from fedtheory.files import json_text
from fedtheory.participation import Uniform

CLIENTS, DIMENSION, STEPS, LR, LEVEL = 100, 50, 5, 0.01, 0.5
LEAST = 8  # rounds, however many pairs: what is computed once for a run counts too
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}


def federation(hessians: str, noise: str) -> Quadratic:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLIENTS, DIMENSION))
    if hessians == "dense":
        roots = rng.standard_normal((CLIENTS, DIMENSION, DIMENSION)) / DIMENSION**0.5
        matrices = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(DIMENSION)
        matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    elif hessians == "diagonal":
        matrices = rng.uniform(0.1, 1, (CLIENTS, DIMENSION))
    else:
        matrices = np.tile(np.linspace(0.1, 1, DIMENSION), (CLIENTS, 1))
    level, law = (0.0, "two-point") if noise == "none" else (LEVEL, noise)
    return Quadratic(matrices, centres, gradient_noise=level, noise=law)


def loop(
    fed: Quadratic, replicas: int, cohort: int, noise: str, dtype: torch.dtype, rounds: int, device: torch.device
) -> Tensor:
    """The mean squared distance after the rounds."""
    torch.manual_seed(0)
    matrices, centres = (torch.as_tensor(each, dtype=dtype).to(device) for each in (fed.hessians, fed.centres))
    diagonal = not (fed.hessians - fed.hessians * np.eye(DIMENSION)).any()
    entries = matrices.diagonal(dim1=1, dim2=2).contiguous()
    x, scale = torch.zeros(replicas, DIMENSION, dtype=dtype, device=device), LEVEL / DIMENSION**0.5
    for _ in range(rounds):
        if cohort < CLIENTS:
            chosen = torch.rand(replicas, CLIENTS, device=device).topk(cohort).indices
        else:
            chosen = torch.arange(CLIENTS, device=device).expand(replicas, -1)
        own, c = x[:, None].expand(-1, cohort, -1), centres[chosen]
        several = matrices[chosen] if cohort < CLIENTS and not diagonal else None
        curvature = entries[chosen] if diagonal else None
        for _ in range(STEPS):
            shifted = own - c
            if curvature is not None:
                gradient = curvature * shifted
            elif several is not None:
                gradient = (several @ shifted[..., None])[..., 0]
            else:
                gradient = torch.bmm(shifted.transpose(0, 1), matrices).transpose(0, 1)
            if noise == "gaussian":
                gradient = gradient + scale * torch.randn(own.shape, dtype=dtype, device=device)
            elif noise == "two-point":
                bits = torch.randint(2, own.shape, dtype=torch.int8, device=device)
                gradient = gradient + scale * (2 * bits - 1)
            own = own - LR * gradient
        x = own.mean(1)
    return (x - fed.optimum.to(device, dtype)).square().sum(1).mean()


def measured(hessians: str, noise: str, replicas: int, share: float, precision: str, options: Any) -> dict[str, Any]:
    fed, cohort = federation(hessians, noise), round(share * CLIENTS)
    setting = Setting(fed, fedavg(local_steps=STEPS, local_lr=LR), Uniform(cohort))
    watch = ["squared_distance"]

    def ours(rounds: int) -> object:
        return setting.simulate(
            replicas=replicas, rounds=rounds, dtype=precision, device=options.device, observers=watch
        )

    def theirs(rounds: int) -> object:
        return loop(fed, replicas, cohort, noise, PRECISIONS[precision], rounds, options.device)

    ours(2), theirs(2)
    rounds = max(LEAST, options.rounds * 640 // max(640, replicas * cohort))
    steps = replicas * cohort * STEPS * rounds

    def least() -> float:
        if options.device.type != "cpu":
            return math.nan
        rates = Rates()
        drawn = replicas * CLIENTS * rounds * rates.drawn("uniform", torch.float32) if cohort < CLIENTS else 0.0
        return rates.step(hessians, DIMENSION, noise, PRECISIONS[precision]) * steps + drawn

    seconds = timer(options.device)
    times = [
        (seconds(lambda: ours(rounds)), seconds(lambda: theirs(rounds)), least()) for _ in range(options.repetitions)
    ]
    engine, plain, floor = (statistics.median(each) for each in zip(*times, strict=True))
    return {"hessians": hessians, "noise": noise, "replicas": replicas, "share": share, "precision": precision,
            "engine": steps / engine, "loop": steps / plain, "ratio": plain / engine,
            "floor": floor / engine}  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--hessians", nargs="*", default=["dense", "diagonal", "common"])
    parser.add_argument("--noises", nargs="*", default=["none", "two-point", "gaussian"])
    parser.add_argument("--replicas", nargs="*", type=int, default=[64, 1024])
    parser.add_argument("--shares", nargs="*", type=float, default=[0.1, 1.0])
    parser.add_argument("--precisions", nargs="*", choices=list(PRECISIONS), default=list(PRECISIONS))
    parser.add_argument("--rounds", type=int, default=200, help="of 640 pairs; fewer where there are more pairs")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    add_device(parser)
    options = parser.parse_args(arguments)
    axes = (options.hessians, options.noises, options.replicas, options.shares, options.precisions)
    rows = [measured(*case, options) for case in itertools.product(*axes)]
    machine = {"device": device_name(options.device), "threads": torch.get_num_threads(), "torch": torch.__version__,
               "python": platform.python_version(), "machine": platform.machine()}  # fmt: skip
    if options.json:
        print(json_text({"machine": machine, "rows": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    print("hessians  noise      replicas  share  precision   engine/s     loop/s  ratio  floor")
    for row in rows:
        print(f"{row['hessians']:<10}{row['noise']:<11}{row['replicas']:>8}{row['share']:>7}  {row['precision']:<9}"
              f"{row['engine']:>11.3g}{row['loop']:>11.3g}{row['ratio']:>7.2f}{row['floor']:>7.2f}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
