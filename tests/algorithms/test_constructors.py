"""What the constructors make of their arguments, what they refuse, and what settings refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
import torch

from fedtheory import algorithms as algos
from fedtheory.algorithms import Algorithm, AverageAll, ClientRound, FedAUWeights, Known, Momentum, Plain
from fedtheory.federations import Logistic, Quadratic, random_quadratic
from fedtheory.participation import (
    Bernoulli,
    Cyclic,
    DayNightGroups,
    Fixed,
    Incomplete,
    Markov,
    Participation,
    Phases,
    PoissonGroups,
    RandomPatterns,
    Recorded,
    Uniform,
)
from fedtheory.setting import Setting

FEDERATION = random_quadratic(3, 2)
LR = {"local_lr": "1/10"}


def test_parts_are_what_was_asked_for() -> None:
    kind = algos.fedau(**LR, local_steps=3, global_lr="3/2", cutoff=math.inf).round
    assert kind == ClientRound(3, Fraction(1, 10), aggregation=FedAUWeights(math.inf), server=Plain(Fraction(3, 2)))
    assert algos.fedau(**LR).round.aggregation == FedAUWeights(50)
    first, second = algos.fast(**LR, cohort=2, snapshot_period=2, proximal=1, momentum="1/2").kinds
    assert second == ClientRound(1, Fraction(1, 10), None, Fraction(1), server=Momentum(Fraction(1), Fraction(1, 2)))
    assert first == replace(second, uniform=Uniform(2))
    assert all(kind.plain for kind in algos.fast(**LR, cohort=2, snapshot_period=2).kinds)
    assert algos.fedavg(**LR).plain and not algos.fedavg(**LR, global_lr=2).plain and not kind.plain
    flics = algos.flics_avg(**LR, groups=[1, 0, 1], budget=[1, 2], divided=True).round
    assert flics.selection.group_weight == (Fraction(1, 3), Fraction(2, 3)) and flics.aggregation.divided
    assert [flics.selection.budget_of(r) for r in range(3)] == [1, 2, 1]


def test_quantities_are_those_that_claims_speak_of() -> None:
    assert algos.fedau(**LR, cutoff=7).quantities() == {"local_steps": 1, "local_lr": 0.1, "global_lr": 1, "cutoff": 7}
    assert "cutoff" not in algos.fedau(**LR, cutoff=math.inf).quantities()
    for other in (
        algos.fedprox(**LR, proximal=1),
        algos.fedavgm(**LR, momentum="1/2"),
        algos.fedadam(**LR, global_lr=1),
        algos.fast(**LR, cohort=1, snapshot_period=2, momentum="1/2"),
        algos.fast(**LR, cohort=1, snapshot_period=2, proximal="1/2"),
    ):
        assert other.quantities() == {}


def test_a_cohort_is_known_only_where_all_rounds_have_one_size() -> None:
    def known(who: Participation, algorithm: Algorithm) -> object:
        found = Setting(FEDERATION, algorithm, who).quantities()
        return found["arbitrary_cohort"].value if "arbitrary_cohort" in found else None

    assert known(Fixed([0, 2]), algos.fedavg(**LR)) == 2
    assert known(Bernoulli([1, 1, 0]), algos.fedavg(**LR)) == 2
    assert known(Bernoulli(["1/2", 1, 0]), algos.fedavg(**LR)) is None
    assert known(Bernoulli([0, 0, 0]), algos.fedavg(**LR)) is None
    assert known(Fixed([0, 1, 2]), algos.naive(**LR, groups=[0, 0, 1], budget=1)) is None


def test_quantities_of_plain_fast_are_not_given_to_its_relatives() -> None:
    needed = ("peak_full_pseudogradient", "objective_decrease", "smoothness")
    plain = algos.fast(**LR, cohort=3, snapshot_period=2)
    for algorithm, number in ((plain, 3), (replace(plain, momentum=Fraction(1, 2)), 1)):
        known = Setting(FEDERATION, algorithm, Fixed([0])).quantities(rounds=5, needed=needed)
        assert len(known) == number


# What constructors refuse.

FLICS = {**LR, "groups": [0, 1], "budget": 1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: algos.fedavg(local_lr=0), r"^local_lr = 0"),
        (lambda: algos.fedavg(**LR, local_steps=0), r"^local_steps = 0"),
        (lambda: algos.fedavg(**LR, global_lr=0), r"^global_lr = 0: allowed is a finite number > 0"),
        (lambda: algos.fedavg(**LR, global_lr="x"), r"^global_lr = 'x': allowed is a finite number"),
        (lambda: algos.fedavg(**LR, average="some"), r"^average = 'some': allowed is one of participating, all"),
        (lambda: algos.fedavg(**LR, budget=0), r"^budget = 0: allowed is a finite number > 0"),
        (lambda: algos.fedadam(**LR, global_lr=1, budget=[1, "a"]), r"^budget\[1\] = 'a'"),
        (lambda: algos.fedprox(**LR, proximal=-1), r"^proximal = -1: allowed is a finite number >= 0"),
        (lambda: algos.fedavgm(**LR, momentum=1), r"^momentum = 1: allowed is \[0, 1\)"),
        (lambda: algos.fedadam(**LR, global_lr=1, beta1=1), r"^beta1 = 1"),
        (lambda: algos.fedadam(**LR, global_lr=1, beta2=-1), r"^beta2 = -1"),
        (lambda: algos.fedadam(**LR, global_lr=1, epsilon=0), r"^epsilon = 0"),
        (lambda: algos.fedamplify(**LR, global_lr=1, period=0), r"^period = 0: allowed is an integer >= 1"),
        (lambda: algos.fedamplify(**LR, global_lr=1, period=1.5), r"^period = 1.5"),
        (lambda: algos.fast(**LR, cohort=1, snapshot_period=1, momentum=2), r"^momentum = 2"),
        (lambda: algos.fast(**LR, cohort=1, snapshot_period=1, proximal=-2), r"^proximal = -2"),
        (lambda: algos.fedau(**LR, cutoff=0), r"^cutoff = 0"),
        (lambda: algos.fedau(**LR, cutoff=2.5), r"^cutoff = 2.5"),
        (lambda: algos.known_statistics(**LR, participation_probability=[1, 0]),
         r"^participation_probability\[1\] = 0: allowed is \(0, 1\]"),
        (lambda: algos.known_statistics(**LR, participation_probability=["3/2"]),
         r"^participation_probability\[0\] = 3/2"),
        (lambda: algos.known_statistics(**LR, participation_probability=0.5),
         r"^participation_probability = 0.5: allowed"),
        (lambda: algos.constant_weights(**LR, aggregation_weight=[1, 0]), r"^aggregation_weight\[1\] = 0"),
        (lambda: algos.constant_weights(**LR, aggregation_weight=[]), r"^aggregation_weight = \[\]"),
        (lambda: algos.given_weights(**LR, aggregation_weight=[[1, 2], [1, -1]]),
         r"^aggregation_weight\[1\]\[1\] = -1"),
        (lambda: algos.given_weights(**LR, aggregation_weight=[]), r"^aggregation_weight = \[\]: allowed is a list of"),
        (lambda: algos.given_weights(**LR, aggregation_weight=[1, 2]), r"^aggregation_weight\[0\] = 1: allowed"),
        (lambda: algos.afl(**LR, variant="cd"), r"^variant = 'cd': allowed is one of cross_silo, cross_device"),
        (lambda: algos.flics_avg(**FLICS | {"groups": [0, 2]}), r"^groups = \[0, 2\]: allowed are the numbers 0, 1"),
        (lambda: algos.flics_avg(**FLICS, budget_after="never"), r"^budget_after = 'never': allowed is one of repeat"),
        (lambda: algos.weighted_groups(groups=[0, 1], estimate=[1], **LR), r"^estimate: there are 1, allowed is one"),
        (lambda: algos.weighted_groups(groups=[0], estimate=[0], **LR), r"^estimate\[0\] = 0: allowed is a finite"),
        (lambda: algos.flics_avg(**FLICS | {"groups": [0.5]}), r"^groups = \[0.5\]"),
        (lambda: algos.flics_avg(**FLICS | {"groups": []}), r"^groups = \[\]"),
        (lambda: algos.flics_avg(**FLICS | {"budget": 0}), r"^budget = 0"),
        (lambda: algos.flics_avg(**FLICS | {"budget": [1, -1]}), r"^budget\[1\] = -1"),
        (lambda: algos.flics_avg(**FLICS, group_weight=[1]),
         r"^group_weight: there are 1, allowed is one for each of 2"),
        (lambda: algos.flics_avg(**FLICS, group_weight=["1/2", "1/3"]), r"^group_weight sums to 0.8333"),
        (lambda: algos.flics_avg(**FLICS, group_weight=[1, 0]), r"^group_weight\[1\] = 0"),
        (lambda: algos.flics_avg(**FLICS, counts="no"), r"^counts = 'no': allowed is one of planned, received"),
        (lambda: algos.flics_avg(**FLICS, update="no"), r"^update = 'no'"),
        (lambda: algos.flics_avg(**FLICS, answers="no"), r"^answers = 'no'"),
        (lambda: algos.flics_avg(**FLICS, start=-1), r"^start = -1"),
        (lambda: algos.flics_avg(**FLICS, update="printed"),
         r"^start = 0: allowed is a number > 0 with update = 'printed'"),
        (lambda: algos.naive(**FLICS, answers="no"), r"^answers = 'no'"),
    ],
)  # fmt: skip
def test_what_constructors_refuse(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# What settings refuse, before anything runs.

KNOWN = algos.known_statistics(**LR)
GROUPS = [0, 0, 1]


@pytest.mark.parametrize(
    ("algorithm", "who", "message"),
    [
        (KNOWN, Phases([[0], [1]], [1, 1], cyclic=True), r"^sets = .*: the moments of a round differ between phases"),
        (KNOWN, DayNightGroups(GROUPS, [1, 1], [2, 1]), r"^participation = DayNightGroups: its rounds differ in law"),
        (KNOWN, Recorded([[1, 1, 1], [1, 0, 1]]), r"its rounds differ"),
        (KNOWN, RandomPatterns.real_random([[1], [0]], 3), r"^participation = RandomPatterns"),
        (KNOWN, Fixed([0, 2]), r"^participation_probability\[1\] = 0: allowed is a number > 0; who never takes part"),
        (KNOWN, Incomplete(Uniform(1), absent=[2]), r"^participation_probability\[2\] = 0"),
        (algos.known_statistics(**LR, participation_probability=[1, 1]), Fixed([0]),
         r"^participation_probability: there are 2, allowed is one for each of 3 clients"),
        (algos.constant_weights(**LR, aggregation_weight=[1] * 4), Fixed([0]), r"^aggregation_weight: there are 4"),
        (algos.given_weights(**LR, aggregation_weight=[[1] * 3, [1] * 4]), Fixed([0]),
         r"^aggregation_weight\[1\]: there are 4, allowed is one for each of 3"),
        (algos.flics_avg(**FLICS), Fixed([0]), r"^groups: there are 2, allowed is one for each of 3 clients"),
        (algos.naive(**FLICS), Fixed([0]), r"^groups: there are 2"),
        (algos.fast(**LR, cohort=4, snapshot_period=1, momentum="1/2"), Fixed([0]), r"^cohort = 4"),
    ],
)  # fmt: skip
def test_what_settings_refuse(algorithm: Algorithm, who: Participation, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Setting(FEDERATION, algorithm, who)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (Markov(["1/4", "1/2", 1], ["1/8", "1/2", "1/2"]), ["1/4", "1/2", 1]),
        (Cyclic(["1/4", "1/2", 1], period=4), ["1/4", "1/2", 1]),
        (Bernoulli(["1/4", "1/2", 1]), ["1/4", "1/2", 1]),
        (Uniform(2), ["2/3"] * 3),
        (Incomplete(Markov(["1/4", "1/2", 1], ["1/8", "1/2", "1/2"]), absent=[]), ["1/4", "1/2", 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_known_statistics_of_processes(who: Participation, expected: list) -> None:
    assert KNOWN.round.bound(who, 3).aggregation == Known(tuple(Fraction(p) for p in expected))
    assert who.stationary(3).tolist() == [Fraction(p) for p in expected]
    assert Setting(FEDERATION, KNOWN, who).algorithm == KNOWN


def test_stationary_probabilities_in_floats_are_taken_as_they_are() -> None:
    who = PoissonGroups(GROUPS, rates=[1.0, 0.5])
    assert KNOWN.round.bound(who, 3).aggregation.participation_probability == tuple(who.expected(3, 0))


@dataclass(frozen=True)
class Alternating(Algorithm):
    """Two kinds of round of one's own."""

    both: tuple[ClientRound, ClientRound]
    period = 2
    share = Fraction(1, 2)

    @property
    def kinds(self) -> tuple[ClientRound, ClientRound]:
        return self.both

    def with_share(self, share: Fraction) -> Algorithm:
        return self

    def quantities(self) -> dict[str, float]:
        return {}


