"""How long a round of FedAvg takes: local training of the packed pairs beside a plain PyTorch loop on the same batches.

The plain loop has ``--threads`` threads, ``optim.SGD``, and copies a ``state_dict`` before and after every visit. Both
train 10 of 100 clients (Dirichlet, alpha .1) for 5 steps from the same model, in turns; models are compared before
they are timed. On another ``--device`` there are no workers. The best and the median of the repetitions are given, and
the ratio of the medians: by the clock, or with ``--processor`` of the processor's time, of both in one thread, which
depends less on what else is running.

``default-fedavg`` is that of most frameworks: clients of unequal sizes, 2 epochs of batches of 32, the mean by samples,
and steps of .1, on every path. Logistic regression (``default-fedavg-logistic``) is compared after three rounds, and
has to be within 1e-5 in float32. The network is compared after one: there a rounding by which a ReLU or a pool goes the
other way moves a gradient at once, so that a plain loop leaves another one that reads the same batches backwards. That
distance is the measure of "differs", at most four times; 1e-5 is left after 16 to 24 local steps, of 40. That it is the
same trajectory is seen in float64, which has to be within 1e-10 of the plain loop.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from devices import add_device, by_the_clock, device_name, timer
from torch import Tensor, nn

from fedtheory import data
from fedtheory.federations.federation import Pairs
from fedtheory.federations.visits import Minibatches
from fedtheory.files import json_text, write_beside
from fedtheory.neural import FlatModel, Samples, Visits, evaluate, local_update, models
from fedtheory.neural.gradients import PATHS
from fedtheory.neural.grouped import refusal
from fedtheory.neural.training_workers import Workers

CLIENTS, COHORT, STEPS, LR = 100, 10, 5, 0.05
VOCABULARY, WINDOW = 80, 80


@dataclass(frozen=True)
class Case:
    """A network, samples, the clients' parts of them, and what is done in a round."""

    name: str
    module: nn.Module
    samples: Samples
    parts: list[np.ndarray]
    batch: int
    cohort: int = COHORT
    steps: int = STEPS
    epochs: int = 0
    """Passes over a client's points in place of so many ``steps``; then clients weigh by their samples."""
    lr: float = LR
    rounds: int = 1
    """Rounds after which models are compared."""
    apart: float | None = 1e-4
    """The most that they may differ by in float32; ``None``: four times what the plain loop does if it reads batches
    backwards."""

    @property
    def default(self) -> bool:
        """Whether it is FedAvg as most frameworks run it, which is compared in float64 too."""
        return self.epochs > 0

    def to(self, device: torch.device) -> Case:
        """The same on another device."""
        return replace(self, module=self.module.to(device), samples=self.samples.to(device))

    def in_double(self) -> Case:
        """The same in double precision."""
        features = self.samples.features
        exact = replace(self.samples, features=features.double() if features.is_floating_point() else features)
        return replace(self, module=copy.deepcopy(self.module).double(), samples=exact)

    def visits(self, seed: int) -> Visits:
        """The batches of one round, without replacement where a client has enough samples."""
        rng = np.random.default_rng(seed)
        chosen = rng.choice(len(self.parts), self.cohort, replace=False)
        if self.epochs:
            return self._passes(chosen, seed)
        need = self.steps * self.batch
        drawn = [rng.choice(self.parts[i], need, replace=len(self.parts[i]) < need) for i in chosen]
        index = torch.from_numpy(np.stack(drawn)).view(self.cohort, self.steps, self.batch)
        return Visits(index.to(self.samples.labels.device))

    def _passes(self, chosen: np.ndarray, seed: int) -> Visits:
        """Batches of whole epochs, as networks with ``local_epochs`` draw them."""
        device, sizes = self.samples.labels.device, torch.tensor([len(part) for part in self.parts])
        batches, here = Minibatches(sizes, self.batch, "one pass", self.epochs), torch.zeros(1, len(sizes)).bool()
        here[0, chosen] = True
        steps = int(batches.steps_of_visits(sizes.numpy()[chosen]).max())
        found = batches.of(Pairs.of(here, torch.zeros(1).long(), seed, 0), 0, steps, False, False)
        index, weights = torch.from_numpy(np.concatenate(self.parts))[found.index], found.weights
        assert weights is not None
        return Visits(index.to(device), weights.to(device), counting=found.counting)


def averaged(each: Tensor, visits: Visits) -> Tensor:
    """The clients' mean, by the points that they went through where visits differ in length."""
    if visits.weights is None:
        return each.mean(0)
    passed = visits.weights.sum((1, 2))
    return (passed / passed.sum()).view(-1, *[1] * (each.dim() - 1)).mul(each).sum(0)


