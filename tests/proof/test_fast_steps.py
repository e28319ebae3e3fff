"""FAST's proof steps come out as derived by hand, and tight constants are tight."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
import sympy

from fedtheory.claims import claim
from fedtheory.claims.statement import slack_of
from fedtheory.proof import fast_steps
from fedtheory.proof.fast_steps import CAPS, CONTRACTION, STEPS, cap_of, step
from fedtheory.proof.positivity import Certificate, Counterexample, prove
from fedtheory.proof.steps import Decision, Step, decide
from fedtheory.quantities import QUANTITIES

NAMES = [s.name for s in STEPS]


@cache
def decided(name: str) -> Decision:
    return decide(step(name))


def test_names_are_unique_and_known() -> None:
    assert len(set(NAMES)) == len(NAMES)
    with pytest.raises(ValueError, match="unknown step"):
        step("a9.1")


@pytest.mark.parametrize("name", NAMES)
def test_the_outcome_is_the_one_derived_by_hand(name: str) -> None:
    this, decision = step(name), decided(name)
    assert decision.outcome == this.expected
    for evidence in decision.evidence:
        assert type(evidence).from_json(evidence.to_json()) == evidence
    if this.identity or this.expression is None:
        assert decision.evidence == ()
    elif decision.outcome == "proved":
        for evidence, where in zip(decision.evidence, this.regions, strict=True):
            assert evidence.proves(this.expression, where)
    else:
        (evidence,) = decision.evidence
        assert any(evidence.refutes(this.expression, where) for where in this.regions)


def point_of(name: str) -> dict[sympy.Symbol, sympy.Rational]:
    (evidence,) = decided(name).evidence
    return {fast_steps.symbols(n)[0]: sympy.Rational(v) for n, v in evidence.point if n in QUANTITIES}


@pytest.mark.parametrize(
    "name",
    ["a2.22_under_both_caps_m=n=1", "a2.22_under_both_caps_m=n=2", "a2.24_noise_term_dropped", "a2.24_noise_with_7.92"],
)
def test_the_gaps_of_theorem_1_obey_its_printed_cap(name: str) -> None:
    cap = claim("fast.thm1@main").hypothesis("step_cap").relation.subs(point_of(name))
    assert cap.doit() == sympy.true


def test_the_gap_of_the_appendix_obeys_its_printed_hypotheses() -> None:
    point = point_of("a3.39_contraction_appendix_condition_main_epsilon")
    ones = dict.fromkeys(fast_steps.symbols("cohort", "arbitrary_cohort"), sympy.Integer(1))
    for hypothesis in claim("fast.thm2@appendix").hypotheses:
        assert hypothesis.relation.subs(point | ones).doit() == sympy.true
    assert 0 <= point[fast_steps.q] <= 1 and point[fast_steps.mu] <= point[fast_steps.L]


@pytest.mark.parametrize("edition", ["main", "appendix"])
def test_the_q_condition_is_the_printed_one(edition: str) -> None:
    """With equality in the printed condition, the contraction step holds with equality, and 1% off it fails."""
    printed = claim(f"fast.thm2@{edition}").hypothesis("q_condition")
    solved = sympy.solve(slack_of(printed.relation), fast_steps.q)[0]
    assert sympy.simplify(CONTRACTION[edition].subs(fast_steps.q, solved)) == 0
    where = fast_steps.all_hypotheses_hold(edition)
    assert isinstance(prove(CONTRACTION[edition], where), Certificate)
    assert isinstance(prove(spoiled(CONTRACTION[edition]), where), Counterexample)


def spoiled(contraction: sympy.Expr) -> sympy.Expr:
    """1% less room: 0.99 mu K eta / 2 in place of mu K eta / 2."""
    return contraction - fast_steps.mu * fast_steps.K * fast_steps.eta / 200


TIGHT = {
    "a2.11_under_its_own_cap": Fraction(15),
    "a2.22_under_its_own_cap": Fraction(30),
}


@pytest.mark.parametrize("name", TIGHT)
def test_the_irrational_caps_are_tight(name: str) -> None:
    looser = fast_steps.squared_cap(sympy.Rational(101, 100) / (4 * TIGHT[name].numerator))
    assert isinstance(prove(step(name).expression, looser), Counterexample)


def loosened(name: str, less: sympy.Expr) -> Step:
    return replace(step(name), expression=step(name).expression - less)


@pytest.mark.parametrize(
    ("name", "less"),
    [
        ("a2.22_with_1/32", sympy.Rational(1, 3200)),
        ("a2.24_noise_with_8", fast_steps.h * fast_steps.L * fast_steps.eta * sympy.Rational(8, 100)),
        ("a2.24_noise_with_8-2q", (8 - 2 * fast_steps.q) * fast_steps.h * fast_steps.L * fast_steps.eta / 100),
        ("a3.25_forces_q", sympy.Rational(1, 25600)),
        ("a3.30_noise_with_1/11", fast_steps.K * fast_steps.eta**2 / fast_steps.m / 100),
        ("a3.30_distance_with_1/16", fast_steps.z**2 / 25),
    ],
)
def test_a_slightly_stronger_statement_is_refuted(name: str, less: sympy.Expr) -> None:
    assert decided(name).outcome == "proved"
    assert decide(loosened(name, less)).outcome == "gap"


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
    assert name in CAPS
    proved, refuted = cap_of(name, Fraction(1, 200))
    assert square * proved**2 + linear * proved <= constant < square * refuted**2 + linear * refuted
    assert refuted - proved <= Fraction(1, 200)


def test_an_undecided_step_is_unknown() -> None:
    """(x - 1)^2 >= 0 has neither a certificate of this form nor a counterexample."""
    x = fast_steps.squared_z
    where = fast_steps.squared_cap(sympy.Integer(2))
    assert decide(Step("square", "", "", "", "", (x - 1) ** 2, (where,))).outcome == "unknown"
    below = fast_steps.squared_cap(sympy.Rational(1, 2))
    assert decide(Step("half proved", "", "", "", "", (x - 1) ** 2, (below, where))).outcome == "unknown"
    assert decide(Step("nowhere", "", "", "", "", x)).outcome == "unknown"
