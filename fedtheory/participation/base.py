"""The interface of participation processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import check_kind
from ..extras import torch
from ..randomness import Axis
from ..rationals import checked_count

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Keys:
    """Keys of a process's draws: the seed, the axis, and the replicas' own numbers, (replicas,) int64."""

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

    Entries are Fractions (dtype object) where the process knows them exactly, floats otherwise. Integers among
    Fractions are made Fractions.
    """

    first: np.ndarray
    second: np.ndarray

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            moments = getattr(self, name)
            if moments.dtype == object and any(type(entry) is int for entry in moments.flat):
                object.__setattr__(self, name, np.frompyfunc(Fraction, 1, 1)(moments))

    def as_floats(self) -> Inclusion:
        """Convert the moments to floats."""
        return Inclusion(self.first.astype(float), self.second.astype(float))


class Participation(ABC):
    """A process that says, round after round, which clients take part.

    Attributes:
        cohort: how many draws a round has (``n`` for arbitrary rounds, ``m`` for snapshots). A process whose rounds
            differ in this has no cohort, and raises ``ValueError`` when asked for it (see `AnySize`).
        deterministic: whether every run sees the same participants.
        independent_rounds: whether the counts of different rounds are independent. Then the laws of single rounds,
            `marginal`, say everything about a run; otherwise they do not, and no recursion of moments may use them.
    """

    if TYPE_CHECKING:  # a field of some processes, computed by others

        @property
        def cohort(self) -> int: ...

        @property
        def deterministic(self) -> bool: ...

        @property
        def independent_rounds(self) -> bool: ...

    else:
        independent_rounds = True

    @abstractmethod
    def check(self, clients: int) -> None:
        """Raise ``ValueError`` if the process cannot run on this number of clients."""

    def init(self, keys: Keys) -> Any:
        """The state before round 0. For a process without memory, the keys themselves.

        A state may be asked for any round, also one far on: what it remembers of earlier rounds only saves time.
        """
        self.check(keys.clients)
        return keys

    @abstractmethod
    def step(self, state: Any, round: int) -> tuple[Tensor, Any]:
        """Draw the counts N (replicas, clients), int8, of one round, and return them with the next state."""

    def steps(self, state: Any, first: int, rounds: int) -> tuple[Tensor, Any]:
        """Draw the counts of so many rounds from the ``first`` on, (rounds, replicas, clients), and the next state."""
        found = []
        for round in range(first, first + rounds):
            counts, state = self.step(state, round)
            found.append(counts)
        return torch.stack(found), state

    @abstractmethod
    def inclusion(self, clients: int) -> Inclusion:
        """Compute the moments of N, which are the same in every round and independent of the past.

        Raises:
            ValueError: they are not the same in every round, or not independent of the past; see `marginal`.
        """

    def marginal(self, clients: int, round: int) -> Inclusion:
        """Compute the moments of N in this round alone, whatever happened in others."""
        return self.inclusion(clients)

    def expected(self, clients: int, round: int) -> np.ndarray:
        """E[N_i] in this round, (clients,): the first moments of `marginal`, without the work for the second."""
        return self.marginal(clients, round).first

    def stationary(self, clients: int) -> np.ndarray:
        """Compute E[N_i], the same in every round, (clients,), also where rounds depend on each other.

        Raises:
            ValueError: it is not the same in every round; see `expected`.
        """
        return self.inclusion(clients).first

    def sizes(self, clients: int) -> tuple[int, int]:
        """The fewest and the most draws that a round can have; 0 means that nobody may show up."""
        self.check(clients)
        return self.cohort, self.cohort


class AnySize(Participation):
    """A process whose rounds differ in how many clients take part; nobody may show up."""

    @property
    def cohort(self) -> int:
        """The size of a cohort, which such a process does not have.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            f"cohort: rounds of {type(self).__name__} differ in size; allowed is a process with rounds of one size"
        )


def history(
    process: Participation, clients: int, rounds: int, replicas: int = 1, seed: int = 0, first: int = 0
) -> Tensor:
    """Draw the counts of so many rounds from the ``first`` on, (rounds, replicas, clients) int8.

    From 0 on they are those of the arbitrary rounds of a simulation with this seed. From a later one on they have the
    state in which the process begins, and that round's place in hours and schedules.

    Raises:
        ValueError: a number of rounds or replicas below 1, a first round below 0, or clients on which the process
            cannot run.

    >>> from fedtheory.participation import Fixed
    >>> history(Fixed([1]), clients=3, rounds=2)[:, 0].tolist()
    [[0, 1, 0], [0, 1, 0]]
    """
    check_kind("process", process, Participation, "a Participation")
    for name, value in {"rounds": rounds, "replicas": replicas, "clients": clients}.items():
        checked_count(name, value)
    checked_count("first", first, 0)
    state = process.init(Keys(seed, Axis.ARBITRARY, torch.arange(replicas), clients))
    counts = torch.empty(rounds, replicas, clients, dtype=torch.int8)
    for round in range(rounds):
        counts[round], state = process.step(state, first + round)
    return counts