def cases(names: list[str]) -> list[Case]:
    """Those of the cases whose data are on this machine."""
    found: list[Case] = []
    if any(name.startswith(("logistic", "small", "fashion", "default")) for name in names):
        found += fashion_cases(names)
    if "cifar-cnn-32" in names:
        found += cifar_case()
    if "lstm-32" in names:
        found += shakespeare_case()
    return found


def fashion_cases(names: list[str]) -> list[Case]:
    try:
        loaded = data.load("fashion-mnist")
    except FileNotFoundError as error:
        print(f"without Fashion-MNIST: {str(error).splitlines()[0]}")
        return []
    images = torch.as_tensor(np.asarray(loaded.features), dtype=torch.float32).view(-1, 1, 28, 28) / 255
    labels = np.asarray(loaded.labels)
    samples = Samples(images, torch.as_tensor(labels).long())
    parts = data.dirichlet(labels, CLIENTS, 0.1, 0)
    made: dict[str, Callable[[], nn.Module]] = {
        "logistic": models.multinomial_logistic,
        "small-cnn": models.small_cnn,
        "fashion-cnn": lambda: models.fast_fashion_cnn(dropout=(0, 0)),
    }
    if any(name.startswith("default-fedavg") for name in names):
        unequal = [np.asarray(part) for part in data.LabelDirichlet(clients=CLIENTS, alpha=0.1).split(loaded).train]
        both = (("", "small-cnn", 1, None), ("-logistic", "logistic", 3, 1e-5))
        default = [
            Case(
                f"default-fedavg{suffix}",
                seeded(made[name]),
                samples,
                unequal,
                32,
                epochs=2,
                lr=0.1,
                rounds=rounds,
                apart=apart,
            )
            for suffix, name, rounds, apart in both
            if f"default-fedavg{suffix}" in names
        ]
    else:
        default = []
    return default + [
        Case(f"{name}-{batch}", seeded(make), samples, parts, batch)
        for name, make in made.items()
        for batch in (32, 120)
        if f"{name}-{batch}" in names
    ]


def cifar_case() -> list[Case]:
    folder = Path(os.environ.get("FEDTHEORY_DATA", "")) / "cifar-10-batches-bin"
    paths = [folder / f"data_batch_{i}.bin" for i in range(1, 6)]
    if not all(path.is_file() for path in paths):
        print("without CIFAR-10: it is not below FEDTHEORY_DATA")
        return []
    rows = np.concatenate([np.fromfile(path, np.uint8).reshape(-1, 3073) for path in paths[:2]])
    images = torch.from_numpy(rows[:, 1:].astype(np.float32) / 255).view(-1, 3, 32, 32)
    labels = rows[:, 0].astype(np.int64)
    parts = data.dirichlet(labels, CLIENTS, 0.1, 0)
    samples = Samples(images, torch.from_numpy(labels))
    return [Case("cifar-cnn-32", seeded(lambda: models.fast_cifar_cnn(dropout=0)), samples, parts, 32)]


def shakespeare_case() -> list[Case]:
    """Windows of the plays' text, 100 stretches of it as clients."""
    path = Path(os.environ.get("FEDTHEORY_DATA", "")) / "shakespeare" / "input.txt"
    if not path.is_file():
        print("without Shakespeare: it is not below FEDTHEORY_DATA")
        return []
    text = path.read_text(encoding="utf-8")[:200_000]
    symbols = {c: i for i, c in enumerate(sorted(set(text)))}
    codes = torch.tensor([symbols[c] for c in text])
    begins = torch.arange(0, len(codes) - WINDOW - 1, 20)
    windows = codes[begins[:, None] + torch.arange(WINDOW)]
    parts = np.array_split(np.arange(len(begins)), CLIENTS)
    samples = Samples(windows, codes[begins + WINDOW])
    module = seeded(lambda: models.fast_char_lstm(VOCABULARY, dropout=0))
    return [Case("lstm-32", module, samples, parts, 32, cohort=4, steps=2)]


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return make()


def backwards(visits: Visits) -> Visits:
    """The same batches, each read from its end: the same numbers but for roundings."""
    index = visits.index.clone()
    for at in np.ndindex(*index.shape[:2]):
        used = slice(None) if visits.counts is None else torch.from_numpy(visits.counts[at].nonzero()[0])
        index[at][used] = index[at][used].flip(0)
    return Visits(index, visits.weights, counting=visits.counting)


def plain_round(case: Case, state: dict[str, Tensor], visits: Visits) -> dict[str, Tensor]:
    """FedAvg as one would write it first."""
    module, samples = case.module.train(), case.samples
    after = []
    for pair, index in enumerate(visits.index):
        module.load_state_dict(state)
        optimiser = torch.optim.SGD(module.parameters(), lr=case.lr)
        for step, whole in enumerate(index):
            chosen = whole if visits.counts is None else whole[torch.from_numpy(visits.counts[pair, step])]
            if len(chosen) == 0:
                continue
            optimiser.zero_grad()
            nn.functional.cross_entropy(module(samples.features[chosen]), samples.labels[chosen]).backward()
            optimiser.step()
        after.append(copy.deepcopy(module.state_dict()))
    return {name: averaged(torch.stack([each[name] for each in after]), visits) for name in state}


