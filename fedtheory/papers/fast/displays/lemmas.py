"""Lemmas of FAST's proofs: smoothness, convexity, the drift of local training, noise, and sampling.

Expectations given the round's start are inner products: <u, v> stands for E<u, v>, and a vector whose expectation given
the past vanishes is orthogonal to everything the past determines.
"""

from __future__ import annotations

import sympy

from ....assumptions import (
    COHORT_BEFORE_NOISE, INDEPENDENT_NOISE, UNBIASED_NOISE, UNCORRELATED_NOISE, UNIFORM_COHORTS,
)  # fmt: skip
from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import at_least, capped, count, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, nonnegative_step, same
from .symbols import K, L, M, eta, gram, m, mu, sigma, sigma_G, under, vectors_check

t, k, f_x, f_y, f_z = sympy.symbols("t k f_x f_y f_z")
a, b, g, s, u, v, w, y, N, S, B, G, xi = vectors("a b g s u v w y N S B G xi")

# Smooth and convex functions ------------------------------------------------------------------------------------------

_gap = b - a  # the gradients at x and y are a and b, and w = y - x

LEMMAS = (
    given("lemma1.path", "Lemma 1", "F(y) - F(x) - <grad F(x), d> is the integral of <grad F(x + td) - grad F(x), "
        "d> over "
          "0 <= t <= 1, d = y - x (fundamental theorem of calculus)"),
    gram("lemma1.integrand", "Lemma 1", "<grad F(x + td) - grad F(x), d> <= L t |d|^2 by the Lipschitz gradient",
         L * t * norm2(s) - dot(v, s), given=((L**2 * t**2 * norm2(s) - norm2(v), 1 / (2 * L * t)),),
         where=region(positive("t"), positive("smoothness"))),
    same("lemma1.integral", "Lemma 1", "the integral of L t over 0 <= t <= 1 is L/2",
         [(sympy.integrate(L * t, (t, 0, 1)), L / 2)], rests_on=("lemma1.path", "lemma1.integrand")),
    # s = z - x, u = y - z, a = grad g(x)
    gram("lemma2", "Lemma 2", "strong convexity from x to y, Lemma 1 from x to z, and mu <= L",
         -mu / 4 * norm2(u) + L * norm2(s) - f_z + f_y - dot(a, u),
         given=((f_y - f_x - dot(a, s + u) - mu / 2 * norm2(s + u), sympy.Integer(1)),
                (f_x + dot(a, s) + L / 2 * norm2(s) - f_z, sympy.Integer(1))),
         rests_on=("lemma1.integral",)),
    gram("convex.interpolation", "used for (29)", "a convex L-smooth f has f(y) >= f(x) + <grad f(x), y - x> + "
         "|grad f(y) - grad f(x)|^2/(2L): convexity from x and Lemma 1 from y to y - (grad f(y) - grad f(x))/L",
         f_y - f_x - dot(a, w) - norm2(_gap) / (2 * L),
         given=((f_z - f_x - dot(a, w - _gap / L), sympy.Integer(1)),
                (f_y - dot(b, _gap / L) + norm2(_gap) / (2 * L) - f_z, sympy.Integer(1))),
         printed=False, rests_on=("lemma1.integral",)),
    gram("convex.cocoercive", "used for (29)", "<grad f(y) - grad f(x), y - x> >= |grad f(y) - grad f(x)|^2/L",
         dot(_gap, w) - norm2(_gap) / L,
         given=((f_y - f_x - dot(a, w) - norm2(_gap) / (2 * L), sympy.Integer(1)),
                (f_x - f_y + dot(b, w) - norm2(_gap) / (2 * L), sympy.Integer(1))),
         printed=False, rests_on=("convex.interpolation",)),
    # J T >= |S|^2 for T = sum of |v_j|^2, S = sum of v_j over J vectors; f_x plays T, k plays J
    Step("jensen", "throughout", "|mean of vectors|^2 <= mean of their |.|^2, by induction over their number",
        "induction",
         (vectors_check((k + 1) * (f_x + norm2(v)) - norm2(S + v), ((k * f_x - norm2(S), (k + 1) / k),),
                        where=region(count("k"))),)),
)  # fmt: skip

