"""Measure a device in a few minutes: what it is, whether runs there give the CPU's numbers, how fast they are.

    python -m fedtheory.gpu --budget 8m --into FOLDER [--device cuda] [--runs FILE.toml ...]

It needs numpy, scipy, torch, numba and the standard library alone, so that it runs on a machine that is lent bare. What
is measured is written as soon as it is known, to ``FOLDER/measured.json`` and, as tables, to ``FOLDER/measured.md``;
whatever ends it, what was measured stays. The steps: the device; convex federations and networks beside the CPU; the
engine and the training of networks beside plain loops on the same device; memory; runs of experiment files until the
budget is spent, kept in ``FOLDER/runs`` as ``fedtheory run --store`` keeps them. What a step has no time for is said.

Its exit status: 0, 1 if numbers differ from the CPU's, 2 for arguments that it cannot take, a device that does not
answer or a step that failed, with a line on standard error for each.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from . import __version__, algorithms, data, neural
from .experiments.grid import ExperimentFile
from .experiments.work_units import OutOfTime, Unit, perform, seconds, units_of
from .federations import Federation, Logistic, Network, Quadratic, random_quadratic
from .federations.devices import device_name, find_device
from .files import check_target, json_text, plain_toml, read_file, write_beside
from .neural import Adam
from .participation import Bernoulli, Uniform
from .setting import Setting

Row = dict[str, Any]
Rows = Iterator[Callable[[], Row]]
"""Rows of a step: functions that are called one after the other, as long as there is time."""
CLIENTS = 12
LOCAL: dict[str, Any] = {"local_lr": "1/8", "local_steps": 2}
TOLERANCES = {"float64": 1e-9, "float32": 1e-4}
"""Largest relative difference from the CPU's numbers: sums run in another order, and few rounds make little of it."""
REPETITIONS, LONG = 3, 3.0
"""Repetitions of whatever is timed, and the seconds that each may take."""
USED = 0.9
"""Share of the budget that rows may use: the rest is for the start, and for the end of what has begun."""
PATHS = ("loop", "vmap", "grouped")


