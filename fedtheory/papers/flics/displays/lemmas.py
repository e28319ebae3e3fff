"""The displays of appendix C, in the paper's order: Lemmas 3 to 7.

Lemma 5 is read with |grad f|^2 for |f|^2, the identity before (26) with |x - y|^2, and the last terms with p_i; Lemma 7
with grad F_i and k = 0..K-1.
"""

from __future__ import annotations

import sympy

from ....assumptions import STATIONARY_AVAILABILITY
from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import at_least, count, interval, nonnegative, positive, region
from ....proof.steps import Step
from ....proof.write import given, nonnegative_step, same
from ...fast.displays.symbols import gram, vectors_check
from .symbols import (
    FREE, G, K, L, M, P, e, epsilon, eta_L, half, hat, inflation, one, p, r_min, rho, s, setting, sigma, sigma_G, z,
)  # fmt: skip

a, b, g, h, v, u, w, x, y, N, S, V, X, xi, chi = vectors("a b g h v u w x y N S V X xi chi")
n, pi, now, other, old, new, t, cov, total, D, square, var = sympy.symbols(
    "clients pi now other old new t covariance total drift square variance"
)
s_i, s_j, other_rho, weight_2 = sympy.symbols("s_i s_j other_ratio other_weight")
noise, bias = sigma**2, sigma_G**2

LEMMA_3 = (
    given("flics.3", "Lemma 3, (22)", "quoted for a stationary ergodic process of availability and budget: s^(T) "
          "converges almost surely", assumes=(STATIONARY_AVAILABILITY,)),
    same("flics.3.mean", "(22)", "s^(t) = ((t-1) s^(t-1) + r(t))/t is the mean of r(1), ..., r(t)",
         [(t * ((t - 1) * old + new) / t, (t - 1) * old + new), ((((t - 1) * old + new) / t).subs(t, 1), new)],
         kind="induction"),
)  # fmt: skip

_estimates = region(
    interval("estimate", s - epsilon, s + epsilon), nonnegative("estimate_error"), at_least("share", r_min),
    positive("least_participation"),
)  # fmt: skip

LEMMA_4 = (
    # now and other are a group's rates in two states, pi is the first one's share of the rounds
    nonnegative_step("flics.4.24", "(24)", "given the past, the round's state has the stationary law, so that as many "
                     "answer as on average", now - (pi * now + (1 - pi) * other),
                     region(interval("pi"), nonnegative("now"), nonnegative("other")), kind="probabilistic",
                     expected="gap", why="groups that are there in alternate rounds"),
    Step("flics.4.25", "(25)", "a client's data are independent of who answers", "probabilistic",
         rests_on=("flics.answers", "flics.noise")),
    same("flics.4.groups", "after (25)", "restated by groups: S_i clients of group i send S_i p_i/s^_i v_i, on average",
         [((n + 1) * p / hat * s, n * p / hat * s + p / hat * s)], kind="induction", rests_on=("flics.4.25",)),
    nonnegative_step("flics.4.number", "after (25)", "given the past, s_i clients of group i are expected to answer",
                     now - s, region(nonnegative("now"), nonnegative("share")), kind="probabilistic", expected="gap",
                     why="r_i(t) are, given the past"),
    same("flics.4.density", "after (25)", "the density and the law of the states have the sum 1",
         [(pi * rho + (1 - pi) * rho, rho)]),
    nonnegative_step("flics.4.ratio", "before (23)", "|s^_i - s_i| <= epsilon and r_min <= s_i give s_i/s^_i <= "
                     "1 + epsilon/r_min", inflation - s / hat, _estimates, expected="gap"),
    # s^_i = s_i
    nonnegative_step("flics.4.equality", "(23)", "s_i/s^_i, which is at most 1 + epsilon/r_min, equals it: 1 does "
                     "where s^_i = s_i", 1 - inflation,
                     region(nonnegative("estimate_error"), positive("least_participation")), expected="gap"),
    same("flics.4.factor", "(23)", "1 + epsilon^ in the statement is the proof's factor 1 + epsilon/r_min",
         [((1 + e) / e, one)], expected="gap", why="epsilon^ is defined as that factor"),
)  # fmt: skip

