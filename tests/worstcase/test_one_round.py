"""Quantities of one round: against PEPit client by client, and exact moments of quadratics from below."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.algorithms import fast
from fedtheory.federations import Quadratic
from fedtheory.functionals import NEGATED_ARBITRARY_PROGRESS, NEGATED_FULL_PROGRESS, SQUARED_GRADIENT, SQUARED_MOVEMENT
from fedtheory.moments.one_round import one_round
from fedtheory.participation import Fixed
from fedtheory.setting import Setting
from fedtheory.worstcase import (
    Arbitrary,
    Cohort,
    Problem,
    local_sgd,
    plan_of,
    solved,
    strongly_convex,
)

from .reference import Clients

MU, ZETA, LR = 0.1, 0.7, 0.3
LEFTS = {each.name: each for each in
         (SQUARED_MOVEMENT, NEGATED_FULL_PROGRESS, NEGATED_ARBITRARY_PROGRESS, SQUARED_GRADIENT)}  # fmt: skip


def ours(combination: dict, who=None, clients: int | None = 3, **changes):
    plan = plan_of(local_sgd(local_lr="3/10", local_steps=2, participants=who), 1, clients=clients)
    functions = strongly_convex(smoothness=1, strong_convexity="1/10")
    options = {"dissimilarity_at_optimum": Fraction("7/10"), "everywhere": False} | changes
    return solved(Problem(functions, plan, "one_round", combination=combination, **options))


class Round(Clients):
    """One round of two local steps, whose quantities PEPit knows client by client."""

    def __init__(self, clients: int) -> None:
        super().__init__(clients, MU, ZETA)
        self.points, self.sums, self.ends = [], [], []
        for f in self.functions:
            middle = self.start - LR * f.gradient(self.start)
            self.points.append(middle)
            self.sums.append(f.gradient(self.start) + f.gradient(middle))
            self.ends.append(middle - LR * f.gradient(middle))

    def over(self, values, who) -> object:
        chosen = [values[i] for i in who]
        return sum(chosen[1:], chosen[0]) / len(chosen)


@pytest.mark.parametrize("name", ["squared_movement", "full_pseudogradient", "negated_full_progress", "arbitrary_drift",
                                  "negated_arbitrary_progress", "arbitrary_pseudogradient", "arbitrary_excess",
                                  "objective_decrease", "cohort_pseudogradient", "squared_gradient"])  # fmt: skip
def test_agrees_with_pepit(name: str) -> None:
    """Of three clients, the adversary's set and the cohort have two."""
    theirs, two = Round(3), (0, 1)
    far, all_ = theirs.start - theirs.optimum, (0, 1, 2)
    everyone = sum(theirs.functions[1:], theirs.functions[0]) / 3
    pairs = [theirs.over(theirs.sums, who) for who in ((0, 1), (0, 2), (1, 2))]
    moved = [theirs.over(theirs.ends, who) - theirs.start for who in ((0, 1), (0, 2), (1, 2))]
    end = theirs.over(theirs.ends, two)
    metric = {
        "squared_movement": lambda: sum((v**2 for v in moved[1:]), moved[0] ** 2) / 3,
        "full_pseudogradient": lambda: theirs.over(theirs.sums, all_) ** 2,
        "cohort_pseudogradient": lambda: sum((v**2 for v in pairs[1:]), pairs[0] ** 2) / 3,
        "arbitrary_pseudogradient": lambda: theirs.over(theirs.sums, two) ** 2,
        "negated_full_progress": lambda: -theirs.over(theirs.sums, all_) * far,
        "negated_arbitrary_progress": lambda: -2 * LR * (theirs.over(theirs.sums, two) * far),
        "arbitrary_drift": lambda: theirs.over([(p - theirs.start) ** 2 for p in theirs.points], two),
        "arbitrary_excess": lambda: theirs.over([f(theirs.start) - f(theirs.optimum) for f in theirs.functions], two),
        "objective_decrease": lambda: everyone(theirs.start) - everyone(end),
        "squared_gradient": lambda: everyone.gradient(theirs.start) ** 2,
    }[name]()
    who = Cohort(2) if name in ("squared_movement", "cohort_pseudogradient") else Arbitrary(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "negated_full_progress":  # at the start's distance, where PEPit has "at most"
            theirs.problem.set_initial_condition(far**2 >= 1)
        expected = theirs.worst(metric)
    found = ours({name: Fraction(1)}, who)
    assert found.status == "solved" and found.kind == "exact"
    assert found.value == pytest.approx(expected, rel=1e-6)


def test_a_combination_agrees_with_the_metric_of_that_name() -> None:
    plan = plan_of(local_sgd(local_lr="3/10", local_steps=2, participants=Cohort(2)), 1, clients=4)
    functions = strongly_convex(smoothness=2, strong_convexity="1/5")
    given = {"dissimilarity_at_optimum": Fraction(1, 2), "gradient_noise": Fraction(1, 4)}
    direct = solved(Problem(functions, plan, **given))
    twice = solved(Problem(functions, plan, "one_round", combination={"final_squared_distance": Fraction(2)}, **given))
    assert twice.value == pytest.approx(2 * direct.value, rel=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("q", [0, 1])
def test_no_quadratic_federation_exceeds_it(seed: int, q: int) -> None:
    """Exact moments, with noise: any combination of a round's quantities is at most its worst case."""
    draw = np.random.default_rng([seed, q])
    curvature, offsets = Fraction(int(draw.integers(1, 11)), 10), [Fraction(int(b), 4) for b in draw.integers(-8, 9, 4)]
    offsets = [b - sum(offsets) / 4 for b in offsets]
    federation = Quadratic.common_hessian(offsets, curvature, Fraction(1, 3))
    algorithm = fast(snapshot_probability=q, cohort=2, local_lr=Fraction(3, 10), local_steps=3)
    start = Fraction(int(draw.integers(-8, 0)), 4)
    found = one_round(Setting(federation, algorithm, Fixed([0, 1]), start=start))
    known = found.quantities() | {name: found.left(each) for name, each in LEFTS.items()}
    names = ["squared_movement", "squared_gradient", "full_pseudogradient", "objective_decrease"]
    names += ["cohort_pseudogradient", "negated_full_progress"] if q else ["arbitrary_pseudogradient"]
    names += [] if q else ["negated_arbitrary_progress"]
    names = [name for name in names if not (q and name == "objective_decrease")]
    combination = {name: Fraction(int(c), 3) for name, c in zip(names, draw.integers(-3, 4, len(names)), strict=True)}
    plan = plan_of(algorithm, 1, clients=4, arbitrary_cohort=2)
    worst = solved(Problem(
        strongly_convex(smoothness=1, strong_convexity="1/10"), plan, "one_round", combination=combination,
        distance=-start, gradient_noise=Fraction(1, 3), dissimilarity_at_optimum=curvature * max(map(abs, offsets)),
    ))  # fmt: skip
    assert worst.status == "solved"
    assert sum(float(c) * float(known[name]) for name, c in combination.items()) <= worst.value * (1 + 1e-6) + 1e-9
