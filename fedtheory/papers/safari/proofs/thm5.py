"""Theorem 5 of SAFARI for every q and any two step sizes, composed by the kernel from its axioms.

Let D = x - x*, c = q K eta_c, a = (1 - q) eta_s + c and z = L K eta_c; b_S is the cohort's mean of grad F_i(x*). Let
eta_c <= 1/(8 L K) and eta_s <= 2/(L + mu). In expectation given the start x of a round that ends in x+:

    the server's    |x+ - x*|^2 <= (1 - mu eta_s)^2 |D|^2 + eta_s^2 sigma_s^2
    the clients'    |x+ - x*|^2 <= (1 - 2 mu K eta_c + 5 mu^2 K^2 eta_c^2) |D|^2 - 2 K eta_c (1 - psi) <b_S, D>
                    + (1 + 10 z) K^2 eta_c^2 sigma_G^2 + ((1 + z)/m + 8/3 (1 - 1/K) z) K eta_c^2 sigma^2,  0 <= psi < 1

so that with r = mu a - (1 - q) mu^2 eta_s^2/2 - 5/2 q mu^2 K^2 eta_c^2 and 2 c <b, D> <= r |D|^2 + c^2 |b|^2/r

    |x+ - x*|^2 <= (1 - r) |D|^2 + c^2 sigma_G^2/r + q (1 + 10 z) K^2 eta_c^2 sigma_G^2 + (1 - q) eta_s^2 sigma_s^2
                   + q ((1 + z)/m + 8/3 (1 - 1/K) z) K eta_c^2 sigma^2.

The step of a client is not capped by its curvature, and all of the noise falls with the cohort as z -> 0: what takes
the place of Young's inequality between D and the drift is in ``proof.curved_sgd``. The bias is that of gradients at the
optimum; dissimilarity is used there alone.
"""

from __future__ import annotations

from functools import cache

from ....proof.kernel.forms import ONE
from ....proof.kernel.regions import Condition
from ....proof.kernel.round_rules import expect_everyone
from ....proof.kernel.server_rounds import SERVER, mix_server
from ....proof.kernel.tactics import changed, coefficient, rounded
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate
from ....proof.local_sgd import cocoercive, monotone
from .kinds_of_round import K, Kinds, L, client_step, eta, eta_s, m, mean_step, mu, q, sigma, sigma_G, sigma_s, z

_KINDS = Kinds(convex=True)
_CURVED = _KINDS.curved
RATE = mu * mean_step - (1 - q) * mu**2 * eta_s**2 / 2 - q * mu**2 * K**2 * eta**2 * 5 / 2
"""r."""


@cache
def server_round() -> Theorem:
    """|x+ - x*|^2 <= (1 - mu eta_s)^2 |D|^2 + eta_s^2 sigma_s^2 after a server's round."""
    server, sgd = _KINDS.server, _KINDS.sgd
    g, D, ax = server.gradient, sgd.distance, sgd.axioms
    premises: Multiples = [
        (server.round(sgd.next_distance + D - (g + server.noise) * eta_s), -1),
        (server.unbiased(D - g * eta_s), 2 * eta_s),
        (server.variance(sigma_s**2), eta_s**2),
        (monotone(ax, mu), 2 * eta_s - eta_s**2 * (mu + L)),
        (cocoercive(ax, mu, L), eta_s**2),
    ]
    return combine(premises, where=_KINDS.where, context="kind", kind=SERVER)


@cache
def _cohort_round() -> Theorem:
    """Bound |x+ - x*|^2 after the clients' round, given the cohort, with <b_S, D>; coefficients are rounded up."""
    return _CURVED.short_round(instantiate(_CURVED.one_round, {"size": m}, _KINDS.where), m)


@cache
def client_round() -> Theorem:
    """Bound |x+ - x*|^2 after the clients' round given its kind, with <E[b_S | start, kind], D>."""
    return _CURVED.arbitrary(_cohort_round(), m)


_CAPS = Condition("eta", "capped", mu / (20 * L**2 * K)), Condition("eta_s", "capped", 1 / (2 * L))
_SLOW = changed(_KINDS.where, *_CAPS)


@cache
def of_everyone() -> Theorem:
    """E|x+ - x*|^2 <= (1 - P) |D|^2 + (the drift, the noises), without a floor, as grad F(x*) = 0."""
    sgd = _KINDS.sgd
    mixed = mix_server(server_round(), _CURVED.unbiased(expect_everyone(_cohort_round(), m)), q, _KINDS.where)
    noise = (1 - q) * eta_s**2 * sigma_s**2 + q * (1 + 1 / m) * K * eta**2 * sigma**2
    claimed = 6 * q * K**2 * eta**2 * sigma_G**2 + noise
    rate = 2 * mu * mean_step - (1 - q) * L * mu * eta_s**2 - 9 * q * z**2
    return rounded(
        mixed,
        _SLOW,
        [(sgd.distance, "", 1 - rate - coefficient(mixed.form, sgd.start, sgd.start))],
        claimed - mixed.form.entries[ONE],
    )


@cache
def strongly_convex() -> Theorem:
    """E|x+ - x*|^2 <= (1 - r) |D|^2 + c^2 sigma_G^2/r + (the drift, the noises), if certified."""
    mixed = mix_server(server_round(), client_round(), q, _KINDS.where)
    return _CURVED.by_young(mixed, _CURVED.bias(m).bound(), RATE, 1 / RATE, _KINDS.where, most=client_step)
