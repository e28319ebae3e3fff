"""Instances of claims about selection: files, and what they refuse."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction as F
from functools import cache
from importlib import import_module

import numpy as np
import pytest

from fedtheory.evidence.confirm import refuting_point
from fedtheory.evidence.judge import judge, parse
from fedtheory.evidence.replay import ReplayError, replay
from fedtheory.evidence.search import search
from fedtheory.papers.flics.counterexamples import COUNTEREXAMPLES
from fedtheory.papers.flics.examples.selection_points import SelectionPoint, stated
from fedtheory.papers.flics.examples.selection_search import Selections
from fedtheory.papers.flics.examples.selection_settings import SelectionRound, SelectionRun, State, Trace
from fedtheory.subjects.protocol import Instance

CLAIMS = {
    c.ref: c
    for m in ("lemmas", "thm1", "eq7", "thm2")
    for c in import_module(f"fedtheory.papers.flics.statements.{m}").EDITIONS
    if c.functional.scope == "selection"
}
FALLING = list(COUNTEREXAMPLES)
RUNS = ("flics.thm1@main", "flics.thm1@appendix", "flics.cor1_1@main")
QUICK = [ref for ref in FALLING if ref not in RUNS[1:]]
FEW_ROUNDS = {RUNS[0]: 12, RUNS[1]: 12, RUNS[2]: 900}
"""Of runs: so many that the claim still falls, under some readings."""


def constructed(ref: str) -> Instance:
    point = COUNTEREXAMPLES[ref](CLAIMS[ref])
    if ref in RUNS:
        point = replace(point, point=replace(point.point, rounds=FEW_ROUNDS[ref]))
    return Instance(ref, point)


@cache
def content(ref: str) -> dict:
    return json.loads(json.dumps(judge(constructed(ref), statement=CLAIMS[ref]).to_json()))


@pytest.mark.parametrize("ref", FALLING)
def test_a_file_holds_the_instance(ref: str) -> None:
    instance = constructed(ref)
    assert parse(json.loads(json.dumps(instance.to_json())), CLAIMS[ref]) == instance


@pytest.mark.parametrize("ref", CLAIMS)
def test_what_a_search_draws_is_an_instance(ref: str) -> None:
    space, rng = Selections(CLAIMS[ref]), np.random.default_rng(0)
    drawn = [c for c in (space.draw(rng) for _ in range(10)) if c is not None]
    moved = [space.perturb(c, rng, 0.3) for c in drawn]
    for candidate in filter(None, [*drawn, *moved]):
        candidate.check(CLAIMS[ref])
        data = Instance(ref, candidate).to_json()
        assert parse(json.loads(json.dumps(data)), CLAIMS[ref]).point == candidate
    assert len(drawn) >= 5


@pytest.mark.parametrize("ref", QUICK)
def test_a_file_replays(ref: str) -> None:
    assert replay(content(ref), CLAIMS[ref]).instance == constructed(ref)


def test_the_corollary_replays_and_tells_the_steps() -> None:
    ref = "flics.cor1_1@main"
    data = content(ref)
    chosen = {entry["name"]: float(entry["value"]) for entry in data["chosen"]}
    assert chosen == pytest.approx({"local_lr": 1 / (30 * 288), "global_lr": 24}, rel=1e-11)
    assert data["selection"]["local_lr"] == "chosen"
    assert parse(data, CLAIMS[ref]).point.point.local_lr is None


@pytest.mark.parametrize(("ref", "path", "value", "error"), [
    ("flics.thm1@main", ("selection", "budget", 0), "3", ValueError),
    ("flics.thm1@main", ("selection", "start"), "2", ReplayError),
    ("flics.thm1@main", ("selection", "process", "initial"), ["1/3", "2/3"], ReplayError),
    ("flics.thm1@main", ("selection", "process", "initial"), ["1/3", "1/3"], ValueError),
    ("flics.thm1@main", ("selection", "process", "transitions"), [["1/2", "1/2"], ["1/4", "3/4"]], ValueError),
    ("flics.thm1@main", ("selection", "process", "transitions"), [["1", "0"], ["0", "1"]], ValueError),
    ("flics.thm1@main", ("selection", "process", "transitions"), [["1", "0"]], ValueError),
    ("flics.thm1@main", ("selection", "process", "counts"), [], ValueError),
    ("flics.thm1@main", ("selection", "process", "counts"), [[1, 3], [3, 10**9]], ValueError),
    ("flics.thm1@main", ("selection", "process", "counts"), [[1, 1]] * 9, ValueError),
    ("flics.thm1@main", ("selection", "process"), [], ValueError),
    ("flics.thm1@main", ("constants", "estimate_error"), "1/2", ReplayError),
    ("flics.thm1@main", ("constants", "descent_constant"), "1/2", ReplayError),
    ("flics.thm1@main", ("selection", "rounds"), 3, ReplayError),
    ("flics.thm1@main", ("left",), "0.9", ReplayError),
    ("flics.thm1@main", ("selection", "local_steps"), 0, ValueError),
    ("flics.thm1@main", ("selection", "local_lr"), "chosen", ValueError),
    ("flics.thm1@main", ("selection", "global_lr"), "-1", ValueError),
    ("flics.thm1@main", ("selection", "availability"), [[1, 1]], ValueError),
    ("flics.thm1@main", ("selection", "federation", "centres"), ["0"], ValueError),
    ("flics.thm1@main", ("selection", "group_weight"), ["1/2"], ValueError),
    ("flics.lemma6@main", ("selection", "estimate"), ["1", "1"], ReplayError),
    ("flics.lemma6@main", ("selection", "estimate"), ["1", "0"], ValueError),
    ("flics.lemma6@main", ("selection", "states", 0, "rates"), ["1", "2"], ValueError),
    ("flics.lemma6@main", ("selection", "states", 0, "probability"), "1/2", ValueError),
    ("flics.lemma6@main", ("constants", "least_participation"), "0", ValueError),
    ("flics.lemma6@main", ("constants", "relative_error"), "1", ValueError),
    ("flics.eq7.e@main", ("selection", "probability"), "1/10", ReplayError),
    ("flics.eq7.e@main", ("selection", "probability"), "2", ValueError),
    ("flics.eq7.e@main", ("selection", "clients"), 100, ValueError),
    ("flics.thm2@main", ("selection", "budget"), ["1", "1"], ValueError),
    ("flics.thm2@main", ("constants", "least_participation"), "2/3", ValueError),
])  # fmt: skip
def test_a_changed_file_is_refused(ref: str, path: tuple, value: object, error: type) -> None:
    data = copy.deepcopy(content(ref))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(error):
        replay(data, CLAIMS[ref])


def test_a_point_of_another_kind_is_refused() -> None:
    one, other = "flics.lemma6@main", "flics.thm1@main"
    point = COUNTEREXAMPLES[one](CLAIMS[one])
    with pytest.raises(ValueError, match="allowed is a SelectionRun, not a SelectionRound"):
        point.check(CLAIMS[other])


def test_what_an_instance_states() -> None:
    assert {ref: stated(claim) for ref, claim in CLAIMS.items() if "corrected" in ref and stated(claim)} == {
        "flics.lemma4@corrected": ("estimate_error", "least_participation"),
        "flics.eq7.e@corrected": ("relative_error",),
    }
    assert stated(CLAIMS["flics.thm1@main"]) == ("estimate_error", "least_participation", "descent_constant")


@pytest.mark.parametrize("changes", [
    {"weight": (F(1, 2),)}, {"estimate": (F(0),)}, {"centres": ()}, {"curvature": F(0)}, {"local_lr": F(0)},
    {"states": ()}, {"states": (State(F(1), (1,), (F(2),)),)}, {"states": (State(F(1), (6000,), (F(1),)),)},
])  # fmt: skip
def test_a_round_with_numbers_out_of_bounds(changes: dict) -> None:
    point = COUNTEREXAMPLES["flics.lemma5@main"](CLAIMS["flics.lemma5@main"]).point
    assert isinstance(point, SelectionRound)
    with pytest.raises(ValueError, match="allowed"):
        replace(point, **changes)


@pytest.mark.parametrize("changes", [
    {"centres": ()}, {"curvature": F(-1)}, {"local_lr": F(2)}, {"gradient_noise": F(-1)},
])  # fmt: skip
def test_a_run_with_numbers_out_of_bounds(changes: dict) -> None:
    point = COUNTEREXAMPLES["flics.thm1@main"](CLAIMS["flics.thm1@main"]).point
    assert isinstance(point, SelectionRun)
    with pytest.raises(ValueError, match="allowed"):
        replace(point, **changes)


def test_a_trace_with_numbers_out_of_bounds() -> None:
    for parts in (((F(1),), (), ()), ((F(1),), ((1,),), (F(-1),)), ((F(1),), ((-1,),), (F(1),)),
                  ((F(1),), ((1, 1),), (F(1),))):  # fmt: skip
        with pytest.raises(ValueError, match="allowed"):
            Trace(*parts)


def test_a_find_is_an_instance_with_short_numbers() -> None:
    claim = CLAIMS["flics.lemma6@main"]
    found = search(claim, candidates=40, climbs=1, steps=5).best
    judgement = refuting_point(claim, found)
    assert judgement.refutes
    assert isinstance(judgement.instance.point, SelectionPoint)
    assert judgement.instance.point == found.candidate


def test_the_same_seed_gives_the_same_search() -> None:
    claim = CLAIMS["flics.thm2@corrected"]
    one, two = (search(claim, candidates=20, climbs=1, steps=5, seed=3) for _ in range(2))
    assert one.best.candidate == two.best.candidate
    assert one.best.ratio == two.best.ratio


def test_lemmas_4_and_5_fall_where_epsilon_is_the_error() -> None:
    """Both sides by hand: s = 1/2, s^ = 3/4, so that epsilon = 1/4, epsilon^ = 3/2 and E Delta = (2/3) (-1/10)."""
    s, estimate, step = F(1, 2), F(3, 4), F(1, 10)
    epsilon = abs(s - estimate)
    inflation, mean = 1 + epsilon / s, -s / estimate * step
    expected = {
        "flics.lemma4@main": {
            "epsilon^": abs(mean + inflation * step),
            "1 + epsilon^": abs(mean + (1 + inflation) * step),
        },
        "flics.lemma5@main": {None: mean + inflation * step},
    }
    for ref, left in expected.items():
        point = COUNTEREXAMPLES[ref](CLAIMS[ref])
        assert point.constants == {"estimate_error": epsilon, "least_participation": s}
        found = judge(Instance(ref, point))
        assert found.refutes
        for reading in found.readings:
            assert float(reading.left) == pytest.approx(float(left[reading.reading.get("factor")]), rel=1e-15)
            right = 0 if "lemma4" in ref else 15 * inflation * step**3
            assert float(reading.right) == pytest.approx(float(right), abs=1e-17)


@pytest.mark.parametrize("ref", ["flics.lemma4@main", "flics.lemma5@main"])
@pytest.mark.parametrize(("stated_error", "failing"), [(F(1, 5), "estimates"), (F(1, 2), "error_itself")])
def test_another_epsilon_than_the_error_is_no_instance(ref: str, stated_error: F, failing: str) -> None:
    """Below the error it is no bound, above it an equality in epsilon falls trivially; without the hypothesis that says
    so either would refute the lemma."""
    point = COUNTEREXAMPLES[ref](CLAIMS[ref])
    other = replace(point, constants=point.constants | {"estimate_error": stated_error})
    found = judge(Instance(ref, other))
    assert not any(reading.refutes for reading in found.readings) and found.readings[0].failing == [failing]
    fewer = tuple(h for h in CLAIMS[ref].hypotheses if h.name != failing)
    assert judge(Instance(ref, other), statement=replace(CLAIMS[ref], hypotheses=fewer)).refutes


def test_the_error_of_other_lemmas_is_computed_too() -> None:
    for ref in ("flics.lemma6@main", "flics.lemma7@main"):
        point = COUNTEREXAMPLES[ref](CLAIMS[ref])
        round_, s = (
            point.point,
            [sum(z.probability * z.rates[j] for z in point.point.states) for j in range(len(point.point.weight))],
        )
        assert point.constants["estimate_error"] == max(abs(a - b) for a, b in zip(s, round_.estimate, strict=True))
        assert point.constants["least_participation"] == min(s)


def test_hoeffdings_step_falls_for_constants_that_do_not_depend_on_the_group() -> None:
    """By hand: a client that answers with probability r is silent for t rounds with probability (1 - r)^t, and then the
    estimate is 0. With the constant 4/(n r^2) of the group there is no such instance."""
    ref = "flics.eq7.e@main"
    point = COUNTEREXAMPLES[ref](CLAIMS[ref])
    r, t = point.point.probability, point.point.rounds
    uniform, of_the_group = judge(Instance(ref, point)).readings
    assert uniform.refutes and float(uniform.left) >= float((1 - r) ** t) > 0.99
    assert not of_the_group.refutes and "no single instance decides it" in of_the_group.undecided
    enough = CLAIMS[ref].evaluate(
        reading={"constants of the O(.)": "may depend on the problem"}, relative_error=0.5, failure_probability=0.1,
        hidden_constant=4 / 0.3**2, rounds=410, group_clients=1, response_probability=0.3,
    )  # fmt: skip
    assert enough.hypotheses_hold is True