@dataclass
class Measured:
    """Measurements, kept in a folder as it grows.

    Attributes:
        device: that is measured.
        into: the folder.
        deadline: when the budget is spent, by ``time.monotonic``.
        short: whether one row of each step is enough, to see that all of it goes.
        steps: the rows of each step.
    """

    device: torch.device
    into: Path
    deadline: float
    short: bool = False
    steps: dict[str, list[Row]] = field(default_factory=dict)

    def take(self, name: str, rows: Rows, share: float) -> None:
        """Keep the rows of a step, one by one, for at most this share of the time that is left. None is begun that
        would end too late if it took as long as the longest one before; runs are stopped, and go on another time."""
        kept, stopped = self.steps.setdefault(name, []), name == "runs"
        begun, longest = time.monotonic(), 0.0
        end = begun + share * max(0.0, self.deadline - begun)
        for make in rows:
            now = time.monotonic()
            late = not stopped and (now + longest > self.deadline or (bool(kept) and now > end))
            kept.append({"left": "no time for the rest"} if late else make())
            self.write()
            print(f"{name}: " + ", ".join(f"{key} {_short(value)}" for key, value in kept[-1].items()), flush=True)
            if "left" in kept[-1] or (self.short and not stopped):
                break
            longest = max(longest, time.monotonic() - now)

    def write(self) -> None:
        """Write all that is known."""
        write_beside(self.into / "measured.json", json_text(self.steps).encode())
        write_beside(self.into / "measured.md", page(self.steps).encode())

    def synchronised(self) -> float:
        """The time, once the device has done all that it was asked for."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def seconds(self, work: Callable[[int], object], most: int) -> float:
        """Return the seconds of a round: the median of some repetitions, after one round to warm up.

        A repetition has at ``most`` so many rounds, and takes no longer than ``LONG``. ``work`` makes the rounds it is
        told.
        """
        work(1)
        once = self._timed(work, 1)
        rounds = 1 if self.short else max(1, min(most, int(LONG / once)))
        times = [once] if rounds == 1 else [self._timed(work, rounds) / rounds for _ in range(REPETITIONS)]
        return statistics.median(times)

    def _timed(self, work: Callable[[int], object], rounds: int) -> float:
        begun = self.synchronised()
        work(rounds)
        return self.synchronised() - begun


def page(steps: dict[str, list[Row]]) -> str:
    """The rows of each step as a table in Markdown.

    >>> print(page({"device": [{"name": "cpu", "threads": 1}]}))
    ## device
    <BLANKLINE>
    | name | threads |
    | --- | --- |
    | cpu | 1 |
    <BLANKLINE>
    """
    parts = []
    for name, rows in steps.items():
        columns = list(dict.fromkeys(itertools.chain(*rows)))
        lines = [columns, ["---"] * len(columns), *([_short(row.get(key, "")) for key in columns] for row in rows)]
        parts.append(f"## {name}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n")
    return "\n".join(parts)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "/")


# what the device is


def described(on: Measured) -> Rows:
    """Versions, names and sizes."""
    yield partial(_described, on)


def _described(on: Measured) -> Row:
    row: Row = {
        "device": device_name(on.device),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "fedtheory": __version__,
        "python": platform.python_version(),
        "processor": _processor(),
        "threads": torch.get_num_threads(),
    }
    if on.device.type == "cuda":
        free, total = torch.cuda.mem_get_info(on.device)
        row |= {"cuda": str(torch.version.cuda), "GiB": total / 2**30, "free GiB": free / 2**30}
    return row


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


# whether runs there give the CPU's numbers


def convex() -> Iterator[tuple[str, Federation]]:
    """Small federations of every kind of Hessian, and of logistic regression, by the noise of their gradients."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLIENTS, 2))
    dense = [[[2, k / 16], [k / 16, 1]] for k in range(CLIENTS)]
    rows = [rng.normal(size=(3 + k % 4, 2)) for k in range(CLIENTS)]
    labels = [np.arange(len(each)) % 2 for each in rows]
    for noise, level in (("two-point", 0.0), ("two-point", 0.5), ("gaussian", 0.5)):
        named = f"{noise} noise" if level else "no noise"
        yield f"dense, {named}", Quadratic(dense, centres, level, noise, server_noise=level)
        yield f"diagonal, {named}", Quadratic([[1, 1 + k % 3] for k in range(CLIENTS)], centres, level, noise)
        yield f"common, {named}", random_quadratic(CLIENTS, 3, seed=1, gradient_noise=level, noise=noise)
        yield f"logistic, {named}", Logistic(rows, labels, 0.1, gradient_noise=level, noise=noise)


def images(points: int) -> data.Dataset:
    """Noise in the shape of Fashion-MNIST: neither numbers nor times depend on what is seen."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (points, 1, 28, 28), dtype=np.uint8)
    return data.Dataset("noise", pixels, np.arange(points) % 10, 10)


def network(path: str, sampling: str = "independent", clients: int = CLIENTS, batch: int = 16) -> Network:
    """A small CNN with the images."""
    parts = data.LabelDirichlet(clients=clients, alpha=0.5)
    return Network(neural.small_cnn(), images(50 * clients), parts, batch_size=batch, sampling=sampling, path=path)


def correctness(on: Measured) -> Rows:
    """Largest differences between a run there and on the CPU, and whether a second run has the first one's bits."""
    process = Bernoulli([f"{1 + i % 3}/4" for i in range(CLIENTS)])
    some: dict[str, Any] = {
        "fast": algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/3"),
        "fedvarp": algorithms.fedvarp(**LOCAL),
        "safari": algorithms.safari(**LOCAL, client_round_probability="1/2", server_lr="1/4"),
    }
    for fed, algorithm in itertools.product(convex(), some):
        name, federation = fed
        precision = "float32" if algorithm == "fedvarp" else "float64"
        setting = Setting(federation, some[algorithm], process)
        yield partial(_compared, on, f"{name}, {algorithm}", setting, precision, None)
    for path, sampling, solver in itertools.product(PATHS, ("independent", "one pass"), (None, Adam(keep=True))):
        how = algorithms.fast(cohort=4, snapshot_probability="1/2", local_lr=0.01, local_steps=3)
        how = how if solver is None else how.trained_by(solver)
        this = Setting(network(path, sampling), how, Uniform(6))
        named = f"small CNN, {path}, {sampling}, {'SGD' if solver is None else 'Adam'}"
        precisions = ("float64", "float32") if solver is None else ("float64",)  # Adam divides by what is rounded
        for precision in precisions:
            yield partial(_compared, on, named, this, precision, ["loss"])


