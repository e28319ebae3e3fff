"""The minimiser of a regularised logistic loss, found to a certified gradient norm."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..extras import torch

if TYPE_CHECKING:
    from torch import Tensor


# The gradient norm asked for, relative to that at 0. Double precision reaches about 1e-16 times the size of the
# gradient's summands, hence the second number, for problems whose gradient at 0 nearly cancels.
_TOLERANCE, _FLOOR = 1e-10, 1e-13
_NEWTON_STEPS, _CG_STEPS, _HALVINGS = 100, 5000, 60


@dataclass(frozen=True)
class Optimum:
    """A point with a certificate: by l2-strong convexity |x - x*| <= |grad F(x)| / l2.

    Attributes:
        x: (D,) float64.
        value: F(x).
        gradient_norm: |grad F(x)|.
    """

    x: Tensor
    value: float
    gradient_norm: float


def minimise(rows: Tensor, labels: Tensor, weights: Tensor, classes: int, l2: float) -> Optimum:
    """Minimise F(W) = sum_s weights_s (cross-entropy of row s) + (l2/2) |W|^2 by Newton's method.

    Newton's directions come from conjugate gradients, solved ever more precisely (so that convergence is
    superlinear); steps are halved until they decrease F. Started at 0.

    Args:
        rows: (N, p) float64; labels: (N,) int64; weights: (N,) float64, positive.

    Raises:
        RuntimeError: if no point is found with |grad F| <= 1e-10 |grad F(0)|, or <= 1e-13 sum_s weights_s |a_s| if
            that is larger.

    >>> one = torch.ones(2, 1, dtype=torch.float64)
    >>> minimise(one, torch.tensor([0, 1]), one[:, 0] / 2, classes=2, l2=1.0).x.tolist()
    [0.0, 0.0]
    """
    problem = _Problem(rows, labels, weights, classes, l2)
    x = torch.zeros(classes, rows.shape[1], dtype=torch.float64)
    value, gradient, probabilities = problem.evaluate(x)
    start = float(gradient.norm())
    target = max(_TOLERANCE * start, _FLOOR * float(weights @ rows.norm(dim=1)))
    for _ in range(_NEWTON_STEPS):
        norm = float(gradient.norm())
        if norm <= target:
            return Optimum(x.flatten(), value, norm)
        forcing = max(min(0.1, norm / start), 0.1 * target / norm)
        step = _conjugate_gradients(partial(problem.curve, probabilities), -gradient, forcing)
        x, value, gradient, probabilities = _damped(problem, x, value, gradient, step)
    raise RuntimeError(f"no optimum: |grad F| = {norm:.3e} after {_NEWTON_STEPS} Newton steps, {target:.3e} is asked")


_KNOWN: OrderedDict[bytes, Optimum] = OrderedDict()
_MOST_KNOWN = 32


def minimised(rows: Tensor, labels: Tensor, weights: Tensor, classes: int, l2: float) -> Optimum:
    """``minimise``, once for the same content: the last ``_MOST_KNOWN`` minimisers are kept while the program runs.

    Raises:
        RuntimeError: as ``minimise``.

    >>> one = torch.ones(2, 1, dtype=torch.float64)
    >>> first = minimised(one, torch.tensor([0, 1]), one[:, 0] / 2, classes=2, l2=1.0)
    >>> minimised(one.clone(), torch.tensor([0, 1]), one[:, 0] / 2, classes=2, l2=1.0) is first
    True
    """
    content = hashlib.sha256(f"{tuple(rows.shape)} {classes} {l2!r} {_TOLERANCE} {_FLOOR}".encode())
    for part in (rows, labels, weights):
        content.update(part.contiguous().numpy().data)
    key = content.digest()
    if key not in _KNOWN:
        _KNOWN[key] = minimise(rows, labels, weights, classes, l2)
        if len(_KNOWN) > _MOST_KNOWN:
            _KNOWN.popitem(last=False)
    _KNOWN.move_to_end(key)
    return _KNOWN[key]


class _Problem:
    """F with its derivatives; W and its like have shape (C, p)."""

    def __init__(self, rows: Tensor, labels: Tensor, weights: Tensor, classes: int, l2: float) -> None:
        self.rows, self.labels, self.weights, self.l2 = rows, labels[:, None], weights, l2

    def evaluate(self, x: Tensor) -> tuple[float, Tensor, Tensor]:
        """F(W), its gradient, and the class probabilities (N, C)."""
        log_probabilities = torch.log_softmax(self.rows @ x.T, dim=1)
        value = -self.weights @ log_probabilities.gather(1, self.labels)[:, 0] + 0.5 * self.l2 * x.square().sum()
        probabilities = log_probabilities.exp()
        minus_one = torch.full_like(self.weights, -1.0)[:, None]
        residuals = probabilities.scatter_add(1, self.labels, minus_one) * self.weights[:, None]
        return float(value), residuals.T @ self.rows + self.l2 * x, probabilities

    def curve(self, probabilities: Tensor, v: Tensor) -> Tensor:
        """The Hessian at the point of those probabilities, times v."""
        scores = probabilities * (self.rows @ v.T)
        scores -= probabilities * scores.sum(1, keepdim=True)
        return (scores * self.weights[:, None]).T @ self.rows + self.l2 * v


def _conjugate_gradients(product: Callable[[Tensor], Tensor], right: Tensor, tolerance: float) -> Tensor:
    """An approximate solution of H v = right with |H v - right| <= tolerance |right|."""
    solution, residual = torch.zeros_like(right), right.clone()
    direction, square = residual.clone(), float(residual.square().sum())
    limit = tolerance**2 * square
    for _ in range(_CG_STEPS):
        if square <= limit:
            break
        image = product(direction)
        length = square / float((direction * image).sum())
        solution += length * direction
        residual -= length * image
        previous, square = square, float(residual.square().sum())
        direction = residual + (square / previous) * direction
    return solution


def _damped(
    problem: _Problem, x: Tensor, value: float, gradient: Tensor, step: Tensor
) -> tuple[Tensor, float, Tensor, Tensor]:
    """The first of x + step, x + step/2, x + step/4, ... that decreases F enough, with F and its derivatives there.

    Close to the optimum the decrease drowns in the rounding of F; there, the gradient has to shrink instead.
    """
    slope = float((gradient * step).sum())
    drowned = -slope <= 1e-12 * max(abs(value), 1e-300)
    for halving in range(_HALVINGS):
        point = x + 0.5**halving * step
        new = problem.evaluate(point)
        enough = new[1].norm() < gradient.norm() if drowned else new[0] <= value + 1e-4 * 0.5**halving * slope
        if enough:
            return point, *new
    raise RuntimeError(f"no optimum: no step decreases F from {value!r}, where |grad F| = {float(gradient.norm()):.3e}")
