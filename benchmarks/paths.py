"""Which path of gradients takes the least time: what the rule of ``fedtheory/neural/paths.py`` is fitted to.

    OMP_NUM_THREADS=1 python benchmarks/paths.py                               # a table
    OMP_NUM_THREADS=1 python benchmarks/paths.py --keep benchmarks/kept/paths.json

Local training of 10 clients for 5 plain steps, on made-up samples, in turns; the least of the repetitions counts. Times
are the processor's (milliseconds), which depend less on what else is running; a GPU's are by the clock.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn

from fedtheory.federations.devices import device_name
from fedtheory.neural import FlatModel, Samples, Visits, local_update, models
from fedtheory.neural.gradients import PATHS
from fedtheory.neural.grouped import refusal
from fedtheory.neural.paths import kind_of, rule
from fedtheory.provenance import machine

COHORT, STEPS, LR = 10, 5, 0.01
MADE = 4000
"""Samples that there are."""


def dense(*sizes: int, norm: bool = False) -> nn.Module:
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), *([nn.LayerNorm(b)] if norm else []), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def convolutions(channels: int, size: int, norm: bool = False) -> nn.Module:
    more = [nn.GroupNorm(2, channels)] if norm else []
    return nn.Sequential(nn.Conv2d(1, channels, 3), *more, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(channels * ((size - 2) // 2) ** 2, 10))  # fmt: skip


GRAY, TEXT = (1, 28, 28), (40,)
CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], tuple[int, ...]]] = {
    "logistic, 64": (lambda: nn.Linear(64, 10), (64,), (8, 32, 128)),
    "logistic, 784": (lambda: models.multinomial_logistic(), GRAY, (8, 32, 128)),
    "logistic, 784, 62 classes": (lambda: models.multinomial_logistic(784, 62), GRAY, (8, 32, 128)),
    "dense, 64-32-10": (lambda: dense(64, 32, 10), (64,), (8, 32, 128)),
    "dense, 64-64-64-10": (lambda: dense(64, 64, 64, 10), (64,), (8, 32, 128)),
    "dense, 784-100-10": (lambda: dense(784, 100, 10), (784,), (8, 32, 128)),
    "dense, 784-200-200-10": (lambda: dense(784, 200, 200, 10), (784,), (8, 32, 128)),
    "dense, 784-1000-10": (lambda: dense(784, 1000, 10), (784,), (8, 32, 128)),
    "normed, 64-32-10": (lambda: dense(64, 32, 10, norm=True), (64,), (8, 32, 128)),
    "normed, 784-200-10": (lambda: dense(784, 200, 10, norm=True), (784,), (8, 32, 128)),
    "normed, 784-1000-10": (lambda: dense(784, 1000, 10, norm=True), (784,), (8, 32)),
    "convolution, 2 channels": (lambda: convolutions(2, 28), GRAY, (8, 32)),
    "convolution, 8 channels": (lambda: convolutions(8, 28), GRAY, (8, 16, 32)),
    "convolution, 4 channels": (lambda: convolutions(4, 28), GRAY, (8, 16, 32, 64)),
    "convolution, 8 channels of 8 x 8": (lambda: convolutions(8, 8), (1, 8, 8), (8, 32)),
    "convolution, group norm": (lambda: convolutions(8, 28, True), GRAY, (8, 32)),
    "small cnn": (lambda: models.small_cnn(), GRAY, (8, 32, 128)),
    "fast fashion cnn": (lambda: models.fast_fashion_cnn(dropout=(0, 0)), GRAY, (32,)),
    "char lstm": (lambda: models.fast_char_lstm(80, 8, 64, dropout=0.0), TEXT, (8, 32)),
}


def samples(shape: tuple[int, ...], classes: int) -> Samples:
    generator = torch.Generator().manual_seed(0)
    if shape == TEXT:
        features = torch.randint(80, (MADE, *shape), generator=generator)
    else:
        features = torch.randn(MADE, *shape, generator=generator)
    return Samples(features, torch.randint(classes, (MADE,), generator=generator))


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each case and size of batches: the time of every path that there is."""
    device = torch.device(options.device)
    for name, (make, shape, batches) in CASES.items():
        if options.cases and not any(word in name for word in options.cases):
            continue
        model = FlatModel(make())
        model.module.to(device)
        x = model.initial(0).to(device)
        found = samples(shape, 10).to(device)
        paths = [path for path in PATHS if path != "grouped" or refusal(model) is None]
        if "lstm" in name:
            paths.remove("vmap")  # which torch.func takes pair by pair, slowly
        for batch in batches:
            visits = Visits(torch.randint(MADE, (COHORT, STEPS, batch), generator=torch.Generator().manual_seed(1)))
            visits = Visits(visits.index.to(device))
            times: dict[str, list[float]] = {path: [] for path in paths}
            for _ in range(options.repetitions + 1):
                for path in paths:
                    work = partial(local_update, model, x.expand(COHORT, -1), found, visits, LR, path=path)
                    times[path].append(seconds(work, device))
            row = {"case": name, "batch": batch, "kind": kind_of(model), "parameters": model.dimension,
                   "threads": torch.get_num_threads(), "device": device.type,
                   "milliseconds": {path: round(1e3 * min(each[1:]), 3) for path, each in times.items()},
                   "rule": rule(model, (batch, *shape), device.type)}  # fmt: skip
            yield row


def seconds(work: Callable[[], object], device: torch.device) -> float:
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    begun = clock()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return clock() - begun


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("cases", nargs="*", help="words of the cases' names")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    rows = []
    for row in measured(options):
        rows.append(row)
        told = ", ".join(f"{path} {value:.1f}" for path, value in row["milliseconds"].items())
        print(f"{row['case']}, batch {row['batch']}: {told}; rule: {row['rule']}", flush=True)
    if options.keep:
        place = machine(device_name(torch.device(options.device)), options.threads)
        options.keep.write_text(json.dumps({"machine": place, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
