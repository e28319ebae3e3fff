"""Rules by which the server takes a cohort from the available clients.

Policies for groups of clients: group j has a_j clients available in a round and gets a rate r_j <= a_j, the mean number
of its clients that take part. All compute with tensors of torch, and with arrays of numpy alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..extras import is_tensor, torch
from ..federations.devices import kept_there, library
from ..participation import Keys
from ..randomness import uniforms, words
from ..selection.variance import fill
from .aggregation import Memory, check_one_each, floats

if TYPE_CHECKING:
    from torch import Tensor

ANSWERS = ("independent", "drawn")
BUDGET_AFTER = ("repeat", "last")


class Selection(ABC):
    """Policy that selects the participants of a round from the available clients.

    Attributes:
        budget: k(t), how many clients may take part in round t on average: one number, or several that take turns.
    """

    budget: tuple[Fraction, ...]
    remembers = False

    def check(self, clients: int) -> None:
        """Raise ``ValueError`` if the policy is not one for so many clients."""
        return

    def initial(self, x: Tensor) -> Memory:
        """The memory before round 0, for the iterates x (replicas, D)."""
        return {}

    @abstractmethod
    def step(self, available: Tensor, keys: Keys, round: int, memory: Memory) -> tuple[Tensor, Memory]:
        """Select the participants of a round from the ``available`` clients (replicas, clients) bool.

        Returns:
            the participants, (replicas, clients) int8, and the memory after the round.
        """

    def exact_budget(self, round: int) -> Fraction:
        """k of this round (rounds count from 0 here)."""
        return self.budget[round % len(self.budget)]

    def budget_of(self, round: int) -> float:
        """Return the ``exact_budget`` of a round in floating point."""
        return float(self.exact_budget(round))


@dataclass(frozen=True)
class UniformSelection(Selection):
    """Uniform selection of at most k(t) of the available clients.

    A k that is not whole is rounded at random, its mean kept.

    Source: FLICS, section IV-C, the baselines FedAvg and FedAdam.
    """

    budget: tuple[Fraction, ...]

    def step(self, available: Tensor, keys: Keys, round: int, memory: Memory) -> tuple[Tensor, Memory]:
        of = library(available)
        group = of.zeros(available.shape[1], dtype=of.int64, device=available.device)
        rate = of.asarray(available.sum(1)[:, None], dtype=of.float64).clip(max=self.budget_of(round))
        return of.asarray(_drawn(available, group, rate, keys, round), dtype=of.int8), {}


@dataclass(frozen=True)
class GroupSelection(Selection):
    """A policy that gives each group of clients a rate.

    Attributes:
        groups: each client's group, 0, 1, ...
        group_weight: p, one number > 0 for each group, with the sum 1.
        answers: how r_j becomes clients. "independent": each available client answers with probability r_j / a_j.
            "drawn": the server draws whole numbers of clients, uniformly: r_j rounded down or up, with mean r_j.
    """

    groups: tuple[int, ...]
    group_weight: tuple[Fraction, ...]
    budget: tuple[Fraction, ...]
    answers: str = "independent"

    def check(self, clients: int) -> None:
        """Raise ``ValueError`` unless there is one group for each client."""
        check_one_each("groups", self.groups, clients)

    def step(self, available: Tensor, keys: Keys, round: int, memory: Memory) -> tuple[Tensor, Memory]:
        groups = self._groups(available.device)
        per_group = self.sums(available)
        rates = self.rates(per_group, round, memory)
        if self.answers == "independent":
            chance = (rates / per_group.clip(1))[:, groups]
            taken = available & (_uniforms(keys, len(groups), round) < chance)
        else:
            taken = _drawn(available, groups, rates, keys, round)
        counts = library(taken).asarray(taken, dtype=library(taken).int8)
        return counts, self.after(rates, self.sums(taken), round, memory)

    def sums(self, clients: Tensor) -> Tensor:
        """Count the clients of each group, (replicas, groups) int64, where ``clients`` (replicas, clients) is true."""
        return _sums(clients, self._groups(clients.device), len(self.group_weight))

    @abstractmethod
    def rates(self, available: Tensor, round: int, memory: Memory) -> Tensor:
        """Return the rates r (replicas, groups) float64, from the numbers a (replicas, groups) of available clients."""

    def after(self, rates: Tensor, received: Tensor, round: int, memory: Memory) -> Memory:
        """Return the memory after a round with these rates and numbers of clients of each group, (replicas, groups)."""
        return {}

    @kept_there
    def _groups(self) -> np.ndarray:
        return np.array(self.groups)

    @kept_there
    def _p(self) -> np.ndarray:
        return floats(self.group_weight)


@dataclass(frozen=True)
class NaiveSelection(GroupSelection):
    """Selection with the rates r_j = min(p_j k(t), a_j).

    Source: FLICS, section IV-C, the baseline NAIVE.
    """

    def rates(self, available: Tensor, round: int, memory: Memory) -> Tensor:
        of = library(available)
        return of.minimum(self._p(available.device) * self.budget_of(round), of.asarray(available, dtype=of.float64))


@dataclass(frozen=True)
class VarSelection(GroupSelection):
    """Selection with the rates that make sum_j p_j^2 / s_j least.

    s is the participation of each group so far, this round included.

    With t = round + 1 and b = (t - 1) s^(t-1): minimise sum_j p_j^2 / (b_j + r_j) over 0 <= r_j <= a_j, sum_j r_j <= k;
    `fedtheory.selection.var` solves this. Then s^ moves, in one of several readings (see `fedtheory.selection.online`):

    - ``counts``: "planned": by the rates r(t), as display (6) says and the proofs need, for only then the weights are
      known before the answers; "received": by the clients that answered (line 7).
    - ``update``: "mean": s^(t) is the mean of rounds 1 to t (display (6)); "printed": that of rounds 2 to t, and
      ``start`` for t = 1 (line 7, with its division by zero left out); "start_counts": the start counts as one round.

    ``budget_after`` says what comes after several budgets: "repeat", they take turns, or "last", the last one stays.

    Source: FLICS, Algorithm 1, lines 1 to 7, and displays (5) and (6).
    """

    counts: str = "planned"
    update: str = "mean"
    start: Fraction = Fraction(0)
    budget_after: str = "repeat"
    remembers = True

    def exact_budget(self, round: int) -> Fraction:
        return super().exact_budget(min(round, len(self.budget) - 1) if self.budget_after == "last" else round)

    def initial(self, x: Tensor) -> Memory:
        of, shape = library(x), (len(x), len(self.group_weight))
        start = of.full(shape, float(self.start), dtype=of.float64, device=x.device)
        return {"estimate": start, "participation_sum": of.zeros_like(start)}

    def rates(self, available: Any, round: int, memory: Memory) -> Any:
        history: Any = memory["estimate"] * round
        p = np.broadcast_to([float(p) for p in self.group_weight], available.shape)
        budget = np.full(len(available), self.budget_of(round))
        if not is_tensor(available):
            return fill(p, history, available.astype(history.dtype), budget)[0]
        known = torch.stack([history, available.to(history.dtype)]).cpu().numpy()  # a device is waited for once
        rates, _ = fill(p, known[0], known[1], budget)
        return torch.from_numpy(rates).to(available.device)

    def after(self, rates: Tensor, received: Tensor, round: int, memory: Memory) -> Memory:
        counted = rates if self.counts == "planned" else library(rates).asarray(received, dtype=rates.dtype)
        if self.update == "printed" and round == 0:
            return memory
        total, rounds = memory["participation_sum"] + counted, round + 1
        if self.update == "printed":
            return {"estimate": total / round, "participation_sum": total}
        if self.update == "start_counts":
            return {"estimate": (float(self.start) + total) / (rounds + 1), "participation_sum": total}
        return {"estimate": total / rounds, "participation_sum": total}


def _sums(values: Any, groups: Any, number: int) -> Any:
    """Count the clients of each group, (replicas, groups) int64."""
    if not is_tensor(values):
        return values.astype(np.int64) @ (groups[:, None] == np.arange(number)).astype(np.int64)
    total = torch.zeros(len(values), number, dtype=torch.int64, device=values.device)
    return total.index_add_(1, groups, values.to(torch.int64))


def _uniforms(keys: Keys, number: int, round: int, *more: int) -> Tensor:
    """One uniform number for each replica and client or group, (replicas, number) float64."""
    columns = library(keys.replica_ids).arange(number, device=keys.replica_ids.device)
    return uniforms(words(keys.seed, keys.axis, keys.replica_ids[:, None], columns, round, *more))


def _drawn(available: Tensor, groups: Tensor, rates: Tensor, keys: Keys, round: int) -> Tensor:
    """Whole numbers of available clients of each group, rates (replicas, groups) on average: (replicas, clients) bool.

    They are those with the lowest of the clients' uniform numbers, all of them in (0, 1).
    """
    of = library(available)
    scores = of.where(available, _uniforms(keys, available.shape[1], round), 1.0)
    dice = _uniforms(keys, rates.shape[1], round, 0)  # one coordinate more than the scores
    number = of.floor(rates) + (dice < rates - of.floor(rates))
    chosen = of.zeros_like(available)
    for group in range(rates.shape[1]):
        own = groups == group
        rank = of.argsort(of.argsort(scores[:, own], stable=True))
        chosen[:, own] = (rank < number[:, group, None]) & available[:, own]
    return chosen
