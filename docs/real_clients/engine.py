"""The same rounds by the engine, in one process: prints the accuracy before each round and after the last."""

from __future__ import annotations

import json

import numpy as np
from digits import task

import fedtheory as ft


def accuracies(replicas: int = 1) -> list[float]:
    """Return the share of all digits that are classified right, by round."""
    model = ft.neural.multinomial_logistic(64, 10, "zero")
    fed = ft.federations.Network(model, ft.data.load("digits"), task.SCHEME, batch_size=None)
    who = ft.participation.Recorded(task.there())
    run = ft.Setting(fed, task.ALGORITHM, who).simulate(
        replicas=replicas, rounds=task.ROUNDS, dtype="float64", keep_models=1, record_every=task.ROUNDS, device="cpu"
    )
    rows = [run.models[r][0] for r in range(task.ROUNDS + 1)]
    return [task.accuracy({"weight": row[:640].reshape(10, 64), "bias": row[640:]}) for row in np.array(rows)]


if __name__ == "__main__":
    print(json.dumps(accuracies()))
