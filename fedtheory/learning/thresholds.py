"""Thresholds and intervals on the line, under densities that are constant between breakpoints."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..rationals import checked_count
from .relatedness import smallest_alpha_on_path

TOLERANCE = 1e-9
"""Tolerance of the sum of probabilities given as floats about 1."""


@dataclass(frozen=True)
class OnLine:
    """A distribution of (x, y): density and P(y = 1 | x) constant on each of K intervals.

    Args:
        edges: (K+1,), increasing. masses: (K,), the intervals' probabilities, sum 1.
        positive: (K,), P(y = 1 | x) on each; 0 or 1 where labels are a function of x.

    Raises:
        ValueError: edges that do not increase, a negative density, masses that do not sum to 1, a label probability
            outside [0, 1].

    >>> OnLine([0, 1], [1.1], [1])
    Traceback (most recent call last):
    ValueError: masses sum to 1.1: allowed is 1
    """

    edges: Any
    masses: Any
    positive: Any

    def __post_init__(self) -> None:
        edges, masses, positive = (np.asarray(v, dtype=float) for v in (self.edges, self.masses, self.positive))
        if edges.ndim != 1 or len(edges) < 2 or not np.all(np.diff(edges) > 0) or not np.all(np.isfinite(edges)):
            raise ValueError(f"edges = {edges.tolist()}: allowed are at least two finite numbers that increase")
        for name, values in {"masses": masses, "positive": positive}.items():
            if values.shape != (len(edges) - 1,):
                raise ValueError(f"{name} has shape {values.shape}: allowed is {(len(edges) - 1,)}, one an interval")
        if not masses.min() >= 0:
            raise ValueError(f"masses = {masses.min()}: allowed is a density >= 0")
        if not abs(masses.sum() - 1) <= TOLERANCE:
            raise ValueError(f"masses sum to {masses.sum()}: allowed is 1")
        if not (positive.min() >= 0 and positive.max() <= 1):
            raise ValueError("positive: allowed are probabilities in [0, 1]")
        for name, values in {"edges": edges, "masses": masses, "positive": positive}.items():
            object.__setattr__(self, name, values)

    @classmethod
    def uniform(cls, low: float, high: float, target: float) -> OnLine:
        """Return the law U[low, high], labelled 1 from ``target`` on.

        >>> OnLine.uniform(0, 2, target=0.5).masses.tolist()
        [0.25, 0.75]
        """
        if not low < high:
            raise ValueError(f"low, high = {low}, {high}: allowed is low < high")
        edges = sorted({low, high, *([target] if low < target < high else [])})
        pieces = list(pairwise(edges))
        masses = [(b - a) / (high - low) for a, b in pieces]
        return cls(edges, masses, [float((a + b) / 2 > target) for a, b in pieces])

    def mixed(self, other: OnLine, share: float) -> OnLine:
        """Return share * self + (1 - share) * other.

        >>> OnLine.uniform(0, 1, 0.5).mixed(OnLine.uniform(0, 2, 0.5), 0.5).masses.tolist()
        [0.375, 0.375, 0.25]
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share = {share}: allowed is a number in [0, 1]")
        edges = np.union1d(self.edges, other.edges)
        (m1, y1), (m2, y2) = self.on(edges), other.on(edges)
        masses = share * m1 + (1 - share) * m2
        ones = share * m1 * y1 + (1 - share) * m2 * y2
        return OnLine(edges, masses, np.divide(ones, masses, out=np.zeros_like(ones), where=masses > 0))

    def on(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Masses and label probabilities on finer intervals.

        Raises:
            ValueError: they do not cover the own ones, or leave out an own edge.
        """
        if not np.isin(self.edges, edges).all():
            raise ValueError("edges: allowed are such as cover the distribution's own, each of which is one")
        cumulated = np.interp(edges, self.edges, np.concatenate([[0.0], np.cumsum(self.masses)]))
        piece = np.clip(np.searchsorted(self.edges, (edges[:-1] + edges[1:]) / 2) - 1, 0, len(self.masses) - 1)
        return np.diff(cumulated), self.positive[piece]

    def threshold_risks(self, edges: np.ndarray) -> np.ndarray:
        """The risks of h_t(x) = 1[x >= t] at the edges t; between them they are linear.

        R(t) = P(y = 1, x < t) + P(y = 0, x >= t).
        """
        masses, positive = self.on(edges)
        below = np.concatenate([[0.0], np.cumsum(masses * positive)])
        above = np.concatenate([[0.0], np.cumsum(masses * (1 - positive))])
        return below + above[-1] - above


def threshold_excesses(p: OnLine, q: OnLine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners t, and the excess risks of h_t under P and Q there. Thresholds beyond the outer corners have the risks
    of those.

    >>> t, of_p, of_q = threshold_excesses(OnLine.uniform(0, 1, 0.5), OnLine.uniform(0.25, 0.75, 0.5))
    >>> t.tolist(), of_p.tolist(), of_q.tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.5, 0.25, 0.0, 0.25, 0.5], [0.5, 0.5, 0.0, 0.5, 0.5])
    """
    edges = np.union1d(p.edges, q.edges)
    of_p, of_q = p.threshold_risks(edges), q.threshold_risks(edges)
    return edges, _cleaned(of_p), _cleaned(of_q)


def _cleaned(risks: np.ndarray) -> np.ndarray:
    """Risks less the least one; rounding errors are 0."""
    excess = risks - risks.min(-1, keepdims=True)
    return np.where(excess < 1e-14, 0.0, excess)


def smallest_alpha_for_thresholds(p: OnLine, q: OnLine, beta: float) -> float:
    """The smallest alpha for which P and Q are (alpha, beta)-positively related, over all thresholds of the line.

    >>> smallest_alpha_for_thresholds(OnLine.uniform(0, 1, 0.5), OnLine.uniform(0.25, 0.75, 0.5), 1.0)
    0.5
    >>> smallest_alpha_for_thresholds(OnLine.uniform(0, 1, 0.5), OnLine.uniform(0, 0.5, 0.5), 1.0)
    inf
    """
    _, of_p, of_q = threshold_excesses(p, q)
    return float(smallest_alpha_on_path(of_p, of_q, beta))


def smallest_alpha_for_intervals(p: OnLine, q: OnLine, beta: float) -> float:
    """Compute the smallest alpha over hypotheses 1[u <= x < v], u <= v.

    R(u, v) - R(u, u) = G(v) - G(u) with a piecewise linear G, so over u and v in two pieces the risks are linear; at a
    given e_Q the gap is largest on an edge of that cell, and edges are straight lines in (e_P, e_Q).

    >>> smallest_alpha_for_intervals(OnLine([0, 1, 2], [0.5, 0.5], [0, 1]), OnLine([0, 1, 2], [0.5, 0.5], [0, 1]), 1)
    0.0
    """
    edges = np.union1d(p.edges, q.edges)
    excesses = []
    for law in (p, q):
        masses, positive = law.on(edges)
        gain = np.concatenate([[0.0], np.cumsum(masses * (1 - 2 * positive))])
        grid = gain[None, :] - gain[:, None]
        grid = np.where(np.arange(len(edges))[:, None] <= np.arange(len(edges))[None, :], grid, np.nan)
        excess = grid - np.nanmin(grid)
        excesses.append(np.where(excess < 1e-14, 0.0, excess))
    of_p, of_q = excesses
    i, j = np.triu_indices(len(edges), 1)
    pairs = [
        ((i, j), (i - 1, j), i >= 1),
        ((i, j), (i, j - 1), j - 1 >= i),
        ((i, j), (i + 1, j), i + 1 <= j),
        ((i - 1, j), (i, j), i >= 1),
        ((j, j), (j - 1, j - 1), j >= 1),
    ]
    worst = 0.0
    for one, other, there in pairs:
        end_p, end_q = (np.stack([e[one][there], e[other][there]], -1) for e in (of_p, of_q))
        if there.any():
            worst = max(worst, float(np.max(smallest_alpha_on_path(end_p, end_q, beta))))
    return worst


def random_geometries(count: int, pieces: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw excess risks of thresholds at the corners, (count, pieces + 1) under P and Q, of random realizable problems.

    The target is a corner, masses are Dirichlet, some pieces empty under one of the two.

    >>> of_p, of_q = random_geometries(5, 4)
    >>> of_p.shape, bool((of_p.min(1) == 0).all())
    ((5, 5), True)
    """
    for name, value in (("count", count), ("pieces", pieces)):
        checked_count(name, value)
    rng = np.random.default_rng(seed)
    target = rng.integers(0, pieces + 1, count)
    out = []
    for _ in range(2):
        masses = rng.dirichlet(np.ones(pieces), count) * (rng.random((count, pieces)) < 0.9)
        total = masses.sum(1, keepdims=True)
        masses = np.where(total > 0, masses / np.where(total > 0, total, 1), 1 / pieces)
        cumulated = np.concatenate([np.zeros((count, 1)), np.cumsum(masses, 1)], 1)
        out.append(np.abs(cumulated - np.take_along_axis(cumulated, target[:, None], 1)))
    return out[0], out[1]
