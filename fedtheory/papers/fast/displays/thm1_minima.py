"""Theorem 1 with the least G_1 and G_2 of the rounds: round by round, with noise that the printed factor 4 covers.

As in ``appendix_a2``; W are a cohort's summed gradients, w its mean of grad F_i(x_r), N its noise, D the mean drift.
The noise is split from W - K w alone, since w is known before it: E|W + N|^2 <= |W|^2 + 3/2 |N|^2 + 2 |W - K w|^2. So a
snapshot and an arbitrary round have 3 L eta sigma^2/m and 3 L eta sigma^2/n, and the drift adds at most h L eta
sigma^2.
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import nonnegative
from ....proof.steps import Step
from .symbols import (
    CONDITION, RIGHT_SIDE, G3, K, L, eta, gram, h, least_G1, least_G2, m, n, p, q, setting,
    sigma, sigma_G, z,
)  # fmt: skip

g, N, V, W, w = vectors("g N V W w")
A, D, fall, mean_fall, fall_u, fall_a, square_u, square_a, of_all, of_cohort, of_few = sympy.symbols(
    "error drift fall mean_fall fall_u fall_a square_u square_a of_all of_cohort of_few"
)
_one, _noise, _bias = sympy.Integer(1), sigma**2, sigma_G**2
_drift = sympy.Rational(5, 6) * K * eta**2 * _noise + 5 * K**2 * eta**2 * (_bias + norm2(g))
_split = norm2(W) + sympy.Rational(3, 2) * norm2(N) + 2 * norm2(W - K * w) - norm2(W + N)
_data = nonnegative("gradient_noise"), nonnegative("dissimilarity")
_slow = setting(*_data, cap=1 / (8 * L * K))


def _snapshot(fallen: sympy.Expr, full: sympy.Expr, cohort: sympy.Expr) -> sympy.Expr:
    """Bound |grad F(x_r)|^2 before a snapshot."""
    noise = (3 / m + sympy.Rational(25, 12) * z) * L * eta * _noise
    return 4 / (K * eta) * fallen - 2 / K**2 * (full - 2 * z * cohort) + sympy.Rational(25, 2) * z**2 * _bias + noise


def _arbitrary(fallen: sympy.Expr, cohort: sympy.Expr) -> sympy.Expr:
    """Bound |grad F(x_r)|^2 before an arbitrary round."""
    noise = (3 / n + sympy.Rational(15, 4) * z) * L * eta * _noise
    heterogeneity = (4 + sympy.Rational(45, 2) * z**2) * _bias
    return 4 / (K * eta) * fallen - 2 / K**2 * (1 - 2 * z) * cohort + heterogeneity + noise


def _descent(along: sympy.Expr) -> sympy.Expr:
    return fall - eta * dot(g, along) + L / 2 * eta**2 * norm2(W + N)


_of_noise = ("a2.5", "cohort.before_noise", "noise.cohort", "thm1.minima.noise", "jensen", "a2.6_smooth", "drift.mean")

STEPS: tuple[Step, ...] = (
    gram("thm1.minima.noise", "not printed",
         "E|W + N|^2 <= |W|^2 + 3/2 |N|^2 + 2 |W - K w|^2, w being known before the noise",
         _split, zero=((dot(w, N), -2 * K),), printed=False, rests_on=("drift.noise",)),
    gram("thm1.minima.snapshot", "not printed", "a snapshot round, under z <= 1/8",
         _snapshot(fall, norm2(V), norm2(W)) - norm2(g),
         given=((_descent(V), 4 / (K * eta)), (_split, 2 * L * eta / K),
                (K * _noise / m - norm2(N), 3 * L * eta / K), (K**2 * L**2 * D - norm2(W - K * w), 4 * z / K**2),
                (K**2 * L**2 * D - norm2(K * g - V), 2 / K**2), (_drift - D, L**2 * (2 + 4 * z))),
         where=_slow, printed=False, rests_on=("a2.5_mean", *_of_noise)),
    gram("thm1.minima.arbitrary", "not printed", "an arbitrary round, under z <= 1/8",
         _arbitrary(fall, norm2(W)) - norm2(g),
         given=((_descent(W), 4 / (K * eta)), (_split, 2 * L * eta / K),
                (K * _noise / n - norm2(N), 3 * L * eta / K), (K**2 * L**2 * D - norm2(W - K * w), 4 * z / K**2),
                (K**2 * A - norm2(K * g - W), 2 / K**2), (2 * _bias + 2 * L**2 * D - A, sympy.Integer(2)),
                (_drift - D, L**2 * (4 + 4 * z))),
         where=_slow, printed=False, rests_on=("a2.14", *_of_noise)),
    # the means over the rounds of either kind of |g|^2, of the falls and of the squared sums
    gram("thm1.minima.mean", "not printed",
         "the mean over both kinds of round, of which a share q are snapshots: the least of "
         "the squares are below their means, and the condition on q leaves nothing of 4 p sigma_G^2",
         4 / (K * eta) * mean_fall + RIGHT_SIDE - q * square_u - p * square_a,
         given=((_snapshot(fall_u, of_all, of_cohort) - square_u, q), (_arbitrary(fall_a, of_few) - square_a, p),
                (of_all - least_G1, 2 * q / K**2), (G3 - of_cohort, 4 * z * q / K**2),
                (of_few - least_G2, 2 / K**2 * (1 - 2 * z) * p), (CONDITION, 2 / K**2)),
         zero=((mean_fall - q * fall_u - p * fall_a, 4 / (K * eta)),),
         where=setting(*_data, cap=h / (5 * L * K)), kind="polynomial", printed=False,
         rests_on=("thm1.minima.snapshot", "thm1.minima.arbitrary", "a2.24_shares", "a2.24_telescope")),
)  # fmt: skip
