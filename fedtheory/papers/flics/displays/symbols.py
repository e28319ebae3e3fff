"""Symbols shared by FLICS's tables.

In the comments p_j is a group's weight, s_j its participation, s^_j the estimate of it, rho = s_j/s^_j, S_j the number
of answers; w = w^t, g = grad F(w), v_j the mean update of a client of group j, h_j = -v_j/(eta_L K); Delta is the
aggregated update and m its expectation. <u, v> stands for E<u, v>.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import Part, Region, at_least, count, interval, nonnegative, positive, region

K, L, M, T = sympy.symbols("local_steps smoothness groups rounds")
eta, eta_L, c = sympy.symbols("global_lr local_lr descent_constant")
sigma, sigma_G, G = sympy.symbols("gradient_noise dissimilarity local_gradient_bound")
P, epsilon, r_min, worst, s_min = sympy.symbols(
    "weight_concentration estimate_error least_participation largest_estimate_error least_group_participation"
)
gap, gradient, pseudogradient = sympy.symbols("initial_gap gradient_norm weighted_pseudogradient")
spread, delta = sympy.symbols("selection_variance weight_mismatch")

inflation = 1 + epsilon / r_min
"""Return epsilon^."""

e, p, s, hat, rho = sympy.symbols("inflation weight share estimate ratio")
"""epsilon^ >= 1, and one group's p_j, s_j, s^_j and s_j/s^_j."""

one, half = sympy.Integer(1), sympy.Rational(1, 2)
z = L * K * eta_L


def setting(*extra: Part) -> Region:
    """Return the given conditions, and for all other constants whatever the vocabulary allows."""
    named = {name for name, _, _ in extra}
    free = (
        positive("global_lr"),
        positive("local_lr"),
        positive("smoothness"),
        count("local_steps"),
        count("groups"),
        nonnegative("gradient_noise"),
        nonnegative("dissimilarity"),
        nonnegative("local_gradient_bound"),
        nonnegative("weight_mismatch"),
        at_least("inflation", one),
        interval("weight_concentration"),
    )
    return region(*extra, *(part for part in free if part[0] not in named))


FREE = setting()
