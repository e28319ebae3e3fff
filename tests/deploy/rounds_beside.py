"""A federation of fixed updates, for the engine, and the same clients for a deployed server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from fedtheory.deploy import Answer
from fedtheory.federations import Federation
from fedtheory.federations.federation import Pairs

CLIENTS, DIMENSION = 7, 5


def update(client: int, round: int) -> np.ndarray:
    """What a client adds to the model in a round, whatever the model is."""
    return np.random.default_rng((client, round)).normal(size=DIMENSION) / 10


def server_gradient(round: int, step: int) -> np.ndarray:
    return np.random.default_rng((99, round, step)).normal(size=DIMENSION)


def accuracy(x: np.ndarray) -> float:
    """A number in [0, 1] that the model decides."""
    return float(abs(np.sin(x[0])))


class FixedUpdates(Federation):
    """Clients whose updates are fixed beforehand."""

    clients, dimension = CLIENTS, DIMENSION

    def loss(self, x: torch.Tensor, pairs: Pairs) -> torch.Tensor:
        return x.new_zeros(len(x))

    def gradient(self, x: torch.Tensor, pairs: Pairs) -> torch.Tensor:
        return torch.zeros_like(x)

    def to(self, device: Any = "cpu", dtype: Any = "float64") -> FixedUpdates:
        return self

    def local_update(self, start: torch.Tensor, pairs: Pairs, training: Any, state: Any) -> tuple[torch.Tensor, Any]:
        added = [update(client, pairs.round) for client in pairs.client.tolist()]
        return start + torch.from_numpy(np.array(added).reshape(len(added), DIMENSION)), state

    def server_gradient(self, x: torch.Tensor, replica_ids: Any, seed: int, round: int, draw: int = 0) -> torch.Tensor:
        return torch.from_numpy(server_gradient(round, draw))[None]

    def training_accuracy(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor([accuracy(row) for row in x.numpy()], dtype=torch.float64)


def answers(names: Iterable[str], round: int, model: np.ndarray, examples: int = 1) -> list[Answer]:
    """What clients "0" to "6" answer, in an order that is not theirs."""
    asked = sorted(map(int, names), key=lambda i: (i * 5) % 7)
    return [Answer(str(i), [model + update(i, round)], examples * (i + 1), round) for i in asked]
