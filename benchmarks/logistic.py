"""Local steps a second of full-batch logistic regression, beside a loop with the gradient in closed form.

    OMP_NUM_THREADS=1 python benchmarks/logistic.py [--json] [--datasets digits fashion-mnist] [--replicas 1 4 16 64]

The loop is what one would write for one run of this kind: cohorts from torch's own generator, clients one after the
other, each with one product of its rows with the weights of all replicas that it trains in, a softmax, and one product
back. ``--one-by-one`` trains the replicas one after the other instead. 50 clients with equally many rows, 5 local
steps. Both sides have the same threads and run in turns; times are process times, on another ``--device`` those of the
clock, medians over the repetitions. Before, models of the two after a round of all clients are compared; the run stops
if they differ by more than 1e-4 of the largest weight in float32. Fashion-MNIST comes with `make data`; without it, a
line says so.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import statistics
import sys
from typing import Any

import numpy as np
import torch
from devices import add_device, device_name, timer
from engine import PRECISIONS
from torch import Tensor

from fedtheory import Setting, data
from fedtheory.algorithms import fedavg
from fedtheory.federations import Logistic
from fedtheory.participation import Uniform
from fedtheory.simulation.iterates import iterates
from fedtheory.simulation.observer import Observer

CLIENTS, STEPS, LR, L2 = 50, 5, 0.1, 0.01
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}


class Nothing(Observer):
    """Looks at nothing: what is watched costs the same on both sides, none."""


def federation(name: str) -> Logistic:
    loaded = data.load(name).normalised()
    features = loaded.features.reshape(len(loaded.labels), -1)
    count = len(features) // CLIENTS * CLIENTS
    order = np.random.default_rng(0).permutation(len(features))[:count].reshape(CLIENTS, -1)
    return Logistic([features[rows] for rows in order], [loaded.labels[rows] for rows in order], L2, classes=10)


class Loop:
    """FedAvg without the engine."""

    def __init__(self, fed: Logistic, precision: str, one_by_one: bool, device: torch.device) -> None:
        dtype, ends = PRECISIONS[precision], np.cumsum([0, *np.diff(fed._starts)])
        rows, labels = fed._rows.to(device, dtype), fed._labels
        hot = torch.nn.functional.one_hot(labels, fed.classes).to(device, dtype)
        self.clients = [(rows[a:b], hot[a:b]) for a, b in itertools.pairwise(ends.tolist())]
        self.classes, self.dtype, self.one_by_one = fed.classes, dtype, one_by_one

    def run(self, replicas: int, cohort: int, rounds: int) -> Tensor:
        """The models (replicas, C, p) after the rounds."""
        torch.manual_seed(0)
        device = self.clients[0][0].device
        w = torch.zeros(replicas, self.classes, self.clients[0][0].shape[1], dtype=self.dtype, device=device)
        for _ in range(rounds):
            chosen = torch.rand(replicas, CLIENTS, device=device).topk(cohort).indices
            total = torch.zeros_like(w)
            for i, client in enumerate(self.clients):
                who = (chosen == i).any(1).nonzero()[:, 0]
                for some in who.split(1) if self.one_by_one else [who] if len(who) else []:
                    total[some] += self.trained(w[some], *client) / cohort
            w = w + total
        return w

    def trained(self, start: Tensor, rows: Tensor, hot: Tensor) -> Tensor:
        w = start
        for _ in range(STEPS):
            scores = (rows @ w.flatten(0, 1).T).view(len(rows), len(w), self.classes)
            residuals = torch.softmax(scores, 2) - hot[:, None]
            w = w - LR * ((residuals.flatten(1).T @ rows).view(w.shape) / len(rows) + L2 * w)
        return w - start


def measured(fed: Logistic, case: tuple[int, float, str], options: Any) -> dict[str, Any]:
    replicas, share, precision = case
    cohort = round(share * CLIENTS)
    setting = Setting(fed, fedavg(local_steps=STEPS, local_lr=LR), Uniform(cohort))
    plain = Loop(fed, precision, options.one_by_one, options.device)

    def ours(rounds: int) -> object:
        return setting.simulate(replicas=replicas, rounds=rounds, dtype=precision, device=options.device,
                                observers=[Nothing()])  # fmt: skip

    def theirs(rounds: int) -> object:
        return plain.run(replicas, cohort, rounds)

    ours(1), theirs(1)
    work = replicas * cohort * STEPS * len(fed._rows) / CLIENTS * fed.dimension
    rounds = max(2, round(options.work / work))
    seconds = timer(options.device)
    times = [(seconds(lambda: ours(rounds)), seconds(lambda: theirs(rounds))) for _ in range(options.repetitions)]
    engine, loop = (statistics.median(each) for each in zip(*times, strict=True))
    steps = replicas * cohort * STEPS * rounds
    return {"replicas": replicas, "share": share, "precision": precision, "engine": steps / engine,
            "loop": steps / loop, "ratio": loop / engine}  # fmt: skip


def compare(fed: Logistic, precision: str, device: torch.device) -> None:
    """Raise ``ValueError`` if the two make different models of all clients."""
    setting = Setting(fed, fedavg(local_steps=STEPS, local_lr=LR), Uniform(CLIENTS))
    ours = iterates(setting, rounds=1, replicas=2, dtype=precision, device=device)[-1]
    theirs = Loop(fed, precision, False, device).run(2, CLIENTS, 1).flatten(1).cpu()
    if not torch.allclose(ours, theirs, rtol=0, atol=TOLERANCE[precision] * float(theirs.abs().max())):
        raise ValueError(f"{precision}: the models differ by {float((ours - theirs).abs().max()):.3g}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--datasets", nargs="*", default=["digits", "fashion-mnist"])
    parser.add_argument("--replicas", nargs="*", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--shares", nargs="*", type=float, default=[0.1, 1.0])
    parser.add_argument("--precisions", nargs="*", choices=list(PRECISIONS), default=list(PRECISIONS))
    parser.add_argument("--work", type=float, default=3e8, help="numbers times rows that are multiplied in a run")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--one-by-one", action="store_true", help="a loop over replicas too")
    parser.add_argument("--json", action="store_true")
    add_device(parser)
    options = parser.parse_args(arguments)
    rows = []
    for name in options.datasets:
        try:
            fed = federation(name)
        except FileNotFoundError as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
            continue
        for precision in options.precisions:
            compare(fed, precision, options.device)
        cases = itertools.product(options.replicas, options.shares, options.precisions)
        rows += [{"data": name, **measured(fed, case, options)} for case in cases]
    machine = {
        "device": device_name(options.device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    if options.json:
        print(json.dumps({"machine": machine, "rows": rows}, indent=2))
        return
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    print("data           replicas  share  precision   engine/s     loop/s  ratio")
    for row in rows:
        print(f"{row['data']:<15}{row['replicas']:>8}{row['share']:>7}  {row['precision']:<9}"
              f"{row['engine']:>11.3g}{row['loop']:>11.3g}{row['ratio']:>7.2f}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
