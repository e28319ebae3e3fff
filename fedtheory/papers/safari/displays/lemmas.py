"""Lemmas of SAFARI's proofs beside FAST's.

They are about the server's noise, strong convexity with smoothness, and the drift and the noise of local training
without a cap on the step size.

In a client round u = x_k - x, v = grad F_i(x_k), w = grad F_i(x), g = grad F(x); <u, v> stands for E<u, v>.
"""

from __future__ import annotations

import sympy

from ....assumptions import UNBIASED_SERVER_NOISE
from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import capped, count, equal, interval, nonnegative, positive, region
from ....proof.steps import Identity, Nonnegative, Step
from ....proof.write import given
from .symbols import FREE, K, L, bias, eta, gram, mu, noise, one, setting, sigma_s, vectors_check

e, g, v, w, y, A, B, N, S, xi = vectors("e g v w y A B N S xi")
k, f_x, f_s, f_1, f_2, D = sympy.symbols("k f_x f_s f_1 f_2 drift")
_LOCAL = "local training"

# The server's rounds ----------------------------------------------------------------------------------------------

_t = (g - mu * e) / (L - mu)
_strictly = setting(("smoothness", mu + sympy.Symbol("gap"), {"gap": "positive"}), positive("strong_convexity"))
_nesterov = (L + mu) * dot(g, e) - L * mu * norm2(e) - norm2(g)

SERVER = (
    given("server.noise", "Assumption 4", "given x_r, the server's stochastic gradient is grad F(x_r) plus noise of "
          "mean 0 and E|noise|^2 <= sigma_s^2; a round's kind is independent of x_r and of the noise",
          assumes=(UNBIASED_SERVER_NOISE,)),
    gram("server.square", "(27), (57)", "E|stochastic gradient|^2 <= |grad F(x_r)|^2 + sigma_s^2",
         norm2(g) + sigma_s**2 - norm2(g + S), given=((sigma_s**2 - norm2(S), one),),
         zero=((dot(g, S), sympy.Integer(-2)),), kind="probabilistic", rests_on=("server.noise",)),
    # e = x - x*, grad F(x*) = 0; the third points are x - t and x* + t, t = (g - mu e)/(L - mu)
    gram("strong.smooth", "Lemma 3.11 of Bubeck", "(L + mu) <grad F(x), x - x*> >= L mu |x - x*|^2 + |grad F(x)|^2, "
         "mu < L",
         _nesterov,
         given=((f_x - dot(g, _t) + L / 2 * norm2(_t) - f_1, L - mu), (f_1 - f_s - mu / 2 * norm2(e - _t), L - mu),
                (f_s + L / 2 * norm2(_t) - f_2, L - mu),
                (f_2 - f_x - dot(g, _t - e) - mu / 2 * norm2(_t - e), L - mu)),
         where=_strictly, rests_on=("lemma1.integral",)),
    gram("strong.smooth_equal", "Lemma 3.11 of Bubeck", "the same for mu = L", _nesterov.subs(L, mu),
         given=((mu**2 * norm2(e) - norm2(g), one), (dot(g, e) - mu * norm2(e), 2 * mu)),
         where=region(positive("strong_convexity")), rests_on=("thm2.monotone",)),
)  # fmt: skip

# The mean drift -------------------------------------------------------------------------------------------------------

_mean_3 = K * eta**2 * noise + sympy.Rational(4, 3) * K**2 * eta**2 * (bias + norm2(g))
_small = setting(capped("local_lr", 2 / L))
_counting = region(count("k"), positive("local_lr"), nonnegative("gradient_noise"))
_two, _three = (
    setting(capped("local_lr", sympy.Rational(most) / L), equal("local_steps", sympy.Integer(steps)))
    for steps, most in ((2, 4), (3, sympy.Rational(8, 3)))
)
_third = region(interval("local_lr", 2 / L, sympy.Rational(8, 3) / L), positive("smoothness"))

