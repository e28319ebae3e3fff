"""What every participation process offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..randomness import Axis


@dataclass(frozen=True)
class Keys:
    """What a process's draws depend on: the seed, the axis, and the replicas' own numbers, (replicas,) int64."""

    seed: int
    axis: Axis
    replica_ids: Tensor
    clients: int


@dataclass(frozen=True)
class Inclusion:
    """First and second moments of how often each client is drawn in a round.

    With N_i the number of times that client i is drawn (0 or 1 unless draws are with replacement):

    Attributes:
        first: (clients,), E[N_i]; the inclusion probabilities.
        second: (clients, clients), E[N_i N_j]; the joint inclusion probabilities.

    Entries are Fractions (dtype object) where the process knows them exactly, floats otherwise.
    """

    first: np.ndarray
    second: np.ndarray

    def as_floats(self) -> Inclusion:
        return Inclusion(self.first.astype(float), self.second.astype(float))


class Participation(ABC):
    """A process that says, round after round, which clients take part.

    Attributes:
        cohort: how many draws a round has (``n`` for arbitrary rounds, ``m`` for snapshots).
        deterministic: whether every run sees the same participants.
    """

    cohort: int
    deterministic: bool

    @abstractmethod
    def check(self, clients: int) -> None:
        """Raise ``ValueError`` if the process cannot run on so many clients."""

    def init(self, keys: Keys) -> Any:
        """The state before round 0. For a process without memory, the keys themselves."""
        self.check(keys.clients)
        return keys

    @abstractmethod
    def step(self, state: Any, round: int) -> tuple[Tensor, Any]:
        """The counts N (replicas, clients), int8, of one round, and the next state."""

    @abstractmethod
    def inclusion(self, clients: int) -> Inclusion:
        """The moments of N, the same in every round and independent of the past."""
