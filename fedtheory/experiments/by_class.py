"""Participation that depends on the data that clients have, for experiment files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

PATTERNS = ("Bernoulli", "Markov", "Cyclic")


@dataclass(frozen=True)
class ByClass:
    """FedAU's participation: p_n follows how much client n has of each class, by weights of the classes that are drawn.

    Args:
        pattern: ``Bernoulli``, ``Markov`` (entries of at most .05) or ``Cyclic`` (period 100).
        concentration: of the Dirichlet law of the weights (alpha_p).
        mean, floor: of the probabilities.
        seed: of the weights.

    Raises:
        ValueError: another pattern; when it is bound, a federation without labels.

    Source: FedAU, appendix C.6.1.
    """

    pattern: str
    concentration: float = 0.1
    mean: float = 0.1
    floor: float = 0.02
    seed: int = 0

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS:
            raise ValueError(f"pattern = {self.pattern!r}: allowed is {' or '.join(PATTERNS)}")

    def on(self, federation: Any) -> Any:
        """The process for this federation's clients."""
        from ..participation import Bernoulli, Cyclic, Markov
        from ..participation.class_dependent import class_weights, participation_probabilities

        dataset, partition = getattr(federation, "dataset", None), getattr(federation, "partition", None)
        if dataset is None or partition is None:
            raise ValueError(f"ByClass needs clients' labels: allowed is a Network, not {type(federation).__name__}")
        counts = partition.counts(dataset.labels, dataset.classes).astype(float)
        shares = counts / counts.sum(1, keepdims=True)
        weights = class_weights(dataset.classes, self.concentration, self.seed)
        found = np.asarray(participation_probabilities(shares.tolist(), weights.tolist(), self.mean, self.floor))
        probabilities = found.tolist()
        if self.pattern == "Markov":
            return Markov.with_largest_entry(probabilities)
        return Bernoulli(probabilities) if self.pattern == "Bernoulli" else Cyclic(probabilities)
