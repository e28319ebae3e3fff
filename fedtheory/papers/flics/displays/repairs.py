"""Replacements of FLICS's Lemmas 4 to 7 and Theorem 1 that hold: steps that the paper does not print.

The weights p_j/s^_j are known before the answers, and line 14 does not divide. delta = max_j |rho_j - 1|.
"""

from __future__ import annotations

import sympy

from ....assumptions import COHORT_BEFORE_NOISE, INDEPENDENT_ANSWERS, INDEPENDENT_NOISE, UNBIASED_NOISE
from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import at_least, count, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given, same
from ...fast.displays.symbols import gram, vectors_check
from .symbols import (
    FREE, SMALL_STEPS, G, K, L, delta, drift, epsilon, eta, eta_L, hat, one, p, r_min, s, setting, squares, two,
)  # fmt: skip

a, b, g, h, v, w, x, A, B, N, S, X, Y = vectors("a b g h v w x A B N S X Y")
k, n, q, r, part, total, length, more, share_so_far = sympy.symbols(
    "k clients q rate part total length more share_so_far"
)
D, fall, square, V, cov, s_i, s_j, hat_i, hat_j, p_i, p_j = sympy.symbols(
    "drift fall square variance covariance s_i s_j hat_i hat_j p_i p_j"
)
_r = "repaired"
_next = region(interval("share", 0, delta), nonnegative("weight_mismatch"), nonnegative("part"),
               positive("share_so_far"))  # fmt: skip

# The model, and local training -------------------------------------------------------------------------------------

LOCAL = (
    given("flics.answers", "Definition 1, Algorithm 1", "given the past, the round's availability and the rates, every "
          "available client of group j answers on its own with probability r_j/a_j, whatever its data are",
          assumes=(INDEPENDENT_ANSWERS,)),
    given("flics.noise", "Assumption 3", "given its past, a stochastic gradient is grad F_j plus noise of mean 0 and "
          "E|noise|^2 <= sigma_L^2", assumes=(UNBIASED_NOISE,)),
    given("flics.length", "Assumption 4", "E|stochastic gradient|^2 <= G^2"),
    given("flics.weights", "repaired", "p_j/s^_j is known before the answers: planned counts, or the estimate of the "
          "round before; s_j is the expected number of answers of the round", printed=False),
    # S = sum of the first k stochastic gradients, v the next
    Step("flics.local.sum", _r, "E|sum of k stochastic gradients|^2 <= k^2 G^2, by induction", "induction",
         (vectors_check((k + 1) ** 2 * G**2 - norm2(S + v),
                        ((k**2 * G**2 - norm2(S), (k + 1) / k), (G**2 - norm2(v), k + 1)),
                        where=region(count("k"), nonnegative("local_gradient_bound"))),),
         printed=False, rests_on=("flics.length",)),
    Step("flics.local.squares", _r, "the mean over k < K of k^2 is (K-1)(2K-1)/6, by induction", "induction",
         (Identity((k * (k - 1) * (2 * k - 1) / 6).subs(k, 0)),
          Identity(((k + 1) * k * (2 * k + 1) - k * (k - 1) * (2 * k - 1)) / 6, k**2),
          Identity(K * squares, K * (K - 1) * (2 * K - 1) / 6)), printed=False),
    # w^k - w = -eta_L S; D plays the mean over k and over the groups of E|w^k - w|^2
    gram("flics.local.drift", _r, "the mean over k < K of E|w^k - w|^2 is at most eta_L^2 G^2 (K-1)(2K-1)/6",
         k**2 * eta_L**2 * G**2 - norm2(-eta_L * S), given=((k**2 * G**2 - norm2(S), eta_L**2),),
         where=region(count("k"), positive("local_lr"), nonnegative("local_gradient_bound")), printed=False,
         rests_on=("flics.local.sum", "flics.local.squares")),
    gram("flics.local.update", _r, "E|a client's update|^2 <= eta_L^2 K^2 G^2", eta_L**2 * K**2 * G**2
         - norm2(-eta_L * S), given=((K**2 * G**2 - norm2(S), eta_L**2),), where=FREE, printed=False,
         rests_on=("flics.local.sum",)),
    # h + b a stochastic gradient, b its noise
    gram("flics.local.mean", _r, "|h_j| <= G: the mean of expected gradients", G**2 - norm2(h),
         given=((G**2 - norm2(h + b), one),), zero=((dot(h, b), two),), where=FREE, printed=False,
         rests_on=("flics.length", "flics.noise", "jensen")),
    # S = sum of p_i c_i x_i over the groups so far, total of p_i |x_i|^2; share plays |c|, part the next p
    Step("flics.jensen", _r, "|sum_j p_j c_j x_j|^2 <= (sum_j p_j) max|c|^2 sum_j p_j |x_j|^2 for weights p >= 0, by "
         "induction", "induction",
         (vectors_check(part**2 * delta**2 * norm2(x) - norm2(part * s * x), where=_next),
          vectors_check((share_so_far + part) * delta**2 * (total + part * norm2(x)) - norm2(S + part * s * x),
                        ((share_so_far * delta**2 * total - norm2(S), (share_so_far + part) / share_so_far),),
                        where=_next),
          Identity((share_so_far * delta**2 * total).subs(share_so_far, 1), delta**2 * total)), printed=False),
)  # fmt: skip