def _compared(on: Measured, name: str, setting: Setting, precision: str, observers: list[str] | None) -> Row:
    options: dict[str, Any] = {"replicas": 2, "rounds": 3, "seed": 3, "dtype": precision, "observers": observers}
    here = setting.simulate(**options, device="cpu")
    there, again = (setting.simulate(**options, device=on.device) for _ in range(2))
    worst = max(_difference(there.rows[row], values) for row, values in here.rows.items())
    same = all((there.rows[row] == again.rows[row]).all() for row in here.rows)
    return {
        "what": name,
        "precision": precision,
        "difference": worst,
        "allowed": TOLERANCES[precision],
        "agrees": worst <= TOLERANCES[precision],
        "same bits again": same,
    }


def _difference(found: np.ndarray, known: np.ndarray) -> float:
    scale = np.maximum(np.abs(known), 1.0)
    return float(np.max(np.abs(found - known) / scale, initial=0.0))


# how fast they are, beside plain loops on the same device


def engine(on: Measured) -> Rows:
    """Local steps a second on quadratic federations of 100 clients in 50 dimensions."""
    clients, dimension = 100, 50
    rng = np.random.default_rng(0)
    centres, entries = rng.standard_normal((clients, dimension)), rng.uniform(0.1, 1, (clients, dimension))
    roots = rng.standard_normal((clients, dimension, dimension)) / dimension**0.5
    dense = (roots @ roots.transpose(0, 2, 1) + roots.transpose(0, 2, 1) @ roots) / 4
    for hessians, replicas, share in itertools.product((entries, dense), (64, 1024), (0.1, 1.0)):
        fed = Quadratic(hessians, centres, gradient_noise=0.5)
        yield partial(_engine_beside_loop, on, fed, hessians, replicas, share)


def _engine_beside_loop(on: Measured, fed: Quadratic, hessians: np.ndarray, replicas: int, share: float) -> Row:
    steps, cohort = 5, round(share * fed.clients)
    setting = Setting(fed, algorithms.fedavg(local_steps=steps, local_lr=0.01), Uniform(cohort))
    matrices, centres = (torch.tensor(each, dtype=torch.float32, device=on.device) for each in (hessians, fed.centres))

    def run(rounds: int) -> object:
        return setting.simulate(
            replicas=replicas, rounds=rounds, dtype="float32", device=on.device, observers=["squared_distance"]
        )

    ours = on.seconds(run, 100)
    loop = on.seconds(lambda rounds: _batched_loop(matrices, centres, replicas, cohort, steps, rounds), 100)
    made = replicas * cohort * steps
    return {
        "hessians": "dense" if hessians.ndim == 3 else "diagonal",
        "replicas": replicas,
        "share": share,
        "engine, steps/s": made / ours,
        "loop, steps/s": made / loop,
        "ratio": loop / ours,
    }


def _batched_loop(matrices: Tensor, centres: Tensor, replicas: int, cohort: int, steps: int, rounds: int) -> Tensor:
    """FedAvg as one would write it: all replicas at once, cohorts and noise from torch's generator."""
    clients, dimension = centres.shape
    device = centres.device
    x, scale = torch.zeros(replicas, dimension, device=device), 0.5 / dimension**0.5
    for _ in range(rounds):
        chosen = torch.rand(replicas, clients, device=device).topk(cohort).indices
        own, c, several = x[:, None].expand(-1, cohort, -1), centres[chosen], matrices[chosen]
        for _ in range(steps):
            shifted = own - c
            gradient = several * shifted if several.dim() == 3 else (several @ shifted[..., None])[..., 0]
            signs = 2 * torch.randint(2, own.shape, device=device, dtype=torch.int8) - 1
            own = own - 0.01 * (gradient + scale * signs)
        x = own.mean(1)
    return x.square().sum()


def networks(on: Measured) -> Rows:
    """Rounds a second of the small CNN, 12 of 100 clients and five steps, beside clients trained one after another."""
    for replicas, path in itertools.product((1, 8), PATHS[::-1]):
        yield partial(_network_beside_loop, on, path, replicas)


