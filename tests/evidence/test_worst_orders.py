"""What holds for fixed participants, and for participants in turn, but not in the worst order, is refuted."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from sympy import Ge, Le, Rational

from fedtheory.algorithms import fast
from fedtheory.claims.statement import Assumption, Claim, Hypothesis, Term
from fedtheory.evidence.judge import Judgement, judge, parse
from fedtheory.evidence.refute import refute, search_further
from fedtheory.evidence.replay import replay
from fedtheory.evidence.search import ROUNDING, SearchReport, search, search_beside
from fedtheory.federations import Quadratic
from fedtheory.functionals import BEST_GAP, FINAL_SQUARED_DISTANCE
from fedtheory.papers import claim
from fedtheory.papers.registry import subject_of
from fedtheory.participation import Fixed, Phases
from fedtheory.quantities import symbols
from fedtheory.setting import Setting
from fedtheory.subjects.adversarial_orders import WorstOrders
from fedtheory.subjects.protocol import Instance
from fedtheory.subjects.quadratic_candidates import settle
from fedtheory.subjects.run_subject import PARTS, from_setting
from fedtheory.subjects.varying_steps import longest

L, mu, sigma_G, M, eta, distance = symbols(
    "smoothness", "strong_convexity", "dissimilarity", "clients", "local_lr", "initial_distance"
)
THREE = (Hypothesis("three_at_most", Le(M, 3), "test"), Hypothesis("three_at_least", Ge(M, 3), "test"))
SMALL = {"candidates": 300, "climbs": 4, "steps": 15}


def stated(cap: object, start: object, floor: object, *more: Hypothesis, lasting: bool = False) -> Claim:
    """One client a round, one step, without noise: |x_R - x*|^2 <= start |x_0 - x*|^2 + floor sigma_G^2/mu^2."""
    kinds = (Assumption("independent", kind="independent_participation", source="A5"),) if lasting else ()
    return Claim(
        id="order.thm1", edition="main", title="Any participants", source="test", functional=FINAL_SQUARED_DISTANCE,
        terms=(Term("initial", start * distance**2), Term("floor", floor * sigma_G**2 / mu**2)),
        hypotheses=(Hypothesis("step_cap", Le(eta, cap / L), "test"), *more),
        assumptions=(
            Assumption("smooth", "smoothness", "A1"), Assumption("alike", "dissimilarity", "A2"),
            Assumption("convex", "strong_convexity", "A3", from_below=True),
            Assumption("exact", "gradient_noise", "A4"), *kinds,
        ),
        algorithm="fast",
        bound={"snapshot_probability": 0, "local_steps": 1, "arbitrary_cohort": 1, "gradient_noise": 0},
    )  # fmt: skip


OVERSHOOT = Rational(19, 10)
"""A step of 1.9/L takes a client 0.9 times as far beyond its minimiser: |x_r - c| never grows, so one client alone
stays within |y_0| + 2 |c| for ever, but the two ends in turn lead to 19 times the distance of either."""

FALSE = {
    "a fixed client": stated(OVERSHOOT, 2, 8),
    "a fixed client, one that changes once, three in turn": stated(OVERSHOOT, 2, 32, *THREE),
}
TRUE = {
    "no step overshoots": stated(1, 1, 1),
    "the worst order is allowed for": stated(OVERSHOOT, 2, 2 * 361),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_holds_but_for_the_worst_order_is_refuted(name: str) -> None:
    """By an instance that is in a file, whose left side the moments in Fractions have too."""
    judgement = refute(FALSE[name])
    assert isinstance(judgement, Judgement) and judgement.refutes
    content = json.loads(json.dumps(judgement.to_json()))
    assert content["participation"]["kind"] == "phases" and "violates" not in content
    assert replay(content, FALSE[name]).refutes
    setting = replay(content, FALSE[name]).instance.point.setting
    left = setting.exact([content["rounds"]]).squared_distance[0]
    assert float(judgement.readings[0].left) == pytest.approx(left, rel=1e-9)
    fixed = replace(setting, participation=Fixed(setting.participation.sets[0]))
    assert fixed.exact([content["rounds"]]).squared_distance[0] < float(judgement.readings[0].right)


def test_without_orders_the_second_is_not_seen() -> None:
    report = search(FALSE["a fixed client, one that changes once, three in turn"], **SMALL)
    assert report.admissible > 30 and report.best.ratio <= 1 + ROUNDING


@pytest.mark.parametrize("name", TRUE)
def test_what_holds_survives(name: str) -> None:
    space = subject_of(TRUE[name]).space(TRUE[name]).beside
    report = search_beside(space, TRUE[name])
    assert report.admissible > 100 and report.lead is None
    assert isinstance(report.best.point.participation, Phases)


def test_the_bound_that_allows_for_the_worst_order_is_nearly_reached() -> None:
    """361 |c|^2 is what two clients in turn tend to: 722 survives, 300 does not."""
    slip = stated(OVERSHOOT, 2, 300)
    assert search_beside(subject_of(slip).space(slip).beside, slip).lead is not None


@pytest.mark.parametrize("ref", ["fast.thm2@sharp", "fast.thm1@sharp"])
def test_proved_claims_survive(ref: str) -> None:
    statement = claim(ref)
    space = subject_of(statement).space(statement).beside
    report = search_beside(space, statement)
    assert report.admissible > 50 and report.lead is None


def test_it_is_said_what_was_searched() -> None:
    statement = stated(1, 1, 1)
    first = search(statement, candidates=40, climbs=1, steps=2)
    report, judgement, why = search_further(statement, first)
    assert judgement is None and why == "" and report.lead is None
    assert "; participants in the worst order of 6 to 48 stages, by dynamic programming" in report.searched
    assert report.left_out.endswith("; orders that react to noise")
    assert report.candidates > first.candidates + 150 and report.admissible > first.admissible + 100
    assert report.best.ratio >= first.best.ratio


def test_where_no_order_is_looked_for() -> None:
    for statement in (claim("fast.thm1@main"), stated(1, 1, 1, lasting=True), claim("fast.lemma2"), claim("fast.eq29")):
        assert subject_of(statement).space(statement).beside is None
    drawn = replace(stated(1, 1, 1), bound={"snapshot_probability": 1})
    assert subject_of(drawn).space(drawn).beside is None
    assert isinstance(subject_of(stated(1, 1, 1)).space(stated(1, 1, 1)).beside, WorstOrders)


# Instances whose participants change ---------------------------------------------------------------------------------


def changing(process: Phases, rounds: int = 100, **parameters) -> tuple[Claim, Instance]:
    statement = stated(1, 1, 1, lasting=False)
    statement = replace(statement, bound={}, hypotheses=())
    algorithm = fast(**({"cohort": 2, "local_lr": Fraction(1, 5), "snapshot_probability": Fraction(1, 2)} | parameters))
    fed = Quadratic([[1, 2], [1, 2], [1, 2]], [[1, 0], [-2, 1], [0, 3]], gradient_noise=1)
    setting = Setting(fed, algorithm, process, start=[2, -1])
    return statement, Instance(statement.ref, from_setting(statement, setting, rounds, PARTS["fast"]))


PROCESSES = {
    "then": Phases([[0], [1], [2]], [4, 6, 2]),
    "in turn": Phases([[0, 1], [2, 1]], [2, 4], cyclic=True),
}


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("rounds", [1, 5, 13, 40])
@pytest.mark.parametrize("snapshots", [{"snapshot_probability": Fraction(1, 3)},
                                       {"snapshot_period": 2, "snapshot_probability": None}])  # fmt: skip
def test_left_sides_are_those_of_exact_moments(name: str, rounds: int, snapshots: dict) -> None:
    given = {key: value for key, value in snapshots.items() if value is not None}
    if "snapshot_period" in given:
        given |= {"snapshot_probability": None}
    statement, instance = changing(PROCESSES[name], rounds, **given)
    left = judge(instance, statement=statement).readings[0].left
    exact = instance.point.setting.exact([rounds], exact=True).squared_distance[0]
    assert float(left) == pytest.approx(float(exact), rel=1e-12)


def test_a_long_run_in_turn() -> None:
    statement, instance = changing(PROCESSES["in turn"], 10**9)
    left = judge(instance, statement=statement).readings[0].left
    assert float(left) == pytest.approx(instance.point.setting.exact([10**9]).squared_distance[0], rel=1e-9)


def test_files_of_them() -> None:
    statement, instance = changing(PROCESSES["in turn"])
    data = json.loads(json.dumps(instance.to_json()))
    assert parse(data, statement).point == instance.point
    for key, value, message in (
        ("sets", [[0, 1], [2]], "all of one size"),
        ("sets", [], "sets = "),
        ("sets", [[0, 1], "x"], "sets = 'x'"),
        ("lengths", [2], "lengths = "),
        ("lengths", [0, 1], "lengths = "),
        ("cyclic", 1, "cyclic = 1: allowed is true or false"),
        ("sets", [[0, 7], [2, 1]], "7"),
    ):
        wrong = json.loads(json.dumps(data))
        wrong["participation"][key] = value
        with pytest.raises(ValueError, match=message):
            parse(wrong, statement)


def test_participants_of_one_law_do_not_change() -> None:
    """An instance whose participants change is none of a claim that assumes one law of theirs."""
    statement, instance = changing(PROCESSES["then"])
    assuming = statement.assuming("independent_participation")
    with pytest.raises(ValueError, match="assumes independent_participation"):
        judge(Instance(assuming.ref, instance.point), statement=assuming)


def test_a_change_within_a_period_is_undecided() -> None:
    statement, instance = changing(Phases([[0], [1]], [3, 1]), snapshot_period=2, snapshot_probability=None)
    judgement = judge(instance, statement=statement)
    assert not judgement.refutes
    assert "change within a period" in judgement.readings[0].undecided


def test_a_search_report_keeps_several_leads() -> None:
    broken = stated(4, 1, 1)
    report = search(broken, **SMALL)
    assert isinstance(report, SearchReport) and len(report.leads) > 1
    assert report.leads[0] == report.best
    assert all(found.ratio > 1 for found in report.leads)
    assert len({found.candidate.family for found in report.leads[1:]}) == len(report.leads[1:])


@pytest.mark.slow
def test_where_all_rounds_are_looked_at_no_order_is_longer_than_can_be_followed() -> None:
    """Steps of 1e-8/L take some 1e8 rounds to forget the start."""
    least = replace(stated(1, 1, 8), functional=BEST_GAP, terms=(Term("initial", L * distance**2),))
    space = WorstOrders(least)
    slow = next(replace(candidate, step_share=1e-8) for candidate in space.structured())
    setting = settle(least, slow)
    assert setting is not None
    rounds = [horizons.max(initial=0) for _, horizons in space._processes(setting)]
    assert rounds and max(rounds) <= longest(least)
