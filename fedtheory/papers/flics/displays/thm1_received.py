"""Theorem 1 where the estimate counts answers, this round's too, as line 7 of Algorithm 1 has it: steps that the paper
does not print.

The weights p_j/s^_j then depend on who answers: given the past and the round's availability, c_j = S_j/s^_j is a random
number, of mean rho_j, which takes the place of s_j/s^_j. Its variance is at most E S_j/s^_j^2, because s^_j grows with
every answer; so what selection adds is that sum, and no more. Line 14 does not divide.
"""

from __future__ import annotations

from dataclasses import replace

import sympy

from ....assumptions import INDEPENDENT_NOISE
from ....proof.symbol_regions import at_least, equal, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same
from . import repairs

q, t, h, k, n, p, v, x, g, rho = sympy.symbols("chance count history others clients weight update term growth ratio")
square_1, square_0, mean_1, mean_0, var_1, var_0, sum_1, sum_0, growth = sympy.symbols(
    "square_1 square_0 mean_1 mean_0 var_1 var_0 sum_1 sum_0 squared_growth"
)
second, proxy, variance, update, largest, length = sympy.symbols("second proxy variance update largest length")
_r = "repaired"
_c = lambda answers: t * answers / (h + answers)  # noqa: E731

MODEL = (
    given("flics.received.noise", "Assumption 3, 'independently'", "the noises of different clients are independent, "
          "so that E<Delta_l, Delta_m> = <v_i, v_j> for two clients l, m of groups i, j, who has answered or not",
          assumes=(INDEPENDENT_NOISE,)),
    given("flics.received.estimate", "line 7", "s^_j = (h_j + S_j)/t, with h_j what was counted before and S_j the "
          "round's answers (where s^(0) counts as a round, beta is in h_j, and t is one more); S_j/s^_j and S_j/s^_j^2 "
          "are 0 where nobody has answered"),
)  # fmt: skip

# How much a number of answers varies -------------------------------------------------------------------------------

VARIANCE = (
    # mean and mean square of f with the answer and without
    same("flics.received.one_more", _r, "of f with one more answer, which comes on its own with probability q: Var f = "
         "q Var f_1 + (1 - q) Var f_0 + q (1 - q) (E f_1 - E f_0)^2",
         [(q * square_1 + (1 - q) * square_0 - (q * mean_1 + (1 - q) * mean_0) ** 2,
           q * (square_1 - mean_1**2) + (1 - q) * (square_0 - mean_0**2) + q * (1 - q) * (mean_1 - mean_0) ** 2)],
         kind="probabilistic", printed=False, rests_on=("flics.answers",)),
    # sum_1 and sum_0: of the answers so far, with the new one and without; squared_growth: E (f_1 - f_0)^2
    nonnegative_step("flics.received.variance", _r, "so Var f <= sum over the answers of q (1 - q) E (f_1 - f_0)^2, by "
                     "induction (Efron and Stein)",
                     q * sum_1 + (1 - q) * sum_0 + q * (1 - q) * growth
                     - (q * var_1 + (1 - q) * var_0 + q * (1 - q) * (mean_1 - mean_0) ** 2),
                     region(interval("chance"), at_least("sum_1", var_1), at_least("sum_0", var_0),
                            at_least("squared_growth", (mean_1 - mean_0) ** 2), nonnegative("var_1"),
                            nonnegative("var_0"), equal("mean_1", mean_0 + g), nonnegative("mean_0"),
                            nonnegative("growth")),
                     kind="induction", printed=False, rests_on=("flics.received.one_more", "jensen")),
    # c(S) = t S/(h + S), k answers of the others; where h = 0 the first one makes it t, and no other changes it
    Step("flics.received.growth", _r, "c_j = S_j/s^_j grows with an answer, by at most t/(h_j + k + 1), k the answers "
         "of the others", "polynomial",
         (Identity(_c(k + 1) - _c(k), t * h / ((h + k) * (h + k + 1))),
          Nonnegative(t / (h + k + 1) - t * h / ((h + k) * (h + k + 1)),
                      (region(positive("history"), nonnegative("others"), positive("count")),
                       region(equal("history", sympy.S.Zero), positive("others"), positive("count")))),
          Identity(_c(sympy.S.One).subs(h, 0), (t / (h + k + 1)).subs({h: 0, k: 0}))),
         printed=False, rests_on=("flics.received.estimate",)),
    # term = t/(h + k + 1) = 1/s^_j if this client answers
    Step("flics.received.proxy", _r, "E S_j/s^_j^2 is the sum over the group's clients of q E (t/(h_j + k + 1))^2, so "
         "Var c_j <= E S_j/s^_j^2", "probabilistic",
         (Identity(q * 1 * x**2 + (1 - q) * 0, q * x**2), Identity((_c(k + 1) / (k + 1)), t / (h + k + 1)),
          Nonnegative(q * x**2 - q * (1 - q) * g**2, (region(interval("chance"), at_least("term", g),
                                                             nonnegative("growth")),))),
         printed=False, rests_on=("flics.received.variance", "flics.received.growth")),
)  # fmt: skip

# One round ---------------------------------------------------------------------------------------------------------

_INNER, _ROUND, _SUM = (
    next(step for step in repairs.ALL if step.name == name)
    for name in ("flics.lemma5", "flics.thm1.round", "flics.thm1.sum")
)

ROUND = (
    # term = E 1{l answers}/s^_j, for each of n clients
    same("flics.received.mean", _r, "E Delta = sum_j p_j rho_j v_j with rho_j = E S_j/s^_j, given the past and the "
         "round's availability", [(n * p * x * v, p * (n * x) * v)], kind="probabilistic", printed=False,
         rests_on=("flics.answers", "flics.received.estimate", "flics.noise")),
    # second = E c_j^2, proxy = E S_j/s^_j^2, update = E|Delta_l|^2, length = |v_j|^2; groups answer independently
    same("flics.received.moments", _r, "E|Delta|^2 = |E Delta|^2 + sum_j p_j^2 (Var(c_j) |v_j|^2 + E[S_j/s^_j^2] "
         "(E|Delta_l|^2 - |v_j|^2)): S_j (S_j - 1) pairs of clients in a group, and between groups E c_i c_j = rho_i "
         "rho_j",
         [((second - proxy) * length + proxy * update,
           rho**2 * length + (second - rho**2) * length + proxy * (update - length))],
         kind="probabilistic", printed=False,
         rests_on=("flics.answers", "flics.noise", "flics.received.noise", "flics.received.mean")),
    nonnegative_step("flics.received.square", _r, "so E|Delta|^2 <= |E Delta|^2 + eta_L^2 K^2 G^2 sum_j p_j^2 E "
                     "S_j/s^_j^2",
                     p**2 * (proxy * largest - variance * length - proxy * (update - length)),
                     region(interval("variance", 0, proxy), nonnegative("proxy"), at_least("largest", update),
                            at_least("update", length), nonnegative("length"), nonnegative("weight")),
                     printed=False,
                     rests_on=("flics.received.moments", "flics.received.proxy", "flics.local.update")),
    replace(_INNER, name="flics.received.inner", rests_on=("flics.lemma5.error", "flics.received.mean")),
    replace(_ROUND, name="flics.received.round",
            rests_on=("flics.descent", "flics.received.inner", "flics.received.square")),
    replace(_SUM, name="flics.received.sum", rests_on=("flics.received.round",)),
)  # fmt: skip

ALL = (*MODEL, *VARIANCE, *ROUND)
