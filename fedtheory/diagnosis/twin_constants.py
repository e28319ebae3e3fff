"""Constants of a quadratic twin, from the federation that it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..extras import torch
from ..federations.constant_estimates import estimated_constants
from ..federations.constants import ESTIMATE, Constant, Constants
from ..federations.federation import ConvexFederation
from .trace_errors import NAMES


def estimate_constants(federation: Any, start: Any = 0.0, points: Any = None, *, confidence: float = 0.95) -> Constants:
    """Estimate what `recommend` asks of a federation: ``NAMES``, each with how it is known.

    Those of a convex federation are its own, proved; the distance is that of the start from its optimum. Those of any
    other are `estimated_constants` at ``points``, with intervals, and the dissimilarity at the last of them.

    Args:
        start: x_0, a number or (D,).
        points: (n, D), the start first and the best model last; needed unless the federation is convex.

    Raises:
        ValueError: no points for a federation that is not convex; or no strong convexity is found at them.

    >>> from fedtheory.federations import Logistic
    >>> found = estimate_constants(Logistic([[[1.0]], [[1.0]]], [[0], [1]], l2=1.0, gradient_noise=0.5), start=1.0)
    >>> {name: round(constant.value, 2) for name, constant in found.items()}
    {'smoothness': 1.5, 'strong_convexity': 1.0, 'gradient_noise': 0.5, 'dissimilarity_at_optimum': 0.71,
     'initial_distance': 1.41}
    """
    if isinstance(federation, ConvexFederation) and points is None:
        own = federation.constants()
        x = np.broadcast_to(np.asarray(start, dtype=float), (federation.dimension,))
        distance = float(np.linalg.norm(x - np.asarray(federation.optimum, dtype=float)))
        far = Constant(distance, ESTIMATE, "distance of the start from the optimum that was computed")
        return Constants({name: own.get(name, far) for name in NAMES})
    if points is None:
        raise ValueError(
            "points: allowed without any are convex federations; else the start first, the best model last"
        )
    given = torch.as_tensor(points)
    found = dict(estimated_constants(federation, given, confidence=confidence))
    if "strong_convexity" not in found:
        raise ValueError("points: the curvature is not positive at them; allowed are points about a minimum")
    last = estimated_constants(federation, given[-1:], confidence=confidence)["dissimilarity"]
    return Constants({name: last if name == "dissimilarity_at_optimum" else found[name] for name in NAMES})
