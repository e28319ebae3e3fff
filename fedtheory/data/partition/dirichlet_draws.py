"""Draws of Dirichlet's law that keep their ratios, however small the concentration."""

from __future__ import annotations

import numpy as np

SMALL = 0.1
"""The concentration below which numpy breaks a stick: its shares are then right to 1e-16 of the whole only, and from
.001 or so on most of them are 0. From here on it draws Gamma variables, whose ratios are right too."""
EXTREME = 1e300
"""Concentrations beyond it, and below its inverse, give the same shares in floating-point numbers, but may overflow."""


def log_dirichlet(rng: np.random.Generator, alpha: float, count: int, size: int) -> np.ndarray:
    """Draw the logarithms of ``count`` independent Dirichlet(alpha, ..., alpha) vectors, (count, size).

    Gamma(alpha) has the law of Gamma(alpha + 1) U^(1/alpha) with U uniform, so that its logarithm is
    log Gamma(alpha + 1) - E / alpha with E exponential: no share is rounded to 0.

    Source: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000, section 6.

    >>> shares = np.exp(log_dirichlet(np.random.default_rng(0), 0.5, 3, 4))
    >>> np.allclose(shares.sum(axis=1), 1)
    True
    """
    alpha = within(alpha)
    logs = np.log(rng.standard_gamma(alpha + 1, (count, size))) - rng.standard_exponential((count, size)) / alpha
    logs -= logs.max(axis=1, keepdims=True)
    return logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))


def within(alpha: float) -> float:
    """The concentration, or the nearest one with which nothing overflows."""
    return min(max(float(alpha), 1 / EXTREME), EXTREME)


def relative(logs: np.ndarray, among: np.ndarray | None = None, axis: int = -1) -> np.ndarray:
    """exp(logs), each divided by the largest on its axis; 0 where it is not ``among`` those that count.

    >>> relative(np.array([-2000.0, -1000.0, 0.0]), np.array([True, True, False])).tolist()
    [0.0, 1.0, 0.0]
    """
    kept = logs if among is None else np.where(among, logs, -np.inf)
    largest = kept.max(axis=axis, keepdims=True)
    return np.exp(kept - np.where(np.isfinite(largest), largest, 0.0))
