"""A changed claim loses its proof, unless the change is implied: those changes are listed, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
import sympy
from sympy import Rational

from fedtheory.assumptions import COHORT_BEFORE_NOISE, INDEPENDENT_NOISE
from fedtheory.claims.statement import Ambiguity, Claim, Term
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT
from fedtheory.papers import claim
from fedtheory.papers.proofs import proof_of
from fedtheory.quantities import symbols

K, R, eta, q, sigma = symbols("local_steps", "rounds", "local_lr", "snapshot_probability", "gradient_noise")

PROVED = ("lemma1@main", "lemma2@main", "eq17@main", "eq23@main", "eq28@main", "thm1@floor", "thm2@room")
SLOW = (
    "eq13@main", "eq30@main", "eq35@main", "eq38@main", "eq39@main", "thm2@main", "thm1@corrected", "thm1@sharp",
    "cor1@corrected", "cor2@corrected", "thm2@appendix", "thm2@corrected", "thm2@sharp", "thm2@sharper",
    "thm1@sharper", "cor3@corrected",
)  # fmt: skip

_NEGATIVE = "a negative term dropped makes the right side larger"
_SHARPER = "the edition `sharper` says as much"
_COMPOSED = "what the kernel composes has smaller constants"
IMPLIED = {
    **{("eq23@main", f"{change} rate_cap"): "the bound holds up to z = 1/8" for change in ("no", "1% looser", "twice")},
    ("eq23@main", "without arbitrary_pseudogradient"): _NEGATIVE,
    **{("eq13@main", f"{change} rate_cap"): "the bound holds up to z = 1/8" for change in ("no", "1% looser", "twice")},
    **{("eq13@main", change): _COMPOSED for change in ("half of heterogeneity", "99% of heterogeneity")},
    ("eq13@main", "without full_pseudogradient"): _NEGATIVE,
    **{("eq35@main", change): _COMPOSED for change in ("half of noise", "99% of noise")},
    **{("eq30@main", change): _COMPOSED for change in (
        "1% looser step_cap", "twice step_cap", "half of heterogeneity", "99% of heterogeneity", "99% of noise")},
    **{("eq38@main", change): _COMPOSED for change in ("1% looser step_cap", "twice step_cap", "99% of noise")},
    ("thm1@floor", "no one_step"): "K >= 1 makes what q has to pay for larger",
    **{("eq17@main", change): _COMPOSED for change in ("half of gradient", "99% of gradient", "99% of noise")},
    **{("eq28@main", change): _COMPOSED for change in (
        "half of heterogeneity", "99% of heterogeneity", "half of noise", "99% of noise")},
    **{("thm2@corrected", change): _COMPOSED for change in (
        "half of arbitrary_rounds", "99% of arbitrary_rounds", "half of heterogeneity", "99% of heterogeneity",
        "99% of noise")},
    ("thm2@sharp", "half of noise"): "the edition `wide` says as much",
    ("lemma2@main", "without strong_convexity"): _NEGATIVE,
    ("thm1@corrected", "99% of noise"): "4h + 8.8 z <= 5.76 h for z <= h/5",
    ("cor1@corrected", "99% of noise"): "as for Theorem 1",
    ("cor2@corrected", "99% of noise"): "as for Theorem 1",
    ("thm2@sharp", "half of heterogeneity"): _SHARPER,
    ("thm2@sharp", "99% of heterogeneity"): _SHARPER,
    ("thm2@sharp", "99% of noise"): _SHARPER,
    ("thm2@sharp", "1% looser step_cap"): _SHARPER,
}  # fmt: skip
"""The changes that leave a true statement whose proof is found, and why it is true."""


@cache
def proved(this: Claim) -> bool:
    """Whether it is proved once it assumes what no paper prints."""
    return proof_of(this.assuming(INDEPENDENT_NOISE, COHORT_BEFORE_NOISE)) is not None


@pytest.mark.parametrize("name", [*PROVED, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_only_implied_changes_keep_a_proof(name: str, mutants: Callable, keeping: Callable) -> None:
    this = claim(f"fast.{name}")
    assert proved(this)
    assert keeping(mutants(this), proved) == {change for ref, change in IMPLIED if ref == name}


@pytest.mark.parametrize(
    ("ref", "term", "expression"),
    [
        ("fast.thm2@main", "initial", sympy.exp(-Rational(101, 100) * symbols("strong_convexity")[0] * K * R * eta)),
        ("fast.thm2@main", "arbitrary_rounds", (1 - q) ** 2 / (2 * symbols("strong_convexity")[0]) * K * eta),
        ("fast.thm1@corrected", "arbitrary_rounds", 4 * (1 - q) ** 3 * symbols("dissimilarity")[0] ** 2),
        ("fast.eq17@main", "noise", 10 * symbols("smoothness")[0] ** 2 * eta**2 * sigma**2),
    ],
)
def test_a_changed_exponent_loses_the_proof(ref: str, term: str, expression: sympy.Expr) -> None:
    this = claim(ref)
    if term == "initial":
        expression *= symbols("initial_distance")[0] ** 2
    assert not proved(this.edited("main", "", terms={term: expression}))


def test_a_reading_that_the_proof_does_not_cover_loses_it() -> None:
    this = claim("fast.thm1@corrected")
    period = (Ambiguity("snapshots", ("period",), ""), *(a for a in this.ambiguities if a.name != "snapshots"))
    assert not proved(replace(this, ambiguities=period))
    printed = (Ambiguity("average", ("r = 1..R",), ""), *(a for a in this.ambiguities if a.name != "average"))
    assert not proved(replace(this, ambiguities=printed))
    another = Ambiguity("which norm", ("2", "1"), "not a place that any derivation knows")
    assert not proved(replace(this, ambiguities=(*this.ambiguities, another)))


def test_another_functional_of_the_same_name_is_not_bounded() -> None:
    other = replace(AVERAGE_SQUARED_GRADIENT, observable="squared_distance")
    assert not proved(replace(claim("fast.thm1@corrected"), functional=other))


def test_an_assumption_from_the_other_side_does_not_count() -> None:
    this = claim("fast.eq28@main")
    turned = tuple(replace(a, from_below=not a.from_below) if a.quantity else a for a in this.assumptions)
    assert not proved(replace(this, assumptions=turned))


def test_looser_statements_keep_their_proof() -> None:
    """The proof is of the data, not of the name: a larger right side is implied, under any name of the edition."""
    this = claim("fast.thm2@sharp")
    assert proved(this.edited("mine", "", terms={"noise": 2 * this.term("noise").expression}))
    assert proved(replace(this, terms=(*this.terms, Term("more", sigma**2))))
