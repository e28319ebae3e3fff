"""Milliseconds a round of FedAvg with fluke: ``python with_fluke.py CASE ROUNDS`` in an environment that has it."""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise

import torch
from fluke import DDict
from fluke.algorithms.fedavg import FedAVG
from fluke.data import FastDataLoader
from fluke.server import Server
from torch import nn
from training import LR, Case, cases

ENDS: list[float] = []


class Splitter:
    """The clients' data as they are."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def assign(self, clients: int, batch_size: int) -> tuple:
        need = self.case.steps * batch_size  # a client's epoch is its visit
        loaders = [
            FastDataLoader(
                self.case.samples.features[part[:need]],
                self.case.samples.labels[part[:need]],
                num_labels=10,
                batch_size=batch_size,
                shuffle=True,
            )
            for part in self.case.parts
        ]
        return (loaders, [None] * clients), None


class Timed(FedAVG):
    def get_server_class(self) -> type[Server]:
        class TimedServer(Server):
            def aggregate(self, *arguments: object, **named: object) -> None:
                super().aggregate(*arguments, **named)
                ENDS.append(time.perf_counter())

        return TimedServer


def main(name: str, rounds: int) -> None:
    torch.set_num_threads(2)
    (case,) = cases([name])
    client = {
        "batch_size": case.batch,
        "local_epochs": 1,
        "loss": nn.CrossEntropyLoss,
        "optimizer": {"name": torch.optim.SGD, "lr": LR},
        "scheduler": {"name": "StepLR", "step_size": 1, "gamma": 1.0},
    }
    settings = DDict(client=DDict(**client), server=DDict(weighted=False), model=case.module)
    algorithm = Timed(len(case.parts), Splitter(case), settings)
    algorithm.run(n_rounds=rounds + 1, eligible_perc=case.cohort / len(case.parts), finalize=False)
    times = sorted(1e3 * (b - a) for a, b in pairwise(ENDS))
    print(json.dumps({"best_ms": times[0], "median_ms": times[len(times) // 2], "torch": torch.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
