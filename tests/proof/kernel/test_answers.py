"""Rounds in which clients answer, and send updates with weights: every theorem, also those on the way, evaluated
exactly on small models; what the kernel and the checker refuse; and the proofs with one thing changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import pytest

from fedtheory.papers.flics.proofs import thm1
from fedtheory.papers.flics.proofs.thm1 import ANSWERS, AXIOMS, FREE, RING, G, K, V, c, delta, eta, k
from fedtheory.proof import checker
from fedtheory.proof.kernel.answering_clients import MEAN_ANSWER, MISMATCH, SPREAD, Answers
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, NOISE, START_POINT, Axioms
from fedtheory.proof.kernel.forms import Form
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem, combine
from fedtheory.proof.kernel.weighted_rounds import WeightedRounds

from .answer_models import AnswerModel, State
from .models import Client, Exact, valued
from .models import exact as F

COMPOSED = (thm1.inner, thm1.second_moment, thm1.given_availability, thm1.given_the_past)
GROUPS = Client(F(1), F(-1), F(0), F(-1)), Client(F(2), F(1), F(1, 2), F(1))
FLAT, STEEP = (Client(F(0), F(0), F(0), F(1)),), Client(F(1), F(1), F(0), F(1))
THERE, AWAY = (State(F(1), (F(1, 2), F(3, 4)), (F(2, 3), F(1))), State(F(1, 3), (F(1, 4), F(0)), (F(2), F(1, 2))))
MODEL = AnswerModel(GROUPS, (F(2, 5), F(3, 5)), (F(1, 4),), 2, F(1), size=F(1, 10), sizes=(2, 1), states=(THERE,),
                    selected_step=F(1, 8))  # fmt: skip
MODELS = {
    "planned": MODEL,
    "the right weights": replace(MODEL, states=(replace(THERE, estimates=(F(1), F(3, 4))),), noise=F(4)),
    "received": replace(MODEL, counted=3, states=(replace(THERE, estimates=(F(1), F(0))),), noise=F(3)),
    "one step": replace(MODEL, steps=1, sizes=(1, 2), selected_step=F(1, 2), noise=F(2)),
    "small gradients": replace(MODEL, starts=(F(-1, 10),), clients=(Client(F(1), F(2), F(0), F(0)),) * 2, noise=F(6)),
    "rare answers": replace(MODEL, clients=(STEEP,), weights=(F(1),), sizes=(1,), noise=F(0), steps=1,
                            states=(State(F(1), (F(1, 100),), (F(1, 100),)),)),
    "no answer": replace(MODEL, clients=(STEEP,), weights=(F(1),), sizes=(1,), counted=1,
                         states=(State(F(1), (F(0),), (F(0),)),)),
    "a group that weighs nothing": replace(MODEL, weights=(F(0), F(1)), sizes=(1, 2), steps=1, counted=1, noise=F(3),
                                           states=(State(F(1), (F(1), F(1, 2)), (F(0), F(0))),)),
    "given the past": replace(MODEL, states=(replace(THERE, chance=F(2, 3)), AWAY), noise=F(2)),
}  # fmt: skip
PARAMETERS = {"local_lr": "eta", "selected_lr": "c", "mismatch": "delta", "proxy": "V"}


@cache
def theorems() -> list[Theorem]:
    return list({id(t): t for made in COMPOSED for t in ancestry(made())}.values())


def is_of(theorem: Theorem, model: AnswerModel) -> bool:
    """Whether the theorem is of the model's round, and of federations with its constants: V is said of what is given
    who is there."""
    of = dict(theorem.parameters)
    if "proxy" in of and len(model.states) > 1:
        return False
    at = {**model.numbers, "W": model.numbers["V"] + model.numbers["S"]}
    least_constant = {"bounded_local_gradients": at["G"] ** 2, "smooth": at["L"]}
    if any(valued(c, at) < least_constant[name] for name, c in theorem.assumptions if c is not None):
        return False
    return all(valued(c, at) == at[{**PARAMETERS, "second_moment": "W"}[name]] for name, c in of.items())


def least(of: Iterable[Theorem], model: AnswerModel) -> list[tuple[Theorem, Exact]]:
    """The least slack of each theorem, or minus the largest distance from 0 of an equality."""
    found = []
    for theorem in of:
        slacks = list(model.slacks(theorem)) if is_of(theorem, model) else []
        if slacks:
            found.append((theorem, min(-abs(s) if theorem.equality else s for s in slacks)))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_every_theorem_holds(name: str) -> None:
    found = least(theorems(), MODELS[name])
    assert len(found) >= 24 and all(slack >= 0 for _, slack in found)


def test_every_composed_theorem_is_evaluated() -> None:
    evaluated = {id(t) for model in MODELS.values() for t, _ in least([make() for make in COMPOSED], model)}
    assert {id(make()) for make in COMPOSED} <= evaluated


def test_second_moments_are_near_what_they_are_bounded_by() -> None:
    """With one step and little but noise, E|Z|^2 is above 9/10 of V G^2."""
    quiet = replace(MODEL, clients=(Client(F(1), F(1), F(0), F(0)),) * 2, starts=(F(0),), noise=F(1), steps=1)
    given = next(t for t in theorems() if t.rule == "spread of answers")
    ((_, slack),) = least([given], quiet)
    numbers = quiet.numbers
    assert 0 <= slack <= numbers["V"] * numbers["G"] ** 2 / 10


VIOLATIONS = {
    "independent_noise": replace(MODEL, law="common", noise=F(10), steps=1,
                                 states=(replace(THERE, chances=(F(1), F(1))),)),
    "unbiased_noise": replace(MODEL, law="biased", noise=F(4)),
    "smooth": replace(MODEL, claimed=(("L", F(1, 2)),)),
    "bounded_local_gradients": replace(MODEL, claimed=(("G", F(1, 2)),)),
    "independent_answers": replace(MODEL, draw="after noise", noise=F(4)),
}  # fmt: skip


@pytest.mark.parametrize("assumption", VIOLATIONS)
def test_only_what_names_a_violated_assumption_fails(assumption: str) -> None:
    failed = [t for t, slack in least(theorems(), VIOLATIONS[assumption]) if slack < 0]
    assert failed and all(assumption in {name for name, _ in t.assumptions} for t in failed)


def test_noise_that_depends_on_who_is_there() -> None:
    model = replace(MODELS["given the past"], law="by state", noise=F(6))
    failed = [t for t, slack in least(theorems(), model) if slack < 0]
    assert failed and all("independent_answers" in {name for name, _ in t.assumptions} for t in failed)


def test_v_is_too_little_where_it_is_not_known_who_is_there() -> None:
    """All three clients of a group answer, or none is there: E|Z|^2 = |s|^2/4, V = 1/6."""
    either = State(F(1, 2), (F(1),), (F(3),)), State(F(1, 2), (F(0),), (F(3),))
    model = replace(MODEL, clients=FLAT, weights=(F(1),), sizes=(3,), states=either, noise=F(0),
                    claimed=(("L", F(1)),))  # fmt: skip
    assert not is_of(thm1.second_moment(), model) and min(model.slacks(thm1.second_moment())) < 0


x, noise = AXIOMS.vector(START_POINT), AXIOMS.vector(NOISE)
B, A, Z = (AXIOMS.vector(atom) for atom in (MEAN_ANSWER, MISMATCH, SPREAD))
one = RING.number(1)
WEIGHTED = WeightedRounds(FREE, eta, c, one)


REFUSED = {
    "steps that change": lambda: Answers(FREE, eta / (k + 1), c, delta),
    "a mismatch that changes": lambda: Answers(FREE, eta, c, delta * k),
    "a bound of gradients that changes": lambda: ANSWERS.path(G**2 * k),
    "the mean against a path": lambda: ANSWERS.mean(AXIOMS.vector(ITERATE)),
    "the mean against what is sent": lambda: ANSWERS.mean(Z),
    "what is sent against itself": lambda: ANSWERS.apart(B + Z),
    "against the mismatch": lambda: ANSWERS.apart(A),
    "against the round's end": lambda: ANSWERS.apart(AXIOMS.vector(NEXT)),
    "against a cohort's mean": lambda: ANSWERS.apart(AXIOMS.gradient(START_POINT).under("S")),
    "the mismatch from a bound of updates": lambda: ANSWERS.mismatched(thm1.each_update()),
    "the spread from a bound of gradients": lambda: ANSWERS.spread(thm1.each_sum(), V),
    "from a bound of one step": lambda: ANSWERS.spread(ANSWERS.stochastic_gradient(G**2), V),
    "from a bound of another algorithm": lambda: Answers(FREE, 2 * eta, c, delta).spread(thm1.each_update(), V),
    "from a bound given a cohort": lambda: ANSWERS.mismatched(
        combine([(Axioms(FREE, eta, one).variance(G**2), 1)], where=FREE, context="cohort")),
    "answers and weighted updates": lambda: combine(
        [(ANSWERS.round(x), 1), (WEIGHTED.round(x), -1)], where=FREE, context="start"),
    "two laws of answers": lambda: combine(
        [(thm1.second_moment(), 1), (ANSWERS.spread(thm1.each_update(), 2 * V), 1)], where=FREE,
        context="start"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    with pytest.raises(ValueError):
        REFUSED[what]()


@pytest.mark.parametrize(
    ("make", "rule", "argument"),
    [(thm1.given_availability, "spread of answers", "proxy"),
     (thm1.given_the_past, "second moment of answers", "second")],
)  # fmt: skip
def test_the_checker_knows_whose_parameter_an_argument_is(make, rule: str, argument: str) -> None:
    data = json.loads(json.dumps(saved(make())))
    (line,) = (each for each in data["theorems"] if each["rule"] == rule)
    one_more = line["arguments"][argument]["bottom"]
    line["arguments"][argument] = {"top": one_more, "bottom": one_more}
    with pytest.raises(checker.Wrong, match="a parameter and its argument"):
        checker.check(data)


def test_false_moments() -> None:
    """What the axioms do not say fails in a model: V a hundredth smaller, delta halved, W without S."""
    spread = next(t for t in theorems() if t.rule == "spread of answers")
    quiet = replace(MODEL, clients=(Client(F(1), F(1), F(0), F(0)),) * 2, starts=(F(0),), noise=F(1), steps=1,
                    states=(State(F(1), (F(1, 100), F(1, 100)), (F(1), F(1))),))  # fmt: skip
    smaller = spread.form - Form.constant(V * G**2 * K**2 / 100)
    assert quiet._value(smaller, quiet.numbers, 0, 0) < 0 <= quiet._value(spread.form, quiet.numbers, 0, 0)
    mean = ANSWERS.mean(x).form
    half = {**MODEL.numbers, "delta": MODEL.numbers["delta"] / 2}
    assert MODEL._value(mean, MODEL.numbers, 0, 0) == 0 != MODEL._value(mean, half, 0, 0)
    moment = ANSWERS.second_moment(thm1.each_update(), V).form
    sure = replace(MODEL, clients=FLAT, weights=(F(1),), sizes=(3,), states=(State(F(1), (F(1),), (F(3),)),))
    assert sure._value(moment, sure.numbers, 0, 0) < 0
