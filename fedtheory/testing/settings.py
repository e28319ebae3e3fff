"""Small federations that checks run on, with any number of clients in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..federations import Logistic, Quadratic

CLIENTS = 4

STARTS = {"quadratic": [1.0, -0.5], "logistic": [0.5, -0.25, 0.0, 1.0]}
"""Initial model x_0 for each kind of federation."""

_HESSIANS = np.array([[[1.0, 0.25], [0.25, 0.5]], [[2.0, 0.0], [0.0, 1.0]], [[0.5, -0.25], [-0.25, 1.5]], np.eye(2)])
_CENTRES = np.array([[1.0, 0.0], [-1.0, 0.5], [0.25, -1.5], [2.0, 1.0]])
_POINTS, _LABELS = (3, 2, 4, 2), ([0, 1, 0], [1, 1], [0, 1, 1, 1], [0, 0])


def quadratic(order: Sequence[int] | None = None, **options: Any) -> Quadratic:
    """Build a quadratic federation whose clients have different Hessians.

    Another ``order`` gives the same federation with its clients renumbered. Client i + 4 has the Hessian of client i,
    and a minimiser further away by 1 in every coordinate.
    """
    who = np.arange(CLIENTS) if order is None else np.asarray(order)
    return Quadratic(_HESSIANS[who % CLIENTS], _CENTRES[who % CLIENTS] + (who // CLIENTS)[:, None], **options)


def alike(clients: int = CLIENTS, **options: Any) -> Quadratic:
    """Build a quadratic federation with different minimisers, one Hessian and no noise.

    Local training affects all of its clients alike.
    """
    who = np.arange(clients)
    return Quadratic(_HESSIANS[[0] * clients], _CENTRES[who % CLIENTS] + (who // CLIENTS)[:, None], 0, **options)


def logistic(order: Sequence[int] | None = None, **options: Any) -> Logistic:
    """Build a federation of logistic regressions, each on a few random points."""
    rng = np.random.default_rng(3)
    who = range(CLIENTS) if order is None else order
    most = max(CLIENTS, max(who) + 1)
    rows = [rng.normal(size=(_POINTS[i % CLIENTS], 2)) for i in range(most)]
    return Logistic(
        [rows[i] for i in who], [np.array(_LABELS[i % CLIENTS]) for i in who], l2=0.25, classes=2, **options
    )
