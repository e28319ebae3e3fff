"""Rounds of several kinds, drawn one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import check_clients, check_kind, listed
from ..extras import torch
from ..randomness import uniforms, words
from .base import AnySize, Inclusion, Keys, Participation
from .group_chain import GroupChain
from .incomplete import Incomplete
from .probabilities import check_probabilities
from .resampled import Resampled

if TYPE_CHECKING:
    from torch import Tensor


class MixtureState(NamedTuple):
    """A process's keys, and the states of its parts."""

    keys: Keys
    parts: tuple


@dataclass(frozen=True)
class Mixture(AnySize):
    """Mixture of processes: in every round one of them brings the participants.

    It is drawn with these probabilities, independently of everything else. Clients depend on each other through the
    process that is drawn.

    Args:
        processes: each with independent rounds of one law.
        probabilities: one for each, with the sum 1.

    Raises:
        ValueError: probabilities out of bounds, not one a process or not of the sum 1; or rounds that depend on each
            other.

    >>> from fedtheory.participation import Fixed
    >>> Mixture([Fixed([0]), Fixed([1])], ["1/4", "3/4"]).inclusion(2).second.tolist()
    [[Fraction(1, 4), Fraction(0, 1)], [Fraction(0, 1), Fraction(3, 4)]]
    """

    processes: Sequence[Participation]
    probabilities: Sequence[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "processes", listed("processes", self.processes))
        for i, process in enumerate(self.processes):
            check_kind(f"processes[{i}]", process, Participation, "a Participation")
        object.__setattr__(self, "probabilities", check_probabilities("probabilities", self.probabilities))
        check_clients("probabilities", len(self.probabilities), len(self.processes))
        if sum(self.probabilities) != 1:
            raise ValueError(f"probabilities: they sum to {sum(self.probabilities)}, allowed is a sum of 1")
        for process in self.processes:
            if not process.independent_rounds:
                raise ValueError(f"processes: {process}: allowed are independent rounds")

    @property
    def deterministic(self) -> bool:
        """Whether there is one process only, a deterministic one."""
        return len(self.processes) == 1 and self.processes[0].deterministic

    def check(self, clients: int) -> None:
        for process in self.processes:
            process.inclusion(clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        fewest, most = zip(*(process.sizes(clients) for process in self.processes), strict=True)
        return min(fewest), max(most)

    @cached_property
    def _apart(self) -> tuple[int, ...]:
        """A coordinate that tells the die from those of parts that throw one for the whole round too; none without any.

        Other processes draw for clients, of whom the numbers are one coordinate more.
        """
        inside = [each for process in self.processes for each in _inside(process)]
        return (-len(inside),) if any(isinstance(each, (Mixture, GroupChain, Resampled)) for each in inside) else ()

    def init(self, keys: Keys) -> MixtureState:
        self.check(keys.clients)
        return MixtureState(keys, tuple(process.init(keys) for process in self.processes))

    def step(self, state: MixtureState, round: int) -> tuple[Tensor, MixtureState]:
        keys = state.keys
        dice = uniforms(words(keys.seed, keys.axis, keys.replica_ids, round, *self._apart))
        ends = torch.tensor(np.cumsum([float(p) for p in self.probabilities])[:-1], device=dice.device)
        chosen = torch.searchsorted(ends.to(dice.dtype), dice, right=True)
        drawn, parts = zip(*(p.step(s, round) for p, s in zip(self.processes, state.parts, strict=True)), strict=True)
        counts = torch.stack(drawn)[chosen, torch.arange(len(chosen), device=chosen.device)]
        return counts, MixtureState(keys, parts)

    def inclusion(self, clients: int) -> Inclusion:
        found = [process.inclusion(clients) for process in self.processes]
        pairs = list(zip(self.probabilities, found, strict=True))
        return Inclusion(
            np.sum([p * part.first for p, part in pairs], axis=0),
            np.sum([p * part.second for p, part in pairs], axis=0),
        )


def _inside(process: Participation) -> Iterator[Participation]:
    """A process and those within it."""
    yield process
    within = process.processes if isinstance(process, Mixture) else ()
    for each in (process.process,) if isinstance(process, Incomplete) else within:
        yield from _inside(each)
