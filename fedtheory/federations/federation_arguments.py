"""Checks of the arguments of convex federations: numbers, diagonals, weights, and the laws of their noise by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..rationals import exact_array

COMMON = "common two-point"
ONE_SIDED = "one-sided two-point"
NOISES = ("two-point", "gaussian", COMMON, ONE_SIDED)
SKEWED = re.compile(r"two-point ([2-9]|[1-9][0-9]{1,2})")


def rise_of(noise: str) -> int | None:
    """Return how many times its level two-point noise rises, or ``None`` for other laws.

    It is 1 for fair signs. "two-point a", a = 2, ..., 999, is a with probability 1/(1 + a^2) and else -1/a, times the
    level: of mean 0 and variance 1.

    >>> rise_of("two-point"), rise_of("two-point 13"), rise_of("gaussian")
    (1, 13, None)
    """
    skewed = SKEWED.fullmatch(noise)
    return int(skewed[1]) if skewed else 1 if noise == "two-point" else None


def numbers(name: str, values: object) -> np.ndarray:
    """Convert to floats where all values are, or are integers that floats are; else to Fractions.

    Raises:
        ValueError: there are none, or one is no finite number.
    """
    if not isinstance(values, np.ndarray) or values.dtype not in (np.float32, np.float64) or values.size == 0:
        return exact_array(name, values)
    return values.astype(float) if np.isfinite(values).all() else exact_array(name, values)


def full_matrices(hessians: np.ndarray) -> np.ndarray:
    """Expand (M, D) diagonals to (M, D, D); leave anything else unchanged."""
    if hessians.ndim != 2:
        return hessians
    zero = np.array([Fraction(0)]) if hessians.dtype == object else np.zeros(1)
    full = np.broadcast_to(zero, (*hessians.shape, hessians.shape[1])).copy()
    for i in range(hessians.shape[1]):
        full[:, i, i] = hessians[:, i]
    return full


def checked_weights(values: Sequence, clients: int) -> tuple[Fraction, ...]:
    """Check the weights phi >= 0 and return them in Fractions.

    Raises:
        ValueError: they are not as many as clients, one is below 0, or their sum is not 1.
    """
    weights = tuple(exact_array("objective_weight", values).tolist())
    if len(weights) != clients or min(weights) < 0 or sum(weights) != 1:
        raise ValueError(
            f"objective_weight = {[str(p) for p in weights]}: allowed are {clients} numbers >= 0 with the sum 1"
        )
    return weights


def check_convex(hessians: np.ndarray, mean: np.ndarray) -> None:
    """Check the clients' Hessians in floats, (M, D, D), and the Hessian of F, (D, D).

    Raises:
        ValueError: one of them has an eigenvalue below 0, or that of F is singular, up to rounding.
    """
    spectra = np.linalg.eigvalsh(hessians)
    tolerance = 1e-12 * np.abs(spectra).max()
    if spectra.min() < -tolerance:
        raise ValueError(
            f"hessians: client {spectra.min(1).argmin()} has the eigenvalue {spectra.min()}: allowed is >= 0"
        )
    diagonal = not mean[~np.eye(len(mean), dtype=bool)].any()  # then nothing is rounded
    least = mean.diagonal().min() if diagonal else np.linalg.eigvalsh(mean).min()
    if least <= (0 if diagonal else tolerance):
        raise ValueError("hessians: their mean is singular, so the global minimiser is not unique")


def check_noise(gradient_noise: float, noise: str, server_noise: float = 0.0) -> None:
    """Raise ``ValueError`` unless the arguments describe a law of noise."""
    for name, level in {"gradient_noise": gradient_noise, "server_noise": server_noise}.items():
        if not 0 <= level < float("inf"):
            raise ValueError(f"{name} = {level}: allowed is a finite number >= 0")
    if noise not in NOISES and rise_of(noise) is None:
        raise ValueError(
            f"noise = {noise!r}: allowed is one of {', '.join(NOISES)}, or 'two-point 2' to 'two-point 999'"
        )
