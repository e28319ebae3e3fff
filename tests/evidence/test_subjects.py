"""A subject of one's own is searched, judged, shrunk and replayed like the built-in ones; what is none is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sympy import Le

from fedtheory import subjects
from fedtheory.claims.statement import Claim, Hypothesis, Term
from fedtheory.evidence.judge import judge, parse
from fedtheory.evidence.refute import refute, shrunk
from fedtheory.evidence.replay import replay
from fedtheory.functionals import Functional
from fedtheory.papers import all_claims
from fedtheory.papers.registry import from_setting, subject_of
from fedtheory.quantities import DIMENSIONLESS, symbol
from fedtheory.subjects.file_entries import rational_entry
from fedtheory.subjects.lead import Found
from fedtheory.subjects.protocol import Instance, Point, Sides, Space
from fedtheory.subjects.values import SameSides, found_at

SQUARE = Functional("square_of_q", "q^2", DIMENSIONLESS, "q^2", scope="number")
q = symbol("snapshot_probability")


def claim_of(factor: Fraction) -> Claim:
    """q^2 <= factor * q for q <= 1/2."""
    half = Hypothesis("half", Le(q, Fraction(1, 2)), "here")
    return Claim(
        id="own.thm1", title="squares", source="here", functional=SQUARE, terms=(Term("all", factor * q),),
        hypotheses=(half,),
    )  # fmt: skip


@dataclass(frozen=True)
class Number(Point):
    value: Fraction

    def check(self, claim: Claim) -> None:
        if not 0 <= self.value <= 1:
            raise ValueError(f"value = {self.value}: allowed is a number in [0, 1]")

    def examined(self, claim: Claim, follow: bool = True) -> SameSides:
        return SameSides(Sides(self.value**2, {"snapshot_probability": self.value}))

    def to_json(self) -> dict[str, Any]:
        return {"value": str(self.value)}

    def shorter(self) -> Iterator[Number]:
        return (Number(Fraction(round(self.value * d), d)) for d in (2, 10) if d < self.value.denominator)


class Numbers(Space):
    def __init__(self, claim: Claim) -> None:
        self.claim = claim

    def draw(self, rng: np.random.Generator) -> float:
        return float(rng.uniform(0, 1))

    def perturb(self, candidate: float, rng: np.random.Generator, size: float) -> float:
        return min(1.0, candidate * float(np.exp(size * rng.standard_normal())))

    def assess(self, candidate: float) -> tuple[Found, None] | None:
        return found_at(self.claim, candidate, candidate, {"snapshot_probability": candidate}, candidate**2)

    def rounded(self, found: Found, digits: int) -> Iterator[Number]:
        yield Number(Fraction(round(found.point * 10**digits), 10**digits))


class OfNumbers:
    name = "number"

    def space(self, claim: Claim) -> Numbers:
        return Numbers(claim)

    def parse(self, data: Mapping[str, Any], claim: Claim) -> Number:
        return Number(rational_entry(data, "value"))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "_SUBJECTS", dict(subjects._SUBJECTS))
    subjects.register(OfNumbers())


def test_a_subject_of_ones_own(registered: None) -> None:
    falls, stands = claim_of(Fraction(1, 5)), claim_of(Fraction(1, 2))
    judgement = refute(falls)
    assert judgement.refutes and judgement.instance.point.value <= Fraction(1, 2)
    assert replay(json.loads(json.dumps(judgement.to_json())), falls).instance == judgement.instance
    report = refute(stands)
    assert report.best.ratio <= 1 and report.lead is None
    with pytest.raises(ValueError, match="value = 2: allowed"):
        parse({"claim": falls.ref, "value": "2"}, falls)


def test_shrinking_keeps_what_exceeds_clearly(registered: None) -> None:
    falls = claim_of(Fraction(1, 9))
    long = judge(Instance(falls.ref, Number(Fraction(123, 300))), statement=falls)
    assert shrunk(long).instance.point.value in (Fraction(1, 2), Fraction(2, 5))


def test_what_is_no_subject_is_refused(registered: None) -> None:
    with pytest.raises(ValueError, match="subject number: there is one of that name"):
        subjects.register(OfNumbers())
    for missing in ("name", "space", "parse"):
        own = type("Own", (), {part: (lambda: None) for part in ("name", "space", "parse") if part != missing})
        with pytest.raises(ValueError, match=f"{missing} is missing, a subject needs name, space, parse"):
            subjects.register(own())
    with pytest.raises(ValueError, match="space is missing"):
        subjects.register(type("Own", (), {"name": "own", "space": 3, "parse": lambda: None})())


def test_a_space_of_ones_own_has_no_family_unless_it_says_so() -> None:
    space, point, rng = Numbers(claim_of(Fraction(1, 2))), Number(Fraction(1, 3)), np.random.default_rng(0)
    assert space.family_member(rng) is None and space.neighbour(point, rng) is point


def test_a_claim_about_nothing_known() -> None:
    with pytest.raises(ValueError, match=r"own\.thm1@main bounds square_of_q of a number: known subjects are values"):
        subject_of(claim_of(Fraction(1)))


def test_every_claim_has_a_subject_with_a_space() -> None:
    for claim in all_claims():
        space = subject_of(claim).space(claim)
        assert Space in type(space).__mro__ and not (space.repairable and claim.choices)


def test_no_setting_makes_a_point_of_values() -> None:
    values = next(claim for claim in all_claims() if claim.functional.scope == "values")
    with pytest.raises(ValueError, match="is about values: no setting makes an exact point of it"):
        from_setting(values, None, 1)
