"""An assumption is one object: the kernel's axioms, evaluated on settings and on runs of the engine with the constants
that evaluators give, are true there, of clients that never come too."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from functools import cache, partial
from pathlib import Path

import pytest

from fedtheory import Setting, algorithms
from fedtheory.algorithms import ClientRound, ServerRound
from fedtheory.assumptions import ASSUMPTIONS, AT_ONE_PLACE, constant_of
from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.papers.flics.exact.selected_runs import Followed
from fedtheory.papers.flics.examples.selection_settings import SelectionRound, State
from fedtheory.participation import Bernoulli, Fixed, Recorded
from fedtheory.proof import kernel
from fedtheory.proof.answer_goals import PAST, PLANNED, RECEIVED
from fedtheory.proof.kernel.theorems import Theorem
from tests.proof.kernel.assumed_axioms import CONSTANTS, axioms
from tests.proof.kernel.models import Exact, exact

from . import enumerated
from .atoms import ROUNDING, Round, rounds
from .enumerated import Enumerated, Tiny, of_those_that_are_there
from .table import ALGORITHMS, CLIENTS, FEDERATIONS, PROCESSES, STARTS, allowed, logistic
from .table import GROUPS as GROUPS_OF_CLIENTS

TINY = Tiny()
THREE = Tiny((1, 1, 1), (0, 2, -1))
ALONE = Tiny((2,), (1,))
DIFFERENT = Tiny((1, 3), (0, 2))
HALF, THIRDS = F(1, 2), (F(1, 3),) * 3
GROUPS = (0, 0, 1)
ROUND = SelectionRound((F(1, 4), F(3, 4)), (F(1), F(1, 2)), (State(F(1), (2, 0), (HALF, F(0))),), F(1), (F(1), F(-9)),
                       F(2), F(1), 2, F(1, 8))  # fmt: skip


def of_weights(tiny: Tiny, weights: tuple, chances: tuple, objective: tuple[F, ...] | None = None) -> Enumerated:
    algorithm = algorithms.constant_weights(**tiny.local, aggregation_weight=list(weights))
    return enumerated.of_weights(tiny, algorithm, chances, objective)


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
    "weighted, all alike": lambda: of_weights(Tiny((1, 1), (0, 0), noise=0, steps=1), (1, 1), (HALF, HALF)),
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
        TINY, Bernoulli([1, HALF]), PAST, groups=(0, 1), update="start_counts", start=1),
    "asked, a group that is never there": lambda: of_answers(
        replace(TINY, centres=(0, 100), noise=0), Fixed([0, 1]), RECEIVED),
    "asked, a group that comes never, noise": lambda: of_answers(
        replace(TINY, centres=(0, 100)), Fixed([0]), RECEIVED, groups=(0, 1), update="start_counts", start=1),
    "asked, a group away in the first round": lambda: of_answers(
        TINY, Recorded([[1, 0], [1, 1]], after="last"), RECEIVED, groups=(0, 1)),
    "asked, one client": lambda: of_answers(ALONE, Fixed([0]), PLANNED, groups=(0,), budget=HALF),
    "asked, hardly ever": lambda: of_answers(
        replace(ALONE, noise=0, steps=1), Fixed([0]), PLANNED, groups=(0,), budget=F(1, 200)),
    "asked, hardly ever, given the past": lambda: of_answers(
        replace(ALONE, noise=0, steps=1), Fixed([0]), PAST, groups=(0,), budget=F(1, 200)),
    "asked, one step": lambda: of_answers(replace(TINY, steps=1), Fixed([0, 1, 2]), PLANNED),
    "asked, everybody": lambda: of_answers(TINY, Fixed([0, 1, 2]), PLANNED, budget=5),
    **{f"a weight, p = {p}, cutoff {C}, round {t}": partial(enumerated.of_intervals, p, C, t)
       for p in (F(0), F(1, 3), F(1)) for C in (1, 3) for t in (1, 2, 7)},
    "a round": lambda: enumerated.of_a_round(ROUND),
    "a round, a group that weighs nothing": lambda: enumerated.of_a_round(
        replace(ROUND, weight=(F(0), F(1)), centres=(F(50), F(0)))),
    "a round, two states": lambda: enumerated.of_a_round(replace(ROUND, states=(
        State(F(1, 4), (0, 1), (F(0), F(1))), State(F(3, 4), (2, 0), (F(1), F(0)))))),
    "a round, concave clients": lambda: enumerated.of_a_round(replace(ROUND, curvature=F(-2))),
}  # fmt: skip


@cache
def least(name: str) -> list[tuple[Theorem, Exact]]:
    """The axioms that speak of the setting's first round, each with its least slack."""
    setting = SETTINGS[name]()
    found = ((theorem, list(setting.slacks(theorem))) for theorem in axioms())
    return [(theorem, min(slacks)) for theorem, slacks in found if slacks]


