"""Partitions whose clients differ in how many samples they have, not in which."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arguments import check_option, is_real
from ..dataset import Dataset
from .dirichlet_draws import within
from .split import Drawn, ForClients, check_alpha, check_count, enough_for_each

GROWTHS = ("linear", "square", "exponential")


@dataclass(frozen=True, kw_only=True)
class BySize(ForClients):
    """Samples dealt at random, so that sizes grow with the clients' numbers.

    Client i = 1..M gets floor(N s_i / sum_j s_j) of the N samples, with s_i = i ("linear"), i^2 ("square") or
    e^(rate i) ("exponential"); the last client, which has most, gets those that are left over too.

    Attributes:
        clients: how many.
        growth: one of the three.
        rate: of exponential growth, > 0.

    Source: the partitioners of these names of Flower Datasets (D. J. Beutel and others, "Flower: a friendly federated
    learning research framework", 2020), whose rate is 1.

    Raises:
        ValueError: by ``split``, if the first client would get no sample.

    >>> from fedtheory.data import load
    >>> BySize(clients=4, growth="linear").split(load("digits")).sizes.tolist()
    [179, 359, 539, 720]
    """

    growth: str = "linear"
    rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option("growth", self.growth, GROWTHS)
        if not (is_real(self.rate) and self.rate > 0 and math.isfinite(self.rate)):
            raise ValueError(f"rate = {self.rate}: allowed is a finite number > 0")

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        sizes = self._sizes(len(dataset))
        if sizes[0] == 0:
            raise ValueError(
                f"clients = {self.clients}, growth = {self.growth!r}: the first client would get none of "
                f"{len(dataset)} samples; allowed are fewer clients, or a lower rate of exponential growth"
            )
        return Drawn(np.split(rng.permutation(len(dataset)), np.cumsum(sizes[:-1])))

    def _sizes(self, samples: int) -> list[int]:
        if self.growth == "exponential":
            shares = np.exp(self.rate * (np.arange(self.clients) - self.clients + 1.0))
            sizes = np.floor(samples * (shares / shares.sum())).astype(int).tolist()
        else:
            power = 1 if self.growth == "linear" else 2
            whole = [(i + 1) ** power for i in range(self.clients)]
            sizes = [samples * share // sum(whole) for share in whole]
        sizes[-1] += samples - sum(sizes)
        return sizes


@dataclass(frozen=True, kw_only=True)
class ByQuantity(ForClients):
    """Samples dealt at random, in random quantities: client i gets the share q_i of them, q ~ Dirichlet(alpha, ...).

    Attributes:
        clients: how many.
        alpha: concentration; small: a few clients have nearly all.
        least: if some client gets fewer samples, all quantities are drawn again, at most 1000 times; the partition's
            ``redraws`` say how often.

    Source: Q. Li, Y. Diao, Q. Chen and B. He, "Federated learning on non-IID data silos: an experimental study", 2022,
    "quantity skew"; its public code has ``least`` = 10.

    >>> from fedtheory.data import load
    >>> parts = ByQuantity(clients=10, alpha=0.5).split(load("digits"))
    >>> int(parts.sizes.sum()), len(set(parts.sizes.tolist())) > 1
    (1797, True)
    """

    alpha: float
    least: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("least", self.least)
        check_alpha("alpha", self.alpha)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        def draw() -> tuple[np.ndarray, np.ndarray]:
            ends = np.cumsum(rng.dirichlet(np.full(self.clients, within(self.alpha))))
            places = np.floor(ends[:-1] * len(dataset)).astype(int)
            return np.diff(places, prepend=0, append=len(dataset)), places

        places, redraws = enough_for_each(draw, self.clients, self.alpha, self.least, len(dataset))
        return Drawn(np.split(rng.permutation(len(dataset)), places), redraws=redraws)
