"""Steps on which the repaired statements rest, and which the paper does not print.

G = the mean over the steps, the round's participants and the kinds of round of E grad F_i(x_k); G = g + p b + e with
g = grad F(x_r), b = the arbitrary cohort's mean of grad F_i(x_r) - g, |b| <= sigma_G, and |e|^2 <= L^2 D by the drift.
W = K (S + e) are a cohort's summed gradients, S its mean of grad F_i(x_r), N its noise; a = x_r - x*.
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import count, positive, region
from ....proof.write import nonnegative_step, same
from .symbols import K, L, eta, gram, half, mu, n, sigma, sigma_G, under, z

a, b, g = vectors("a b g")
square, f_x, f_y = sympy.symbols("square f_x f_y")
_one = sympy.Integer(1)
_s = sigma_G**2
_noise = sigma**2

# The drift with the constants 2 and 12, times L^2; ``square`` is |grad F(x_r)|^2
_L2D = 2 * z**2 * _noise / K + 12 * z**2 * (_s + square)


A2 = (
    nonnegative_step("a2.22_with_the_sharper_drift", "(21) to (22)", "1/2 - 12 z^2 >= 1/4 under z <= 1/8",
                     half - 12 * z**2 - sympy.Rational(1, 4), under(sympy.Rational(1, 8)), printed=False,
                     rests_on=("drift",)),
    same("a2.23_with_the_sharper_drift", "(15) to (23)", "(23) with 4 + 48 z^2 and 4 L eta/n + 8 L^2 K eta^2",
         [((eta * K / 2 * (2 * _s + 2 * _L2D) + L * K * eta**2 / n * _noise) * 4 / (K * eta),
           48 * z**2 * square + (4 + 48 * z**2) * _s + (4 * L * eta / n + 8 * L**2 * K * eta**2) * _noise)],
         printed=False, rests_on=("a2.14", "a2.15_parallelogram", "a2.15", "a2.16", "a2.19", "drift")),
)  # fmt: skip


A3 = (
    gram("thm2.monotone", "repaired",
         "<grad F(x_r), a> >= mu |a|^2: strong convexity both ways; b plays grad F(x*) = 0", dot(g, a) - mu * norm2(a),
         given=((f_y - f_x + dot(g, a) - mu / 2 * norm2(a), _one), (f_x - f_y - dot(b, a) - mu / 2 * norm2(a), _one)),
         zero=((dot(b, a), _one),), printed=False, rests_on=("a3.optimum",)),
    nonnegative_step("a3.38_without_young", "(38)", "with sigma_G = 0 there is no Young term: 1 - 3 mu K eta/2 + 8 "
        "z^2 is "
                     "at most the factor of (38) for every epsilon",
                     2 * K * eta * sympy.Symbol("epsilon"),
                     region(positive("local_lr"), count("local_steps"), positive("epsilon")), printed=False),
)  # fmt: skip


_G1, _G2, _G3 = sympy.symbols("peak_full_pseudogradient peak_arbitrary_pseudogradient peak_cohort_pseudogradient")
_top = (2 * z - 1) * _G2 + 2 * K**2 * _s
_bottom = _G1 + _top - 2 * z * _G3

REMARK_2 = (
    same("rem2.rewritten", "Remark 2", "N/(G_1 + N - 2z G_3) = 1/(1 + (G_1 - 2z G_3)/N) where N is not 0",
         [(_top / _bottom, 1 / (1 + (_G1 - 2 * z * _G3) / (2 * K**2 * _s + 2 * z * _G2 - _G2)))]),
    same("rem2.limit", "Remark 2, case 2", "N and the denominator are linear in sigma_G^2 with the same factor, not "
        "0, so "
         "their quotient tends to 1",
         [(sympy.expand(_top).coeff(sigma_G, 2) / sympy.expand(_bottom).coeff(sigma_G, 2), _one),
          (sympy.expand(_bottom) - sympy.expand(_bottom).coeff(sigma_G, 0), 2 * K**2 * _s)], kind="analytic"),
)  # fmt: skip

ALL = (*A2, *A3, *REMARK_2)