DRIFT = (
    # T y = y - eta grad F_i(y); y = difference of two points, v of their gradients
    gram("step.nonexpansive", _LOCAL, "a gradient step of size eta <= 2/L of a convex smooth F_i brings no two points "
         "apart",
         norm2(y) - norm2(y - eta * v), given=((dot(v, y) - norm2(v) / L, 2 * eta),), where=_small, printed=False,
         rests_on=("convex.cocoercive",)),
    # A = T xh_k - T x, where xh is the path without noise
    Step("drift.noiseless", _LOCAL, "the path without noise is within k eta |grad F_i(x)| of its start, by induction",
         "induction",
         (vectors_check(eta**2 * norm2(w) - norm2(-eta * w), where=_counting),
          vectors_check((k + 1) ** 2 * eta**2 * norm2(w) - norm2(A - eta * w),
                        ((k**2 * eta**2 * norm2(w) - norm2(A), 1 + 1 / k),), where=_counting)),
         printed=False, rests_on=("step.nonexpansive",)),
    # A = T x_k - T xh_k, orthogonal to the noise of step k
    Step("drift.noisy", _LOCAL, "the two paths are within k eta^2 sigma^2 of each other, in mean square, by induction",
         "induction",
         (vectors_check((k + 1) * eta**2 * noise - norm2(A - eta * xi),
                        ((k * eta**2 * noise - norm2(A), one), (noise - norm2(xi), eta**2)),
                        ((dot(A, xi), 2 * eta),), where=_counting),),
         printed=False, rests_on=("step.nonexpansive", "drift.noise", "noise.paths")),
    gram("drift.two_paths", _LOCAL, "so E|x_k - x|^2 <= 4 k^2 eta^2 (sigma_G^2 + |grad F(x)|^2) + 2k eta^2 sigma^2",
         4 * k**2 * eta**2 * (bias + norm2(g)) + 2 * k * eta**2 * noise - norm2(A + y),
         given=((k**2 * eta**2 * norm2(w) - norm2(A), sympy.Integer(2)),
                (k * eta**2 * noise - norm2(y), sympy.Integer(2)), (bias - norm2(w - g), 4 * k**2 * eta**2)),
         where=region(count("k"), positive("local_lr"), nonnegative("gradient_noise"), nonnegative("dissimilarity")),
         printed=False, rests_on=("drift.noiseless", "drift.noisy")),
    Step("drift.two_paths_mean", _LOCAL, "the mean over k < K of k^2 is at most K^2/3, that of k at most K/2",
         "induction",
         (Identity((k * (k - 1) * (2 * k - 1) / 6).subs(k, 0)),
          Identity(((k + 1) * k * (2 * k + 1) - k * (k - 1) * (2 * k - 1)) / 6, k**2),
          Nonnegative(K**2 / 3 - (K - 1) * (2 * K - 1) / 6, (region(count("local_steps")),)),
          Nonnegative(K / 2 - (K - 1) / 2, (region(count("local_steps")),))), printed=False),
    gram("drift.convex", _LOCAL, "the mean over k < K of E|x_k - x|^2 is at most K eta^2 sigma^2 + 4/3 K^2 eta^2 "
         "(sigma_G^2 + |grad F(x)|^2) where eta <= 2/L, whatever K is (for K = 1 it is 0)",
         _mean_3 - D,
         given=((4 * K**2 / 3 * eta**2 * (bias + norm2(g)) + K * eta**2 * noise - D, one),), kind="lemma",
         printed=False, rests_on=("drift.two_paths", "drift.two_paths_mean")),
    # K = 2: half of |x_1 - x|^2
    gram("drift.convex_two", _LOCAL, "the same for K = 2 and any step size", _mean_3.subs(K, 2) - D,
         given=((norm2(eta * (w + xi)) / 2 - D, one), (noise - norm2(xi), eta**2 / 2), (bias - norm2(w - g), eta**2)),
         zero=((dot(w, xi), -(eta**2)),), where=_two, printed=False, rests_on=("drift.noise",)),
    # t <= 8/3 with t = eta L: |y - eta v|^2 <= (t - 1)^2 |y|^2 <= 25/9 |y|^2
    gram("step.expands_by_5/3", _LOCAL, "a gradient step of size 2/L <= eta <= 8/(3L) takes no two points apart by "
         "more than 5/3",
         sympy.Rational(25, 9) * norm2(y) - norm2(y - eta * v),
         given=((dot(v, y) - norm2(v) / L, 2 * eta), (L**2 * norm2(y) - norm2(v), eta**2 - 2 * eta / L)),
         where=_third, printed=False, rests_on=("convex.cocoercive",)),
    # |xh_2 - xh_1| <= 5/3 eta |w|, A = xh_2 - xh_1; y = x_2 - xh_2, B = T x_1 - T xh_1
    gram("drift.three_paths", _LOCAL, "for K = 3: E|x_2 - x|^2 <= 2 (8/3)^2 eta^2 |grad F_i(x)|^2 + 2 (34/9) eta^2 "
         "sigma^2",
         sympy.Rational(128, 9) * eta**2 * norm2(w) + sympy.Rational(68, 9) * eta**2 * noise
         - norm2(A - eta * w + B - eta * xi),
         given=((sympy.Rational(25, 9) * eta**2 * norm2(w) - norm2(A), sympy.Rational(16, 5)),
                (sympy.Rational(25, 9) * eta**2 * noise - norm2(B), sympy.Integer(2)),
                (noise - norm2(xi), 2 * eta**2)),
         zero=((dot(B, xi), 4 * eta),), where=_three, printed=False,
         rests_on=("step.expands_by_5/3", "step.nonexpansive", "drift.noise", "noise.paths")),
    # f_1, f_2 play E|x_1 - x|^2, E|x_2 - x|^2
    gram("drift.convex_three", _LOCAL, "the same as for eta <= 2/L for K = 3 and eta <= 8/(3L)",
         _mean_3.subs(K, 3) - (f_1 + f_2) / 3,
         given=((norm2(eta * (w + xi)) - f_1, sympy.Rational(1, 3)), (noise - norm2(xi), eta**2 / 3),
                (sympy.Rational(128, 9) * eta**2 * norm2(w) + sympy.Rational(68, 9) * eta**2 * noise - f_2,
                 sympy.Rational(1, 3)),
                (bias - norm2(w - g), sympy.Rational(274, 27) * eta**2)),
         zero=((dot(w, xi), -2 * eta**2 / 3),), where=_three, printed=False,
         rests_on=("drift.three_paths", "drift.noise")),
)  # fmt: skip

