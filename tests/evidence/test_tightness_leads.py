"""What is true on quadratics only is flagged by its worst case, and refuted from there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
import sympy

from fedtheory.claims.statement import Claim, Term, least
from fedtheory.evidence.refute import refute
from fedtheory.evidence.search import ROUNDING, search
from fedtheory.evidence.worst_case_leads import leads, of_quadratics, refuted_from_leads, starts
from fedtheory.papers import claim
from fedtheory.papers.registry import subject_of
from fedtheory.quantities import symbols
from fedtheory.subjects import kinked_search
from fedtheory.tightness.measure import constant_alone


def with_drift(factor: object) -> Claim:
    """The theorem on local SGD with its drift multiplied."""
    return with_term("khaled2020.thm1", "drift", factor)


def with_term(ref: str, name: str, factor: object) -> Claim:
    """The claim with one of its terms multiplied."""
    original = claim(ref)
    scaled = (Term(t.name, t.expression * (factor if t.name == name else 1)) for t in original.terms)
    return replace(original, edition="broken", terms=tuple(t for t in scaled if t.expression != 0))


@pytest.fixture
def no_kinks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search draws quadratics alone."""
    monkeypatch.setattr(kinked_search, "SHARE", 0.0)
    monkeypatch.setattr(kinked_search, "noisy", lambda wanted: iter(()))


FEWER_STEPS = 1 / (symbols("local_steps")[0] - 1)
"""The drift without its factor H - 1."""


@pytest.mark.parametrize("factor", [0, sympy.Rational(1, 48), FEWER_STEPS])
def test_what_holds_on_quadratics_only(factor: object, no_kinks: None) -> None:
    statement = with_drift(factor)
    assert search(statement, candidates=60, climbs=1, steps=5).best.ratio <= 1 + ROUNDING
    found = leads(statement)
    assert found and found[0].exceeded and of_quadratics(statement, found[0]) is None
    assert found[0].looseness == min(each.looseness for each in found) < 1
    judgement = refuted_from_leads(statement)
    assert judgement is not None and judgement.refutes
    assert judgement.to_json()["federation"]["kind"] == "piecewise"


def test_starts_are_at_the_lead() -> None:
    statement = with_drift(0)
    lead = leads(statement)[0]
    found = list(starts(statement, lead))
    there, longer = found[:3], found[3:]
    for start in there:
        assert (start.clients, start.local_steps) == (lead.values["clients"], lead.values["local_steps"]) == (1000, 12)
        assert (start.left, start.right, start.share) == (0.01, 1.0, 1.0)
    assert {(start.clients, start.local_steps) for start in longer} == {(10**4, 96)}
    assert {start.left for start in longer} == {0.01, 0.1}


def test_drift_without_its_number_of_steps() -> None:
    """The worst case at 12 local steps and mu = L/100 is above it, at L/10 below; kinks need 72 local steps."""
    statement = with_drift(FEWER_STEPS)
    (lead,) = leads(statement)
    assert (lead.values["local_steps"], lead.values["strong_convexity"]) == (12, Fraction(1, 100))
    assert 0.85 < lead.looseness < 0.95
    steeper = {"clients": 1000, "local_steps": 12, "local_lr": lead.values["local_lr"]}
    assert constant_alone(statement, arbitrary_cohort=1000, **steeper).looseness > 1.3
    space = subject_of(statement).space(statement)
    long = list(starts(statement, lead))[-3]
    for steps, falls in ((70, False), (75, True)):
        share = 4 * 1.2 / steps  # of the cap 1/(4 L)
        ratios = [each.ratio for each in space.assess(replace(long, local_steps=steps, step_share=share)) if each]
        assert (max(ratios) > 1) == falls


@pytest.mark.parametrize(
    "ref", ["khaled2020.thm1", "fast.thm2@sharp", "safari.thm5@sharper", "li2020.thm1", "fast.thm1"]
)
def test_what_is_true_has_no_lead(ref: str) -> None:
    assert leads(claim(ref)) == []


@pytest.mark.parametrize(("name", "most"), [("local_steps", 10), ("clients", 5)])
def test_what_holds_up_to_a_limit_is_refuted_from_a_worst_case(name: str, most: int) -> None:
    """A term that falls with the cube of what is beyond ``most``."""
    (symbol,) = symbols(name)
    factor = least(sympy.Integer(1), (sympy.Integer(most) / symbol) ** 3)
    judgement = refuted_from_leads(with_term("fast.thm2@sharp", "arbitrary_rounds", factor))
    assert judgement is not None and judgement.refutes
    assert judgement.to_json()["federation"]["kind"] == "quadratic"


def test_why_some_are_not_refuted_from_a_worst_case() -> None:
    """One falls after more rounds than a comparison follows; the other is of functions that need not be convex."""
    many = least(sympy.Integer(1), (sympy.Integer(10**8) / symbols("rounds")[0]) ** 3)
    assert all(entry.looseness >= 1 for entry in leads(with_term("fast.thm2@sharp", "arbitrary_rounds", many)))
    assert leads(with_term("fast.thm1@sharp", "heterogeneity", 0)) == []


def test_a_search_that_finds_nothing_goes_on_from_leads(no_kinks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    short = partial(search, candidates=40, climbs=1, steps=2)
    monkeypatch.setattr("fedtheory.evidence.refute.search", short)
    assert refute(with_drift(0)).refutes
