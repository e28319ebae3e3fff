"""What bfloat16 costs in accuracy: the same runs in both precisions, in pairs over seeds.

    FEDTHEORY_DATA=FOLDER python benchmarks/precision.py [--seeds 5] [--rounds 50] [--json]

FedAvg trains the small network on Fashion-MNIST: 100 clients (Dirichlet, alpha .1), 10 a round, 5 steps of .05, batches
of 32. A seed decides the partition, the initial model, cohorts and batches, so that the runs of a pair differ in their
rounding alone. The accuracy of a run is its mean over the evaluations, on all test samples, in the last fifth of the
rounds. Of the difference, bfloat16 less float32, the mean, its standard error and the 95% interval (Student's t) are
given, in points.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from typing import Any

import scipy.stats
import torch
from devices import add_device, device_name

from fedtheory import Setting, data, neural
from fedtheory.algorithms import fedavg
from fedtheory.federations import Network
from fedtheory.participation import Uniform
from fedtheory.simulation import Evaluation

EVERY = 2
PRECISIONS = ("float32", "bfloat16")


def accuracy(precision: str, seed: int, rounds: int, device: torch.device) -> float:
    """Of one run, in %."""
    partition = data.Dirichlet(clients=100, alpha=0.1, seed=seed, test="whole")
    fed = Network(neural.small_cnn(), data.fashion_mnist(), partition, batch_size=32, precision=precision)
    setting = Setting(fed, fedavg(local_steps=5, local_lr=0.05), Uniform(10))
    run = setting.simulate(
        replicas=1, rounds=rounds, seed=seed, record_every=EVERY, observers=[Evaluation("test", every=EVERY)],
        device=device,
    )  # fmt: skip
    late = run.rounds > rounds * 4 // 5
    return 100 * float(run.rows["test_accuracy"][0, late].mean())


def compared(seeds: int, rounds: int, device: torch.device) -> dict[str, Any]:
    """The accuracies of all runs, and the difference."""
    pairs = []
    for seed in range(seeds):
        pairs.append({precision: accuracy(precision, seed, rounds, device) for precision in PRECISIONS})
        print(
            f"seed {seed}: " + ", ".join(f"{name} {value:.2f}%" for name, value in pairs[-1].items()), file=sys.stderr
        )
    differences = [pair["bfloat16"] - pair["float32"] for pair in pairs]
    mean, error = statistics.fmean(differences), statistics.stdev(differences) / seeds**0.5
    reach = float(scipy.stats.t.ppf(0.975, seeds - 1)) * error
    return {
        "device": device_name(device), "torch": torch.__version__, "rounds": rounds, "pairs": pairs,
        "difference": mean, "standard_error": error,
        "interval": [mean - reach, mean + reach],
    }  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="at least 2")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    add_device(parser, "auto")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error(f"--seeds {options.seeds}: allowed is 2 or more, whose differences spread")
    found = compared(options.seeds, options.rounds, options.device)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name in PRECISIONS:
        print(f"{name:<9} {statistics.fmean(pair[name] for pair in found['pairs']):.2f}%")
    low, high = found["interval"]
    print(f"on {found['device']}")
    print(f"difference {found['difference']:+.3f} +- {found['standard_error']:.3f} points, 95% interval "
          f"[{low:+.3f}, {high:+.3f}]")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
