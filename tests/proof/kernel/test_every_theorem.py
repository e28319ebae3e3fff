"""Every theorem of every proof, also those on the way, whoever composes it: it holds in a small model at least, and
where one assumption is violated it may fail only if it names that. What the papers' own tests evaluate is left to
them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem

from . import test_answers, test_intervals, test_means, test_on_models, test_safari, test_weighted
from .models import Model
from .models import exact as F
from .published import Least, Proof, proofs

Cohort = tuple[int, ...]


class OtherKinds(Model):
    """Snapshots are as probable as is said of the other rounds."""

    def given(self, context: str, kind: str, size: int) -> list:
        other = Model(**{**vars_of(self), "probability": 1 - self.probability})
        return other.given(context, kind, size)


class Twice(Model):
    """Arbitrary cohorts are one client, as often as there are places."""

    def cohorts(self, kind: str) -> list[tuple[Any, Cohort]]:
        if kind == "uniform":
            return super().cohorts(kind)
        return [(F(1), (len(self.clients) - 1,) * self.arbitrary_cohort)]


def vars_of(model: Model) -> dict[str, Any]:
    return {name: getattr(model, name) for name in Model.__dataclass_fields__}


OF_FAST = {
    **test_on_models.VIOLATIONS,
    "random_kinds": OtherKinds(
        **{**vars_of(test_on_models.MODEL), "probability": F(1), "noise": F(0), "steps": 1, "start": F(-1)}
    ),
    "cohort_is_a_set": Twice(**{**vars_of(test_on_models.MODEL), "arbitrary_cohort": 2, "noise": F(5), "steps": 1}),
}
OF_INTERVALS = {"independent_participation": test_intervals.Comings(F(1, 3), 3, 7, "the first again")}
VIOLATIONS = {
    "fast": OF_FAST, "safari": test_safari.VIOLATIONS, "fedau": test_weighted.VIOLATIONS,
    "flics": test_answers.VIOLATIONS, "intervals": OF_INTERVALS,
    **{paper: {name: model for name, (own, model) in test_means.VIOLATIONS.items() if own is of}
       for paper, of in (("khaled2020", test_means.KHALED), ("li2020", test_means.LI))},
}  # fmt: skip
"""By paper, and by assumption, a model that violates it."""
OTHER_PAPERS = {"li2020": {"smooth", "unbiased_noise", "uncorrelated_noise"}, "khaled2020": {"full_participation",
                "strongly_convex"}, "safari": {"cohort_is_a_set", "equal_weights"}}  # fmt: skip
"""Assumptions that one paper has in common with another one, in whose models they are violated."""


def group(name: str, proof: Proof) -> str:
    """The paper, or what of it is evaluated by models of its own."""
    if proof.least is test_intervals.least:
        return "intervals"
    return name.split(".")[0] if proof.least.__name__ != "_of_points" else "points"


@cache
def of_papers() -> dict[str, tuple[Least, Iterable[Any], dict[int, Theorem]]]:
    found: dict[str, tuple[Least, Iterable[Any], dict[int, Theorem]]] = {}
    for name, proof in proofs().items():
        _, _, theorems = found.setdefault(group(name, proof), (proof.least, proof.models, {}))
        theorems |= {id(each): each for each in ancestry(proof.make())}
    return found


@cache
def evaluated_elsewhere() -> frozenset[int]:
    made = [test_answers.theorems(), test_intervals.every(), test_on_models.theorems(), test_safari.theorems(),
            test_weighted.theorems(), test_means.theorems((*test_means.KHALED, *test_means.LI))]  # fmt: skip
    return frozenset(id(theorem) for theorems in made for theorem in theorems)


def rest(paper: str) -> list[Theorem]:
    return [each for number, each in of_papers()[paper][2].items() if number not in evaluated_elsewhere()]


@pytest.mark.parametrize("paper", [*VIOLATIONS, "points"])
def test_every_theorem_is_evaluated_and_holds(paper: str) -> None:
    least, models, _ = of_papers()[paper]
    theorems = rest(paper)
    found = [each for model in models for each in least(theorems, model)]
    assert {id(theorem) for theorem, _ in found} == {id(theorem) for theorem in theorems}
    assert not [(theorem, slack) for theorem, slack in found if slack < 0]


def test_none_is_left_out() -> None:
    assert of_papers().keys() == {*VIOLATIONS, "points"}
    whole = {number for _, _, theorems in of_papers().values() for number in theorems}
    assert len(whole) > 700 and len(whole - evaluated_elsewhere()) > 50


VIOLATED = [(paper, assumption) for paper, models in VIOLATIONS.items() for assumption in models]


@pytest.mark.parametrize(("paper", "assumption"), VIOLATED)
def test_only_what_names_a_violated_assumption_fails(paper: str, assumption: str) -> None:
    least, model = of_papers()[paper][0], VIOLATIONS[paper][assumption]
    own = assumption in ("random_kinds", "cohort_is_a_set")
    failed = [t for t, slack in least(list(of_papers()[paper][2].values()) if own else rest(paper), model) if slack < 0]
    allowed = {assumption} | (
        {"full_participation", "independent_draws"} if "draw='after noise'" in repr(model) else set()
    )
    assert all(allowed & {kind(name) for name, _ in theorem.assumptions} for theorem in failed)
    assert failed or not own


def kind(assumption: str) -> str:
    return assumption.removesuffix("_at_optimum").removesuffix("_of_plain_mean")


def test_every_assumption_is_violated_somewhere() -> None:
    for paper in VIOLATIONS:
        named = {kind(name) for theorem in of_papers()[paper][2].values() for name, _ in theorem.assumptions}
        assert named - OTHER_PAPERS.get(paper, set()) <= VIOLATIONS[paper].keys(), paper
        assert VIOLATIONS[paper].keys() <= named
