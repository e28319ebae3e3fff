"""Partitions whose clients form groups: by coarse label, and by a few labels of each group."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from ..dataset import Dataset
from .dirichlet_draws import SMALL, log_dirichlet, relative, within
from .split import Drawn, ForClients, check_alpha, check_count, class_labels


@dataclass(frozen=True, kw_only=True)
class CoarseLabels(ForClients):
    """Pachinko allocation: clients prefer some coarse labels; a client's group is the one it prefers most.

    Client after client draws theta ~ Dirichlet(alpha, ...) over the coarse labels and, for each coarse label, phi ~
    Dirichlet(beta, ...) over its fine labels; then, for each of its samples, a coarse label from theta, a fine label
    from phi, and one of the samples of that label that nobody has yet. A fine label that is used up gets probability 0,
    and so does a coarse label without fine labels; the rest is renormalised. ``groups`` are the coarse labels of
    largest theta among those in a client's data, ``distributions`` the laws of fine labels, theta times phi.

    Attributes:
        clients: how many.
        alpha, beta: concentrations over coarse and over fine labels.
        samples: of each client; by default floor(N / clients).

    Sources: S. Reddi and others, "Adaptive federated optimization", 2020, appendix C.1 (CIFAR-100: 500 clients of 100
    samples, alpha = 0.1, beta = 10); FLICS, section V-A, for the groups.

    Raises:
        ValueError: by ``split``, for a data set without coarse labels, or one in which a label has two.
    """

    clients: int = 500
    alpha: float = 0.1
    beta: float = 10.0
    samples: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_alpha("alpha", self.alpha)
        check_alpha("beta", self.beta)
        if self.samples is not None:
            check_count("samples", self.samples)

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        check_count("clients", self.clients, len(dataset), "the number of samples")
        size = len(dataset) // self.clients if self.samples is None else self.samples
        check_count("samples", size, len(dataset) // self.clients, "the number of samples over clients")
        labels, coarse_of = class_labels(dataset), _coarse_of(dataset)
        stock = [rng.permutation(np.flatnonzero(labels == c)).tolist() for c in range(dataset.classes)]
        fines = [np.flatnonzero(coarse_of == k) for k in range(int(coarse_of.max()) + 1)]
        parts, groups = [], np.empty(self.clients, dtype=np.int64)
        distributions = np.zeros((self.clients, dataset.classes))
        for client in range(self.clients):
            law = _Law.drawn(rng, self.alpha, self.beta, coarse_of, fines)
            distributions[client] = law.fine
            part = _sequentially(law, coarse_of, stock, rng.random((size, 2)))
            parts.append(np.array(part, dtype=np.int64))
            present = np.unique(coarse_of[labels[parts[-1]]])
            groups[client] = present[np.argmax((law.coarse if law.logs is None else law.logs[0])[present])]
        return Drawn(parts, groups=groups, distributions=distributions)


@dataclass(frozen=True)
class _Law:
    """A client's law of coarse and of fine labels; and where shares may be too small for numbers, the logarithms: of
    the coarse labels, and of each fine label within its coarse one."""

    coarse: np.ndarray
    fine: np.ndarray
    logs: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def drawn(
        cls, rng: np.random.Generator, alpha: float, beta: float, coarse_of: np.ndarray, fines: list[np.ndarray]
    ) -> _Law:
        fine = np.zeros(len(coarse_of))
        if min(alpha, beta) >= SMALL:
            theta = rng.dirichlet(np.full(len(fines), within(alpha)))
            for mine, share in zip(fines, theta, strict=True):
                if len(mine):
                    fine[mine] = share * rng.dirichlet(np.full(len(mine), within(beta)))
            return cls(theta, fine)
        logs = log_dirichlet(rng, alpha, 1, len(fines))[0], np.zeros(len(coarse_of))
        for mine in fines:
            if len(mine):
                logs[1][mine] = log_dirichlet(rng, beta, 1, len(mine))[0]
        return cls(np.exp(logs[0]), np.exp(logs[0][coarse_of] + logs[1]), logs)

    def among(self, left: np.ndarray, coarse_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of the coarse labels, and of all fine labels, of which some samples are left; only those of fine
        labels of one coarse label are comparable."""
        if self.logs is None:
            fine = self.fine * left
            return self.coarse * (np.bincount(coarse_of, fine, minlength=len(self.coarse)) > 0), fine
        some = np.bincount(coarse_of, left, minlength=len(self.coarse)) > 0
        fine = np.zeros(len(coarse_of))
        for k in np.flatnonzero(some):
            fine[coarse_of == k] = relative(self.logs[1][coarse_of == k], left[coarse_of == k])
        return relative(self.logs[0], some), fine


