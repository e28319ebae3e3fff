"""Nothing false comes out proved: planted false statements, forged certificates, and hypotheses that say less than
they seem to."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy
from sympy import Ge, Le, Rational

from fedtheory.assumptions import ASSUMPTIONS, COHORT_BEFORE_NOISE, INDEPENDENT_NOISE
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.papers import all_claims, claim
from fedtheory.papers.proofs import library, proof_of
from fedtheory.proof.chains import GOAL, tied
from fedtheory.proof.derivations import Derivation
from fedtheory.proof.domain import AUXILIARY, Domain, Follows, bare
from fedtheory.proof.gram import Gram, GramCertificate, GramCounterexample, dot, norm2, vectors
from fedtheory.proof.implies import ASSUMES
from fedtheory.proof.polynomial_data import Ratio
from fedtheory.proof.positivity import Counterexample, certify
from fedtheory.proof.steps import Step
from fedtheory.proof.symbol_regions import capped, equal, interval, nonnegative, positive, region
from fedtheory.proof.translate.claim_bounds import MadeBound
from fedtheory.quantities import symbols
from tests.loops import looped

s, t, X = sympy.symbols("s t X")
a, b = vectors("a b")
L, mu, sigma_G, q = sympy.symbols("smoothness strong_convexity dissimilarity snapshot_probability")


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


# Domains ------------------------------------------------------------------------------------------------------------


def test_a_factor_that_may_vanish_bounds_nothing() -> None:
    """sigma_G^2 (q - 1) + c >= 0 bounds q below only where sigma_G > 0, so it is not solved for q."""
    domain = Domain((("h", sigma_G**2 * (q - Rational(1, 2))),))
    assert Follows(q - Rational(1, 2), domain).decide().outcome != "proved"
    assert Follows(q - Rational(1, 2), Domain((("h", L * (q - Rational(1, 2))),))).decide().outcome == "proved"


def test_a_quantity_of_any_sign_is_not_taken_as_positive() -> None:
    decrease = sympy.Symbol("objective_decrease")
    domain = Domain((("h", (L + decrease) * (1 - mu)),))
    assert list(domain.regions(["strong_convexity"])) == list(Domain().regions(["strong_convexity"]))
    with pytest.raises(ValueError, match="objective_decrease"):
        Follows(decrease, Domain()).certified()


def test_a_name_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown quantity 'gain'"):
        Follows(sympy.Symbol("gain"), Domain()).certified()


def test_a_counterexample_has_to_obey_every_hypothesis() -> None:
    """1 - 2 q fails at q = 1, which q <= 1/2, not solved for q, forbids."""
    check = Follows(1 - 2 * q, Domain((("h", Rational(1, 4) - q**2),)))
    finding = check.decide()
    assert finding.outcome != "gap"
    outside = Follows(1 - 2 * q, Domain()).decide()
    assert outside.outcome == "gap" and not check.refuted(outside.evidence)


def test_a_certificate_on_a_region_of_ones_own_is_not_accepted() -> None:
    check = Follows(Rational(1, 2) - q, Domain())
    own = certify(check.expression, region(interval("snapshot_probability", 0, Rational(1, 2))))
    assert own.verify() and not check.accepts((own,))


def _forged(expression: sympy.Expr, **point: int) -> Counterexample:
    """A counterexample on a region of one's own that has no other point."""
    where = region(*(equal(name, sympy.Integer(x)) for name, x in point.items()))
    named = tuple((name, str(x)) for name, x in sorted(point.items()))
    values = {sympy.Symbol(name): x for name, x in point.items()}
    return Counterexample(Ratio.of(expression), where, (), named, str(expression.subs(values)))


@pytest.mark.parametrize("name", AUXILIARY)
def test_an_auxiliary_quantity_of_a_counterexample_has_the_sign_of_its_definition(name: str) -> None:
    """Each stands for a number >= 0: a logarithm, a root, a power, what a step size is short of its cap."""
    check, forged = Follows(sympy.Symbol(name), Domain()), _forged(sympy.Symbol(name), **{name: -1})
    assert forged.verify() and not check.refuted((forged,))
    below = Follows(1 - sympy.Symbol(name), Domain())
    assert below.refuted((_forged(below.expression, **{name: 2}),))  # the test can fail


def test_a_counterexample_knows_no_other_names() -> None:
    gain = sympy.Symbol("gain")
    assert not Follows(gain, Domain()).refuted((_forged(gain, gain=-1),))


def test_what_is_written_through_others_has_that_value_in_a_counterexample() -> None:
    """The rounds are 1/eta here: neither another number, nor half a round."""
    rounds, eta = sympy.symbols("rounds local_lr")
    domain = Domain((), (("rounds", 1 / eta),))
    assert not Follows(rounds - 1 - eta, domain).refuted((_forged(rounds - 1 - eta, rounds=2, local_lr=2),))
    assert not Follows(1 - eta, domain).refuted((_forged(1 - eta, local_lr=2),))
    assert Follows(rounds - 2, domain).refuted((_forged(rounds - 2, rounds=1, local_lr=1),))


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


