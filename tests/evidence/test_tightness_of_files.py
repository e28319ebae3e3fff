"""Tightness of claims that a file states: about built-in algorithms as the library's, about steps by closed forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from sympy import Le, Min

from fedtheory.algorithms import own
from fedtheory.claims.statement import Claim, Term
from fedtheory.cli.statuses import run
from fedtheory.evidence.referee import load
from fedtheory.papers import added
from fedtheory.papers.paper import Paper
from fedtheory.quantities import QUANTITIES, Quantity, symbols
from fedtheory.subjects.custom_search import OwnSubject
from fedtheory.tightness.measure import NOT_APPLICABLE, Tightness, tightness

FILES = Path(__file__).parents[2] / "docs" / "referee"
gamma, mu, R, D = symbols("local_lr", "strong_convexity", "rounds", "initial_distance")

pytestmark = pytest.mark.skipif(not FILES.exists(), reason="the docs are not beside the tests")


@pytest.fixture(autouse=True)
def _known_here() -> Iterator[None]:
    """What a file defines ends with the test."""
    known = cast(dict[str, Quantity], QUANTITIES)
    before = dict(known)
    yield
    known.clear()
    known.update(before)


def of_file(name: str) -> list[Tightness]:
    paper = load(FILES / f"{name}.py")
    with added(paper):
        return [tightness(each) for each in paper.claims]


def test_of_an_average_by_hand() -> None:
    """With steps of 1/L and a = 1/2, quadratics of curvature mu = L/10 are the worst."""
    first, second = 1 - 0.1 / 2, ((1 - 0.1 / 2) + 0.9**2) / 2
    for found in of_file("own_algorithm"):
        rows = [(each.rounds, each.bound, each.worst) for each in found.after]
        assert found.status == "solved" and not found.exceeded
        # the solver's gap is at most 1e-7 of the value
        assert rows[0] == (1, pytest.approx(1.5 * 0.9), pytest.approx(first**2, rel=1e-6))
        assert rows[1] == (2, pytest.approx(2 * 0.9**2), pytest.approx(second**2, rel=1e-6))


def changed(name: str, **parts: object) -> Tightness:
    """The first claim of a file, with other parts."""
    paper = load(FILES / f"{name}.py")
    statement: Claim = replace(paper.claims[0], id="changed.thm1", **parts)  # type: ignore[arg-type]
    subjects = {key: subject for key, subject in paper.subjects.items() if isinstance(subject, OwnSubject)}
    made = Paper(name="changed", title="changed", claims=(statement,)).with_subjects(subjects)
    with added(made):
        return tightness(statement)


def test_a_bound_on_a_step_that_is_too_small_is_exceeded() -> None:
    found = changed("own_algorithm", terms=(Term("initial", (1 - gamma * mu) ** (3 * R) * D**2),))
    assert found.exceeded and not found.refuted  # 0.9025 > 0.729: a lead


def test_what_is_no_error_of_a_run_is_not_applicable() -> None:
    assert {each.status for each in of_file("own_functional")} == {NOT_APPLICABLE}


def test_a_step_that_is_not_affine_is_told_with_its_place() -> None:
    def clipped(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
        return x - local_lr * (round.share * round.gradient(x)).sum(1).clamp(-1, 1), {}

    paper = load(FILES / "own_algorithm.py")
    statement = replace(
        paper.claims[0],
        id="clips.thm1",
        algorithm="clipped",
        terms=(Term("initial", Min(1, (1 - gamma * mu) ** R) * D**2),),
        hypotheses=tuple(h for h in paper.claims[0].hypotheses if isinstance(h.relation, Le) and h.name == "step_cap"),
    )
    subject = OwnSubject(own(clipped, local_lr="1/10"))
    with added(Paper(name="clips", title="clips", claims=(statement,)).with_subjects({"clipped": subject})):
        found = tightness(statement)
    assert found.status == NOT_APPLICABLE and "clamp" in found.why and "test_tightness_of_files.py" in found.why


def test_a_corollary_on_local_sgd_is_compared_as_the_librarys_theorem() -> None:
    (found,) = of_file("local_sgd")
    assert found.status == "solved" and found.looseness is not None and found.looseness >= 1


def test_the_command_takes_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tightness", str(FILES / "own_algorithm.py"), "local_lr=1/2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["claim"] for each in found] == ["averaged.thm1@main", "averaged.thm2@main"]
    assert all(each["values"]["local_lr"] == "1/2" for each in found)
    assert run(["tightness", str(FILES / "own_algorithm.py"), "--over", "local_lr"]) != 0
    assert "--over local_lr: allowed is with a claim" in capsys.readouterr().err
