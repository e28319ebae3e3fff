"""Incomplete participation: some clients never take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import check_count, check_kind, listed
from ..extras import torch
from .base import Inclusion, Keys, Participation

if TYPE_CHECKING:
    from torch import Tensor


class IncompleteState(NamedTuple):
    """The state of the process on those who may take part, their numbers, and how many clients there are."""

    inner: Any
    present: Tensor
    clients: int


@dataclass(frozen=True)
class Incomplete(Participation):
    """``process`` runs on all clients but the ``absent`` ones, who never take part.

    The others are numbered 0, 1, ... in their order for the process. SAFARI's experiments have 10 clients, of whom
    s = 0, 2 or 4 are excluded and 5 drawn uniformly from the rest: ``Incomplete(Uniform(5), absent)``. Which clients
    are excluded the paper does not say; here they are given.

    Args:
        process: who takes part among the others.
        absent: clients, distinct; may be empty.

    Raises:
        ValueError: clients below 0 or repeated; in `check`, one that is not there, nobody left, or a process that
            cannot run on those left.

    Source: SAFARI, section 5 and its appendix on experiments.

    >>> from fedtheory.participation import Uniform
    >>> Incomplete(Uniform(1), absent=[0]).inclusion(3).first.tolist()
    [Fraction(0, 1), Fraction(1, 2), Fraction(1, 2)]
    """

    process: Participation
    absent: Sequence[int]

    def __post_init__(self) -> None:
        check_kind("process", self.process, Participation, "a Participation")
        given = listed("absent", self.absent)
        absent = tuple(check_count(f"absent[{i}]", client, least=0) for i, client in enumerate(given))
        if len(set(absent)) != len(absent):
            raise ValueError(f"absent = {list(absent)}: allowed are distinct clients")
        object.__setattr__(self, "absent", absent)

    @property
    def cohort(self) -> int:
        """The size of a cohort, that of the process."""
        return self.process.cohort

    @property
    def deterministic(self) -> bool:
        """Whether the process is deterministic."""
        return self.process.deterministic

    @property
    def independent_rounds(self) -> bool:
        return self.process.independent_rounds

    def check(self, clients: int) -> None:
        outside = [i for i in self.absent if i >= clients]
        if outside:
            raise ValueError(f"absent = {list(self.absent)}: client {outside[0]} is not in 0 to {clients - 1}")
        if len(self.absent) == clients:
            raise ValueError(f"absent = {list(self.absent)}: allowed are fewer than all {clients} clients")
        self.process.check(clients - len(self.absent))

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        return self.process.sizes(clients - len(self.absent))

    def init(self, keys: Keys) -> IncompleteState:
        self.check(keys.clients)
        present = torch.tensor(self._present(keys.clients), device=keys.replica_ids.device)
        return IncompleteState(self.process.init(replace(keys, clients=len(present))), present, keys.clients)

    def step(self, state: IncompleteState, round: int) -> tuple[Tensor, IncompleteState]:
        drawn, inner = self.process.step(state.inner, round)
        counts = torch.zeros(len(drawn), state.clients, dtype=torch.int8, device=drawn.device)
        counts[:, state.present] = drawn
        return counts, state._replace(inner=inner)

    def inclusion(self, clients: int) -> Inclusion:
        self.check(clients)
        return self._embedded(self.process.inclusion(clients - len(self.absent)))

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        return self._spread(self.process.expected(clients - len(self.absent), round))

    def stationary(self, clients: int) -> np.ndarray:
        self.check(clients)
        return self._spread(self.process.stationary(clients - len(self.absent)))

    def marginal(self, clients: int, round: int) -> Inclusion:
        self.check(clients)
        return self._embedded(self.process.marginal(clients - len(self.absent), round))

    def _present(self, clients: int) -> list[int]:
        absent = set(self.absent)
        return [i for i in range(clients) if i not in absent]

    def _embedded(self, inner: Inclusion) -> Inclusion:
        return Inclusion(self._spread(inner.first), self._spread(self._spread(inner.second).T).T)

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """``values`` (those present, ...), with zeros for the absent, (clients, ...)."""
        zero = Fraction(0) if values.dtype == object else 0.0
        everyone = np.full((len(values) + len(self.absent), *values.shape[1:]), zero)
        everyone[self._present(len(everyone))] = values
        return everyone
