"""Quadratic federations: every constant is known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..exact import exact_array, exact_number
from .base import ConvexFederation, Pairs, check_noise
from .constants import BOUND, EXACT, Constant, Constants, Region


class Quadratic(ConvexFederation):
    """F_i(x) = (x - c_i)^T H_i (x - c_i) / 2, with H_i symmetric positive semidefinite.

    So grad F_i(x) = H_i (x - c_i) and F has the minimiser x* = (sum_i H_i)^{-1} sum_i H_i c_i. The dissimilarity is
    finite over all of R^D exactly when all H_i are equal (the common-Hessian family).

    Entries given as int, Fraction or str ("1/100") are kept exactly for rational arithmetic; floats are the dyadic
    numbers that they are.

    Args:
        hessians: (clients, D, D), or (clients, D) for diagonals.
        centres: (clients, D), the clients' minimisers c_i, in units of x.
        gradient_noise, noise, server_noise: see ``ConvexFederation``.

    Raises:
        ValueError: shapes that do not match, entries that are not finite, a Hessian that is not symmetric positive
            semidefinite, or a singular mean Hessian (no unique minimiser).

    >>> fed = Quadratic.common_hessian(offsets=[1.0, -1.0])
    >>> fed.optimum.tolist(), fed.constants()["dissimilarity"].value
    ([0.0], 1.0)
    """

    def __init__(
        self,
        hessians: Sequence,
        centres: Sequence,
        gradient_noise: float | str | Fraction = 0.0,
        noise: str = "two-point",
        server_noise: float | str | Fraction = 0.0,
    ) -> None:
        self.exact_gradient_noise = exact_number("gradient_noise", gradient_noise)
        self.exact_server_noise = exact_number("server_noise", server_noise)
        check_noise(float(self.exact_gradient_noise), noise, float(self.exact_server_noise))
        self.exact_centres = exact_array("centres", centres)
        hessians = exact_array("hessians", hessians)
        allowed = (self.exact_centres.shape, (*self.exact_centres.shape, *self.exact_centres.shape[1:]))
        if self.exact_centres.ndim != 2 or hessians.shape not in allowed:
            shapes = f"{hessians.shape} and {self.exact_centres.shape}"
            raise ValueError(f"hessians and centres have shapes {shapes}: allowed is (M, D, D) or (M, D), and (M, D)")
        self.exact_hessians = _full_matrices(hessians)
        self.hessians = self.exact_hessians.astype(float)
        self.centres = self.exact_centres.astype(float)
        self.clients, self.dimension = self.centres.shape
        self.gradient_noise, self.noise = float(self.exact_gradient_noise), noise
        self.server_noise = float(self.exact_server_noise)
        self._check_convex()
        self._place("cpu", torch.float64)

    @classmethod
    def common_hessian(
        cls,
        offsets: Sequence,
        hessian: object = 1,
        gradient_noise: float | str | Fraction = 0.0,
        noise: str = "two-point",
        server_noise: float | str | Fraction = 0.0,
    ) -> Quadratic:
        """The family with one Hessian for all clients.

        Args:
            offsets: the clients' minimisers, (clients, D) or, for D = 1, (clients,).
            hessian: a number h (standing for h times the identity), a diagonal (D,) or a matrix (D, D).
        """
        centres = exact_array("offsets", offsets)
        centres = centres[:, None] if centres.ndim == 1 else centres
        hessian = exact_array("hessian", hessian)
        if hessian.ndim == 0:
            hessian = np.full(centres.shape[1], hessian[()], dtype=object)
        return cls(np.stack([hessian] * len(centres)), centres, gradient_noise, noise, server_noise)

    def _check_convex(self) -> None:
        if not (self.hessians == self.hessians.transpose(0, 2, 1)).all():
            raise ValueError("hessians: allowed are symmetric matrices")
        spectra = np.linalg.eigvalsh(self.hessians)
        tolerance = 1e-12 * np.abs(spectra).max()
        if spectra.min() < -tolerance:
            raise ValueError(f"hessians: client {spectra.min(1).argmin()} has the eigenvalue {spectra.min()}: "
                             "allowed is >= 0")  # fmt: skip
        if np.linalg.eigvalsh(self.hessians.mean(0)).min() <= tolerance:
            raise ValueError("hessians: their mean is singular, so the global minimiser is not unique")

    def _place(self, device: torch.device | str, dtype: torch.dtype) -> None:
        self._hessians = torch.as_tensor(self.hessians, device=device, dtype=dtype)
        self._centres = torch.as_tensor(self.centres, device=device, dtype=dtype)
        self._optimum = torch.as_tensor(self.exact_optimum.astype(float), device=device, dtype=dtype)

    def to(self, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float64) -> Quadratic:
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__)
        moved._place(device, dtype)
        return moved

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        shifted = x - self._centres[pairs.client]
        return (self._hessians[pairs.client] @ shifted[:, :, None])[:, :, 0]

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        return ((x - self._centres[pairs.client]) * self.exact_gradient(x, pairs)).sum(1) / 2

    def global_gradient(self, x: Tensor) -> Tensor:
        return (x - self._optimum) @ self._hessians.mean(0)

    def global_loss(self, x: Tensor) -> Tensor:
        return self.gap(x) + self.optimal_value

    def gap(self, x: Tensor) -> Tensor:
        return ((x - self._optimum) * self.global_gradient(x)).sum(1) / 2

    @cached_property
    def exact_optimum(self) -> np.ndarray:
        """x* in Fractions, shape (D,): the solution of (sum_i H_i) x = sum_i H_i c_i."""
        pulls = [h @ c for h, c in zip(self.exact_hessians, self.exact_centres, strict=True)]
        return solve_exactly(self.exact_hessians.sum(0), sum(pulls[1:], pulls[0]))

    @property
    def optimum(self) -> Tensor:
        return torch.as_tensor(self.exact_optimum.astype(float))

    @cached_property
    def exact_optimal_value(self) -> Fraction:
        """F(x*) as a Fraction."""
        shifted = self.exact_optimum - self.exact_centres
        values = [s @ h @ s for h, s in zip(self.exact_hessians, shifted, strict=True)]
        return sum(values, Fraction(0)) / (2 * self.clients)

    @property
    def optimal_value(self) -> float:
        return float(self.exact_optimal_value)

    @property
    def has_common_hessian(self) -> bool:
        return bool((self.exact_hessians == self.exact_hessians[0]).all())

    @cached_property
    def exact_squared_dissimilarity(self) -> Fraction:
        """max_i |grad F_i(x) - grad F(x)|^2, the same at every x.

        Raises:
            ValueError: the Hessians differ, so it is unbounded over R^D.
        """
        if not self.has_common_hessian:
            raise ValueError("hessians differ between clients: the dissimilarity is then infinite")
        return self._exact_squared_gradient_at_optimum

    @cached_property
    def _exact_squared_gradient_at_optimum(self) -> Fraction:
        shifted = self.exact_optimum - self.exact_centres
        gradients = [h @ s for h, s in zip(self.exact_hessians, shifted, strict=True)]
        return max(g @ g for g in gradients)

    def exact_constants(self) -> dict[str, Fraction]:
        noise = {"gradient_noise": self.exact_gradient_noise, "server_noise": self.exact_server_noise}
        off_diagonal = self.exact_hessians[:, ~np.eye(self.dimension, dtype=bool)]
        if off_diagonal.any():
            return noise
        curvatures = self.exact_hessians.diagonal(axis1=1, axis2=2)
        return {"smoothness": curvatures.max(), "strong_convexity": max(curvatures.min(), Fraction(0)), **noise}

    def exact_squared_constants(self) -> dict[str, Fraction]:
        at_optimum = {"dissimilarity_at_optimum": self._exact_squared_gradient_at_optimum}
        return ({"dissimilarity": self.exact_squared_dissimilarity} if self.has_common_hessian else {}) | at_optimum

    def constants(self, region: Region | None = None) -> Constants:
        spectra = np.linalg.eigvalsh(self.hessians)
        residuals = self._gradients_at_optimum()
        at_optimum = float(np.linalg.norm(residuals, axis=1).max())
        return Constants({
            "smoothness": Constant(float(spectra.max()), EXACT, "largest Hessian eigenvalue of a client"),
            "strong_convexity": Constant(max(0.0, float(spectra.min())), EXACT, "smallest Hessian eigenvalue"),
            "dissimilarity": self._dissimilarity(residuals, region),
            "dissimilarity_at_optimum": Constant(at_optimum, EXACT, "largest client gradient at x*"),
            "gradient_noise": Constant(self.gradient_noise, EXACT, "as constructed"),
            **self._known_server_noise(),
        })  # fmt: skip

    def _gradients_at_optimum(self) -> np.ndarray:
        shifted = self.exact_optimum.astype(float) - self.centres
        return np.einsum("ijk,ik->ij", self.hessians, shifted)

    def _dissimilarity(self, residuals: np.ndarray, region: Region | None) -> Constant:
        """sup of |(H_i - H)(x - x*) + grad F_i(x*)| over x and i."""
        if self.has_common_hessian:
            value = float(np.linalg.norm(residuals, axis=1).max())
            return Constant(value, EXACT, "common Hessian: the same at every x")
        if region is None:
            return Constant(float("inf"), EXACT, "Hessians differ: unbounded over R^D")
        deviations = self.hessians - self.hessians.mean(0)
        if np.shape(region.centre) != (self.dimension,):
            raise ValueError(f"region's centre has shape {np.shape(region.centre)}: allowed is ({self.dimension},)")
        shift = np.asarray(region.centre) - self.exact_optimum.astype(float)
        at_centre = np.linalg.norm(residuals + deviations @ shift, axis=1)
        value = (at_centre + region.radius * np.linalg.norm(deviations, ord=2, axis=(1, 2))).max()
        return Constant(float(value), BOUND, "value at the ball's centre plus radius times spectral norm")


def _full_matrices(hessians: np.ndarray) -> np.ndarray:
    """(M, D, D) from (M, D) diagonals; anything else unchanged."""
    if hessians.ndim != 2:
        return hessians
    full = np.full((*hessians.shape, hessians.shape[1]), Fraction(0), dtype=object)
    for i in range(hessians.shape[1]):
        full[:, i, i] = hessians[:, i]
    return full


def solve_exactly(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a regular linear system in Fractions, by elimination (simulations must not need python-flint)."""
    rows = np.column_stack([matrix, right])
    size = len(right)
    for i in range(size):
        pivot = next(j for j in range(i, size) if rows[j, i] != 0)
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] = rows[i] / rows[i, i]
        for j in range(size):
            if j != i and rows[j, i] != 0:
                rows[j] = rows[j] - rows[j, i] * rows[i]
    return rows[:, -1]
