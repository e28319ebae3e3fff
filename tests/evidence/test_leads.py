"""Leads of a search: ranked by what an enclosure confirms; one that is not confirmed hides none that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.evidence import search
from fedtheory.evidence.search import search_in
from fedtheory.federations import Quadratic
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.papers import claim
from fedtheory.participation import Bernoulli
from fedtheory.setting import Setting
from fedtheory.subjects.lead import Found, worst
from fedtheory.subjects.protocol import Space
from fedtheory.subjects.varying_steps import left_in_floats, lower_ends, surely

FINDS = {"rounding": np.inf, "vanishing": 9.0, "true": 3.0, "also true": 2.0, "none": 0.5}
CERTAIN = {"rounding": 0.25, "vanishing": 0.75, "true": 3.0, "also true": 2.0}


@dataclass
class Few(Space):
    """A search that finds these, of which some are nothing but rounding."""

    asked: list[str]

    def structured(self) -> Iterator[str]:
        return iter(FINDS)

    def draw(self, rng: np.random.Generator) -> str:
        return "none"

    def perturb(self, candidate: Any, rng: np.random.Generator, size: float) -> str:
        return candidate

    def assess(self, candidate: Any) -> tuple[Found, None]:
        return Found(candidate, candidate, {}, 1, FINDS[candidate], 1.0, FINDS[candidate]), None

    def certain(self, found: Found) -> Found:
        self.asked.append(found.candidate)
        return replace(found, ratio=CERTAIN[found.candidate])


def test_the_best_lead_is_the_best_confirmed_one() -> None:
    few = Few([])
    report = search_in(few, claim("fast.thm1"), len(FINDS), 1, 1)
    assert report.best is not None and report.lead is report.best and report.best.candidate == "true"
    assert [lead.candidate for lead in report.leads] == ["true", "also true"]
    assert set(few.asked) == set(CERTAIN)  # below the bound nothing is looked at again


def test_a_search_that_stops_at_its_first_lead_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ranked", lambda space, finds: iter(filter(None, [worst(finds)])))
    report = search_in(Few([]), claim("fast.thm1"), len(FINDS), 1, 1)
    assert report.best is not None and report.best.candidate == "rounding"


def vanishing() -> Setting:
    fed = Quadratic.common_hessian(offsets=[1, -1, 3])
    return Setting(fed, algorithms.mifa(local_lr="1/10"), Bernoulli(["1/2"] * 3), start=5)


def test_what_rounding_leaves_is_not_seen() -> None:
    """MIFA's error vanishes; in floats something stays, or is below 0. What exceeds the bound by more is seen."""
    this, rounds = vanishing(), np.array([100, 10**4, 10**6])
    seen = np.abs(left_in_floats(this, rounds, FINAL_SQUARED_DISTANCE, "r = 1..R"))
    assert (seen[1:] > 1e-300).all()  # of less than 1e-1000
    right = np.full(3, 1e-150)
    sure = surely(this, rounds, FINAL_SQUARED_DISTANCE, "r = 1..R", seen, right)
    assert sure[0] == seen[0] > right[0] and sure[1:].tolist() == [0, 0]
    assert surely(this, rounds, FINAL_SQUARED_DISTANCE, "r = 1..R", seen, 0 * right)[1:].tolist() == [0, 0]


def test_a_small_left_side_that_exceeds_its_bound_is_seen() -> None:
    """At 200 rounds 1.9e-20, and floats see -5e-18 or so."""
    this, rounds = vanishing(), np.array([200])
    low = lower_ends(this, rounds, FINAL_SQUARED_DISTANCE, "r = 1..R")
    exact = float(this.exact(rounds, exact=True).squared_distance[0])
    assert 0 < low[0] <= exact < low[0] * (1 + 1e-15)
    sure = surely(this, rounds, FINAL_SQUARED_DISTANCE, "r = 1..R", np.array([5e-18]), np.array([1e-20]))
    assert 1e-20 < sure[0] <= exact


def test_a_find_counts_as_what_is_certain_of_it() -> None:
    found = Found(None, None, {}, 1, left=2.0, right=0.0, ratio=np.inf)
    assert found.with_left(1.0).ratio == np.inf and found.with_left(0.0).ratio == 0
    assert replace(found, right=1.0, ratio=2.0).with_left(0.5).ratio == 0.5
    assert found.with_left(3.0) is found