# Lemmas 4 to 7 -----------------------------------------------------------------------------------------------------

_near = region(
    interval("estimate", s - epsilon, s + epsilon), at_least("share", r_min),
    at_least("least_participation", epsilon + sympy.Symbol("room")), positive("room"), nonnegative("estimate_error"),
)  # fmt: skip
_off = epsilon / (r_min - epsilon)
_lengths = region(positive("length"), positive("more"))

LEMMA_4 = (
    same("flics.lemma4.mean", _r, "E Delta = sum_j p_j rho_j v_j: a_j clients of group j, each with probability "
         "r_j/a_j, and r_j = s_j on average over the states",
         [(n * (r / n) * (p / hat) * q, p * (r / hat) * q)], kind="probabilistic", printed=False,
         rests_on=("flics.answers", "flics.weights", "flics.noise")),
    Step("flics.lemma4.ratio", _r, "|s^_j - s_j| <= epsilon < r_min <= s_j gives |rho_j - 1| <= "
         "epsilon/(r_min - epsilon)", "polynomial",
         (Nonnegative(_off - (s / hat - 1), (_near,)), Nonnegative(_off + (s / hat - 1), (_near,))), printed=False),
    # |A| <= length, |B| <= more
    gram("flics.lemma4.triangle", _r, "|sum_j p_j (rho_j - 1) v_j| <= max|rho - 1| sum_j p_j |v_j|, group by group; "
         "groups with v_j = 0 add nothing", (length + more) ** 2 - norm2(A + B),
         given=((length**2 - norm2(A), 1 + more / length), (more**2 - norm2(B), 1 + length / more)),
         where=_lengths, kind="induction", printed=False),
    gram("flics.lemma4.group", _r, "|p_j (rho_j - 1) v_j| <= max|rho - 1| p_j |v_j|",
         delta**2 * p**2 * length**2 - norm2(p * s * v), given=((length**2 - norm2(v), p**2 * s**2),),
         where=region(interval("share", 0, delta), nonnegative("weight_mismatch"), nonnegative("weight"),
                      positive("length")), printed=False),
)  # fmt: skip

_bias = 2 * drift + 2 * delta**2 * G**2
LEMMA_5 = (
    # T = mean of |grad F_i(w) - grad F_i(w^k)|^2 over the steps and, by p, the groups; A the same mean without squares
    gram("flics.lemma5.smooth", _r, "|g - sum_j p_j h_j|^2 <= L^2 D, D the mean of E|w^k - w|^2",
         L**2 * D - norm2(A), given=((total - norm2(A), one), (L**2 * D - total, one)), where=FREE, printed=False,
         rests_on=("flics.jensen", "jensen")),
    gram("flics.lemma5.mismatch", _r, "|sum_j p_j (1 - rho_j) h_j|^2 <= delta^2 G^2",
         delta**2 * G**2 - norm2(B), given=((delta**2 * total - norm2(B), one), (G**2 - total, delta**2)),
         where=FREE, printed=False, rests_on=("flics.jensen", "flics.local.mean")),
    # x = sum p_j rho_j h_j, so g - x = A + B
    gram("flics.lemma5.error", _r, "|g - sum_j p_j rho_j h_j|^2 <= 2 L^2 D + 2 delta^2 G^2", _bias - norm2(A + B),
         given=((L**2 * D - norm2(A), two), (delta**2 * G**2 - norm2(B), two),
                (eta_L**2 * G**2 * squares - D, 2 * L**2)), where=FREE, printed=False,
         rests_on=("flics.lemma5.smooth", "flics.lemma5.mismatch", "flics.local.drift")),
    gram("flics.lemma5", _r, "<g, m + eta_L K g> <= eta_L K/2 |g|^2 + eta_L K (L^2 D + delta^2 G^2) - |m|^2/(2 eta_L "
         "K)",
         eta_L * K / 2 * norm2(g) + eta_L * K * (drift + delta**2 * G**2) - norm2(-eta_L * K * x) / (2 * eta_L * K)
         - dot(g, -eta_L * K * x + eta_L * K * g),
         given=((_bias - norm2(g - x), eta_L * K / 2),), where=FREE, printed=False,
         rests_on=("flics.lemma5.error", "flics.lemma4.mean")),
)  # fmt: skip

