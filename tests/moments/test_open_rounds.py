"""A round whose participants are left open is, for each cohort, the round that the step does with that cohort."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction as F
from itertools import product
from typing import Any

import pytest

from fedtheory.algorithms import aggregation, built_in_steps, server_step
from fedtheory.algorithms.algorithm import OwnRound
from fedtheory.algorithms.built_in_steps import Amplifying, step_of
from fedtheory.moments import open_rounds
from fedtheory.moments.affine_numbers import NotLinear
from fedtheory.moments.open_rounds import ONE, OWN, SOMEBODY, Factor, Open, parts_of
from fedtheory.moments.participation_laws import COUNT, PRESENT, SHARE
from fedtheory.moments.step_trace import TRAINING, traces

CLIENTS = 3
WEIGHTS = (F(3, 2), F(2, 5), F(4))
PLAIN, MEAN = server_step.Plain(), aggregation.AverageParticipating()
ROUNDS: dict[str, tuple[aggregation.Aggregation, Any]] = {
    "the participants' mean": (MEAN, PLAIN),
    "the mean of all": (aggregation.AverageAll(), PLAIN),
    "shares": (aggregation.ObjectiveShares((F(1, 2), F(1, 3), F(1, 6))), PLAIN),
    "weights": (aggregation.Constant(WEIGHTS), PLAIN),
    "known statistics": (aggregation.Known((F(1, 2), F(1, 3), F(1))), PLAIN),
    "MIFA": (aggregation.MIFA(), PLAIN),
    "MIFA that stays": (aggregation.MIFA(False), PLAIN),
    "FedVarp": (aggregation.FedVarp(), PLAIN),
    "FedVarp that steps": (aggregation.FedVarp(True), PLAIN),
    "momentum": (MEAN, server_step.Momentum(F(2), F(1, 3))),
    "momentum of weights": (aggregation.Constant(WEIGHTS), server_step.Momentum(F(2), F(1, 3))),
    "on the way": (MEAN, Amplifying(F(5, 2), False)),
    "the last of a period": (aggregation.AverageAll(), Amplifying(F(5, 2), True)),
}
LOCAL = (("local_lr", F(1)), ("local_steps", F(1)), ("proximal", F(0)), ("global_lr", F(3, 4)))

Sums = dict[tuple[tuple[str, int], tuple[str, int]], F]


def with_this_cohort(name: str, counts: tuple[int, ...]) -> Sums:
    """What the step adds, by what it is added to and the vector."""
    step, memory, numbers = step_of(*ROUNDS[name], CLIENTS)  # type: ignore[misc]
    given = tuple((key, tuple(map(F, each)) if isinstance(each, list) else F(each)) for key, each in numbers.items())
    (trace,) = traces(OwnRound(step, "step", tuple(memory.items()), (*LOCAL, *given)), counts, 1)
    asked = [(each.of, i) for each in trace.questions for i in each.asked]
    found: Sums = defaultdict(F)
    for to, of in trace.returned.items():
        for row in range(len(of.factors)):
            for vector, number in zip([*trace.known, ("1", 0), *asked], trace.factors(to, row), strict=True):
                found[(to, row), vector] += number - int(vector == (to, row))
    return {key: number for key, number in found.items() if number}


def from_open(name: str, counts: tuple[int, ...]) -> Sums:
    step, memory, numbers = step_of(*ROUNDS[name], CLIENTS)  # type: ignore[misc]
    values = next((each for each in numbers.values() if isinstance(each, list)), [F(1)] * CLIENTS)
    given = tuple((key, () if isinstance(each, list) else F(each)) for key, each in numbers.items())
    shown, somebody = (*LOCAL[-1:], *given), F(int(any(counts)))
    found: Sums = defaultdict(F)
    for part in parts_of(step, tuple(memory.items()), shown, CLIENTS):
        for i in range(CLIENTS) if part.of_client else [OWN]:
            of = {ONE: F(1), SOMEBODY: somebody, COUNT: F(counts[i]), PRESENT: F(int(counts[i] > 0))}
            of[SHARE] = F(counts[i], max(1, sum(counts)))
            to, vector = ((each, i if client == OWN else 0) for each, client in (part.to, part.vector))
            found[to, vector] += part.coefficient * of[part.factor.family] * (values[i] if part.factor.weighed else 1)
    return {key: number for key, number in found.items() if number}


COHORTS = list(product((0, 1, 2), repeat=CLIENTS))


@pytest.mark.parametrize("name", ROUNDS)
def test_an_open_round_is_that_of_each_cohort(name: str) -> None:
    for counts in COHORTS:
        assert from_open(name, counts) == with_this_cohort(name, counts), counts


TIMES = Factor.times


def present_is_share(self: Factor, other: Factor) -> Factor:
    """As if a share were 1 where there is a participant."""
    found = TIMES(self, other)
    return found._replace(family=PRESENT) if {self.family, other.family} == {SHARE, PRESENT} else found


def anybody_is_certain(self: Factor, other: Factor) -> Factor:
    found = TIMES(self, other)
    return found._replace(family=ONE) if found.family == SOMEBODY else found


def anybody_for_shares(self: Factor, other: Factor) -> Factor:
    found = TIMES(self, other)
    return found._replace(family=SOMEBODY) if {self.family, other.family} == {SHARE, SOMEBODY} else found


RELAPSES = {"the participants' mean": present_is_share, "momentum": anybody_for_shares, "FedVarp": anybody_is_certain}


@pytest.mark.parametrize("name", RELAPSES)
def test_a_wrong_product_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Factor, "times", RELAPSES[name])
    parts_of.cache_clear()
    with pytest.raises(AssertionError):
        test_an_open_round_is_that_of_each_cohort(name)
    parts_of.cache_clear()


def test_answers_of_the_absent_are_none() -> None:
    """A step that forgets to multiply by who takes part adds the participants' ways all the same."""

    def step(x, memory, round, *, local_lr, local_steps, proximal, global_lr):  # type: ignore[no-untyped-def]
        return x + global_lr * round.train(x, local_lr, local_steps, proximal).sum(1), {}

    (part,) = parts_of(step, (), (("global_lr", F(2)),), 4)
    assert part == (("x", open_rounds.ALL), (TRAINING, OWN), Factor(PRESENT, OWN), F(2), True)


