"""Constants of any federation, estimated at points that were seen, such as a run's (`simulation.iterates`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ..extras import torch
from ..loops.square_roots import square_root
from ..rationals import checked_count
from .constants import ESTIMATE, Constant, Constants
from .curvature import Curvatures, curvatures
from .federation import ExactFederation, Pairs

if TYPE_CHECKING:
    from torch import Tensor

_OWN_REPLICA = -1
"""Draws of estimates are those of a replica that no simulation has: points of a run say nothing of them."""


def estimated_constants(
    federation: ExactFederation,
    points: Tensor,
    *,
    steps: int = 40,
    draws: int = 64,
    confidence: float = 0.99,
    seed: int = 0,
    clients: Sequence[int] | None = None,
) -> Constants:
    r"""Estimate ``federation``'s constants at ``points`` x_0, x_1, ... from its gradients and losses alone.

    - smoothness: max over clients and points of the largest \|eigenvalue\| of the Hessian of F_i.
    - strong_convexity: the smallest eigenvalue, left out unless it is positive. Both are found by Lanczos iteration on
      differences of gradients (`curvature.curvatures`).
    - gradient_noise: max over clients and points of \sqrt{E|g - grad F_i|^2}, from ``draws`` stochastic gradients each;
      server_noise likewise, for federations that have it.
    - gradient_bound: max over clients and points of \sqrt{E|g|^2}, from the same draws.
    - dissimilarity: max over clients and points of |grad F_i - grad F|.
    - initial_gap: F(x_0) - min over points of F. If no loss is below a known number (0 for a network), its interval
      reaches up to F(x_0) minus that number. With mu > 0, the lower end of strong convexity's interval, it reaches up
      to F(x_0) - max over points of (F - |grad F|^2 / (2 mu)).
    - initial_distance: with such a mu, |x_0 - x| at the best point x, give or take |grad F(x)| / mu.

    Every constant is an estimate with an interval. For smoothness, strong convexity, noise and dissimilarity the
    interval holds the value *at these points* with the confidence asked for. Each interval holds by itself; that of the
    noise is Student's, so approximate. Theorems ask for suprema over all x, of which a value at some points is a lower
    bound (an upper one for strong convexity). For the initial gap and distance, the interval holds the true one if
    strong convexity is nowhere below the lower end of its own interval.

    Args:
        points: (n, D), the start first; on the federation's device and of its precision.
        steps: gradients' differences for each client and point; at most D are used.
        clients: which to look at, instead of all; the maxima are over these then. A network's Hessians cost
            ``2 steps + 9`` gradients over all points of every client looked at, at each of ``points``.

    Raises:
        ValueError: points of another shape or not finite, fewer than 1 step or 2 draws, a confidence outside (0, 1),
            clients that are not there, or stochastic gradients that are biased, as a network's with dropout are.

    >>> from fedtheory.federations import Logistic
    >>> fed = Logistic([[[1.0], [0.5]], [[1.0], [-1.0]]], [[0, 1], [0, 1]], l2=0.5, gradient_noise=0.1)
    >>> found = estimated_constants(fed, torch.tensor([[0.0, 0.0], [0.3, -0.3]]).double())
    >>> {name: round(constant.value, 3) for name, constant in found.items()}
    {'smoothness': 1.0, 'strong_convexity': 0.5, 'gradient_noise': 0.1, 'gradient_bound': ...,
     'dissimilarity': 0.265, 'initial_gap': 0.106, 'initial_distance': 0.424}

    They go where a claim's quantities go:

    >>> from fedtheory import Setting
    >>> from fedtheory.algorithms import fast
    >>> from fedtheory.papers import claim
    >>> from fedtheory.participation import Fixed
    >>> setting = Setting(fed, fast(snapshot_period=2, cohort=2, local_lr="1/20"), Fixed([0]))
    >>> bound = claim("fast.thm2").at(setting, rounds=100, **found)
    >>> cautious, certified = (claim("fast.thm2").at(setting, rounds=100, **c) for c in (found.cautious(), {}))
    >>> [round(float(b.value), 2) for b in (bound, cautious, certified)]
    [0.1, 0.11, 0.67]
    >>> bound.provenance["smoothness"]
    'estimate: largest curvature of a client at the points seen'
    """
    chosen = sorted(range(federation.clients) if clients is None else set(clients))
    _check(federation, points, steps, draws, confidence, chosen)
    failure = 1 - confidence
    each = failure / (len(chosen) * len(points))
    length = float(points.norm(dim=1).max()) or 1.0
    found = [
        curvatures(federation, x, length=length, steps=steps, failure=each, seed=seed, clients=chosen) for x in points
    ]
    constants = _smoothness(found) | _strong_convexity(found)
    constants |= _gradient_noise(federation, points, draws, each, seed, chosen)
    if federation.server_noise > 0:
        constants["server_noise"] = _server_noise(federation, points, draws, failure / len(points), seed)
    constants["dissimilarity"] = dissimilarity_at(federation, points, chosen)
    return Constants(constants | _initial(federation, points, constants.get("strong_convexity")))


def _check(
    federation: ExactFederation, points: Tensor, steps: int, draws: int, confidence: float, clients: list[int]
) -> None:
    if points.ndim != 2 or len(points) == 0 or points.shape[1] != federation.dimension:
        raise ValueError(f"points has shape {tuple(points.shape)}: allowed is (n, {federation.dimension}), n >= 1")
    if not points.isfinite().all():
        raise ValueError("points has entries that are not finite: allowed are finite numbers")
    for name, value, least in (("steps", steps, 1), ("draws", draws, 2)):
        checked_count(name, value, least)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence}: allowed is between 0 and 1")
    if not clients or clients[0] < 0 or clients[-1] >= federation.clients:
        raise ValueError(f"clients = {clients}: allowed are numbers in 0 to {federation.clients - 1}, at least one")
    if not federation.unbiased:
        raise ValueError(
            f"{type(federation).__name__}'s stochastic gradients are biased: allowed is one without "
            "dropout and augmentation, whose minibatches are drawn independently"
        )


def _pairs(fed: ExactFederation, points: Tensor, clients: list[int], replica: int, seed: int, round: int) -> Pairs:
    """One pair of each of the clients."""
    mask = torch.zeros(1, fed.clients, dtype=torch.bool, device=points.device)
    mask[:, clients] = True
    return Pairs.of(mask, torch.full((1,), replica, device=points.device), seed, round)


def _smoothness(found: list[Curvatures]) -> dict[str, Constant]:
    value = max(max(c.most.max(), -c.least.min()) for c in found)
    low = max(np.maximum(c.most - c.step_error, -c.least - c.step_error).max() for c in found)
    high = max((np.maximum(c.most, -c.least) + c.step_error + c.outside).max() for c in found)
    how = "largest curvature of a client at the points seen"
    return {"smoothness": Constant(float(value), ESTIMATE, how, (max(0.0, float(low)), float(high)))}


def _strong_convexity(found: list[Curvatures]) -> dict[str, Constant]:
    value = float(min(c.least.min() for c in found))
    if value <= 0:
        return {}
    low = min((c.least - c.step_error - c.outside).min() for c in found)
    high = min((c.least + c.step_error).min() for c in found)
    how = "smallest curvature of a client at the points seen"
    return {"strong_convexity": Constant(value, ESTIMATE, how, (max(0.0, float(low)), float(high)))}


def _gradient_noise(
    fed: ExactFederation, points: Tensor, draws: int, failure: float, seed: int, clients: list[int]
) -> dict[str, Constant]:
    """The noise, and the second moment, of stochastic gradients."""
    squares = points.new_empty(draws, len(points), len(clients), dtype=torch.float64)
    lengths, sizes = torch.empty_like(squares), torch.empty_like(squares[0])
    for k, x in enumerate(points):
        pairs = _pairs(fed, points, clients, _OWN_REPLICA, seed, k)
        own = x.expand(len(clients), -1)
        exact = fed.exact_gradient(own, pairs)
        sizes[k] = exact.norm(dim=1)
        for draw in range(draws):
            gradient = fed.gradient(own, pairs.at_step(draw))
            squares[draw, k] = (gradient - exact).square().sum(1)
            lengths[draw, k] = gradient.square().sum(1)
    rounding = 4 * torch.finfo(points.dtype).eps * sizes
    how = f"{draws} stochastic gradients of every client at the points seen"
    return {
        "gradient_noise": _noise(squares, rounding, failure, how),
        "gradient_bound": _noise(lengths, rounding, failure, how),
    }


def _server_noise(fed: ExactFederation, points: Tensor, draws: int, failure: float, seed: int) -> Constant:
    ids, exact = _OWN_REPLICA - torch.arange(len(points), device=points.device), fed.global_gradient(points)
    samples = [fed.server_gradient(points, ids, seed, draw) - exact for draw in range(draws)]
    squares = torch.stack([deviation.square().sum(1).double() for deviation in samples])
    rounding = 4 * torch.finfo(points.dtype).eps * exact.norm(dim=1).double()
    return _noise(squares, rounding, failure, f"{draws} gradients of the server at the points seen")


def _noise(squares: Tensor, rounding: Tensor, failure: float, how: str) -> Constant:
    """The root of the largest mean over the first axis; ends by Student's law, each entry failing so often, and by
    ``rounding``, the error of what was squared."""
    from scipy.stats import t as student  # lazily: it takes half as long to import as torch

    mean, deviation = squares.mean(0), squares.std(0)
    half = float(student.ppf(1 - failure / 2, len(squares) - 1)) * deviation / sqrt(len(squares))
    half = half + (2 * square_root(mean) + rounding) * rounding
    low, high = float((mean - half).max()), float((mean + half).max())
    return Constant(sqrt(float(mean.max())), ESTIMATE, how, (sqrt(max(0.0, low)), sqrt(high)))


def dissimilarity_at(fed: ExactFederation, points: Tensor, clients: Sequence[int] | None = None) -> Constant:
    """The largest distance of a client's gradient from the mean at some points (n, D), with the error of rounding.

    Args:
        clients: which to look at, instead of all.
    """
    chosen = [*range(fed.clients)] if clients is None else [*clients]
    pairs = _pairs(fed, points, chosen, 0, 0, 0)
    value = rounding = 0.0
    for x in points:
        gradients = fed.exact_gradient(x.expand(len(chosen), -1), pairs)
        value = max(value, float((gradients - fed.global_gradient(x[None])).norm(dim=1).max()))
        rounding = max(rounding, float(gradients.norm(dim=1).max()))
    rounding *= 64 * torch.finfo(points.dtype).eps
    how = "largest distance of a client's gradient from the mean at the points seen"
    return Constant(value, ESTIMATE, how, (max(0.0, value - rounding), value + rounding))


def _initial(fed: ExactFederation, points: Tensor, convexity: Constant | None) -> dict[str, Constant]:
    values, slopes = fed.global_loss(points).double(), fed.global_gradient(points).norm(dim=1).double()
    best = int(values.argmin())
    gap = float(values[0] - values[best])
    rounding = 64 * torch.finfo(points.dtype).eps * float(values.abs().max())
    low = max(0.0, gap - rounding)
    how = "F(x_0) minus its least value at the points seen"
    if convexity is None or convexity.interval is None or convexity.interval[0] == 0:
        top = inf if fed.least_loss is None else max(gap, float(values[0]) - fed.least_loss) + rounding
        return {"initial_gap": Constant(gap, ESTIMATE, how, (low, top))}
    mu = convexity.interval[0]
    top = float(values[0] - (values - slopes.square() / (2 * mu)).max())
    distance, error = float((points[0] - points[best]).norm()), float(slopes[best]) / mu
    return {
        "initial_gap": Constant(gap, ESTIMATE, how, (low, max(gap, top) + rounding)),
        "initial_distance": Constant(
            distance,
            ESTIMATE,
            "distance from x_0 to the best point seen",
            (max(0.0, distance - error), distance + error),
        ),
    }
