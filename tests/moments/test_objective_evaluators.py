"""Gaps, averages of iterates and gradients along runs, against the enumeration of everything that can happen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from flint import arb, fmpq

from fedtheory.algorithms import fast, fedavg, fedprox, safari
from fedtheory.federations import Quadratic
from fedtheory.federations.logistic import Logistic
from fedtheory.functionals import (
    AVERAGE_GAP,
    AVERAGE_ITERATE_DISTANCE,
    AVERAGES,
    BEST_GAP,
    FINAL_GAP,
    FINAL_SQUARED_GRADIENT,
    GAP_OF_AVERAGE,
    GAP_OF_WEIGHTED_AVERAGE,
    WEIGHTED_AVERAGE_GAP,
)
from fedtheory.moments.averages import MOST_ROUNDS, of_run
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT, Question, Unserved, left, quantity
from fedtheory.moments.expected_errors import expected_models
from fedtheory.moments.objective_evaluators import FOLLOWED, gap_of_heterogeneity, largest_squared_gradient
from fedtheory.participation import Cyclic, Fixed, Markov, Phases, Uniform
from fedtheory.setting import Setting

F = Fraction
ALL = (FINAL_GAP, AVERAGE_GAP, BEST_GAP, GAP_OF_AVERAGE, WEIGHTED_AVERAGE_GAP, GAP_OF_WEIGHTED_AVERAGE,
       AVERAGE_ITERATE_DISTANCE, FINAL_SQUARED_GRADIENT)  # fmt: skip
SLOPES, CENTRES, SIGMA, ETA, K, ROUNDS, START = (F(1), F(2), F(1, 2)), (F(0), F(3), F(-2)), F(1, 2), F(1, 3), 2, 2, F(5)
FED = Quadratic([[h] for h in SLOPES], [[c] for c in CENTRES], SIGMA)
RANDOM = Setting(FED, fedavg(local_lr=ETA, local_steps=K), Uniform(2), START)


@cache
def enumerated() -> tuple[tuple[Fraction, tuple[Fraction, ...], Fraction], ...]:
    """(probability, x_0..x_R) of every run, cohorts and signs of the noise written out; and, of each, the squared
    stochastic gradients that ``largest`` looks at are computed by ``steps``."""
    return tuple(_runs(F(1), (START,)))


def _runs(chance: Fraction, path: tuple[Fraction, ...]) -> Iterator[tuple[Fraction, tuple[Fraction, ...], Fraction]]:
    if len(path) > ROUNDS:
        yield chance, path, F(0)
        return
    for cohort in combinations(range(3), 2):
        for signs in product((-1, 1), repeat=2 * K):
            ends = []
            for place, i in enumerate(cohort):
                x = path[-1]
                for k in range(K):
                    x -= ETA * (SLOPES[i] * (x - CENTRES[i]) + signs[place * K + k] * SIGMA)
                ends.append(x)
            yield from _runs(chance / 3 / 2 ** (2 * K), (*path, sum(ends) / 2))


X_STAR = sum(h * c for h, c in zip(SLOPES, CENTRES, strict=True)) / sum(SLOPES)
H = sum(SLOPES) / 3


def mean(value) -> Fraction:
    return sum((chance * value(path) for chance, path, _ in enumerated()), F(0))


def gap(x: Fraction) -> Fraction:
    """F(x) - F(x*), from the definition of F."""

    def objective(at: Fraction) -> Fraction:
        return sum(h * (at - c) ** 2 / 2 for h, c in zip(SLOPES, CENTRES, strict=True)) / 3

    return objective(x) - objective(X_STAR)


@pytest.mark.parametrize("average", AVERAGES)
def test_every_functional_is_what_enumeration_says(average: str) -> None:
    which = range(1, ROUNDS + 1) if average == "r = 1..R" else range(ROUNDS)
    w = sum(r + 1 for r in which)
    expected = {
        FINAL_GAP: mean(lambda x: gap(x[ROUNDS])),
        FINAL_SQUARED_GRADIENT: mean(lambda x: (H * (x[ROUNDS] - X_STAR)) ** 2),
        AVERAGE_GAP: mean(lambda x: sum(gap(x[r]) for r in which) / ROUNDS),
        BEST_GAP: min(mean(lambda x, r=r: gap(x[r])) for r in which),
        GAP_OF_AVERAGE: mean(lambda x: gap(sum(x[r] for r in which) / ROUNDS)),
        WEIGHTED_AVERAGE_GAP: mean(lambda x: sum((r + 1) * gap(x[r]) for r in which) / w),
        GAP_OF_WEIGHTED_AVERAGE: mean(lambda x: gap(sum((r + 1) * x[r] for r in which) / w)),
        AVERAGE_ITERATE_DISTANCE: mean(lambda x: (sum(x[r] for r in which) / ROUNDS - X_STAR) ** 2),
    }
    assert set(expected) == set(ALL) and len(set(expected.values())) >= 6  # errors fall here, so the last one is best
    for functional, value in expected.items():
        question = Question(RANDOM, ROUNDS, {"average": average}, EXACT)
        assert left(functional, question) == value, functional.name
        assert left(functional, replace(question, numbers=FLOAT)) == pytest.approx(float(value), rel=1e-12)
        assert left(functional, replace(question, numbers=BALL)).contains(arb(fmpq(*value.as_integer_ratio())))


def lifted(setting: Setting, rounds: int, average: str) -> Fraction:
    """E|mean of iterates - x*|^2 by another way: E<y_s, y_t> = E<y_s, E[y_t | x_s]> for every pair, from settings that
    start anew at x_s; D = 1 and participants without a memory."""
    which = list(range(1, rounds + 1) if average == "r = 1..R" else range(rounds))
    x_star = setting.federation.exact_optimum[0]
    first, second = (expected_models(replace(setting, start=s), [*range(rounds + 1)], exact=True)[:, 0] for s in (0, 1))
    slope = second - first  # E x_t is affine in x_0
    moments = setting.exact([*range(rounds + 1)], exact=True)
    means = expected_models(setting, [*range(rounds + 1)], exact=True)[:, 0]
    total = F(0)
    for s in which:
        for t in which:
            early, late = min(s, t), max(s, t)
            a, b = slope[late - early], first[late - early]  # E[x_t | x_s] = a x_s + b
            square = moments.squared_distance[early]
            total += a * square + (a * x_star + b - x_star) * (means[early] - x_star)
    return total / len(which) ** 2


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("process", [Uniform(2), Uniform(2, True), Fixed([1])])
def test_the_error_of_the_average_iterate_by_pairs(process, average: str) -> None:
    setting = replace(RANDOM, participation=process)
    value = of_run(setting, AVERAGE_ITERATE_DISTANCE, [9], True, average)[0]
    assert value == lifted(setting, 9, average)
    assert of_run(setting, AVERAGE_ITERATE_DISTANCE, [9], False, average)[0] == pytest.approx(float(value), rel=1e-12)


def test_participants_with_a_memory_are_followed() -> None:
    """A cycle of period 2 where each client is there every other round, by its two equally likely phases."""
    fed = Quadratic([[1], [1]], [[0], [4]])
    setting = Setting(fed, fedavg(local_lr="1/2"), Cyclic(["1/2", "1/2"], 2), start=1)

    def run(phases: tuple[int, int], rounds: int) -> Fraction:
        x, seen = F(1), []
        for r in range(rounds):
            here = [i for i in (0, 1) if (r + phases[i]) % 2 == 0]
            x = sum(x - (x - 4 * i) / 2 for i in here) / len(here) if here else x
            seen.append(x)
        return (sum(seen) / rounds - 2) ** 2

    expected = sum(run(phases, 5) for phases in product((0, 1), repeat=2)) / 4
    assert of_run(setting, AVERAGE_ITERATE_DISTANCE, 5, exact=True)[0] == expected
    phased = replace(setting, participation=Phases([[0], [1]], [1, 1], cyclic=True))
    x, seen = F(1), []
    for r in range(5):
        x -= (x - 4 * (r % 2)) / 2
        seen.append(x)
    assert of_run(phased, AVERAGE_ITERATE_DISTANCE, 5, exact=True)[0] == (sum(seen) / 5 - 2) ** 2


def test_plain_gaps_reach_far_and_the_followed_ones_say_how_far() -> None:
    assert of_run(RANDOM, FINAL_GAP, [10**8])[0] == pytest.approx(of_run(RANDOM, AVERAGE_GAP, [10**8])[0], rel=1e-6)
    with pytest.raises(Unserved, match=rf"best_gap: rounds = {MOST_ROUNDS + 1}: allowed are at most {MOST_ROUNDS}"):
        left(BEST_GAP, Question(RANDOM, MOST_ROUNDS + 1))
    with pytest.raises(Unserved, match="rounds contain 0: an average needs >= 1"):
        left(GAP_OF_AVERAGE, Question(RANDOM, [0, 3]))
    with pytest.raises(Unserved, match="the rounds are not given"):
        left(FINAL_GAP, Question(RANDOM))


def test_the_best_round_need_not_be_the_last() -> None:
    """4, -8, 16, ...: every round doubles the distance."""
    growing = Setting(Quadratic([[1]], [[0]]), fedavg(local_lr=3), Fixed([0]), start=4)
    assert of_run(growing, BEST_GAP, [1, 3], True).tolist() == [32, 32]
    assert of_run(growing, BEST_GAP, [1, 3], True, "r = 0..R-1").tolist() == [8, 8]
    assert of_run(growing, GAP_OF_AVERAGE, [2000])[0] == np.inf  # and beyond the floats there is no number


def test_the_mean_of_gaps_bounds_the_gap_of_the_mean() -> None:
    """Jensen; the best is below both averages."""
    for setting in (RANDOM, replace(RANDOM, participation=Markov(["1/2"] * 3, [1] * 3))):
        values = {f.name: of_run(setting, f, [1, 2, 5, 40]) for f in ALL}
        assert (values["gap_of_average"] <= values["average_gap"] * (1 + 1e-12)).all()
        assert (values["gap_of_weighted_average"] <= values["weighted_average_gap"] * (1 + 1e-12)).all()
        assert (values["best_gap"] <= values["weighted_average_gap"]).all()
        assert values["final_gap"][0] == pytest.approx(values["gap_of_average"][0], rel=1e-12)


def test_simulation_measures_the_gap_and_refuses_what_it_does_not_observe() -> None:
    run = RANDOM.simulate(replicas=4000, rounds=6, seed=1, observers=["gap"], record_every=1)
    for functional in (FINAL_GAP, AVERAGE_GAP):
        _, low, high = run.interval(functional, confidence=0.9999)
        exact = of_run(RANDOM, functional, run.rounds_of(functional))
        assert ((low <= exact * (1 + 1e-9)) & (exact * (1 - 1e-9) <= high)).all()
        assert (high - low)[-1] < 0.2 * exact[-1]
    for functional in (BEST_GAP, GAP_OF_AVERAGE, WEIGHTED_AVERAGE_GAP):
        with pytest.raises(ValueError, match=f"{functional.name} is no average of gap over rounds"):
            run.samples(functional)


# Quantities.


def test_the_largest_gradient_is_what_enumeration_says() -> None:
    """All clients train from x_0 and from every x_1 that there is."""

    def squares(x: Fraction, i: int) -> list[Fraction]:
        found = [F(0)] * K
        for signs in product((-1, 1), repeat=K):
            at = x
            for k in range(K):
                gradient = SLOPES[i] * (at - CENTRES[i]) + signs[k] * SIGMA
                found[k] += gradient**2 / 2**K
                at -= ETA * gradient
        return found

    every = [
        [mean(lambda x, r=r, i=i, k=k: squares(x[r], i)[k]) for k in range(K)] for r in range(ROUNDS) for i in range(3)
    ]
    largest = max(map(max, every))
    assert largest_squared_gradient(RANDOM, ROUNDS, exact=True) == largest
    assert quantity("gradient_bound", Question(RANDOM, ROUNDS)).value == pytest.approx(float(largest) ** 0.5, rel=1e-13)
    second = replace(RANDOM, start=X_STAR)  # there the largest is not met at once
    assert largest_squared_gradient(second, 3, True) > largest_squared_gradient(second, 1, True)


def test_a_larger_gradient_is_found_in_later_local_steps() -> None:
    """Steps that overshoot grow, with the noise n_k = +-1 of each: x = 1, -2 - 3 n_0, 4 + 6 n_0 - 3 n_1; with a pull of
    1 back to x_0 the last one is x_1 - 3 (x_1 + n_1 + x_1 - 1) = 13 + 15 n_0 - 3 n_1."""
    fed = Quadratic([[1]], [[0]], 1)
    for steps, square in ((1, 1 + 1), (2, 4 + 9 + 1), (3, 16 + 36 + 9 + 1)):
        setting = Setting(fed, fedavg(local_lr=3, local_steps=steps), Fixed([0]), start=1)
        assert largest_squared_gradient(setting, 1, exact=True) == square
    pulled = Setting(fed, fedprox(local_lr=3, local_steps=3, proximal=1), Fixed([0]), start=1)
    assert largest_squared_gradient(pulled, 1, exact=True) == 169 + 225 + 9 + 1


@pytest.mark.parametrize(
    ("setting", "rounds", "why"),
    [
        (RANDOM, None, "the rounds are not given"),
        (RANDOM, FOLLOWED + 1, f"allowed are at most {FOLLOWED}"),
        (Setting(FED, safari(client_round_probability="1/2", local_lr=1, server_lr=1), Fixed([0])), 3, "clients train"),
    ],
)
def test_where_no_bound_on_gradients_is_known_it_says_why(setting: Setting, rounds: int | None, why: str) -> None:
    with pytest.raises(Unserved, match=f"quantity gradient_bound: .*{why}"):
        quantity("gradient_bound", Question(setting, rounds))


def test_heterogeneity_gap_and_weighted_noise_by_hand() -> None:
    fed = Quadratic([[1], [3]], [[0], [4]], 2, objective_weight=["3/4", "1/4"])  # x* = 2
    setting = Setting.__new__(Setting)
    object.__setattr__(setting, "federation", fed)
    question = Question(setting, numbers=EXACT)
    assert quantity("heterogeneity_gap", question).value == F(3, 4) * 2 + F(1, 4) * 6
    assert quantity("weighted_noise", question).value == 4 * (F(9, 16) + F(1, 16))
    assert quantity("weighted_noise", replace(question, numbers=FLOAT)).value == 2.5
    assert quantity("heterogeneity_gap", replace(question, numbers=FLOAT)).value == 3.0
    assert gap_of_heterogeneity(Quadratic([[1], [5]], [[7], [7]])) == 0


def test_clients_without_a_least_value_are_told() -> None:
    sloped = Quadratic.with_slopes([[3], [-1]], [[0], [1]])
    with pytest.raises(ValueError, match="client 1 has no least value"):
        gap_of_heterogeneity(sloped)
    tilted = Quadratic.with_slopes([[1], [3]], [[0], [-12]])  # the same as centres 0 and 4, but for a constant
    assert gap_of_heterogeneity(tilted) == gap_of_heterogeneity(Quadratic([[1], [3]], [[0], [4]])) == F(3)


def test_federations_that_do_not_know_say_so() -> None:
    rng = np.random.default_rng(0)
    fed = Logistic(list(rng.normal(size=(2, 6, 2))), [np.array([0, 1] * 3)] * 2, 0.1, gradient_noise=2.0)
    setting = Setting(fed, fast(snapshot_period=1, cohort=2, local_lr=1), Fixed([0]))
    for name in ("heterogeneity_gap", "gradient_bound"):
        with pytest.raises(Unserved, match=f"quantity {name}: .*(least values|Quadratic)"):
            quantity(name, Question(setting, 3))
    assert quantity("weighted_noise", Question(setting)).value == 2.0
    with pytest.raises(Unserved, match="quantity weighted_noise: the noise is known in floats only"):
        quantity("weighted_noise", Question(setting, numbers=EXACT))
