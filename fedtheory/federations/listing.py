"""Who takes part, listed by a compiled loop."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled


@compiled
def list_pairs(
    mask: np.ndarray, round: np.ndarray, client: np.ndarray, replica: np.ndarray, offsets: np.ndarray
) -> None:
    """Where ``mask`` (rounds, replicas, clients) is true, sorted by round, client and replica; ``offsets`` (rounds,
    clients + 1), zeros before, says how many of a round have a client before each."""
    rounds, replicas, clients = mask.shape
    following = np.empty(clients, np.int64)
    start = 0
    for t in range(rounds):
        for r in range(replicas):
            for i in range(clients):
                offsets[t, i + 1] += mask[t, r, i]
        for i in range(clients):
            following[i] = start + offsets[t, i]
            offsets[t, i + 1] += offsets[t, i]
        for r in range(replicas):
            for i in range(clients):
                if mask[t, r, i]:
                    at = following[i]
                    following[i] = at + 1
                    round[at], client[at], replica[at] = t, i, r
        start += offsets[t, clients]
