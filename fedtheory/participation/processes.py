"""Uniform cohorts, and sets that are fixed: for ever, or phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import check_count, listed
from ..extras import torch
from ..randomness import finalized, in_memory, refined, words
from .base import Inclusion, Keys, Participation

if TYPE_CHECKING:
    from torch import Tensor

LARGEST_COUNT = 127
"""The largest count of draws, since counts are int8."""


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
        """Whether the participants are fixed; they are counted as random."""
        return False

    def check(self, clients: int) -> None:
        check_count("cohort", self.cohort)
        if self.replacement and not 1 <= self.cohort <= LARGEST_COUNT:
            raise ValueError(f"cohort = {self.cohort}: with replacement allowed is 1 to {LARGEST_COUNT}")
        if not self.replacement and not 1 <= self.cohort <= clients:
            raise ValueError(f"cohort = {self.cohort}: allowed is 1 to clients = {clients}")

    def step(self, state: Keys, round: int) -> tuple[Tensor, Keys]:
        return self.steps(state, round, 1)[0][0], state

    def steps(self, state: Keys, first: int, rounds: int) -> tuple[Tensor, Keys]:
        replicas = state.replica_ids[:, None]
        if not self.replacement and self.cohort == state.clients:
            shape = rounds, len(replicas), state.clients
            return torch.ones(shape, dtype=torch.int8, device=replicas.device), state
        columns = torch.arange(self.cohort if self.replacement else state.clients, device=replicas.device)
        numbers = torch.arange(first, first + rounds, device=replicas.device)
        prefixes = words(state.seed, state.axis, replicas, columns)
        if not self.replacement:
            return _cohorts(prefixes, numbers, self.cohort), state
        drawn = refined(prefixes, numbers[:, None, None])
        drawn = drawn.remainder_(state.clients)  # with a bias below clients / 2^63
        counts = torch.zeros(rounds, len(replicas), state.clients, dtype=torch.int8, device=replicas.device)
        return counts.scatter_add_(2, drawn, torch.ones_like(drawn, dtype=torch.int8)), state

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
    """Fixed participation: one set of clients takes part in every round.

    >>> Fixed([0, 2]).inclusion(3).first.tolist()
    [Fraction(1, 1), Fraction(0, 1), Fraction(1, 1)]
    """

    members: tuple[int, ...]

    def __init__(self, members: Sequence[int]) -> None:
        members = listed("members", members, "a list of clients, such as [0, 1]")
        whole = all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in set(map(type, members)))
        if not whole or len(members) == 0 or len(set(members)) != len(members):
            raise ValueError(f"members = {list(members)}: allowed is a non-empty list of distinct clients")
        object.__setattr__(self, "members", tuple(map(int, members)))

    @property
    def cohort(self) -> int:
        """The number of clients in the set."""
        return len(self.members)

    @property
    def deterministic(self) -> bool:
        """Whether the participants are fixed; they always are."""
        return True

    @cached_property
    def _ends(self) -> tuple[int, int]:
        return min(self.members), max(self.members)

    def check(self, clients: int) -> None:
        first, last = self._ends
        if first < 0 or last >= clients:
            _check_members(self.members, clients)

    def step(self, state: Keys, round: int) -> tuple[Tensor, Keys]:
        counts = torch.zeros(len(state.replica_ids), state.clients, dtype=torch.int8, device=state.replica_ids.device)
        counts[:, list(self.members)] = 1
        return counts, state

    def inclusion(self, clients: int) -> Inclusion:
        self.check(clients)
        first = np.array([Fraction(int(i in self.members)) for i in range(clients)], dtype=object)
        return Inclusion(first, np.outer(first, first))


@dataclass(frozen=True)
class Phases(Participation):
    """A fixed set of clients for some rounds, then another, and so on: for ever the last one, or in a cycle.

    Args:
        sets: the clients of each phase, all of one size.
        lengths: rounds of each phase; unless ``cyclic``, the last phase has no end and its length is not used.
        cyclic: whether the first phase follows the last.

    Raises:
        ValueError: no phase, sets of different sizes or with repeated clients, or a length below 1.

    >>> Phases([[0], [1]], [3, 1]).phase(np.arange(5)).tolist()
    [0, 0, 0, 1, 1]
    >>> Phases([[0], [1]], [3, 1], cyclic=True).phase(np.arange(5)).tolist()
    [0, 0, 0, 1, 0]
    """

    sets: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]
    cyclic: bool = False

    def __init__(self, sets: Sequence[Sequence[int]], lengths: Sequence[int], cyclic: bool = False) -> None:
        members = tuple(Fixed(members).members for members in listed("sets", sets))
        lengths = listed("lengths", lengths)
        if len({len(m) for m in members}) != 1:
            raise ValueError(f"sets = {[list(m) for m in members]}: allowed are one or more, all of one size")
        if len(lengths) != len(members) or not all(isinstance(n, (int, np.integer)) and n >= 1 for n in lengths):
            raise ValueError(f"lengths = {list(lengths)}: allowed are {len(members)} integers >= 1, one for each set")
        object.__setattr__(self, "sets", members)
        object.__setattr__(self, "lengths", tuple(int(n) for n in lengths))
        object.__setattr__(self, "cyclic", bool(cyclic))

    @property
    def cohort(self) -> int:
        """The number of clients in the first set."""
        return len(self.sets[0])

    @property
    def deterministic(self) -> bool:
        """Whether the participants are fixed; they always are."""
        return True

    def phase(self, rounds: np.ndarray) -> np.ndarray:
        """The index of the phase of each of ``rounds``."""
        rounds = np.asarray(rounds)
        ends = np.cumsum(self.lengths)
        if self.cyclic:
            rounds = rounds % ends[-1]
        return np.minimum(np.searchsorted(ends, rounds, side="right"), len(self.sets) - 1)

    def check(self, clients: int) -> None:
        for members in self.sets:
            _check_members(members, clients)

    def step(self, state: Keys, round: int) -> tuple[Tensor, Keys]:
        return Fixed(self.sets[int(self.phase(np.array(round)))]).step(state, round)

    def inclusion(self, clients: int) -> Inclusion:
        """Compute the moments of one phase; with several phases they differ between rounds.

        Raises:
            ValueError: there are several phases.
        """
        if len(self.sets) > 1:
            raise ValueError(f"sets = {[list(m) for m in self.sets]}: the moments of a round differ between phases")
        return Fixed(self.sets[0]).inclusion(clients)

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        members = self.sets[int(self.phase(np.array(round)))]
        return np.array([Fraction(int(i in members)) for i in range(clients)], dtype=object)

    def marginal(self, clients: int, round: int) -> Inclusion:
        self.check(clients)
        return Fixed(self.sets[int(self.phase(np.array(round)))]).inclusion(clients)


def _check_members(members: tuple[int, ...], clients: int) -> None:
    """Raise ``ValueError`` if one of them is none of so many clients."""
    if min(members) < 0 or max(members) >= clients:
        outside = [i for i in members if not 0 <= i < clients]
        raise ValueError(f"members = {list(members)}: client {outside[0]} is not in 0 to {clients - 1}")


def smallest(scores: Tensor, count: int) -> Tensor:
    """Return the int8 indicator (..., columns) of the ``count`` smallest scores of each row; ties go to the lower
    column."""
    order = torch.argsort(scores, dim=-1, stable=True)[..., :count]
    return torch.zeros_like(scores, dtype=torch.int8).scatter_(-1, order, 1)


def _cohorts(prefixes: Tensor, rounds: Tensor, count: int) -> Tensor:
    """int8 indicator (rounds, replicas, clients) of the ``count`` < clients of whom ``refined`` words are the smallest.
    That two of them are equal does not come up, since they are hashed from different clients by functions that have an
    inverse."""
    if in_memory(prefixes):
        from ..loops.uniform_cohorts import draw_cohorts

        counts = torch.empty(len(rounds), *prefixes.shape, dtype=torch.int8)
        draw_cohorts(prefixes.numpy().view(np.uint64), finalized(rounds), count, counts.numpy())
        return counts
    drawn = refined(prefixes, rounds[:, None, None])
    least = drawn.topk(count, dim=-1, largest=False, sorted=False).indices
    return torch.zeros_like(drawn, dtype=torch.int8).scatter_(-1, least, 1)
