"""What compiled loops save, end to end: whole runs with each loop, and with the torch or numpy lines that it replaces.

    OMP_NUM_THREADS=1 python benchmarks/loops.py                                  # a table
    OMP_NUM_THREADS=1 python benchmarks/loops.py --loops scatter draws --keep benchmarks/kept/loops.json

A benchmark is a whole run as users start it: of the engine, of networks in training, of a search, a selection, a
tightness. Which loops it reaches is found by counting their calls. Each of them is then timed beside its lines, in
turns in one process; given are the medians of CPU seconds, their ratio (lines over loop), and by how much results
differ, relative to the largest of a kind. `lanes`, `elementary`, `compiler` and `threads` are parts of other loops.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from numba.core.dispatcher import Dispatcher
from search import forget
from torch import nn
from unit import unit

from fedtheory import Setting
from fedtheory.algorithms import fedavg
from fedtheory.data import Dataset, load
from fedtheory.data import Uniform as EqualParts
from fedtheory.evidence.search import search
from fedtheory.federations import Federation, Logistic, Network, Quadratic
from fedtheory.neural import models
from fedtheory.participation import Bernoulli, Markov, Participation, Uniform
from fedtheory.provenance import machine
from fedtheory.simulation import simulate
from fedtheory.tightness.measure import tightness

policy = importlib.import_module("fedtheory.selection.online")  # a function has its name, too

CLIENTS, DIMENSION = 100, 50
LEAST = 1.3
"""The ratio below which a loop does not pay."""

# Benchmarks -----------------------------------------------------------------------------------------------------------

Result = dict[str, Any]
"""Numbers by name, which both ways have."""


@cache
def quadratic(hessians: str, noise: str) -> Quadratic:
    rng = np.random.default_rng(0)
    centres, level = rng.standard_normal((CLIENTS, DIMENSION)), 0.0 if noise == "none" else 0.5
    law = "two-point" if noise == "none" else noise
    if hessians == "dense":
        roots = rng.standard_normal((CLIENTS, DIMENSION, DIMENSION)) / DIMENSION**0.5
        matrices = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(DIMENSION)
        return Quadratic((matrices + matrices.transpose(0, 2, 1)) / 2, centres, level, law)
    return Quadratic(rng.uniform(0.1, 1, (CLIENTS, DIMENSION)), centres, level, law)


@cache
def logistic() -> Logistic:
    digits = load("digits")
    order = np.random.default_rng(0).permutation(len(digits))
    parts = np.array_split(order, 50)
    return Logistic([digits.features[p].reshape(len(p), -1) / 16 for p in parts], [digits.labels[p] for p in parts],
                    l2=0.01, classes=10)  # fmt: skip


@cache
def network(name: str, precision: str, batch: int, size: int = 28) -> Network:
    rng = np.random.default_rng(0)
    made: dict[str, Callable[[], nn.Module]] = {
        "logistic": lambda: nn.Sequential(nn.Flatten(), nn.Linear(size * size, 10)),
        "dense": lambda: nn.Sequential(nn.Flatten(), nn.Linear(size * size, 100), nn.ReLU(), nn.Linear(100, 10)),
        "convolutions": models.small_cnn,
    }
    images = rng.integers(0, 256, (3000, 1, size, size)).astype(np.uint8)
    points = Dataset("made up", images, rng.integers(0, 10, 3000), 10)
    torch.manual_seed(0)
    return Network(made[name](), points, EqualParts(clients=CLIENTS), batch_size=batch, precision=precision)


def run(federation: Federation, who: Participation, rounds: int, replicas: int, **options: Any) -> Result:
    options = {"dtype": "float32", "device": "cpu", "observers": ["squared_distance"]} | options
    found = simulate(Setting(federation, fedavg(local_steps=5, local_lr="1/100"), who), rounds=rounds,
                     replicas=replicas, **options)  # fmt: skip
    models = {"models": found.parameters()} if found.models else {}
    return {name: np.asarray(values) for name, values in found.rows.items()} | models


def engine(hessians: str, noise: str, who: Participation, rounds: int, replicas: int, **options: Any) -> Result:
    return run(quadratic(hessians, noise), who, rounds, replicas, **options)


def trained(name: str, rounds: int, precision: str = "float32", batch: int = 32) -> Result:
    return run(network(name, precision, batch), Uniform(10), rounds, 1, observers=["loss"], record_every=rounds)


def searched(ref: str, candidates: int) -> Result:
    forget()
    found = search(ref, candidates, 3, 10)
    return {"ratio": np.array([found.best.ratio if found.best else 0.0]), "admissible": np.array([found.admissible])}


def selected(rounds: int) -> Result:
    rng = np.random.default_rng(0)
    availability, weight = rng.integers(0, 50, (rounds, 20)), rng.dirichlet(np.ones(20))
    return {"rates": policy.online(availability, rng.integers(1, 200, rounds), weight).rates}


def tight(**given: Any) -> Result:
    found = tightness("fast.thm2@sharp", **given)
    return {"looseness": np.array([found.looseness or 0.0, *(each.worst or 0.0 for each in found.after)])}


SOME, ALL = Uniform(10), Uniform(CLIENTS)
RARE = [0.02 + 0.001 * i for i in range(CLIENTS)]
BENCHMARKS: dict[str, Callable[[], Result]] = {
    "diagonal, gaussian, 10 of 100": lambda: engine("diagonal", "gaussian", SOME, 250, 64),
    "diagonal, gaussian, all": lambda: engine("diagonal", "gaussian", ALL, 40, 64),
    "diagonal, two-point, all": lambda: engine("diagonal", "two-point", ALL, 60, 64),
    "diagonal, two-point, 10 of 100": lambda: engine("diagonal", "two-point", SOME, 700, 64),
    "diagonal, no noise, 10 of 100": lambda: engine("diagonal", "none", SOME, 3000, 64),
    "diagonal, two-point, one replica": lambda: engine("diagonal", "two-point", SOME, 20000, 1),
    "diagonal, Bernoulli": lambda: engine("diagonal", "none", Bernoulli(RARE), 3000, 64),
    "diagonal, Markov": lambda: engine("diagonal", "none", Markov(RARE, [p / 2 for p in RARE]), 3000, 64),
    "diagonal, observed in rounds": lambda: engine(
        "diagonal", "none", SOME, 2500, 64, observers=["squared_distance", "gap", "squared_gradient"]
    ),
    "dense, two-point, 10 of 100": lambda: engine("dense", "two-point", SOME, 200, 64),
    "dense, no noise, all": lambda: engine("dense", "none", ALL, 150, 64),
    "dense, no noise, one replica": lambda: engine("dense", "none", SOME, 1500, 1),
    "logistic regression, 10 of 50": lambda: run(logistic(), SOME, 20, 16),
    "network, logistic": lambda: trained("logistic", 150),
    "network, dense": lambda: trained("dense", 30),
    "network, dense, bfloat16": lambda: trained("dense", 30, "bfloat16"),
    "network, convolutions": lambda: trained("convolutions", 2),
    "network, convolutions, bfloat16": lambda: trained("convolutions", 2, "bfloat16"),
    "network, convolutions, batches of 8": lambda: trained("convolutions", 4, batch=8),
    "network, convolutions, batches of 120": lambda: trained("convolutions", 1, batch=120),
    "network, convolutions, bfloat16, of 8": lambda: trained("convolutions", 4, "bfloat16", 8),
    "network, convolutions, bfloat16, of 120": lambda: trained("convolutions", 1, "bfloat16", 120),
    "search, fast.thm2": lambda: searched("fast.thm2@main", 150),
    "search, fast.thm1": lambda: searched("fast.thm1@sharp", 150),
    "search, safari.thm4": lambda: searched("safari.thm4@sharp", 60),
    "search, li2020.thm1": lambda: searched("li2020.thm1@main", 60),
    "search, flics.cor1_1": lambda: searched("flics.cor1_1@received", 12),
    "selection, online policy": lambda: selected(50_000),
    "tightness, fast.thm2": lambda: tight(rounds=10**6),
}

# The lines that loops replace -----------------------------------------------------------------------------------------


def no(*_: Any) -> bool:
    return False


def find_finite(x: Any, finite: Any) -> None:
    finite[:] = np.isfinite(x).all(1)


def follow(value: Any, before: Any, sums: Any, least: Any, most: Any, found: Any, finite: Any) -> None:
    found[0], found[1], found[2] = sums + before, np.minimum(least, value), np.maximum(most, value)
    finite &= np.isfinite(found[0] + value)


def follow_rounds(
    values: Any, current: Any, sums: Any, least: Any, most: Any, finite: Any, recorded: Any, rows: Any
) -> None:
    found = np.empty((3, len(current)))
    for t, value in enumerate(values):
        follow(value, current, sums, least, most, found, finite[t])
        sums[:], least[:], most[:] = found
        current[:] = value
        for row in np.flatnonzero(recorded == t):
            rows[row, 0], rows[row, 1:] = value, found


def find_diverged(finite: Any, round: int, diverged: Any) -> None:
    for t, now in enumerate(finite):
        diverged[:] = np.where(now | (diverged >= 0), diverged, round + t)


def add_rows(total: Any, place: Any, weights: Any, rows: Any) -> None:
    rows, weights = torch.from_numpy(rows), torch.from_numpy(weights)
    torch.from_numpy(total).index_add_(0, torch.from_numpy(place), weights[:, None] * rows)


def shares(counts: Any, place: Any) -> Any:
    counts = torch.from_numpy(counts).to(torch.float64)
    return (counts / counts.sum(1, keepdim=True)).flatten()[torch.from_numpy(place)].numpy()


def list_pairs(mask: Any, round: Any, client: Any, replica: Any, offsets: Any) -> None:
    given = torch.from_numpy(mask)
    found = given.permute(0, 2, 1).nonzero().T.numpy()
    round[:], client[:], replica[:] = found
    offsets[:, 1:] = given.sum(1).cumsum(1).numpy()


def find_places(counts: Any, place: Any) -> int:
    found = torch.from_numpy(counts).flatten().nonzero()[:, 0].numpy()
    place[: len(found)] = found
    return len(found)


def place_in_tiles(sizes: Any, first: Any, tile: int, slot: Any, pair: Any) -> None:
    client = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(len(client)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slot[:] = first[rank // tile, client] * tile + rank % tile
    pair[slot] = np.arange(len(slot))


def in_one_pass(scores: Any, labels: Any, weights: Any) -> Any:
    with torch.no_grad():
        logs, at = torch.log_softmax(scores, 1), labels[:, None]
        shares = logs.new_full((len(labels), 1), 1 / len(labels))
        if weights is not None:
            shares = (weights / weights.sum()).to(logs)[:, None]
        loss = -(shares * logs.gather(1, at)).sum()
        return loss, logs.exp_().mul_(shares).scatter_add_(1, at, -shares)


def least_of_lines(slopes: Any, heights: Any, start: float, asked: Any, last: Any) -> Any:
    kinds, period, error = len(slopes), len(last), start
    errors, entering = np.empty(len(asked)), np.full(kinds, start)
    answered = 0
    for r in range(asked[-1]):
        kind, place = min(r % period, kinds - 1), r % period
        entering[kind] = error
        error = (slopes[kind] * error + heights[kind]).min()
        if r + 1 == asked[answered]:
            errors[answered] = error
            answered += 1
        if error == last[place]:
            errors[answered:] = [last[(each - 1) % period] for each in asked[answered:]]
            break
        last[place] = error
    return errors, entering


def train(steps: Any, curvatures: Any, pull: Any, variance: Any, a: Any, b: Any, v: Any) -> None:
    a[0], b[0], v[0] = 1, 0, 0
    for k in range(steps.shape[1]):
        eta = steps[:, k, None, None]
        keep = 1 - eta * curvatures
        a[k + 1] = keep * a[k]
        b[k + 1] = keep * b[k] + eta * pull
        v[k + 1] = keep * keep * v[k] + eta * eta * variance


def follow_server(both: Any, alike: Any, moved: Any, noise: Any, spread: float, mean: Any, square: Any) -> None:
    for r in range(both.shape[1]):
        one, two = mean[r], square[r]
        of_mean = alike[0, r] * two + alike[1, r] * one + alike[2, r]
        of_both = both[0, r] * two + both[1, r] * one + both[2, r]
        mean[r + 1] = moved[0, r] * one + moved[1, r]
        square[r + 1] = of_mean + spread * (of_both - of_mean) + noise[r]


def gradients(a: Any, b: Any, v: Any, minimisers: Any, curvatures: Any, mean: Any, square: Any, seen: Any) -> None:
    for k in range(seen.shape[1]):
        by, off = a[k], b[k] - minimisers
        away = by * by * square[:, None] + 2 * by * off * mean[:, None] + off * off + v[k]
        seen[:, k] = curvatures * curvatures * away


def advance(
    share: Any, slope: Any, shift: Any, noise: Any, stray: Any, further: Any, chance: Any, reached: Any, first: Any,
    second: Any, low: Any, high: Any,
) -> None:  # fmt: skip
    rounds, _, answers, sums = share.shape
    for t in range(rounds):
        chance[t + 1], reached[t + 1], first[t + 1], second[t + 1] = 0, False, 0, 0
        low[t + 1], high[t + 1] = np.inf, -np.inf
        for a in range(answers - 1, -1, -1):
            f = further[a]
            if f >= sums:
                continue
            n = slice(0, sums - f)
            each = np.where(reached[t, n], share[t, :, a, n], 0.0)
            here, there = each.sum(0), (each > 0).any(0)
            chance[t + 1, f:] += here * chance[t, n]
            reached[t + 1, f:] |= there
            by, to = np.where(here != 0, slope[t, :, a, n], 0), np.where(here != 0, shift[t, :, a, n], 0)
            spread = np.where(here != 0, noise[t, :, a, n], 0)
            one, two = first[t, :, n], second[t, :, n]
            first[t + 1, :, f:] += here * (by * one + to * chance[t, n])
            second[t + 1, :, f:] += here * (by * by * two + 2 * by * to * one + (to * to + spread) * chance[t, n])
            ends = np.stack([by * low[t, :, n] + to, by * high[t, :, n] + to])
            least, most = ends.min(0) - stray[t, :, a, n], ends.max(0) + stray[t, :, a, n]
            low[t + 1, :, f:] = np.where(there, np.minimum(low[t + 1, :, f:], least), low[t + 1, :, f:])
            high[t + 1, :, f:] = np.where(there, np.maximum(high[t + 1, :, f:], most), high[t + 1, :, f:])


def plain_steps(a: Any, k: Any, p: Any, update: str, start: float) -> Iterator[Any]:
    return policy._plain_steps(a, k, p, "planned", update, start, 0)


Lines = Sequence[tuple[str, str, Callable[..., Any]]]
"""Modules below fedtheory, names in them, and what stands there instead."""


def of_loop(name: str, *lines: Callable[..., Any]) -> Lines:
    return [(f"loops.{name}", each.__name__, each) for each in lines]


ROUNDS_APART: Lines = [("simulation.fused_rounds", "in_memory", no)]
REPLACED: dict[str, Lines] = {
    "branching_histories": of_loop("branching_histories", advance),
    "convolution": [("neural.first_block", "covers", no)],
    "diagonal_rounds": ROUNDS_APART,
    "diagonal_sgd": [*ROUNDS_APART, ("federations.linear_training", "in_memory", no)],
    "draws": [("randomness", "in_memory", no)],
    "independent_clients": [("participation.bernoulli", "in_memory", no)],
    "least_lines": of_loop("least_lines", least_of_lines),
    "line_runs": [*of_loop("line_runs", train, gradients), ("loops.line_runs", "follow", follow_server)],
    "logistic_regression": [("neural.compiled_logistic", "covers", no),
                            ("neural.manual_backward", "_in_one_pass", in_one_pass)],
    "max_pool": [("neural.pooling", "covers", no)],
    "participant_lists": of_loop("participant_lists", list_pairs, find_places, place_in_tiles),
    "policy_rounds": [("selection.online", "_compiled_steps", plain_steps)],
    "scatter": of_loop("scatter", add_rows, shares),
    "statistics": of_loop("statistics", find_finite, follow, follow_rounds, find_diverged),
    "uniform_cohorts": [("participation.processes", "in_memory", no)],
}  # fmt: skip
"""By loop, where its lines stand."""
PARTS = {"__init__", "compiler", "elementary", "first_compilation", "lanes", "threads"}
"""Files that are no loops of their own."""
BESIDE: dict[str, Lines] = {"diagonal_sgd": ROUNDS_APART}
"""What stands there on both sides: without its loop no rounds are made together."""


@contextmanager
def replaced(lines: Lines) -> Iterator[None]:
    with ExitStack() as stack:
        for module, name, line in lines:
            stack.enter_context(patch.object(importlib.import_module(f"fedtheory.{module}"), name, line))
        yield


# Measurement ----------------------------------------------------------------------------------------------------------


def loops_of(name: str) -> tuple[ModuleType, list[str]]:
    module = importlib.import_module(f"fedtheory.loops.{name}")
    return module, [each for each, value in vars(module).items() if isinstance(value, Dispatcher)]


def reached(benchmark: Callable[[], Result]) -> Counter[str]:
    """How often Python calls each file's loops in a benchmark."""
    calls: Counter[str] = Counter()

    def counted(file: str, loop: Callable[..., Any]) -> Callable[..., Any]:
        def count(*given: Any) -> Any:
            calls[file] += 1
            return loop(*given)

        return count

    benchmark()  # what is compiled is compiled with the loops themselves
    with ExitStack() as stack:
        for file in REPLACED:
            module, names = loops_of(file)
            for name in names:
                stack.enter_context(patch.object(module, name, counted(file, getattr(module, name))))
        benchmark()
    return calls