def _sequentially(law: _Law, coarse_of: np.ndarray, stock: list[list[int]], uniforms: np.ndarray) -> list[int]:
    """One sample for each pair of uniform numbers, the first for its coarse label, the second for its fine one."""
    part: list[int] = []
    of_coarse, of_fine = _cumulative(law, coarse_of, stock)
    for first, second in uniforms.tolist():
        coarse = bisect_right(of_coarse, first)
        samples = stock[bisect_right(of_fine[coarse], second)]
        part.append(samples.pop())
        if not samples:
            of_coarse, of_fine = _cumulative(law, coarse_of, stock)
    return part


def _cumulative(law: _Law, coarse_of: np.ndarray, stock: list[list[int]]) -> tuple[list[float], list[list[float]]]:
    """Cumulative probabilities of coarse labels, and of all labels given each coarse label, among what is left; from
    the last possible label on exactly 1, and a label that is impossible has its predecessor's number."""
    left = np.array([len(samples) > 0 for samples in stock])
    if not left.any():
        return [], []
    coarse, weights = law.among(left, coarse_of)
    fine = np.cumsum(np.where(coarse_of == np.arange(len(coarse))[:, None], weights, 0.0), axis=1)
    totals = np.where(fine[:, -1:] > 0, fine[:, -1:], 1.0)
    steps = np.cumsum(coarse)
    return (steps / steps[-1]).tolist(), (fine / totals).tolist()


def _coarse_of(dataset: Dataset) -> np.ndarray:
    """The coarse label of each label, (classes,)."""
    if dataset.coarse_labels is None:
        raise ValueError(f"{dataset.name!r} has no coarse labels: allowed is a data set that has, such as cifar-100")
    labels = class_labels(dataset)
    coarse_of = np.zeros(dataset.classes, dtype=np.int64)
    coarse_of[labels] = dataset.coarse_labels
    wrong = np.flatnonzero(coarse_of[labels] != dataset.coarse_labels)
    if len(wrong):
        raise ValueError(f"label {labels[wrong[0]]} has two coarse labels: allowed is one")
    return coarse_of


@dataclass(frozen=True, kw_only=True)
class LabelGroups(ForClients):
    """Partition by groups of clients with a few labels each.

    Clients are split at random into groups of equal size (up to 1). Group k has the labels k, k + 1, ... modulo the
    number of groups. Each of these labels is cut evenly (up to 1) between all clients of its groups. Samples of labels
    that are not below the number of groups stay unassigned.

    Attributes:
        clients: how many.
        groups: how many, at most the number of classes and of clients.
        labels: of each group, at most the number of groups.

    Source: FLICS, section V-A: 10 groups, with labels k and k + 1 modulo 10, on EMNIST's digits.

    >>> from fedtheory.data import load
    >>> digits = load("digits")
    >>> parts = LabelGroups(clients=20).split(digits)
    >>> first = int(parts.groups[0])
    >>> set(digits.labels[parts.train[0]].tolist()) == {first, (first + 1) % 10}
    True
    """

    clients: int
    groups: int = 10
    labels: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("groups", self.groups, self.clients, "the number of clients")
        check_count("labels", self.labels, self.groups, "the number of groups")

    def draw(self, dataset: Dataset, rng: np.random.Generator) -> Drawn:
        check_count("groups", self.groups, dataset.classes, "the number of classes")
        of_samples = class_labels(dataset)
        groups = rng.permutation(np.arange(self.clients) % self.groups)
        parts: list[list[np.ndarray]] = [[] for _ in range(self.clients)]
        for label in range(self.groups):
            takers = rng.permutation(np.flatnonzero((label - groups) % self.groups < self.labels))
            samples = rng.permutation(np.flatnonzero(of_samples == label))
            if len(samples) < len(takers):
                raise ValueError(
                    f"clients = {self.clients}: label {label} has {len(samples)} samples for {len(takers)} clients; "
                    "allowed is at least 1 for each"
                )
            for client, piece in zip(takers, np.array_split(samples, len(takers)), strict=True):
                parts[client].append(piece)
        distributions = np.zeros((self.clients, dataset.classes))
        for shift in range(self.labels):
            distributions[np.arange(self.clients), (groups + shift) % self.groups] = 1 / self.labels
        return Drawn([np.concatenate(part) for part in parts], groups=groups, distributions=distributions)