def plain_evaluation(case: Case, state: dict[str, Tensor], samples: Samples, batch: int = 1000) -> Tensor:
    """The share of samples that are classified right, in large batches; the loss is computed too."""
    module, right, loss = case.module.eval(), 0, 0.0
    module.load_state_dict(state)
    with torch.no_grad():
        for begin in range(0, len(samples), batch):
            scores, labels = module(samples.features[begin : begin + batch]), samples.labels[begin : begin + batch]
            loss += float(nn.functional.cross_entropy(scores, labels, reduction="sum"))
            right += int((scores.argmax(1) == labels).sum())
    return torch.tensor(right / len(samples))


BACKWARDS = "plain loop, batches read backwards"
Way = Callable[[Visits, Tensor], Tensor]
"""Leads from a round's batches and the model before it, flat, to the model after it."""


def contenders(case: Case, flat: FlatModel, stack: ExitStack, options: argparse.Namespace) -> dict[str, Way]:
    """Ways to the model after a round, by name."""
    shapes = {name: value.shape for name, value in case.module.state_dict().items()}
    workers = stack.enter_context(Workers(flat, case.samples, options.workers)) if options.workers else None

    def plain(visits: Visits, x: Tensor) -> Tensor:
        torch.set_num_threads(options.threads)
        parts = x.split([shape.numel() for shape in shapes.values()])
        state = {name: part.view(shape).clone() for (name, shape), part in zip(shapes.items(), parts, strict=True)}
        return torch.cat([each.flatten() for each in plain_round(case, state, visits).values()])

    def packed(path: str, precision: str) -> Way:
        def run(visits: Visits, x: Tensor) -> Tensor:
            torch.set_num_threads(options.threads)
            start = x.expand(len(visits), -1)
            found = local_update(flat, start, case.samples, visits, case.lr, path=path, precision=precision)
            return averaged(found.models, visits)

        return run

    def shared(path: str, precision: str) -> Way:
        assert workers is not None

        def run(visits: Visits, x: Tensor) -> Tensor:
            torch.set_num_threads(1)
            start = x.expand(len(visits), -1)
            return averaged(workers.local_update(start, visits, case.lr, path=path, precision=precision).models, visits)

        return run

    ways: dict[str, Way] = {"plain": plain}
    for path in options.paths:
        if path == "grouped" and refusal(flat) is not None:
            continue
        for precision in options.precisions:
            ways[f"{path} {precision}"] = packed(path, precision)
            if workers is not None:
                ways[f"{path} {precision} workers"] = shared(path, precision)
    return ways


