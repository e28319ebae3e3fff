"""Groups of clients of whom a random number is available: FLICS's availability processes, client by client."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arguments import check_clients, check_count, check_option, is_real, listed
from ..extras import torch
from ..randomness import uniforms, words
from ..selection.availability import PoissonAvailability, UniformAvailability
from .base import AnySize, Inclusion, Keys

if TYPE_CHECKING:
    from torch import Tensor

PHASES = ("night", "day")


class GroupState(NamedTuple):
    """A process's keys, its clients' groups (clients,) int64, and each phase's cumulated law (groups, largest size)."""

    keys: Keys
    groups: Tensor
    cumulated: tuple[Tensor, ...]


class GroupAvailability(AnySize):
    """Group-wise availability: in every round a random number A_k of the clients of group k is there.

    They are chosen uniformly among its size_k clients. The A_k are independent between groups and rounds, with P(A_k =
    a), a = 0, ..., size_k, as a subclass says. So

        E[N_i] = E[A_k] / size_k,    E[N_i N_j] = E[A_k (A_k - 1)] / (size_k (size_k - 1)) for i != j in group k,

    and clients of different groups are independent. ``groups`` gives each client's group, 0 to groups - 1, each with at
    least one client.
    """

    groups: Sequence[int]

    @abstractmethod
    def chances(self, phase: int) -> np.ndarray:
        """Return P(A_k = a), (groups, largest size + 1), in the rounds of this phase; rows sum to 1."""

    def phase(self, round: int) -> int:
        """Return the number of the phase to which a round belongs; each phase has a law of its own."""
        return 0

    @property
    def phases(self) -> int:
        """The number of phases."""
        return 1

    @property
    def deterministic(self) -> bool:
        """Whether the participants are fixed; they never are."""
        return False

    @property
    def group_sizes(self) -> np.ndarray:
        """The number of clients of each group, (groups,) int64."""
        return np.bincount(self.groups)

    def check(self, clients: int) -> None:
        check_clients("groups", len(self.groups), clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        possible = [self.chances(phase) > 0 for phase in range(self.phases)]
        fewest = min(int(p.argmax(axis=1).sum()) for p in possible)
        most = max(int((p.shape[1] - 1 - p[:, ::-1].argmax(axis=1)).sum()) for p in possible)
        return fewest, most

    def init(self, keys: Keys) -> GroupState:
        self.check(keys.clients)
        device = keys.replica_ids.device
        cumulated = tuple(torch.from_numpy(_cumulated(self.chances(p))).to(device) for p in range(self.phases))
        return GroupState(keys, torch.tensor(self.groups, device=device), cumulated)

    def available(self, state: GroupState, round: int) -> Tensor:
        """Draw A_k, (replicas, groups) int64: how many clients of each group are there."""
        keys, cumulated = state.keys, state.cumulated[self.phase(round)]
        groups = torch.arange(len(cumulated), device=cumulated.device)
        # One coordinate more than the draws that choose the clients.
        uniform = uniforms(words(keys.seed, keys.axis, keys.replica_ids[:, None], groups, round, 0))
        return torch.searchsorted(cumulated, uniform.T.contiguous(), right=True).T

    def step(self, state: GroupState, round: int) -> tuple[Tensor, GroupState]:
        keys = state.keys
        available = self.available(state, round)
        clients = torch.arange(keys.clients, device=state.groups.device)
        scores = words(keys.seed, keys.axis, keys.replica_ids[:, None], clients, round)
        return smallest_of_groups(scores, state.groups, available), state

    def inclusion(self, clients: int) -> Inclusion:
        """Compute the moments in floats, of errors of the order of 1e-15.

        Raises:
            ValueError: rounds differ in their law (day and night); see `marginal`.
        """
        self.check(clients)
        if self.phases > 1:
            raise ValueError(f"participation = {type(self).__name__}: its rounds differ in law; see marginal")
        return self.marginal(clients, 0)

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        chances = self.chances(self.phase(round))
        return (chances @ np.arange(chances.shape[1]) / self.group_sizes)[list(self.groups)]

    def marginal(self, clients: int, round: int) -> Inclusion:
        first = self.expected(clients, round)
        chances, sizes, groups = self.chances(self.phase(round)), self.group_sizes, np.array(self.groups)
        number = np.arange(chances.shape[1])
        pairs = chances @ (number * (number - 1.0))
        second = np.outer(first, first)
        joint = pairs / np.maximum(sizes * (sizes - 1.0), 1.0)  # a group of one client has no pairs
        same = groups[:, None] == groups
        second[same] = np.broadcast_to(joint[groups][:, None], same.shape)[same]
        np.fill_diagonal(second, first)
        return Inclusion(first, second)


@dataclass(frozen=True)
class UniformGroups(GroupAvailability):
    """Group-wise availability with A_k uniform on the whole numbers lowest_k, ..., highest_k.

    Source: FLICS, section IV-B, process 1, uniform over an interval; that its integers are meant is our
    reading.

    Raises:
        ValueError: groups that are not numbered 0, 1, ...; bounds that are no integers with
            0 <= lowest_k <= highest_k <= size_k, or not one a group.

    >>> UniformGroups([0, 0, 0, 1], lowest=[1, 0], highest=[2, 1]).inclusion(4).first.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    groups: Sequence[int]
    lowest: Sequence[int]
    highest: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", check_groups(self.groups))
        for name in ("lowest", "highest"):
            values = _one_each(name, getattr(self, name), self.group_sizes)
            counts = tuple(check_count(f"{name}[{k}]", v, least=0) for k, v in enumerate(values))
            object.__setattr__(self, name, counts)
        for k, (low, high, size) in enumerate(zip(self.lowest, self.highest, self.group_sizes, strict=True)):
            if not low <= high <= size:
                raise ValueError(
                    f"lowest[{k}] = {low}, highest[{k}] = {high}: "
                    f"allowed is lowest <= highest <= {size}, the group's size"
                )

    def chances(self, phase: int) -> np.ndarray:
        return UniformAvailability(self.lowest, self.highest).chances(self.group_sizes)


@dataclass(frozen=True)
class PoissonGroups(GroupAvailability):
    """Group-wise availability with A_k Poisson of mean rate_k, but at most the group's size.

    So P(A_k = size_k) = P(Poisson(rate_k) >= size_k).

    The paper's A_k has no cap; a group of known size needs one. E[A_k] falls short of rate_k by what the cap takes.

    Source: FLICS, section IV-B, process 2.

    Raises:
        ValueError: groups that are not numbered 0, 1, ..., or not one finite rate >= 0 a group.

    >>> PoissonGroups([0, 0], rates=[1.0]).chances(0).round(6).tolist()  # e^-1, e^-1, 1 - 2 e^-1
    [[0.367879, 0.367879, 0.264241]]
    """

    groups: Sequence[int]
    rates: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", check_groups(self.groups))
        object.__setattr__(self, "rates", _rates("rates", self.rates, self.group_sizes))

    def chances(self, phase: int) -> np.ndarray:
        return PoissonAvailability(self.rates).chances(self.group_sizes)


@dataclass(frozen=True)
class DayNightGroups(GroupAvailability):
    """Availability as in `PoissonGroups`, with the rates ``day`` and ``night`` in turn.

    The paper has day in its even rounds t = 2, 4, ... and counts from t = 1. Readings of where a run begins:

    - ``first="night"`` (the paper's): round 0 here is its t = 1.
    - ``first="day"``: the rounds here that are even are day.

    Source: FLICS, section IV-B, process 3.

    Raises:
        ValueError: as `PoissonGroups`, or another ``first``.

    >>> DayNightGroups([0], day=[0.0], night=[1000.0]).marginal(1, round=0).first.tolist()
    [1.0]
    """

    groups: Sequence[int]
    day: Sequence[float]
    night: Sequence[float]
    first: str = "night"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", check_groups(self.groups))
        for name in ("day", "night"):
            object.__setattr__(self, name, _rates(name, getattr(self, name), self.group_sizes))
        check_option("first", self.first, PHASES)

    @property
    def phases(self) -> int:
        """The number of phases, 2: day and night."""
        return 2

    def phase(self, round: int) -> int:
        return (round + PHASES.index(self.first)) % 2

    def chances(self, phase: int) -> np.ndarray:
        return PoissonAvailability(getattr(self, PHASES[phase])).chances(self.group_sizes)


def smallest_of_groups(scores: Tensor, groups: Tensor, available: Tensor) -> Tensor:
    """Return the int8 indicator (rows, clients) of the ``available[row, k]`` smallest scores of each group k."""
    # One sort: the group in the leading bits, then as many of the score's as are left (and the sign bit 0).
    bits = available.shape[1].bit_length()
    within = (scores >> (bits + 1)) & ((1 << (63 - bits)) - 1)
    by_group = torch.argsort((groups << (63 - bits)) | within, dim=1, stable=True)
    sizes = torch.bincount(groups, minlength=available.shape[1])
    rank = torch.arange(len(groups), device=groups.device) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
    chosen = rank < available.repeat_interleave(sizes, dim=1)
    return torch.zeros_like(scores, dtype=torch.int8).scatter_(1, by_group, chosen.to(torch.int8))


def _cumulated(chances: np.ndarray) -> np.ndarray:
    """P(A_k <= a), a = 0, ..., largest size - 1; exactly 1 from the last possible a on, whatever rounding does."""
    possible_later = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1][:, 1:] > 0
    return np.where(possible_later, np.cumsum(chances, axis=1)[:, :-1], 1.0)


def check_groups(groups: Sequence[int]) -> tuple[int, ...]:
    """Return the groups as integers.

    Raises:
        ValueError: they are not 0, 1, ... with clients each.
    """
    numbers = tuple(check_count(f"groups[{i}]", g, least=0) for i, g in enumerate(listed("groups", groups)))
    known = set(numbers)
    missing = next(k for k in range(len(known) + 1) if k not in known)
    if missing <= max(numbers, default=0):
        raise ValueError(f"groups: no client is in group {missing}; allowed are 0, 1, ... with clients each")
    return numbers


def _one_each(name: str, values: Sequence[float], sizes: np.ndarray) -> Sequence[float]:
    values = listed(name, values)
    if len(values) != len(sizes):
        raise ValueError(f"{name}: there are {len(values)}, allowed is one for each of {len(sizes)} groups")
    return values


def _rates(name: str, values: Sequence[float], sizes: np.ndarray) -> tuple[float, ...]:
    rates = _one_each(name, values, sizes)
    for k, rate in enumerate(rates):
        if not (is_real(rate) and isfinite(rate) and rate >= 0):
            raise ValueError(
                f"{name}[{k}] = {float(rate) if is_real(rate) else repr(rate)}: allowed is a finite number >= 0"
            )
    return tuple(map(float, rates))
