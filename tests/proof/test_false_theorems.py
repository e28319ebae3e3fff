"""False theorems about the papers' functionals never come out proved, though each differs little from a true one; and
what is weaker than a proved theorem does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import sympy
from sympy import Le, Rational

from fedtheory.claims import readings
from fedtheory.claims.statement import Ambiguity, Claim, Hypothesis, Term
from fedtheory.papers import claim
from fedtheory.papers.proofs import proof_of
from fedtheory.proof.chains import Chain
from fedtheory.quantities import symbols

K, R, eta, L, mu, q, sigma, D, gap, bias, m, n = symbols(
    "local_steps", "rounds", "local_lr", "smoothness", "strong_convexity", "snapshot_probability", "gradient_noise",
    "initial_distance", "initial_gap", "dissimilarity", "cohort", "arbitrary_cohort",
)  # fmt: skip
p = 1 - q
FALLS, CONTRACTS = claim("fast.thm1@sharper"), claim("fast.thm2@sharper")
FALLING, CONTRACTING = claim("fast.thm1@averaged"), claim("fast.thm2@averaged")


def term(this: Claim, name: str, change: Callable[[sympy.Expr], sympy.Expr]) -> Claim:
    return this.edited("main", "", terms={name: change(this.term(name).expression)})


def times(this: Claim, name: str, share: Rational) -> Claim:
    return term(this, name, lambda e: e * share)


def put(this: Claim, old: sympy.Expr, new: sympy.Expr) -> Claim:
    """With another expression in every term."""
    return this.edited("main", "", terms={t.name: t.expression.subs(old, new) for t in this.terms})


def cap(this: Claim, bound: sympy.Expr) -> Claim:
    """With another cap of the step size, and no other."""
    others = tuple(h for h in this.hypotheses if not h.relation.has(eta))
    return replace(this, hypotheses=(*others, Hypothesis("cap", Le(eta, bound), "")))


def without(this: Claim, kind: str) -> Claim:
    kept = tuple(a for a in this.assumptions if kind not in (a.kind, a.quantity))
    assert len(kept) < len(this.assumptions)
    return replace(this, assumptions=kept)


FALSE: dict[str, Claim] = {
    "99% of the start": times(CONTRACTS, "initial", Rational(99, 100)),
    "99% of the start, averaged": times(CONTRACTING, "initial", Rational(99, 100)),
    "99% of the exact floor": times(CONTRACTS, "arbitrary_rounds", Rational(99, 100)),
    "99% of the exact floor, averaged": times(CONTRACTING, "arbitrary_rounds", Rational(99, 100)),
    "99% of the floor of Theorem 1": times(FALLS, "arbitrary_rounds", Rational(99, 100)),
    "49% of the gap": times(FALLS, "optimization", Rational(49, 100)),
    "a tenth of the noise": times(CONTRACTING, "noise", Rational(1, 10)),
    "a tenth of the noise of Theorem 1": times(FALLING, "noise", Rational(1, 10)),
    "no noise": replace(CONTRACTS, terms=tuple(t for t in CONTRACTS.terms if t.name != "noise")),
    "no floor": replace(FALLS, terms=tuple(t for t in FALLS.terms if t.name != "arbitrary_rounds")),
    "true with one Hessian only": replace(
        CONTRACTS, terms=tuple(t for t in CONTRACTS.terms if t.name != "heterogeneity")
    ),
    "true of identical clients only": replace(
        CONTRACTS, terms=tuple(t for t in CONTRACTS.terms if t.name not in ("heterogeneity", "arbitrary_rounds"))
    ),
    "a round more in the rate": put(CONTRACTS, R, R + 1),
    "a step more in the rate": term(CONTRACTS, "initial", lambda e: e.subs(K, K + 1)),
    "a round more in the mean": put(FALLS, R, 2 * R + 1),
    "mu for L in the cap": cap(CONTRACTS, 1 / (8 * mu * K)),
    "mu for L in the cap of Theorem 1": cap(FALLS, 1 / (8 * mu * K)),
    "no K in the cap": cap(FALLS, 1 / (8 * L)),
    "no cap": replace(FALLS, hypotheses=tuple(h for h in FALLS.hypotheses if not h.relation.has(eta))),
    "without uncorrelated noise": without(FALLS, "uncorrelated_noise"),
    "without unbiased noise": without(CONTRACTS, "unbiased_noise"),
    "with cohorts that see the noise": without(FALLS, "cohort_before_noise"),
    "with uniform rounds of any cohort": without(CONTRACTS, "uniform_cohorts"),
    "without a bound on the noise": without(FALLS, "gradient_noise"),
    "without a bound on the dissimilarity": without(CONTRACTS, "dissimilarity"),
    "without smoothness": without(FALLS, "smoothness"),
    "without convexity": without(CONTRACTS, "strong_convexity"),
    "m for n": put(CONTRACTING, n, m),
    "q for 1 - q": put(CONTRACTS, q, 1 - q),
    "with the period's snapshots": replace(
        CONTRACTS, ambiguities=(
            Ambiguity(readings.SNAPSHOTS, (readings.PERIOD,), ""),
            *(a for a in CONTRACTS.ambiguities if a.name != readings.SNAPSHOTS),
        ),
    ),
}  # fmt: skip


def word(this: Claim) -> str:
    chain: Chain | None = proof_of(this)
    return chain.verdict if chain else "unproved"


@pytest.mark.parametrize("name", FALSE)
def test_a_false_theorem_is_not_proved(name: str) -> None:
    assert word(FALSE[name]) == "unproved"


WEAKER: dict[str, Claim] = {
    "twice the noise": times(FALLS, "noise", Rational(2)),
    "1% more of the start": times(CONTRACTS, "initial", Rational(101, 100)),
    "another term": replace(CONTRACTS, terms=(*CONTRACTS.terms, Term("more", sigma**2))),
    "merged terms": replace(
        FALLS, terms=(FALLS.terms[0], Term("rest", sympy.Add(*(t.expression for t in FALLS.terms[1:])))),
    ),
    "all terms in one": replace(CONTRACTS, terms=(Term("all", CONTRACTS.right_side),)),
    "a smaller cap": cap(FALLS, 1 / (20 * L * K)),
    "a smaller cap, averaged": cap(CONTRACTING, mu * (q / m + p / n) / (9 * L**2 * K)),
    "one step": replace(FALLS, hypotheses=(*FALLS.hypotheses, Hypothesis("one_step", Le(K, 1), ""))),
    "K <= 1 put in": replace(
        put(FALLS, K, 1), hypotheses=(*FALLS.hypotheses, Hypothesis("one_step", Le(K, 1), "")),
    ),
    "the floor multiplied out": term(CONTRACTS, "heterogeneity", lambda e: sympy.expand(e)),
    "L/mu more of the floor": term(CONTRACTS, "heterogeneity", lambda e: e * (1 + L / mu)),
}  # fmt: skip


@pytest.mark.parametrize("name", WEAKER)
def test_a_weaker_theorem_is_proved(name: str) -> None:
    assert word(WEAKER[name]) == "proved"


def test_a_quotient_is_no_more_than_an_exponential_allows() -> None:
    """1/(1 + 2 x) is below exp(-x) for small x."""
    false = term(CONTRACTS, "initial", lambda e: e.replace(sympy.exp, lambda x: 1 / (1 - 2 * x)))
    assert word(false) == "unproved"


def test_there_are_enough() -> None:
    assert len(FALSE) >= 25 and len(WEAKER) >= 10
    assert {word(this) for this in (FALLS, CONTRACTS, FALLING, CONTRACTING)} == {"proved"}
    assert D in CONTRACTS.right_side.free_symbols and gap in FALLS.right_side.free_symbols
