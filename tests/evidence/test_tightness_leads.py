"""What is true on quadratics only is flagged by its worst case, and refuted from there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import sympy

from fedtheory.claims.statement import Claim, Term, least
from fedtheory.evidence.refute import refute
from fedtheory.evidence.search import ROUNDING, search
from fedtheory.evidence.tightness_leads import leads, refuted_from_leads, starts
from fedtheory.papers import claim
from fedtheory.quantities import symbols
from fedtheory.subjects import kinked_runs


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
    monkeypatch.setattr(kinked_runs, "SHARE", 0.0)
    monkeypatch.setattr(kinked_runs, "noisy", lambda wanted: iter(()))


@pytest.mark.parametrize("factor", [0, sympy.Rational(1, 48)])
def test_what_holds_on_quadratics_only(factor: object, no_kinks: None) -> None:
    statement = with_drift(factor)
    assert search(statement, candidates=60, climbs=1, steps=5).best.ratio <= 1 + ROUNDING
    found = leads(statement)
    assert found and found[0].exceeded and not found[0].refuted  # by quadratics
    assert found[0].looseness == min(each.looseness for each in found) < 1
    judgement = refuted_from_leads(statement)
    assert judgement is not None and judgement.refutes
    assert judgement.to_json()["federation"]["kind"] == "piecewise"


def test_starts_are_at_the_lead() -> None:
    statement = with_drift(0)
    lead = leads(statement)[0]
    for start in starts(statement, lead):
        assert (start.clients, start.local_steps) == (lead.values["clients"], lead.values["local_steps"])
        assert (start.left, start.right, start.share) == (0.1, 1.0, 1.0)


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
