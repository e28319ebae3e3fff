"""FAST's proof steps come out as derived by hand, and tight constants are tight."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from fedtheory.claims.statement import slack_of
from fedtheory.papers import claim
from fedtheory.papers.fast import display_steps
from fedtheory.papers.fast.displays import coefficients_a2, coefficients_a3
from fedtheory.papers.fast.displays.coefficients_a2 import squared_cap, squared_z
from fedtheory.papers.fast.displays.coefficients_a3 import CONTRACTION, all_hypotheses_hold
from fedtheory.papers.fast.displays.symbols import K, L, eta, m, mu, q
from fedtheory.papers.proofs import library
from fedtheory.proof.positivity import Certificate, Counterexample, prove
from fedtheory.proof.steps import Identity, Nonnegative, Step, decide, decide_all, evidence_data, evidence_from
from fedtheory.quantities import QUANTITIES
from tests.loops import looped

NAMES = [s.name for s in display_steps.STEPS]


def test_names_are_unique_and_known() -> None:
    assert len(set(NAMES)) == len(NAMES)
    with pytest.raises(ValueError, match="unknown step"):
        library().step("a9.1")


def test_what_a_step_rests_on_comes_before_it() -> None:
    order = library().needed(NAMES)
    assert sorted(order) == sorted(NAMES)
    for name in NAMES:
        this = library().step(name)
        assert all(order.index(other) < order.index(name) for other in (*this.rests_on, *this.repaired_by))
        assert not this.repaired_by or this.expected == "gap"


@looped("name", NAMES)
def test_the_outcome_is_the_one_derived_by_hand(name: str) -> None:
    this, decision = library().step(name), library().decided(name)
    assert decision.outcome == this.expected
    assert len(decision.findings) == len(this.checks)
    for evidence in decision.evidence:
        assert evidence_from(evidence_data(evidence)) == evidence
    for check, finding in zip(this.checks, decision.findings, strict=True):
        assert {"proved": check.accepts, "gap": check.refuted}[finding.outcome](finding.evidence)


def test_what_is_proved_is_not_what_is_refuted() -> None:
    """No evidence of a proved check shows a gap, and no counterexample is accepted as a proof."""
    for name in NAMES:
        for check, finding in zip(library().step(name).checks, library().decided(name).findings, strict=True):
            if isinstance(check, Nonnegative):
                assert not {"proved": check.refuted, "gap": check.accepts}[finding.outcome](finding.evidence)


def point_of(name: str) -> dict[sympy.Symbol, sympy.Rational]:
    (evidence,) = library().decided(name).evidence
    return {sympy.Symbol(n): sympy.Rational(v) for n, v in evidence.point if n in QUANTITIES}


def bare(expression: sympy.Expr) -> sympy.Expr:
    return expression.xreplace({s: sympy.Symbol(s.name) for s in expression.free_symbols})


@pytest.mark.parametrize(
    "name",
    ["a2.22_under_both_caps_m=n=1", "a2.22_under_both_caps_m=n=2", "a2.24_noise_term_dropped"],
)
def test_the_gaps_of_theorem_1_obey_its_printed_cap(name: str) -> None:
    assert bare(slack_of(claim("fast.thm1@main").hypothesis("step_cap").relation)).subs(point_of(name)).doit() >= 0


def test_the_gap_of_the_appendix_obeys_its_printed_hypotheses() -> None:
    point = {m: sympy.Integer(1), sympy.Symbol("arbitrary_cohort"): sympy.Integer(1)}
    point |= point_of("a3.39_contraction_appendix_condition_main_epsilon")
    for hypothesis in claim("fast.thm2@appendix").hypotheses:
        assert bare(hypothesis.slack).subs(point).doit() >= 0
    assert 0 <= point[q] <= 1 and point[mu] <= point[L]


@pytest.mark.parametrize("edition", ["main", "appendix"])
def test_the_q_condition_is_the_printed_one(edition: str) -> None:
    """With equality in the printed condition, the contraction step holds with equality, and 1% off it fails."""
    printed = bare(claim(f"fast.thm2@{edition}").hypothesis("q_condition").slack)
    solved = sympy.solve(printed, q)[0]
    assert sympy.simplify(CONTRACTION[edition].subs(q, solved)) == 0
    where = all_hypotheses_hold(edition)
    assert isinstance(prove(CONTRACTION[edition], where), Certificate)
    assert isinstance(prove(CONTRACTION[edition] - mu * K * eta / 200, where), Counterexample)


@pytest.mark.parametrize(("name", "constant"), [("a2.11_under_its_own_cap", 15), ("a2.22_under_its_own_cap", 30)])
def test_the_irrational_caps_are_tight(name: str, constant: int) -> None:
    looser = squared_cap(sympy.Rational(101, 100) / (4 * constant))
    assert isinstance(prove(library().step(name).checks[0].expression, looser), Counterexample)


@pytest.mark.parametrize(
    ("name", "square", "linear", "constant"),
    [  # the roots of square c^2 + linear c = constant
        ("a2.11", 60, 0, 1),
        ("a2.22", 120, 0, 1),
        ("a3.30_distance", 60, 60, 4),
        ("a3.30_dissimilarity", 60, 60, 4),
        ("a3.30_noise", 10, 10, 1),
        ("a3.38_noise", 10, 10, 1),
    ],
)
def test_the_weakest_caps(name: str, square: int, linear: int, constant: int) -> None:
    proved, refuted = (coefficients_a2.CAPS | coefficients_a3.CAPS)[name].weakest(Fraction(1, 200))
    assert square * proved**2 + linear * proved <= constant < square * refuted**2 + linear * refuted
    assert refuted - proved <= Fraction(1, 200)


def test_an_undecided_step_is_unknown() -> None:
    """(x - 1)^2 >= 0 has neither a certificate of this form nor a counterexample."""
    where, below = squared_cap(sympy.Integer(2)), squared_cap(sympy.Rational(1, 2))
    for cases in ((where,), (below, where), ()):
        this = Step("square", "", "", "polynomial", (Nonnegative((squared_z - 1) ** 2, cases),))
        assert decide(this).outcome == "unknown"


def test_what_rests_on_an_open_step_is_open() -> None:
    x = sympy.Symbol("x")
    broken = Step("broken", "", "", "identity", (Identity(x, 2 * x),))
    after = Step("after", "", "", "identity", (Identity(x, x),), rests_on=("broken",))
    sound = Step("sound", "", "", "identity", (Identity(x, x),), printed=False)
    outcomes = [d.outcome for d in decide_all((broken, after))]
    assert outcomes == ["gap", "unknown"]
    repaired = replace(broken, repaired_by=("sound",))
    assert [d.outcome for d in decide_all((sound, repaired, after))] == ["proved", "gap", "proved"]
    # a repair that comes later, or is broken itself, repairs nothing
    assert [d.outcome for d in decide_all((repaired, after, sound))] == ["gap", "unknown", "proved"]
    false = replace(sound, checks=(Identity(x, 3 * x),))
    assert [d.outcome for d in decide_all((false, repaired, after))] == ["gap", "gap", "unknown"]
    with pytest.raises(ValueError, match="twice"):
        decide_all((sound, sound))


def test_a_step_of_a_wrong_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind = 'obvious'"):
        Step("x", "", "", "obvious")
    with pytest.raises(ValueError, match="has none"):
        Step("x", "", "", "definition", (Identity(squared_z, squared_z),))
