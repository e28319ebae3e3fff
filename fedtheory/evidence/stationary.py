"""Where a run settles: the stationary moments of an algorithm on a quadratic federation, and its best mixture.

With y = x - x*, a round is y' = (I - S) y + b + noise, where S and b are averages, with the round's random weights, of
the clients' I - A_i and b_i (see ``rounds``). If the rounds are independent, and what they do to squares contracts,
then the law of y tends to one with the mean m and the covariance C that solve

    E[S] m = E[b],    C = E[(I - S) C (I - S)^T] + E[(b - S m)(b - S m)^T] + E[noise noise^T].

Both systems are set up from S, not from I - S: where steps are small, the difference would lose its digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from ..algorithms.base import Weights
from ..federations.quadratic import solve_exactly
from .moments import exact_errors
from .rounds import LocalMaps, kind_of_round, observable_weights

if TYPE_CHECKING:
    from ..setting import Setting

ROUNDING = 1e-13
"""Relative to the largest one: eigenvalues of small matrices are known to some 1e-15."""

SCANNED = np.linspace(0, 1, 41)
"""The shares of a scan, ascending."""


class NotContracting(ValueError):
    """There is no stationary law: squares do not contract."""


@dataclass(frozen=True)
class Stationary:
    """The stationary law's moments, in floats or in Fractions.

    Attributes:
        mean: (D,), E x - x*.
        covariance: (D, D), of x.
        squared_distance: E|x - x*|^2.
        squared_gradient: E|grad F(x)|^2.
        spectral_radius: of E[(I - S) kron (I - S)], below 1: the factor by which the expected square of the distance
            of two runs with the same draws shrinks in a round, in the long run. Always a float; with tiny steps it
            rounds to 1.
    """

    mean: np.ndarray
    covariance: np.ndarray
    squared_distance: float | Fraction
    squared_gradient: float | Fraction
    spectral_radius: float


def stationary(setting: Setting, exact: bool = False) -> Stationary:
    """The moments to which the run of ``setting`` tends from any start, in Fractions if ``exact``.

    Raises:
        ValueError: the federation is not quadratic; the kinds of round alternate periodically, or the participants'
            moments are not the same in every round; the squares do not contract; or Fractions are asked for and the
            participation process knows floats only.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1])
    >>> algorithm = ft.algorithms.safari(client_round_probability="1/3", local_lr="1/10", server_lr="1/20")
    >>> found = stationary(ft.Setting(fed, algorithm, ft.participation.Fixed([0])), exact=True)
    >>> found.mean.tolist(), found.squared_distance  # q eta_c c / ((1 - q) eta_s + q eta_c) = 1/2
    ([Fraction(1, 2)], Fraction(20, 77))
    """
    algorithm, fed = setting.algorithm, setting.federation
    if algorithm.period not in (None, 1):
        raise ValueError(f"period = {algorithm.period}: allowed are kinds of round that come at random, or period 1")
    share = Fraction(1) if algorithm.period == 1 else algorithm.share
    q = share if exact else float(share)
    kinds = [kind_of_round(setting, kind, exact) for kind in algorithm.kinds]

    def mixed(of_kind: Callable) -> np.ndarray:
        first, second = (of_kind(maps, weights) for maps, weights in kinds)
        return q * first + (1 - q) * second

    identity = np.eye(fed.dimension, dtype=int).astype(object if exact else float)
    pull = mixed(lambda maps, weights: _first(weights, maps.shares))  # E[S]
    contraction = np.kron(pull, identity) + np.kron(identity, pull) - mixed(_squared_share)  # I - E[(I-S) kron (I-S)]
    radius = _spectral_radius(contraction.astype(float))
    mean = _solve(pull, mixed(lambda maps, weights: _first(weights, maps.maps[:, :-1, -1])), exact)

    def added(maps: LocalMaps, weights: Weights) -> np.ndarray:
        """E[(b - S m)(b - S m)^T] + E[noise noise^T], the noises of different clients independent."""
        second = weights.second.astype(mean.dtype)
        residuals = maps.maps[:, :-1, -1] - maps.shares @ mean
        noise = np.tensordot(np.diagonal(second), maps.noise, axes=1)
        return (residuals.T @ second @ residuals + noise) / weights.divisor**2

    covariance = _solve(contraction, mixed(added).ravel(), exact).reshape(identity.shape)
    moment = np.zeros([fed.dimension + 1] * 2, dtype=int).astype(identity.dtype)
    moment[:-1, :-1] = covariance + np.outer(mean, mean)
    squares = {name: weight @ moment.ravel() for name, weight in observable_weights(fed, exact).items()}
    squares = squares if exact else {name: float(value) for name, value in squares.items()}
    return Stationary(mean, covariance, **squares, spectral_radius=radius)


def _first(weights: Weights, values: np.ndarray) -> np.ndarray:
    """sum_i E[w_i] values_i."""
    return np.tensordot(weights.first.astype(values.dtype), values, axes=1) / weights.divisor


def _squared_share(maps: LocalMaps, weights: Weights) -> np.ndarray:
    """E[S kron S] = sum_ij E[w_i w_j] S_i kron S_j."""
    partners = np.tensordot(weights.second.astype(maps.shares.dtype), maps.shares, axes=1) / weights.divisor**2
    return sum(np.kron(own, partner) for own, partner in zip(maps.shares, partners, strict=True))


def _spectral_radius(contraction: np.ndarray) -> float:
    """That of I - contraction, symmetric. It maps positive semidefinite matrices to such ones, so its spectral radius
    is one of its eigenvalues, the largest.

    Raises:
        NotContracting: it is not below 1.
    """
    eigenvalues = np.linalg.eigvalsh((contraction + contraction.T) / 2)
    radius = float(1 - eigenvalues[0])
    if eigenvalues[0] <= ROUNDING * np.abs(eigenvalues).max():
        raise NotContracting(f"spectral radius = {radius}: allowed is less than 1; the squares do not contract")
    return radius


def _solve(matrix: np.ndarray, right: np.ndarray, exact: bool) -> np.ndarray:
    return solve_exactly(matrix, right) if exact else np.linalg.solve(matrix, right)


@dataclass(frozen=True)
class BestProbability:
    """The share of rounds of the first kind that leaves the smallest error.

    Attributes:
        probability: client_round_probability of SAFARI, snapshot_probability of FAST.
        squared_distance: E|x_R - x*|^2 with it.
    """

    probability: float
    squared_distance: float


def best_probability(setting: Setting, rounds: float) -> BestProbability:
    """argmin over q in [0, 1] of the exact E|x_R - x*|^2, q the probability of the algorithm's first kind of round
    (SAFARI: client rounds; FAST: snapshots), all else as in ``setting``.

    A scan of ``SCANNED``, then a bounded minimisation between the neighbours of its best share. The error of a
    diverging mixture is infinite. Of equal errors the smallest share is taken.

    Args:
        rounds: R >= 1, or ``math.inf`` for the stationary error.

    Raises:
        ValueError: rounds that are no whole number >= 1, exact moments that do not exist (see ``exact_errors`` and
            ``stationary``), or a setting that diverges whatever the share.

    >>> import fedtheory as ft
    >>> fed = ft.federations.Quadratic.common_hessian(offsets=[1, -1], server_noise=1)
    >>> algorithm = ft.algorithms.safari(client_round_probability=0, local_lr="1/50", server_lr="1/100")
    >>> s = ft.Setting(fed, algorithm, ft.participation.Fixed([0]), start=10)
    >>> best_probability(s, 100).probability, best_probability(s, 300).probability
    (1.0, 0.0)
    """
    if not rounds >= 1 or (rounds != math.inf and rounds != int(rounds)):
        raise ValueError(f"rounds = {rounds}: allowed is an integer >= 1, or inf")

    def error(share: float) -> float:
        mixture = replace(setting, algorithm=setting.algorithm.with_share(Fraction(float(share))))
        if rounds < math.inf:
            return float(exact_errors(mixture, [int(rounds)]).squared_distance[0])
        try:
            return float(stationary(mixture).squared_distance)
        except NotContracting:
            return math.inf

    errors = np.array([error(share) for share in SCANNED])
    if np.isinf(errors.min()):
        raise ValueError(f"rounds = {rounds}: the errors are infinite whatever the share; allowed are smaller steps")
    best = int(errors.argmin())
    found = BestProbability(float(SCANNED[best]), float(errors[best]))
    low, high = SCANNED[max(best - 1, 0)], SCANNED[min(best + 1, len(SCANNED) - 1)]
    refined = minimize_scalar(error, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    if refined.fun < found.squared_distance:
        found = BestProbability(float(refined.x), float(refined.fun))
    return found
