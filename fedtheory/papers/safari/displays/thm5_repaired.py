"""Steps on which Theorem 5 and its repaired statements rest, and which the paper does not print.

The letters are those of ``thm5``. W = V/K is the mean of the gradients v over participants and steps, b = grad F_i(x*)
and B its mean, |B| <= sigma_G; D is the mean of E|x_k - x_r|^2.
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import Region, at_least, capped, count, equal
from ....proof.steps import Nonnegative, Step
from .symbols import (
    K,
    L,
    bias,
    eta,
    gram,
    m,
    mu,
    noise,
    one,
    rate,
    setting,
    under,
    z,
)
from .thm5 import QUARTER

e, g, u, v, w, b, A, B, N, S, W, Y = vectors("e g u v w b A B N S W Y")
D, G, X, f_r, f_s, f_k, after = sympy.symbols("drift excess square f_r f_s f_k after")
_eighth = under(sympy.Rational(1, 8))
_moved = norm2(e - eta * (K * W + N))
_mean_2 = sympy.Rational(5, 6) * K * eta**2 * noise + 5 * K**2 * eta**2 * (bias + norm2(g))
_mean_3 = K * eta**2 * noise + sympy.Rational(4, 3) * K**2 * eta**2 * (bias + norm2(g))
_separated = K**2 * norm2(W) + K * noise / m - norm2(K * W + N)
_optimum = ("a3.optimum",)

# A client round with a fourth of the |g|^2 of (77) ----------------------------------------------------------------

_right_small = (
    (1 - rate) * norm2(e) - 2 * eta * K * G + eta**2 * K**2 * (1 + 8 * z) * bias
    + sympy.Rational(25, 2) * z * eta**2 * K**2 * (bias + norm2(g))
    + eta**2 * K * noise * (1 / m + sympy.Rational(25, 12) * z)
)  # fmt: skip


def _large(name: str, says: str, where: Region, more: sympy.Expr, rests_on: tuple[str, ...]) -> Step:
    """Make the step for z >= 1/8; ``more`` is what the noise adds beyond K sigma^2/m."""
    return gram(
        name,
        "(65) to (77)",
        says,
        QUARTER - _moved,
        given=(
            (_separated + more, eta**2),
            (dot(e, W) - G - mu / 4 * norm2(e) + L * D, 2 * eta * K),
            (sympy.Rational(5, 2) * norm2(g) + sympy.Rational(10, 3) * (bias + L**2 * D) - norm2(W), eta**2 * K**2),
            (_mean_3 - D, 2 * eta * K * L + sympy.Rational(10, 3) * eta**2 * K**2 * L**2),
        ),
        zero=((dot(e, N), 2 * eta),),
        where=where,
        printed=False,
        rests_on=("s5.63_lemma_2", "client.square", *rests_on),
    )


_from_eighth = setting(at_least("local_lr", 1 / (8 * L * K)))
_three = setting(at_least("local_lr", 2 / L), equal("local_steps", sympy.Integer(3)))

CLIENT_ROUND = (
    # weights 1/4 and 3/4 of co-coercivity and of strong convexity
    gram("client.progress", "(65) to (77)", "<grad F_i(x_k), e> >= F_i(x_r) - F_i(x*) + mu/4 |e|^2 + |v - b|^2/(8L) - "
         "5L/4 |x_k - x_r|^2",
         dot(v, e) - (f_r - f_s) - mu / 4 * norm2(e) - norm2(v - b) / (8 * L) + 5 * L / 4 * norm2(u),
         given=((f_s - f_k + dot(v, e + u) - norm2(v - b) / (2 * L), sympy.Rational(1, 4)),
                (f_s - f_k + dot(v, e + u) - mu / 2 * norm2(e + u), sympy.Rational(3, 4)),
                (f_k - dot(v, u) + L / 2 * norm2(u) - f_r, one)),
         printed=False, rests_on=("convex.interpolation", "lemma1.integral")),
    gram("client.small_steps", "(65) to (77)", "a client round for z <= 1/8", _right_small - _moved,
         given=((_separated, eta**2),
                (dot(e, W) - G - mu / 4 * norm2(e) - X / (8 * L) + 5 * L / 4 * D, 2 * eta * K),
                (X - norm2(W - B), eta * K / (4 * L)), (bias - norm2(B), eta**2 * K**2 * (1 + 8 * z)),
                (_mean_2 - D, sympy.Rational(5, 2) * eta * K * L)),
         zero=((dot(e, N), 2 * eta),), where=_eighth, printed=False,
         rests_on=("client.progress", "noise.separated", "cohort.before_noise", "drift.mean", "jensen", *_optimum)),
    gram("client.small_steps_rounded", "(65) to (77)", "for z <= 1/8 a fourth of the |g|^2 of (77) suffices",
         QUARTER - _moved, given=((_right_small - _moved, one),), where=_eighth, printed=False,
         rests_on=("client.small_steps",)),
    gram("client.square", "(67) to (70)", "|grad F_i(x_k)|^2 <= 5/2 |g|^2 + 10/3 (sigma_G^2 + L^2 |x_k - x_r|^2)",
         sympy.Rational(5, 2) * norm2(g) + sympy.Rational(10, 3) * (bias + L**2 * norm2(u)) - norm2(v),
         given=((bias - norm2(w - g), sympy.Rational(10, 3)),
                (L**2 * norm2(u) - norm2(v - w), sympy.Rational(10, 3))), printed=False),
    _large("client.large_steps", "a client round for z >= 1/8 where eta_c <= 2/L, or K = 1, or K = 2", _from_eighth,
           sympy.Integer(0), ("drift.convex", "drift.convex_two", "noise.separated", "noise.one_step",
                              "noise.two_steps", "jensen")),
    _large("client.three_large_steps", "a client round for K = 3 and 2/L <= eta_c <= 8/(3L)", _three,
           sympy.Rational(17, 2) * noise, ("drift.convex_three", "noise.three_steps", "noise.cross", "noise.cohort",
                                           "jensen")),
    Step("client.cases", "(65) to (77)", "z <= 8 gives eta_c <= 2/L for K >= 4, and eta_c <= 8/(3L) for K = 3",
         "polynomial",
         (Nonnegative(2 - L * eta, (setting(capped("local_lr", 8 / (L * K)), count("local_steps", 4)),)),
          Nonnegative(sympy.Rational(8, 3) - L * eta,
                      (setting(capped("local_lr", 8 / (L * K)), equal("local_steps", sympy.Integer(3))),))),
         printed=False),
    Step("s5.client_round", "(77)", "for z <= 8 a client round satisfies (77) with a fourth of its |g|^2", "lemma",
         printed=False,
         rests_on=("client.small_steps_rounded", "client.large_steps", "client.three_large_steps", "client.cases")),
    gram("s5.77_from_a_fourth", "(77)", "(77) follows",
         (1 - rate) * norm2(e) + 4 * eta**2 * K**2 * bias + 4 * eta**2 * K**2 * (1 + 15 * z * (1 + z)) * norm2(g)
         + K * eta**2 / m * noise - 2 * eta * K * G
         + 2 * eta * K * L * (1 + K * eta * L) * 5 * K * eta**2 * (noise + 6 * K * bias) - after,
         given=((QUARTER - after, one),), printed=False, rests_on=("s5.client_round",)),
)  # fmt: skip

ALL = CLIENT_ROUND