# The drift of local training ------------------------------------------------------------------------------------------

_one = sympy.Integer(1)
_two_or_more = region(capped("local_lr", sympy.Rational(47, 200) / (L * K)), positive("smoothness"),
                      count("local_steps", 2))  # fmt: skip
_growth = (1 + 1 / K) * k * (1 + k / K) + 1
_drift_2 = 2 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 12 * K**2 * eta**2 * norm2(g)
_sum = k * (k - 1) / 2 + k * (k - 1) * (2 * k - 1) / (6 * K)
_mean_drift = sympy.Rational(5, 6) * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2 + 6 * K * norm2(g))
_drift_5 = 5 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2) + 30 * K**2 * eta**2 * norm2(g)

DRIFT = (
    given("drift.noise", "Assumption 2", "given the past, a stochastic gradient is the gradient plus noise of mean 0 "
          "and E|noise|^2 <= sigma^2", assumes=(UNBIASED_NOISE,)),
    given("noise.uncorrelated", "not printed", "given the past, different clients' noises are uncorrelated",
          printed=False, assumes=(UNCORRELATED_NOISE,)),
    given("noise.independent", "not printed", "given x_r, different clients' noises are independent", printed=False,
          assumes=(INDEPENDENT_NOISE,)),
    given("cohort.before_noise", "not printed", "the cohort of an arbitrary round is chosen before its noise",
          printed=False, assumes=(COHORT_BEFORE_NOISE,)),
    # u = x_k - x, v = grad F_i(x_k), xi its noise
    gram("drift.step", "Lemma 3 of Reddi et al.",
         "E|x_{k+1} - x|^2 <= (1 + 1/(2K-1)) E|x_k - x|^2 + 2K eta^2 E|grad F_i(x_k)|^2 + eta^2 sigma^2",
         (1 + 1 / (2 * K - 1)) * norm2(u) + 2 * K * eta**2 * norm2(v) + eta**2 * sigma**2 - norm2(u - eta * (v + xi)),
         given=((sigma**2 - norm2(xi), eta**2),), zero=((dot(u, xi), 2 * eta), (dot(v, xi), -2 * eta**2)),
         printed=False, rests_on=("drift.noise",)),
    # w = grad F_i(x), g = grad F(x)
    gram("drift.gradient", "Lemma 3 of Reddi et al.", "E|grad F_i(x_k)|^2 <= 3L^2 E|x_k - x|^2 + 3 sigma_G^2 + "
         "3|grad F(x)|^2",
         3 * L**2 * norm2(u) + 3 * sigma_G**2 + 3 * norm2(g) - norm2(v),
         given=((L**2 * norm2(u) - norm2(v - w), sympy.Integer(3)),
                (sigma_G**2 - norm2(w - g), sympy.Integer(3))), printed=False),
    nonnegative_step("drift.factor", "Lemma 3 of Reddi et al.", "for K >= 2 and z <= 0.235 the factor 1 + 1/(2K-1) + "
                     "6K eta^2 L^2 is at most 1 + 1/K", 1 / K - 1 / (2 * K - 1) - 6 * K * eta**2 * L**2,
                     _two_or_more, printed=False, rests_on=("drift.step", "drift.gradient")),
    # S_0 = 0 and S_{k+1} = (1 + 1/K) S_k + 1; K = k + 1 + s
    Step("drift.sum", "Lemma 3 of Reddi et al.", "S_k <= k (1 + k/K) for k <= K, hence S_k <= 2K, by induction",
         "induction",
         (Identity((k * (1 + k / K)).subs(k, 0)),
          Nonnegative((k + 1) * (1 + (k + 1) / K) - _growth,
                      (region(at_least("local_steps", k + 1), nonnegative("k")),)),
          Nonnegative(2 * K - k * (1 + k / K), (region(at_least("local_steps", k), positive("k")),))),
         printed=False, rests_on=("drift.factor",)),
    gram("drift.one_step", "Lemma 3 of Reddi et al.", "the case K = 1: E|x_1 - x|^2 is within the same bound",
         _drift_2.subs(K, 1) - eta**2 * norm2(w + xi),
         given=((sigma**2 - norm2(xi), eta**2), (sigma_G**2 - norm2(w - g), 2 * eta**2)),
         zero=((dot(w, xi), -2 * eta**2),), printed=False, rests_on=("drift.noise",)),
    same("drift", "Lemma 3 of Reddi et al.",
         "E|x_k - x|^2 <= 2K eta^2 (sigma^2 + 6K sigma_G^2) + 12K^2 eta^2 |grad F(x)|^2 for k <= K where z <= 0.235",
         [(2 * K * eta**2 * (sigma**2 + 6 * K * sigma_G**2 + 6 * K * norm2(g)), _drift_2)], kind="lemma", printed=False,
         rests_on=("drift.sum", "drift.one_step")),
    gram("drift.printed", "Lemma 3 of Reddi et al.", "E|x_k - x|^2 <= 5K eta^2 (sigma^2 + 6K sigma_G^2) + 30K^2 eta^2 "
         "|grad F(x)|^2", _drift_5 - f_x, given=((_drift_2 - f_x, sympy.Integer(1)),), kind="lemma",
         rests_on=("drift",)),
    # sum over k < n of k (1 + k/K), n = K; f_x plays the mean over k of E|x_k - x|^2
    Step("drift.mean_sum", "local training", "the mean over k < K of k (1 + k/K) is at most 5K/6, by induction",
         "induction",
         (Identity(_sum.subs(k, 0)), Identity(_sum.subs(k, k + 1) - _sum, k + k**2 / K),
          Nonnegative(5 * K / 6 - _sum.subs(k, K) / K, (region(count("local_steps")),))),
         printed=False, rests_on=("drift.sum",)),
    gram("drift.mean", "local training", "the mean over k < K of E|x_k - x|^2 is at most 5/6 K eta^2 sigma^2 + 5 K^2 "
         "eta^2 (sigma_G^2 + |grad F(x)|^2) where z <= 0.235",
         sympy.Rational(5, 6) * K * eta**2 * sigma**2 + 5 * K**2 * eta**2 * (sigma_G**2 + norm2(g)) - f_x,
         given=((_mean_drift - f_x, sympy.Integer(1)),), kind="lemma", printed=False,
         rests_on=("drift.mean_sum", "drift.one_step")),
)  # fmt: skip

