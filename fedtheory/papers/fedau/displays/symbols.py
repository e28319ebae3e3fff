"""Symbols shared by FedAU's tables, in the paper's letters.

In the comments z = smoothness * local_steps * local_lr, c = local_lr * global_lr and q = 1 - p.
"""

from __future__ import annotations

import sympy

from ....proof.gram import norm2
from ....proof.symbol_regions import Part, Region, capped, count, nonnegative, positive, region
from ....proof.write import within

L, sigma, delta, F, gradient = sympy.symbols(
    "smoothness gradient_noise dissimilarity initial_gap gradient_norm"
)  # fmt: skip
N, I, T, gamma, eta, G = sympy.symbols("clients local_steps rounds local_lr global_lr global_gradient_bound")
p, p_min, K, t = sympy.symbols("participation_probability least_participation_probability cutoff history")
Q, Q_expected, w = sympy.symbols("weight_scale expected_weight_scale update_weight")
error, W, peak_error = sympy.symbols("objective_error weight_error peak_weight_error")
absence, cutoff_bias, weight_spread, intervals = sympy.symbols(
    "absence cutoff_bias weight_spread guaranteed_intervals"
)  # fmt: skip
omega, least = sympy.symbols("aggregation_weight least_objective_weight")
d = sympy.Symbol("divergence")
"""A bound on |grad F_n - grad f~|: 2 delta for any objective f~, delta for f itself."""

E = sympy.Symbol("error")
"""N times the objective error of a round; for f the mean over clients of (p_n omega_n - 1)^2."""

q = 1 - p
z = L * I * gamma
c = gamma * eta
one, half, quarter = sympy.Integer(1), sympy.Rational(1, 2), sympy.Rational(1, 4)
share = sympy.Rational(27, 8)
"""3 + 90 z^2 at z^2 = 1/240."""

CAP = sympy.Rational(1, 15)
"""z <= 1/15, a rational number above the 1/(4 sqrt 15) of Lemma B.3.3."""


def setting(*steps: Part) -> Region:
    """Return the region with the step sizes as given, under caps or free, and all other quantities free."""
    given = {name for name, _, _ in steps}
    free = [positive(name) for name in ("global_lr", "local_lr", "smoothness") if name not in given]
    free += [] if "local_steps" in given else [count("local_steps")]
    return region(
        *steps,
        *free,
        count("clients"),
        positive("weight_scale"),
        nonnegative("error"),
        nonnegative("divergence"),
        nonnegative("gradient_noise"),
        nonnegative("global_gradient_bound"),
    )


FREE = setting()
"""Region of all quantities anywhere the vocabulary allows."""

GLOBAL_CAP = capped("global_lr", 1 / (4 * L * I * gamma))
"""c <= 1/(4 L I)."""

UNDER_CAPS = setting(GLOBAL_CAP, capped("local_lr", CAP / (L * I)))
"""c <= 1/(4 L I) and z <= 1/15."""

gram, vectors_check = within(FREE)


def local_drift(noise: int, gradients: int) -> sympy.Expr:
    """Return noise I gamma^2 (sigma^2 + 6 I d^2) + gradients I^2 gamma^2 |g|^2, g the vector."""
    return noise * I * gamma**2 * (sigma**2 + 6 * I * d**2) + gradients * I**2 * gamma**2 * norm2(g)


def bracket(drift: int) -> sympy.Expr:
    """Return the factor of c I |g|^2 in the descent lemma, with drift * z^2."""
    return sympy.Rational(81, 16) * E + drift * z**2 + share * c * L * I * Q / N - quarter


g = sympy.Symbol("vec_g")
"""grad f~(x_t)."""

away = 15 * L**2 * I * gamma**2 * sigma**2 + share * d**2
FIXED = (
    sympy.Rational(3, 2) * c * I * away * E
    + sympy.Rational(5, 2) * gamma**2 * c * L**2 * I**2 * (sigma**2 + 6 * I * d**2)
    + c**2 * L * I / N * (sympy.Rational(17, 16) * sigma**2 + share * I * d**2) * Q
)
"""The right side of the descent lemma without |g|^2."""
