"""Comparing claims."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from fedtheory.claims.comparison import compare
from fedtheory.claims.evaluation import fold
from fedtheory.claims.statement import Assumption, Term
from fedtheory.papers import claim, editions
from fedtheory.quantities import symbol

F = Fraction
INF = math.inf
eta, q, m, R = (symbol(name) for name in ("local_lr", "snapshot_probability", "cohort", "rounds"))
THM1, THM2 = claim("fast.thm1"), claim("fast.thm2")
PEAKS = ("peak_full_pseudogradient", "peak_arbitrary_pseudogradient", "peak_cohort_pseudogradient")


def to_fraction(number: sympy.Rational) -> Fraction:
    return F(int(number.p), int(number.q))


def holds(slack: sympy.Expr, values: dict[str, Fraction]) -> bool:
    """In rational arithmetic, with the package's rule that a division by zero fails."""
    try:
        return fold(slack, values, to_fraction) >= 0
    except ZeroDivisionError:
        return False


def test_editions_compared() -> None:
    main, appendix, *_ = editions("fast.thm2")
    found = {d.name: d for d in compare(main, appendix)}
    assert [(d.kind, d.name) for d in found.values()] == [("term", "arbitrary_rounds"), ("hypothesis", "q_condition")]
    assert "dissimilarity**2" in found["arbitrary_rounds"].after
    assert "dissimilarity" not in found["arbitrary_rounds"].before
    assert "dissimilarity" in found["q_condition"].before and "dissimilarity" not in found["q_condition"].after
    assert str(found["q_condition"]).startswith("hypothesis q_condition: snapshot_probability >= ")
    assert [(d.before, d.after) for d in compare(appendix, main)] == [(d.after, d.before) for d in found.values()]
    assert compare(*editions("fast.thm1")[:2]) == []


def test_the_same_mathematics_written_otherwise() -> None:
    step_cap, q_condition = THM1.hypotheses
    flipped = replace(q_condition, relation=sympy.Le(q_condition.relation.rhs, q))
    terms = tuple(Term(t.name, sympy.expand(t.expression)) for t in reversed(THM1.terms))
    assert terms != THM1.terms[::-1]
    assert compare(THM1, replace(THM1, terms=terms, hypotheses=(flipped, step_cap), source="elsewhere")) == []
    reversed_direction = replace(q_condition, relation=sympy.Le(q, q_condition.relation.rhs))
    changed = replace(THM1, hypotheses=(step_cap, reversed_direction))
    assert [d.name for d in compare(THM1, changed)] == ["q_condition"]


def test_minima_that_differ_where_numbers_are_of_other_sizes_are_told_apart_without_simplifying(monkeypatch) -> None:
    """1/(20 m) is the least of both where the cohort is not 1 and R not far above it."""
    small, large = sympy.Min(1 / (20 * m), 1 / R), sympy.Min(1 / (20 * m), 1 / (2 * R))
    same = sympy.Min(1 / (20 * m), sympy.expand((1 + q) ** 2) / (R * (1 + q) ** 2))
    first, *others = THM1.terms
    one, other, written = (replace(THM1, terms=(replace(first, expression=e), *others)) for e in (small, large, same))
    assert compare(one, written) == []
    monkeypatch.setattr(sympy, "simplify", lambda *_: pytest.fail("nothing is left to simplify"))
    assert [d.name for d in compare(one, other)] == [first.name]


def test_every_kind_of_difference() -> None:
    q_condition = THM1.hypothesis("q_condition")
    reading = replace(q_condition, alternatives={"product": q_condition.relation})
    changed = replace(
        THM1, functional=THM2.functional, terms=(*THM1.terms[:2], Term("new", q)), hypotheses=(reading,),
        assumptions=(*THM1.assumptions[:2], Assumption("assumption_3", "dissimilarity", "", from_below=True)),
    )  # fmt: skip
    found = [(d.kind, d.name, d.before == "absent", d.after == "absent") for d in compare(THM1, changed)]
    assert found == [
        ("functional", "functional", False, False),
        ("term", "heterogeneity", False, True),
        ("term", "new", True, False),
        ("hypothesis", "step_cap", False, True),
        ("hypothesis", "q_condition (product)", False, False),
        ("assumption", "assumption_3", False, False),
        ("assumption", "assumption_2_mean", False, True),
        ("assumption", "uniform_cohorts", False, True),
    ]


def test_choices_and_printed_rates_count() -> None:
    main, appendix, *_ = editions("fast.cor1")
    found = compare(main, appendix)
    assert [(d.kind, d.name, d.before == "absent") for d in found] == [
        ("rate", "second", False),
        ("rate", "noise", True),
    ]
    assert "dissimilarity" not in found[0].before and "dissimilarity**2" in found[0].after
    halved = replace(main, choices={"local_lr": main.choices["local_lr"] / 2})
    assert [(d.kind, d.name) for d in compare(main, halved)] == [("choice", "local_lr")]
    assert compare(main, replace(main, choices={"local_lr": sympy.expand(main.choices["local_lr"])})) == []
