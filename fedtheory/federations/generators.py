"""Random quadratic federations with prescribed constants."""

from __future__ import annotations

import numpy as np

from ..quantities import check_values
from ..rationals import checked_count
from .quadratic import Quadratic


def random_quadratic(
    clients: int,
    dimension: int,
    *,
    smoothness: float = 1.0,
    strong_convexity: float = 0.1,
    dissimilarity: float = 1.0,
    gradient_noise: float = 0.0,
    noise: str = "two-point",
    seed: int = 0,
) -> Quadratic:
    """Draw a common-Hessian federation that has exactly the constants asked for.

    The Hessian is diagonal with eigenvalues spaced evenly in the logarithm from ``strong_convexity`` to
    ``smoothness``, both attained; the clients' gradients at x* = 0 are Gaussian, centred, and scaled so that the
    longest has length ``dissimilarity`` (to the rounding of one division).

    Raises:
        ValueError: a constant out of bounds, mu > L, mu < L in one dimension, or a positive dissimilarity with one
            client.

    >>> fed = random_quadratic(5, 3, smoothness=2.0, strong_convexity=0.5, dissimilarity=3.0, gradient_noise=0.1)
    >>> {name: round(constant.value, 12) for name, constant in fed.constants().items()}
    {'smoothness': 2.0, 'strong_convexity': 0.5, 'dissimilarity': 3.0, 'dissimilarity_at_optimum': 3.0,
     'gradient_noise': 0.1}
    """
    check_values(
        {
            "clients": clients,
            "smoothness": smoothness,
            "strong_convexity": strong_convexity,
            "dissimilarity": dissimilarity,
            "gradient_noise": gradient_noise,
        }
    )
    checked_count("dimension", dimension)
    if dimension == 1 and strong_convexity != smoothness:
        raise ValueError(
            f"strong_convexity = {strong_convexity}: in one dimension allowed is smoothness = {smoothness}"
        )
    if clients == 1 and dissimilarity > 0:
        raise ValueError(f"dissimilarity = {dissimilarity}: with one client allowed is 0")
    spectrum = np.geomspace(smoothness, strong_convexity, dimension).clip(strong_convexity, smoothness)
    spectrum[0], spectrum[-1] = smoothness, strong_convexity
    offsets = np.zeros((clients, dimension))
    if dissimilarity > 0:
        gradients = np.random.default_rng(seed).standard_normal((clients, dimension))
        gradients -= gradients.mean(0)
        offsets = gradients * (dissimilarity / np.linalg.norm(gradients, axis=1).max()) / spectrum
    return Quadratic.common_hessian(offsets, spectrum, gradient_noise, noise)