def test_every_derivation_stands_on_closed_steps() -> None:
    """What a derivation of a proved claim shows rests on steps that are closed, or broken and repaired by such."""
    for derivation in library().derivations:
        names = library().needed(derivation.steps)
        closed = {n for n in names if library().decided(n).closed}
        open_ = [n for n in names if n not in closed and not {*library().step(n).repaired_by} & closed]
        printed = derivation.name in ("(5) to (24)", "(25) to (55)") or derivation.name.endswith(
            ("as printed", "as printed, with an O(.)")
        )
        assert bool(open_) == printed, derivation.name


_KINDS = tuple(kind.name for kind in ASSUMPTIONS.values() if not kind.quantity)


def _implied(weaker: Derivation, stronger: Derivation) -> tuple[Step, ...]:
    """The last link, from ``stronger`` to a claim made of ``weaker``."""
    base = next(
        c for c in all_claims() if weaker.bounds(c.functional) and (c.ref in weaker.proves or not weaker.proves)
    )
    stated = replace(base.terms[0], expression=_of_the_vocabulary(weaker.right_side))
    conditions = ((name, Ge(_of_the_vocabulary(slack), 0)) for name, slack in weaker.needs)
    needs = tuple(Hypothesis(name, each, "") for name, each in conditions if each != sympy.true)
    made = replace(base, terms=(stated,), hypotheses=needs, choices={}, bound={}, rates=())
    return tied(made.assuming(*_KINDS), stronger, library())


def _of_the_vocabulary(expression: sympy.Expr) -> sympy.Expr:
    return expression.xreplace({s: symbols(s.name)[0] for s in expression.free_symbols})


def _compared_by_term(derivation: Derivation) -> bool:
    """Whether its right side is compared term by term: one with exponents that are quantities is so as a whole."""
    right = derivation.right_side
    return right is not None and right != 0 and not any(p.exp.free_symbols for p in right.atoms(sympy.Pow))


BOUNDS = [d for d in library().derivations if isinstance(d.origin, MadeBound)]
"""Derivations without a right side: the claim is the kernel's bound, or is not."""


BOUNDED = [d for d in library().derivations if not isinstance(d.origin, MadeBound)]
"""The others; only a test asks for their right sides, which are computed from theorems."""


@looped("derivation", BOUNDED, ids=lambda d: d.name, quick=12)
def test_a_derivation_shows_its_own_statement_and_nothing_smaller(derivation: Derivation) -> None:
    """The derived right side follows from itself, and one that is 1% below it (above, where it is negative), term by
    term, does not."""
    if not _compared_by_term(derivation):
        pytest.skip("compared as a whole")
    own = [s for s in _implied(derivation, derivation) if s.name.startswith(("claim.term", GOAL))]
    assert own and all(check.certified().outcome == "proved" for s in own for check in s.checks)
    lost = []
    for share in (Rational(99, 100), Rational(101, 100)):
        made = _implied(replace(derivation, right_side=derivation.right_side * share), derivation)
        assert {s.name for s in made if s.kind == "unclear" and s.name.removeprefix(ASSUMES) in _KINDS} == set()
        steps = [s for s in made if s.name.startswith(("claim.term", GOAL))]
        assert steps
        lost.append(any(check.certified().outcome != "proved" for s in steps for check in s.checks))
    assert any(lost)


WITH_ROOM = {
    ("fast.eq17@main", "gradient"), ("fast.eq17@main", "noise"),
    ("fast.eq28@main", "noise"), ("fast.eq28@main", "heterogeneity"), ("fast.thm1@corrected", "noise"),
    ("fast.cor1@corrected", "noise"), ("fast.cor2@corrected", "noise"), ("fast.thm2@corrected", "arbitrary_rounds"),
    ("fast.thm2@corrected", "heterogeneity"), ("fast.thm2@corrected", "noise"),
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
    """(12) as a Gram statement: fall + rest - K eta/4 |g|^2 >= 0; times 4/(K eta) that is the derived right side."""
    (check,) = library().step("a2.12").checks
    shown = check.statement.expression.expand()
    put_in = {"dot_V_V": "full_pseudogradient", "dot_W_W": "cohort_pseudogradient", "fall": "objective_decrease"}
    shown = shown.subs({sympy.Symbol(old): sympy.Symbol(new) for old, new in put_in.items()})
    K, eta = sympy.symbols("local_steps local_lr")
    gradient = sympy.Symbol("dot_g_g")
    (derivation,) = [d for d in library().derivations if d.name == "(5) to (13)"]
    assert sympy.expand(4 / (K * eta) * shown + gradient - derivation.right_side) == 0


def test_bare_symbols_are_the_vocabularys() -> None:
    assert bare(symbols("smoothness")[0]) == L