def measure(case: Case, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Milliseconds a round of every contender."""
    with ExitStack() as stack:
        flat = FlatModel(case.module, initial="module")
        x = flat.initial(0).to(options.device)
        ways = contenders(case, flat, stack, options)
        differences, in_double = compare(case, ways, x), in_double_precision(case, options)
        times: dict[str, list[float]] = {name: [] for name in ways}
        for repetition in range(options.repetitions):
            visits = case.visits(repetition)
            for name, way in ways.items():
                times[name].append(1e3 * options.seconds(partial(way, visits, x)))
    plain = statistics.median(times["plain"])
    return [
        {
            "case": case.name, "way": name, "best_ms": min(each), "median_ms": statistics.median(each),
            "ratio": plain / statistics.median(each), "best_ratio": min(times["plain"]) / min(each),
            "largest_difference": differences[name], "in_float64": in_double.get(name.partition(" ")[0]),
            "backwards": differences.get(BACKWARDS),
        }
        for name, each in times.items()
    ]  # fmt: skip


def compare(case: Case, ways: dict[str, Way], start: Tensor) -> dict[str, float]:
    """The largest difference of each model from the plain loop's, after ``case.rounds``: in float32 that of roundings,
    which may have grown."""
    double = start.dtype == torch.float64
    if case.default and not double:
        ways = ways | {BACKWARDS: lambda visits, x: ways["plain"](backwards(visits), x)}
    found = {name: start for name in ways}
    for round in range(case.rounds):
        visits = case.visits(10**6 + round)
        found = {name: way(visits, found[name]) for name, way in ways.items()}
    differences = {name: float((x - found["plain"]).abs().max()) for name, x in found.items()}
    most = 1e-10 if double else 4 * differences[BACKWARDS] if case.apart is None else case.apart
    wrong = {name: each for name, each in differences.items() if not each <= most and "bfloat16" not in name}
    if wrong:
        raise SystemExit(f"{case.name}: models differ from the plain loop's by {wrong}")
    return differences


def in_double_precision(case: Case, options: argparse.Namespace) -> dict[str, float]:
    """The same in float64, of each path in this process, of FedAvg as most frameworks run it."""
    if not case.default or options.device.type != "cpu":
        return {}
    exact = case.in_double()
    flat = FlatModel(exact.module, initial="module")
    alone = argparse.Namespace(**{**vars(options), "workers": 0, "precisions": ["float32"]})
    with ExitStack() as stack:
        found = compare(exact, contenders(exact, flat, stack, alone), flat.initial(0).double())
    return {name.partition(" ")[0]: each for name, each in found.items()}


def measure_evaluation(case: Case, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Milliseconds of an evaluation on up to 2,000 samples."""
    flat, count = FlatModel(case.module, initial="module"), 2000
    some = Samples(case.samples.features[:count].clone(), case.samples.labels[:count].clone())
    state, x = copy.deepcopy(case.module.state_dict()), flat.initial(0)[None].to(options.device)
    ways: dict[str, Callable[[], Tensor]] = {
        "plain evaluation": lambda: plain_evaluation(case, state, some),
        "evaluation": lambda: evaluate(flat, x, some)[1][0],
    }
    if abs(float(ways["plain evaluation"]()) - float(ways["evaluation"]())) > 1e-3:
        raise SystemExit(f"{case.name}: accuracies differ")
    torch.set_num_threads(options.threads)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.repetitions):
        for name, way in ways.items():
            times[name].append(1e3 * options.seconds(way))
    plain = times["plain evaluation"]
    return [
        {
            "case": case.name, "way": name, "best_ms": min(each), "median_ms": statistics.median(each),
            "ratio": statistics.median(plain) / statistics.median(each), "best_ratio": min(plain) / min(each),
            "largest_difference": 0.0, "in_float64": None, "backwards": None,
        }
        for name, each in times.items()
    ]  # fmt: skip


def machine(options: argparse.Namespace) -> dict[str, Any]:
    """What the timings were taken on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    cpu = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {"device": device_name(options.device), "cpu": cpu[0] if cpu else platform.processor(),
            "cores": os.cpu_count(), "threads": options.threads,
            "workers": options.workers, "torch": torch.__version__, "python": platform.python_version()}  # fmt: skip


CASES = ["logistic-32", "logistic-120", "small-cnn-32", "small-cnn-120", "fashion-cnn-32", "cifar-cnn-32", "lstm-32",
         "default-fedavg", "default-fedavg-logistic"]  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], default=[])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2, help="of the plain loop, and of ours without workers")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread; 0 for none")
    parser.add_argument("--paths", nargs="*", choices=list(PATHS), default=["loop", "grouped"])
    parser.add_argument("--precisions", nargs="*", choices=["float32", "bfloat16"], default=["float32"])
    parser.add_argument("--processor", action="store_true", help="the processor's time, in one thread without workers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="a file for the same")
    add_device(parser)
    options = parser.parse_args(arguments)
    if options.processor and options.device.type != "cpu":
        parser.error("--processor: allowed is --device cpu, since a device does not work in the processor's time")
    options.seconds = timer(options.device) if options.processor else by_the_clock(options.device)
    if options.processor:
        options.threads, options.workers = 1, 0
    if options.device.type != "cpu":
        options.workers = 0
    results = []
    for case in cases(
        options.cases
        or [
            "default-fedavg",
            "default-fedavg-logistic",
            "logistic-32",
            "logistic-120",
            "small-cnn-32",
            "cifar-cnn-32",
            "lstm-32",
        ]
    ):
        there = case.to(options.device)
        results += [*measure(there, options), *measure_evaluation(there, options)]
    found = {"machine": machine(options), "results": results}
    if options.keep:
        write_beside(options.keep, (json_text(found, indent=1) + "\n").encode())
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(", ".join(f"{key} {value}" for key, value in machine(options).items()))
    print(
        "case".ljust(26)
        + "way".ljust(28)
        + "".join(h.rjust(12) for h in ("best ms", "median ms", "ratio", "best", "differs", "in float64"))
    )
    for r in results:
        cells = (f"{r['best_ms']:.2f}", f"{r['median_ms']:.2f}", f"{r['ratio']:.2f}", f"{r['best_ratio']:.2f}")
        differs = [f"{r['largest_difference']:.0e}", "" if r["in_float64"] is None else f"{r['in_float64']:.0e}"]
        print(r["case"].ljust(26) + r["way"].ljust(28) + "".join(c.rjust(12) for c in (*cells, *differs)))


if __name__ == "__main__":
    main(sys.argv[1:])
