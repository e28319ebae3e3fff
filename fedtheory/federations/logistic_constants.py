"""The constants of regularised multinomial logistic regression, each proved."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..extras import torch
from ..loops.square_roots import square_root
from .constants import BOUND, EXACT, Constant, Constants, Region
from .logistic_optimum import Optimum

if TYPE_CHECKING:
    from torch import Tensor

_ROUNDING = 1 + 1e-12  # bounds are inflated by more than the rounding of the float64 arithmetic behind them


class LogisticConstants:
    """Constants of F_i(W) = mean_s ce(W a_s, y_s) + (l2/2) |W|^2, i = 1..M, C classes, and F = mean_i F_i.

    Notation: p_s = softmax(W a_s), residual r_s = p_s - e_{y_s}, data gradient g_i = mean_s r_s a_s^T (without the
    regulariser), lambda_i the largest eigenvalue of mean_s a_s a_s^T, u = (1/C, ..., 1/C).
    The Hessian of F_i is l2 I + mean_s S_s (x) a_s a_s^T with S_s = diag(p_s) - p_s p_s^T.

    **strong_convexity = l2, exact**, on R^D and on every region. S_s is positive semidefinite and S_s 1 = 0. So no
    eigenvalue of the Hessian is below l2, and directions that add one vector to all w_c have eigenvalue l2, at
    every W and for every client.

    **smoothness <= l2 + max_i lambda_i / 2.** S_s <= I/2: by Gershgorin's theorem its eigenvalues are at most
    max_c 2 p_c (1 - p_c) <= 1/2. This is the exact supremum over R^D if C = 2 (attained at W = 0), or if the entries
    of every nonzero row (of the client that attains the maximum) have a positive sum: with w_1 = w_2 = 0 and
    w_c = -t (1, ..., 1) for the other classes, all p_s of nonzero rows tend to (1/2, 1/2, 0, ...) as t grows, and
    the Hessian's largest eigenvalue to l2 + lambda_i / 2. Otherwise, and on regions, it is a bound.

    **dissimilarity** = max_i sup_W |d_i|, where d_i = grad F_i - grad F = (1 - 1/M) (g_i - rest_i) and rest_i is the
    mean of g_j over j != i: the regulariser cancels. The minimum of up to three bounds, see ``_triangle``,
    ``_relaxation`` and ``_from_centre``.

    **dissimilarity_at_optimum** = max_i |grad F_i(x*)| <= max_i |grad F_i(x)| + smoothness * |x - x*| at the point x
    that was found, whose distance from x* is certified.

    Args:
        blocks: for each client its rows (n_i, p), float64.
        targets: for each client its labels (n_i,), int64.
        classes, l2: C and the regularisation.
    """

    def __init__(self, blocks: list[Tensor], targets: list[Tensor], classes: int, l2: float) -> None:
        self.blocks, self.targets, self.classes, self.l2 = blocks, targets, classes, l2
        self.clients = len(blocks)
        self.others = 1.0 - 1.0 / self.clients  # the factor (1 - 1/M)
        self._last: tuple[Optimum, Constant] | None = None  # the optimum asked about last, and the answer

    def at(self, optimum: Optimum, gradient_noise: float, region: Region | None) -> Constants:
        """All constants, on R^D or on ``region``."""
        return Constants(
            {
                "smoothness": self._smoothness(region),
                "strong_convexity": Constant(self.l2, EXACT, "l2: the softmax Hessian is singular everywhere"),
                "dissimilarity": self._dissimilarity(region),
                "dissimilarity_at_optimum": self._at_optimum(optimum),
                "gradient_noise": Constant(gradient_noise, EXACT, "given"),
            }
        )

    def _smoothness(self, region: Region | None) -> Constant:
        value = self.l2 + 0.5 * float(self._curvatures.max())
        rows = self.blocks[int(self._curvatures.argmax())]
        supremum = self.classes == 2 or bool(((rows.sum(1) > 0) | (rows == 0).all(1)).all())
        if region is None and supremum:
            return Constant(value, EXACT, "l2 + max_i lambda_max(A_i'A_i/n_i)/2, the supremum over R^D")
        return Constant(value * _ROUNDING, BOUND, "l2 + max_i lambda_max(A_i'A_i/n_i)/2")

    def _dissimilarity(self, region: Region | None) -> Constant:
        if self.clients == 1:
            return Constant(0.0, EXACT, "one client")
        bounds, how = torch.minimum(self._triangle, self._relaxation), "over R^D: residuals relaxed to free ones"
        if region is not None:
            local = self._from_centre(region)
            if local.max() < bounds.max():
                how = "on the region: at its centre, plus radius times a Lipschitz constant"
            bounds = torch.minimum(bounds, local)
        return Constant(float(bounds.max()) * _ROUNDING, BOUND, how)

    def _at_optimum(self, optimum: Optimum) -> Constant:
        if self._last is None or self._last[0] is not optimum:
            self._last = (optimum, self._computed_at(optimum))
        return self._last[1]

    def _computed_at(self, optimum: Optimum) -> Constant:
        x = optimum.x.view(self.classes, -1)
        largest = float((self._data_gradients(x) + self.l2 * x).flatten(1).norm(dim=1).max())
        slack = self._smoothness(None).value * optimum.gradient_norm / self.l2
        return Constant((largest + slack) * _ROUNDING, BOUND, "max_i |grad F_i| at the optimum, plus its certificate")

    # Bounds on the dissimilarity, one entry a client.

    @cached_property
    def _triangle(self) -> Tensor:
        """|d_i| <= (1 - 1/M) (|g_i| + |rest_i|) <= (1 - 1/M) sqrt(2) (size_i + rest size_i), as |r_s| <= sqrt(2)."""
        return self.others * 2**0.5 * (self._sizes + self._rest_sizes)

    @cached_property
    def _relaxation(self) -> Tensor:
        """|d_i|^2 <= |d_i(0)|^2 + 2 linear_i + quadratic_i: every p_s is allowed anywhere in the simplex.

        At W = 0 all p_s are u. With q_s = p_s - u and signed weights v_s, (1 - 1/M) / n_i for rows of client i and
        -1 / (M n_j) for those of j, d_i = d_i(0) + sum_s v_s q_s a_s^T. Expand the square:

        - linear_i bounds <d_i(0), sum_s v_s q_s a_s^T> = sum_s v_s q_s . z_s with z_s = d_i(0) a_s. The entries of
          z_s sum to 0, like those of every residual; so v_s q_s . z_s <= v_s max z_s, or v_s min z_s where v_s < 0:
          the exact maximum over the simplex.
        - quadratic_i bounds |sum_s v_s q_s a_s^T|^2, where |q_s|^2 <= 1 - 1/C. In general by the triangle
          inequality, (1 - 1/C) (1 - 1/M)^2 (size_i + rest size_i)^2. For rows with non-negative entries it is
          sum_{s,t} v_s v_t (q_s . q_t) (a_s . a_t) with a_s . a_t >= 0 and -1/C <= q_s . q_t <= 1 - 1/C, so at most
          (1 - 1/M)^2 ((1 - 1/C) (|mean_i|^2 + |rest mean_i|^2) + (2/C) mean_i . rest mean_i).
        """
        at_zero = self._differences(torch.zeros(self.classes, self.blocks[0].shape[1], dtype=torch.float64))
        square = at_zero.square().sum((1, 2)) + 2 * self._linear(at_zero) + self._quadratic()
        return square_root(square)

    def _linear(self, at_zero: Tensor) -> Tensor:
        rising, falling = [], []  # for rows of client j (first index) and d_i(0) (second): mean max z, mean max -z
        for rows in self.blocks:
            z = (rows @ at_zero.flatten(0, 1).T).view(len(rows), self.clients, self.classes)
            rising.append(z.amax(2).mean(0))
            falling.append(-z.amin(2).mean(0))
        own, every, own_falling = torch.stack(rising).diagonal(), torch.stack(falling).sum(0), torch.stack(falling)
        return self.others * own + (every - own_falling.diagonal()) / self.clients

    def _quadratic(self) -> Tensor:
        spread = 1.0 - 1.0 / self.classes
        if any(bool((rows < 0).any()) for rows in self.blocks):
            return spread * self.others**2 * (self._sizes + self._rest_sizes) ** 2
        means = torch.stack([rows.mean(0) for rows in self.blocks])
        rest = self._rest_mean(means)
        squares = means.square().sum(1) + rest.square().sum(1)
        return self.others**2 * (spread * squares + (2.0 / self.classes) * (means * rest).sum(1))

    def _from_centre(self, region: Region) -> Tensor:
        """|d_i(x)| <= |d_i(centre)| + radius * Lipschitz constant of d_i.

        The derivative of d_i is (1 - 1/M) (H_i - mean of H_j over j != i) with positive semidefinite data Hessians H;
        the norm of a difference of two such is at most the larger of theirs, here lambda/2 of client i or the rest.
        """
        centre = torch.as_tensor(np.asarray(region.centre, dtype=np.float64)).view(self.classes, -1)
        curvature = 0.5 * torch.maximum(self._curvatures, self._rest_curvatures)
        return self._differences(centre).flatten(1).norm(dim=1) + region.radius * self.others * curvature

    # Summaries of the data, one entry a client.

    @cached_property
    def _curvatures(self) -> Tensor:
        """lambda_i, (M,)."""
        return torch.stack([_largest_eigenvalue(rows) for rows in self.blocks])

    @cached_property
    def _total_curvature(self) -> Tensor:
        """The largest eigenvalue of mean_i mean_s a_s a_s^T."""
        return torch.linalg.eigvalsh(sum(rows.T @ rows / len(rows) for rows in self.blocks) / self.clients)[-1]

    @cached_property
    def _rest_curvatures(self) -> Tensor:
        """Bounds on the largest eigenvalue of mean_{j != i} mean_s a_s a_s^T: the mean of the lambda_j, and that of the
        total, which contains (1 - 1/M) times this matrix."""
        return self._rest_mean(self._curvatures).clamp(max=self._total_curvature / self.others)

    @cached_property
    def _sizes(self) -> Tensor:
        """size_i = min(mean_s |a_s|, sqrt(lambda_i)): |mean_s b_s a_s^T| <= size_i whenever all |b_s| <= 1, by the
        triangle inequality, or as the norm of (1/n) B^T A is at most |B| |A|_2 / n with |B| <= sqrt(n)."""
        lengths = torch.stack([rows.norm(dim=1).mean() for rows in self.blocks])
        return torch.minimum(lengths, square_root(self._curvatures))

    @cached_property
    def _rest_sizes(self) -> Tensor:
        """The ``_sizes`` for the mean over the clients j != i."""
        return torch.minimum(self._rest_mean(self._sizes), square_root(self._rest_curvatures))

    def _rest_mean(self, values: Tensor) -> Tensor:
        """The mean over j != i of what is given for each client."""
        return (values.sum(0) - values) / (self.clients - 1)

    def _differences(self, x: Tensor) -> Tensor:
        """d_i at x (C, p), shape (M, C, p)."""
        gradients = self._data_gradients(x)
        return gradients - gradients.mean(0)

    def _data_gradients(self, x: Tensor) -> Tensor:
        """g_i at x (C, p), shape (M, C, p)."""
        return torch.stack([self._data_gradient(x, i) for i in range(self.clients)])

    def _data_gradient(self, x: Tensor, client: int) -> Tensor:
        rows, labels = self.blocks[client], self.targets[client]
        residuals = torch.softmax(rows @ x.T, dim=1) - torch.nn.functional.one_hot(labels, self.classes)
        return residuals.T @ rows / len(rows)


def _largest_eigenvalue(rows: Tensor) -> Tensor:
    """The largest eigenvalue of A^T A / n, from the smaller of A^T A and A A^T."""
    gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    return torch.linalg.eigvalsh(gram)[-1].clamp(min=0.0) / len(rows)
