"""The balanced partition in which every client has a label distribution of its own."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from .dirichlet_draws import SMALL, log_dirichlet, relative, within
from .split import check_alpha, check_count, check_seed


def dirichlet(labels: np.ndarray, clients: int, alpha: float, seed: int) -> list[np.ndarray]:
    """A balanced partition in which every client has a label distribution of its own.

    Client i draws pi_i ~ Dirichlet(alpha, ..., alpha) over the classes. Then n = floor(N / clients) samples go to each
    client, one at a time, the clients' turns in random order: the label is drawn from pi_i, the sample uniformly from
    those of that label still unassigned. A class that is used up gets probability 0 in every pi_i, which is then
    renormalised. N - clients * n samples stay unassigned.

    Small alpha: few labels a client; alpha to infinity: all labels alike.

    Args:
        labels: (N,) integers >= 0.
        clients: how many, 1 to N.
        alpha: concentration, finite and > 0.
        seed: of the numpy Generator that makes all draws; an integer >= 0.

    Returns:
        One sorted array of n int64 indices for each client, disjoint.

    Raises:
        ValueError: for an argument outside its range.

    Source: T.-M. H. Hsu, H. Qi and M. Brown, "Measuring the effects of non-identical data distribution for federated
    visual classification", 2019.

    >>> parts = dirichlet(np.array([0, 1] * 10), clients=3, alpha=0.5, seed=0)
    >>> [len(part) for part in parts], len(set(np.concatenate(parts).tolist()))
    ([6, 6, 6], 18)
    """
    return drawn(labels, clients, alpha, seed)[0]


def drawn(labels: np.ndarray, clients: int, alpha: float, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Draw the balanced partition, and the pi_i, (clients, classes)."""
    labels = _checked(labels, clients, alpha, seed)
    rng = np.random.default_rng(seed)
    stock = [rng.permutation(np.flatnonzero(labels == c)).tolist() for c in range(int(labels.max()) + 1)]
    logs = log_dirichlet(rng, alpha, clients, len(stock)) if alpha < SMALL else None
    priors = rng.dirichlet(np.full(len(stock), within(alpha)), size=clients) if logs is None else np.exp(logs)
    turns = rng.permutation(np.repeat(np.arange(clients), len(labels) // clients))
    parts: list[list[int]] = [[] for _ in range(clients)]
    cumulative = _cumulative(priors, logs, stock)
    for client, uniform in zip(turns.tolist(), rng.random(len(turns)).tolist(), strict=True):
        samples = stock[bisect_right(cumulative[client], uniform)]
        parts[client].append(samples.pop())
        if not samples:
            cumulative = _cumulative(priors, logs, stock)
    return [np.sort(np.array(part, dtype=np.int64)) for part in parts], priors


def _cumulative(priors: np.ndarray, logs: np.ndarray | None, stock: list[list[int]]) -> list[list[float]]:
    """Cumulative label distributions of the clients, given what each class has left.

    From the last class with positive probability on, an entry is exactly 1, so that a uniform number below 1 never
    lands beyond it; and a class of probability 0 is never drawn, for its entry equals the one before.
    """
    left = np.array([len(samples) for samples in stock], dtype=float)
    if not left.any():
        return []
    weights = priors * (left > 0) if logs is None else relative(logs, left > 0)
    cumulative = np.cumsum(weights, axis=1)
    return (cumulative / cumulative[:, -1:]).tolist()


def _checked(labels: np.ndarray, clients: int, alpha: float, seed: int) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) == 0 or labels.min() < 0:
        raise ValueError(f"labels of shape {labels.shape}, type {labels.dtype}: allowed is (N,), integers >= 0, N >= 1")
    check_count("clients", clients, len(labels), "the number of samples")
    check_alpha("alpha", alpha)
    check_seed(seed)
    return labels
