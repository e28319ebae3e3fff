"""What is true on quadratics only is flagged by its worst case, and refuted from there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import sympy

from fedtheory.claims.statement import Claim, Term
from fedtheory.evidence.refute import refute
from fedtheory.evidence.search import ROUNDING, search
from fedtheory.evidence.tightness_leads import leads, refuted_from_leads, starts
from fedtheory.papers import claim
from fedtheory.subjects import kinked_runs


def with_drift(factor: object) -> Claim:
    """The theorem on local SGD with its drift multiplied."""
    original = claim("khaled2020.thm1")
    scaled = (Term(t.name, t.expression * (factor if t.name == "drift" else 1)) for t in original.terms)
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
    assert leads(claim(ref)) == [] and refuted_from_leads(claim(ref)) is None


def test_a_search_that_finds_nothing_goes_on_from_leads(no_kinks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    short = partial(search, candidates=40, climbs=1, steps=2)
    monkeypatch.setattr("fedtheory.evidence.refute.search", short)
    assert refute(with_drift(0)).refutes
