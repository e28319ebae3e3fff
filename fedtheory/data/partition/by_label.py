"""Partitions by label: every client has a label distribution, or a few labels, of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..dataset import Dataset
from .balanced import dirichlet
from .base import Drawn, Scheme, check_clients, targets


@dataclass(frozen=True, kw_only=True)
class Dirichlet(Scheme):
    """The balanced Dirichlet partition: floor(N / clients) samples each, labels from pi_i ~ Dirichlet(alpha, ...).

    See ``dirichlet``, which draws it: ``split`` gives the same parts for the same seed.

    >>> from fedtheory.data import load
    >>> Dirichlet(clients=50, alpha=0.3).split(load("digits")).sizes.tolist() == [35] * 50
    True
    """

    clients: int
    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_clients(self.clients)
        check_alpha(self.alpha)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        return Drawn(dirichlet(targets(dataset), self.clients, self.alpha, self.seed))


def check_alpha(alpha: float) -> None:
    """Refuse a concentration that is not finite and > 0."""
    if not (alpha > 0 and math.isfinite(alpha)):
        raise ValueError(f"alpha = {alpha}: allowed is a finite number > 0")
