"""Quadratic federations: every constant is known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import listed
from ..extras import torch
from ..rationals import exact_array, exact_number, nearest_float
from .constants import BOUND, EXACT, Constant, Constants, Region
from .devices import placed
from .dyadic_sums import nearest_minimiser
from .elimination import positive_definite, solve_exactly
from .federation import ConvexFederation, Footprint, Pairs
from .hessians import Products, products
from .linear_training import linear_change, linear_footprint
from .local_training import PLAIN_SGD, LocalTraining, State, unequal_steps
from .noise_laws import check_noise
from .quadratic_tensors import Placed

if TYPE_CHECKING:
    from torch import Tensor

Array = Sequence | np.ndarray


class Quadratic(Placed, ConvexFederation):
    """Quadratic federation of F_i(x) = (x - c_i)^T H_i (x - c_i) / 2, with H_i symmetric positive semidefinite.

    So grad F_i(x) = H_i (x - c_i) and F has the minimiser x* = (sum_i H_i)^{-1} sum_i H_i c_i. The dissimilarity is
    finite over all of R^D exactly when all H_i are equal (the common-Hessian family).

    Entries given as int, Fraction or str ("1/100") are kept exactly for rational arithmetic; floats are the dyadic
    numbers that they are.

    Args:
        hessians: (clients, D, D), or (clients, D) for diagonals.
        centres: (clients, D), the clients' minimisers c_i, in units of x.
        gradient_noise, noise, server_noise: see ``ConvexFederation``.
        objective_weight: phi >= 0 with sum 1, one for each client, where F = sum_i phi_i F_i; ``None``: the mean.

    Raises:
        ValueError: shapes that do not match, entries that are not finite, a Hessian that is not symmetric positive
            semidefinite, a singular mean Hessian (no unique minimiser), or weights out of bounds.

    >>> fed = Quadratic.common_hessian(offsets=[1.0, -1.0])
    >>> fed.optimum.tolist(), fed.constants()["dissimilarity"].value
    ([0.0], 1.0)
    """

    def __init__(
        self,
        hessians: Array,
        centres: Array,
        gradient_noise: float | str | Fraction = 0.0,
        noise: str = "two-point",
        server_noise: float | str | Fraction = 0.0,
        objective_weight: Sequence | None = None,
    ) -> None:
        self.exact_centres = exact_array("centres", centres)
        self._keep(hessians, "centres", self.exact_centres, gradient_noise, noise, server_noise)
        if objective_weight is not None:
            self.objective_weight = checked_weights(objective_weight, self.clients)
        check_convex(self.hessians, self.mean_hessian)

    def _keep(
        self, given: Array, name: str, rows: np.ndarray, gradient_noise: object, noise: str, server_noise: object
    ) -> None:
        self.exact_gradient_noise = exact_number("gradient_noise", gradient_noise)
        self.exact_server_noise = exact_number("server_noise", server_noise)
        check_noise(nearest_float(self.exact_gradient_noise), noise, nearest_float(self.exact_server_noise))
        hessians = numbers("hessians", given)
        if rows.ndim != 2 or hessians.shape not in (rows.shape, (*rows.shape, *rows.shape[1:])):
            shapes = f"{hessians.shape} and {rows.shape}"
            raise ValueError(f"hessians and {name} have shapes {shapes}: allowed is (M, D, D) or (M, D), and (M, D)")
        self._given = hessians
        try:
            self.hessians = full_matrices(hessians).astype(float)
        except OverflowError:
            raise ValueError("hessians: allowed are finite numbers, up to 1.79e308") from None
        if not (self.hessians == self.hessians.transpose(0, 2, 1)).all():
            raise ValueError("hessians: allowed are symmetric matrices")
        self.clients, self.dimension = rows.shape
        self.gradient_noise, self.noise = float(self.exact_gradient_noise), noise
        self.server_noise = float(self.exact_server_noise)

    @classmethod
    def common_hessian(
        cls,
        offsets: Array,
        hessian: object = 1,
        gradient_noise: float | str | Fraction = 0.0,
        noise: str = "two-point",
        server_noise: float | str | Fraction = 0.0,
        objective_weight: Sequence | None = None,
    ) -> Quadratic:
        """Make a federation with one Hessian for all clients.

        Args:
            offsets: the clients' minimisers, (clients, D) or, for D = 1, (clients,).
            hessian: a number h (standing for h times the identity), a diagonal (D,) or a matrix (D, D).
        """
        centres = exact_array("offsets", offsets)
        if centres.ndim not in (1, 2):
            raise ValueError(f"offsets has shape {centres.shape}: allowed is (clients,) or (clients, D)")
        centres = centres[:, None] if centres.ndim == 1 else centres
        hessian = numbers("hessian", hessian)
        if hessian.ndim == 0:
            hessian = np.full(centres.shape[1], hessian[()])
        hessians = np.stack([hessian] * len(centres))
        return cls(hessians, centres, gradient_noise, noise, server_noise, objective_weight)

    @classmethod
    def with_slopes(
        cls,
        curvatures: Array,
        slopes: Array,
        gradient_noise: float | str | Fraction = 0.0,
        noise: str = "two-point",
        server_noise: float | str | Fraction = 0.0,
    ) -> Quadratic:
        """Make a federation of F_i(x) = x^T H_i x / 2 + g_i^T x, with H_i symmetric of any sign, and no constant.

        What speaks of one round needs no minimum. Where the mean Hessian is not positive definite, what asks for the
        optimum is refused.

        Args:
            curvatures: H, (clients, D) for diagonals, or (clients, D, D), in units of F/x^2.
            slopes: g, (clients, D), in units of F/x.
            gradient_noise, noise, server_noise: see ``ConvexFederation``.

        >>> fed = Quadratic.with_slopes(curvatures=[[1], [-2]], slopes=[[3], [0]])
        >>> fed.exact_centres.tolist(), fed.constants()["smoothness"].value
        ([[Fraction(-3, 1)], [Fraction(0, 1)]], 2.0)
        """
        self = cls.__new__(cls)
        self.exact_slopes = exact_array("slopes", slopes)
        self._keep(curvatures, "slopes", self.exact_slopes, gradient_noise, noise, server_noise)
        self.tilted = True
        return self

    @cached_property
    def exact_hessians(self) -> np.ndarray:
        """H_i in Fractions, (clients, D, D)."""
        return full_matrices(exact_array("hessians", self._given))

    @cached_property
    def exact_diagonals(self) -> np.ndarray | None:
        """The Hessians' diagonals in Fractions, (clients, D), where all of them are diagonal; else ``None``."""
        if self._given.ndim == 2:
            return exact_array("hessians", self._given)
        if self._given[:, ~np.eye(self.dimension, dtype=bool)].any():
            return None
        return exact_array("hessians", self._given.diagonal(axis1=1, axis2=2))

    tilted = False
    """Whether the clients are kept by their slopes, not by their minimisers."""

    @cached_property
    def exact_slopes(self) -> np.ndarray:
        """grad F_i(0) in Fractions, (clients, D)."""
        if self.exact_diagonals is not None:
            return -self.exact_diagonals * self.exact_centres
        return np.stack([-(h @ c) for h, c in zip(self.exact_hessians, self.exact_centres, strict=True)])

    @cached_property
    def exact_centres(self) -> np.ndarray:
        """c_i with grad F_i(c_i) = 0, in Fractions, (clients, D).

        Raises:
            ValueError: a client has no such point, or several.
        """
        found = []
        for i, (hessian, slope) in enumerate(zip(self.exact_hessians, self.exact_slopes, strict=True)):
            try:
                found.append(solve_exactly(hessian, -slope))
            except StopIteration:
                raise ValueError(f"hessians: client {i}'s is singular, so it has no unique minimiser") from None
        return np.stack(found)

    @cached_property
    def centres(self) -> np.ndarray:
        """c_i, (clients, D) float64."""
        return self.exact_centres.astype(float)

    @cached_property
    def identical(self) -> bool:
        """Whether all clients are the same."""
        points = self.exact_slopes if self.tilted else self.exact_centres
        return bool((self._given == self._given[0]).all() and (points == points[0]).all())

    @cached_property
    def has_optimum(self) -> bool:
        """Whether F has a unique minimiser."""
        return not self.tilted or positive_definite(self.exact_hessian)

    @cached_property
    def _given_products(self) -> Products:
        """Products with the Hessians in float64 on the CPU, where it is seen what they have in common."""
        return products(torch.as_tensor(self.hessians))

    def to(self, device: torch.device | str = "cpu", dtype: torch.dtype | str = "float64") -> Quadratic:
        self._prepare()
        return placed(self, device, dtype)

    def exact_gradient(self, x: Tensor, pairs: Pairs) -> Tensor:
        shifted = x if self.tilted else x - self.centred[pairs.client]
        gradient = self.products.times(shifted, pairs)
        return gradient + self.slopes[pairs.client] if self.tilted else gradient

    def proximal_way(self, x: Tensor, pairs: Pairs, weight: float) -> Tensor:
        """-(H_i + weight I)^-1 grad F_i(x), which is exact up to rounding."""
        inverse = np.linalg.inv(self.hessians + weight * np.eye(self.dimension))
        at = torch.as_tensor(inverse, dtype=x.dtype, device=x.device)[pairs.client]
        return -(at @ self.exact_gradient(x, pairs)[..., None])[..., 0]

    def footprint(self, training: LocalTraining, x: Tensor, limit: int) -> Footprint:
        return linear_footprint(self, training, x)

    def local_change(self, start: Tensor, pairs: Pairs, training: LocalTraining, state: State) -> tuple[Tensor, State]:
        if isinstance(training.steps, tuple):
            return unequal_steps(self, start, pairs, training) - start, state
        if training.solver == PLAIN_SGD:
            return linear_change(self, start, pairs, training), state
        return super().local_change(start, pairs, training, state)

    def loss(self, x: Tensor, pairs: Pairs) -> Tensor:
        if self.tilted:
            return (x * (self.exact_gradient(x, pairs) + self.slopes[pairs.client])).sum(1) / 2
        return ((x - self.centred[pairs.client]) * self.exact_gradient(x, pairs)).sum(1) / 2

    def global_gradient(self, x: Tensor) -> Tensor:
        if not self.has_optimum:
            return x @ self._hessian + self.slopes.mean(0)
        return (x - self._optimum) @ self._hessian

    def global_loss(self, x: Tensor) -> Tensor:
        if not self.has_optimum:
            return (x * (self.global_gradient(x) + self.slopes.mean(0))).sum(1) / 2
        return self.gap(x) + self.optimal_value

    def gap(self, x: Tensor) -> Tensor:
        if not self.has_optimum:
            self.exact_optimum  # noqa: B018 - says why not
        return ((x - self._optimum) * self.global_gradient(x)).sum(1) / 2

    @property
    def exact_weight(self) -> np.ndarray:
        """phi in Fractions, shape (M,): F = sum_i phi_i F_i."""
        return np.array(self.objective_weight or [Fraction(1, self.clients)] * self.clients, dtype=object)

    @cached_property
    def exact_hessian(self) -> np.ndarray:
        """The Hessian of F in Fractions, shape (D, D)."""
        if self.has_common_hessian:
            return full_matrices(exact_array("hessians", self._given[:1]))[0]
        return np.tensordot(self.exact_weight, self.exact_hessians, axes=1)

    @property
    def mean_hessian(self) -> np.ndarray:
        """The Hessian of F in floats; for equal weights, the mean of ``hessians``."""
        return self.hessians.mean(0) if self.objective_weight is None else self.exact_hessian.astype(float)

    @cached_property
    def exact_optimum(self) -> np.ndarray:
        """x* in Fractions, shape (D,): the solution of (sum_i phi_i H_i) x = -sum_i phi_i grad F_i(0).

        Raises:
            ValueError: F has no unique minimiser.
        """
        if not self.has_optimum:
            raise ValueError("hessians: their mean is not positive definite, so there is no unique global minimiser")
        if self.has_common_hessian and not self.tilted:
            return self.exact_weight @ self.exact_centres
        if self.exact_diagonals is not None:
            return -(self.exact_weight @ self.exact_slopes) / (self.exact_weight @ self.exact_diagonals)
        return solve_exactly(self.exact_hessian, -self.exact_weight @ self.exact_slopes)

    @cached_property
    def _rounded_optimum(self) -> np.ndarray:
        """The floats nearest to x*."""
        found = self._nearest()
        return self.exact_optimum.astype(float) if found is None else found

    def from_optimum(self, points: np.ndarray) -> np.ndarray:
        """The floats nearest to p - x* for each of the points p in Fractions, (number, D).

        Raises:
            ValueError: F has no unique minimiser.

        >>> fed = Quadratic([[[3.0, 0], [0, 1]]], [[0.1, 2.0]])
        >>> fed.from_optimum(fed.exact_centres).tolist()
        [[0.0, 0.0]]
        """
        floats = points.astype(float)
        known = "exact_optimum" in self.__dict__ or not self.has_optimum or (floats != points).any()
        found = None if known else self._nearest(floats)
        return (points - self.exact_optimum).astype(float) if found is None else found

    def _nearest(self, points: np.ndarray | None = None) -> np.ndarray | None:
        """``nearest_minimiser``, where it takes less time than Fractions do."""
        apart = self.exact_diagonals is None and not (self.has_common_hessian and not self.tilted)
        if apart and self._given.dtype == float and not self.tilted and self.objective_weight is None:
            centres = self.exact_centres.astype(float)
            if (centres == self.exact_centres).all():
                return nearest_minimiser(self.hessians, centres, points)
        return None

    @property
    def optimum(self) -> Tensor:
        return torch.as_tensor(self._rounded_optimum)

    @cached_property
    def exact_optimal_value(self) -> Fraction:
        """F(x*) as a Fraction."""
        if self.tilted:
            return self.exact_slopes.sum(0) @ self.exact_optimum / (2 * self.clients)
        shifted = self.exact_optimum - self.exact_centres
        values = [s @ h @ s for h, s in zip(self.exact_hessians, shifted, strict=True)]
        return sum(p * value for p, value in zip(self.exact_weight, values, strict=True)) / 2

    @property
    def optimal_value(self) -> float:
        return float(self.exact_optimal_value)

    @cached_property
    def has_common_hessian(self) -> bool:
        """Whether all clients have the same Hessian."""
        return bool((self._given == self._given[0]).all())

    @cached_property
    def exact_squared_dissimilarity(self) -> Fraction:
        """max_i |grad F_i(x) - grad F(x)|^2, the same at every x.

        Raises:
            ValueError: the Hessians differ, so it is unbounded over R^D.
        """
        if not self.has_common_hessian:
            raise ValueError("hessians differ between clients: the dissimilarity is then infinite")
        gradients = self.exact_slopes - self.exact_weight @ self.exact_slopes
        return max(g @ g for g in gradients)

    @cached_property
    def _exact_squared_gradient_at_optimum(self) -> Fraction:
        gradients = [h @ self.exact_optimum + g for h, g in zip(self.exact_hessians, self.exact_slopes, strict=True)]
        return max(g @ g for g in gradients)

    def exact_constants(self) -> dict[str, Fraction]:
        noise = {"gradient_noise": self.exact_gradient_noise, "server_noise": self.exact_server_noise}
        off_diagonal = self.exact_hessians[:, ~np.eye(self.dimension, dtype=bool)]
        if off_diagonal.any():
            return noise
        curvatures = self.exact_hessians.diagonal(axis1=1, axis2=2)
        return {"smoothness": abs(curvatures).max(), "strong_convexity": curvatures.min(), **noise}

    def exact_squared_constants(self) -> dict[str, Fraction]:
        squares = {"dissimilarity": self.exact_squared_dissimilarity} if self.has_common_hessian else {}
        if self.has_optimum:
            squares["dissimilarity_at_optimum"] = self._exact_squared_gradient_at_optimum
        return squares

    def constants(self, region: Region | None = None) -> Constants:
        return self._constants if region is None else self._constants_on(region)

    @cached_property
    def _constants(self) -> Constants:
        return self._constants_on(None)

    def _constants_on(self, region: Region | None) -> Constants:
        spectra = np.linalg.eigvalsh(self.hessians)
        least = float(spectra.min()) if self.tilted else max(0.0, float(spectra.min()))  # else rounding alone is below
        return Constants(
            {
                "smoothness": Constant(float(np.abs(spectra).max()), EXACT, "largest Hessian eigenvalue of a client"),
                "strong_convexity": Constant(least, EXACT, "smallest Hessian eigenvalue"),
                **self._dissimilarities(region),
                "gradient_noise": Constant(self.gradient_noise, EXACT, "as constructed"),
                **self._known_server_noise(),
            }
        )

    def _dissimilarities(self, region: Region | None) -> dict[str, Constant]:
        if not self.has_optimum:
            value = float(self.exact_squared_dissimilarity) ** 0.5 if self.has_common_hessian else float("inf")
            return {"dissimilarity": Constant(value, EXACT, "common Hessian: the same at every x, else unbounded")}
        residuals = self._gradients_at_optimum()
        at_optimum = float(np.linalg.norm(residuals, axis=1).max())
        return {
            "dissimilarity": self._dissimilarity(residuals, region),
            "dissimilarity_at_optimum": Constant(at_optimum, EXACT, "largest client gradient at x*"),
        }

    def _gradients_at_optimum(self) -> np.ndarray:
        if self.tilted:
            return self.exact_slopes.astype(float) + self.hessians @ self._rounded_optimum
        shifted = self._rounded_optimum - self.centres
        return np.einsum("ijk,ik->ij", self.hessians, shifted)

    def _dissimilarity(self, residuals: np.ndarray, region: Region | None) -> Constant:
        """sup of |(H_i - H)(x - x*) + grad F_i(x*)| over x and i."""
        if self.has_common_hessian:
            value = float(np.linalg.norm(residuals, axis=1).max())
            return Constant(value, EXACT, "common Hessian: the same at every x")
        if region is None:
            return Constant(float("inf"), EXACT, "Hessians differ: unbounded over R^D")
        deviations = self.hessians - self.mean_hessian
        if np.shape(region.centre) != (self.dimension,):
            raise ValueError(f"region's centre has shape {np.shape(region.centre)}: allowed is ({self.dimension},)")
        shift = np.asarray(region.centre) - self._rounded_optimum
        at_centre = np.linalg.norm(residuals + deviations @ shift, axis=1)
        value = (at_centre + region.radius * np.linalg.norm(deviations, ord=2, axis=(1, 2))).max()
        return Constant(float(value), BOUND, "value at the ball's centre plus radius times spectral norm")


# Arguments ------------------------------------------------------------------------------------------------------------


def numbers(name: str, values: object) -> np.ndarray:
    """Convert an array of numpy's floats to float64, and anything else, such as a list of floats, to Fractions.

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
    weights = tuple(exact_array("objective_weight", listed("objective_weight", values)).tolist())
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