def _network_beside_loop(on: Measured, path: str, replicas: int) -> Row:
    steps, batch = 5, 32
    net = network(path, clients=100, batch=batch)
    setting = Setting(net, algorithms.fedavg(local_lr=0.05, local_steps=steps), Uniform(CLIENTS))

    def run(rounds: int) -> object:
        return setting.simulate(
            replicas=replicas, rounds=rounds, record_every=rounds, device=on.device, observers=["traffic"]
        )

    ours = on.seconds(run, 20) / replicas
    plain = on.seconds(lambda rounds: _plain_rounds(net, on.device, rounds, steps, batch), 20)
    return {
        "path": path,
        "replicas": replicas,
        "ours, rounds/s": 1 / ours,
        "plain, rounds/s": 1 / plain,
        "ratio": plain / ours,
    }


def _plain_rounds(net: Network, device: torch.device, rounds: int, steps: int, batch: int) -> None:
    """FedAvg as one would write it with ``torch.optim``: the clients one after the other."""
    features = torch.from_numpy(net.dataset.features).to(device)
    labels = torch.from_numpy(net.dataset.labels).to(device)
    parts = [torch.from_numpy(np.asarray(part)).to(device) for part in net.partition.train]
    module = neural.small_cnn().to(device)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    for r in range(rounds):
        after = []
        for i in range(CLIENTS):
            module.load_state_dict(state)
            optimiser, mine = torch.optim.SGD(module.parameters(), lr=0.05), parts[(r + i) % len(parts)]
            for _ in range(steps):
                chosen = mine[torch.randint(len(mine), (batch,), device=device)]
                optimiser.zero_grad()
                nn.functional.cross_entropy(module(features[chosen] / 255), labels[chosen]).backward()
                optimiser.step()
            after.append({name: value.clone() for name, value in module.state_dict().items()})
        state = {name: torch.stack([each[name] for each in after]).mean(0) for name in state}


# memory


def memory(on: Measured) -> Rows:
    """The most that was held beside the limit, in GiB: chunks are chosen so that it is kept. And whether a chunk that
    does not fit is halved."""
    for limit in (2**29, 2**31):
        yield partial(_held, on, limit)
    if on.device.type == "cuda":
        yield partial(_halved, on)


def _held(on: Measured, limit: int) -> Row:
    setting = Setting(network("grouped"), algorithms.fedavg(local_lr=0.05, local_steps=2), Uniform(CLIENTS))
    there, before = on.device.type == "cuda", 0
    if there:
        torch.cuda.reset_peak_memory_stats(on.device)
        before = torch.cuda.memory_allocated(on.device)
    replicas = 64 if there and not on.short else 4
    setting.simulate(replicas=replicas, rounds=2, observers=["traffic"], device=on.device, memory_limit=limit)
    row: Row = {"replicas": replicas, "limit, GiB": limit / 2**30}
    if there:
        peak = torch.cuda.max_memory_allocated(on.device) - before
        row |= {"peak, GiB": peak / 2**30, "kept": peak <= limit}
    return row


def _halved(on: Measured, replicas: int = 8) -> Row:
    """A run whose replicas do not fit together, since the process is allowed less than that takes."""
    setting = Setting(network("grouped"), algorithms.fedavg(local_lr=0.05, local_steps=2), Uniform(CLIENTS))
    options: dict[str, Any] = {
        "rounds": 1,
        "observers": ["traffic"],
        "device": on.device,
        "chunk": replicas,
        "pairs_at_once": replicas * CLIENTS,
        "memory_limit": 2**33,
    }
    peaks = []
    for count in (1, replicas):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(on.device)
        setting.simulate(replicas=count, **options)
        peaks.append(torch.cuda.max_memory_allocated(on.device))
    allowed = sum(peaks) / 2
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(allowed / torch.cuda.mem_get_info(on.device)[1], on.device)
    try:
        run = setting.simulate(replicas=replicas, **options)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, on.device)
    return {
        "replicas": replicas,
        "limit, GiB": allowed / 2**30,
        "peak, GiB": peaks[1] / 2**30,
        "halved": run.replicas == replicas and peaks[1] > allowed,
    }


# runs of experiment files


def runs(on: Measured, files: Mapping[Path, Row]) -> Rows:
    """Units of the files, one after another, until the time is over; each goes on where it was stopped."""
    for path, content in files.items():
        experiment = ExperimentFile(str(path), {**content, "run": {**content.get("run", {}), "device": str(on.device)}})
        units = units_of(experiment, experiment.points(), on.into / "runs")
        for file, digest in sorted({entry for unit in units for entry in unit.code.items()}):
            _say(f"uses {path.parent / file}, and executes it if it is a Python file (sha256 {digest})")
        for unit in units:
            yield partial(_performed, on, unit)


