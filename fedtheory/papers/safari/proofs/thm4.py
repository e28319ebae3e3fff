"""Theorem 4 of SAFARI for every q and any two step sizes, composed by the kernel from its axioms.

Let c = q K eta_c, a = (1 - q) eta_s + c, z = L K eta_c and g = grad F(x); b is the bias of the clients' round, e the
drift, and T >= 1 a number. Let eta_c <= 1/(8 L K) and eta_s <= 1/L. In expectation given the start x of a round that
ends in x+:

    the server's    F(x+) <= F(x) - eta_s (1 - L eta_s/2) |g|^2 + L eta_s^2 sigma_s^2/2
    the clients'    F(x+) <= F(x) - K eta_c (|g|^2 + <g, b> + <g, e>/K) + L K^2 eta_c^2/2 (|g|^2 + 2 <g, b> + sigma_G^2)
                    + (the drift and the noise, of the order z^2)

No Young parameter between g and e is needed that costs |g|^2. With P the progress and y = g + (c/P) b,

    P |g|^2 + c <g, b> = P/2 |g|^2 + P/2 |y|^2 - c^2/(2 P) |b|^2,    <g, e> = <y, e> - (c/P) <b, e>,

|y|^2 pays for <y, e>, and <b, e> costs T z (c/P)^2 |b|^2/2 and |e|^2/(2 T z). With B = 1 + 11/(10 T) + 5 z and
P = a - (1 - q) L eta_s^2/2 - q L K^2 eta_c^2 B/2:

    F(x+) <= F(x) - P/2 |g|^2 + c^2/(2 P) sigma_G^2 + q L K^2 eta_c^2/2 (B + T (c/P)^2) sigma_G^2
             + (1 - q) L eta_s^2/2 sigma_s^2 + q L K eta_c^2/2 ((1 + z)/m + (1 - 1/K) (11/(10 T) + 4 z)) sigma^2.

T = 1 keeps the dissimilarity's price low; with T = m all of the noise falls with the cohort as z -> 0.
"""

from __future__ import annotations

from functools import cache, partial

from ....proof.kernel.forms import ONE
from ....proof.kernel.regions import Where
from ....proof.kernel.round_rules import ARBITRARY, expect_arbitrary
from ....proof.kernel.scalars import Scalar
from ....proof.kernel.server_rounds import SERVER, mix_server
from ....proof.kernel.tactics import coefficient, follow
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate, over_clients
from .kinds_of_round import RING, K, Kinds, L, client_step, eta, eta_s, m, mean_step, q, sigma, sigma_G, sigma_s, z

_KINDS = Kinds(convex=False)
_BIAS = _KINDS.bias
_WHERE: Where = _KINDS.where
_PAID = RING.number(3) / 4
"""Part of |y|^2 that pays for <y, e>."""


def curvature(T: Scalar) -> Scalar:
    """Return B."""
    return 1 + RING.number(11) / 10 / T + 5 * z


def progress(T: Scalar) -> Scalar:
    """Return P."""
    return mean_step - (1 - q) * L * eta_s**2 / 2 - q * L * K**2 * eta**2 * curvature(T) / 2


@cache
def server_round() -> Theorem:
    """F(x+) <= F(x) - eta_s (1 - L eta_s/2) |g|^2 + L eta_s^2 sigma_s^2/2 after a server's round."""
    server, half = _KINDS.server, L / 2
    g, step = server.gradient, (server.gradient + server.noise) * eta_s
    premises: Multiples = [
        (over_clients(server.descent(L), "M"), 1),
        (server.round(g + (server.moved - step) * half), -1),
        (server.unbiased(g * (eta_s - L * eta_s**2)), 1),
        (server.variance(sigma_s**2), half * eta_s**2),
    ]
    return combine(premises, where=_WHERE, context="kind", kind=SERVER)


