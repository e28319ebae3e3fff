"""The partition that comes with the data: a client for each speaking role, each writer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..dataset import Dataset
from .split import PROPORTIONS, Drawn, Scheme, check_count


@dataclass(frozen=True, kw_only=True)
class ByClient(Scheme):
    """The data set's own clients: roles of Shakespeare's plays, writers of FEMNIST, clients of Synthetic.

    Attributes:
        clients: how many, drawn uniformly without replacement from those with enough samples, kept in the data set's
            order; None for all of these.
        least: training samples that a client needs.

    With "proportions", each client has its own test samples. ``groups`` are the data set's.

    >>> from fedtheory.data import synthetic
    >>> data = synthetic(groups=2, clients=3, samples=5, test_samples=2)
    >>> parts = ByClient(clients=4).split(data)
    >>> parts.sizes.tolist(), [len(part) for part in parts.test]
    ([5, 5, 5, 5], [2, 2, 2, 2])
    """

    clients: int | None = None
    least: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("least", self.least)
        if self.clients is not None:
            check_count("clients", self.clients)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        if dataset.clients is None:
            raise ValueError(f"{dataset.name!r} has no clients of its own: allowed is a data set that has")
        names = len(dataset.client_names)
        enough = np.flatnonzero(np.bincount(dataset.clients, minlength=names) >= self.least)
        if not len(enough):
            raise ValueError(
                f"least = {self.least}: no client of {dataset.name!r} has so many samples; allowed is less"
            )
        if self.clients is not None:
            check_count("clients", self.clients, len(enough), f"those with {self.least} samples")
            enough = np.sort(rng.choice(enough, self.clients, replace=False))
        test = None
        if self.test == PROPORTIONS and dataset.test is not None and dataset.test.clients is not None:
            test = _of_each(dataset.test.clients, enough, names)
        groups = None if dataset.groups is None else dataset.groups[enough]
        return Drawn(_of_each(dataset.clients, enough, names), groups=groups, test=test)


def _of_each(owners: np.ndarray, wanted: np.ndarray, names: int) -> list[np.ndarray]:
    """The samples of each wanted client."""
    ordered = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=names))
    return [ordered[ends[client - 1] if client else 0 : ends[client]] for client in wanted]
