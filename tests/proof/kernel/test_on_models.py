"""Every theorem of the kernel, also those on the way, evaluated exactly on small models; on a model that violates one
assumption, only theorems that name it may fail, and one does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction as F
from functools import cache

import pytest

from fedtheory.papers.fast.proofs import eq17_eq28, thm2_curved
from fedtheory.papers.fast.proofs.thm1_thm2 import nonconvex, nonconvex_corrected, strongly_convex
from fedtheory.proof.kernel.theorems import Theorem

from .models import Client, Model, ancestry

COMPOSED = (
    strongly_convex, nonconvex, nonconvex_corrected, thm2_curved.strongly_convex, thm2_curved.mostly_snapshots,
    eq17_eq28.gradient_error, eq17_eq28.full_progress,
)  # fmt: skip


@cache
def theorems() -> list[Theorem]:
    """What is composed, and all that it is made of, each once."""
    return list({id(t): t for made in COMPOSED for t in ancestry(made())}.values())


QUADRATIC = (Client(F(1), F(1), F(0), F(-1)), Client(F(2), F(2), F(1), F(1)), Client(F(3, 2), F(3, 2), F(0), F(2)))
KINKED = (Client(F(1), F(3), F(0), F(-1)), Client(F(2), F(1), F(1, 2), F(1)), Client(F(3), F(1), F(0), F(1, 2)))
MODEL = Model(QUADRATIC, F(3), F(1, 100), 2, 2, 1, F(1, 3), F(1))
MODELS = {
    "quadratic": MODEL,
    "kinks": replace(MODEL, clients=KINKED, start=F(1, 8), step=F(1, 150)),
    "kinks, large steps": replace(
        MODEL, clients=KINKED, start=F(1, 4), step=F(1, 48), noise=F(20), probability=F(1, 2)
    ),
    "one step": replace(MODEL, steps=1, step=F(1, 20), probability=F(0)),
    "a random choice": replace(MODEL, choice="random", arbitrary_cohort=2, cohort=1),
    "mostly snapshots": replace(
        MODEL, clients=KINKED, start=F(1, 8), step=F(1, 150), cohort=1, probability=F(299, 300)
    ),
    "short steps": replace(MODEL, clients=KINKED, start=F(1, 8), step=F(1, 300), noise=F(2), probability=F(1, 2)),
    "one client": replace(MODEL, clients=QUADRATIC[:1], cohort=1, arbitrary_cohort=1, steps=3),
}
FREE = ({"a": F(1)}, {"a": F(1, 50)}, {"a": F(1, 300)})
"""Of Young's parameter; the last is also 1 - q of one of the models."""


def least(of: Iterable[Theorem], model: Model) -> list[tuple[Theorem, F]]:
    """The least slack of each theorem, or minus the largest distance from 0 of an equality."""
    found = []
    for theorem in of:
        young = any(c.name == "a" for c in theorem.where.conditions)
        slacks = [s for free in (FREE if young else FREE[:1]) for s in model.slacks(theorem, free)]
        if slacks:
            found.append((theorem, min(-abs(s) if theorem.equality else s for s in slacks)))
    return found


@cache
def least_in(name: str) -> list[tuple[Theorem, F]]:
    return least(theorems(), MODELS[name])


def test_every_composed_theorem_is_evaluated() -> None:
    evaluated = {id(t) for name in MODELS for t, _ in least_in(name)}
    assert {id(make()) for make in COMPOSED} <= evaluated


@pytest.mark.parametrize("name", MODELS)
def test_every_theorem_holds(name: str) -> None:
    found = least_in(name)
    assert len(found) > 40
    failed = [(t, s) for t, s in found if s < 0]
    assert not failed


def test_some_theorem_is_tight_in_some_model() -> None:
    """An inequality is an equality somewhere, so the evaluation sees what a wrong constant would break."""
    tight = {id(t) for name in MODELS for t, s in least_in(name) if s == 0 and not t.equality}
    assert len(tight) > 8


class Claiming(Model):
    """A model whose constants are claimed to be others than they are."""

    claimed: dict[str, F]

    def numbers(self, theorem, free):
        return super().numbers(theorem, free) | self.claimed


def claiming(**claimed: F) -> Model:
    model = Claiming(**{f: getattr(MODELS["kinks"], f) for f in MODEL.__dataclass_fields__})
    object.__setattr__(model, "claimed", claimed)
    return model


VIOLATIONS = {
    "uncorrelated_noise": replace(MODEL, law="common"),
    "unbiased_noise": replace(MODEL, law="biased"),
    "cohort_before_noise": replace(MODEL, choice="after noise"),
    "uniform_cohorts": replace(MODEL, choice="always the first", cohort=1, noise=F(0), step=F(1, 1000)),
    "bounded_noise": claiming(sigma=F(1, 2)),
    "bounded_dissimilarity": claiming(sigma_G=F(1, 10)),
    "strongly_convex": claiming(mu=F(5, 2)),
    "smooth": claiming(L=F(3, 2)),
}


@pytest.mark.parametrize("assumption", VIOLATIONS)
def test_only_what_names_a_violated_assumption_fails(assumption: str) -> None:
    failed = [t for t, s in least(theorems(), VIOLATIONS[assumption]) if s < 0]
    assert failed
    assert all(assumption in {name.removesuffix("_at_optimum") for name, _ in t.assumptions} for t in failed)