def test_kinds_of_round_may_differ_in_parts_that_forget() -> None:
    plain = algos.fedavg(**LR).round
    momentum = algos.fedavgm(**LR, momentum="1/2").round
    mean = replace(plain, aggregation=AverageAll())
    assert Setting(FEDERATION, Alternating((plain, mean)), Fixed([0])).simulate(replicas=1, rounds=3).replicas == 1
    for both in ((plain, momentum), (algos.fedau(**LR).round, algos.fedau(**LR, cutoff=2).round)):
        with pytest.raises(ValueError, match="allowed are the same parts in all of them"):
            Setting(FEDERATION, Alternating(both), Fixed([0]))


def test_known_statistics_need_to_know_who_takes_part() -> None:
    kind = replace(KNOWN.round, selection=algos.naive(**LR, groups=GROUPS, budget=1).round.selection)
    with pytest.raises(ValueError, match=r"^aggregation = Known: allowed without a selection only"):
        Setting(FEDERATION, replace(KNOWN, round=kind), Fixed([0, 1, 2]))


def test_group_weights_need_an_estimate() -> None:
    flics = algos.flics_avg(**LR, groups=GROUPS, budget=1)
    for selection in (None, algos.naive(**LR, groups=GROUPS, budget=1).round.selection):
        with pytest.raises(ValueError, match=r"^selection = .*: allowed with GroupWeights is a VarSelection"):
            Setting(FEDERATION, replace(flics, round=replace(flics.round, selection=selection)), Fixed([0]))


