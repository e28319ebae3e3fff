"""One step of the mean of the clients' models, and all of them.

a = x_m - x*, u = xhat - x_m and y = a + u = xhat - x*; g = grad F(x_m), D = F(x_m) - F(x*); G and N are the means over
the clients of the gradients and of their noises.
"""

from __future__ import annotations

import sympy

from fedtheory.assumptions import UNBIASED_NOISE, UNCORRELATED_NOISE
from fedtheory.proof.gram import dot, norm2, vectors
from fedtheory.proof.symbol_regions import nonnegative, region
from fedtheory.proof.steps import Identity, Step
from fedtheory.proof.write import given, nonnegative_step, same

from .symbols import CAP, D, H, L, M, V, gamma, gram, k, mu, one, sigma, vectors_check

a, g, s, u, y, G, N, S, X, xi = vectors("a g s u y G N S X xi")
f_x, f_star, f_z, start, rate, added, partial = sympy.symbols("f_x f_star f_z start rate added partial")

_progress = 2 * gamma * dot(a + u, g) - gamma**2 * norm2(g)
_shown = gamma * mu * norm2(a) - 2 * gamma * L * norm2(u)
_noise, _drift = sigma**2 / M, (H - 1) * gamma**2 * sigma**2

ONE_STEP = (
    given("khaled2020.noise", "setting", "given the past, client m's stochastic gradient is grad F(x_m) plus noise of "
          "mean 0 and E|noise|^2 <= sigma^2, uncorrelated with the other clients'",
          assumes=(UNBIASED_NOISE, UNCORRELATED_NOISE)),
    given("khaled2020.mean", "Theorem 1", "averaging the models does not move their mean, so at every step "
          "xhat_{t+1} = xhat_t - gamma (G + N), synchronised or not"),
    gram("khaled2020.gradient", "Theorem 1", "|grad F(x)|^2 <= 2L (F(x) - F(x*)): x* is no better than x - grad F(x)/L",
         2 * L * (f_x - f_star) - norm2(g),
         given=((f_x - dot(g, g / L) + L / 2 * norm2(g / L) - f_z, 2 * L), (f_z - f_star, 2 * L)),
         rests_on=("lemma1.integral",)),
    gram("khaled2020.client", "Theorem 1", "2 gamma <y, g> - gamma^2 |g|^2 >= gamma mu |x_m - x*|^2 - 2 gamma L "
         "|xhat - "
         "x_m|^2: strong convexity, -2<u, g> <= 2L|u|^2 + |g|^2/(2L), |g|^2 <= 2L D, and gamma <= 1/(4L)",
         _progress - _shown,
         given=((dot(a, g) - D - mu / 2 * norm2(a), 2 * gamma),
                (2 * L * D - norm2(g), gamma / (2 * L) + gamma**2), (D, gamma * (1 - 2 * L * gamma))),
         rests_on=("khaled2020.gradient",)),
    # f_x, f_z, start and added play the means over the clients of <y, g>, |g|^2, |a|^2 and |u|^2
    gram("khaled2020.clients", "Theorem 1", "the same for the means over the clients: |G|^2 <= mean |g|^2 and "
         "|y|^2 <= mean "
         "|x_m - x*|^2",
         (1 - gamma * mu) * norm2(y) + 2 * gamma * L * added - norm2(y - gamma * G),
         given=((2 * gamma * dot(y, G) - gamma**2 * f_z - gamma * mu * start + 2 * gamma * L * added, one),
                (f_z - norm2(G), gamma**2), (start - norm2(y), gamma * mu)),
         rests_on=("khaled2020.client", "jensen")),
    Step("khaled2020.noise_of_the_mean", "Theorem 1", "E|N|^2 <= sigma^2/M, by induction over the clients", "induction",
         (vectors_check((k + 1) * sigma**2 - norm2(S + xi),
                        ((k * sigma**2 - norm2(S), one), (sigma**2 - norm2(xi), one)), ((dot(S, xi), -2 * one),),
                        region(nonnegative("k"), nonnegative("gradient_noise"))),
          vectors_check(_noise - norm2(S / M), ((M * sigma**2 - norm2(S), 1 / M**2),))),
         rests_on=("khaled2020.noise",)),
    gram("khaled2020.step", "Theorem 1", "E|xhat_{t+1} - x*|^2 <= (1 - gamma mu) E|xhat_t - x*|^2 + 2 gamma L V "
         "+ gamma^2 "
         "sigma^2/M",
         (1 - gamma * mu) * norm2(y) + 2 * gamma * L * V + gamma**2 * _noise - norm2(y - gamma * (G + N)),
         given=(((1 - gamma * mu) * norm2(y) + 2 * gamma * L * V - norm2(y - gamma * G), one),
                (_noise - norm2(N), gamma**2)),
         zero=((dot(y, N), 2 * gamma), (dot(G, N), -2 * gamma**2)),
         rests_on=("khaled2020.clients", "khaled2020.noise_of_the_mean", "khaled2020.mean")),
)  # fmt: skip

UNROLLED = (
    nonnegative_step("khaled2020.factor", "Theorem 1", "1 - gamma mu >= 0", 1 - gamma * mu, CAP),
    # A_t <= rate^t A_0 + added S_t with S_{t+1} = rate S_t + 1; start plays rate^t A_0
    Step("khaled2020.unrolled", "Theorem 1", "A_{t+1} <= rate A_t + added for all t gives A_T <= rate^T A_0 + "
         "added S_T, "
         "S_T the geometric sum, by induction", "induction",
         (Identity(rate * (start + added * partial) + added, rate * start + added * (rate * partial + 1)),),
         rests_on=("khaled2020.step", "khaled2020.factor")),
    same("khaled2020.floors", "Theorem 1", "what a step adds, over gamma mu, is gamma sigma^2/(mu M) + 2 L "
         "gamma^2 (H - 1) "
         "sigma^2/mu",
         [((2 * gamma * L * _drift + gamma**2 * _noise) / (gamma * mu),
           gamma * sigma**2 / (mu * M) + 2 * L * gamma**2 * (H - 1) * sigma**2 / mu)],
         rests_on=("khaled2020.unrolled", "khaled2020.drift", "a3.40_geometric_sum")),
    given("khaled2020.steps_taken", "Theorem 1", "R rounds are T = R H steps, after which xhat_T is the "
         "server's model"),
)  # fmt: skip
