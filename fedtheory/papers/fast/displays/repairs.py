"""Steps on which the repaired statements rest, and which the paper does not print.

G = the mean over the steps, the round's participants and the kinds of round of E grad F_i(x_k); G = g + p b + e with
g = grad F(x_r), b = the arbitrary cohort's mean of grad F_i(x_r) - g, |b| <= sigma_G, and |e|^2 <= L^2 D by the drift.
W = K (S + e) are a cohort's summed gradients, S its mean of grad F_i(x_r), N its noise; a = x_r - x*.
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import capped, count, positive, region
from ....proof.steps import Step
from ....proof.write import nonnegative_step, same
from .symbols import K, L, eta, gram, h, half, m, mu, n, p, q, sigma, sigma_G, under, z

a, b, e, g, N, S, w, y = vectors("a b e g N S w y")
D, X, fall, move, square, f_x, f_y = sympy.symbols("drift cohort_square fall move square f_x f_y")
_one = sympy.Integer(1)
_s = sigma_G**2
_noise = sigma**2

# The drift with the constants 2 and 12, times L^2; ``square`` is |grad F(x_r)|^2
_L2D = 2 * z**2 * _noise / K + 12 * z**2 * (_s + square)
_cohort_square = (2 - q) * square + (q / m + 2 * p) * _s
_movement = L * eta**2 * (2 * K**2 * X + 2 * K**2 * L**2 * D) + L * K * eta**2 * h * _noise
_move = L * eta**2 * (2 * K**2 * _cohort_square + 2 * K**2 * _L2D) + L * K * eta**2 * h * _noise


def _descent(name: str, first: sympy.Expr, second: sympy.Expr, says: str) -> Step:
    return gram(
        name,
        "repaired",
        says,
        fall - (eta * K / 2 * (norm2(g) - first * p**2 * _s - second * L**2 * D) - move),
        given=(
            (fall - eta * K * dot(g, g + p * b + e) + move, _one),
            (_s - norm2(b), eta * K / 2 * first * p**2),
            (L**2 * D - norm2(e), eta * K / 2 * second),
        ),
        printed=False,
        rests_on=("a2.5", "bias.bound", "jensen", "a2.6_smooth", "drift"),
    )


A2 = (
    nonnegative_step("a2.22_with_the_sharper_drift", "(21) to (22)", "1/2 - 12 z^2 >= 1/4 under z <= 1/8",
                     half - 12 * z**2 - sympy.Rational(1, 4), under(sympy.Rational(1, 8)), printed=False,
                     rests_on=("drift",)),
    same("a2.23_with_the_sharper_drift", "(15) to (23)", "(23) with 4 + 48 z^2 and 4 L eta/n + 8 L^2 K eta^2",
         [((eta * K / 2 * (2 * _s + 2 * _L2D) + L * K * eta**2 / n * _noise) * 4 / (K * eta),
           48 * z**2 * square + (4 + 48 * z**2) * _s + (4 * L * eta / n + 8 * L**2 * K * eta**2) * _noise)],
         printed=False, rests_on=("a2.14", "a2.15_parallelogram", "a2.15", "a2.16", "a2.19", "drift")),
    same("bias", "repaired", "the cohort of an arbitrary round is chosen before its noise, by whatever rule; rounds "
         "are snapshots with probability q on their own, so E of a round's mean of grad F_i(x_r) is g + p b",
         [(q * dot(g, g) + p * dot(g, g + b), dot(g, g) + p * dot(g, b))], kind="probabilistic", printed=False,
         rests_on=("cohort.before_noise", "sampling.mean")),
    gram("bias.bound", "repaired", "|b| <= sigma_G, the mean of vectors of length <= sigma_G", _s - norm2(b),
         given=((X - norm2(b), _one), (_s - X, _one)), printed=False, rests_on=("jensen", "bias")),
    _descent("thm1.descent", sympy.Integer(2), sympy.Integer(2),
             "F falls by at least eta K/2 (|g|^2 - 2 p^2 sigma_G^2 - 2 L^2 D) - L/2 E|movement|^2"),
    gram("thm1.arbitrary_cohort", "repaired", "an arbitrary cohort's |S|^2 <= 2|g|^2 + 2 sigma_G^2",
         2 * norm2(g) + 2 * _s - norm2(S), given=((_s - norm2(S - g), sympy.Integer(2)),), printed=False,
         rests_on=("jensen",)),
    same("thm1.cohort", "repaired", "E|S|^2 <= (2-q)|g|^2 + (q/m + 2p) sigma_G^2 over both kinds of round",
         [(q * (square + _s / m) + p * (2 * square + 2 * _s), _cohort_square)], kind="probabilistic", printed=False,
         rests_on=("sampling.mean", "sampling.bound", "thm1.arbitrary_cohort")),
    same("thm1.noise_of_kinds", "repaired", "the noise of both kinds of round is h K sigma^2",
         [(q * K * _noise / m + p * K * _noise / n, h * K * _noise)], kind="probabilistic", printed=False,
         rests_on=("noise.cohort", "bias")),
    gram("thm1.movement", "repaired", "L/2 E|movement|^2 <= L eta^2 (2K^2 E|S|^2 + 2K^2 L^2 D) + L K eta^2 h sigma^2",
         _movement - L / 2 * eta**2 * norm2(K * (S + e) + N),
         given=((X - norm2(S), 2 * K**2 * L * eta**2), (L**2 * D - norm2(e), 2 * K**2 * L * eta**2),
                (h * K * _noise - norm2(N), L * eta**2)), printed=False,
         rests_on=("thm1.noise_of_kinds", "jensen", "a2.6_smooth", "drift")),
    same("thm1.corrected.sum", "repaired", "times 4/(K eta), sorted",
         [(4 / (K * eta) * (eta * K / 2 * (square - 2 * p**2 * _s - 2 * _L2D) - _move),
           (2 - 48 * z**2 - 8 * z * (2 - q) - 96 * z**3) * square
           - (4 * p**2 + 8 * (q / m + 2 * p) * z + 48 * z**2 + 96 * z**3) * _s
           - (4 * h * L * eta + (8 + 16 * z) * z * L * eta) * _noise)], printed=False,
         rests_on=("thm1.descent", "thm1.cohort", "thm1.movement", "a2.24_telescope")),
    nonnegative_step("thm1.corrected.gradient", "repaired", "2 - 48 z^2 - 8z(2-q) - 96 z^3 >= 1 under z <= 1/20",
                     1 - 48 * z**2 - 8 * z * (2 - q) - 96 * z**3, under(sympy.Rational(1, 20)), printed=False),
    nonnegative_step("thm1.corrected.noise", "repaired", "(8 + 16z) z <= 8.8 z under z <= 1/20",
                     sympy.Rational(44, 5) * z - (8 + 16 * z) * z, under(sympy.Rational(1, 20)), printed=False),
    _descent("thm1.sharp.descent", 1 + z, 1 + 1 / z,
             "F falls by at least eta K/2 (|g|^2 - (1+z) p^2 sigma_G^2 - (1 + 1/z) L^2 D) - L/2 E|movement|^2"),
    same("thm1.sharp.sum", "repaired", "times 2/(K eta), sorted",
         [(2 / (K * eta) * (eta * K / 2 * (square - (1 + z) * p**2 * _s - (1 + 1 / z) * _L2D) - _move),
           (1 - 4 * z * (2 - q) - 12 * z - 12 * z**2 - 48 * z**3) * square
           - ((1 + z) * p**2 + 4 * z * (q / m + 2 * p) + 12 * z + 12 * z**2 + 48 * z**3) * _s
           - (2 * h * L * eta + (2 + 2 * z + 8 * z**2) * L * eta) * _noise)], printed=False,
         rests_on=("thm1.sharp.descent", "thm1.cohort", "thm1.movement", "a2.24_telescope")),
    nonnegative_step("thm1.sharp.gradient", "repaired", "the factor of |g|^2 is at least 1 - 21z under z <= 1/42",
                     21 * z - 4 * z * (2 - q) - 12 * z - 12 * z**2 - 48 * z**3, under(sympy.Rational(1, 42)),
                     printed=False),
    nonnegative_step("thm1.sharp.dissimilarity", "repaired", "the factor of sigma_G^2 is at most p^2 + 22z",
                     22 * z - z * p**2 - 4 * z * (q / m + 2 * p) - 12 * z - 12 * z**2 - 48 * z**3,
                     under(sympy.Rational(1, 42)), printed=False),
    nonnegative_step("thm1.sharp.noise", "repaired", "2 + 2z + 8z^2 <= 11/5",
                     sympy.Rational(1, 5) - 2 * z - 8 * z**2, under(sympy.Rational(1, 42)), printed=False),
)  # fmt: skip

_d = sympy.Symbol("initial_distance") ** 2
_drift = 2 * K * eta**2 * _noise + 12 * K**2 * eta**2 * _s + 12 * z**2 * _d
_strong = under(sympy.Rational(1, 36))

A3 = (
    gram("thm2.monotone", "repaired",
         "<grad F(x_r), a> >= mu |a|^2: strong convexity both ways; b plays grad F(x*) = 0", dot(g, a) - mu * norm2(a),
         given=((f_y - f_x + dot(g, a) - mu / 2 * norm2(a), _one), (f_x - f_y - dot(b, a) - mu / 2 * norm2(a), _one)),
         zero=((dot(b, a), _one),), printed=False, rests_on=("a3.optimum",)),
    gram("thm2.sharp.step", "repaired", "E|x_{r+1} - x*|^2 <= (1 - mu K eta + z^2)|a|^2 + K eta p^2 sigma_G^2/mu + D + "
         "E|movement|^2",
         (1 - mu * K * eta + z**2) * norm2(a) + K * eta * p**2 * _s / mu + D + move
         - (norm2(a) - 2 * eta * K * dot(g + p * b + e, a) + move),
         given=((dot(g, a) - mu * norm2(a), 2 * eta * K), (_s - norm2(b), K * eta * p**2 / mu),
                (L**2 * D - norm2(e), 1 / L**2)),
         printed=False, rests_on=("thm2.monotone", "a3.26", "bias.bound", "drift")),
    same("thm2.sharp.sum", "repaired", "with D and E|movement|^2 put in, over both kinds of round",
         [((1 - mu * K * eta + z**2) * _d + K * eta * p**2 * _s / mu + _drift
           + eta**2 * (2 * L**2 * K**2 * _drift + 4 * L**2 * K**2 * _d + 4 * K**2 * _s + h * K * _noise),
           (1 - mu * K * eta + 17 * z**2 + 24 * z**4) * _d
           + (K * eta * p**2 / mu + (16 + 24 * z**2) * K**2 * eta**2) * _s + (h + 2 + 4 * z**2) * K * eta**2 * _noise)],
         printed=False, rests_on=("thm2.sharp.step", "a3.29", "a3.36", "a3.27_gradient", "thm1.noise_of_kinds")),
    nonnegative_step("thm2.sharp.distance", "repaired", "17 z^2 + 24 z^4 <= 18 z^2 under z <= 1/36",
                     z**2 - 24 * z**4, _strong, printed=False),
    nonnegative_step("thm2.sharp.dissimilarity", "repaired", "16 + 24 z^2 <= 17 under z <= 1/36", 1 - 24 * z**2,
                     _strong, printed=False),
    nonnegative_step("thm2.sharp.noise", "repaired", "2 + 4 z^2 <= 21/10 under z <= 1/36",
                     sympy.Rational(1, 10) - 4 * z**2, _strong, printed=False),
    nonnegative_step("a3.38_without_young", "(38)", "with sigma_G = 0 there is no Young term: 1 - 3 mu K eta/2 + 8 "
        "z^2 is "
                     "at most the factor of (38) for every epsilon",
                     2 * K * eta * sympy.Symbol("epsilon"),
                     region(positive("local_lr"), count("local_steps"), positive("epsilon")), printed=False),
    nonnegative_step("thm2.corrected.epsilon", "repaired", "with epsilon = mu/(8p), p > 0: 2 p K eta epsilon + 8 "
        "z^2 <= "
                     "mu K eta/2 under z <= mu/(32 L)",
                     mu * K * eta / 2 - mu * K * eta / 4 - 8 * z**2,
                     region(capped("local_lr", mu / (32 * L**2 * K)), positive("strong_convexity"),
                            positive("smoothness"), count("local_steps")), printed=False),
    same("thm2.corrected.floor", "repaired", "p K eta sigma_G^2/(2 epsilon) = 4 p^2 K eta sigma_G^2/mu with epsilon "
        "= mu/(8p)",
         [(p * K * eta * _s / (2 * (mu / (8 * p))), 4 * p**2 * K * eta * _s / mu)], printed=False),
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
