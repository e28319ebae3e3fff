"""Participation process of Theorem 1, in which the clients that have seen x_2 least take part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..arguments import check_count
from ..participation.base import Inclusion, Keys, Participation
from ..randomness import uniforms, words
from .impossibility import TwoPoints
from .tails import check_probability

MOST_DRAWS = 2**28
"""The most samples that one state may draw."""


class Hidden(NamedTuple):
    """Counts of samples at x_2 of each client, (replicas, clients), and the clients that take part, of the same
    shape."""

    rare: Tensor
    counts: Tensor


@dataclass(frozen=True)
class FewestRare(Participation):
    """Participation of the ``cohort`` clients with the fewest samples at x_2, in every round; ties go to the lower
    number.

    Each client has ``samples_per_client`` samples, each at x_2 with probability ``rare_mass``, drawn before round 0 and
    kept. Samples that are chosen one by one are clients with one sample each: see ``of_samples``.

    Raises:
        ValueError: a probability outside [0, 1]; in `check`, fewer clients than the cohort.

    Source: SAFARI, appendix A, proof of Theorem 1.

    >>> from fedtheory.participation import history
    >>> bool((history(FewestRare(1, 3, rare_mass="1/2"), clients=2, rounds=4, replicas=5).sum(2) == 1).all())
    True
    """

    cohort: int
    samples_per_client: int
    rare_mass: Any
    deterministic = False
    independent_rounds = False

    def __post_init__(self) -> None:
        check_count("cohort", self.cohort)
        check_count("samples_per_client", self.samples_per_client)
        object.__setattr__(self, "rare_mass", check_probability("rare_mass", self.rare_mass))

    @classmethod
    def of_samples(cls, problem: TwoPoints) -> FewestRare:
        """The process of the proof, to be run on ``problem.samples`` clients of one sample each."""
        return cls(problem.samples - problem.spare, 1, problem.rare_mass)

    @classmethod
    def of_clients(cls, problem: TwoPoints) -> FewestRare:
        """Return the process that chooses whole clients, to be run on ``problem.clients``."""
        return cls(problem.participants, problem.samples_per_client, problem.rare_mass)

    def check(self, clients: int) -> None:
        if clients < self.cohort:
            raise ValueError(f"clients = {clients}: allowed is at least the cohort, {self.cohort}")

    def init(self, keys: Keys) -> Hidden:
        self.check(keys.clients)
        replicas, n = len(keys.replica_ids), self.samples_per_client
        if replicas * keys.clients * n > MOST_DRAWS:
            raise ValueError(
                f"replicas * clients * samples_per_client = {replicas * keys.clients * n}: allowed is at "
                f"most {MOST_DRAWS}"
            )
        clients = torch.arange(keys.clients, device=keys.replica_ids.device)
        rare = torch.zeros(replicas, keys.clients, dtype=torch.int64, device=keys.replica_ids.device)
        for sample in range(n):
            drawn = words(keys.seed, keys.axis, keys.replica_ids[:, None], clients[None, :], sample)
            rare += uniforms(drawn) < float(self.rare_mass)
        chosen = torch.argsort(rare, dim=1, stable=True)[:, : self.cohort]
        counts = torch.zeros_like(rare, dtype=torch.int8).scatter_(1, chosen, 1)
        return Hidden(rare, counts)

    def step(self, state: Hidden, round: int) -> tuple[Tensor, Hidden]:
        return state.counts, state

    def inclusion(self, clients: int) -> Inclusion:
        raise ValueError(
            "FewestRare: who takes part depends on the clients' samples, the same in every round; see `marginal`"
        )

    def marginal(self, clients: int, round: int) -> Inclusion:
        """Compute E[N_i] and E[N_i N_j], by an exact sum over how many clients have each number of samples at x_2.

        Raises:
            ValueError: more than 12 clients, or more than 10^6 cases of their joint law, which is enumerated.
        """
        self.check(clients)
        if clients > 12 or (self.samples_per_client + 1) ** clients > 10**6:
            raise ValueError(f"clients = {clients}: allowed is what can be enumerated, at most 12 with few samples")
        law = self._law()
        first = np.full(clients, Fraction(0), dtype=object)
        second = np.full((clients, clients), Fraction(0), dtype=object)
        for rare in np.ndindex(*(len(law),) * clients):
            weight = prod((law[r] for r in rare), start=Fraction(1))
            present = sorted(range(clients), key=lambda i: (rare[i], i))[: self.cohort]
            first[present] += weight
            second[np.ix_(present, present)] += weight
        return Inclusion(first, second)

    def _law(self) -> list[Fraction]:
        """P[a client has so many samples at x_2]."""
        n, p = self.samples_per_client, self.rare_mass
        return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
