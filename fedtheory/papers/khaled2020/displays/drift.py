"""Drift of clients with the same data between synchronisations.

w = x_m - x_n and g, h the gradients there, xi and nu their noises; k counts the steps since the last synchronisation,
at most H - 1 before a step.
"""

from __future__ import annotations

import sympy

from fedtheory.proof.gram import dot, norm2, vectors
from fedtheory.proof.symbol_regions import at_least, count, nonnegative, region
from fedtheory.proof.steps import Identity, Nonnegative, Step
from fedtheory.proof.write import given, same

from .symbols import H, L, M, gamma, gram, k, one, sigma

g, h, w, xi, nu = vectors("g h w xi nu")
squares, sum_squared, pair = sympy.symbols("squares sum_squared pair")

_gap = g - h
_pairs = M * (M - 1) * 2 * k * gamma**2 * sigma**2 / (2 * M**2)

STEPS = (
    given("khaled2020.synchronised", "algorithm", "right after a synchronisation all clients' models are equal"),
    gram("khaled2020.contraction", "Theorem 1", "a gradient step on the same F brings two clients no further apart: "
         "|w - gamma (g - h)|^2 <= |w|^2 for gamma <= 2/L",
         norm2(w) - norm2(w - gamma * _gap),
         given=((dot(_gap, w) - norm2(_gap) / L, 2 * gamma),), rests_on=("convex.cocoercive",)),
    gram("khaled2020.pair", "Theorem 1", "the noises of two clients add at most 2 gamma^2 sigma^2 to E|x_m - x_n|^2",
         norm2(w) + 2 * gamma**2 * sigma**2 - norm2(w - gamma * (_gap + xi - nu)),
         given=((norm2(w) - norm2(w - gamma * _gap), one), (sigma**2 - norm2(xi), gamma**2),
                (sigma**2 - norm2(nu), gamma**2)),
         zero=((dot(w, xi), 2 * gamma), (dot(w, nu), -2 * gamma), (dot(g, xi), -2 * gamma**2),
               (dot(h, xi), 2 * gamma**2), (dot(g, nu), 2 * gamma**2), (dot(h, nu), -2 * gamma**2),
               (dot(xi, nu), 2 * gamma**2)),
         rests_on=("khaled2020.contraction", "khaled2020.noise")),
    Step("khaled2020.pairs", "Theorem 1", "k steps after a synchronisation E|x_m - x_n|^2 <= 2k gamma^2 "
         "sigma^2, by induction",
         "induction",
         (Identity((2 * k * gamma**2 * sigma**2).subs(k, 0)),
          Identity(2 * k * gamma**2 * sigma**2 + 2 * gamma**2 * sigma**2, 2 * (k + 1) * gamma**2 * sigma**2)),
         rests_on=("khaled2020.pair", "khaled2020.synchronised")),
    # squares = sum of |x_m|^2, sum_squared = |sum of x_m|^2; the sum of |x_m - x_n|^2 over all m, n is 2M squares - 2
    # sum_squared
    same("khaled2020.variance", "Theorem 1", "V is the sum of |x_m - x_n|^2 over all m and n, over 2M^2",
         [(squares / M - sum_squared / M**2, (2 * M * squares - 2 * sum_squared) / (2 * M**2))]),
    Step("khaled2020.drift", "Theorem 1", "V <= (H - 1) gamma^2 sigma^2: M (M - 1) pairs of different clients, "
         "and k <= H - 1",
         "polynomial",
         (Identity(_pairs, (M - 1) / M * k * gamma**2 * sigma**2),
          Nonnegative((H - 1) * gamma**2 * sigma**2 - _pairs,
                      (region(at_least("local_steps", k + 1), nonnegative("k"), count("clients"),
                              nonnegative("gradient_noise"), nonnegative("local_lr")),))),
         rests_on=("khaled2020.pairs", "khaled2020.variance")),
)  # fmt: skip
