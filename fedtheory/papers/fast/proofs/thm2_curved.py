"""Theorem 2 of FAST for every q under eta <= 1/(8 L K), a step that the curvature does not cap, composed by the kernel.

With p = 1 - q, h = q/m + p/n, z = L K eta, b_S the cohort's mean of grad F_i(x*) and D = x - x*, given the cohort

    |x+ - x*|^2 <= (1 - 2 mu K eta + 5 mu^2 K^2 eta^2) |D|^2 - 2 K eta (1 - psi) <b_S, D>
                   + (1 + 10 z) K^2 eta^2 sigma_G^2 + ((1 + z)/size + 8/3 (1 - 1/K) z) K eta^2 sigma^2,   0 <= psi < 1

(``proof.curved_sgd``). The mean over a uniform cohort of grad F_i(x*) has mean 0, so with r = mu - 5/2 mu^2 K eta and
2 p <b, D> <= r |D|^2 + p^2 |b|^2/r

    E|x+ - x*|^2 <= (1 - K eta r) |D|^2 + K eta (p^2/r + (1 + 10 z) K eta) sigma_G^2
                    + ((1 + z) h + 8/3 (1 - 1/K) z) K eta^2 sigma^2.

All of the noise falls with the cohorts as z -> 0. Dissimilarity is used at the optimum alone.
"""

from __future__ import annotations

from functools import cache, partial

from ....proof.kernel.forms import ONE
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.round_rules import expect_arbitrary, expect_uniform, mix
from ....proof.kernel.scalars import Scalar
from ....proof.kernel.tactics import changed, coefficient, follow, rounded
from ....proof.kernel.theorems import Multiples, Theorem, instantiate
from .kinds_of_round import RING, K, Kinds, L, a, eta, m, mu, n, p, q, share, sigma, sigma_G, size

_KINDS = Kinds(convex=True)
_WHERE, _CURVED = _KINDS.plain, _KINDS.curved
_BIAS, _D = _CURVED.bias(n), _KINDS.sgd.distance
"""E[mean_S grad F_i(x*) | start, arbitrary], and x - x*."""
RATE = mu - mu**2 * K * eta * 5 / 2
"""Rate r of the contraction."""


@cache
def cohort_round() -> Theorem:
    """Bound |x+ - x*|^2 after a round of any cohort, with <b_S, D>; coefficients are rounded up."""
    return _CURVED.short_round(_CURVED.one_round, size)


@cache
def snapshot() -> Theorem:
    """Bound E|x+ - x*|^2 after a snapshot, whose uniform cohort has no bias."""
    return _CURVED.unbiased(expect_uniform(instantiate(cohort_round(), {"size": m}, _WHERE), m, share, _WHERE))


@cache
def arbitrary() -> Theorem:
    """Bound E|x+ - x*|^2 after an arbitrary round, with <b, D>."""
    return _CURVED.arbitrary(instantiate(cohort_round(), {"size": n}, _WHERE), n)


@cache
def arbitrary_by_young() -> Theorem:
    """(38): the pull of an arbitrary round by 2 <b, D> <= 2 a |D|^2 + |b|^2/(2 a), for every a > 0."""
    return _CURVED.by_young(arbitrary(), _BIAS.bound(), 2 * a, K * eta / (2 * a), _KINDS.with_young)


def arbitrary_progress() -> Theorem:
    """(35): 2 eta times what a cohort's local gradients have along D is at least 2 eta times that of their means at x*,
    and 2 <b, D> <= 2 a |D|^2 + |b|^2/(2 a)."""
    whole = instantiate(_CURVED.cohort_progress, {"size": n}, _WHERE)
    pull = coefficient(whole.form, _KINDS.sgd.start, _CURVED.cohort_at_optimum)
    share = K * eta * (-pull / K) ** 2 / (2 * a)
    squares = [(_D * (2 * a) - _BIAS.vector * (pull / K), "", K * eta / (2 * a))]
    given, projected = expect_arbitrary(whole, n), _BIAS.projected(_D)
    premises: Multiples = [(given, 2 * eta), (projected, -2 * eta * pull), (_BIAS.bound(), share)]
    return follow(premises, squares, where=_KINDS.with_young)


def by_dissimilarity() -> Theorem:
    """(39): both kinds of round, with sigma_G^2/(K eta) for a."""
    where = changed(_WHERE, Condition("sigma_G", "positive"))
    few = instantiate(arbitrary_by_young(), {"a": sigma_G**2 / (K * eta)}, where)
    return mix(snapshot(), few, q, where)


@cache
def _contraction(young: Scalar) -> Theorem:
    """E|x+ - x*|^2 <= (1 - K eta (2 r - young)) |D|^2 + K eta p^2/young sigma_G^2 + ..., as above, if certified."""
    mixed = mix(snapshot(), arbitrary(), q, _WHERE)
    return _CURVED.by_young(mixed, _BIAS.bound(), young, K * eta / young, _WHERE, most=p)


_MOSTLY = Where(RING, (
    Condition("a", "interval", (mu * K * eta - 5 * mu**2 * K**2 * eta**2) / 2),
    Condition("eta", "capped", 1 / (20 * m * L * K)),
    *(c for c in _WHERE.conditions if c.name not in ("q", "n", "eta")),
))  # fmt: skip
"""Region with a = 1 - q in the place of q, where arbitrary rounds are so rare that they take less than mu K eta.

Cohorts are of one size, and the step falls with it.
"""


@cache
def mostly_snapshots() -> Theorem:
    """Contraction at the rate mu, with 2 a |D|^2 + a K^2 eta^2/2 |b|^2 for the pull of arbitrary rounds, and short
    constants."""
    mixed, bias = (
        instantiate(made, {"q": 1 - a, "n": m}, _MOSTLY)
        for made in (mix(snapshot(), arbitrary(), q, _WHERE), _BIAS.bound())
    )
    young, x = _CURVED.by_young(mixed, bias, RING.number(2), a / 2, _MOSTLY), _KINDS.sgd.start
    claimed = (a / 2 + 8) * K**2 * eta**2 * sigma_G**2 + 2 / m * K * eta**2 * sigma**2
    return rounded(
        young, _MOSTLY, [(_D, "", 1 - mu * K * eta - coefficient(young.form, x, x))], claimed - young.form.entries[ONE]
    )


strongly_convex = partial(_contraction, RATE)
"""Contraction at the rate r, with the floor p^2 sigma_G^2/r^2."""
strongly_convex_corrected = partial(_contraction, 2 * RATE - mu)
"""Contraction at the rate mu, with the floor p^2 sigma_G^2/(mu (mu - 5 mu^2 K eta))."""
