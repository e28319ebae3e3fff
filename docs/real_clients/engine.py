"""The same rounds by the engine, in one process: prints the accuracy before each round and after the last.

python docs/real_clients/engine.py --algorithm mifa --clients 5 --rounds 8
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from digits import task

import fedtheory as ft


def accuracies(algorithm: str, clients: int, rounds: int) -> list[float]:
    """Return the share of all digits that are classified right, by round."""
    model = ft.neural.multinomial_logistic(64, 10, "zero")
    fed = ft.federations.Network(model, ft.data.load("digits"), task.scheme(clients), batch_size=None)
    who = ft.participation.Recorded(task.there(clients))
    run = ft.Setting(fed, task.ALGORITHMS[algorithm], who).simulate(
        replicas=1, rounds=rounds, dtype="float64", keep_models=1, record_every=rounds, device="cpu"
    )
    rows = [run.models[r][0] for r in range(rounds + 1)]
    return [task.accuracy({"weight": row[:640].reshape(10, 64), "bias": row[640:]}) for row in np.array(rows)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="fedau", choices=task.ALGORITHMS)
    parser.add_argument("--clients", type=int, default=task.CLIENTS)
    parser.add_argument("--rounds", type=int, default=task.ROUNDS)
    given = parser.parse_args()
    print(json.dumps(accuracies(given.algorithm, given.clients, given.rounds)))
