"""Numbers of clients that each group has there, as a finite Markov chain.

Independent rounds are the special case of equal rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import check_clients, check_count, listed
from ..extras import torch
from ..randomness import uniforms, words
from .base import AnySize, Inclusion, Keys
from .groups import check_groups, smallest_of_groups
from .probabilities import check_probabilities

if TYPE_CHECKING:
    from torch import Tensor

Law = tuple[Fraction, ...]


class GroupChainState(NamedTuple):
    """Data of a step of the chain.

    They are the clients' groups (clients,), the counts (states, groups), the cumulated initial law and rows, and the
    round last drawn with the replicas' states in it, if any.
    """

    keys: Keys
    groups: Tensor
    counts: Tensor
    initial: Tensor
    rows: Tensor
    round: int
    here: Tensor | None


@dataclass(frozen=True)
class GroupChain(AnySize):
    """Markov chain of how many clients each group has there.

    In a round that is in state z, ``counts[z][k]`` clients of group k are there, chosen uniformly among the group's.
    The state of round 0 has the law ``initial``, and P(next is z' | now z) = ``transitions[z][z']``.

    The chain is *stationary* where ``initial`` P = ``initial``, and *irreducible* where every state is reached from
    every other. Where it is both it is ergodic, also if it is periodic: means over rounds converge to those of
    ``initial``.

    Args:
        groups: each client's group, 0, 1, ...
        counts: (states, groups), whole numbers.
        initial: (states,), with sum 1.
        transitions: (states, states), rows with sum 1; ``None`` for rows that are ``initial``: independent rounds.

    Raises:
        ValueError: groups that are not numbered 0, 1, ...; counts beyond a group's clients; probabilities out of
            bounds.

    >>> coin = GroupChain([0, 0, 0, 1, 1, 1], [[1, 3], [3, 1]], ["1/2", "1/2"])
    >>> coin.is_stationary, coin.is_irreducible, coin.independent_rounds, coin.expected(6, round=5)[0]
    (True, True, True, Fraction(2, 3))
    >>> GroupChain([0], [[0], [1]], [1, 0], [[0, 1], [1, 0]]).is_stationary  # it alternates, from a state that is known
    False
    """

    groups: Sequence[int]
    counts: Sequence[Sequence[int]]
    initial: Sequence[Any]
    transitions: Sequence[Sequence[Any]] | None = None

    def __post_init__(self) -> None:
        groups = check_groups(self.groups)
        sizes = np.bincount(groups)
        counts = tuple(
            tuple(check_count(f"counts[{z}]", n, least=0) for n in listed(f"counts[{z}]", row))
            for z, row in enumerate(listed("counts", self.counts))
        )
        for z, row in enumerate(counts):
            if len(row) != len(sizes) or any(n > size for n, size in zip(row, sizes, strict=True)):
                raise ValueError(f"counts[{z}] = {list(row)}: allowed are at most {sizes.tolist()}, one a group")
        initial = _law("initial", self.initial, len(counts))
        rows = (
            (initial,) * len(counts)
            if self.transitions is None
            else tuple(_law(f"transitions[{z}]", row, len(counts)) for z, row in enumerate(self.transitions))
        )
        if len(rows) != len(counts):
            raise ValueError(f"transitions has {len(rows)} rows: allowed is one for each of {len(counts)} states")
        for name, value in {"groups": groups, "counts": counts, "initial": initial, "transitions": rows}.items():
            object.__setattr__(self, name, value)

    @property
    def rows(self) -> tuple[Law, ...]:
        """The matrix P(next is z' | now z), (states, states)."""
        assert self.transitions is not None
        return tuple(map(tuple, self.transitions))

    @property
    def law(self) -> Law:
        """The law of the state in round 0, (states,)."""
        return tuple(self.initial)

    @property
    def deterministic(self) -> bool:
        """Whether every probability is 0 or 1."""
        return all(p in (0, 1) for row in (self.law, *self.rows) for p in row)

    @property
    def independent_rounds(self) -> bool:  # type: ignore[override]
        return all(row == self.law for row in self.rows)

    @cached_property
    def is_stationary(self) -> bool:
        """Whether round 1 has the law of round 0, and so every round."""
        return self._after(self.law) == self.law

    @cached_property
    def is_irreducible(self) -> bool:
        """Whether every state is reached from every state."""
        return all(len(self._reached(z)) == len(self.counts) for z in range(len(self.counts)))

    def _after(self, law: Law) -> Law:
        columns = zip(*self.rows, strict=True)
        return tuple(sum((p * q for p, q in zip(law, column, strict=True)), Fraction(0)) for column in columns)

    def _reached(self, first: int) -> set[int]:
        found, left = {first}, [first]
        while left:
            row = self.rows[left.pop()]
            new = {z for z, p in enumerate(row) if p > 0} - found
            found |= new
            left.extend(new)
        return found

    def law_of(self, round: int) -> Law:
        """Return the law of the state in a round, (states,)."""
        law = self.law
        for _ in range(0 if self.is_stationary else round):
            law = self._after(law)
        return law

    @property
    def group_sizes(self) -> tuple[int, ...]:
        """The number of clients of each group."""
        return tuple(np.bincount(self.groups).tolist())

    def check(self, clients: int) -> None:
        check_clients("groups", len(self.groups), clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        possible = {z for first, p in enumerate(self.law) if p > 0 for z in self._reached(first)}
        totals = [sum(self.counts[z]) for z in possible]
        return min(totals), max(totals)

    # Draws ------------------------------------------------------------------------------------------------------------

    def init(self, keys: Keys) -> GroupChainState:
        self.check(keys.clients)
        device = keys.replica_ids.device
        laws = np.cumsum(np.array([self.law, *self.rows], dtype=object), axis=1)[:, :-1].astype(float)
        cumulated = torch.tensor(laws, dtype=torch.float64, device=device).reshape(len(laws), -1)
        return GroupChainState(
            keys,
            torch.tensor(self.groups, device=device),
            torch.tensor(self.counts, device=device),
            cumulated[0],
            cumulated[1:],
            -1,
            None,
        )

    def step(self, state: GroupChainState, round: int) -> tuple[Tensor, GroupChainState]:
        keys, here = state.keys, self._state_in(state, round)
        clients = torch.arange(keys.clients, device=state.groups.device)
        scores = words(keys.seed, keys.axis, keys.replica_ids[:, None], clients, round)
        return smallest_of_groups(scores, state.groups, state.counts[here]), state._replace(round=round, here=here)

    def _state_in(self, state: GroupChainState, round: int) -> Tensor:
        """(replicas,): from the round last drawn on, or from round 0 where that is later."""
        first, here = (state.round + 1, state.here) if 0 <= state.round < round else (0, None)
        if self.independent_rounds:
            first, here = round, None
        for r in range(first, round + 1):
            # Fewer coordinates than the draws that choose the clients.
            dice = uniforms(words(state.keys.seed, state.keys.axis, state.keys.replica_ids, r)).to(torch.float64)
            ends = state.initial.expand(len(dice), -1) if here is None else state.rows[here]
            here = torch.searchsorted(ends.contiguous(), dice[:, None].contiguous(), right=True)[:, 0]
        assert here is not None
        return here

    # Moments ----------------------------------------------------------------------------------------------------------

    def inclusion(self, clients: int) -> Inclusion:
        """Compute the exact moments of a round.

        Raises:
            ValueError: rounds depend on each other, or differ in law; see `marginal`.
        """
        self.check(clients)
        if not self.independent_rounds:
            raise ValueError("participation = GroupChain: its rounds depend on each other; see marginal")
        return self.marginal(clients, 0)

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        law, sizes = self.law_of(round), self.group_sizes
        means = [
            sum(p * row[k] for p, row in zip(law, self.counts, strict=True)) / Fraction(size)
            for k, size in enumerate(sizes)
        ]
        return np.array([means[k] for k in self.groups], dtype=object)

    def stationary(self, clients: int) -> np.ndarray:
        if not self.is_stationary:
            raise ValueError("participation = GroupChain: its rounds differ in law; see expected")
        return self.expected(clients, 0)

    def marginal(self, clients: int, round: int) -> Inclusion:
        first, law, sizes = self.expected(clients, round), self.law_of(round), self.group_sizes

        def both(j: int, k: int) -> Fraction:
            """P(a client of group j and another one of group k are there)."""
            pairs = sizes[j] * (sizes[k] - (j == k))
            total = sum(p * row[j] * (row[k] - (j == k)) for p, row in zip(law, self.counts, strict=True))
            return Fraction(total) / pairs if pairs else Fraction(0)

        table = [[both(j, k) for k in range(len(sizes))] for j in range(len(sizes))]
        second = np.array([[table[j][k] for k in self.groups] for j in self.groups], dtype=object)
        np.fill_diagonal(second, first)
        return Inclusion(first, second)


def _law(name: str, values: Sequence[Any], states: int) -> Law:
    law = check_probabilities(name, values)
    if len(law) != states or sum(law) != 1:
        raise ValueError(f"{name} has {len(law)} entries of sum {sum(law)}: allowed are {states}, of sum 1")
    return law
