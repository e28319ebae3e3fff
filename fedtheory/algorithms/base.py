"""What every algorithm is: a few kinds of round, and a rule that says which kind a round is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from ..participation import Keys, Participation, Uniform
from ..randomness import uniforms, words


@dataclass(frozen=True)
class Weights:
    """First and second moments of the weights w_i with which a round averages what its clients trained.

    The weights are w_i = v_i / divisor and add up to 1 in every round. Counts of draws N_i are the v_i of a plain
    average over a cohort: kept apart from the divisor, what cancels between them cancels exactly.

    Attributes:
        first: (clients,), E[v_i].
        second: (clients, clients), E[v_i v_j].
        divisor: the same number in every round.

    Entries are Fractions (dtype object) or floats.
    """

    first: np.ndarray
    second: np.ndarray
    divisor: int = 1

    @classmethod
    def equal(cls, clients: int) -> Weights:
        """Every client counts 1/clients, always; Fractions.

        >>> Weights.equal(2).first.tolist(), Weights.equal(2).divisor
        ([Fraction(1, 1), Fraction(1, 1)], 2)
        """
        first = np.full(clients, Fraction(1), dtype=object)
        return cls(first, np.outer(first, first), clients)


@dataclass(frozen=True)
class ClientRound:
    """Clients train, the server averages: x_{r+1} = sum_i w_i x_{i,K}, with w_i = N_i / sum_j N_j and

        x_{i,0} = x_r,    x_{i,k+1} = x_{i,k} - local_lr (grad F_i(x_{i,k}) + noise),    k = 0..local_steps - 1.

    Attributes:
        local_steps: K.
        local_lr: in units of x^2/F.
        uniform: the cohort that this kind of round draws for itself; ``None``: whoever the setting's participation
            process brings.
    """

    local_steps: int
    local_lr: Fraction
    uniform: Uniform | None = None

    def weights(self, participation: Participation, clients: int, exact: bool = False) -> Weights:
        """The moments of N_i / cohort, in Fractions if ``exact``.

        Raises:
            ValueError: Fractions are asked for and the process knows floats only; or the process has no cohort, or no
                moments that are the same in every round.

        >>> found = ClientRound(1, Fraction(1, 2), Uniform(2)).weights(Uniform(1), clients=4, exact=True)
        >>> found.first[0] / found.divisor, found.second[0, 1] / found.divisor**2
        (Fraction(1, 4), Fraction(1, 24))
        """
        process = participation if self.uniform is None else self.uniform
        inclusion = process.inclusion(clients)
        if not exact:
            inclusion = inclusion.as_floats()
        elif inclusion.first.dtype != object:
            raise ValueError(f"{type(process).__name__} knows its inclusion probabilities in floating point only")
        return Weights(inclusion.first, inclusion.second, process.cohort)


@dataclass(frozen=True)
class ServerRound:
    """The server makes one step of its own: x_{r+1} = x_r - server_lr (grad F(x_r) + noise)."""

    server_lr: Fraction


Kind = ClientRound | ServerRound


class Algorithm(ABC):
    """Two kinds of round, and a rule: the first kind comes in the rounds 0, I, 2I, ..., or with a probability in every
    round, independently of all else; every other round is of the second kind."""

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, Kind]:
        """The first and the second kind of round."""

    @property
    def own_cohorts(self) -> list[Uniform]:
        """The cohorts that kinds of round draw for themselves."""
        return [kind.uniform for kind in self.kinds if isinstance(kind, ClientRound) and kind.uniform is not None]

    @property
    def period(self) -> int | None:
        """I, where the first kind comes periodically."""
        return None

    @property
    @abstractmethod
    def share(self) -> Fraction:
        """The probability, or the long-run share, of rounds of the first kind.

        Raises:
            ValueError: it is no number but a process of the run.
        """

    @abstractmethod
    def with_share(self, share: Fraction) -> Algorithm:
        """The same kinds of round, the first one with this probability in every round."""

    @property
    def adaptive(self) -> bool:
        """Whether the share depends on the run."""
        return False

    def is_first(self, keys: Keys, round: int, probability: Tensor | None = None) -> Tensor:
        """In which replicas this round is of the first kind, (replicas,) bool.

        ``probability`` is that of each replica, (replicas,) float64; only adaptive algorithms read it.
        """
        if self.period is not None:
            return torch.full_like(keys.replica_ids, round % self.period == 0, dtype=torch.bool)
        q = probability if self.adaptive and probability is not None else float(self.share)
        return uniforms(words(keys.seed, keys.axis, keys.replica_ids, round)) < q

    def check(self, clients: int) -> None:
        """Raise ``ValueError`` if a kind of round cannot draw its cohort from so many clients."""
        for uniform in self.own_cohorts:
            uniform.check(clients)

    @abstractmethod
    def quantities(self) -> dict[str, float]:
        """The claims' quantities that the algorithm fixes."""
