"""Draws of clients that take part independently of each other, compiled.

With the hashed words of a round, a loop replaces the torch line ``uniforms(words) < probabilities``.
"""

from __future__ import annotations

import numpy as np

from .compiler import compiled
from .draws import GOLDEN, U, mix

BITS = 52
"""A uniform number is (k + 1/2) / 2^52, where k are the upper bits of a word."""


def thresholds(probabilities: np.ndarray) -> np.ndarray:
    """The numbers, uint64, that k is below exactly where the uniform number is below each of the probabilities.

    >>> thresholds(np.array([0.0, 0.5, 1.0])).tolist() == [0, 2**51, 2**52]
    True
    """
    return np.ceil(probabilities * 2.0**BITS - 0.5).astype(np.uint64)


@compiled
def draw_independent(words: np.ndarray, rounds: np.ndarray, below: np.ndarray, counts: np.ndarray) -> None:
    """Put who takes part in some rounds into ``counts`` (R, replicas, clients), int8.

    A client's word is the hash of its ``words`` (replicas, clients) and of each of the ``rounds`` (R,), of which the
    finalizer is taken already; both uint64. It takes part where its number is ``below`` (clients,) its threshold.
    """
    replicas, clients = words.shape
    for t in range(len(rounds)):
        for r in range(replicas):
            for i in range(clients):
                word = mix((words[r, i] ^ rounds[t]) + GOLDEN)
                counts[t, r, i] = (word >> U(64 - BITS)) < below[i]


@compiled
def draw_chains(
    words: np.ndarray, round: np.uint64, stay: np.ndarray, entry: np.ndarray, before: np.ndarray, on: np.ndarray
) -> None:
    """Put which chains are on in a round into ``on`` (replicas, clients), bool, from those that were ``before``.

    A client that was on is on where its number is below its threshold ``stay`` (clients,), another one where it is
    below ``entry``; words are those of ``draw_independent``.
    """
    replicas, clients = words.shape
    for r in range(replicas):
        for i in range(clients):
            number = mix((words[r, i] ^ round) + GOLDEN) >> U(64 - BITS)
            on[r, i] = number < (stay[i] if before[r, i] else entry[i])
