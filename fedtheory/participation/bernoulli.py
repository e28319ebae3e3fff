"""Clients that decide for themselves, independently of each other and of the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import check_clients
from ..extras import torch
from ..randomness import finalized, in_memory, refined, uniforms, words
from .base import AnySize, Inclusion, Keys
from .probabilities import check_probabilities

if TYPE_CHECKING:
    from torch import Tensor


class BernoulliState(NamedTuple):
    """A process's keys, its clients' probabilities (clients,) float64 on the keys' device, and the words, (replicas,
    clients), that a round refines; in main memory also the thresholds of compiled draws."""

    keys: Keys
    probabilities: Tensor
    words: Tensor
    below: np.ndarray | None


@dataclass(frozen=True)
class Bernoulli(AnySize):
    """Independent participation: client i takes part with probability p_i in every round, independently of everything
    else.

    E[N_i] = p_i, E[N_i N_j] = p_i p_j for i != j. The number of participants differs between rounds, and is 0 with
    probability prod_i (1 - p_i). Drawn probabilities are those given to within 2^-53.

    Args:
        probabilities: one for each client, in [0, 1]; exact where given as a Fraction or "1/3".

    Raises:
        ValueError: a probability outside [0, 1]; in `check`, if there is not one for each client.

    Source: FedAU, assumption 4 and appendix C.6.1.

    >>> Bernoulli(["1/2", "1/3"]).inclusion(2).second.tolist()
    [[Fraction(1, 2), Fraction(1, 6)], [Fraction(1, 6), Fraction(1, 3)]]
    """

    probabilities: Sequence[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", check_probabilities("probabilities", self.probabilities))

    @property
    def deterministic(self) -> bool:
        """Whether every probability is 0 or 1."""
        return all(p in (0, 1) for p in self.probabilities)

    def check(self, clients: int) -> None:
        check_clients("probabilities", len(self.probabilities), clients)

    def sizes(self, clients: int) -> tuple[int, int]:
        self.check(clients)
        return independent_sizes(self.probabilities)

    def init(self, keys: Keys) -> BernoulliState:
        self.check(keys.clients)
        law = on_device(self.probabilities, keys)
        return BernoulliState(keys, law, client_words(keys), thresholds_of(law))

    def step(self, state: BernoulliState, round: int) -> tuple[Tensor, BernoulliState]:
        return self.steps(state, round, 1)[0][0], state

    def steps(self, state: BernoulliState, first: int, rounds: int) -> tuple[Tensor, BernoulliState]:
        several = torch.arange(first, first + rounds, device=state.probabilities.device)
        if state.below is not None:
            from ..loops.independent_clients import draw_independent

            counts = torch.empty(rounds, *state.words.shape, dtype=torch.int8)
            draw_independent(state.words.numpy().view(np.uint64), finalized(several), state.below, counts.numpy())
            return counts, state
        drawn = uniforms(refined(state.words, several[:, None, None]))
        return (drawn < state.probabilities).to(torch.int8), state

    def expected(self, clients: int, round: int) -> np.ndarray:
        self.check(clients)
        return np.array(self.probabilities, dtype=object)

    def inclusion(self, clients: int) -> Inclusion:
        self.check(clients)
        return independent_inclusion(self.probabilities)


def on_device(values: Sequence[Fraction], keys: Keys) -> Tensor:
    """``values`` as float64 where the keys are."""
    return torch.from_numpy(np.fromiter(map(float, values), float, len(values))).to(keys.replica_ids.device)


def thresholds_of(probabilities: Tensor) -> np.ndarray | None:
    """The thresholds of compiled draws; None on a device, where torch draws."""
    if not in_memory(probabilities):
        return None
    from ..loops.independent_clients import thresholds

    return thresholds(probabilities.numpy())


def client_words(keys: Keys) -> Tensor:
    """One word for each replica and client, (replicas, clients) int64, which a round refines."""
    clients = torch.arange(keys.clients, device=keys.replica_ids.device)
    return words(keys.seed, keys.axis, keys.replica_ids[:, None], clients)


def client_uniforms(keys: Keys, *coordinates: int | Tensor) -> Tensor:
    """One uniform number for each replica and client, (replicas, clients) float64; of rounds (rounds, 1, 1) as many."""
    clients = torch.arange(keys.clients, device=keys.replica_ids.device)
    return uniforms(words(keys.seed, keys.axis, keys.replica_ids[:, None], clients, *coordinates))


def independent_inclusion(probabilities: Sequence[Fraction] | np.ndarray) -> Inclusion:
    """The moments of independent clients."""
    first = np.array(probabilities, dtype=object)
    second = np.outer(first, first)
    np.fill_diagonal(second, first)
    return Inclusion(first, second)


def independent_sizes(probabilities: Sequence[Fraction]) -> tuple[int, int]:
    """The fewest and the most participants of independent clients."""
    return sum(p == 1 for p in probabilities), sum(p > 0 for p in probabilities)
