"""Lemmas 1 and 2: one step of the mean of all clients' models.

Of client k: y = wbar - w*, u = w_k - wbar, g = grad F_k(w_k), h = grad F_k(wbar), D = F_k(w_k) - F_k*, mean_gap =
F_k(wbar) - F_k*, star_gap = F_k(w*) - F_k*. A and X are the weighted means of gradients and of their noises, gap =
F(wbar) - F*.
"""

from __future__ import annotations

import sympy

from fedtheory.assumptions import UNBIASED_NOISE, UNCORRELATED_NOISE
from fedtheory.proof.gram import dot, norm2, vectors
from fedtheory.proof.symbol_regions import nonnegative, positive, region
from fedtheory.proof.steps import Step
from fedtheory.proof.write import given, nonnegative_step, same

from .symbols import Gamma, L, V, cap, eta, gram, mu, noise, one, vectors_check

g, h, u, y, A, B, X, xi, z = vectors("g h u y A B X xi z")
D, mean_gap, star_gap, gap, progress = sympy.symbols("D mean_gap star_gap gap progress")
F_mean, F_star, F_stars = sympy.symbols("F_mean F_star F_stars")
squares, distances, part, weight, added = sympy.symbols("squares distances part weight added")

_slope = 2 * eta * (1 - 2 * L * eta)  # the paper's gamma_t
_rest = _slope * (1 - eta * L) * (gap + Gamma) - 2 * eta * Gamma
_some = region(positive("part"), nonnegative("weight"), nonnegative("added"))