def falls(name: str) -> set[str]:
    """The rules of those that are false, computed anew."""
    return {theorem.rule for theorem, slack in least.__wrapped__(name) if slack < 0}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_axiom_is_true_with_the_constants_of_evaluators(name: str) -> None:
    found = least(name)
    assert len(found) >= 5 and [theorem for theorem, slack in found if slack < 0] == []


@pytest.mark.parametrize(("name", "slack"), [("cohorts of all", 0), ("cohorts, one client", 0), ("cohorts", F(7, 18))])
def test_the_mean_of_a_uniform_cohort_is_as_far_from_the_mean_of_all_as_its_size_says(name: str, slack: F) -> None:
    """E|mean_S g_i - g|^2 is 0 where all are drawn, or all are one. Of 2 of 3 without replacement it is a quarter of
    the mean of |g_i - g|^2, by (N - m)/(m (N - 1)); gradients 3, 1 and 4 make that 14/9."""
    assert [found for theorem, found in least(name) if theorem.rule == "expect uniform"] == [exact(slack)]


# Along runs of the engine ---------------------------------------------------------------------------------------------

ROUNDS, REPLICAS, SEED = 3, 2, 5
EVERYWHERE = {
    "smooth", "cocoercive", "convex", "descent", "interpolated", "mu <= L", "dissimilar", "optimal", "mean iterate",
    "optimal along", "lowest", "heterogeneity", "around plain mean", "bounded gradient", "weighted descent",
    "answered descent", "server descent", "server round", "bounded local gradient", "path of bounded steps",
    "variance", "server variance",
}  # fmt: skip
"""The axioms that are said of every run: noise is two-point, of one length."""
PLAIN = {"local step", "round"}
"""Those of rounds of SGD, with one size of steps, after which the participants' models are averaged."""
CERTAIN = {"stochastic gradient"}
"""Those of the mean over runs, which are pointwise where there is one run."""


def shared(algorithm: str, noise: float) -> Quadratic:
    """Clients of one group have one objective; all have one Hessian, so that the dissimilarity is finite."""
    weights = ALGORITHMS[algorithm].objective_weight(CLIENTS)
    centres = [[1.0, 0.0], [-3.0, 0.5]]
    return Quadratic.common_hessian([centres[j] for j in GROUPS_OF_CLIENTS], [1, "1/2"], noise,
                                    server_noise=noise / 2, objective_weight=weights)  # fmt: skip


def of_a_run(setting: Setting) -> dict[str, float]:
    """What evaluators say of the run, in floats; what is infinite or not known is left out."""
    needed = [n for n in (*CONSTANTS.split(), "clients") if n != "gradient_bound" or setting.deterministic]
    known = setting.quantities(ROUNDS, needed=needed)
    return {name: constant.value for name, constant in known.items() if math.isfinite(constant.value)}


@cache
def along_runs() -> tuple[Theorem, ...]:
    """The axioms that are evaluated there; what is said given a cohort and given the start once."""
    rules = EVERYWHERE | CERTAIN | PLAIN
    return tuple({(t.rule, *sorted(map(str, t.form.entries))): t for t in axioms() if t.rule in rules}.values())


def along(setting: Setting) -> tuple[set[str], list[tuple[Theorem, float]]]:
    """The rules of the axioms that are evaluated on runs of the setting; and what is false there, by how much."""
    constants, seen, false = of_a_run(setting), set(), []
    for round in rounds(setting, ROUNDS, REPLICAS, SEED):
        of_round = constants | steps_of(round)
        plain = isinstance(round.kind, ClientRound) and round.kind.plain and bool((round.counts.sum(1) > 0).all())
        for theorem in along_runs():
            letters = {n for c in theorem.form.entries.values() for n in c.names} - {"k"}
            known = letters <= of_round.keys() and round.knows(theorem)
            if known and (plain or theorem.rule not in PLAIN):
                seen.add(theorem.rule)
                slack = round.least_slack(theorem, of_round)
                false += [(theorem, slack)] if slack < -ROUNDING else []
    return seen, false


def steps_of(round: Round) -> dict[str, float]:
    if isinstance(round.kind, ServerRound):
        return {"server_lr": float(round.kind.server_lr), "K": 1.0}
    sizes = {*round.kind.training.sizes}
    return {"K": float(round.steps)} | ({"local_lr": sizes.pop()} if len(sizes) == 1 else {})


@pytest.mark.parametrize("algorithm", dict(allowed("quadratic")))
def test_axioms_are_true_along_runs_of_the_engine(algorithm: str) -> None:
    """Under every process, of which some have clients that never come; with noise, and without."""
    every = set()
    for number, process in enumerate(p for a, p in allowed("quadratic") if a == algorithm):
        noise = 1.5 * (number % 2)
        setting = Setting(shared(algorithm, noise), ALGORITHMS[algorithm], PROCESSES[process], STARTS["quadratic"])
        seen, false = along(setting)
        assert false == [], f"{process}, noise {noise}"
        every |= seen
    assert {"smooth", "convex", "dissimilar", "heterogeneity", "optimal", "lowest"} <= every
    assert ("bounded local gradient" in every) == (algorithm in ("flics", "flics, received"))


