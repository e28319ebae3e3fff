"""Dependence between clients: how much more the size of a round varies than that of independent ones, and pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

MOST_CLIENTS = 3000
"""Number of clients up to which pairs are compared."""

PAIRS = 5
"""Number of pairs that are named."""


@dataclass(frozen=True)
class Overdispersion:
    """Number of times that the variance of a round's size has that of independent clients with the same rates.

    Attributes:
        ratio: Var(size) / sum_i p_i (1 - p_i); nan where nobody's presence varies.
        low, high: of its interval.
        correlation: the mean correlation of two clients that gives this ratio.
    """

    ratio: float
    low: float
    high: float
    correlation: float

    @property
    def found(self) -> bool:
        """Whether 1 lies outside the interval."""
        return self.low > 1 or self.high < 1


def overdispersion(mask: np.ndarray, block: int, level: float = 0.95) -> Overdispersion:
    """Compare the variance of rounds' sizes with that of independent clients; the interval is the block bootstrap's."""
    sizes, p = mask.sum(axis=1).astype(float), mask.mean(axis=0)
    alone, spread = float((p * (1 - p)).sum()), float(np.sqrt(p * (1 - p)).sum())
    if alone == 0:
        return Overdispersion(np.nan, np.nan, np.nan, np.nan)
    squares = (sizes - sizes.mean()) ** 2
    variance = float(squares.mean())
    ratio = variance / alone
    error = np.sqrt(variance_of_mean(squares, block)) / alone
    reach = student.ppf((1 + level) / 2, max(1.0, len(mask) / (2 * block) - 1)) * error
    pairs = spread**2 - alone
    correlation = (variance - alone) / pairs if pairs > 0 else np.nan
    return Overdispersion(ratio, max(0.0, ratio - reach), ratio + reach, correlation)


def variance_of_mean(series: np.ndarray, block: int) -> float:
    """The moving-block bootstrap's variance of a mean, extrapolated as in ``rates``, and no less than 1/2 of that of
    independent rounds."""
    away, rounds = series - series.mean(), len(series)
    covariance = [float((away[: rounds - k] * away[k:]).sum() / rounds) for k in range(min(2 * block, rounds))]
    window = [1.0] + [2 * min(1.0, 2 - k / block) for k in range(1, len(covariance))]
    total = float(np.dot(window, covariance))
    return max(total, covariance[0] / 2) / rounds


@dataclass(frozen=True)
class Pair:
    """Two clients who come together more often, or more seldom, than independent ones would.

    Attributes:
        one, other: their columns.
        correlation: of their presences.
        p: of the test of this pair alone.
    """

    one: int
    other: int
    correlation: float
    p: float


def pairs_together(mask: np.ndarray, inflation: np.ndarray, level: float = 0.05) -> list[Pair] | None:
    """Return the pairs whose correlation is far from the others' mean, with a family-wise level; None of too many
    clients."""
    rounds, clients = mask.shape
    p = mask.mean(axis=0)
    varies = np.flatnonzero(p * (1 - p) * rounds > 5)
    if clients > MOST_CLIENTS:
        return None
    if len(varies) < 2:
        return []
    q = p[varies]
    away = ((mask[:, varies] - q) / np.sqrt(q * (1 - q))).astype(np.float32)
    correlation = (away.T @ away / rounds).astype(float)
    np.fill_diagonal(correlation, 0)
    count = len(varies) * (len(varies) - 1)
    common = correlation.sum() / count
    scale = np.sqrt(np.sqrt(np.outer(inflation[varies], inflation[varies])) / rounds)
    z = np.triu((correlation - common) / scale, 1)
    threshold = norm.isf(level / count)
    found = np.argwhere(np.abs(z) > threshold)
    order = sorted(map(tuple, found.tolist()), key=lambda at: -abs(z[at]))
    return [
        Pair(int(varies[i]), int(varies[j]), float(correlation[i, j]), float(2 * norm.sf(abs(z[i, j]))))
        for i, j in order
    ]
