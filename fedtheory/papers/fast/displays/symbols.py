"""Symbols shared by FAST's tables.

In the comments z = smoothness * local_steps * local_lr, h = q/m + (1 - q)/n, p = 1 - q, D bounds E|x_k - x|^2.
"""

from __future__ import annotations

import sympy

from ....proof.symbol_regions import Part, Region, capped, count, interval, nonnegative, positive, region
from ....proof.write import within

L, mu, sigma, sigma_G = sympy.symbols("smoothness strong_convexity gradient_noise dissimilarity")
m, n, M, K, R = sympy.symbols("cohort arbitrary_cohort clients local_steps rounds")
eta, q, epsilon = sympy.symbols("local_lr snapshot_probability young_parameter")
G1, G2, G3 = sympy.symbols("peak_full_pseudogradient peak_arbitrary_pseudogradient peak_cohort_pseudogradient")
d, zeta, gradient, decrease = sympy.symbols("initial_distance initial_gap gradient_norm objective_decrease")
full, cohort, arbitrary = sympy.symbols("full_pseudogradient cohort_pseudogradient arbitrary_pseudogradient")
displacement, perturbation = sympy.symbols("displacement perturbation")

p = 1 - q
z = L * K * eta
h = q / m + (1 - q) / n
half, quarter = sympy.Rational(1, 2), sympy.Rational(1, 4)

DRIFT_CAP = ("drift", 1 - sympy.Rational(200, 47) * z)
"""z <= 47/200 = 0.235: with K = 2 the drift lemma's induction needs 6 z^2 <= 1/3, z <= 0.2357."""

CONVEX_STEP = ("convex_step", 2 - L * eta)
"""eta <= 2/L, for the separation of noise."""

# Theorem 1 with the least G_1 and G_2 of the rounds

least_G1, least_G2 = sympy.symbols("least_full_pseudogradient least_arbitrary_pseudogradient")
RIGHT_SIDE = 4 * h * L * eta * sigma**2 + (120 * p + 60 * q) * z**2 * sigma_G**2
CONDITION = q * (least_G1 - 2 * z * G3) + p * ((1 - 2 * z) * least_G2 - 2 * K**2 * sigma_G**2)
MEAN = q * least_G1 + p * gradient**2
LEAST = sympy.Rational(343, 2000) * p * sigma_G**2
"""343/2000 < 3 - 2 sqrt(2)."""

FREE = region(
    positive("local_lr"),
    capped("strong_convexity", L),
    positive("smoothness"),
    count("local_steps"),
    count("cohort"),
    count("arbitrary_cohort"),
    interval("snapshot_probability"),
    nonnegative("gradient_noise"),
    nonnegative("dissimilarity"),
    positive("young_parameter"),
)
"""Region of all quantities anywhere the vocabulary allows, with mu <= L."""


def setting(*extra: Part, cap: sympy.Expr, least: int = 1) -> Region:
    """Return the region with a step size under a cap, and all other quantities free."""
    return region(
        *extra,
        capped("local_lr", cap),
        positive("smoothness"),
        count("local_steps"),
        count("cohort", least),
        count("arbitrary_cohort", least),
        interval("snapshot_probability"),
    )


def under(constant: sympy.Expr) -> Region:
    """Return the region where z <= constant."""
    return setting(cap=constant / (L * K))


gram, vectors_check = within(FREE)
