"""Rounds that add updates with weights: every theorem, also those on the way, evaluated exactly on small models; and
what the kernel and the checker refuse."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, partial

import pytest

from fedtheory.papers.fedau.proofs import thm1_thm2
from fedtheory.papers.fedau.proofs.thm1_thm2 import AXIOMS, ROUNDS, WHERE, E, Q, c, d, eta, k, n, w
from fedtheory.proof import checker
from fedtheory.proof.kernel.axioms import ITERATE, NEXT, NOISE, START_POINT
from fedtheory.proof.kernel.client_means import own_share
from fedtheory.proof.kernel.saved_theorems import saved
from fedtheory.proof.kernel.sealed import ancestry
from fedtheory.proof.kernel.theorems import Theorem, combine
from fedtheory.proof.kernel.weighted_rounds import CENTRE, ROUND_NOISE, WeightedRounds

from .models import Client, Exact, valued
from .models import exact as F
from .weighted_models import WeightedModel

COMPOSED = (
    thm1_thm2.local_drift, thm1_thm2.last_drift, partial(thm1_thm2.descent, False), partial(thm1_thm2.descent, True),
    thm1_thm2.constant_weights, thm1_thm2.bounded, thm1_thm2.bounded_corrected, thm1_thm2.nearly_optimal,
    thm1_thm2.around_by_weight, thm1_thm2.local_slow_drift, thm1_thm2.last_slow_drift,
)  # fmt: skip
ROUND = Client(F(1), F(-2), F(0), F(-1)), Client(F(2), F(1), F(1, 2), F(1))
HALVES = (F(1, 2),) * 2
MODEL = WeightedModel(ROUND, HALVES, (F(1, 4),), 2, F(1), size=F(1, 60), chances=(F(1, 2), F(3, 4)),
                      omegas=(F(2), F(1)), weighted_step=F(1, 16))  # fmt: skip
MODELS = {
    "plain": MODEL,
    "right weights": replace(MODEL, omegas=(F(2), F(4, 3)), weighted_step=F(1, 200)),
    "implied": replace(MODEL, chances=(F(1, 2), F(1)), weights=(F(1, 3), F(2, 3)), omegas=(F(4, 3), F(4, 3)),
                       weighted_step=F(1, 100)),
    "convex": replace(MODEL, clients=(Client(F(1), F(2), F(0), F(-1)), Client(F(2), F(1), F(1, 2), F(1)))),
    "another objective": replace(MODEL, weights=(F(1, 5), F(4, 5)), noise=F(10)),
    "one client, who may be absent": replace(MODEL, clients=ROUND[:1], weights=(F(1),), chances=(F(1, 4),),
                                             omegas=(F(4),), weighted_step=F(1, 100)),
    "one client, who never comes": replace(MODEL, clients=ROUND[:1], weights=(F(1),), chances=(F(0),), omegas=(F(1),)),
    "a client that weighs nothing, one that always comes": replace(MODEL, weights=(F(0), F(1)), chances=(F(0), F(1)),
                                                                   omegas=(F(3), F(2)), steps=1, noise=F(3)),
    "one step, three clients": replace(
        MODEL, clients=(*ROUND, Client(F(1), F(1), F(1), F(3))), weights=(F(1, 3),) * 3, steps=1, size=F(1, 30),
        chances=(F(1, 2), F(1), F(1, 3)), omegas=(F(2), F(1), F(3)), weighted_step=F(1, 8)),
}  # fmt: skip
PARAMETERS = {"local_lr": "eta", "weighted_lr": "c", "clients": "n", "error": "E", "scale": "Q",
              "least_weight": "w"}  # fmt: skip
OF_PLAIN = {"bounded_dissimilarity", "bounded_gradient"}


@cache
def theorems() -> list[Theorem]:
    return list({id(t): t for made in COMPOSED for t in ancestry(made())}.values())


def least(of: Iterable[Theorem], model: WeightedModel) -> list[tuple[Theorem, Exact]]:
    """The least slack of each theorem, or minus the largest distance from 0 of an equality."""
    found = []
    for theorem in of:
        given = {
            PARAMETERS[name]: valued(value, model.numbers) for name, value in theorem.parameters if name in PARAMETERS
        }
        if any(model.numbers[name] != value for name, value in given.items()):
            continue  # of another algorithm
        slacks = list(model.slacks(theorem))
        if slacks:
            found.append((theorem, min(-abs(s) if theorem.equality else s for s in slacks)))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_every_theorem_holds(name: str) -> None:
    found = least(theorems(), MODELS[name])
    assert len(found) >= 40 and all(slack >= 0 for _, slack in found)


def test_every_composed_theorem_is_evaluated() -> None:
    evaluated = {id(t) for model in MODELS.values() for t, _ in least([make() for make in COMPOSED], model)}
    assert {id(make()) for make in COMPOSED} <= evaluated


VIOLATIONS = {
    "uncorrelated_noise": replace(MODEL, law="common", noise=F(10)),
    "unbiased_noise": replace(MODEL, law="biased"),
    "bounded_noise": replace(MODEL, claimed=(("sigma", F(1, 2)),)),
    "bounded_dissimilarity": replace(MODEL, claimed=(("d", F(1, 2)),)),
    "smooth": replace(MODEL, claimed=(("L", F(1, 2)),)),
    "bounded_gradient": replace(MODEL, claimed=(("G", F(1, 100)),)),
    "independent_participation": replace(MODEL, draw="after noise", noise=F(4)),
}


@pytest.mark.parametrize("assumption", VIOLATIONS)
def test_only_what_names_a_violated_assumption_fails(assumption: str) -> None:
    failed = [t for t, slack in least(theorems(), VIOLATIONS[assumption]) if slack < 0]
    assert failed
    assert all(assumption in {name.removesuffix("_of_plain_mean") for name, _ in t.assumptions} for t in failed)


x, noise = AXIOMS.vector(START_POINT), AXIOMS.vector(NOISE)
EACH, AROUND, g_start = thm1_thm2.each_sum(True), ROUNDS.around_plain_mean(d**2), AXIOMS.gradient(START_POINT)
REFUSED = {
    "steps that change": lambda: WeightedRounds(WHERE, eta / (k + 1), c, n),
    "participation against the round's noise": lambda: ROUNDS.participation(AXIOMS.vector(ROUND_NOISE)),
    "participation against what it makes": lambda: ROUNDS.participation(AXIOMS.vector(NEXT)),
    "noise against a path": lambda: ROUNDS.noise(AXIOMS.vector(ITERATE)),
    "the error of weights from a bound of another vector": lambda: ROUNDS.error_of_weights(AXIOMS.variance(c), E),
    "from a bound that differs between clients": lambda: ROUNDS.error_of_weights(thm1_thm2._SGD.rough_path, E),
    "from a bound of another algorithm": lambda: WeightedRounds(WHERE, 2 * eta, c, n).scale_of_weights(EACH, Q),
    "an own share of what is no client's": lambda: own_share(
        AROUND, AXIOMS.vector(CENTRE), AXIOMS.vector(CENTRE), E, WHERE),
    "a weight above 1": lambda: own_share(AROUND, g_start, AXIOMS.vector(CENTRE), E, WHERE),
    "around another centre": lambda: own_share(AROUND, g_start, x, w, thm1_thm2.around_by_weight().where),
    "around a client's own": lambda: own_share(AROUND, g_start, g_start, w, thm1_thm2.around_by_weight().where),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    with pytest.raises(ValueError):
        REFUSED[what]()


def test_an_own_share_is_from_one_bound_for_all_clients() -> None:
    made = thm1_thm2.around_by_weight()
    centre, where = AXIOMS.vector(CENTRE), made.where
    (around,) = made.premises
    apart = combine([(around, 1)], where=where, context="start", squares=[(g_start, "", 1)])
    assert own_share(around, g_start, centre, w, where).form == made.form
    with pytest.raises(ValueError, match="D and c the same for all of them"):
        own_share(apart, g_start, centre, w, where)


def test_a_share_by_its_least_weight() -> None:
    """Of two clients, it is an equality for the one that weighs less."""
    two = replace(MODELS["another objective"], claimed=(("d", F(1)),))
    assert [slack for _, slack in least([thm1_thm2.around_by_weight()], two)] == [0]


@pytest.mark.parametrize(("rule", "name"), [("error of weights", "error"), ("scale of weights", "scale")])
def test_the_checker_knows_whose_parameter_an_argument_is(rule: str, name: str) -> None:
    data = json.loads(json.dumps(saved(thm1_thm2.descent(True))))
    (line,) = (one for one in data["theorems"] if one["rule"] == rule)
    line["arguments"][name] = {"top": line["arguments"][name]["bottom"], "bottom": line["arguments"][name]["bottom"]}
    with pytest.raises(checker.Wrong, match="a parameter and its argument"):
        checker.check(data)
