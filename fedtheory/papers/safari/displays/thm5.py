"""The displays of the proof of Theorem 5, (56) to (85), in the paper's order.

e = x_r - x*; g = grad F(x_r); V = mean over the participants of the sums of their gradients, v one of these gradients,
w = grad F_i(x_r), N and S the noise of the clients and of the server; G the participants' mean of F_i(x_r) - F_i(x*).
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import capped, interval, positive, region
from ....proof.steps import Nonnegative, Step
from ....proof.write import given, nonnegative_step, same
from .symbols import (
    K,
    L,
    bias,
    client_cost,
    eta,
    eta_s,
    gram,
    m,
    mu,
    noise,
    one,
    q,
    rate,
    server,
    setting,
    tied_rate,
    z,
)

e, g, u, v, w, N, S, V = vectors("e g u v w N S V")
drift, G, f_r, f_s, f_k, after, client_after, server_after = sympy.symbols(
    "drift excess f_r f_s f_k after client_after server_after"
)
step, bar, partial, contraction = sympy.symbols("step bar partial contraction")
_server_cap = setting(capped("local_lr", 8 * L / ((L + mu) ** 2 * K)))
"""eta_s <= 2/(L + mu) with eta_s = (L + mu) K eta_c/(4L)."""

_server_part = (1 - q) * eta_s * (eta_s - 2 / (L + mu))
_printed_drift = 5 * K * eta**2 * (noise + 6 * K * bias) + 30 * K**2 * eta**2 * norm2(g)
_added_drift = 2 * eta * K * L * (1 + K * eta * L) * 5 * K * eta**2 * (noise + 6 * K * bias)
_right_58 = (
    (1 - tied_rate) * norm2(e) + eta_s * (eta_s - 2 / (L + mu)) * norm2(g) + eta_s**2 * server
)  # fmt: skip
_right_61 = norm2(e) + eta**2 * norm2(V) + K * eta**2 / m * noise - 2 * eta * dot(e, V)
_right_65 = (
    (1 - rate) * norm2(e) + eta**2 * norm2(V) + K * eta**2 / m * noise - 2 * eta * K * G + 2 * eta * L * drift
)  # fmt: skip
_right_70 = 2 * K * L**2 * drift + 4 * K**2 * bias + 4 * K**2 * norm2(g)
_right_73 = (
    (1 - rate) * norm2(e) + 4 * eta**2 * K**2 * bias + 4 * eta**2 * K**2 * norm2(g) + K * eta**2 / m * noise
    - 2 * eta * K * G + 2 * eta * L * (1 + K * eta * L) * drift
)  # fmt: skip
_grown = 1 + 15 * z * (1 + z)
_right_77 = (
    (1 - rate) * norm2(e) + 4 * eta**2 * K**2 * bias + 4 * eta**2 * K**2 * _grown * norm2(g)
    + K * eta**2 / m * noise - 2 * eta * K * G + _added_drift
)  # fmt: skip

SERVER = (
    gram("s5.57", "(56), (57)", "the square expanded, noise of mean 0",
         norm2(e) + eta_s**2 * norm2(g) + eta_s**2 * server - 2 * eta_s * dot(e, g) - norm2(e - eta_s * (g + S)),
         given=((server - norm2(S), eta_s**2),), zero=((dot(e, S), 2 * eta_s), (dot(g, S), -2 * eta_s**2)),
         kind="probabilistic", rests_on=("server.noise",)),
    gram("s5.58", "(58)", "(L + mu) <g, e> >= L mu |e|^2 + |g|^2", _right_58 - norm2(e - eta_s * (g + S)),
         given=((norm2(e) + eta_s**2 * norm2(g) + eta_s**2 * server - 2 * eta_s * dot(e, g)
                 - norm2(e - eta_s * (g + S)), one),
                ((L + mu) * dot(g, e) - L * mu * norm2(e) - norm2(g), 2 * eta_s / (L + mu))),
         rests_on=("s5.57", "strong.smooth", "strong.smooth_equal")),
)  # fmt: skip

CLIENTS = (
    gram("s5.60", "(59), (60)", "the square expanded, noise of mean 0",
         norm2(e) + eta**2 * norm2(V + N) - 2 * eta * dot(e, V) - norm2(e - eta * (V + N)),
         zero=((dot(e, N), 2 * eta),), kind="probabilistic", rests_on=("drift.noise", "cohort.before_noise")),
    nonnegative_step("s5.61_step", "(61)", "the noise is separated with the factor 1, for which eta_c <= 2/L suffices; "
                     "eta_s <= 2/(L + mu) gives that",
                     2 - L * eta, _server_cap, expected="gap", repaired_by=("s5.client_round",)),
    # one dimension, K = 3, m = 1, F_i = L x^2/2, x_r = 0, noise in the first step alone; step plays eta_c L
    nonnegative_step("s5.61_three_steps", "(61)", "for three steps with 2 <= eta_c L <= 8/3 and any noise: step^2 "
                     "(2 - step)^2 + 3 >= (1 - step)^4", step**2 * (2 - step) ** 2 + 3 - (1 - step) ** 4,
                     region(interval("step", 2, sympy.Rational(8, 3))), expected="gap",
                     why="F_i = L x^2/2, x_r = x*, noise of size 1 in the first of three steps",
                     repaired_by=("s5.client_round",)),
    gram("s5.61", "(61)", "E|V + noise|^2 <= E|V|^2 + K sigma^2/m", _right_61 - norm2(e - eta * (V + N)),
         given=((norm2(e) + eta**2 * norm2(V + N) - 2 * eta * dot(e, V) - norm2(e - eta * (V + N)), one),
                (norm2(V) + K * noise / m - norm2(V + N), eta**2)), kind="probabilistic",
         rests_on=("s5.60", "noise.separated", "s5.61_step", "s5.61_three_steps")),
    # u = x_k - x_r; the gradient v at x_k, strong convexity to x*, smoothness to x_r
    gram("s5.63_lemma_2", "(62), (63)", "<grad F_i(x_k), e> >= F_i(x_r) - F_i(x*) + mu/4 |e|^2 - L |x_k - x_r|^2",
         dot(v, e) - (f_r - f_s) - mu / 4 * norm2(e) + L * norm2(u),
         given=((f_s - f_k + dot(v, e + u) - mu / 2 * norm2(e + u), one),
                (f_k - dot(v, u) + L / 2 * norm2(u) - f_r, one)), rests_on=("lemma1.integral",)),
    # drift plays the sum over k
    gram("s5.65", "(62) to (65)", "summed over the steps and the participants", _right_65 - norm2(e - eta * (V + N)),
         given=((_right_61 - norm2(e - eta * (V + N)), one),
                (dot(V, e) - K * G - K * mu / 4 * norm2(e) + L * drift, 2 * eta)),
         rests_on=("s5.61", "s5.63_lemma_2")),
    same("s5.67", "(67)", "K times the mean of grad F_i(x_r) subtracted and added",
         [(norm2(V), norm2((V - K * w) + K * w))]),
    gram("s5.68", "(68)", "|a + b|^2 <= 2|a|^2 + 2|b|^2", 2 * norm2(V - K * w) + 2 * norm2(K * w) - norm2(V)),
    gram("s5.69", "(69)", "Jensen, and |a + b|^2 <= 2|a|^2 + 2|b|^2",
         2 * K * L**2 * drift + 4 * K**2 * norm2(w - g) + 4 * K**2 * norm2(g) - 2 * norm2(V - K * w) - 2 * norm2(K * w),
         given=((K * L**2 * drift - norm2(V - K * w), sympy.Integer(2)),), rests_on=("jensen",)),
    gram("s5.70", "(70)", "Assumptions 3 and 5", _right_70 - norm2(V),
         given=((K * L**2 * drift - norm2(V - K * w), sympy.Integer(2)), (bias - norm2(w - g), 4 * K**2)),
         rests_on=("s5.67", "s5.68", "s5.69", "jensen")),
    gram("s5.73", "(72), (73)", "(70) in (65)", _right_73 - norm2(e - eta * (V + N)),
         given=((_right_65 - norm2(e - eta * (V + N)), one), (_right_70 - norm2(V), eta**2)),
         rests_on=("s5.65", "s5.70")),
    nonnegative_step("s5.75_cap", "(74), (75)", "the drift lemma's z <= 1/8 follows from eta_s <= 2/(L + mu)",
                     sympy.Rational(1, 8) - z, _server_cap, expected="gap", repaired_by=("s5.client_round",)),
    gram("s5.75", "(74), (75)", "the drift lemma in (73)", _right_77 - norm2(e - eta * (V + N)),
         given=((_right_73 - norm2(e - eta * (V + N)), one),
                (K * _printed_drift - drift, 2 * eta * L * (1 + K * eta * L))),
         rests_on=("s5.73", "s5.75_cap", "drift.printed")),
    same("s5.77", "(76), (77)", "sorted",
         [(4 * eta**2 * K**2 + 2 * eta * K * L * (1 + K * eta * L) * 30 * K**2 * eta**2, 4 * eta**2 * K**2 * _grown)]),
)  # fmt: skip

# One round of either kind ------------------------------------------------------------------------------------------

_in_bar = {eta: 2 * bar / (K * mu), eta_s: (L + mu) * bar / (2 * L * mu)}
_cost = 1 + 30 * L * bar / mu * (1 + 2 * L * bar / mu)
_server_in_bar = (1 - q) * (L + mu) / (2 * L * mu) * ((L + mu) * bar / (2 * L * mu) - 2 / (L + mu))
_bracket = 4 * q * tied_rate / mu**2 * client_cost + _server_part / tied_rate
_floor = 4 * q * eta**2 * K**2 * bias + q * K * eta**2 / m * noise + q * _added_drift + (1 - q) * eta_s**2 * server
_tie = {eta: 4 * L * eta_s / ((L + mu) * K)}
square_e, square_g = norm2(e), norm2(g)
QUARTER = (
    (1 - rate) * square_e - 2 * eta * K * G + eta**2 * K**2 * _grown * square_g
    + eta**2 * K**2 * (4 + 60 * z * (1 + z)) * bias + eta**2 * K * (1 / m + 10 * z * (1 + z)) * noise
)  # fmt: skip
"""(77) with a fourth of its multiple of |g|^2: what a client round satisfies for z <= 8."""
_both = after - (1 - q) * server_after - q * client_after

ROUNDS = (
    given("s5.78_kinds", "before (78)", "a round is the clients' with probability q, whatever the rounds before were; "
          "for random participants the sums over S_r are expectations"),
    gram("s5.80", "(78) to (80)", "the mean of (58) and (77) over both kinds",
         (1 - q) * _right_58 + q * _right_77 - after,
         given=((_right_58 - server_after, 1 - q), (_right_77 - client_after, q)), zero=((_both, -one),),
         kind="probabilistic", rests_on=("s5.58", "s5.75", "s5.77", "s5.78_kinds")),
    same("s5.81", "(80) to (81)", "4 q eta_c^2 K^2 (...) = eta 4 q eta/mu^2 (...), eta the tied rate",
         [((4 * q * eta**2 * K**2 * _grown).subs(_in_bar), bar * 4 * q * bar / mu**2 * _cost)],
         expected="gap", why="eta_c K = 2 eta/mu, so the factor is 16", repaired_by=("s5.81_with_a_fourth",)),
    same("s5.81_server", "(80) to (81)", "the server's part in the tied rate",
         [(_server_part.subs(_in_bar), bar * _server_in_bar)]),
    same("s5.82", "(82)", "2 q eta_c K = 4 q eta/mu", [((2 * q * eta * K).subs(_in_bar), 4 * q * bar / mu)]),
    same("s5.81_with_a_fourth", "(81)", "with a fourth of the clients' multiple of |g|^2 the printed bracket is right",
         [((q * eta**2 * K**2 * _grown).subs(_in_bar), bar * 4 * q * bar / mu**2 * _cost)], printed=False,
         rests_on=("s5.client_round",)),
    gram("s5.83", "(83)", "where the bracket times |g|^2 is at most 4q/mu G, from a fourth of (77)",
         (1 - tied_rate) * square_e + _floor.subs(_tie) - after,
         given=((_right_58 - server_after, 1 - q), (QUARTER.subs(_tie) - client_after, q),
                (4 * q / mu * G - _bracket * square_g, tied_rate)),
         zero=((_both, -one),), kind="polynomial",
         rests_on=("s5.58", "s5.client_round", "s5.78_kinds", "s5.81_with_a_fourth", "s5.81_server", "s5.82")),
)  # fmt: skip

_curve = (L + mu) ** 2 * bar / (4 * L**2 * mu**2)
CONDITION = (
    same("s5.83_gain", "after (83)", "the server's part is -(1-q) (1/(L + mu) - (L + mu)^2 eta/(4 L^2 mu^2))",
         [(_server_in_bar, -(1 - q) * (1 / (L + mu) - _curve))], expected="gap", why="it is 1/(L mu)"),
    same("s5.83_gain_corrected", "after (83)", "the server's part is -(1-q) (1/(L mu) - (L + mu)^2 eta/(4 L^2 mu^2))",
         [(_server_in_bar, -(1 - q) * (1 / (L * mu) - _curve))], printed=False),
    given("s5.83_every_round", "after (83)", "the least ratio of G_4 to G_3 = |g|^2 is taken over all rounds, so that "
          "E G_4 >= ratio E G_3 in each (at x* both vanish)"),
)  # fmt: skip

RECURSION = (
    nonnegative_step("s5.84_factor", "(84)", "1 - eta_c K mu/2 >= 0 under eta_s <= 2/(L + mu)", 1 - rate, _server_cap),
    # two rounds: delta-bar is defined as the round's constant over eta
    nonnegative_step("s5.84_sum_of_delta", "(84) to (85)", "the sum over j < R of (1 - eta)^j delta is at most delta; "
                     "for R = 2: 1 >= 1 + (1 - eta)", -(1 - bar), region(interval("bar")), expected="gap",
                     repaired_by=("s5.84_geometric_sum", "s5.85_floors")),
    Step("s5.84_geometric_sum", "(84)", "with the round's constant c: the sum of (1 - eta)^j c is at most c/eta",
         "induction",
         (Nonnegative(1 / contraction - (1 - contraction) * partial - 1,
                      (region(interval("partial", high=1 / contraction), capped("contraction", one)),)),
          Nonnegative(1 / contraction, (region(positive("contraction")),))), printed=False),
    same("s5.85_floors", "(85)", "c over eta is the printed delta, term by term",
         [(4 * q * eta**2 * K**2 / rate, 8 * q * eta * K / mu), (q * K * eta**2 / m / rate, 2 * q * eta / (mu * m)),
          (q * 2 * eta * K * L * (1 + K * eta * L) / rate, 4 * q * L * (1 + K * eta * L) / mu),
          ((1 - q) * eta_s**2 / tied_rate, (1 - q) * (L + mu) / (2 * L * mu) * eta_s)]),
)  # fmt: skip

ALL = (*SERVER, *CLIENTS, *ROUNDS, *CONDITION, *RECURSION)