_to_ratio = region(interval("ratio", 0, e), at_least("inflation", one))
_printed_drift = 5 * K * eta_L**2 * (noise + 6 * K * bias) + 30 * K**2 * eta_L**2 * norm2(g)
_right_26 = (
    e * eta_L * K / 2 * norm2(g) + e * eta_L / (2 * K) * norm2(X) - e * eta_L / (2 * K) * norm2(V)
)  # fmt: skip
_statement_5 = (
    e * eta_L * K / 2 * (1 + 30 * z**2 * M * P) * norm2(g)
    + 5 * e * eta_L**3 * L**2 * K**2 * M * P / 2 * (noise + 6 * K * bias) - e * eta_L / (2 * K) * norm2(V)
)  # fmt: skip

LEMMA_5 = (
    Step("flics.5.definition", "Lemma 5, first display", "Delta and unbiased gradients put in", "probabilistic",
         rests_on=("flics.answers", "flics.noise")),
    # h = sum_i p_i sum_k grad F_i(w^k) of a group with s_i/s^_i <= epsilon^
    gram("flics.5.lemma4", "Lemma 5, second display", "the weights s_i/s^_i <= epsilon^ are replaced by epsilon^",
         -e * dot(g, h) + rho * dot(g, h), where=_to_ratio, expected="gap",
         why="where <g, h> > 0 this makes the right side smaller"),
    # X = V - K g
    same("flics.5.sign", "before (26)", "epsilon^ eta_L K is drawn into the product, without the minus",
         [(-dot(g, X), dot(g, X))], expected="gap", repaired_by=("flics.5.with_the_sign",)),
    same("flics.5.with_the_sign", "(26)", "-<g, X> = (K |g|^2 + |X|^2/K - |K g + X|^2/K)/2",
         [(-dot(g, X), (K * norm2(g) + norm2(X) / K - norm2(K * g + X) / K) / 2)], printed=False),
    same("flics.5.26", "(26)", "<x, y> = (|x|^2 + |y|^2 - |x - y|^2)/2, with V = K g + X",
         [(-e * eta_L * dot(g, X), _right_26.subs(sympy.Symbol("dot_V_V"), norm2(K * g + X)))],
         rests_on=("flics.5.sign",)),
    # one group, two steps: m p_i^2 = 1
    gram("flics.5.cauchy", "after (26), first bound", "|sum over m groups and K steps|^2 <= m times the sum of squares",
         norm2(a) + norm2(b) - norm2(a + b), where=region(), expected="gap",
         why="of m K vectors, a factor K is missing", repaired_by=("flics.5.cauchy_with_K",)),
    gram("flics.5.cauchy_with_K", "after (26)", "|sum over m groups and K steps|^2 <= m K times the sum of squares",
         M * K * total - norm2(X), given=((M * K * total - norm2(X), one),), where=FREE, printed=False,
         rests_on=("jensen",)),
    gram("flics.5.lipschitz", "after (26), second bound", "Assumption 2: the sum of squares is at most L^2 sum p_i^2 K "
         "D, D the most that E|w^k - w|^2 is", M * K * P * K * L**2 * D - norm2(X),
         given=((M * K * total - norm2(X), one), (P * K * L**2 * D - total, M * K)), where=FREE,
         rests_on=("flics.5.cauchy",)),
    Step("flics.5.drift", "after (26), third bound", "Lemma 2 of [32], where eta_L <= 1/(8 L K) and |grad F_i - grad "
         "F| <= sigma_G, neither of which is assumed", "lemma", rests_on=("drift.printed",)),
    gram("flics.5.statement", "Lemma 5", "(26) with these bounds", _statement_5 - square,
         given=((_right_26 - square, one),
                (M * K * P * K * L**2 * D - norm2(X), e * eta_L / (2 * K)),
                (_printed_drift - D, e * eta_L / 2 * M * K * P * L**2)), where=FREE,
         rests_on=("flics.5.26", "flics.5.lipschitz", "flics.5.drift")),
    nonnegative_step("flics.5.fifteen", "Lemma 5, last display", "1/2 + 30 z^2 m sum p_i^2 stands for 1/2 + 15 z^2 m "
                     "sum p_i^2, which is smaller", half + 30 * z**2 * M * P - half * (1 + 30 * z**2 * M * P), FREE),
)  # fmt: skip

_two_groups = region(interval("ratio", 0, e), interval("other_ratio", 0, e), positive("weight"),
                     positive("other_weight"), at_least("inflation", one))  # fmt: skip

