"""Dependence in time: of a client's rounds, and how long it stays away, against the geometric law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm


@dataclass(frozen=True)
class Runs:
    """Runs of rounds in which a client is there, (runs,) each: without the first and last of a client's log.

    Attributes:
        client: whose.
        length: in rounds.
    """

    client: np.ndarray
    length: np.ndarray


def runs_of(mask: np.ndarray) -> Runs:
    """Return the runs of True in each column that neither begin nor end with the log.

    >>> runs = runs_of(np.array([[1, 0, 1, 1, 0, 1]], dtype=bool).T)
    >>> runs.length.tolist()
    [2]
    """
    rounds, clients = mask.shape
    padded = np.zeros((clients, rounds + 2), dtype=bool)
    padded[:, 1:-1] = mask.T
    edges = np.flatnonzero(padded[:, 1:] != padded[:, :-1])  # of each run its start and its end
    client, start = np.divmod(edges[::2], rounds + 1)
    end = edges[1::2] - client * (rounds + 1)
    whole = (start > 0) & (end < rounds)
    return Runs(client[whole], (end - start)[whole])


def length_deviation(mask: np.ndarray) -> float:
    """Return how far the squares of the lengths of a client's runs are from what geometric lengths give: see
    ``length_test``."""
    return length_test(runs_of(mask), mask.shape[1])


def length_test(runs: Runs, clients: int) -> float:
    r"""Compare the lengths of runs with the geometric law, client by client, in standard deviations.

    Given that g runs of a client have L rounds, geometric lengths are equally likely in all ways to write L as a sum of
    g numbers >= 1. So with n = L - g, x_k = length_k - 1 and falling and rising factorials,

        E[x^(a) y^(b)] = a! b! n^(a+b) / (g (g+1) ... (g+a+b-1)),

    which gives the mean and variance of sum_k x_k (x_k - 1) exactly. Positive: lengths spread more than geometric ones,
    some are very long; negative: they are too even. No rate enters.
    """
    g = np.bincount(runs.client, minlength=clients).astype(float)
    x = runs.length - 1.0
    n = np.bincount(runs.client, x, minlength=clients)
    seen = np.bincount(runs.client, x * (x - 1), minlength=clients)
    usable = (g >= 2) & (n >= 2)
    g, n, seen = g[usable], n[usable], seen[usable]
    if not len(g):
        return 0.0

    def falling(k: int) -> np.ndarray:
        return np.prod([n - j for j in range(k)], axis=0)

    def rising(k: int) -> np.ndarray:
        return np.prod([g + j for j in range(k)], axis=0)

    two = 2 * falling(2) / rising(2)
    three, four, both = 6 * falling(3) / rising(3), 24 * falling(4) / rising(4), 4 * falling(4) / rising(4)
    mean = g * two
    variance = g * (four + 4 * three + 2 * two) + g * (g - 1) * both - mean**2
    # Weighted by 1/n: many short runs of one client do not outvote the others.
    weight = 1 / np.maximum(n, 1)
    spread = np.sqrt((weight**2 * np.maximum(variance, 0)).sum())
    return float((weight * (seen - mean)).sum() / spread) if spread > 0 else 0.0


def survival(mask: np.ndarray) -> dict[str, list[float]]:
    """Return the share of absences longer than k rounds, and what geometric ones of the same means give.

    Returns:
        ``rounds``, ``share``, ``geometric``: of absences that both begin and end in the log, all clients together.
    """
    runs = runs_of(~mask)
    if not len(runs.length):
        return {"rounds": [], "share": [], "geometric": []}
    most = int(runs.length.max())
    at = np.unique(np.round(np.geomspace(1, most + 1, 40)).astype(int)) - 1
    ordered = np.sort(runs.length)
    share = 1 - np.searchsorted(ordered, at, side="right") / len(ordered)
    count = np.bincount(runs.client, minlength=mask.shape[1])
    means = np.bincount(runs.client, runs.length, minlength=mask.shape[1]) / np.maximum(count, 1)
    stay = 1 - 1 / np.maximum(means, 1)
    geometric = [math.fsum(count * stay**k) / float(count.sum()) for k in at.tolist()]  # in any order of the clients
    return {"rounds": at.tolist(), "share": share.tolist(), "geometric": geometric}


def number_of_runs_test(mask: np.ndarray) -> float:
    """Compare how often clients come and go with independent rounds, in standard deviations: Wald and Wolfowitz.

    Given that a client came k of R times in any order, it changes 2 k (R - k) / R times on average. Negative: it
    changes too seldom, as with a memory.
    """
    rounds = len(mask)
    k = mask.sum(axis=0).astype(float)
    changes = (mask[1:] != mask[:-1]).sum(axis=0)
    mean = 2 * k * (rounds - k) / rounds
    variance = mean * (mean - 1) / max(rounds - 1, 1)
    spread = np.sqrt(np.maximum(variance, 0).sum())
    return float((changes - mean).sum() / spread) if spread > 0 else 0.0


def two_sided(z: float) -> float:
    """Return P(a standard normal number is as far from 0)."""
    return float(2 * norm.sf(abs(z)))
