"""How long a simulation takes, told beforehand: time against rounds, replicas, clients and dimension.

    OMP_NUM_THREADS=1 python benchmarks/cost_model.py [--json] [--hessians dense diagonal] [--keep FILE]

The model of a run of R rounds of n replicas, with M clients of whom m train K steps in D dimensions, is

    a_0 + R (a_1 + a_2 / ahead + a_3 n + a_4 n M + a_5 n m D),

besides with diagonal Hessians R (a_6 / several + a_7 alone), with dense ones a_8 M D^2 + R (a_9 beyond + a_10 calls +
a_11 rows + a_12 rows D + a_13 rows D^2): what is done once; operations on whatever tensors, of a round, of a draw and
of a call; drawing the participants of ``ahead`` rounds at once; making ``several`` rounds in a call; each cohort, each
client's draw (one in ten takes part), each number of a pair, each of one in rounds that are made one by one
(``alone``), and each that fits in no cache (``beyond``); each layer of tiles of a block of clients (``calls``), each
row of a tile, each number of it, and each of its products. The costs a_j >= 0 are found, by least squares of relative
errors, from runs of other sizes (``calibration``) than those which they then tell (``SIZES``). All are measured in
turns in one process; times are process times, medians over the repetitions.

Beside it stands the floor, what a run's numbers cost at the measured rates of this machine (rates.py): a product of
matrices of the tiles' shape, a copy of each point in each step, and a number of torch's generator for each sign. The
engine takes 64 signs from one word, so it can be below it. ``--keep`` writes what
``experiments/engine/figures/cost.toml`` draws. On another ``--device`` times are those of the clock and there is no
floor; the model is of a processor with its caches, and its errors there say so.
"""

from __future__ import annotations

import argparse
import math
import platform
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from devices import add_device, device_name, timer
from rates import Rates
from scipy.optimize import nnls
from scipy.stats import binom
from selection import processor

from fedtheory import Setting
from fedtheory.algorithms import fedavg
from fedtheory.federations.hessians import BLOCK, TILE
from fedtheory.federations.linear_training import CACHE, MORE
from fedtheory.federations.quadratic import Quadratic
from fedtheory.files import json_text, write_beside
from fedtheory.participation import Uniform
from fedtheory.simulation.drawn_participants import DRAWS
from fedtheory.simulation.fused_rounds import CACHED, KEYS

STEPS, SHARE = 5, 10  # one client of so many takes part
LEAST = 0.05  # seconds that are measured at a time


