"""Moments of local steps and of rounds, in floats, compiled: see ``papers.li2020.decaying_runs``.

They replace numpy lines for every step or round. With ``eta = steps[:, k, None, None]`` and
``keep = 1 - eta * curvatures``, those of ``train`` are

    a[k + 1] = keep * a[k]
    b[k + 1] = keep * b[k] + eta * pull
    v[k + 1] = keep**2 * v[k] + eta**2 * variance
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedtheory.loops.compiler import compiled

Array = np.ndarray[Any, Any]


@compiled
def train(steps: Array, curvatures: Array, pull: Array, variance: Array, a: Array, b: Array, v: Array) -> None:
    """Fill in the moments of a client's model before each local step, and after the last one.

    With x the round's start, the model is a x + b and noise of variance v.

    Args:
        steps: (rounds, E), their sizes. curvatures, pull, variance: (N, D), h, h c and that of a stochastic gradient.
        a, b, v: (E + 1, rounds, N, D).
    """
    _, rounds, clients, dimension = a.shape
    for r in range(rounds):
        for n in range(clients):
            for d in range(dimension):
                a[0, r, n, d], b[0, r, n, d], v[0, r, n, d] = 1, 0, 0
                for k in range(steps.shape[1]):
                    eta = steps[r, k]
                    keep = 1 - eta * curvatures[n, d]
                    a[k + 1, r, n, d] = keep * a[k, r, n, d]
                    b[k + 1, r, n, d] = keep * b[k, r, n, d] + eta * pull[n, d]
                    v[k + 1, r, n, d] = keep * keep * v[k, r, n, d] + eta * eta * variance[n, d]


@compiled
def follow(both: Array, alike: Array, moved: Array, noise: Array, spread: float, mean: Array, square: Array) -> None:
    """Fill in E x and E x^2 of the server's model after each round, from those before round 0.

    Args:
        both, alike: (3, rounds, D), by what E x^2, E x and 1 are multiplied in the mean of clients' models' squares,
            and in the square of their mean. moved: (2, rounds, D), by what E x and 1 are in their mean.
        noise: (rounds, D). spread: how much of what lies between both is added.
        mean, square: (rounds + 1, D).
    """
    _, rounds, dimension = both.shape
    for r in range(rounds):
        for d in range(dimension):
            one, two = mean[r, d], square[r, d]
            of_mean = alike[0, r, d] * two + alike[1, r, d] * one + alike[2, r, d]
            of_both = both[0, r, d] * two + both[1, r, d] * one + both[2, r, d]
            mean[r + 1, d] = moved[0, r, d] * one + moved[1, r, d]
            square[r + 1, d] = of_mean + spread * (of_both - of_mean) + noise[r, d]


@compiled
def gradients(
    a: Array, b: Array, v: Array, minimisers: Array, curvatures: Array, mean: Array, square: Array, seen: Array
) -> None:
    """Fill in the expected square of the gradient that each client meets in each local step, by coordinates.

    Args:
        a, b, v: as ``train`` makes them. minimisers, curvatures: (N, D).
        mean, square: (rounds, D), E x and E x^2 of the rounds' starts.
        seen: (rounds, E, N, D).
    """
    rounds, steps, clients, dimension = seen.shape
    for r in range(rounds):
        for k in range(steps):
            for n in range(clients):
                for d in range(dimension):
                    by, off, h = a[k, r, n, d], b[k, r, n, d] - minimisers[n, d], curvatures[n, d]
                    away = by * by * square[r, d] + 2 * by * off * mean[r, d] + off * off + v[k, r, n, d]
                    seen[r, k, n, d] = h * h * away
