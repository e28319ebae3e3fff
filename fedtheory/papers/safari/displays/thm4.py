"""The displays of the proof of Theorem 4, (25) to (55), in the paper's order, and what repairs them.

g = grad F(x_r); V = mean over the participants of the sums of their gradients, N the same of their noises, S the
server's noise; D bounds E|x_k - x_r|^2; fall = F(x_r) - E F(x_{r+1}). <u, v> stands for E<u, v>, so that |V|^2 in (33)
is E|V|^2.
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import capped, count, interval, nonnegative, positive, region
from ....proof.steps import Step
from ...fast.displays.coefficients_a2 import left_side
from ....proof.write import given, nonnegative_step, same
from .symbols import (
    G1, G2, K, L, bias, eta, eta_s, gram, half, m, noise, one, q, quarter, server, setting, under, w, z,
)  # fmt: skip

g, u, v, x, N, S, U, V = vectors("g u v x N S U V")
D, A3, fall, falls, F_0, F_1, F_2, F_star = sympy.symbols("drift error fall falls F_0 F_1 F_2 F_star")
mean_g, mean_fall, client_g, client_fall, square_V = sympy.symbols("mean_g mean_fall client_g client_fall square_v")
_printed_drift = 5 * K * eta**2 * (noise + 6 * K * bias) + 30 * K**2 * eta**2 * norm2(g)
_sharper_drift = 2 * K * eta**2 * (noise + 6 * K * bias) + 12 * K**2 * eta**2 * norm2(g)

# What smoothness says of either kind of round, in expectation.
server_descent = fall - eta_s * dot(g, g + S) + L / 2 * eta_s**2 * norm2(g + S)
client_descent = fall - eta * dot(g, V) + L / 2 * eta**2 * norm2(V + N)
NOISE_SPLIT = 2 * norm2(V) + 2 * K * noise / m - norm2(V + N)

_after_46 = (
    fall - eta / (2 * K) * norm2(V) + eta * K * bias + eta * K * L**2 * 5 * K * eta**2 * (noise + 6 * K * bias)
    + L * eta**2 * norm2(V) + L * eta**2 * K / m * noise
)  # fmt: skip
_right_48 = (
    4 / (K * eta) * fall + 4 * bias + (4 * L * eta / K - 2 / K**2) * norm2(V)
    + 20 * K * L**2 * eta**2 * (noise + 6 * K * bias) + 4 * L * eta / m * noise
)  # fmt: skip
_tied = {eta: 2 * eta_s / K}
_server_right = 2 / eta_s * fall + (w - 1) * mean_g + w * server
_drift_50 = 80 * L**2 * eta_s**2 / K * (noise + 6 * K * bias) + 8 * w / (m * K) * noise
_client_right = 2 / eta_s * client_fall + 4 * bias + (8 * w / K**2 - 2 / K**2) * square_V + _drift_50
_average = (1 - q) * mean_g + q * client_g
_squares = (1 - q) * (1 - w) * mean_g + q * (2 / K**2 - 8 * w / K**2) * square_V
_both_falls = mean_fall - (1 - q) * fall - q * client_fall
_sum_52 = (
    2 / eta_s * mean_fall + (1 - q) * (w - 1) * mean_g + (1 - q) * w * server
    + q * (4 * bias + (8 * w / K**2 - 2 / K**2) * square_V + _drift_50)
)  # fmt: skip
_slow = setting(capped("server_lr", 1 / (5 * L)))


def _at(g1: sympy.Expr, g2: sympy.Expr) -> sympy.Expr:
    """(54) minus 4 q sigma_G^2 where (55) holds with equality at G_1, G_2."""
    return (1 - q) * (1 - w) * (g1 - G1) + q * (2 / K**2 - 8 * w / K**2) * (g2 - G2)


_sizes = (nonnegative("peak_server_gradient"), nonnegative("peak_arbitrary_pseudogradient"))
_rest = (capped("server_lr", 1 / (5 * L)), positive("smoothness"), count("local_steps"),
         interval("client_round_probability"))  # fmt: skip
_below = region(interval("mean_g", high=G1), interval("square_v", high=G2), *_sizes, *_rest)
covered, total = sympy.symbols("covered total")

SERVER = (
    Step("s4.25", "(25)", "Lemma 1 at x_r and x_{r+1}, in expectation", "lemma", rests_on=("lemma1.integral",)),
    same("s4.26", "(26)", "the movement is eta_s times the stochastic gradient, with the sign +",
         [(dot(g, eta_s * g), dot(g, -eta_s * g))], expected="gap", repaired_by=("s4.26_with_the_sign",)),
    same("s4.26_with_the_sign", "(26)", "<g, -eta_s (g + noise)> = -eta_s |g|^2 - eta_s <g, noise>",
         [(dot(g, -eta_s * (g + S)), -eta_s * norm2(g) - eta_s * dot(g, S))], printed=False,
         rests_on=("server.noise",)),
    gram("s4.27", "(27)", "as <=, for the variance is only bounded: E F(x_{r+1}) <= F(x_r) - eta_s |g|^2 + L eta_s^2/2 "
         "(|g|^2 + sigma_s^2)",
         fall - eta_s * norm2(g) + L / 2 * eta_s**2 * (norm2(g) + server),
         given=((server_descent, one), (server - norm2(S), L / 2 * eta_s**2)),
         zero=((dot(g, S), eta_s - L * eta_s**2),), kind="probabilistic",
         rests_on=("s4.25", "s4.26", "server.square")),
    gram("s4.28", "(28)", "2/eta_s times (27)", 2 / eta_s * fall + (w - 1) * norm2(g) + w * server - norm2(g),
         given=((fall - eta_s * norm2(g) + L / 2 * eta_s**2 * (norm2(g) + server), 2 / eta_s),), rests_on=("s4.27",)),
)  # fmt: skip

CLIENTS = (
    Step("s4.29", "(29)", "Lemma 1 at x_r and x_{r+1}, in expectation, given the participants", "lemma",
         rests_on=("lemma1.integral", "cohort.before_noise")),
    same("s4.30", "(30)", "the movement is -eta_c Delta_r, and E_r Delta_r = E_r V",
         [(dot(g, -eta * (V + N)), -eta * dot(g, V) - eta * dot(g, N))], rests_on=("drift.noise",)),
    same("s4.32", "(31) to (33)", "<g, -eta V> = eta/(2K) (-K^2 |g|^2 - |V|^2 + |K g - V|^2), inside E_r",
         [(-eta * dot(g, V), eta / (2 * K) * (-(K**2) * norm2(g) - norm2(V) + norm2(K * g - V)))]),
    gram("s4.34", "(34)", "Jensen: |sum|^2 <= m K times the sum of squares",
         -K * eta / 2 * norm2(g) - eta / (2 * K) * norm2(V) + eta * K / 2 * A3 + eta * dot(g, V),
         given=((K**2 * A3 - norm2(K * g - V), eta / (2 * K)),), rests_on=("jensen",)),
    same("s4.38", "(37), (38)", "grad F_i(x_r) added and subtracted", [(norm2(g - v), norm2((g - x) + (x - v)))]),
    gram("s4.39", "(39)", "|a + b|^2 <= 2|a|^2 + 2|b|^2", 2 * norm2(g - x) + 2 * norm2(x - v) - norm2(g - v)),
    gram("s4.40", "(40)", "Assumptions 3 and 5", 2 * bias + 2 * L**2 * norm2(u) - norm2(g - v),
         given=((bias - norm2(g - x), sympy.Integer(2)), (L**2 * norm2(u) - norm2(x - v), sympy.Integer(2)))),
    Step("s4.41", "(41)", "the drift lemma, z <= 1/8", "lemma", rests_on=("drift.printed",)),
    gram("s4.36", "(35), (36)", "(34) with (41)",
         -K * eta / 2 * norm2(g) - eta / (2 * K) * norm2(V) + eta * K * bias + eta * K * L**2 * _printed_drift
         + eta * dot(g, V),
         given=((-K * eta / 2 * norm2(g) - eta / (2 * K) * norm2(V) + eta * K / 2 * A3 + eta * dot(g, V), one),
                (2 * bias + 2 * L**2 * _printed_drift - A3, eta * K / 2)), rests_on=("s4.34", "s4.40", "s4.41")),
    gram("s4.43", "(42), (43)", "|a + b|^2 <= 2|a|^2 + 2|b|^2",
         L * eta**2 * norm2(V) + L * eta**2 * norm2(N) - L / 2 * eta**2 * norm2(V + N)),
    gram("s4.44", "(44)", "E|noise|^2 <= K sigma^2/m: martingale differences in k, clients independent",
         L * eta**2 * norm2(V) + L * eta**2 * K / m * noise - L / 2 * eta**2 * norm2(V + N),
         given=((K * noise / m - norm2(N), L * eta**2),), kind="probabilistic", rests_on=("s4.43", "noise.cohort")),
    gram("s4.46", "(45), (46)", "the pieces together", _after_46 - K * eta * (half - 30 * z**2) * norm2(g),
         given=((client_descent, one),
                (-K * eta / 2 * norm2(g) - eta / (2 * K) * norm2(V) + eta * K * bias + eta * K * L**2 * _printed_drift
                 + eta * dot(g, V), one),
                (L * eta**2 * norm2(V) + L * eta**2 * K / m * noise - L / 2 * eta**2 * norm2(V + N), one)),
         rests_on=("s4.29", "s4.30", "s4.32", "s4.36", "s4.44")),
    # z <= sqrt(L K)/(4 sqrt 30): squared_step plays z^2
    nonnegative_step("s4.46_root_of_30LK", "after (46)", "1/2 - 30 z^2 >= 1/4 where eta_c <= 1/(4 sqrt(30 L K)), as "
                     "printed", left_side(30, sympy.Symbol("squared_step")),
                     region(capped("squared_step", L * K / 480), positive("smoothness"), count("local_steps")),
                     expected="gap", repaired_by=("s4.46_root_of_30",)),
    nonnegative_step("s4.46_root_of_30", "after (46)", "1/2 - 30 z^2 >= 1/4 where z <= 1/(4 sqrt 30) < 1/21",
                     left_side(30, z**2), under(sympy.Rational(1, 21)), printed=False),
    gram("s4.48", "(47), (48)", "4/(K eta_c) times (46)", _right_48 - norm2(g),
         given=((_after_46 - K * eta * (half - 30 * z**2) * norm2(g), 4 / (K * eta)),
                ((half - 30 * z**2 - quarter) * norm2(g), sympy.Integer(4))), rests_on=("s4.46", "s4.46_root_of_30LK")),
    same("s4.50", "(49), (50)", "eta_c = 2 eta_s/K put in",
         [((4 / (K * eta)).subs(_tied), 2 / eta_s),
          ((4 * L * eta / K - 2 / K**2).subs(_tied), 8 * w / K**2 - 2 / K**2),
          ((20 * K * L**2 * eta**2 * (noise + 6 * K * bias) + 4 * L * eta / m * noise).subs(_tied), _drift_50)],
         rests_on=("s4.48",)),
)  # fmt: skip

ROUNDS = (
    given("s4.51_shares", "before (25)", "a share 1 - q of the rounds is the server's and a share q the clients': a "
          "pattern of exactly these shares, or at random, whatever the rounds before were"),
    gram("s4.51_telescope", "(51), (52)", "the decreases of successive rounds add up to F(x_0) - F(x_R) <= F(x_0) - "
         "F(x*)",
         F_0 - F_star - falls - (F_1 - F_2), given=((F_2 - F_star, one),), zero=((falls - (F_0 - F_1), -one),),
         kind="induction"),
    # mean_g is the mean of |g|^2 over server rounds, client_g over client rounds; fall, client_fall likewise
    gram("s4.52", "(51), (52)", "the mean of (28) and (50) over both kinds", _sum_52 - _average,
         given=((_server_right - mean_g, 1 - q), (_client_right - client_g, q)), zero=((_both_falls, 2 / eta_s),),
         kind="polynomial", rests_on=("s4.28", "s4.50", "s4.51_shares", "s4.51_telescope")),
    gram("s4.53", "(53)", "(54) in (52)", 2 / eta_s * mean_fall + (1 - q) * w * server + q * _drift_50 - _average,
         given=((_sum_52 - _average, one), (_squares - 4 * q * bias, one)), kind="polynomial", rests_on=("s4.52",)),
)  # fmt: skip

MAXIMA = (
    nonnegative_step("s4.54_squares_replaced_by_their_maximum", "(54) to (55)", "(55), with the maxima G_1 and G_2, "
                     "gives (54), which is needed", _at(mean_g, square_V), _below, expected="gap",
                     why="(54) implies (55), not the reverse"),
    # where c = (1 - w) G_1 > 0 and T = N + D > 0
    nonnegative_step("s4.55_quotient", "after (55)", "q <= 1/(N/D + 1) with D > 0 gives (55)",
                     covered - q * total,
                     region(capped("client_round_probability", covered / total), positive("covered"),
                            positive("total"))),
    nonnegative_step("s4.55_squared_step", "Theorem 4", "the statement's condition, with 2 L eta_s^2/K^2, gives the "
                     "proof's, with 2 L eta_s/K^2", 8 * G2 * L * (eta_s**2 - eta_s) / K**2,
                     region(positive("server_lr"), positive("smoothness"), count("local_steps"),
                            nonnegative("peak_arbitrary_pseudogradient")),
                     expected="gap", repaired_by=("s4.50_with_room",)),
)  # fmt: skip

# Not printed: what closes gaps, and the repaired statements --------------------------------------------------------

W = sympy.Symbol("mean_error")
_room = under(sympy.Rational(1, 21))
_right_of_room = (
    4 / (K * eta) * fall + 4 * bias - 2 / K**2 * norm2(V) + 20 * K * L**2 * eta**2 * (noise + 6 * K * bias)
    + 4 * L * eta / m * noise
)  # fmt: skip
_without_step = 4 * bias - 2 / K**2 * square_V + _drift_50

REPAIRED = (
    gram("s4.50_with_the_sharper_drift", "(50)", "(48) under z <= 1/8, with the constants 2 and 12 of the drift",
         _right_48 - norm2(g),
         given=((client_descent, 4 / (K * eta)), (NOISE_SPLIT, 2 * L * eta / K),
                (K**2 * A3 - norm2(K * g - V), 2 / K**2), (2 * bias + 2 * L**2 * D - A3, sympy.Integer(2)),
                (_sharper_drift - D, 4 * L**2)),
         where=under(sympy.Rational(1, 8)), printed=False,
         rests_on=("s4.29", "s4.30", "s4.40", "s4.44", "jensen", "drift")),
    same("s4.50_tied", "(50)", "eta_c = 2 eta_s/K put in",
         [((4 / (K * eta)).subs(_tied), 2 / eta_s), ((4 * L * eta / K).subs(_tied), 8 * w / K**2),
          ((20 * K * L**2 * eta**2 * (noise + 6 * K * bias) + 4 * L * eta / m * noise).subs(_tied), _drift_50)],
         printed=False, rests_on=("s4.50_with_the_sharper_drift",)),
    # |K g - V|^2/K^2 = W <= 3/2 sigma_G^2 + 3 L^2 D, and |V|^2/K^2 <= 2|g|^2 + 2 W
    gram("s4.50_with_room_error", "(50)", "the mean error of the local gradients is at most 3/2 sigma_G^2 + 3 L^2 D",
         sympy.Rational(3, 2) * bias + 3 * L**2 * norm2(u) - norm2(g - v),
         given=((bias - norm2(g - x), sympy.Rational(3, 2)), (L**2 * norm2(u) - norm2(x - v), sympy.Integer(3))),
         printed=False),
    gram("s4.50_with_room", "(50)", "(50) without 8 L eta_s/K^2 |V|^2, under z <= 1/21", _right_of_room - norm2(g),
         given=((client_descent, 4 / (K * eta)), (NOISE_SPLIT, 2 * L * eta / K),
                (K**2 * W - norm2(K * g - V), (2 + 8 * z) / K**2),
                (sympy.Rational(3, 2) * bias + 3 * L**2 * D - W, 2 + 8 * z),
                (_sharper_drift - D, 3 * L**2 * (2 + 8 * z))),
         where=_room, printed=False, rests_on=("s4.29", "s4.30", "s4.50_with_room_error", "s4.44", "jensen", "drift")),
    same("s4.50_with_room_tied", "(50)", "eta_c = 2 eta_s/K put in",
         [((4 / (K * eta)).subs(_tied), 2 / eta_s),
          ((20 * K * L**2 * eta**2 * (noise + 6 * K * bias) + 4 * L * eta / m * noise).subs(_tied), _drift_50)],
         printed=False, rests_on=("s4.50_with_room",)),
    # the least G_1 and G_2 over the rounds; the condition without its term in the step is the weakest
    gram("s4.54_minima", "(54), (55) of the submitted version", "with minima over the rounds (55) gives (54)",
         2 / eta_s * mean_fall + (1 - q) * w * server + q * _drift_50 - _average,
         given=((_server_right - mean_g, 1 - q),
                (2 / eta_s * client_fall + _without_step - client_g, q),
                (mean_g - G1, (1 - q) * (1 - w)), (square_V - G2, 2 * q / K**2),
                ((1 - q) * (1 - w) * G1 + q * 2 / K**2 * G2 - 4 * q * bias, one)),
         zero=((_both_falls, 2 / eta_s),), where=_slow, kind="polynomial", printed=False,
         rests_on=("s4.28", "s4.50_with_room_tied", "s4.51_shares", "s4.51_telescope")),
    gram("thm4.corrected", "repaired", "(52) without the squares, whose factors are <= 0 for w <= 1/5",
         2 / eta_s * mean_fall + (1 - q) * w * server + q * (4 * bias + _drift_50) - _average,
         given=((_sum_52 - _average, one), (mean_g, (1 - q) * (1 - w)), (square_V, q * (2 / K**2 - 8 * w / K**2))),
         where=_slow, kind="polynomial", printed=False, rests_on=("s4.52",)),
    same("rem5.identical", "Remark 5, i)", "4 sigma_G^2 and the drift's 6 K sigma_G^2 are 0 where sigma_G is",
         [((4 * bias + _drift_50).subs(bias, 0), 80 * L**2 * eta_s**2 / K * noise + 8 * w / (m * K) * noise)],
         printed=False, rests_on=("thm4.corrected",)),
)  # fmt: skip

ALL = (*SERVER, *CLIENTS, *ROUNDS, *MAXIMA, *REPAIRED)
