"""Independent draws with unequal probabilities, with replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from ..extras import torch
from ..randomness import uniforms, words
from .base import Inclusion, Keys, Participation
from .probabilities import check_probabilities
from .processes import LARGEST_COUNT

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Multinomial(Participation):
    """``cohort`` independent draws a round, each of client i with probability p_i; who is drawn twice counts twice:

        E[N_i] = S p_i,    E[N_i N_j] = S (S - 1) p_i p_j, plus S p_i if i = j.

    Args:
        cohort: S. probabilities: p, one for each client, with the sum 1.

    Raises:
        ValueError: a number out of bounds.

    Source: Li et al., "On the Convergence of FedAvg on Non-IID Data" (2020), scheme I.

    >>> Multinomial(2, ["3/4", "1/4"]).inclusion(2).second.tolist()
    [[Fraction(21, 8), Fraction(3, 8)], [Fraction(3, 8), Fraction(5, 8)]]
    """

    cohort: int
    probabilities: Sequence[Fraction]

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", check_probabilities("probabilities", self.probabilities))
        if sum(self.probabilities) != 1:
            raise ValueError(f"probabilities add up to {sum(self.probabilities)}: allowed is 1")
        if not (isinstance(self.cohort, Integral) and 1 <= self.cohort <= LARGEST_COUNT):
            raise ValueError(f"cohort = {self.cohort}: with replacement allowed is 1 to {LARGEST_COUNT}")

    @property
    def deterministic(self) -> bool:
        """Whether one client has probability 1."""
        return max(self.probabilities) == 1

    def check(self, clients: int) -> None:
        if len(self.probabilities) != clients:
            given = len(self.probabilities)
            raise ValueError(f"probabilities: there are {given}, allowed is one for each of {clients} clients")

    def step(self, state: Keys, round: int) -> tuple[Tensor, Keys]:
        replicas, device = state.replica_ids[:, None], state.replica_ids.device
        dice = uniforms(words(state.seed, state.axis, replicas, torch.arange(self.cohort, device=device), round))
        drawable = [i for i, p in enumerate(self.probabilities) if p > 0]
        below = np.cumsum([float(self.probabilities[i]) for i in drawable])[:-1]
        places = torch.bucketize(dice, torch.tensor(below, dtype=dice.dtype, device=device), right=True)
        drawn = torch.tensor(drawable, device=device)[places]
        counts = torch.zeros(len(replicas), state.clients, dtype=torch.int8, device=device)
        return counts.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.int8)), state

    def inclusion(self, clients: int) -> Inclusion:
        self.check(clients)
        p, S = np.array(self.probabilities, dtype=object), self.cohort
        return Inclusion(S * p, S * (S - 1) * np.outer(p, p) + np.diag(S * p))
