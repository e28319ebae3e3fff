"""Theorems about the mean of all clients' paths, also those on the way, evaluated exactly on small models; where one
assumption is violated, only what names it may fail, and some of it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from fedtheory.papers.khaled2020.proofs import thm1 as of_khaled
from fedtheory.papers.li2020.proofs import thm1_to_thm3 as of_li
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem

from .mean_models import MeanModel
from .models import Client, Exact
from .models import exact as F

KHALED = (of_khaled.one_step, of_khaled.round_end)
LI = (of_li.one_step, of_li.end_of_all, of_li.end_of_draw, of_li.gap)

SAME = (Client(F(1), F(3), F(0), F(-1)),) * 2
KINKED = (Client(F(1), F(2), F(0), F(-1)), Client(F(2), F(1), F(1, 2), F(1)), Client(F(3, 2), F(1), F(0), F(1, 2)))
HALVES, WEIGHTS = (F(1, 2),) * 2, (F(1, 2), F(1, 3), F(1, 6))

LOCAL = MeanModel(SAME, HALVES, (F(2), F(-1, 4)), 2, F(1), size=F(1, 12))
DECAYING = MeanModel(KINKED, WEIGHTS, (F(2),), 2, F(1, 2), shift=16)
OF_LOCAL = {
    "identical": LOCAL,
    "three steps": replace(LOCAL, steps=3, starts=(F(2),)),
    "one client": replace(LOCAL, clients=SAME[:1], weights=(F(1),), steps=4),
    "one step": replace(LOCAL, clients=(*SAME, *SAME), weights=(F(1, 4),) * 4, steps=1, starts=(F(0),)),
}
OF_DECAYING = {
    "everyone": replace(DECAYING, clients=KINKED[1:], weights=(F(1, 4), F(3, 4))),
    "later, from two starts": replace(DECAYING, first=5, steps=1, starts=(F(2), F(1, 4))),
    "by weight": replace(DECAYING, clients=KINKED[:2], weights=(F(2, 3), F(1, 3)), draw="by weight"),
    "uniformly": replace(DECAYING, draw="uniformly", weights=(F(1, 3),) * 3, steps=1),
    "all are drawn": replace(DECAYING, clients=KINKED[:2], weights=HALVES, draw="uniformly"),
}


def theorems(of: Iterable) -> list[Theorem]:
    return list({id(t): t for made in of for t in ancestry(made())}.values())


def least(of: Iterable[Theorem], model: MeanModel) -> list[tuple[Theorem, Exact]]:
    """The least slack of each theorem, or minus the largest distance from 0 of an equality."""
    found = []
    for theorem in of:
        kinds = {name for name, _ in theorem.assumptions}
        if ("full_participation" in kinds and model.draw in ("by weight", "uniformly")) or (
            "independent_draws" in kinds and model.draw == "everyone"
        ):
            continue  # of another algorithm
        slacks = list(model.slacks(theorem))
        if slacks:
            found.append((theorem, min(-abs(s) if theorem.equality else s for s in slacks)))
    return found


@pytest.mark.parametrize("name", OF_LOCAL)
def test_theorems_on_identical_clients_hold(name: str) -> None:
    found = least(theorems(KHALED), OF_LOCAL[name])
    assert len(found) == 29 and all(slack >= 0 for _, slack in found)


@pytest.mark.parametrize("name", OF_DECAYING)
def test_theorems_on_decaying_steps_hold(name: str) -> None:
    found = least(theorems(LI), OF_DECAYING[name])
    assert len(found) >= 26 and all(slack >= 0 for _, slack in found)


def test_the_bounds_on_a_step_are_not_loose_by_much() -> None:
    """One client, whose V is 0, of curvature mu alone: E|X - x*|^2 falls by nearly as much as is said."""
    line = replace(LOCAL, clients=(Client(F(1), F(1), F(0), F(0)),), weights=(F(1),), steps=1, starts=(F(1),))
    ((_, slack),) = least([of_khaled.one_step()], line)
    assert slack == line.numbers["eta"] * (1 - line.numbers["eta"])  # (1 - a) - (1 - a)^2


VIOLATIONS = {
    "uncorrelated_noise": (KHALED, replace(LOCAL, law="common")),
    "unbiased_noise": (KHALED, replace(LOCAL, law="biased")),
    "equal_weights": (KHALED, replace(LOCAL, weights=(F(9, 10), F(1, 10)))),
    "bounded_noise": (KHALED, replace(LOCAL, claimed=(("sigma", F(1, 2)),))),
    "bounded_dissimilarity": (KHALED, replace(LOCAL, clients=(SAME[0], Client(F(1), F(3), F(0), F(1))))),
    "smooth": (KHALED, replace(LOCAL, claimed=(("L", F(2)),))),
    "bounded_weighted_noise": (LI, replace(DECAYING, claimed=(("B", F(1, 100)),))),
    "bounded_heterogeneity_gap": (LI, replace(DECAYING, claimed=(("Gamma", F(0)),))),
    "bounded_stochastic_gradients": (LI, replace(DECAYING, claimed=(("G", F(1, 10)),))),
    "strongly_convex": (LI, replace(DECAYING, claimed=(("mu", F(3, 2)),))),
    "full_participation": (LI, replace(DECAYING, draw="after noise")),
    "independent_draws": (LI, replace(DECAYING, draw="after noise")),
}


@pytest.mark.parametrize("assumption", VIOLATIONS)
def test_only_what_names_a_violated_assumption_fails(assumption: str) -> None:
    of, model = VIOLATIONS[assumption]
    allowed = {assumption} | ({"full_participation", "independent_draws"} if model.draw == "after noise" else set())
    failed = [t for t, slack in least(theorems(of), model) if slack < 0]
    kinds = [{name.removesuffix("_at_optimum") for name, _ in t.assumptions} for t in failed]
    assert any(assumption in k for k in kinds) and all(k & allowed for k in kinds)