STEPS = (
    given("li2020.noise", "Assumption 3", "given the past, client k's stochastic gradient is grad F_k(w_k) plus noise "
          "of mean 0 and E|noise|^2 <= sigma_k^2, uncorrelated with the other clients'",
          assumes=(UNBIASED_NOISE, UNCORRELATED_NOISE)),
    given("li2020.mean", "appendix A.1", "vbar_{t+1} = wbar_t - eta (A + X), A and X the means by p_k over all clients "
          "of their gradients and noises: those that are not asked train as well, and nobody sees it"),
    gram("li2020.gradient", "Lemma 1", "|grad F_k(x)|^2 <= 2L (F_k(x) - F_k*): F_k* is no more than F_k at x - grad "
         "F_k(x)/L", 2 * L * (progress - star_gap) - norm2(g),
         given=((progress - dot(g, g / L) + L / 2 * norm2(g / L) - mean_gap, 2 * L), (mean_gap - star_gap, 2 * L)),
         rests_on=("lemma1.integral",)),
    gram("li2020.young", "Lemma 1", "2 eta <w_k - wbar, g> <= |w_k - wbar|^2 + eta^2 |g|^2",
         norm2(u) + eta**2 * norm2(g) - 2 * eta * dot(u, g)),
    gram("li2020.client", "Lemma 1", "2 eta <wbar - w*, g> - eta^2 |g|^2 >= mu eta |w_k - w*|^2 - |w_k - wbar|^2 "
         "+ 2 eta (1 - 2 L eta) (F_k(w_k) - F_k*) - 2 eta (F_k(w*) - F_k*)",
         2 * eta * dot(y, g) - eta**2 * norm2(g) - mu * eta * norm2(y + u) + norm2(u) - _slope * D
         + 2 * eta * star_gap,
         given=((dot(y + u, g) - D + star_gap - mu / 2 * norm2(y + u), 2 * eta),
                (norm2(u) + eta**2 * norm2(g) - 2 * eta * dot(u, g), one), (2 * L * D - norm2(g), 2 * eta**2)),
         rests_on=("li2020.young", "li2020.gradient")),
    gram("li2020.to_the_mean", "Lemma 1", "F_k(w_k) - F_k* >= (1 - eta L) (F_k(wbar) - F_k*) - |w_k - wbar|^2/(2 eta): "
         "convexity from wbar, and |h|^2 <= 2L (F_k(wbar) - F_k*)",
         D - (1 - eta * L) * mean_gap + norm2(u) / (2 * eta),
         given=((D - mean_gap - dot(h, u), one), (2 * L * mean_gap - norm2(h), eta / 2)),
         rests_on=("li2020.gradient",)),
    # progress plays 2 eta <wbar - w*, g> - eta^2 |g|^2
    gram("li2020.both", "Lemma 1", "2 eta <wbar - w*, g> - eta^2 |g|^2 >= mu eta |w_k - w*|^2 - 2 |w_k - wbar|^2 "
         "+ 2 eta (1 - 2 L eta) (1 - eta L) (F_k(wbar) - F_k*) - 2 eta (F_k(w*) - F_k*)",
         progress - mu * eta * norm2(y + u) + 2 * norm2(u) - _slope * (1 - eta * L) * mean_gap + 2 * eta * star_gap,
         given=((progress - mu * eta * norm2(y + u) + norm2(u) - _slope * D + 2 * eta * star_gap, one),
                (D - (1 - eta * L) * mean_gap + norm2(u) / (2 * eta), _slope)),
         rests_on=("li2020.client", "li2020.to_the_mean")),
    same("li2020.gaps", "Lemma 1", "the means by p_k of F_k(wbar) - F_k* and of F_k(w*) - F_k* are F(wbar) - F* + "
         "Gamma and Gamma = F* - sum p_k F_k*", [(F_mean - F_stars, (F_mean - F_star) + (F_star - F_stars))]),
    nonnegative_step("li2020.gamma", "Lemma 1", "2 eta (1 - 2 L eta) (1 - eta L) (F(wbar) - F* + Gamma) - 2 eta Gamma "
                     ">= -6 L eta^2 Gamma", _rest + 6 * L * eta**2 * Gamma, cap(nonnegative("gap"))),
    # P sum p_k |z_k|^2 >= |sum p_k z_k|^2 for P = sum p_k; squares plays sum p_k |z_k|^2, part P
    Step("li2020.jensen", "Lemma 1", "|sum p_k z_k|^2 <= sum p_k |z_k|^2 where the p_k sum to 1, by induction over the "
         "clients", "induction",
         (vectors_check((part + weight) * (squares + weight * norm2(z)) - norm2(B + weight * z),
                        ((part * squares - norm2(B), (part + weight) / part),), where=_some),)),
    gram("li2020.A1", "Lemma 1", "|wbar - w* - eta A|^2 <= (1 - mu eta) |wbar - w*|^2 + 2V + 6 L eta^2 Gamma",
         (1 - mu * eta) * norm2(y) + 2 * V + 6 * L * eta**2 * Gamma - norm2(y - eta * A),
         given=((2 * eta * dot(y, A) - eta**2 * squares - mu * eta * distances + 2 * V - _rest, one),
                (_rest + 6 * L * eta**2 * Gamma, one), (squares - norm2(A), eta**2), (distances - norm2(y), mu * eta)),
         rests_on=("li2020.both", "li2020.gaps", "li2020.gamma", "li2020.jensen")),
    # part plays the sum of p^2 sigma^2 so far, added the next sigma^2
    Step("li2020.lemma2", "Lemma 2", "E|X|^2 <= sum p_k^2 sigma_k^2, by induction over the clients", "induction",
         (vectors_check(part + weight**2 * added - norm2(B + weight * xi),
                        ((part - norm2(B), one), (added - norm2(xi), weight**2)), ((dot(B, xi), -2 * weight),),
                        where=_some),),
         rests_on=("li2020.noise",)),
    gram("li2020.lemma1", "Lemma 1", "E|vbar_{t+1} - w*|^2 <= (1 - mu eta) E|wbar_t - w*|^2 + eta^2 sum p_k^2 "
         "sigma_k^2 + 6 L eta^2 Gamma + 2V",
         (1 - mu * eta) * norm2(y) + eta**2 * noise + 6 * L * eta**2 * Gamma + 2 * V - norm2(y - eta * (A + X)),
         given=(((1 - mu * eta) * norm2(y) + 2 * V + 6 * L * eta**2 * Gamma - norm2(y - eta * A), one),
                (noise - norm2(X), eta**2)),
         zero=((dot(y, X), 2 * eta), (dot(A, X), -2 * eta**2)),
         rests_on=("li2020.A1", "li2020.lemma2", "li2020.mean")),
)  # fmt: skip
