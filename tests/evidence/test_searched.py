"""A search says in words what it draws and what it leaves out, from the numbers that it draws from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sympy import Rational

from fedtheory.claims.statement import Assumption, Claim, Term
from fedtheory.evidence.search import ROUNDING, search
from fedtheory.functionals import SQUARED_GRADIENT
from fedtheory.papers import all_claims, claim
from fedtheory.papers.khaled2020 import subjects as khaled
from fedtheory.papers.registry import algorithm_of, searched, subject_of
from fedtheory.quantities import symbols
from fedtheory.subjects import quadratic_candidates
from tests.loops import looped


@looped("statement", all_claims(), ids=lambda statement: statement.ref)
def test_every_search_says_what_it_draws_and_what_not(statement) -> None:
    drawn, left_out = searched(statement)
    assert len(drawn) > 20 and len(left_out) > 10
    if statement.functional.scope in ("run", "round"):
        assert drawn.startswith(f"{statement.functional.scope}s of {algorithm_of(statement)}")


def test_what_a_search_says_is_what_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words follow the numbers that candidates are drawn from."""
    monkeypatch.setattr(quadratic_candidates, "MOST_CLIENTS", 3)
    monkeypatch.setattr(quadratic_candidates, "MOST_LOCAL_STEPS", 7)
    monkeypatch.setattr(quadratic_candidates, "DIMENSIONS", (2,))
    space = subject_of(claim("fast.thm2")).space(claim("fast.thm2"))
    assert "at most 3 clients, 2 dimensions, 1 to 7 local steps, 1 to 1e+08 rounds" in space.searched
    rng = np.random.default_rng(0)
    drawn = [c for c in (space.draw(rng) for _ in range(200)) if isinstance(c, quadratic_candidates.Candidate)]
    assert {c.local_steps for c in drawn} == {1, 2, 3, 4, 5, 6, 7} and {c.dimension for c in drawn} == {2}
    assert max(c.federation().clients for c in drawn if c.family in ("random", "identical")) == 3
    monkeypatch.setattr(khaled, "MOST_CLIENTS", 6)
    local = subject_of(claim("khaled2020.thm1")).space(claim("khaled2020.thm1"))
    plain = [c for c in (local.draw(rng) for _ in range(100)) if isinstance(c, khaled.Candidate)]
    assert "1 to 6 clients" in local.searched and {c.clients for c in plain} == {1, 2, 3, 4, 5, 6}


def test_a_claim_that_does_not_say_whose_runs_it_is_about_is_told_so() -> None:
    plain = replace(claim("khaled2020.thm1"), id="mine.thm1")
    assert "the claim does not say whose runs it is about: these are fast's; state `algorithm=`" in searched(plain)[0]
    assert "does not say" not in searched(replace(plain, algorithm="local_sgd"))[0]


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "falls"), [(1, False), (Rational(9, 10), True)])
def test_a_claim_on_one_round_of_local_sgd_is_searched_without_kinks(factor: Rational, falls: bool) -> None:
    """|grad F(x_0)| <= L |x_0 - x*|, with equality at F = L x^2/2."""
    L, M, distance = symbols("smoothness", "clients", "initial_distance")
    stated = Claim(
        id="mine.thm1",
        title="gradient at the start",
        source="mine",
        functional=SQUARED_GRADIENT,
        terms=(Term("distance", factor * L**2 * distance**2),),
        assumptions=(Assumption("smooth", "smoothness", "mine"),),
        algorithm="local_sgd",
        bound={"arbitrary_cohort": M},
    )
    report = search(stated, candidates=60, climbs=1, steps=2)
    assert report.best is not None and "kinks" not in report.searched
    assert (report.best.ratio > 1 + ROUNDING) == falls
