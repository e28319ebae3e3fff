"""Memoryless participation processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from ..randomness import words
from .base import Inclusion, Keys, Participation

LARGEST_COUNT = 127
"""Counts of draws are int8."""


@dataclass(frozen=True)
class Uniform(Participation):
    """``cohort`` clients drawn uniformly at random, afresh every round.

    Without replacement E[N_i] = m/M and E[N_i N_j] = m(m-1) / (M(M-1)) for i != j; with replacement
    E[N_i N_j] = m(m-1)/M^2, plus m/M if i = j.

    >>> Uniform(2).inclusion(4).second[0].tolist()
    [Fraction(1, 2), Fraction(1, 6), Fraction(1, 6), Fraction(1, 6)]
    """

    cohort: int
    replacement: bool = False

    @property
    def deterministic(self) -> bool:
        return False

    def check(self, clients: int) -> None:
        if self.replacement and not 1 <= self.cohort <= LARGEST_COUNT:
            raise ValueError(f"cohort = {self.cohort}: with replacement allowed is 1 to {LARGEST_COUNT}")
        if not self.replacement and not 1 <= self.cohort <= clients:
            raise ValueError(f"cohort = {self.cohort}: allowed is 1 to clients = {clients}")

    def step(self, state: Keys, round: int) -> tuple[Tensor, Keys]:
        replicas = state.replica_ids[:, None]
        if self.replacement:
            draws = torch.arange(self.cohort, device=replicas.device)
            # The bias of "modulo clients" is below clients / 2^63.
            drawn = words(state.seed, state.axis, replicas, draws, round) % state.clients
            counts = torch.zeros(len(replicas), state.clients, dtype=torch.int8, device=replicas.device)
            return counts.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.int8)), state
        clients = torch.arange(state.clients, device=replicas.device)
        return smallest(words(state.seed, state.axis, replicas, clients, round), self.cohort), state

    def inclusion(self, clients: int) -> Inclusion:
        self.check(clients)
        m, M = self.cohort, clients
        if self.replacement:
            joint, extra = Fraction(m * (m - 1), M * M), Fraction(m, M)
        else:
            joint = Fraction(m * (m - 1), M * (M - 1)) if M > 1 else Fraction(0)
            extra = Fraction(m, M) - joint
        second = np.full((M, M), joint, dtype=object)
        np.fill_diagonal(second, joint + extra)
        return Inclusion(np.full(M, Fraction(m, M), dtype=object), second)


@dataclass(frozen=True)
class Fixed(Participation):
    """The same clients in every round.

    >>> Fixed([0, 2]).inclusion(3).first.tolist()
    [Fraction(1, 1), Fraction(0, 1), Fraction(1, 1)]
    """

    members: tuple[int, ...]

    def __init__(self, members: Sequence[int]) -> None:
        whole = all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in members)
        if not whole or len(members) == 0 or len(set(members)) != len(members):
            raise ValueError(f"members = {list(members)}: allowed is a non-empty list of distinct clients")
        object.__setattr__(self, "members", tuple(int(i) for i in members))

    @property
    def cohort(self) -> int:
        return len(self.members)

    @property
    def deterministic(self) -> bool:
        return True

    def check(self, clients: int) -> None:
        outside = [i for i in self.members if not 0 <= i < clients]
        if outside:
            raise ValueError(f"members = {list(self.members)}: client {outside[0]} is not in 0 to {clients - 1}")

    def step(self, state: Keys, round: int) -> tuple[Tensor, Keys]:
        counts = torch.zeros(len(state.replica_ids), state.clients, dtype=torch.int8, device=state.replica_ids.device)
        counts[:, list(self.members)] = 1
        return counts, state

    def inclusion(self, clients: int) -> Inclusion:
        self.check(clients)
        first = np.array([Fraction(int(i in self.members)) for i in range(clients)], dtype=object)
        return Inclusion(first, np.outer(first, first))


def smallest(scores: Tensor, count: int) -> Tensor:
    """int8 indicator (rows, columns) of the ``count`` smallest scores of each row; ties go to the lower column."""
    order = torch.argsort(scores, dim=1, stable=True)[:, :count]
    return torch.zeros_like(scores, dtype=torch.int8).scatter_(1, order, 1)
