"""Rounds of local SGD with diagonal Hessians, one after another, compiled.

They replace, for every round, the torch line ``x = x + rate * torch.zeros_like(x).index_add_(0, replica, weights[:,
None] * change)``, where ``change`` is that of `loops.diagonal_sgd`.

The numbers are those of `loops.diagonal_sgd` and `loops.scatter`, in the same order, so that iterates are the same bits
as of rounds one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled
from .diagonal_sgd import steps_of_some
from .scatter import add_rows


@compiled
def make(
    x: np.ndarray,
    replica: np.ndarray,
    client: np.ndarray,
    weights: np.ndarray,
    ends: np.ndarray,
    rate: Any,
    entries: np.ndarray,
    centres: np.ndarray,
    keys: np.ndarray,
    scale: Any,
    signs: np.ndarray,
    given: bool,
    noise: np.ndarray,
    minus: np.ndarray,
    rows: np.ndarray,
    curvature: np.ndarray,
    gradient: np.ndarray,
    out: np.ndarray,
) -> None:
    """Make the rounds from x (replicas, D) on, and put the iterates after each into ``out`` (rounds, replicas, D).

    The pairs of round t are those from ``ends[t]`` to before the next; ``rate`` is the server's. The arguments from
    ``entries`` to ``gradient`` are those of `diagonal_sgd.steps_of_some`.
    """
    together = rows.shape[1]
    changes = np.empty_like(rows[0])
    change = changes.reshape(-1)
    for t in range(len(out)):
        total = out[t]
        total[:] = 0
        for first in range(ends[t], ends[t + 1], together):
            count = min(together, ends[t + 1] - first)
            steps_of_some(
                x,
                replica,
                client,
                first,
                count,
                entries,
                centres,
                keys,
                scale,
                signs,
                given,
                noise,
                minus,
                rows,
                curvature,
                gradient,
                change[: count * x.shape[1]],
            )
            add_rows(total, replica[first : first + count], weights[first : first + count], changes[:count])
        _move(x, total, rate)
        x = total


@compiled
def make_at_once(
    x: np.ndarray,
    counts: np.ndarray,
    weights: np.ndarray,
    rate: Any,
    entries: np.ndarray,
    centres: np.ndarray,
    out: np.ndarray,
) -> None:
    """Make the rounds as ``make`` does, where a client's change is its ``entries`` times x - c.

    The clients are those with ``counts`` (rounds, replicas, clients) above 0; their ``weights`` follow each other.
    """
    n = 0
    for t in range(len(out)):
        total = out[t]
        for r in range(len(x)):
            total[r] = 0
            for i in range(counts.shape[2]):
                if counts[t, r, i] > 0:
                    weight, own = weights[n], i if len(entries) > 1 else 0
                    n += 1
                    for d in range(x.shape[1]):
                        total[r, d] += weight * ((x[r, d] - centres[i, d]) * entries[own, d])
        _move(x, total, rate)
        x = total


@compiled
def _move(x: np.ndarray, total: np.ndarray, rate: Any) -> None:
    """x + rate total, to ``total``."""
    for r in range(len(x)):
        for d in range(x.shape[1]):
            total[r, d] = x[r, d] + rate * total[r, d]