# Noise ----------------------------------------------------------------------------------------------------------------

_inverse = 1 / (eta * L) - sympy.Rational(1, 2)
_convex_step = under(sympy.Integer(2))

NOISE = (
    Step("noise.client", "(8), (19), (29), (36)", "E|sum of one client's noises|^2 <= K sigma^2: martingale "
        "differences, by "
         "induction over the steps", "induction",
         (vectors_check((k + 1) * sigma**2 - norm2(N + xi),
                        ((k * sigma**2 - norm2(N), _one), (sigma**2 - norm2(xi), _one)), ((dot(N, xi),
                        sympy.Integer(-2)),),
                        region(nonnegative("k"), nonnegative("gradient_noise"))),), rests_on=("drift.noise",)),
    Step("noise.cohort", "(8), (19), (29), (36)", "E|mean over m different clients of their noises|^2 <= K "
        "sigma^2/m, by "
         "induction over the clients", "induction",
         (vectors_check((k + 1) * K * sigma**2 - norm2(S + N),
                        ((k * K * sigma**2 - norm2(S), _one), (K * sigma**2 - norm2(N), _one)),
                        ((dot(S, N), sympy.Integer(-2)),),
                        region(nonnegative("k"), nonnegative("gradient_noise"), count("local_steps"))),
          vectors_check(K * sigma**2 / m - norm2(S / m), ((m * K * sigma**2 - norm2(S), 1 / m**2),))),
         rests_on=("noise.client", "noise.uncorrelated")),
    gram("noise.split", "(8), (19)", "E|gradients + noise|^2 <= 2 E|gradients|^2 + 2 E|noise|^2",
         2 * norm2(w) + 2 * K * sigma**2 / m - norm2(w + N),
         given=((K * sigma**2 / m - norm2(N), sympy.Integer(2)),), rests_on=("noise.cohort",)),
    given("noise.paths", "(29), (36)", "y_k = x_k - (the same client's path without noise), v_k = difference of the "
          "gradients there, N_k and B_k = sums of the noises and of the v_j before k: y_k = -eta (B_k + N_k), and the "
          "noiseless path is orthogonal to the noise", printed=False),
    # f_x plays Q_k = sum of <v_j, N_j>, f_y plays V_k = sum of |v_j|^2
    Step("noise.convex", "(29), (36)", "E<sum of gradients, sum of noises> <= 0 for one client with convex smooth "
        "F_i and "
         "eta <= 2/L: Q_k <= -(1/(eta L) - 1/2) V_k - |B_k|^2/2 by induction", "induction",
         (vectors_check(-_inverse * (f_y + norm2(v)) - norm2(B + v) / 2 - f_x - dot(v, -y / eta - B),
                        ((-_inverse * f_y - norm2(B) / 2 - f_x, _one), (dot(v, y) - norm2(v) / L, 1 / eta))),
          vectors_check(-f_x, ((-_inverse * f_y - norm2(B) / 2 - f_x, _one), (f_y, _inverse)), where=_convex_step)),
         printed=False, rests_on=("noise.paths", "convex.cocoercive")),
    Step("noise.cross", "(29), (36)", "the same for the mean over different clients: other clients' noises are "
        "orthogonal "
         "to a client's gradients", "induction",
         (vectors_check(-dot(S + G, B + N), ((-dot(S, B), _one), (-dot(G, N), _one)),
                        ((dot(S, N), -_one), (dot(G, B), -_one))),),
         printed=False, rests_on=("noise.convex", "drift.noise", "noise.independent")),
    gram("noise.separated", "(29), (36)", "E|gradients + noise|^2 <= E|gradients|^2 + K sigma^2/m",
         norm2(w) + K * sigma**2 / m - norm2(w + N),
         given=((-dot(w, N), sympy.Integer(2)), (K * sigma**2 / m - norm2(N), _one)),
         rests_on=("noise.cross", "noise.cohort")),
)  # fmt: skip

# Sampling -------------------------------------------------------------------------------------------------------------

_single, _pair = m / M, m * (m - 1) / (M * (M - 1))

SAMPLING = (
    given("sampling.uniform", "Algorithm 1, line 4", "every set of m different clients is equally likely, on its "
        "own of "
          "all else; so all clients, and all pairs, are included equally often",
          assumes=(UNIFORM_COHORTS,)),
    same("sampling.inclusion", "after (5)", "P(i in S) = m/M and P(i, j in S) = m(m-1)/(M(M-1)): they add up to m and "
         "m(m-1)", [(M * _single, m), (M * (M - 1) * _pair, m * (m - 1))], kind="probabilistic",
         rests_on=("sampling.uniform",)),
    same("sampling.mean", "after (5)", "the expectation of a uniform cohort's mean is the mean over all clients",
         [(_single / m, 1 / M)], kind="probabilistic", rests_on=("sampling.inclusion",)),
)  # fmt: skip

ALL = (*LEMMAS, *DRIFT, *NOISE, *SAMPLING)
