r"""The objective that federated averaging minimises in the long run, given how its clients' updates are weighted.

Let the expected update of a round be proportional to sum_n phi_n (update of client n). Then small steps minimise sum_n
phi_n F_n, which is not the average of the F_n unless all phi_n are equal. phi_n is proportional to the long-run
expectation of (participation of n in round t) x (weight of n in round t), and sums to 1.

Steps of a fixed size lead somewhere else, if clients make several of them and are curved differently. Take quadratic
clients F_n(x) = h_n (x - c_n)^2 / 2. Coordinate by coordinate, I steps of size gamma move x by the share
1 - (1 - gamma h_n)^I of its distance to c_n. So E x_t settles where

    sum_n phi_n (1 - (1 - gamma h_n)^I) (x - c_n) = 0,

whatever the server's step is, while the objective is smallest where sum_n phi_n h_n (x - c_n) = 0. The two agree for I
= 1 and where all h_n are equal. Otherwise they differ by gamma (I - 1) / 2 times sum_n phi_n h_n^2 (x - c_n) / sum_n
phi_n h_n, taken at the minimiser x, up to terms of the order of gamma^2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..rationals import exact_array, exact_number
from .exact_moments import long_run_weight
from .weight_arguments import check_count, check_probabilities


def implied_objective(participation_probability: object, aggregation_weight: object = 1.0) -> np.ndarray:
    """Compute phi_n = p_n omega_n / sum_m p_m omega_m, the objective of constant weights.

    With omega_n = 1 this is the average over all clients (absent ones counting as 0); with omega_n = 1/p_n, the known
    statistics, phi_n = 1/N.

    Args:
        participation_probability: (clients,), in [0, 1], not all 0.
        aggregation_weight: a number or (clients,), positive.

    Raises:
        ValueError: an argument outside its range, or shapes that do not match.

    Source: FedAU, Theorem 1, (2).

    >>> implied_objective([0.5, 0.25, 0.25]).tolist(), implied_objective([0.5, 0.25], [2, 4]).tolist()
    ([0.5, 0.25, 0.25], [0.5, 0.5])
    """
    p = _clients(participation_probability)
    weights = np.asarray(aggregation_weight, float)
    if weights.shape not in ((), p.shape):
        raise ValueError(f"aggregation_weight has shape {weights.shape}: allowed is a number or {p.shape}")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(f"aggregation_weight = {aggregation_weight!r}: allowed are positive finite numbers")
    shares = p * weights
    return shares / shares.sum()


def fedau_objective(participation_probability: object, cutoff: float) -> np.ndarray:
    """Compute phi_n proportional to 1 - (1-p_n)^K, the objective of FedAU under Bernoulli participation.

    Participation in round t is independent of the weight, and the weight tends to (1 - (1-p_n)^K) / p_n.

    Raises:
        ValueError: as `implied_objective`; p = 0 without a cutoff.

    >>> fedau_objective([0.5, 0.25], cutoff=1).round(6).tolist(), fedau_objective([0.5, 0.25], math.inf).tolist()
    ([0.666667, 0.333333], [0.5, 0.5])
    """
    p = _clients(participation_probability)
    return implied_objective(p, long_run_weight(p, cutoff))


def known_statistics_objective(participation_probability: object) -> np.ndarray:
    """phi_n = 1/N: weights 1/p_n.

    Raises:
        ValueError: as `implied_objective`; p = 0, whose reciprocal is not finite.

    >>> known_statistics_objective([0.5, 0.1]).tolist()
    [0.5, 0.5]
    """
    p = _clients(participation_probability)
    check_probabilities(p, never="the weight of a client that never takes part would be 1/0")
    return implied_objective(p, 1.0 / p)


def average_participating_objective(participation_probability: object) -> np.ndarray:
    r"""Compute phi_n proportional to E[I_n / sum_m I_m], for clients that take part independently.

    This is the objective of the average over the participants, where a round without participants changes nothing.

    With R_n the number of other participants, E[I_n / sum_m I_m] = p_n E[1 / (1 + R_n)] =
    p_n \int_0^1 prod_{m != n} (1 - p_m + p_m x) dx. The integrand is a polynomial of degree N-1, so N/2 Gauss-Legendre
    nodes give the integral exactly, up to rounding. Only the law of one round enters: it holds for Markov and cyclic
    participation too, in the mean over independent stationary starts.

    Raises:
        ValueError: as `implied_objective`.

    >>> average_participating_objective([1.0, 0.5]).tolist()  # (1, 0) and (1/2, 1/2), equally likely
    [0.75, 0.25]
    """
    p = _clients(participation_probability)
    nodes, masses = np.polynomial.legendre.leggauss(max(1, math.ceil(len(p) / 2)))
    x, masses = (nodes + 1.0) / 2.0, masses / 2.0
    logs = np.log1p(-p[:, None] * (1.0 - x))
    others = np.exp(logs.sum(axis=0) - logs)
    shares = p * (others @ masses)
    return shares / shares.sum()


def objective_minimiser(objective_weight: object, curvatures: object, centres: object) -> np.ndarray:
    """Compute the minimiser of sum_n phi_n F_n, (D,), for F_n(x) = sum_d h_nd (x_d - c_nd)^2 / 2, in Fractions.

    Args:
        objective_weight: (clients,), phi_n >= 0, up to a common factor.
        curvatures, centres: (clients, D), h > 0 and c. Numbers such as "1/3" are exact, as are Fractions.

    Raises:
        ValueError: shapes that do not match, a curvature that is not positive, or weights that are negative or all 0.

    >>> objective_minimiser([1, 1], [[1], [2]], [[0], [1]]).tolist()
    [Fraction(2, 3)]
    """
    phi, h, c = _quadratic(objective_weight, curvatures, centres)
    return _weighted_mean(phi[:, None] * h, c)


def fixed_point(
    objective_weight: object, curvatures: object, centres: object, local_steps: int, local_lr: object
) -> np.ndarray:
    """Compute the point at which the mean of a long run settles, (D,), in Fractions.

    The run makes ``local_steps`` steps of size ``local_lr`` a round. The other arguments are those of
    `objective_minimiser`.

    Raises:
        ValueError: the same; or local_lr is not in (0, 1/h] for the largest curvature h, where a step would go too far.

    Source: FedAU, Theorem 1 and Algorithm 1 (phi_n in proportion to p_n omega_n), at fixed steps.

    >>> fixed_point([1, 1], [[1], [2]], [[0], [1]], local_steps=2, local_lr="1/10").tolist()
    [Fraction(36, 55)]
    """
    phi, h, c = _quadratic(objective_weight, curvatures, centres)
    steps, step = check_count("local_steps", local_steps), exact_number("local_lr", local_lr)
    if not 0 < step * h.max() <= 1:
        raise ValueError(f"local_lr = {local_lr}: allowed is a number in (0, {1 / h.max()}]")
    return _weighted_mean(phi[:, None] * (1 - (1 - step * h) ** steps), c)


def inconsistency_rate(objective_weight: object, curvatures: object, centres: object, local_steps: int) -> np.ndarray:
    """lim (`fixed_point` - `objective_minimiser`) / local_lr as local_lr goes to 0, (D,), in units of the gradient.

    Raises:
        ValueError: as `objective_minimiser`.

    >>> inconsistency_rate([1, 1], [[1], [2]], [[0], [1]], local_steps=2).tolist()
    [Fraction(-1, 9)]
    """
    phi, h, c = _quadratic(objective_weight, curvatures, centres)
    away = objective_minimiser(objective_weight, curvatures, centres) - c
    shares = phi[:, None] * h
    pull = (shares * h * away).sum(0) / shares.sum(0)
    return pull * Fraction(check_count("local_steps", local_steps) - 1, 2)


def _quadratic(
    objective_weight: object, curvatures: object, centres: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    phi = exact_array("objective_weight", objective_weight)
    h, c = exact_array("curvatures", curvatures), exact_array("centres", centres)
    if h.ndim != 2 or c.shape != h.shape or phi.shape != h.shape[:1] or not h.size:
        raise ValueError(
            f"objective_weight, curvatures and centres have shapes {phi.shape}, {h.shape} and {c.shape}: "
            "allowed are (clients,), (clients, D) and (clients, D)"
        )
    if h.min() <= 0:
        raise ValueError(f"curvatures = {h.min()}: allowed are numbers > 0")
    if phi.min() < 0 or phi.sum() == 0:
        raise ValueError(f"objective_weight = {phi.min()}: allowed are numbers >= 0, not all 0")
    return phi, h, c


def _weighted_mean(shares: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (shares * values).sum(0) / shares.sum(0)


def _clients(participation_probability: object) -> np.ndarray:
    p = check_probabilities(participation_probability)
    if p.ndim != 1:
        raise ValueError(f"participation_probability has shape {p.shape}: allowed is (clients,)")
    if not p.any():
        raise ValueError("participation_probability is 0 for all clients: allowed is at least one that takes part")
    return p