LEMMA_6 = (
    given("flics.covariance", "Lemma 6", "E S_i S_j = s_i s_j + Sigma_ij; the x_i are independent of the S_i",
          assumes=(COHORT_BEFORE_NOISE,)),
    same("flics.lemma6.moments", _r, "E|sum_i p_i/s^_i S_i x_i|^2 = |sum_i p_i rho_i x_i|^2 + sum_ij p_i p_j "
         "Sigma_ij/(s^_i s^_j) <x_i, x_j>, pair by pair",
         [(p_i / hat_i * p_j / hat_j * (s_i * s_j + cov),
           p_i * (s_i / hat_i) * p_j * (s_j / hat_j) + p_i * p_j * cov / (hat_i * hat_j))],
         kind="probabilistic", printed=False, rests_on=("flics.covariance",)),
    # A = sum p_i x_i, B = sum p_i (rho_i - 1) x_i; where delta = 0, B is 0
    Step("flics.lemma6", _r, "|sum_i p_i rho_i x_i|^2 <= (1 + delta) |sum_i p_i x_i|^2 + (1 + delta) delta sum_i p_i "
         "|x_i|^2", "gram",
         (vectors_check((1 + delta) * norm2(A) + (1 + delta) * delta * total - norm2(A + B),
                        ((delta**2 * total - norm2(B), 1 + 1 / delta),), where=region(positive("weight_mismatch"))),
          Identity(norm2(A + 0 * B), norm2(A))), printed=False, rests_on=("flics.jensen", "flics.lemma6.moments")),
)  # fmt: skip

_client = eta_L**2 * K**2 * G**2
_one_client = setting(interval("q"), interval("weight"), positive("estimate"))
LEMMA_7 = (
    # X = what the clients so far send, A its mean, Y = y 1{answers} Delta_l of the next, B its mean
    Step("flics.lemma7.clients", _r, "given the state, E|Delta|^2 <= |E Delta|^2 + sum over clients of y^2 q eta_L^2 "
         "K^2 G^2, q their probability to answer, by induction over the independent clients", "induction",
         (vectors_check(norm2(A + B) + total + V - norm2(X + Y),
                        ((norm2(A) + total - norm2(X), one), (V - norm2(Y), one)),
                        ((dot(X, Y) - dot(A, B), -two),), where=FREE),
          vectors_check(q * p**2 / hat**2 * (_client - norm2(w)), ((_client - norm2(w), q * p**2 / hat**2),),
                        where=_one_client)), printed=False,
         rests_on=("flics.answers", "flics.weights", "flics.local.update"), assumes=(INDEPENDENT_NOISE,)),
    same("flics.lemma7", _r, "a_j clients with probability r_j/a_j: E|Delta|^2 <= E|E[Delta | state]|^2 + eta_L^2 K^2 "
         "G^2 sum_j p_j^2 r_j/s^_j^2, and over the states r_j has the mean s_j",
         [(n * (p / hat) ** 2 * (r / n) * _client, _client * p**2 * r / hat**2)], kind="probabilistic",
         printed=False, rests_on=("flics.lemma7.clients",)),
)  # fmt: skip

# Theorem 1 -----------------------------------------------------------------------------------------------------------

