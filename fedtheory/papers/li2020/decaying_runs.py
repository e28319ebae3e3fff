"""FedAvg's exact errors on quadratic clients, for steps of any sizes.

F_k(x) = sum over d of h_kd (x_d - c_kd)^2/2, so that coordinates do not meet: given the round's start x, a client's
model is a x + b + noise in each, and E x and E x^2 of the server's model follow from those of the round before. The
same lines in floats, Fractions and balls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .statements.theorems import BY_WEIGHT, UNIFORM

TOGETHER = 512
"""Number of rounds whose training is computed at once."""


@dataclass(frozen=True, eq=False)
class Training:
    """Clients, and how they train.

    Attributes:
        curvatures, minimisers: (N, D), h and c.
        weights: (N,), p, which sum to 1.
        noises: (N,), standard deviations of a client's stochastic gradient, the same share in every coordinate.
        start: (D,).
        cohort: whose models are averaged, an option of the claims.
        drawn: S, where some are drawn.
        local_steps: E.
        common_noise: whether all clients' noises are one, times their deviations, instead of independent.
    """

    curvatures: np.ndarray
    minimisers: np.ndarray
    weights: np.ndarray
    noises: np.ndarray
    start: np.ndarray
    cohort: str
    drawn: int
    local_steps: int
    common_noise: bool = False

    @property
    def mean_curvature(self) -> np.ndarray:
        """The curvatures of F, (D,)."""
        return self.weights @ self.curvatures

    @property
    def optimum(self) -> np.ndarray:
        """The minimiser x*, (D,)."""
        return self.weights @ (self.curvatures * self.minimisers) / self.mean_curvature

    @property
    def constants(self) -> dict[str, Any]:
        """The constants L, mu, sum of p_k^2 sigma_k^2 and Gamma."""
        apart = self.curvatures * (self.minimisers - self.optimum) ** 2
        return {
            "smoothness": self.curvatures.max(),
            "strong_convexity": self.curvatures.min(),
            "weighted_noise": self.weights**2 @ self.noises**2,
            "heterogeneity_gap": (self.weights @ apart).sum() / 2,
        }

    @property
    def spread(self) -> Any:
        """E of (mean of the drawn z_k - sum p_k z_k)^2 over sum p_k z_k^2 - (sum p_k z_k)^2."""
        clients, one = len(self.weights), self.weights.sum()
        if self.cohort == BY_WEIGHT:
            return one / self.drawn
        return one * (clients - self.drawn) / (self.drawn * max(1, clients - 1)) if self.cohort == UNIFORM else one * 0

    def errors(self, steps: Sequence[Any] | np.ndarray) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """Compute after each round E F(x) - F*, E|x - x*|^2, and E|stochastic gradient|^2 of every client and step in
        it.

        Args:
            steps: the sizes of all steps, E for each round.
        """
        if self.curvatures.dtype == float and not self.common_noise and len(steps) % self.local_steps == 0:
            yield from self._in_floats(np.asarray(steps, dtype=float))
            return
        dimension = self.curvatures.shape[1]
        h, p, one = self.curvatures, self.weights[:, None], self.weights.sum()
        c = self.minimisers - self.optimum
        pull, variance = h * c, self.noises[:, None] ** 2 / dimension + h * 0
        mean = self.start - self.optimum
        square, f = mean**2, self.spread
        alone = (p**2 + f * (p - p**2)) + h * 0
        for first in range(0, len(steps), self.local_steps):
            a, b, v = h * 0 + one, h * 0, h * 0
            common: list[np.ndarray] = []
            seen: list[np.ndarray] = []
            for eta in steps[first : first + self.local_steps]:
                away = a**2 * square + 2 * a * (b - c) * mean + (b - c) ** 2 + v
                seen.append((h**2 * away).sum(1) + self.noises**2)
                keep = 1 - eta * h
                a, b, v = keep * a, keep * b + eta * pull, keep**2 * v + eta**2 * variance
                if self.common_noise:
                    common = [keep * z for z in common] + [eta * self.noises[:, None] + h * 0]
            shared = [_drawn(z, p, f) / dimension for z in common] if self.common_noise else [(alone * v).sum(0)]
            A, B = (p * a).sum(0), (p * b).sum(0)
            both = (p * a**2).sum(0) * square + 2 * (p * a * b).sum(0) * mean + (p * b**2).sum(0)
            of_mean = A**2 * square + 2 * A * B * mean + B**2
            mean, square = A * mean + B, of_mean + f * (both - of_mean) + sum(shared)
            yield (self.mean_curvature * square).sum() / 2, square.sum(), np.concatenate(seen)

    def _in_floats(self, steps: np.ndarray) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """Follow the training of many rounds at once, in floats: it does not depend on where they start."""
        from ...loops.line_runs import follow, gradients, train  # lazily: a compiler comes with them

        h, p, f = self.curvatures, self.weights[:, None], self.spread
        c = self.minimisers - self.optimum
        pull, variance = h * c, self.noises[:, None] ** 2 / h.shape[1] + h * 0
        mean = self.start - self.optimum
        square, alone = mean**2, (p**2 + f * (p - p**2)) + h * 0
        rounds = steps.reshape(-1, self.local_steps)
        for block in (rounds[first : first + TOGETHER] for first in range(0, len(rounds), TOGETHER)):
            slopes, offsets, variances = np.empty((3, self.local_steps + 1, len(block), *h.shape))
            train(block, h, pull, variance, slopes, offsets, variances)
            a, b, v = slopes[-1], offsets[-1], variances[-1]
            A, B, noise = (p * a).sum(1), (p * b).sum(1), (alone * v).sum(1)
            both = np.array([(p * a**2).sum(1), 2 * (p * a * b).sum(1), (p * b**2).sum(1)])
            alike = np.array([A**2, 2 * A * B, B**2])
            means, squares = np.empty((2, len(block) + 1, h.shape[1]))
            means[0], squares[0] = mean, square
            follow(both, alike, np.array([A, B]), noise, float(f), means, squares)
            mean, square = means[-1], squares[-1]
            seen = np.empty((len(block), self.local_steps, *h.shape))
            gradients(slopes, offsets, variances, c, h, means[:-1], squares[:-1], seen)
            after = squares[1:]
            gaps, totals = (self.mean_curvature * after).sum(1) / 2, after.sum(1)
            yield from zip(gaps, totals, (seen.sum(3) + self.noises**2).reshape(len(block), -1), strict=True)


def _drawn(z: np.ndarray, p: np.ndarray, f: Any) -> np.ndarray:
    """E of (mean of the drawn z)^2."""
    mean = (p * z).sum(0) ** 2
    return mean + f * ((p * z**2).sum(0) - mean)
