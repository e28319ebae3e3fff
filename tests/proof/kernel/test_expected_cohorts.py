"""Expectations over cohorts of what is along the paths: of a uniform cohort, and of one that is all clients. They hold
in models, fail where a cohort is another one, and a kernel that takes more is refused by the checker."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import pytest

from fedtheory.papers import claim
from fedtheory.papers.fast.proofs import round_displays, thm2_curved
from fedtheory.papers.fast.proofs.kinds_of_round import RING, Kinds, m, n, share, size
from fedtheory.papers.proofs import library, proof_of
from fedtheory.proof import checker, claim_goals
from fedtheory.proof.kernel import round_bounds, round_rules
from fedtheory.proof.kernel.axioms import NEXT
from fedtheory.proof.kernel.round_bounds import PROGRESS, bound_round
from fedtheory.proof.kernel.round_rules import UNIFORM, expect_everyone, expect_uniform
from fedtheory.proof.kernel.run_bounds import RunBound
from fedtheory.proof.kernel.saved_claims import saved_claim
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.theorems import Theorem, combine, instantiate, over_clients

from .models import Exact, Model, World
from .test_on_models import MODEL, MODELS, least

SGD = Kinds(convex=False).sgd
AX, WHERE = SGD.axioms, SGD.axioms.where
GRADIENT, WALKED = SGD.gradient_at_start.under("M"), SGD.gradient_along.under("S").under("K")


def of_size(theorem: Theorem, number: Any) -> Theorem:
    return instantiate(theorem, {"size": number}, WHERE)


def drawn() -> Theorem:
    """<x+ - x + eta sum_k mean (g + N), grad F(x)> = 0 of all clients, where the cohort is drawn uniformly."""
    return expect_uniform(of_size(AX.round(GRADIENT), m), m, share, WHERE)


def of_all() -> Theorem:
    """The same where all clients take part, against x+ as well."""
    return expect_everyone(of_size(AX.round(GRADIENT + AX.vector(NEXT)), n), n)


def squared() -> Theorem:
    """|mean_S sum_k g|^2 >= 0 of a cohort that is drawn."""
    return expect_uniform(of_size(combine([], where=WHERE, context="cohort", squares=[(WALKED, "", 1)]), m), m, share,
                          WHERE)  # fmt: skip


class Noticing(Model):
    """A snapshot's cohort is a client with the largest first noise: each as often as any other."""

    def worlds(self, kind: str) -> list[tuple[Exact, World]]:
        if kind != UNIFORM:
            return super().worlds(kind)
        made: list[tuple[Exact, World]] = []
        for share_of_all, world in super().worlds(kind):
            best = [i for i, own in enumerate(world.noise) if own[0] == max(each[0] for each in world.noise)]
            made += [(share_of_all / len(best), World((i,), world.noise)) for i in best]
        return made


NOTICED = Noticing(**{f: getattr(replace(MODEL, cohort=1), f) for f in MODEL.__dataclass_fields__})
ALL = replace(MODEL, arbitrary_cohort=3)


class Told(Model):
    """It is said that all clients take part."""

    everyone = True


SOME = Told(**{f: getattr(MODEL, f) for f in MODEL.__dataclass_fields__})


def test_of_a_uniform_cohort_the_paths_have_the_mean_of_all_clients() -> None:
    of_models = [least([drawn()], model) for model in MODELS.values()]
    assert all(slack == 0 for found in of_models for _, slack in found) and sum(map(len, of_models)) > 5
    assert dict(drawn().assumptions).keys() == {"uniform_cohorts"}


def test_not_if_it_is_drawn_by_the_noise_or_not_uniformly() -> None:
    by_noise = least([drawn()], NOTICED)
    assert by_noise and by_noise[0][1] < 0
    first = least([drawn()], replace(MODEL, choice="always the first", cohort=1))
    assert first and first[0][1] < 0


def test_the_square_of_a_drawn_mean_is_that_of_no_mean_of_all() -> None:
    """It stays a random number, as the clients' noise is less in the mean of more."""
    assert {str(e) for e in squared().form.entries} == {str(e) for e in WALKED_SQUARED.form.entries}
    assert least([squared()], replace(MODEL, cohort=1))[0][1] > least([squared()], replace(MODEL, cohort=3))[0][1] > 0


WALKED_SQUARED = combine([], where=WHERE, context="cohort", squares=[(WALKED, "", 1)])


def test_where_all_take_part_every_mean_is_of_all() -> None:
    (made,) = least([of_all()], ALL)
    assert made[1] == 0 and {"full_participation", "equal_weights"} == dict(of_all().assumptions).keys()
    assert not least([of_all()], MODEL)  # nothing is said of fewer
    assert least([of_all()], SOME)[0][1] < 0


REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "a drawn cohort's mean against the round's end": ("not known before it is drawn", lambda: expect_uniform(
        of_size(AX.round(AX.vector(NEXT)), m), m, share, WHERE)),
    "a drawn cohort's mean of products of later vectors": ("not known before it is drawn", lambda: expect_uniform(
        of_size(over_clients(AX.variance(RING["sigma"] ** 2), "S"), m), m, share, WHERE)),
    "of all clients, for every client": ("allowed is a closed form", lambda: expect_everyone(
        of_size(AX.variance(RING["sigma"] ** 2), n), n)),
    "of all clients, of another number": ("two algorithms", lambda: expect_everyone(of_size(AX.round(GRADIENT), m), n)),
    "of all clients, given nothing of a cohort": ("given the cohort", lambda: expect_everyone(of_all(), n)),
    "an arbitrary cohort's progress of a uniform one": ("given that the cohort is arbitrary", lambda: bound_round(
        thm2_curved.snapshot(), round_displays.ROUND, PROGRESS, ("start", "R"), plain=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses(name: str) -> None:
    says, make = REFUSED[name]
    with pytest.raises(ValueError, match=says):
        make()


# A weaker kernel, and the checker ----------------------------------------------------------------------------------


def refusal(made: Theorem | RunBound) -> str:
    data = saved(made) if isinstance(made, Theorem) else saved_claim(made, {}, {})
    try:
        checker.check(json.loads(json.dumps(data)))
    except checker.Wrong as wrong:
        return str(wrong)
    return ""


def fall() -> RunBound:
    """The same of a round, in the letters of (13)."""
    letters = ("decrease", "slope", "full", "cohort", "R")
    return bound_round(of_fall(), round_displays.FALL_OF_ALL, "squared_gradient", letters, plain=True)


def of_fall() -> Theorem:
    """A bound on |grad F(x)|^2 by the squared sum of a drawn cohort's local gradients."""
    return combine([(squared(), 1)], where=WHERE, context="kind", kind=UNIFORM, constant=size)


def unsaid(rule: str, kind: str, theorem: Theorem, where: Any, form: Any, *_: object, **law: Any) -> Theorem:
    return _GIVEN_KIND(rule, kind, theorem, where, form, **law)


_DRAWN, _GIVEN_KIND = round_rules._drawn, round_rules._given_kind
PLANTED: dict[str, tuple[Any, str, Any, Callable[[], Theorem | RunBound]]] = {
    "the square of a drawn mean as that of all": (round_rules, "_drawn", lambda entry, own, one: (
        round_rules.Form(own.ring, {round_rules._of_all(entry): one})), squared),
    "all clients, unsaid": (round_rules, "_given_kind", unsaid, of_all),
    "a drawn cohort's sum as an arbitrary one's": (round_bounds, "SUMS", {
        **round_bounds.SUMS, UNIFORM: ("arbitrary_pseudogradient", "full_pseudogradient")}, fall),
}  # fmt: skip
"""Lines of the kernel that are planted out, so that it makes something false: the checker refuses it."""


@pytest.mark.parametrize("name", PLANTED)
def test_the_checker_refuses_what_a_weaker_kernel_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, line, weaker, make = PLANTED[name]
    monkeypatch.setattr(place, line, weaker)
    assert refusal(make()).startswith(("theorem", "bound 0"))


def test_the_checker_accepts_what_is_sound() -> None:
    assert [refusal(made) for made in (drawn(), of_all(), squared())] == ["", "", ""]


def test_only_of_uniform_cohorts_is_it_known_that_noise_comes_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """(13) and (30) need no such assumption; (35) and a round of either kind do, also where the goal forgets it."""
    for ref in ("fast.eq13", "fast.eq30"):
        found = proof_of(claim(ref).assuming("uncorrelated_noise"))
        assert found is not None and found.verdict == "proved" and "cohort_before_noise" not in found.lacking, ref
    either = claim("fast.eq39").assuming("uncorrelated_noise")
    assert proof_of(claim("fast.eq35")) is None and proof_of(either) is None
    assert proof_of(either.assuming("cohort_before_noise")) is not None
    monkeypatch.setattr(claim_goals, "asked_of", lambda bound: sorted(
        (a for a in bound.assumptions if a[0] != "cohort_before_noise"), key=str))  # fmt: skip
    for this in (claim("fast.eq35"), either):
        derivation = next(d for d in library().fitting(this) if this.ref in d.proves)
        check = derivation.origin.check(this, derivation.algorithm, library().rounds)
        assert check.found() and check.certified().outcome == "unknown"


@pytest.mark.parametrize("steps", [1, 3])
def test_the_fall_before_a_snapshot_is_evaluated(steps: int) -> None:
    (theorem,) = [t for t in round_displays.snapshot_fall().made_of if isinstance(t, RunBound)]
    (made,) = [t for t in theorem.made_of if isinstance(t, Theorem)]
    (found,) = least([made], replace(MODEL, steps=steps, step=F(1, 60), cohort=1))
    assert found[1] > 0
