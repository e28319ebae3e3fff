"""Every theorem about an algorithm, at a setting of that algorithm: both sides are numbers, a figure and a verdict.

The settings are the papers' own (``Paper.example``), so that another paper's theorems are looked at as well.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot

import fedtheory as ft
from fedtheory.claims.evaluation import Bound
from fedtheory.evidence.verdict import VERDICTS
from fedtheory.moments.evaluators import Question, left
from fedtheory.papers import all_claims, claim, papers
from fedtheory.papers.paper import Example
from tests.loops import looped

ABOUT_SETTINGS = ("run", "round", "selection", "weights")
THEOREMS = [
    c.ref for c in all_claims() if c.id.split(".")[1].startswith("thm") and c.functional.scope in ABOUT_SETTINGS
]


def at_its_example(ref: str) -> tuple[Example, Bound, np.ndarray]:
    """The example, some rounds up to its last one, and both sides there."""
    statement = claim(ref)
    example = papers()[statement.paper].example(statement)
    rounds = np.unique(np.geomspace(1, example.rounds, 5).astype(int))
    bound = statement.at(example.setting, rounds=rounds, **example.stated)
    question = Question(example.setting, rounds, next(statement.readings()), stated=example.stated)
    exact = np.broadcast_to(np.asarray(left(statement.functional, question), dtype=float), rounds.shape)
    return example, bound, exact


def test_every_paper_with_theorems_has_an_example() -> None:
    assert {ref.split(".")[0] for ref in THEOREMS} == {name for name, paper in papers().items() if paper.example}


@looped("ref", THEOREMS, quick=10)
def test_both_sides_a_figure_and_a_verdict(ref: str, tmp_path: Path) -> None:
    example, bound, exact = at_its_example(ref)
    assert np.isfinite(bound.value).all() and np.isfinite(exact).all() and (exact >= 0).all()
    assert set(bound.terms) == {term.name for term in claim(ref).terms}
    assert all(np.isfinite(term).all() for term in bound.terms.values())
    assert {h.name for h in claim(ref).hypotheses} <= set(bound.slack)
    assert all(slack is None or np.isfinite(slack).all() for slack in bound.slack.values())
    varies = any(np.ndim(value) for value in bound.quantities.values())
    figure = ft.plot(bound, exact if varies else exact[-1])
    figure.savefig(tmp_path / "theorem.png")
    pyplot.close(figure)
    assert (tmp_path / "theorem.png").read_bytes().startswith(b"\x89PNG")
    verdict = ft.verify(ref, example.setting, rounds=example.rounds, **example.stated)
    assert verdict.verdict in VERDICTS and verdict.claim == claim(ref).ref
    if bound.hypotheses_hold:
        assert verdict.verdict in ("holds", "refuted", "not checked")
        assert (verdict.verdict == "holds") == bool((exact <= bound.value * (1 + 1e-6)).all())


def test_a_verdict_needs_what_is_stated() -> None:
    setting = papers()["flics"].example(claim("flics.thm1")).setting
    verdict = ft.verify("flics.thm1", setting, rounds=4)
    assert verdict.verdict == "not applicable" and "state it, estimate_error = ..." in verdict.why
