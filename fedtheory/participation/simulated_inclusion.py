"""Inclusion probabilities by simulation, with error bars: for processes that have no formula."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from ..arguments import check_count, check_kind, is_real
from ..extras import torch
from ..randomness import Axis
from .base import Keys, Participation

_CHUNK = 2**22  # numbers (replicas x clients) drawn at once


@dataclass(frozen=True)
class EstimatedInclusion:
    """Estimates of the moments of N; not an `Inclusion`, so that nothing takes them for exact.

    Attributes:
        first: (clients,), of E[N_i].
        second: (clients, clients), of E[N_i N_j].
        first_error, second_error: half-widths: each entry lies within its own with the confidence asked for.
        samples: how many replicas.
    """

    first: np.ndarray
    second: np.ndarray
    first_error: float
    second_error: float
    samples: int


def estimated_marginal(
    process: Participation,
    clients: int,
    round: int = 0,
    samples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.999,
    most: int = 1,
) -> EstimatedInclusion:
    r"""Estimate the moments of one round's counts, from ``samples`` replicas.

    Error bars are Hoeffding's: \sqrt{log(2 / (1 - confidence)) / (2 samples)}, times the range of what is averaged.
    They hold for every sample size and every law, for each entry by itself.

    Args:
        most: how often a client can be drawn in a round; above 1 only where draws are with replacement.

    Raises:
        ValueError: samples or most below 1, a confidence outside (0, 1), a count above ``most`` that was drawn, or what
            the process refuses.

    >>> from fedtheory.participation import Uniform
    >>> found = estimated_marginal(Uniform(1), clients=4, samples=2000)
    >>> bool((abs(found.first - 0.25) < found.first_error).all()), round(found.first_error, 3)
    (True, 0.044)
    """
    check_kind("process", process, Participation, "a Participation")
    samples, most, clients = (
        check_count(name, value) for name, value in {"samples": samples, "most": most, "clients": clients}.items()
    )
    round = check_count("round", round, least=0)
    if not (is_real(confidence) and 0 < confidence < 1):
        raise ValueError(f"confidence = {confidence}: allowed is between 0 and 1")
    first, second = np.zeros(clients), np.zeros((clients, clients))
    size = max(1, _CHUNK // clients)
    for start in range(0, samples, size):
        ids = torch.arange(start, min(start + size, samples))
        counts, _ = process.step(process.init(Keys(seed, Axis.ARBITRARY, ids, clients)), round)
        if counts.max() > most:
            raise ValueError(f"most = {most}: a client was drawn {int(counts.max())} times; allowed is at least that")
        drawn = counts.numpy().astype(float)
        first += drawn.sum(axis=0)
        second += drawn.T @ drawn
    error = sqrt(log(2 / (1 - confidence)) / (2 * samples))
    return EstimatedInclusion(first / samples, second / samples, most * error, most**2 * error, samples)