# Noise of three large steps -----------------------------------------------------------------------------------------

_inverse = 1 / (eta * L) - sympy.Rational(1, 2)

NOISE = (
    # one step's noise is orthogonal to its gradient; of two steps the second's gradient is monotone in the first noise
    gram("noise.one_step", "(61)", "for K = 1 gradients and noise are orthogonal, whatever the step size is",
         norm2(w) + noise - norm2(w + N), given=((noise - norm2(N), one),), zero=((dot(w, N), sympy.Integer(-2)),),
         printed=False, rests_on=("drift.noise",)),
    # y = -eta xi: the second step's points with and without the first noise; v the difference of the gradients there
    gram("noise.two_steps", "(61)", "for K = 2: E<sum of gradients, sum of noises> = -E<v, y>/eta <= 0, as gradients "
         "of convex functions are monotone",
         -dot(v, -y / eta), given=((dot(v, y) - norm2(v) / L, 1 / eta),), where=FREE, printed=False,
         rests_on=("convex.cocoercive", "noise.paths")),
    # f_1 plays Q_k = sum of <v_j, N_j>, f_2 plays V_k = sum of |v_j|^2
    Step("noise.partial_sums", "(61)", "Q_k <= -(1/(eta L) - 1/2) V_k - |B_k|^2/2 for every step size, by induction",
         "induction",
         (vectors_check(-_inverse * (f_2 + norm2(v)) - norm2(B + v) / 2 - f_1 - dot(v, -y / eta - B),
                        ((-_inverse * f_2 - norm2(B) / 2 - f_1, one), (dot(v, y) - norm2(v) / L, 1 / eta))),),
         printed=False, rests_on=("noise.paths", "convex.cocoercive")),
    # f_1, f_2 play E|v_1|^2, E|v_2|^2; twice the inner product is at most (1 - 2/(eta L)) (f_1 + f_2) - |B|^2
    gram("noise.three_steps", "(61)", "for K = 3 and eta <= 8/(3L): twice E<sum of gradients, sum of noises> <= "
         "(E|v_1|^2 + E|v_2|^2)/4 <= 17/2 sigma^2",
         sympy.Rational(17, 2) * noise - 2 * D,
         given=((-_inverse * (f_1 + f_2) - norm2(B) / 2 - D, sympy.Integer(2)),
                (L**2 * eta**2 * noise - f_1, 1 - 2 / (eta * L)),
                (L**2 * eta**2 * sympy.Rational(34, 9) * noise - f_2, 1 - 2 / (eta * L))),
         where=region(interval("local_lr", 2 / L, sympy.Rational(8, 3) / L), positive("smoothness"),
                      nonnegative("gradient_noise")),
         printed=False, rests_on=("noise.partial_sums", "step.expands_by_5/3", "drift.noise")),
)  # fmt: skip

ALL = (*SERVER, *DRIFT, *NOISE)
