"""Participants that are chosen after the round's gradient noise: what most theorems silently exclude."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from ..extras import torch
from ..randomness import Axis, ranks, words
from .base import Inclusion, Keys, Participation

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class LargestNoise(Participation):
    """Participation of the ``count`` clients whose gradient noise in the round's first local step is largest.

    The first coordinate counts, where noise is two-point, of fair signs or skewed (see
    ``federations.noise_laws.rise_of``). Of equal ones any are taken.

    >>> LargestNoise(2).mean_and_square(3)  # +++, ++-: 1; +--: 0; ---: -1, of the mean of the two largest signs
    (Fraction(3, 8), Fraction(5, 8))
    """

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise ValueError(f"count = {self.count!r}: allowed is an integer >= 1")

    @property
    def cohort(self) -> int:
        """The number of chosen clients."""
        return self.count

    @property
    def deterministic(self) -> bool:
        """Whether the participants are fixed; they never are."""
        return False

    def check(self, clients: int) -> None:
        if self.count > clients:
            raise ValueError(f"count = {self.count}: allowed is at most the {clients} clients")

    def step(self, state: Keys, round: int) -> tuple[Tensor, Keys]:
        clients = torch.arange(state.clients, device=state.replica_ids.device)
        key = words(state.seed, Axis.GRADIENT_NOISE, state.replica_ids[:, None], clients, round, 0)
        order = ranks(key, 1)[..., 0].argsort(dim=1, stable=True)  # of any such law, the largest first
        counts = torch.zeros(key.shape, dtype=torch.int8, device=key.device)
        return counts.scatter_(1, order[:, : self.count], 1), state

    def inclusion(self, clients: int) -> Inclusion:
        """Raise ``ValueError``: the moments say nothing of a round's updates, whose noise decided who takes part."""
        raise ValueError(
            "LargestNoise: who takes part depends on the round's noise; allowed is a process that is independent of it"
        )

    def mean_and_square(self, clients: int, rise: int = 1) -> tuple[Fraction, Fraction]:
        r"""E s and E s^2 of the mean s of the n largest of ``clients`` independent noises, each a = ``rise`` with
        probability p = 1/(1 + a^2) and else -1/a: with the number B of those that are a,

            s = (a min(B, n) - (n - min(B, n))/a)/n,  P(B = b) = binom(clients, b) p^b (1 - p)^(clients - b),

        a sum of n + 1 terms, as all B >= n are one.

        >>> one = LargestNoise(1)
        >>> none = Fraction(100, 101) ** 128  # of 128 clients, who are 10 with probability 1/101 and else -1/10
        >>> one.mean_and_square(128, rise=10)[0] == 10 * (1 - none) - none / 10
        True
        """
        n, whole = self.count, (1 + rise**2) ** clients
        chances = [Fraction(comb(clients, b) * rise ** (2 * (clients - b)), whole) for b in range(n)]
        values = [Fraction(b * rise**2 - (n - b), n * rise) for b in range(n + 1)]
        chances.append(1 - sum(chances, Fraction(0)))
        law = list(zip(chances, values, strict=True))
        return sum((p * s for p, s in law), Fraction(0)), sum((p * s**2 for p, s in law), Fraction(0))
