"""The displays of appendix A.2, (5) to (24), in the paper's order.

g = grad F(x_r); V = mean over all clients of the sums of their gradients, W = the same over the round's cohort;
D bounds every E|x_k - x_r|^2; fall = F(x_r) - E F(x_{r+1}).
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.steps import Step
from .coefficients_a2 import A2 as COEFFICIENTS
from ....proof.write import given, same
from .symbols import K, L, eta, gram, half, m, n, sigma, sigma_G

g, V, W, u, v, w, x = vectors("g V W u v w x")
D, fall, falls, F_0, F_1, F_2, F_star = sympy.symbols("drift fall falls F_0 F_1 F_2 F_star")
_drift = 5 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 30 * K**2 * eta**2 * norm2(g)
_one = sympy.Integer(1)


def _named(prefix: str) -> tuple[Step, ...]:
    """The coefficient steps whose names begin so, in order."""
    found = tuple(step for name, step in COEFFICIENTS.items() if name.startswith(prefix))
    if not found:
        raise ValueError(f"prefix = {prefix!r}: no step's name begins so")
    return found


def _parallelogram(name: str, equation: str, vector: sympy.Expr) -> Step:
    return same(
        name,
        equation,
        "<g, -eta V> = eta/(2K) (-K^2 |g|^2 - |V|^2 + |K g - V|^2)",
        [(-eta * dot(g, vector), eta / (2 * K) * (-(K**2) * norm2(g) - norm2(vector) + norm2(K * g - vector)))],
    )


def _after_jensen(name: str, equation: str, vector: sympy.Expr) -> Step:
    # f of the printed line: -K eta/2 |g|^2 - eta/(2K) |V|^2 + (eta K/2) D for any D >= |K g - V|^2 / K^2
    return gram(
        name,
        equation,
        "Jensen: |sum|^2 <= K times the sum, so the last term is at most eta K/2 times the mean",
        -K * eta / 2 * norm2(g) - eta / (2 * K) * norm2(vector) + eta * K / 2 * D + eta * dot(g, vector),
        given=((K**2 * D - norm2(K * g - vector), eta / (2 * K)),),
        rests_on=("jensen",),
    )


_A1 = -K * eta / 2 * norm2(g) - eta / (2 * K) * norm2(V)
_A4 = -K * eta / 2 * norm2(g) - eta / (2 * K) * norm2(W)
_square = L**2 * K**2 * eta**2


def _quadratic_noise(name: str, equation: str, size: sympy.Symbol) -> Step:
    """L/2 times what noise.split says."""
    return same(
        name,
        equation,
        "L/2 E|movement|^2 <= L eta^2 |W|^2 + L K eta^2 sigma^2 / (size of the cohort)",
        [
            (
                L / 2 * eta**2 * (2 * norm2(W) + 2 * K * sigma**2 / size),
                L * eta**2 * norm2(W) + L * K * eta**2 / size * sigma**2,
            )
        ],
        rests_on=("noise.split",),
    )


_after_7 = _A1 + L**2 * eta / 2 * K * _drift
_after_8 = L * eta**2 * norm2(W) + L * K * eta**2 / m * sigma**2
_rest_10 = (15 * L**2 * K**3 * eta**3 * sigma_G**2 + (L * K * eta**2 / m + sympy.Rational(5, 2) * L**2 * K**2 * eta**3)
            * sigma**2 + L * eta**2 * norm2(W) - eta / (2 * K) * norm2(V))  # fmt: skip
_six = 2 * sigma_G**2 + 2 * L**2 * _drift
_after_18 = _A4 + eta * K / 2 * _six
_after_19 = L * eta**2 * norm2(W) + L * K * eta**2 / n * sigma**2
_rest_21 = (-(eta / (2 * K) - L * eta**2) * norm2(W) + (K * eta + 30 * L**2 * K**3 * eta**3) * sigma_G**2
            + (L * K * eta**2 / n + 5 * L**2 * K**2 * eta**3) * sigma**2)  # fmt: skip

STEPS = (
    Step("a2.5", "(5)", "Lemma 1 at x_r and x_{r+1}, in expectation", "lemma", rests_on=("lemma1.integral",)),
    Step("a2.5_mean", "after (5)", "E_r of the movement of a uniform cohort is that of all clients", "probabilistic",
         rests_on=("sampling.mean", "drift.noise")),
    _parallelogram("a2.6_parallelogram", "(6), third line", V),
    _after_jensen("a2.6_jensen", "(6), fifth line", V),
    gram("a2.6_smooth", "(6), sixth line", "|grad F_i(x_r) - grad F_i(x_k)|^2 <= L^2 |x_r - x_k|^2 (Assumption 1)",
         L**2 * D - norm2(v - w), given=((L**2 * norm2(u) - norm2(v - w), _one), (D - norm2(u), L**2))),
    Step("a2.6", "(6)", "the drift lemma", "lemma", rests_on=("drift.printed",)),
    *_named("a2.7"),
    _quadratic_noise("a2.8", "(8)", m),
    same("a2.9", "(9)", "(7) and (8) put into (5)",
         [(_after_7 + _after_8, -(K * eta / 2 - 15 * L**2 * K**3 * eta**3) * norm2(g) + _rest_10)],
         rests_on=("a2.5", "a2.5_mean", "a2.6_parallelogram", "a2.6_jensen", "a2.6_smooth", "a2.6", "a2.8")),
    same("a2.10", "(10)", "rearranged", [(K * eta * (half - 15 * _square), K * eta / 2 - 15 * L**2 * K**3 * eta**3)]),
    *_named("a2.11"),
    gram("a2.12", "(11), (12)", "K eta/4 |g|^2 is below what K eta (1/2 - 15 z^2) |g|^2 is below",
         fall + _rest_10 - K * eta / 4 * norm2(g),
         given=((fall + _rest_10 - K * eta * (half - 15 * _square) * norm2(g), _one),
                (((half - 15 * _square) - sympy.Rational(1, 4)) * norm2(g), K * eta)),
         rests_on=("a2.9", "a2.10", "a2.11_under_the_cap_1/8")),
    *_named("a2.13"),
    Step("a2.14", "(14)", "Lemma 1, in expectation, given the cohort", "lemma",
         rests_on=("lemma1.integral", "cohort.before_noise")),
    _parallelogram("a2.15_parallelogram", "(15), second line", W),
    _after_jensen("a2.15", "(15)", W),
    gram("a2.16", "(16)", "|g - grad F_i(x_k)|^2 <= 2 sigma_G^2 + 2 L^2 D",
         2 * sigma_G**2 + 2 * L**2 * D - norm2(g - v),
         given=((sigma_G**2 - norm2(g - w), sympy.Integer(2)), (L**2 * D - norm2(w - v), sympy.Integer(2))),
         rests_on=("drift.printed",)),
    *_named("a2.17"),
    *_named("a2.18"),
    _quadratic_noise("a2.19", "(19)", n),
    same("a2.20", "(20)", "(18) and (19) put into (14)",
         [(_after_18 + _after_19, -(K * eta / 2 - 30 * L**2 * K**3 * eta**3) * norm2(g) + _rest_21)],
         rests_on=("a2.14", "a2.15_parallelogram", "a2.15", "a2.16", "a2.19")),
    same("a2.21", "(21)", "rearranged", [(K * eta * (half - 30 * _square), K * eta / 2 - 30 * L**2 * K**3 * eta**3)]),
    *_named("a2.22"),
    *_named("a2.23"),
    given("a2.24_shares", "before (24)", "a share q of the rounds is uniform, a share 1 - q arbitrary"),
    # falls = F(x_0) - F(x_r) so far, then F(x_r) = F_1, F(x_{r+1}) = F_2
    gram("a2.24_telescope", "(24)", "the decreases of successive rounds add up to F(x_0) - F(x_R) <= F(x_0) - F(x*)",
         F_0 - F_star - falls - (F_1 - F_2), given=((F_2 - F_star, _one),),
         zero=((falls - (F_0 - F_1), -_one),), kind="induction"),
    *_named("a2.24"),
)  # fmt: skip
