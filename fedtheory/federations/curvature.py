"""The extreme curvatures of the clients' objectives at a point, from gradients alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import acosh, sqrt, tanh

import numpy as np
import scipy
import torch
from torch import Tensor

from ..randomness import Axis, normals, words
from .federation import ExactFederation, Pairs

_BYTES = 2**27
"""Size that the basis of the pairs that are done together may reach."""

Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Curvatures:
    """Extreme eigenvalues of the Hessians of some clients at one point, each (clients,) float64, in increasing order of
    their numbers.

    Attributes:
        least, most: Rayleigh quotients, so that they lie between the true extremes but for ``step_error``.
        outside: by how much the true ones may be further out, with the confidence asked for.
        step_error: what differences of gradients leave open.
    """

    least: np.ndarray
    most: np.ndarray
    outside: np.ndarray
    step_error: np.ndarray


def curvatures(
    fed: ExactFederation,
    x: Tensor,
    *,
    length: float,
    steps: int,
    failure: float,
    seed: int,
    clients: Sequence[int] | None = None,
) -> Curvatures:
    r"""Bound the spectra of the Hessians of F_i at x (D,) by Lanczos iteration, for all clients, or these, at once.

    A product is (grad F_i(x + h v) - grad F_i(x - h v)) / (2 h), of error O(h^2): exact for quadratic objectives but
    for rounding.

    Take a random start on the sphere, a spectrum in [a, b] and k steps. The largest Rayleigh quotient falls below
    b - e (b - a) with a probability of at most P(|u_1| < 1 / cosh((2k - 1) artanh \sqrt e)). Here u_1 is a coordinate
    of a uniform point of the sphere in R^D, so that u_1^2 is Beta(1/2, (D-1)/2). The bound holds at the other end too.
    Proof: scale the spectrum to t_j in [0, 1], t_1 = 1. If the quotient falls so low, then
    sum_j (t_j - (1-e)) q(t_j)^2 u_j^2 < 0 for every polynomial q of degree k - 1. Take that q for which
    \sqrt{1 - s} q = sin((2k-1) phi) at s = t/(1-e) = cos^2 phi. Where t <= 1 - e, (1-e-t) q^2 <= 1 - e; and
    e q(1)^2 = (1-e) sinh^2((2k-1) artanh \sqrt e). Hence u_1^2 sinh^2((2k-1) artanh \sqrt e) < 1 - u_1^2.

    Args:
        length: the size of x that counts as one unit; h is the cube root of the precision times it.
        steps: k, the products with each Hessian; at most D are made.
        failure: the probability with which one of the two ends of one client may lie outside.

    Source: J. Kuczynski and H. Wozniakowski, "Estimating the largest eigenvalue by the power and Lanczos algorithms
    with a random start", 1992, for bounds of this kind.
    """
    steps, clients = min(steps, fed.dimension), range(fed.clients) if clients is None else sorted(clients)
    size = max(1, _BYTES // (steps * fed.dimension * x.element_size()))
    parts = []
    for first in range(0, len(clients), size):
        chosen = torch.zeros(1, fed.clients, dtype=torch.bool, device=x.device)
        chosen[:, list(clients[first : first + size])] = True
        parts.append(_of_some(fed, x, Pairs.of(chosen, torch.zeros_like(chosen[:, 0]).long(), seed, 0), length, steps))
    least, most, step_error, complete = (np.concatenate(column) for column in zip(*parts, strict=True))
    share = _missed_share(fed.dimension, steps, failure)
    # The true spread is at most the one seen plus what either end may miss.
    outside = share * (most - least) / (1 - 2 * share) if share < 0.5 else np.full(len(clients), np.inf)
    return Curvatures(least, most, np.where(complete, 0.0, outside), step_error)


def _of_some(fed: ExactFederation, x: Tensor, pairs: Pairs, length: float, steps: int) -> tuple[np.ndarray, ...]:
    """Least and most, the steps' error, and whether all directions were exhausted; each (pairs,)."""
    precision = torch.finfo(x.dtype).eps
    h = precision ** (1 / 3) * length

    def product(v: Tensor, step: float = h) -> Tensor:
        ahead, behind = x + step * v, x - step * v
        return (fed.exact_gradient(ahead, pairs) - fed.exact_gradient(behind, pairs)) / (2 * step)

    # A replica that no simulation has, and that no estimate of clients' noise has either.
    start = normals(words(pairs.seed, Axis.GRADIENT_NOISE, -2, pairs.client, 0, 0), fed.dimension).to(x)
    basis, matrix, complete = _lanczos(product, start, steps, tolerance=precision ** (2 / 3))
    values, vectors = np.linalg.eigh(matrix)
    rounding = precision / h * fed.exact_gradient(x.expand(len(pairs), -1), pairs).norm(dim=1).double().cpu().numpy()
    error = 8 * rounding
    for end in (0, -1):
        ritz = torch.einsum("kpd,pk->pd", basis, torch.as_tensor(vectors[:, :, end]).to(x))
        changed = ((product(ritz) - product(ritz, 2 * h)) * ritz).sum(1)
        error = error + changed.abs().double().cpu().numpy()
    return values[:, 0], values[:, -1], error, complete


def _lanczos(product: Product, start: Tensor, steps: int, tolerance: float) -> tuple[Tensor, np.ndarray, np.ndarray]:
    """An orthonormal basis (steps, P, D), the matrix of the products in it (P, steps, steps) float64, and whether the
    basis spans all directions that matter. A basis that is exhausted early goes on with zero vectors."""
    v = start / start.norm(dim=1, keepdim=True)
    basis = start.new_zeros(steps, *start.shape)
    diagonal = np.zeros((len(start), steps))
    beside = np.zeros((len(start), steps))
    scale = np.zeros(len(start))
    for k in range(steps):
        basis[k] = v
        w = product(v)
        diagonal[:, k] = (v * w).sum(1).double().cpu().numpy()
        scale = np.maximum(scale, w.norm(dim=1).double().cpu().numpy())
        for _ in range(2):  # twice is enough for orthogonality to working precision
            w = w - torch.einsum("kpd,kp->pd", basis[: k + 1], torch.einsum("kpd,pd->kp", basis[: k + 1], w))
        left = w.norm(dim=1)
        going = left > tolerance * torch.as_tensor(scale).to(left)
        beside[:, k] = torch.where(going, left, 0).double().cpu().numpy()
        v = torch.where(going[:, None], w / torch.where(going, left, 1)[:, None], torch.zeros_like(w))
    gone = (torch.linalg.vector_norm(basis, dim=2) == 0).T.cpu().numpy()
    diagonal = np.where(gone, diagonal[:, :1], diagonal)  # within the spectrum: it adds no extreme value
    matrix = np.zeros((*diagonal.shape, steps))
    at = np.arange(steps)
    matrix[:, at, at] = diagonal
    matrix[:, at[1:], at[:-1]] = matrix[:, at[:-1], at[1:]] = beside[:, :-1]
    return basis, matrix, (steps == start.shape[1]) | (beside[:, -1] == 0)


def _missed_share(dimension: int, steps: int, failure: float) -> float:
    """e of ``curvatures`` for one client: the share of the spread that either end misses with a probability of at
    most ``failure`` / 2."""
    if dimension == 1:
        return 0.0
    coordinate = sqrt(scipy.special.betaincinv(0.5, (dimension - 1) / 2, failure / 2))
    return tanh(acosh(1 / coordinate) / (2 * steps - 1)) ** 2