def difference(one: Result, other: Result) -> float:
    """The largest relative difference of two results; infinite where they are not of the same kind."""
    if one.keys() != other.keys() or any(one[name].shape != other[name].shape for name in one):
        return float("inf")
    apart = [0.0]
    for name in one:
        a, b = (np.asarray(each[name], dtype=float) for each in (one, other))
        scale = np.abs(a[np.isfinite(a)]).max(initial=0.0)
        if not np.array_equal(a, b, equal_nan=True):
            apart.append(float(np.nanmax(np.abs(a - b)) / scale) if scale else float("inf"))
    return max(apart)


def measured(benchmark: Callable[[], Result], loop: str, repetitions: int) -> dict[str, float]:
    """CPU seconds with the loop and with its lines, in turns, their ratio, and how far results are apart."""
    ways = (BESIDE.get(loop, ()), REPLACED[loop])
    seconds: tuple[list[float], list[float]] = ([], [])
    results = []
    for lines in ways:  # once before: what is compiled or cached is there
        with replaced(lines):
            results.append(benchmark())
    for _ in range(repetitions):
        for lines, taken in zip(ways, seconds, strict=True):
            with replaced(lines):
                began = time.process_time()
                benchmark()
                taken.append(time.process_time() - began)
    one, other = map(statistics.median, seconds)
    return {"loop": one, "lines": other, "ratio": other / one, "apart": difference(*results)}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--loops", nargs="*", choices=list(REPLACED), default=list(REPLACED))
    parser.add_argument("--benchmarks", nargs="*", choices=list(BENCHMARKS), default=list(BENCHMARKS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="a file that gets the table, and keeps its other rows")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    if options.keep and options.keep.exists():  # what is not measured anew stays
        anew = {*itertools.product(options.loops, options.benchmarks)}
        rows = [
            row for row in json.loads(options.keep.read_text())["rows"] if (row["loop"], row["benchmark"]) not in anew
        ]
    of_unit = unit()
    for name in options.benchmarks:
        benchmark = BENCHMARKS[name]
        calls = reached(benchmark)
        for loop in (loop for loop in options.loops if calls[loop]):
            found = measured(benchmark, loop, options.repetitions)
            told = f"{found['loop']:7.2f}{found['lines']:8.2f}{found['ratio']:7.2f}  {found['apart']:.0e}"
            print(f"{loop:<22}{name:<34}{told}", flush=True)
            rounded = {kind: float(f"{value:.3g}") for kind, value in found.items()}
            rows.append({"loop": loop, "benchmark": name, "calls": calls[loop], "seconds": rounded})
        if options.keep:
            kept = {"unit_seconds": round(of_unit, 2), "machine": machine("cpu", 1), "rows": rows}
            options.keep.write_text(json.dumps(kept, indent=1) + "\n")
    files = {path.stem for path in Path(importlib.import_module("fedtheory.loops").__path__[0]).glob("*.py")}
    if missing := files - REPLACED.keys() - PARTS:
        print(f"not in the table: {', '.join(sorted(missing))}")
    for loop in options.loops:
        most = max((row["seconds"]["ratio"] for row in rows if row["loop"] == loop), default=0.0)
        told = f"at most {most:.2f}" + ("" if most >= LEAST else ", which does not pay") if most else "not reached"
        print(f"{loop:<22}{told}")


if __name__ == "__main__":
    main(sys.argv[1:])