_after_5 = (
    -eta_L * K / 2 * norm2(g) + eta_L * K * (drift + delta**2 * G**2) - norm2(X) / (2 * eta_L * K) - dot(g, X)
)  # fmt: skip
F_0, F_1, F_2, F_star, falls, mean = sympy.symbols("F_0 F_1 F_2 F_star falls mean")
THEOREM_1 = (
    Step("flics.descent", "(9)", "Lemma 1 of smooth functions at w^t and w^{t+1} = w^t + eta Delta, in expectation",
         "lemma", rests_on=("lemma1.integral",)),
    # X = m, given the past and the round's state; square = E|Delta|^2
    gram("flics.thm1.round", _r, "|g|^2 <= 2/(eta eta_L K) fall + 2 L^2 D + 2 delta_t^2 G^2 + L eta eta_L K G^2 V_t "
         "where eta eta_L K L <= 1",
         2 / (eta * eta_L * K) * fall + _bias + L * eta * eta_L * K * G**2 * V - norm2(g),
         given=((fall + eta * dot(g, X) + L * eta**2 / 2 * square, 2 / (eta * eta_L * K)),
                (_after_5, 2 / (eta_L * K)),
                (norm2(X) + _client * V - square, L * eta / (eta_L * K))),
         where=SMALL_STEPS, printed=False, rests_on=("flics.descent", "flics.lemma5", "flics.lemma7")),
    gram("flics.thm1.sum", _r, "the decreases add up to F(w^0) - E F(w^T) <= F(w^0) - F*; delta_t^2 and V_t are "
         "averaged over the rounds", F_0 - F_star - falls - (F_1 - F_2), given=((F_2 - F_star, one),),
         zero=((falls - (F_0 - F_1), -one),), kind="induction", printed=False, rests_on=("flics.thm1.round",)),
)  # fmt: skip

# The same with expectations over the round's availability too: rho_j = E[r_j/s^_j | the past], m the mean over it -----

_state, _rates = sympy.symbols("state rates")
_sum = setting(nonnegative("rates"))
INTERMITTENT = (
    gram("flics.random.client", _r, "|v_j|^2 <= eta_L^2 K^2 G^2, v_j a client's mean update", _client - norm2(v),
         given=((_client - norm2(v + N), one),), zero=((dot(v, N), two),), where=FREE, printed=False,
         rests_on=("flics.local.update",)),
    # rates = sum of q_j = p_j r_j/s^_j, total = sum of q_j |v_j|^2, S = sum of q_j v_j
    gram("flics.random.state", _r, "given the state, |E Delta|^2 <= eta_L^2 K^2 G^2 (sum_j p_j r_j/s^_j)^2",
         _rates**2 * _client - norm2(S), given=((_rates * total - norm2(S), one), (_rates * _client - total, _rates)),
         where=_sum, printed=False, rests_on=("flics.jensen", "flics.random.client")),
    # total = E over the state of the square of the sum
    gram("flics.random.square", _r, "E|Delta|^2 <= eta_L^2 K^2 G^2 (V_t + E(sum_j p_j r_j/s^_j)^2)",
         _client * (V + total) - square, given=((_state + _client * V - square, one), (_client * total - _state, one)),
         where=FREE, printed=False, rests_on=("flics.lemma7", "flics.random.state")),
    gram("flics.random.round", _r, "|g|^2 <= 2/(eta eta_L K) fall + 2 L^2 D + 2 delta_t^2 G^2 + L eta eta_L K G^2 (V_t "
         "+ E(sum_j p_j r_j/s^_j)^2), whatever the steps are",
         2 / (eta * eta_L * K) * fall + _bias + L * eta * eta_L * K * G**2 * (V + total) - norm2(g),
         given=((fall + eta * dot(g, X) + L * eta**2 / 2 * square, 2 / (eta * eta_L * K)),
                (_after_5, 2 / (eta_L * K)), (_client * (V + total) - square, L * eta / (eta_L * K))),
         where=FREE, printed=False, rests_on=("flics.descent", "flics.lemma5", "flics.random.square")),
    gram("flics.random.sum", _r, "the decreases add up to F(w^0) - E F(w^T) <= F(w^0) - F*; the rest is averaged over "
         "the rounds", F_0 - F_star - falls - (F_1 - F_2), given=((F_2 - F_star, one),),
         zero=((falls - (F_0 - F_1), -one),), kind="induction", printed=False, rests_on=("flics.random.round",)),
)  # fmt: skip

ALL = (*LOCAL, *LEMMA_4, *LEMMA_5, *LEMMA_6, *LEMMA_7, *THEOREM_1, *INTERMITTENT)