@dataclass(frozen=True)
class Case:
    """A run: ``rounds`` of ``replicas``, with ``clients`` in ``dimension``s, of dense Hessians or of diagonal ones."""

    hessians: str
    rounds: int = 100
    replicas: int = 64
    clients: int = 100
    dimension: int = 50

    @property
    def pairs(self) -> int:
        """Of a round."""
        return self.replicas * (self.clients // SHARE)

    @cached_property
    def layers(self) -> np.ndarray:
        """Of the clients, how large a share has a tile in each layer, expected."""
        return binom.sf(np.arange(0, self.replicas, TILE), self.replicas, 1 / SHARE)

    @property
    def rows(self) -> float:
        """Expected rows of all tiles of a round."""
        return TILE * self.clients * float(self.layers.sum())

    def features(self) -> list[float]:
        """What each cost is multiplied by."""
        considered = self.replicas * self.clients
        ahead = max(1, min(DRAWS // considered, self.rounds))
        numbers = self.pairs * self.dimension
        counted = [1, 1 / ahead, self.replicas, considered, numbers]
        once = [1.0]
        if self.hessians == "dense":
            entries = self.dimension**2
            blocks = -(-self.clients * 4 * entries // BLOCK)
            calls = float(np.minimum(1, self.clients * self.layers).sum()) * max(self.parts, blocks)
            counted += [max(0, numbers - CACHE // (4 * STEPS))]
            counted += [calls, self.rows, self.rows * self.dimension, self.rows * entries]
            once += [self.clients * entries]
        else:
            keys = KEYS // (8 * STEPS * self.pairs)
            several = min(ahead, CACHED // (4 * self.replicas * self.dimension), keys)
            counted += [1 / several, 0] if several else [1, numbers]
        return once + [self.rounds * each for each in counted]

    @property
    def parts(self) -> int:
        """In how many parts the pairs of a round train: of a power of two each, unless one has room for all."""
        cache = CACHE * (MORE if self.hessians == "dense" else 1)
        together = max(TILE, cache // (4 * self.dimension * STEPS))
        return 1 if self.pairs <= together else -(-self.pairs // (1 << (together.bit_length() - 1)))

    def run(self, device: torch.device) -> Callable[[], object]:
        """What makes the run."""
        rng = np.random.default_rng(0)
        centres = rng.standard_normal((self.clients, self.dimension))
        hessians = rng.uniform(0.1, 1, (self.clients, self.dimension))
        if self.hessians == "dense":
            roots = rng.standard_normal((self.clients, self.dimension, self.dimension)) / self.dimension**0.5
            hessians = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(self.dimension)
            hessians = (hessians + hessians.transpose(0, 2, 1)) / 2
        fed = Quadratic(hessians, centres, gradient_noise=0.5)
        setting = Setting(fed, fedavg(local_steps=STEPS, local_lr=0.01), Uniform(self.clients // SHARE))
        return lambda: setting.simulate(replicas=self.replicas, rounds=self.rounds, record_every=self.rounds,
                                        dtype="float32", device=device, observers=["squared_distance"])  # fmt: skip


SIZES = {
    "rounds": (10, 30, 100, 300, 1000),
    "replicas": (4, 16, 64, 256, 1024),
    "clients": (10, 30, 100, 300, 1000),
    "dimension": (5, 20, 50, 100, 200),
}
"""Of which one changes at a time, from 100 rounds, 64 replicas, 100 clients and 50 dimensions."""


def sweep(hessians: str, name: str) -> list[Case]:
    return [replace(Case(hessians), **{name: size}) for size in SIZES[name]]


def calibration(hessians: str) -> list[Case]:
    """Other sizes, of which several change at once."""
    sizes = [(20, 8, 40, 10), (60, 8, 40, 150), (20, 8, 500, 10), (60, 32, 60, 80), (200, 32, 60, 10),
             (40, 128, 200, 30), (20, 128, 40, 150), (20, 128, 500, 10), (10, 512, 60, 30), (10, 512, 60, 80),
             (150, 48, 80, 40), (50, 96, 150, 60), (300, 2, 20, 30), (12, 800, 120, 40), (40, 48, 700, 40),
             (60, 64, 80, 180), (20, 40, 120, 220), (15, 90, 1200, 40), (8, 20, 80, 60),
             (10, 1200, 80, 60), (80, 5, 150, 40), (40, 10, 60, 100), (100, 3, 300, 60),
             (40, 24, 30, 160), (30, 20, 150, 110), (25, 300, 90, 15),
             (50, 80, 12, 40), (60, 48, 20, 90)]  # fmt: skip
    return [Case(hessians, *each) for each in sizes]


def measured(cases: Sequence[Case], repetitions: int, device: torch.device) -> list[float]:
    """Seconds of each, medians of runs in turns; of short ones as many in a row as take ``LEAST`` seconds."""
    runs, seconds = [case.run(device) for case in cases], timer(device)
    for run in runs:
        run()
    counts = [max(1, round(LEAST / seconds(run))) for run in runs]
    several = [partial(times_over, run, count) for run, count in zip(runs, counts, strict=True)]
    times = [[seconds(run) / count for run, count in zip(several, counts, strict=True)]
             for _ in range(repetitions)]  # fmt: skip
    return [statistics.median(each) for each in zip(*times, strict=True)]


def times_over(run: Callable[[], object], count: int) -> None:
    for _ in range(count):
        run()


def fitted(features: Sequence[Sequence[float]], seconds: Sequence[float]) -> np.ndarray:
    """The costs >= 0 with the least sum of squared relative errors."""
    relative = np.array(features) / np.array(seconds)[:, None]
    scale = np.linalg.norm(relative, axis=0)
    return nnls(relative / scale, np.ones(len(relative)))[0] / scale


def floor(rates: Rates, case: Case) -> float:
    """Seconds that a run's numbers cost at these rates."""
    steps = case.rounds * case.pairs * STEPS
    return steps * rates.step(case.hessians, case.dimension, "two-point", torch.float32)


def rows_of(hessians: str, repetitions: int, rates: Rates | None, device: torch.device) -> Iterator[dict[str, Any]]:
    """What was measured and what the model tells, for one size after the other."""
    known = calibration(hessians)
    swept = [(name, case) for name in SIZES for case in sweep(hessians, name)]
    different = list(dict.fromkeys(case for _, case in swept))
    times = dict(zip([*known, *different], measured([*known, *different], repetitions, device), strict=True))
    costs = fitted([case.features() for case in known], [times[case] for case in known])
    for name, case in swept:
        told = float(np.dot(costs, case.features()))
        yield {"across": name, **asdict(case), "seconds": times[case], "model": told,
               "error": told / times[case] - 1, "floor": floor(rates, case) if rates else math.nan}  # fmt: skip


def kept(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the figure draws."""
    ways = {"measured": "seconds", "model": "model", "floor": "floor"}
    panels = []
    for name in SIZES:
        curves: dict[str, list[list[float]]] = {}
        for row in rows:
            for way, key in ways.items() if row["across"] == name else ():
                curves.setdefault(f"{row['hessians']}, {way}", []).append([row[name], float(f"{row[key]:.3g}")])
        panels.append({"across": name, "curves": curves})
    machine = f"{processor()}, Python {platform.python_version()}, torch {torch.__version__.split('+')[0]}"
    return {"up": "process seconds on one core", "machine": machine, "panels": panels}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--hessians", nargs="*", choices=["diagonal", "dense"], default=["diagonal", "dense"])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write what the figure draws besides")
    parser.add_argument("--json", action="store_true")
    add_device(parser)
    options = parser.parse_args(arguments)
    if options.keep and options.device.type != "cpu":
        parser.error(f"--keep {options.keep}: allowed is --device cpu, since the figure is of one core")
    rates = Rates() if options.device.type == "cpu" else None  # there are none of a device
    rows = [row for hessians in options.hessians
            for row in rows_of(hessians, options.repetitions, rates, options.device)]  # fmt: skip
    if options.keep:
        write_beside(options.keep, (json_text(kept(rows), indent=1) + "\n").encode())
    if options.json:
        device = device_name(options.device)
        print(json_text({"machine": kept(rows)["machine"], "device": device, "rows": rows}, indent=2))
        return
    print(device_name(options.device), kept(rows)["machine"], sep=", ")
    print("across     hessians  rounds  replicas  clients  dimension   seconds     model   error  floor/seconds")
    for row in rows:
        print(f"{row['across']:<11}{row['hessians']:<9}{row['rounds']:>7}{row['replicas']:>10}{row['clients']:>9}"
              f"{row['dimension']:>11}{row['seconds']:>10.4f}{row['model']:>10.4f}{row['error']:>+8.0%}"
              f"{row['floor'] / row['seconds']:>15.2f}")  # fmt: skip
    print(f"largest error: {max(abs(row['error']) for row in rows):.0%}")


if __name__ == "__main__":
    main(sys.argv[1:])
