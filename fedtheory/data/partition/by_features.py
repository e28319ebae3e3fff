"""The partition whose clients see one law of samples through different noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arguments import check_option, is_real
from ..dataset import Dataset
from .split import Drawn, FeatureNoise, ForClients

SPREADS = ("variance", "deviation")


@dataclass(frozen=True, kw_only=True)
class ByFeatureNoise(ForClients):
    """Samples dealt at random, equally many up to 1; client i = 1..M sees its features with Gaussian noise of variance
    level i / M, the last one with most.

    Each sample's noise is drawn once. It is added to what features mean: to grey values in [0, 1] of images that are
    bytes. What is held out of a client's samples has its noise too; a test set has none. ``Network`` trains on the
    noisy features; elsewhere ``parts.seen(dataset)`` makes them.

    Attributes:
        clients: how many.
        level: of the last client's noise, >= 0.
        spread: whether the level is a variance, or a standard deviation (then that of client i is level i / M).

    Source: Q. Li, Y. Diao, Q. Chen and B. He, "Federated learning on non-IID data silos: an experimental study", 2022,
    "noise-based feature imbalance": variances; its public code has deviations, level i / (M - 1) for i = 0..M - 1, and
    draws a sample's noise anew each time that it is loaded.

    >>> from fedtheory.data import load
    >>> parts = ByFeatureNoise(clients=4, level=0.1).split(load("digits"))
    >>> parts.noise.deviations.round(3).tolist()
    [0.158, 0.224, 0.274, 0.316]
    """

    level: float
    spread: str = "variance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_real(self.level) and self.level >= 0 and math.isfinite(self.level)):
            raise ValueError(f"level = {self.level}: allowed is a finite number >= 0")
        check_option("spread", self.spread, SPREADS)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        if dataset.kind == "text":
            raise ValueError(f"{dataset.name!r} holds text: allowed are images or vectors, to which noise is added")
        levels = self.level * np.arange(1, self.clients + 1) / self.clients
        noise = FeatureNoise(np.sqrt(levels) if self.spread == "variance" else levels, self.seed)
        return Drawn(self.dealt(dataset, rng), noise=noise)
