"""Symbols shared by SAFARI's tables.

In the comments z = smoothness * local_steps * local_lr and w = smoothness * server_lr.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import Part, Region, capped, count, interval, nonnegative, positive, region
from ....proof.write import within
from ...fast.displays.symbols import K, L, R, d, decrease, gradient, mu, sigma, sigma_G, z, zeta

__all__ = ["K", "L", "R", "d", "decrease", "gradient", "mu", "sigma", "sigma_G", "z", "zeta"]

m, q, eta, eta_s, sigma_s = sympy.symbols("arbitrary_cohort client_round_probability local_lr server_lr server_noise")
G1, G2 = sympy.symbols("peak_server_gradient peak_arbitrary_pseudogradient")
least_G1, least_G2 = sympy.symbols("least_server_gradient least_arbitrary_pseudogradient")
least_ratio = sympy.Symbol("least_client_progress")
pseudogradient, excess, drift = sympy.symbols("arbitrary_pseudogradient arbitrary_excess arbitrary_drift")

w = L * eta_s
noise, bias, server = sigma**2, sigma_G**2, sigma_s**2
one, half, quarter = sympy.Integer(1), sympy.Rational(1, 2), sympy.Rational(1, 4)

tied_rate = 2 * eta_s * L * mu / (L + mu)
rate = eta * K * mu / 2
client_cost = 1 + 30 * L * tied_rate / mu * (1 + 2 * L * tied_rate / mu)


def setting(*steps: Part) -> Region:
    """Return the region with the step sizes as given, under caps or free, and all other quantities free."""
    given = {name for name, _, _ in steps}
    free = [positive(name) for name in ("local_lr", "server_lr") if name not in given]
    free += [] if "strong_convexity" in given else [capped("strong_convexity", L)]
    free += [] if "smoothness" in given else [positive("smoothness")]
    free += [] if "local_steps" in given else [count("local_steps")]
    return region(
        *steps,
        *free,
        count("arbitrary_cohort"),
        interval("client_round_probability"),
        nonnegative("gradient_noise"),
        nonnegative("dissimilarity"),
        nonnegative("server_noise"),
    )


FREE = setting()
"""Every quantity anywhere the vocabulary allows, with mu <= L."""


def under(constant: sympy.Expr, *more: Part) -> Region:
    """Return the region where z <= constant."""
    return setting(capped("local_lr", constant / (L * K)), *more)


gram, vectors_check = within(FREE)
