"""An assumption is one object: the kernel's axioms, evaluated on settings and on runs of the engine with the constants
that evaluators give, are true there, of clients that never come too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F

import pytest

from fedtheory import algorithms
from fedtheory.participation import Bernoulli, Fixed, Recorded
from fedtheory.proof.kernel.assumptions import axioms
from fedtheory.proof.kernel.theorems import Theorem
from fedtheory.proof.of_answers import PAST, PLANNED, RECEIVED
from fedtheory.subjects.selection.examples import SelectionRound, State

from . import enumerated
from .enumerated import Enumerated, Tiny

TINY = Tiny()
THREE = Tiny((1, 1, 1), (0, 2, -1))
ALONE = Tiny((2,), (1,))
DIFFERENT = Tiny((1, 3), (0, 2))
HALF, THIRDS = F(1, 2), (F(1, 3),) * 3
GROUPS = (0, 0, 1)


ROUND = SelectionRound((F(1, 4), F(3, 4)), (F(1), F(1, 2)), (State(F(1), (2, 0), (HALF, F(0))),), F(1), (F(1), F(-9)),
                       F(2), F(1), 2, F(1, 8))  # fmt: skip


def weighted(weights: tuple, **options: object) -> Callable[[Tiny], object]:
    return lambda tiny: algorithms.constant_weights(**tiny.local, aggregation_weight=list(weights), **options)


def of_weights(tiny: Tiny, weights: tuple, chances: tuple, objective: tuple[F, ...] | None = None) -> Enumerated:
    return enumerated.of_weights(tiny, weighted(weights)(tiny), chances, objective)


def of_answers(tiny: Tiny, who: object, law: str, groups: tuple[int, ...] = GROUPS, **options: object) -> Enumerated:
    return enumerated.of_answers(tiny, groups, who, law, **{"budget": 2, **options})


SETTINGS: dict[str, Callable[[], Enumerated]] = {
    "cohorts": lambda: enumerated.of_cohorts(THREE, 2, 1, HALF),
    "cohorts of all": lambda: enumerated.of_cohorts(TINY, 2, 2, HALF),
    "cohorts, different clients": lambda: enumerated.of_cohorts(DIFFERENT, 1, 1, HALF),
    "cohorts, no snapshot": lambda: enumerated.of_cohorts(TINY, 1, 1, 0),
    "cohorts, snapshots alone": lambda: enumerated.of_cohorts(TINY, 1, 1, 1),
    "cohorts, one client": lambda: enumerated.of_cohorts(ALONE, 1, 1, HALF),
    "cohorts, one step": lambda: enumerated.of_cohorts(replace(THREE, steps=1), 2, 1, HALF),
    "cohorts, no noise": lambda: enumerated.of_cohorts(replace(TINY, noise=0), 1, 1, HALF),
    "servers": lambda: enumerated.of_servers(replace(TINY, server_noise=2), HALF),
    "servers alone": lambda: enumerated.of_servers(replace(DIFFERENT, server_noise=2), 0),
    "servers never": lambda: enumerated.of_servers(TINY, 1),
    "everyone": lambda: enumerated.of_all_clients(DIFFERENT, "everyone"),
    "everyone, weights": lambda: enumerated.of_all_clients(replace(DIFFERENT, weights=(F(1, 4), F(3, 4))), "everyone"),
    "everyone is one": lambda: enumerated.of_all_clients(ALONE, "everyone"),
    "everyone, one step": lambda: enumerated.of_all_clients(replace(DIFFERENT, steps=1), "everyone"),
    "drawn by weight": lambda: enumerated.of_all_clients(replace(DIFFERENT, weights=(F(1, 4), F(3, 4))), "by weight"),
    "drawn uniformly": lambda: enumerated.of_all_clients(replace(THREE, steps=1, weights=THIRDS), "uniformly"),
    "all are drawn": lambda: enumerated.of_all_clients(TINY, "uniformly"),
    "weighted": lambda: of_weights(TINY, (2, 1), (HALF, F(3, 4))),
    "weighted, one never comes, one always": lambda: of_weights(TINY, (3, 2), (F(0), F(1))),
    "weighted, nobody comes": lambda: of_weights(TINY, (1, 1), (F(0), F(0))),
    "weighted, one client": lambda: of_weights(ALONE, (4,), (F(1, 4),)),
    "weighted, one step": lambda: of_weights(replace(THREE, steps=1), (2, 1, 3), (HALF, F(1), F(1, 3))),
    "weighted, an objective": lambda: of_weights(TINY, (2, 1), (HALF, F(1)), (F(1, 4), F(3, 4))),
    "weighted, an objective with a 0": lambda: of_weights(TINY, (2, 1), (HALF, F(1)), (F(0), F(1))),
    "estimated": lambda: enumerated.of_weights(
        TINY, algorithms.fedau(**TINY.local, cutoff=3), (HALF, F(1, 4))),
    "asked": lambda: of_answers(TINY, Fixed([0, 1, 2]), PLANNED),
    "asked, received": lambda: of_answers(TINY, Fixed([0, 1, 2]), RECEIVED),
    "asked, the start counts": lambda: of_answers(TINY, Fixed([0, 1, 2]), RECEIVED, update="start_counts", start=1),
    "asked, planned, the start counts": lambda: of_answers(
        TINY, Fixed([0, 1, 2]), PLANNED, update="start_counts", start=1),
    "asked, given the past": lambda: of_answers(
        TINY, Bernoulli([1, HALF, 1]), PAST, groups=(0, 0, 1), update="start_counts", start=1),
    "asked, a group that is never there": lambda: of_answers(
        replace(TINY, centres=(0, 100), noise=0), Fixed([0, 1]), RECEIVED),
    "asked, a group that comes never, noise": lambda: of_answers(
        replace(TINY, centres=(0, 100)), Fixed([0]), RECEIVED, groups=(0, 1), update="start_counts", start=1),
    "asked, a group away in the first round": lambda: of_answers(
        TINY, Recorded([[1, 0], [1, 1]], after="last"), RECEIVED, groups=(0, 1)),
    "asked, one client": lambda: of_answers(ALONE, Fixed([0]), PLANNED, groups=(0,), budget=HALF),
    "asked, one step": lambda: of_answers(replace(TINY, steps=1), Fixed([0, 1, 2]), PLANNED),
    "asked, everybody": lambda: of_answers(TINY, Fixed([0, 1, 2]), PLANNED, budget=5),
    "a round": lambda: enumerated.of_a_round(ROUND),
    "a round, a group that weighs nothing": lambda: enumerated.of_a_round(
        replace(ROUND, weight=(F(0), F(1)), centres=(F(50), F(0)))),
    "a round, two states": lambda: enumerated.of_a_round(replace(ROUND, states=(
        State(F(1, 4), (0, 1), (F(0), F(1))), State(F(3, 4), (2, 0), (F(1), F(0)))))),
    "a round, concave clients": lambda: enumerated.of_a_round(replace(ROUND, curvature=F(-2))),
}  # fmt: skip


def falls(setting: Enumerated) -> list[Theorem]:
    """The axioms that are false in the setting's first round."""
    return [theorem for theorem in axioms() if any(slack < 0 for slack in setting.slacks(theorem))]


@pytest.mark.parametrize("name", SETTINGS)
def test_every_axiom_is_true_with_the_constants_of_evaluators(name: str) -> None:
    assert falls(SETTINGS[name]()) == []