def _performed(on: Measured, unit: Unit) -> Row:
    try:
        result = perform(unit, time.time() + on.deadline - time.monotonic())
    except OutOfTime as left:
        return {"run": unit.name, "left": str(left)}
    numbers = {name: each["values"] for name, each in result["statistics"].items()}
    return {"run": unit.name, "seconds": result["seconds"]} | numbers


def experiments(paths: Sequence[Path]) -> dict[Path, Row]:
    """The content of experiment files, before there is anything to measure.

    Raises:
        ValueError: no TOML, or without the tables that a run needs.
        OSError: it cannot be read.
    """
    found: dict[Path, Row] = {}
    for path in paths:
        found[path] = plain_toml(read_file(path), str(path))
        for name in ("federation", "algorithm"):
            if not isinstance(found[path].get(name), dict):
                raise ValueError(f"{path}: {name} is missing: allowed is an experiment file, with a table of this name")
    return found


def answering(device: torch.device) -> None:
    """Let the device add two numbers, so that it is known whether it does anything at all.

    Raises:
        ValueError: it does not; in the driver's words, in one line.
    """
    try:
        found = (torch.ones(2, device=device) + 1).sum().item()
    except Exception as error:  # of the driver: torch has several kinds
        raise ValueError(f"device = {str(device)!r} does not answer: {_line(error)}") from None
    if found != 4:
        raise ValueError(f"device = {str(device)!r} adds 1 and 1 to {found / 2}")


def _line(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _say(what: object) -> None:
    print(f"fedtheory.gpu: {what}", file=sys.stderr)


def main(arguments: Sequence[str]) -> int:
    """The command, and its exit status."""
    parser = argparse.ArgumentParser(prog="python -m fedtheory.gpu", description=str(__doc__).splitlines()[0])
    parser.add_argument("--budget", default="8m", help="time for all of it: 90s, 8m")
    parser.add_argument("--into", type=Path, required=True, help="folder for what is measured")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, cpu")
    parser.add_argument("--short", action="store_true", help="one row of each step, to see that all of it goes")
    parser.add_argument("--runs", type=Path, nargs="*", default=[], help="experiment files (TOML)")
    options = parser.parse_args(arguments)
    try:
        deadline = time.monotonic() + USED * seconds(options.budget)
        files = experiments(options.runs)
        on = Measured(_found(options.device), options.into, deadline, options.short)
        answering(on.device)
        check_target(options.into / "measured.json")
        options.into.mkdir(parents=True, exist_ok=True)
        on.write()
    except (ValueError, OSError) as error:
        _say(str(error).splitlines()[0])
        return 2
    try:
        failed = _measure(on, files)
    except OSError as error:
        _say(f"{options.into} takes no more ({error}); what was written before is whole")
        return 2
    wrong = [row["what"] for row in on.steps.get("correctness", []) if not row.get("agrees", True)]
    for name in wrong:
        _say(f"{name}: not the CPU's numbers")
    print(f"fedtheory.gpu: written to {options.into / 'measured.json'}")
    return 1 if wrong else 2 if failed else 0


def _found(device: str) -> torch.device:
    """The device of that name; what torch warns of when it finds none is part of the error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            return find_device(device)
        except ValueError as error:
            said = "; ".join(str(each.message).splitlines()[0] for each in warned)
            raise ValueError(f"{error} ({said})" if said else str(error)) from None


def _measure(on: Measured, files: Mapping[Path, Row]) -> bool:
    """All steps, and whether one failed: the others go on as long as the device answers.

    Raises:
        OSError: what is measured cannot be written.
    """
    steps: dict[str, tuple[Rows, float]] = {
        "device": (described(on), 1.0),
        "correctness": (correctness(on), 0.3),
        "engine": (engine(on), 0.3),
        "networks": (networks(on), 0.4),
        "memory": (memory(on), 0.3),
        "runs": (runs(on, files), 1.0),
    }
    failed = False
    for name, (rows, share) in steps.items():
        try:
            on.take(name, rows, share)
        except Exception as error:  # whatever it is: what was measured is kept, and the next step may go
            on.steps[name].append({"failed": _line(error)})
            on.write()
            _say(f"{name}: {_line(error)}")
            failed = True
            try:
                answering(on.device)
            except ValueError as silent:
                _say(silent)
                break
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