LEMMA_6 = (
    same("flics.6.square", "Lemma 6, first step", "|sum|^2 as the sum over pairs",
         [(norm2(a + b), norm2(a) + norm2(b) + 2 * dot(a, b))]),
    same("flics.6.moments", "Lemma 6, second step", "E S_i S_j = s_i s_j^2 + Sigma_ij",
         [(s_i * s_j**2 + cov, s_i * s_j + cov)], expected="gap", repaired_by=("flics.lemma6.moments",)),
    # two groups
    gram("flics.6.products", "Lemma 6, third step", "sum_ij p_i p_j rho_i rho_j <x_i, x_j> is at most epsilon^^2 times "
         "the same without rho, rho_i <= epsilon^",
         e**2 * norm2(p * a + weight_2 * b) - norm2(p * rho * a + weight_2 * other_rho * b), where=_two_groups,
         expected="gap", why="inner products may be negative"),
    same("flics.6.sum", "Lemma 6, last step", "the sum over pairs as |sum_i p_i x_i|^2",
         [(p**2 * norm2(a) + weight_2**2 * norm2(b) + 2 * p * weight_2 * dot(a, b), norm2(p * a + weight_2 * b))]),
)  # fmt: skip

_bounded = region(nonnegative("local_gradient_bound"))
_y_i, _y_j = sympy.symbols("y_i y_j")
_pair = region(nonnegative("y_i"), nonnegative("y_j"), nonnegative("local_gradient_bound"), nonnegative("covariance"))

LEMMA_7 = (
    same("flics.7.groups", "Lemma 7, second line", "the S_i clients of a group send S_i Delta_i, as if their noise "
         "were one: the variance of n updates is n^2 times that of one", [(n * var, n**2 * var)], kind="probabilistic",
         expected="gap", repaired_by=("flics.7.groups_bound",)),
    nonnegative_step("flics.7.groups_bound", "Lemma 7, second line", "n^2 |mean|^2 + n variance <= n^2 (|mean|^2 + "
                     "variance) for n clients", n**2 * (square + var) - n**2 * square - n * var,
                     region(count("clients"), nonnegative("square"), nonnegative("variance")), printed=False),
    # F = -L w^2/2 at w = 0, K = 2: the second gradient is t = L eta_L times the first noise; xi, chi are the noises
    gram("flics.7.split", "Lemma 7, fourth line", "E|sum of stochastic gradients|^2 = E|sum of noises|^2 + E|sum of "
         "gradients|^2", norm2(xi + chi) + norm2(t * xi) - norm2(xi + chi + t * xi),
         zero=((dot(xi, chi), sympy.Integer(0)),), where=region(positive("t")), expected="gap",
         why="later gradients depend on earlier noise"),
    Step("flics.7.lemma6", "Lemma 7, first bound", "Lemma 6 for the noises and for the gradients", "lemma",
         rests_on=("flics.6.products",), expected="unknown"),
    # K = 2
    gram("flics.7.one_step", "Lemma 7, first bound", "|sum of K gradients|^2 <= G^2: the sums over k are left out of "
         "the inner products", G**2 - norm2(a + b),
         given=((G**2 - norm2(a), one), (G**2 - norm2(b), one)), where=_bounded, expected="gap",
         why="it is at most K^2 G^2"),
    # Sigma = covariance * ((1, -1), (-1, 1)): exactly one of two groups answers
    gram("flics.7.signs", "Lemma 7, second bound", "sum_ij y_i y_j Sigma_ij <x_i, x_j> <= G^2 sum_ij y_i y_j Sigma_ij",
         cov * (G**2 * (_y_i - _y_j) ** 2 - norm2(_y_i * a - _y_j * b)),
         given=((G**2 - norm2(a), sympy.Integer(0)), (G**2 - norm2(b), sympy.Integer(0))), where=_pair,
         expected="gap", why="Sigma_ij may be negative"),
    # S = noises of the groups so far, N of the next
    Step("flics.7.noise", "Lemma 7, second bound", "E|sum_i p_i sum_k noise|^2 <= K sigma_L^2 sum_i p_i^2, by "
         "induction", "induction",
         (vectors_check(total + p**2 * K * noise - norm2(S + p * N),
                        ((total - norm2(S), one), (K * noise - norm2(N), p**2)), ((dot(S, N), -2 * p),),
                        where=setting(nonnegative("weight"))),),
         rests_on=("noise.client", "noise.uncorrelated", "flics.noise")),
    same("flics.7.last", "Lemma 7, last display", "eta_L^2 (K sigma_L^2 + G^2) eta_L^2 stands for the statement's "
         "eta_L^2 (sigma_L^2 + G^2)", [(K * noise, noise), (eta_L**4, eta_L**2)], expected="gap"),
)  # fmt: skip

ALL = (*LEMMA_3, *LEMMA_4, *LEMMA_5, *LEMMA_6, *LEMMA_7)