def shares_twice(x, memory, round, **numbers):  # type: ignore[no-untyped-def]
    return x + (round.share * round.share * round.train(x, 1)).sum(1), {}


def first_client(x, memory, round, **numbers):  # type: ignore[no-untyped-def]
    return x + round.train(x, 1)[:, 0], {}


def by_the_present(x, memory, round, **numbers):  # type: ignore[no-untyped-def]
    return x + round.train(x, 1).sum(1) / round.present.sum(1), {}


@pytest.mark.parametrize(
    ("step", "why"),
    [(shares_twice, "two numbers of who"), (first_client, "one client of a crowd"), (by_the_present, "by a number of")],
)
def test_what_is_no_sum_of_such_parts_is_refused(step: Any, why: str) -> None:
    with pytest.raises(NotLinear, match=rf"test_open_rounds.py, line \d+: .*{why}"):
        parts_of(step, (), (), 3)


def test_sums_of_numbers_of_who_takes_part() -> None:
    share, here = (Open({Factor(family, OWN): F(1)}) for family in (SHARE, PRESENT))
    assert (here - 1) * share == Open({}) and not (here - 1) * share
    assert (1 - here) * (1 - here) == 1 - here
    assert 2 * share - share == share and share != here


def test_each_step_that_closes_is_looked_at() -> None:
    steps = {step_of(*each, CLIENTS)[0].__name__ for each in ROUNDS.values()}  # type: ignore[index]
    written = {"fedavg", "fedavg_of_all", "fedavg_by_shares", "weighted", "mifa", "fedvarp", "fedavgm", "amplifying"}
    assert steps == written and all(hasattr(built_in_steps, name) for name in written)