KINKS = Piecewise([[PiecewiseLinear([1, 3, 1], [-1, 2], -2)], [PiecewiseLinear([2, 1], [0], 1)]], [3, 1], "1/2")
OTHERS = {"different Hessians": FEDERATIONS["quadratic"], "logistic": logistic(gradient_noise=0.2, server_noise=0.1),
          "kinks": KINKS}  # fmt: skip


@pytest.mark.parametrize("algorithm", ["fast, probability", "safari", "average all"])
@pytest.mark.parametrize("federation", OTHERS)
def test_axioms_are_true_of_other_clients(federation: str, algorithm: str) -> None:
    fed = OTHERS[federation]
    seen, false = along(Setting(fed, ALGORITHMS[algorithm], PROCESSES["Incomplete"], start=[1.0] * fed.dimension))
    assert false == [] and {"smooth", "cocoercive", "convex", "interpolated", "mu <= L", "optimal"} <= seen


# Which assumptions are said, and how one that is not met is noticed ---------------------------------------------------

OF_NO_AXIOM = {
    "bounded_relative_dissimilarity", "constant_noise", "stationary_availability", "positively_related", "one_target",
    "server_of_target", "source_noise", "target_noise",
}  # fmt: skip
"""Kinds of which none of these axioms speaks; rules on draws and on samples name some of them."""
DEFINED = {"equal_weights", "cohort_is_a_set", "full_participation", *AT_ONE_PLACE}
"""What axioms assume that is no kind: the algorithm has it, or a kind implies it."""


def test_every_assumption_of_an_axiom_has_a_kind_and_a_meaning() -> None:
    said = {name for theorem in axioms() for name, _ in theorem.assumptions}
    assert said - DEFINED == ASSUMPTIONS.keys() - OF_NO_AXIOM and said >= DEFINED
    for theorem in axioms():
        for name, constant in theorem.assumptions:
            assert constant is None or constant == theorem.where.ring[constant_of(name)[0]] ** constant_of(name)[1]


def rules_of_axioms() -> set[str]:
    """The names that the kernel's modules give to axioms."""
    calls = (node for path in Path(kernel.__path__[0]).glob("*.py") for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))  # fmt: skip
    named = [c.args[0] for c in calls if c.func.attr in ("_fact", "_of_paths", "_descent") and c.args]
    return {name.value for name in named if isinstance(name, ast.Constant)}


def test_every_axiom_of_the_kernel_is_among_them_and_is_evaluated() -> None:
    """But for certificates of worst cases, and the laws of the kinds of round, which are tested with their rules."""
    known = {theorem.rule for theorem in axioms()}
    assert rules_of_axioms() == known - {"expect uniform"}
    evaluated = {theorem.rule for name in SETTINGS for theorem, _ in least(name)}
    assert evaluated == known


PINNED = {
    "smoothness": "cohorts", "strong_convexity": "cohorts", "gradient_noise": "cohorts", "dissimilarity": "cohorts",
    "server_noise": "servers", "weighted_noise": "everyone", "heterogeneity_gap": "everyone",
    "gradient_bound": "everyone", "share": "drawn by weight", "scale": "weighted", "error": "weighted, all alike",
    "global_gradient_bound": "weighted", "local_gradient_bound": "asked, a group that is never there",
    "mismatch": "asked, received", "proxy": "asked, hardly ever", "second_moment": "asked, hardly ever, given the past",
    "absence": "a weight, p = 1/3, cutoff 3, round 2", "cutoff": "a weight, p = 1/3, cutoff 3, round 7",
    "history": "a weight, p = 1/3, cutoff 3, round 2",
}  # fmt: skip
"""Where a constant can be no smaller (of strong convexity, no larger) than what its evaluator says."""


@pytest.mark.parametrize("letter", PINNED)
def test_a_constant_that_is_a_hundredth_less_is_noticed(letter: str) -> None:
    setting = SETTINGS[PINNED[letter]]()
    assert least(PINNED[letter]) and all(slack >= 0 for _, slack in least(PINNED[letter]))
    factor = exact(100, 99) if letter == "strong_convexity" else exact(99, 100)
    changed = replace(setting, at={**setting.at, letter: setting.at[letter] * factor})
    of_letter = [t for t in axioms() if any(letter in c.names for c in t.form.entries.values())]
    assert any(slack < 0 for theorem in of_letter for slack in changed.slacks(theorem))


def test_a_bound_of_those_that_are_there_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "asked, a group that is never there"
    alone = Setting(shared("flics", 0), ALGORITHMS["flics"], Fixed([0, 3]), STARTS["quadratic"])
    assert not any(slack < 0 for _, slack in least(name)) and along(replace(alone))[1] == []  # runs are kept by setting
    monkeypatch.setattr(Followed, "_met", of_those_that_are_there(Followed._met))
    assert falls(name) >= {"bounded local gradient", "path of bounded steps"}
    assert "bounded local gradient" in {theorem.rule for theorem, _ in along(alone)[1]}
