"""(65) where its printed proof stops: three local steps with 2/L < eta_c <= 8/(3L).

(61) adds the noises of local steps up as if they did not interact, which may be false there. What they add to |V|^2 is
paid for by the drift: Lemma 2 needs (L + mu)/2 of the L that (62) spends, and so large a step leaves mu <= L/2.

One client: w, v_1 and v_2 are the gradients at x_r, x_1 and x_2, n_0 and n_1 the noises of the first two steps; <u, v>
stands for E<u, v>.
"""

from __future__ import annotations

import sympy

from ....proof.gram import dot, norm2, vectors
from ....proof.symbol_regions import at_least, capped, count, equal, interval, positive, region
from ....proof.steps import Nonnegative, Step
from .symbols import K, L, eta, gram, half, m, mu, noise, one, rate, setting

e, u, v, w, v_1, y, z_2, n_0, n_1, N, V = vectors("e u v w v1 y z2 n0 n1 N V")
crossed, drift, G, f_r, f_s, f_k = sympy.symbols("crossed drift excess f_r f_s f_k")
_large = region(interval("local_lr", 2 / L, sympy.Rational(8, 3) / L), positive("smoothness"))
_flat = setting(capped("strong_convexity", L / 2))
_tied = 8 * L / ((L + mu) ** 2 * K)
_three = equal("local_steps", sympy.Integer(3))

_p_1 = -eta * (w + n_0)
_p_2 = _p_1 - eta * (v_1 + n_1)
_square_60 = norm2(e) + eta**2 * norm2(V + N) - 2 * eta * dot(e, V) - norm2(e - eta * (V + N))
_right_65 = (
    (1 - rate) * norm2(e) + eta**2 * norm2(V) + K * eta**2 / m * noise - 2 * eta * K * G + 2 * eta * L * drift
)  # fmt: skip

ALL = (
    # y = v_1 - grad F_i(x_r - eta w), where x_1 would be without noise; E<v_1, n_0> = E<y, n_0>
    gram("three.first_noise", "(61)", "E<v_1, n_0> >= -eta L |n_0|^2: the gradient is cocoercive in the first noise",
         dot(y, n_0) + eta * L * norm2(n_0), given=((-eta * dot(y, n_0) - norm2(y) / L, 1 / eta),), printed=False,
         rests_on=("convex.cocoercive", "noise.paths")),
    # z_2 = v_2 - w, so that E<v_2, n_0> = E<z_2, n_0>; crossed plays E<v_2, n_1>
    gram("three.cross", "(61)", "for 2 <= eta L <= 8/3: 2 eta^2 E<v_1 + v_2, noises> <= eta L/2 (E|x_1 - x_r|^2 + "
         "E|x_2 - x_r|^2)",
         half * eta * L * (norm2(_p_1) + norm2(_p_2)) - 2 * eta**2 * (dot(v_1, n_0) + dot(z_2, n_0) + crossed),
         given=((dot(v_1, n_0) + eta * L * norm2(n_0), eta**2 * (eta * L - 2)), (-crossed, 2 * eta**2),
                (dot(z_2, _p_2) - norm2(z_2) / L, 2 * eta)),
         zero=((dot(w, n_0), 2 * eta**3 * L), (dot(n_0, n_1), eta**3 * L)),
         where=_large, printed=False,
         rests_on=("three.first_noise", "noise.two_steps", "convex.cocoercive", "drift.noise")),
    # u = x_k - x_r; the square that is left is mu |e/2 + u|^2
    gram("three.lemma_2", "(62)", "<grad F_i(x_k), e> >= F_i(x_r) - F_i(x*) + mu/4 |e|^2 - (L + mu)/2 |x_k - x_r|^2",
         dot(v, e) - (f_r - f_s) - mu / 4 * norm2(e) + (L + mu) / 2 * norm2(u),
         given=((f_s - f_k + dot(v, e + u) - mu / 2 * norm2(e + u), one),
                (f_k - dot(v, u) + L / 2 * norm2(u) - f_r, one)), printed=False, rests_on=("lemma1.integral",)),
    gram("three.round_without", "(65)", "where the noises add nothing",
         _right_65 - norm2(e - eta * (V + N)),
         given=((_square_60, one), (norm2(V) + K * noise / m - norm2(V + N), eta**2),
                (dot(V, e) - K * G - K * mu / 4 * norm2(e) + L * drift, 2 * eta)),
         printed=False, rests_on=("s5.60", "s5.63_lemma_2", "noise.separated", "noise.one_step", "noise.two_steps")),
    # drift plays the participants' mean of the sums over k; their noises are independent of each other's gradients
    gram("three.round", "(65)", "three large steps: eta (L/2 - mu) of the drift is left over",
         _right_65 - norm2(e - eta * (V + N)),
         given=((_square_60, one), (norm2(V) + K * noise / m + L / (2 * eta) * drift - norm2(V + N), eta**2),
                (dot(V, e) - K * G - K * mu / 4 * norm2(e) + (L + mu) / 2 * drift, 2 * eta),
                (drift, eta * (L / 2 - mu))),
         where=_flat, printed=False,
         rests_on=("s5.60", "three.cross", "three.lemma_2", "noise.cross", "noise.cohort")),
    Step("three.cases", "(65)", "eta_s <= 2/(L + mu) gives eta_c <= 2/L for K >= 4, and for K = 3 eta_c <= 8/(3L), and "
         "eta_c <= 2/L unless mu <= L/2",
         "polynomial",
         (Nonnegative(2 - L * eta, (setting(capped("local_lr", _tied), count("local_steps", 4)),)),
          Nonnegative(sympy.Rational(8, 3) - L * eta, (setting(capped("local_lr", _tied), _three),)),
          Nonnegative(2 - L * eta, (setting(capped("local_lr", _tied), _three, at_least("strong_convexity", L / 2)),))),
         printed=False),
    Step("s5.65_every_step", "(65)", "(65) holds for all tied steps: as printed for eta_c <= 2/L, as nothing is added "
         "for K <= 2, by the drift for K = 3", "lemma", printed=False,
         rests_on=("three.round_without", "three.round", "three.cases")),
)  # fmt: skip
"""Steps on K local steps: the last noise meets no gradient, and v_k meets only the noises before it."""