def test_no_moments_of_a_plain_average_for_what_is_none() -> None:
    for kind in (algos.fedavgm(**LR, momentum="1/2").round, algos.fedprox(**LR, proximal=1).round, KNOWN.round):
        with pytest.raises(ValueError, match="allowed is a round of SGD whose models are averaged"):
            kind.weights(Uniform(1), 3)


@pytest.mark.parametrize(
    "federation", [FEDERATION, Logistic([torch.ones(2, 2).numpy()] * 3, [[0, 1]] * 3, 0.1)], ids=["q", "l"]
)
def test_half_precision_is_refused(federation: Quadratic) -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.int64):
        with pytest.raises(ValueError, match=r"^dtype = torch\..*: allowed is 'float32', 'float64', torch"):
            Setting(federation, algos.fedavg(**LR), Fixed([0])).simulate(replicas=1, rounds=1, dtype=dtype)


def test_budgets_that_take_turns_and_budgets_whose_last_one_stays() -> None:
    selections = [
        algos.flics_avg(groups=[0], budget=[3, 2], budget_after=after, **LR).round.selection
        for after in ("repeat", "last")
    ]
    assert [[s.budget_of(t) for t in range(4)] for s in selections] == [[3, 2, 3, 2], [3, 2, 2, 2]]


def test_an_objective_is_weighed_as_the_algorithm_weighs_it() -> None:
    fed = Quadratic.common_hessian([0, 1, 2], objective_weight=["1/4", "1/4", "1/2"])
    groups = {"groups": [0, 0, 1], "budget": 1, **LR}
    for make in (algos.flics_avg, algos.naive):
        Setting(fed, make(**groups, group_weight=["1/2", "1/2"]), Fixed([0]))
        assert make(**groups).objective_weight(3) == (Fraction(1, 3),) * 3
        with pytest.raises(ValueError, match="objective_weight: allowed is the weighting"):
            Setting(fed, make(**groups), Fixed([0]))
    with pytest.raises(ValueError, match="objective_weight: allowed is the weighting"):
        Setting(fed, algos.fedavg(**LR), Fixed([0]))
