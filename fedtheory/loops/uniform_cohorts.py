"""Draws of uniform cohorts, compiled.

With the hashed words of a round, the loop replaces the torch line ``words.topk(cohort, largest=False).indices``.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled
from .draws import GOLDEN, U, mix

LOWEST, HIGHEST = np.int64(-(2**63)), np.int64(2**63 - 1)
BY_RANK = 12
"""The number of guesses that come from ranks; later ones are the middle of the interval, which needs no luck.

Ranks halve an interval's words faster than its middle as long as they are spread evenly.
"""


@compiled
def draw_cohorts(words: np.ndarray, rounds: np.ndarray, cohort: int, counts: np.ndarray) -> None:
    """Draw the cohorts of some rounds into ``counts`` (R, replicas, clients), int8.

    A cohort has the ``cohort`` clients whose words are the smallest, read as int64. A client's word is the hash of its
    ``words`` (replicas, clients) and of each of the ``rounds`` (R,), uint64, of which the finalizer is taken already.
    The cohort is smaller than the number of clients.
    """
    replicas, clients = words.shape
    own = np.empty(clients, np.int64)
    for t in range(len(rounds)):
        for r in range(replicas):
            for i in range(clients):
                own[i] = np.int64(mix((words[r, i] ^ rounds[t]) + GOLDEN))
            bound = rank(own, cohort)
            for i in range(clients):
                counts[t, r, i] = own[i] < bound


@compiled
def rank(words: np.ndarray, count: int) -> np.int64:
    """Return a number that ``count`` of the different int64 ``words`` are below.

    Those below guesses are counted, which takes less than sorting, since no branch depends on words. ``count`` is at
    least 1 and less than there are.
    """
    low, high = LOWEST, HIGHEST
    below, above = 0, len(words)
    guesses = 0
    while True:
        width = U(high) - U(low)
        if width <= U(1):  # the highest number, or words that are equal, of which there are more than asked for
            return high
        share = (count - below + 0.5) / (above - below + 1.0) if guesses < BY_RANK else 0.5
        step = min(max(U(np.float64(width) * share), U(1)), width - U(1))
        guess = np.int64(U(low) + step)
        found = 0
        for i in range(len(words)):
            found += words[i] < guess
        if found == count:
            return guess
        if found < count:
            low, below = guess, found
        else:
            high, above = guess, found
        guesses += 1
