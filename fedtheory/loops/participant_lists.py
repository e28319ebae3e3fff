"""Lists of participants, compiled.

``list_pairs`` replaces the torch line ``mask.permute(0, 2, 1).nonzero()``, ``find_places`` the line
``counts.flatten().nonzero()``. With a pair's rank among its client's, ``place_in_tiles`` replaces ``slot = first[rank
// tile, client] * tile + rank % tile``.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled


@compiled
def list_pairs(
    mask: np.ndarray, round: np.ndarray, client: np.ndarray, replica: np.ndarray, offsets: np.ndarray
) -> None:
    """List the places where ``mask`` (rounds, replicas, clients) is true, sorted by round, client and replica.

    ``offsets`` (rounds, clients + 1), zeros before, then says how many of a round have a client before each.
    """
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


@compiled
def find_places(counts: np.ndarray, place: np.ndarray) -> int:
    """Put the places where the flat ``counts`` are above 0 at the beginning of ``place``, and return how many there
    are.

    ``place`` is as long as ``counts``.
    """
    found = 0
    for i in range(len(counts)):
        place[found] = i
        found += counts[i] > 0
    return found


@compiled
def place_in_tiles(sizes: np.ndarray, first: np.ndarray, tile: int, slot: np.ndarray, pair: np.ndarray) -> None:
    """Find the row of each pair, and the pair of each row.

    Client i has ``sizes[i]`` pairs, one after the other, and its rows of layer l are those of the tile number
    ``first[l, i]``.
    """
    n = 0
    for i in range(len(sizes)):
        for rank in range(sizes[i]):
            slot[n] = first[rank // tile, i] * tile + rank % tile
            pair[slot[n]] = n
            n += 1
