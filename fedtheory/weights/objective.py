r"""Which objective federated averaging minimises in the long run, given how its clients' updates are weighted.

If the expected update of a round is proportional to sum_n phi_n (update of client n), small steps minimise
sum_n phi_n F_n, not the average of the F_n unless all phi_n are equal. phi_n is proportional to the long-run
expectation of (participation of n in round t) x (weight of n in round t), and sums to 1.
"""

from __future__ import annotations

import math

import numpy as np

from .checks import check_probabilities
from .moments import long_run_weight


def implied_objective(participation_probability: object, aggregation_weight: object = 1.0) -> np.ndarray:
    """phi_n = p_n omega_n / sum_m p_m omega_m: what constant weights minimise.

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
    """phi_n proportional to 1 - (1-p_n)^K: what FedAU minimises under Bernoulli participation.

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
    r"""phi_n proportional to E[I_n / sum_m I_m], for clients that take part independently: the average over whoever
    takes part, a round without participants changing nothing.

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


def _clients(participation_probability: object) -> np.ndarray:
    p = check_probabilities(participation_probability)
    if p.ndim != 1:
        raise ValueError(f"participation_probability has shape {p.shape}: allowed is (clients,)")
    if not p.any():
        raise ValueError("participation_probability is 0 for all clients: allowed is at least one that takes part")
    return p
