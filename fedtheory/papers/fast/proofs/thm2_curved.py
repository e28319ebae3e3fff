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

from functools import cache

from ....proof import local_sgd
from ....proof.curved_sgd import CurvedSGD
from ....proof.kernel.forms import ONE, Vector
from ....proof.kernel.regions import Condition, Where
from ....proof.kernel.round_rules import (
    ARBITRARY, UNIFORM, conditional_mean, expect_arbitrary, expect_uniform, mix, project,
)  # fmt: skip
from ....proof.kernel.scalars import Scalar
from ....proof.kernel.tactics import atom_of, coefficient, rounded
from ....proof.kernel.theorems import Multiples, Theorem, combine, instantiate
from .kinds_of_round import RING, K, Kinds, L, a, eta, m, mu, n, p, q, share, sigma, sigma_G, size

_KINDS = Kinds(convex=True)
_WHERE = _KINDS.plain
RATE = mu - mu**2 * K * eta * 5 / 2
"""Rate r of the contraction."""


@cache
def _curved() -> CurvedSGD:
    return CurvedSGD(_KINDS.sgd, mu, sigma_G**2)


def _bias() -> Vector:
    """E[mean_S grad F_i(x*) | start, arbitrary]."""
    return conditional_mean(atom_of(_curved().at_optimum).atom, ARBITRARY, RING)


def _projected(other: Vector) -> Theorem:
    return project(atom_of(_curved().at_optimum).atom, other, ARBITRARY, _WHERE)


@cache
def cohort_round() -> Theorem:
    """Bound |x+ - x*|^2 after a round of any cohort, with <b_S, D>; coefficients are rounded up."""
    return _curved().short_round(_curved().one_round, size)


def _pull(theorem: Theorem) -> Scalar:
    """The factor of <D, b_S>, or of <D, b>."""
    return coefficient(theorem.form, _KINDS.sgd.start, _curved().cohort_at_optimum)


@cache
def snapshot() -> Theorem:
    """Bound E|x+ - x*|^2 after a snapshot, whose uniform cohort has no bias."""
    drawn, D = expect_uniform(instantiate(cohort_round(), {"size": m}, _WHERE), m, share, _WHERE), _KINDS.sgd.distance
    cross = coefficient(drawn.form, _KINDS.sgd.start, _curved().at_optimum.under("M"))
    return combine([(drawn, 1), (_KINDS.sgd.axioms.optimal(D), -cross)], where=_WHERE, context="kind", kind=UNIFORM)


@cache
def arbitrary() -> Theorem:
    """Bound E|x+ - x*|^2 after an arbitrary round, with <b, D>."""
    whole = instantiate(cohort_round(), {"size": n}, _WHERE)
    premises: Multiples = [(expect_arbitrary(whole, n), 1), (_projected(_KINDS.sgd.distance), -_pull(whole))]
    return combine(premises, where=_WHERE, context="kind", kind=ARBITRARY)


@cache
def bias_bound() -> Theorem:
    """|b|^2 <= sigma_G^2."""
    return local_sgd.bias_bound(_curved().at_optimum, _curved().near_optimum, _bias(), n, _WHERE)


@cache
def arbitrary_by_young() -> Theorem:
    """(38): the pull of an arbitrary round by 2 <b, D> <= 2 a |D|^2 + |b|^2/(2 a), for every a > 0."""
    made, D, where = arbitrary(), _KINDS.sgd.distance, _KINDS.with_young
    pull = -coefficient(made.form, _KINDS.sgd.start, _bias()) / (2 * K * eta)
    return combine(
        [(made, 1), (bias_bound(), K * eta * pull**2 / (2 * a))],
        where=where,
        context="kind",
        kind=ARBITRARY,
        squares=[(D * (2 * a) + _bias() * pull, "", K * eta / (2 * a))],
    )


@cache
def arbitrary_progress() -> Theorem:
    """(35): 2 eta times what a cohort's local gradients have along D is at least 2 eta times that of their means at x*,
    and 2 <b, D> <= 2 a |D|^2 + |b|^2/(2 a)."""
    whole = instantiate(_curved().cohort_progress, {"size": n}, _WHERE)
    made, D, where = expect_arbitrary(whole, n), _KINDS.sgd.distance, _KINDS.with_young
    pull = coefficient(whole.form, _KINDS.sgd.start, _curved().cohort_at_optimum)
    share = K * eta * (-pull / K) ** 2 / (2 * a)
    return combine(
        [(made, 2 * eta), (_projected(D), -2 * eta * pull), (bias_bound(), share)],
        where=where,
        context="kind",
        kind=ARBITRARY,
        squares=[(D * (2 * a) - _bias() * (pull / K), "", K * eta / (2 * a))],
    )


@cache
def by_dissimilarity() -> Theorem:
    """(39): both kinds of round, with sigma_G^2/(K eta) for a."""
    where = Where(RING, tuple(
        Condition("sigma_G", "positive") if c.name == "sigma_G" else c for c in _WHERE.conditions
    ))  # fmt: skip
    few = instantiate(arbitrary_by_young(), {"a": sigma_G**2 / (K * eta)}, where)
    return mix(snapshot(), few, q, where)


def _contraction(young: Scalar) -> Theorem:
    """E|x+ - x*|^2 <= (1 - K eta (2 r - young)) |D|^2 + K eta p^2/young sigma_G^2 + ..., as above, if certified."""
    mixed, D = mix(snapshot(), arbitrary(), q, _WHERE), _KINDS.sgd.distance
    pull = -coefficient(mixed.form, _KINDS.sgd.start, _bias()) / (2 * K * eta)
    premises: Multiples = [(mixed, 1), (bias_bound(), pull**2 * K * eta / young)]
    return combine(
        premises,
        where=_WHERE,
        context="start",
        constant=(p**2 - pull**2) * K * eta / young * sigma_G**2,
        squares=[(D * young + _bias() * pull, "", K * eta / young)],
    )


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
    values = {"q": 1 - a, "n": m}
    mixed = instantiate(mix(snapshot(), arbitrary(), q, _WHERE), values, _MOSTLY)
    D, x, bias = _KINDS.sgd.distance, _KINDS.sgd.start, instantiate(bias_bound(), values, _MOSTLY)
    pull = -coefficient(mixed.form, x, _bias()) / (2 * a)
    young = combine(
        [(mixed, 1), (bias, a * pull**2 / 2)],
        where=_MOSTLY,
        context="start",
        squares=[(D * 2 + _bias() * pull, "", a / 2)],
    )
    claimed = (a / 2 + 8) * K**2 * eta**2 * sigma_G**2 + 2 / m * K * eta**2 * sigma**2
    return rounded(
        young, _MOSTLY, [(D, "", 1 - mu * K * eta - coefficient(young.form, x, x))], claimed - young.form.entries[ONE]
    )


@cache
def strongly_convex() -> Theorem:
    """Contraction at the rate r, with the floor p^2 sigma_G^2/r^2."""
    return _contraction(RATE)


@cache
def strongly_convex_corrected() -> Theorem:
    """Contraction at the rate mu, with the floor p^2 sigma_G^2/(mu (mu - 5 mu^2 K eta))."""
    return _contraction(2 * RATE - mu)
