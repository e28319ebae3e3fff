"""Nothing false comes out proved: planted false statements, forged certificates, and hypotheses that say less than
they seem to."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy
from sympy import Ge, Le, Rational

from fedtheory.assumptions import ASSUMPTIONS, COHORT_BEFORE_NOISE, INDEPENDENT_NOISE
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.papers import claim
from fedtheory.papers.proofs import library, proof_of
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.gram import Gram, GramCertificate, GramCounterexample, dot, norm2, vectors
from fedtheory.proof.symbol_regions import capped, interval, nonnegative, positive, region
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.quantities import bare, symbols
from tests.loops import looped

s, t, X = sympy.symbols("s t X")
a, b = vectors("a b")


def test_a_multiplier_that_is_undefined_somewhere_proves_nothing() -> None:
    """s X >= 0 gives X >= 0 for s > 0 only: at s = 0 it says nothing of X."""
    for part, expected in ((positive("s"), True), (nonnegative("s"), False), (interval("s"), False)):
        statement = Gram(X, region(part), given=((s * X, 1 / s),))
        assert isinstance(statement.decide(), GramCertificate) is expected
    forged = replace(Gram(X, region(positive("s")), given=((s * X, 1 / s),)).certify(), where=region(nonnegative("s")))
    assert not forged.verify()


def test_a_hypothesis_that_vanishes_gives_no_factor() -> None:
    statement = Gram(X, region(nonnegative("s")), zero=((s * X, 1 / s),))
    assert isinstance(statement.decide(), GramCounterexample)


@pytest.mark.parametrize(
    "false",
    [
        2 * norm2(a) + Rational(19, 10) * norm2(b) - norm2(a + b),
        norm2(a) - dot(a, b),
        norm2(a) + norm2(b) - 3 * dot(a, b),
    ],
)
def test_false_statements_about_vectors_are_not_proved(false: sympy.Expr) -> None:
    assert not isinstance(Gram(false, region(positive("t"))).decide(samples=300), GramCertificate)


def test_a_statement_that_is_not_linear_in_the_products_is_refused() -> None:
    with pytest.raises(ValueError, match="dot_b_b"):
        Gram(norm2(a) * norm2(b) - 2 * dot(a, b), region(positive("t"))).decide()


def test_a_forged_certificate_about_vectors_is_refused() -> None:
    where = region(positive("t"))
    young = (1 + t) * norm2(a) + (1 + 1 / t) * norm2(b) - norm2(a + b)
    made = Gram(young, where).certify()
    assert made.proves(Gram(young, where))
    assert not made.proves(Gram(young - norm2(b), where))
    assert not made.proves(Gram(young, region(capped("t", sympy.Integer(1)))))
    assert not replace(made, squares=()).verify()
    assert not replace(made, signs=()).verify()
    # a hypothesis that the statement does not have
    helped = Gram(young - norm2(b), where, given=((-norm2(b), sympy.Integer(1)),)).certify()
    assert helped.verify() and not helped.proves(Gram(young - norm2(b), where))


def test_a_forged_counterexample_about_vectors_is_refused() -> None:
    """Numbers that stand for products of vectors, or for scalars of the region, would be free of their meaning."""
    where = region(positive("t"))
    statement = Gram(norm2(a) * t, where)
    for numbers in ((("dot_a_a", "-1"),), (("t", "-1"),), (("p_t", "-1"),)):
        found = GramCounterexample((("p_t", "1"),), (("a", ("1",)),), numbers, "-1")
        assert not found.refutes(statement)


# Claims -------------------------------------------------------------------------------------------------------------


def test_a_contradictory_looking_hypothesis_is_read_as_it_is() -> None:
    """A lower bound on the step size in place of the cap proves nothing."""
    this = claim("fast.eq28@main")
    (eta, K, smoothness) = symbols("local_lr", "local_steps", "smoothness")
    turned = {"drift_cap": Ge(eta, 1 / (8 * smoothness * K))}
    assert proof_of(this.edited("main", "", hypotheses=turned)) is None


def test_a_hypothesis_with_several_readings_says_nothing() -> None:
    """Else a claim would be proved by a reading that its words need not have."""
    this = claim("fast.eq28@main")
    cap = this.hypothesis("drift_cap")
    several = replace(cap, alternatives={"looser": Le(cap.relation.lhs, 8 * cap.relation.rhs)})
    assert proof_of(replace(this, hypotheses=(this.hypothesis("one_round"), several))) is None


@pytest.mark.parametrize("ref", ["fast.eq28@main", "fast.thm2@main", "fast.thm1@sharp"])
def test_more_hypotheses_keep_a_proof(ref: str) -> None:
    """A smaller domain: nothing is lost."""
    this = claim(ref).assuming(INDEPENDENT_NOISE, COHORT_BEFORE_NOISE)
    (steps,) = symbols("local_steps")
    assert proof_of(replace(this, hypotheses=(*this.hypotheses, Hypothesis("one_step", Le(steps, 1), "")))) is not None


def test_a_printed_proof_that_is_named_by_no_broken_claim_stands_on_closed_steps() -> None:
    """Or on steps that are broken and repaired by such."""
    for printed in library().printed_proofs:
        names = library().needed(printed.steps)
        closed = {n for n in names if library().decided(n).closed}
        open_ = [n for n in names if n not in closed and not {*library().step(n).repaired_by} & closed]
        broken = printed.name in ("(5) to (24)", "(25) to (55)") or printed.name.endswith(
            ("as printed", "as printed, with an O(.)")
        )
        assert bool(open_) == broken, printed.name


_KINDS = tuple(kind.name for kind in ASSUMPTIONS.values() if not kind.quantity)


BOUNDS = [d for d in library().derivations if isinstance(d.origin, MadeBound)]

WITH_ROOM = {
    ("fast.eq13@main", "heterogeneity"), ("fast.eq17@main", "gradient"), ("fast.eq17@main", "noise"),
    ("fast.eq28@main", "noise"), ("fast.eq28@main", "heterogeneity"), ("fast.eq30@main", "heterogeneity"),
    ("fast.eq30@main", "noise"), ("fast.eq35@main", "noise"), ("fast.eq38@main", "noise"),
    ("fast.thm1@corrected", "noise"), ("fast.cor1@corrected", "noise"), ("fast.cor2@corrected", "noise"),
    ("fast.thm2@corrected", "arbitrary_rounds"), ("fast.thm2@corrected", "heterogeneity"),
    ("fast.thm2@corrected", "noise"), ("safari.eq50@main", "drift"),
    ("safari.thm5@corrected", "client_bias"), ("safari.thm5@corrected", "drift"),
}  # fmt: skip
"""Terms whose printed factors are larger than those that the kernel shows."""


@looped("derivation", BOUNDS, ids=lambda d: d.name, quick=12)
def test_a_bound_is_its_own_claim_and_none_that_is_smaller(derivation: Derivation) -> None:
    """The claim that a bound of the kernel is, with what it lacks, is its theorem; with a term that is a thousandth
    smaller (larger, where it is negative), or left out, it is not."""
    this, origin = claim(derivation.proves[0]), derivation.origin
    this = this.assuming(*({name.partition("(")[0] for name in origin.assumed()} & {*_KINDS} - this.assumed))

    def is_shown(one: Claim) -> bool:
        return origin.of_claim(one, derivation.algorithm, library().rounds) is not None

    def times(term: Term, share: sympy.Rational) -> Claim:
        scaled = (replace(t, expression=share * t.expression) if t is term else t for t in this.terms)
        return replace(this, terms=tuple(scaled))

    assert is_shown(this)
    for term in this.terms:
        if term.expression != 0:
            near = all(is_shown(times(term, Rational(n, 1000))) for n in (999, 1001))
            assert near is ((this.ref, term.name) in WITH_ROOM), term.name
            assert not all(is_shown(times(term, Rational(n))) for n in (0, 2)), term.name


def test_the_right_side_of_13_is_what_12_shows() -> None:
    """(12) as a Gram statement: fall + rest - K eta/4 |g|^2 >= 0; times 4/(K eta) that is the printed right side."""
    (check,) = library().step("a2.12").checks
    shown = check.statement.expression.expand()
    put_in = {"dot_V_V": "full_pseudogradient", "dot_W_W": "cohort_pseudogradient", "fall": "objective_decrease"}
    shown = shown.subs({sympy.Symbol(old): sympy.Symbol(new) for old, new in put_in.items()})
    K, eta = sympy.symbols("local_steps local_lr")
    gradient = sympy.Symbol("dot_g_g")
    assert sympy.expand(4 / (K * eta) * shown + gradient - bare(claim("fast.eq13").right_side)) == 0


def test_bare_symbols_are_the_vocabularys() -> None:
    assert bare(symbols("smoothness")[0]) == sympy.Symbol("smoothness")
