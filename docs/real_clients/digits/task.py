"""What the clients have and do: their digits, their local training, and when they are there."""

from pathlib import Path

import numpy as np

from fedtheory import data
from fedtheory.algorithms import fedau, mifa
from fedtheory.participation import read_log

CLIENTS, ROUNDS = 20, 30
ALGORITHMS = {
    "fedau": fedau(local_lr="1/2", local_steps=5, cutoff=10),
    "mifa": mifa(local_lr="1/2", local_steps=5),
}
TRACE = Path(__file__).parents[1] / "trace.csv"
"""Who was there when; Flower packs no such file with an app, so that nodes are told where it is."""


def names(clients: int = CLIENTS) -> list[str]:
    """The names of the clients."""
    return [f"client-{i}" for i in range(clients)]


def scheme(clients: int = CLIENTS) -> data.Dirichlet:
    """How the digits are spread over the clients."""
    return data.Dirichlet(clients=clients, alpha=0.5)


def start() -> dict[str, np.ndarray]:
    """The model of multinomial logistic regression before the first round."""
    return {"weight": np.zeros((10, 64)), "bias": np.zeros(10)}


def points(client: int | None = None, clients: int = CLIENTS) -> tuple[np.ndarray, np.ndarray]:
    """The digits of a client, or all of them: pixels and labels."""
    digits = data.load("digits")
    chosen = slice(None) if client is None else scheme(clients).split(digits).train[client]
    return np.asarray(digits.features, dtype=float).reshape(len(digits.labels), 64)[chosen], digits.labels[chosen]


def trained(model: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray, lr: float, steps: int) -> dict[str, np.ndarray]:
    """The model after gradient steps on all points of a client."""
    weight, bias = model["weight"], model["bias"]
    for _ in range(steps):
        scores = x @ weight.T + bias
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = shares / shares.sum(axis=1, keepdims=True) - np.eye(10)[y]
        weight, bias = weight - lr * error.T @ x / len(x), bias - lr * error.mean(axis=0)
    return {"weight": weight, "bias": bias}


def accuracy(model: dict[str, np.ndarray]) -> float:
    """The share of all digits that the model classifies right."""
    x, y = points()
    return float(((x @ model["weight"].T + model["bias"]).argmax(axis=1) == y).mean())


def there(clients: int = CLIENTS, trace: str | Path = TRACE) -> np.ndarray:
    """Who is there in each round, (rounds, clients) bool."""
    return read_log(trace, names=names(), until=ROUNDS).mask()[:, :clients]