@cache
def _parts() -> tuple[Theorem, Theorem]:
    """Bound the fall of F in the clients' round from below, with <g, e> in it; and |e|^2 from above."""
    s, half = _KINDS.sgd, L / 2
    drift = s.exact_drift_bound
    summed, squares = s.sum_of_gradients(z, z, drift, eta**2 * half)
    falls = combine([*s.falls(1), *summed], where=_WHERE, context="cohort", squares=squares)
    together = coefficient(falls.form, s.cohort_gradient, s.cohort_gradient)
    return _without_squares(falls, together, -eta * K), _without_squares(drift, 0 * K, 0 * K)


def _without_squares(theorem: Theorem, together: Scalar, linear: Scalar) -> Theorem:
    """Given the clients' round, with |g|^2 + 2 <g, b> + sigma_G^2 for mean_S |g_i|^2 and for ``together`` times
    |mean_S g_i|^2, and g + b for mean_S g_i in ``linear`` times <g, mean_S g_i>; the drift stays."""
    s, g = _KINDS.sgd, _KINDS.server.gradient
    g0, G = s.gradient_at_start, s.cohort_gradient
    multiple = coefficient(theorem.form, g0, g0, "S") + together
    premises: Multiples = [(theorem, 1), (over_clients(_BIAS.near, "S"), multiple)]
    bounded = follow(premises, [(g0 - G, "S", together)], kind=ARBITRARY)
    given = expect_arbitrary(instantiate(bounded, {"size": m}, _WHERE), m)
    return follow([(given, 1), (_BIAS.projected(g), -(multiple * 2 + linear))])


@cache
def client_round(T: Scalar) -> Theorem:
    """Bound E F(x+) after the clients' round.

    With A = z K eta_c B/2, c' = c (1 - z B) and y = g + (c'/P) b:

        F(x+) <= F(x) - K eta_c (|g|^2 + <g, b>) + A (|g|^2 + 2 <g, b> + sigma_G^2) + 3/8 K eta_c |y|^2
                 + T z (c'/P)^2 K eta_c |b|^2/2 + (the noise).
    """
    falls, drift = _parts()
    s, g, b = _KINDS.sgd, _KINDS.server.gradient, _BIAS.vector
    share, E, unit, A = _share(T), s.drift / K, eta * K, z * K * eta * curvature(T) / 2
    of_drift = (1 / _PAID + 1 / (T * z)) * eta / (2 * K)
    so_far = falls.form.entries[ONE] + drift.form.entries[ONE] * of_drift
    exact = -coefficient(falls.form, g, g) - coefficient(drift.form, g, g) * of_drift
    noise = ((1 + z) / m + (1 - 1 / K) * (RING.number(11) / 10 / T + 4 * z)) * L * K * eta**2 * sigma**2 / 2
    premises: Multiples = [(falls, 1), (drift, of_drift), (_BIAS.bound(), A - exact)]
    squares = [
        (g + b * share + E / _PAID, "", unit * _PAID / 2),
        (b * (share * T * z) - E, "", unit / (2 * T * z)),
        (g + b, "", A - exact),
    ]
    return follow(premises, squares, noise - so_far.coefficients("sigma")[2] * sigma**2)


def _share(T: Scalar) -> Scalar:
    """c'/P."""
    return client_step * (1 - z * curvature(T)) / progress(T)


@cache
def descent(T: Scalar) -> Theorem:
    """F(x+) <= F(x) - P/2 |g|^2 + ..., as above."""
    g, b, P, share = _KINDS.server.gradient, _BIAS.vector, progress(T), _share(T)
    mixed = mix_server(server_round(), client_round(T), q, _WHERE)
    paid = client_step * T * z * share**2 / 2 + P * share**2 / 2
    claimed = (client_step**2 / P + q * L * K**2 * eta**2 * T * (client_step / P) ** 2) / 2
    squares = [(g + b * share, "", (P - client_step * _PAID) / 2)]
    return follow([(mixed, 1), (_BIAS.bound(), paid)], squares, (claimed - paid) * sigma_G**2)


nonconvex = partial(descent, RING.number(1))
"""Descent of E F(x+) with T = 1, which keeps the dissimilarity's price low."""
nonconvex_averaged = partial(descent, m)
"""Descent of E F(x+) with T = m, with which all of the noise falls with the cohort as z -> 0."""
