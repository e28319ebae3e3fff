"""The displays of appendix A.3, (26) to (40), in the paper's order.

a = x_r - x*, b = grad F_i(x*), u = x_k - x_r, v = grad F_i(x_k), w = grad F_i(x_r), g = grad F(x_r); D bounds every
E|x_k - x_r|^2; f_r - f_* = F_i(x_r) - F_i(x*).
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from ....proof.analytic import Enclosed
from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import capped, interval, positive, region
from ....proof.steps import Ball, Nonnegative, Step
from .coefficients_a2 import A2
from .coefficients_a3 import A3 as COEFFICIENTS
from ....proof.write import given, same
from .symbols import K, L, d, epsilon, eta, gram, m, mu, n, sigma, sigma_G

a, b, g, u, v, w, y, B, N, S, T, W = vectors("a b g u v w y B N S T W")
D, f_r, f_star, rate, partial = sympy.symbols("drift f_r f_star rate partial")
_one = sympy.Integer(1)
_at_optimum = 5 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 30 * L**2 * K**2 * eta**2 * d**2
_lemma_2 = dot(v, a) - (f_r - f_star) - mu / 4 * norm2(a) + L * norm2(u)
_convex = f_r - f_star - dot(b, a) - mu / 2 * norm2(a)


def _named(prefix: str) -> tuple[Step, ...]:
    found = tuple(s for name, s in (A2 | COEFFICIENTS).items() if name.startswith(prefix))
    if not found:
        raise ValueError(f"prefix = {prefix!r}: no step's name begins so")
    return found


def _movement(name: str, equation: str, size: sympy.Symbol, cohort: str) -> Step:
    """(a) to (d) of A_8, and the same lines of A_10, W - S being the drift's part and S = K times the gradients at x_r,
    T = K times those at x*."""
    total = 2 * L**2 * K**2 * D + 4 * L**2 * K**2 * norm2(a) + 4 * K**2 * sigma_G**2 + K * sigma**2 / size
    return gram(
        name,
        equation,
        "E|W + N|^2 <= 2 L^2 K^2 D + 4 L^2 K^2 |a|^2 + 4 K^2 sigma_G^2 + noise",
        total - norm2(W + N),
        given=(
            (norm2(W) + K * sigma**2 / size - norm2(W + N), _one),
            (L**2 * K**2 * D - norm2(W - S), sympy.Integer(2)),
            (L**2 * K**2 * norm2(a) - norm2(S - T), sympy.Integer(4)),
            (K**2 * sigma_G**2 - norm2(T), sympy.Integer(4)),
        ),
        rests_on=("noise.separated", "jensen", "a2.6_smooth", "a3.optimum", cohort),
    )


STEPS = (
    given("a3.optimum", "A.3", "grad F(x*) = 0, so the mean over all clients of grad F_i(x*) is 0 and, by "
        "Assumption 3, "
          "|grad F_i(x*)| <= sigma_G"),
    same("a3.26", "(26)", "|a + movement|^2 = |a|^2 + 2 <movement, a> + |movement|^2, with the uniform cohort's mean",
         [(norm2(a + y), norm2(a) + 2 * dot(y, a) + norm2(y))], rests_on=("sampling.mean", "drift.noise")),
    gram("a3.27_lemma_2", "(27)", "<grad F_i(x_k), a> >= <grad F_i(x*), a> + 3 mu/4 |a|^2 - L D: Lemma 2, strong "
        "convexity",
         dot(v, a) - dot(b, a) - 3 * mu / 4 * norm2(a) + L * D,
         given=((_lemma_2, _one), (_convex, _one), (D - norm2(u), L)), rests_on=("lemma2", "drift.printed")),
    *_named("a3.27"),
    gram("a3.27_gradient", "(27)", "|grad F(x_r)|^2 <= L^2 |x_r - x*|^2", L**2 * norm2(a) - norm2(g),
         # b plays grad F(x*) = 0
         given=((L**2 * norm2(a) - norm2(g - b), _one),),
         zero=((dot(b, g), sympy.Integer(-2)), (norm2(b), _one)), rests_on=("a3.optimum",)),
    same("a3.28", "(28)", "the sum over the steps and the mean over all clients of (27)",
         [(3 * mu * K / 4 * d**2 - L * K * _at_optimum,
           (3 * mu * K / 4 - 30 * L**3 * K**3 * eta**2) * d**2 - 5 * L * K**2 * eta**2 * sigma**2
           - 30 * L * K**3 * eta**2 * sigma_G**2)], rests_on=("a3.27_lemma_2", "a3.27_gradient", "a3.optimum")),
    _movement("a3.29", "(29), (a) to (d)", m, "sampling.uniform"),
    *_named("a3.29_"),
    *_named("a3.30_plugging"),
    *(s for s in _named("a3.30") if "plugging" not in s.name),
    same("a3.31", "(31)", "|a + movement|^2 = |a|^2 + 2 <movement, a> + |movement|^2",
         [(norm2(a + y), norm2(a) + 2 * dot(y, a) + norm2(y))], rests_on=("cohort.before_noise",)),
    gram("a3.32", "(32)", "2 eta <W, a> >= 2 eta (sum of <grad F_i(x*), a> + 3 mu/4 |a|^2 - L D), client by client",
         2 * eta * (dot(v, a) - dot(b, a) - 3 * mu / 4 * norm2(a) + L * D),
         given=((_lemma_2, 2 * eta), (_convex, 2 * eta), (D - norm2(u), 2 * eta * L)),
         rests_on=("lemma2", "drift.printed")),
    gram("a3.33", "(33)", "<grad F_i(x*), a> >= -|grad F_i(x*)|^2/(4 epsilon) - epsilon |a|^2",
         norm2(b) / (4 * epsilon) + epsilon * norm2(a) + dot(b, a)),
    *_named("a3.33_"),
    gram("a3.34", "(34)", "|grad F_i(x*)| <= sigma_G", sigma_G**2 / (4 * epsilon) - norm2(b) / (4 * epsilon),
         given=((sigma_G**2 - norm2(b), 1 / (4 * epsilon)),), rests_on=("a3.optimum",)),
    *_named("a3.35_"),
    same("a3.35", "(35)", "(32) to (34), summed over the steps",
         [(-K * eta / (2 * epsilon) * sigma_G**2 - 2 * K * eta * epsilon * d**2 + 3 * mu * K * eta / 2 * d**2
           - 2 * L * K * eta * _at_optimum,
           -(K * eta / (2 * epsilon) + 60 * L * K**3 * eta**3) * sigma_G**2
           - (2 * K * eta * epsilon + 60 * L**3 * K**3 * eta**3 - 3 * mu * K * eta / 2) * d**2
           - 10 * L * K**2 * eta**3 * sigma**2)], rests_on=("a3.32", "a3.33", "a3.34", "a3.27_gradient")),
    _movement("a3.36", "(36)", n, "cohort.before_noise"),
    same("a3.37", "(37)", "sorted",
         [(eta**2 * (2 * L**2 * K**2 * _at_optimum + 4 * L**2 * K**2 * d**2 + 4 * K**2 * sigma_G**2 + K * sigma**2 / n),
           (4 * L**2 * K**2 * eta**2 + 60 * L**4 * K**4 * eta**4) * d**2
           + (4 * K**2 * eta**2 + 60 * L**2 * K**4 * eta**4) * sigma_G**2
           + (K * eta**2 / n + 10 * L**2 * K**3 * eta**4) * sigma**2)], rests_on=("a3.36",)),
    *_named("a3.38"),
    given("a3.39_kinds", "(39), first line", "a round is a snapshot with probability q, on its own of all else"),
    *_named("a3.39"),
    *_named("a3.40"),
    Step("a3.40_geometric_sum", "(40)", "sum of (1 - a)^r <= 1/a for 0 < a <= 1: S <= 1/a gives (1 - a) S + 1 <= 1/a",
         "induction",
         (Nonnegative(1 / rate - (1 - rate) * partial - 1,
                      (region(interval("partial", high=1 / rate), capped("rate", _one)),)),
          Nonnegative(1 / rate, (region(positive("rate")),)))),
    Step("a3.40_exponential", "(40)", "1 - a <= exp(-a) for 0 <= a <= 1, so (1 - a)^R <= exp(-a R)", "analytic",
         (Ball(Enclosed(sympy.exp(-rate) - 1 + rate, "rate", Fraction(0), Fraction(1), order=2)),)),
)  # fmt: skip
