"""Groups that are not there refute nothing that is proved: what is assumed of G is said of their clients' paths too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from fedtheory.claims.balls import working_precision
from fedtheory.evidence.assess import recorded_instance
from fedtheory.evidence.judge import parse
from fedtheory.evidence.replay import replay
from fedtheory.papers import claim
from fedtheory.papers.flics.exact import branching_runs
from fedtheory.papers.flics.exact.selected_runs import Followed
from fedtheory.papers.flics.examples.selection_points import SelectionPoint
from fedtheory.papers.flics.examples.selection_search import Selections
from tests.contract.enumerated import of_those_that_are_there

EDITIONS = ("corrected", "intermittent", "received")
PROVED = [f"flics.{name}@{edition}" for name in ("thm1", "cor1_1") for edition in EDITIONS]
ROUNDING = 1e-9
"""Sides are sums of up to some thousands of products of numbers of two digits, in floats."""
FEW, MANY, LONG = 60, 10_000, 30


def not_there(ref: str, seed: int) -> Iterator[SelectionPoint]:
    """Random runs of the claim's search in which one of two groups is never there, or not in the end; with more rounds,
    too, and from where the others' gradients are 0."""
    space, rng = Selections(claim(ref)), np.random.default_rng(seed)
    while True:
        candidate = space.draw(rng)
        if candidate is None or len(candidate.point.availability.weight) < 2:
            continue
        point, away = candidate.point, int(rng.integers(2))
        *before, last = point.availability.availability
        away = last.index(0) if 0 in last else away
        rows = (*before, tuple(0 if j == away else a for j, a in enumerate(last)))
        point = replace(point, availability=replace(point.availability, availability=rows))
        if rng.random() < 0.5:
            point = replace(point, start=point.centres[1 - away])
        if point.local_lr is not None and rng.random() < 0.5:
            point = replace(point, rounds=LONG)
        yield replace(candidate, point=point)


def largest_ratio(ref: str, number: int, seed: int = 0) -> tuple[float, int]:
    """Of left to right over so many runs, and how many of these the claim speaks of."""
    space, found = Selections(claim(ref)), []
    for _, candidate in zip(range(number), not_there(ref, seed), strict=False):
        result = space.assess(candidate)
        found += [] if result is None else [result[0].ratio]
    return max(found, default=0.0), len(found)


@pytest.mark.parametrize("ref", PROVED)
def test_few_refute_nothing(ref: str) -> None:
    ratio, admissible = largest_ratio(ref, FEW)
    assert ratio <= 1 + ROUNDING and admissible >= FEW / 15


@pytest.mark.exhaustive
@pytest.mark.parametrize("ref", PROVED)
def test_many_refute_nothing(ref: str) -> None:
    ratio, admissible = largest_ratio(ref, MANY, seed=1)
    assert ratio <= 1 + ROUNDING and admissible >= MANY / 15


def test_a_bound_of_those_that_are_there_alone_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    branching_runs._followed.cache_clear()  # of runs that were followed before
    monkeypatch.setattr(Followed, "_met", of_those_that_are_there(Followed._met))
    try:
        assert largest_ratio("flics.thm1@received", FEW)[0] > 2
    finally:
        branching_runs._followed.cache_clear()


def test_what_was_followed_at_another_precision_is_not_taken() -> None:
    content = recorded_instance("flics.thm1@main")
    statement = claim("flics.thm1@main")
    with working_precision(40):
        for reading in statement.readings():
            parse(content).point.examined(statement).sides(reading)
    replay(content)
