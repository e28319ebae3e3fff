"""Exact expected errors against the enumeration of everything that can happen, and against what must follow.

The enumeration is FAST's Algorithm 1 written plainly: every draw of every round's participants, every snapshot coin,
every sign of the two-point noise, each with its probability. It shares no code with the package.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast
from fedtheory.federations.logistic import Logistic
from fedtheory.federations.quadratic import Quadratic
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, FINAL_SQUARED_DISTANCE
from fedtheory.moments.linear_rounds import mean_map, second_moment_map
from fedtheory.moments.round_maps import initial_moments, observable_weights
from fedtheory.moments.timeline import schedule
from fedtheory.participation import Fixed, IndexBeta, Participation, Uniform, Weighted
from fedtheory.setting import Setting

Law = dict[tuple[int, ...], Fraction]
"""Who is drawn, in the order of their numbers and with repetitions, and with what probability."""

READINGS = ("r = 1..R", "r = 0..R-1")


# Who takes part: the laws of the draws.


def collected(draws: Iterator[tuple[tuple[int, ...], Fraction]]) -> Law:
    law: Law = defaultdict(Fraction)
    for drawn, chance in draws:
        law[tuple(sorted(drawn))] += chance
    assert sum(law.values()) == 1
    return law


def uniform_law(clients: int, cohort: int, replacement: bool) -> Law:
    draw = product(range(clients), repeat=cohort) if replacement else combinations(range(clients), cohort)
    draws = list(draw)
    return collected((drawn, Fraction(1, len(draws))) for drawn in draws)


def successive_law(weights: list[Fraction], cohort: int) -> Law:
    """One after another, each with probability proportional to its weight among those left."""

    def draws() -> Iterator[tuple[tuple[int, ...], Fraction]]:
        for order in permutations(range(len(weights)), cohort):
            left, chance = sum(weights), Fraction(1)
            for i in order:
                chance, left = chance * weights[i] / left, left - weights[i]
            yield order, chance

    return collected(draws())


def beta_masses(cells: int, alpha: int, beta: int) -> list[Fraction]:
    """Beta(1, b) has P(X <= x) = 1 - (1 - x)^b, Beta(a, 1) has x^a."""
    assert 1 in (alpha, beta)
    edges = [Fraction(k, cells) for k in range(cells + 1)]
    below = [1 - (1 - x) ** beta if alpha == 1 else x**alpha for x in edges]
    return [b - a for a, b in pairwise(below)]


def law_of(process: Participation, clients: int) -> Law:
    match process:
        case Fixed():
            return {process.members: Fraction(1)}
        case Uniform():
            return uniform_law(clients, process.cohort, process.replacement)
        case Weighted():
            return successive_law([Fraction(w) for w in process.weights], process.cohort)
        case IndexBeta():
            return successive_law(beta_masses(clients, int(process.alpha), int(process.beta)), process.cohort)
    raise AssertionError


# FAST, enumerated.


@dataclass(frozen=True)
class Case:
    """A small setting. Numbers are Fractions or floats; every computation of the test is in their arithmetic."""

    hessians: Any  # (M, d, d)
    centres: Any  # (M, d)
    arbitrary: Participation
    cohort: int
    start: Any = (1,)
    sigma: Any = 0
    eta: Any = Fraction(1, 4)
    local_steps: int = 1
    period: int | None = None
    q: Any = None
    replacement: bool = False
    rounds: int = 3

    @property
    def setting(self) -> Setting:
        algorithm = fast(
            cohort=self.cohort, local_lr=self.eta, local_steps=self.local_steps, snapshot_period=self.period,
            snapshot_probability=self.q, replacement=self.replacement,
        )  # fmt: skip
        return Setting(Quadratic(self.hessians, self.centres, self.sigma), algorithm, self.arbitrary, self.start)


def array(values: Any, exact: bool) -> np.ndarray:
    values = np.array(values, dtype=object)
    exactly = np.array([Fraction(v) for v in values.flat], dtype=object).reshape(values.shape)
    return exactly if exact else exactly.astype(float)


def optimum(hessians: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Where sum_i H_i (x - c_i) = 0; in exact arithmetic for diagonal Hessians only."""
    if hessians.dtype == object:
        diagonals = np.array([[h[j, j] for j in range(len(h))] for h in hessians], dtype=object)
        return (diagonals * centres).sum(0) / diagonals.sum(0)
    return np.linalg.solve(hessians.sum(0), sum(h @ c for h, c in zip(hessians, centres, strict=True)))


def train(case: Case, exact: bool, client: int, x: np.ndarray, flips: list[int]) -> np.ndarray:
    """K local steps from every row of x, with noise +-sigma/sqrt(d) in each coordinate of each step."""
    hessian, centre = array(case.hessians, exact)[client], array(case.centres, exact)[client]
    d = len(centre)
    root = {1: 1, 4: 2}[d] if exact and case.sigma else math.sqrt(d)
    sigma, eta = (Fraction(v) if exact else float(v) for v in (case.sigma, case.eta))
    for k in range(case.local_steps):
        gradient = (x - centre) @ hessian
        if case.sigma:
            gradient = gradient + sigma / root * array(flips[k * d : (k + 1) * d], exact)
        x = x - eta * gradient
    return x


def one_draw(case: Case, exact: bool, drawn: tuple[int, ...], x: np.ndarray) -> list[np.ndarray]:
    """The server's models after a round, one for each way in which the participants' noise can fall. A client drawn
    twice trains once, and counts twice."""
    who, d = sorted(set(drawn)), len(case.centres[0])
    signs = list(product((1, -1), repeat=d * case.local_steps)) if case.sigma else [()]
    results = {i: [train(case, exact, i, x, flips) for flips in signs] for i in who}
    models = []
    for outcome in product(range(len(signs)), repeat=len(who)):
        local = {i: results[i][s] for i, s in zip(who, outcome, strict=True)}
        models.append(sum(local[i] for i in drawn) / len(drawn))
    return models


def enumerate_runs(case: Case, exact: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All states before round 0, 1, ..., and their probabilities."""
    clients = len(case.centres)
    snapshot, arbitrary = uniform_law(clients, case.cohort, case.replacement), law_of(case.arbitrary, clients)
    number = Fraction if exact else float
    states, chances = array(case.start, exact)[None], array([1], exact)
    yield states, chances
    for r in range(case.rounds):
        if case.period is not None:
            kinds = [(1, snapshot if r % case.period == 0 else arbitrary)]
        else:
            kinds = [(Fraction(case.q), snapshot), (1 - Fraction(case.q), arbitrary)]
        after, their_chances = [], []
        for coin, law in kinds:
            for drawn, chance in law.items():
                models = one_draw(case, exact, drawn, states)
                after += models
                their_chances += [chances * number(coin * chance / len(models))] * len(models)
        states, chances = np.concatenate(after), np.concatenate(their_chances)
        yield states, chances


def enumerated(case: Case, exact: bool = False) -> dict[str, list]:
    """E x_r, E|x_r - x*|^2 and E|grad F(x_r)|^2 for r = 0, 1, ..., rounds."""
    hessians, centres = array(case.hessians, exact), array(case.centres, exact)
    best = optimum(hessians, centres)
    found: dict[str, list] = {"mean": [], "squared_distance": [], "squared_gradient": []}
    for states, chances in enumerate_runs(case, exact):
        gradients = sum((states - c) @ h for h, c in zip(hessians, centres, strict=True)) / len(centres)
        found["mean"].append(chances @ (states - best))
        found["squared_distance"].append(chances @ ((states - best) ** 2).sum(1))
        found["squared_gradient"].append(chances @ (gradients**2).sum(1))
    return found


ONE = [[[1]], [[3]]], [[1], [-2]]  # two clients in one dimension, Hessians 1 and 3
THREE = [[["1/2"]], [[2]], [[1]]], [["3/2"], [-1], [0]]
PLANE = (
    [[[1, "1/2"], ["1/2", 2]], [[3, 0], [0, "1/4"]], [[1, -1], [-1, 2]]],
    [[1, 0], [-1, 2], ["1/2", "1/3"]],
)
PAIR_IN_PLANE = PLANE[0][:2], PLANE[1][:2]

CASES = {
    "fixed, periodic": Case(*ONE, Fixed([0]), 2, sigma=0.5, period=2),
    "fixed, period 3, local steps": Case(*ONE, Fixed([1]), 1, sigma=0.7, local_steps=2, period=3),
    "fixed, coin, local steps": Case(*ONE, Fixed([1]), 2, sigma=0.7, local_steps=2, q=0.3),
    "all in arbitrary rounds": Case(*ONE, Fixed([0, 1]), 1, sigma=0.7, local_steps=2, q=0.75),
    "three clients, part": Case(*THREE, Fixed([0, 2]), 2, sigma=0.9, period=2),
    "with replacement": Case(*THREE, Fixed([1]), 2, sigma=0.9, period=2, replacement=True),
    "with replacement, coin": Case(*THREE, Fixed([1]), 3, sigma=0.4, q=0.6, replacement=True, rounds=2),
    "more draws than clients": Case(*ONE, Fixed([1]), 3, sigma=0.4, local_steps=2, q=0.5, replacement=True, rounds=3),
    "uniform in both": Case(*THREE, Uniform(2), 1, sigma=0.9, q=0.25),
    "uniform with replacement in both": Case(*THREE, Uniform(2, True), 2, sigma=0.9, q=0.25, replacement=True),
    "index": Case(*THREE, IndexBeta(2, 1, 3), 1, sigma=0.9, period=3),
    "index, the other way, coin": Case(*THREE, IndexBeta(1, 2, 1), 2, sigma=0.9, local_steps=2, q=0.4, rounds=2),
    "weighted": Case(*THREE, Weighted(2, [1, 5, 2]), 3, sigma=0.2, q=0.5),
    "plane": Case(*PAIR_IN_PLANE, Fixed([1]), 2, start=(1, -1), sigma=0.8, period=2),
    "plane, coin, local steps": Case(
        *PAIR_IN_PLANE, Fixed([0]), 1, start=(2, 1), sigma=0.8, local_steps=2, q=0.3, rounds=3
    ),
    "plane, three clients, index": Case(*PLANE, IndexBeta(2, 1, 2), 2, start=(0, 3), sigma=0.5, q=0.35, rounds=2),
    "plane, replacement, weighted": Case(
        *PLANE, Weighted(1, [3, 1, 1]), 2, start=(0, 3), sigma=0.5, period=2, replacement=True, rounds=3
    ),
    "plane, no noise": Case(*PLANE, Uniform(2), 2, start=(0, 3), local_steps=2, q=0.35, eta=0.4, rounds=3),
    "a large step, growing": Case(*ONE, Uniform(1), 1, sigma=0.5, eta=1.3, q=0.5),
    "one client": Case([[[2]]], [[1]], Fixed([0]), 1, start=(3,), sigma=1.5, local_steps=2, period=2),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_exact_errors_against_enumeration(case: Case) -> None:
    found = enumerated(case)
    exact = case.setting.exact(range(case.rounds + 1))
    for name in ("squared_distance", "squared_gradient"):
        # Rounding: the recursion and the enumeration add the same numbers, which do not cancel, in another order.
        np.testing.assert_allclose(getattr(exact, name), found[name], rtol=1e-12, atol=0)
    for reading, first in zip(READINGS, (1, 0), strict=True):
        for R in range(1, case.rounds + 1):
            average = sum(found["squared_gradient"][first : first + R]) / R
            of_R = case.setting.exact([R]).functional(AVERAGE_SQUARED_GRADIENT, reading)
            np.testing.assert_allclose(of_R, average, rtol=1e-12)
    assert exact.functional(FINAL_SQUARED_DISTANCE) is exact.squared_distance


def in_fractions(setting: Setting, rounds: int) -> dict[str, list]:
    """The package's recursion in rational arithmetic, one operator a round."""
    second, first = (schedule(setting, one_round, exact=True) for one_round in (second_moment_map, mean_map))
    weights = observable_weights(setting.federation, exact=True)
    state = initial_moments(setting, exact=True)
    mean = np.append(setting.exact_start - setting.federation.exact_optimum, Fraction(1))
    found: dict[str, list] = {"mean": [], "squared_distance": [], "squared_gradient": []}
    for r in range(rounds + 1):
        found["mean"].append(mean[:-1])
        for name, weight in weights.items():
            found[name].append(weight @ state)
        state = (second.first if r % second.period == 0 else second.rest) @ state
        mean = (first.first if r % first.period == 0 else first.rest) @ mean
    return found


def same_fractions(found: dict[str, list], expected: dict[str, list]) -> None:
    for name, numbers in expected.items():
        for mine, theirs in zip(found[name], numbers, strict=True):
            assert np.all(mine == theirs), name
            assert all(isinstance(number, Fraction) for number in np.atleast_1d(mine))


third, fifth = Fraction(1, 3), Fraction(1, 5)
DIAGONAL = [[[1, 0], [0, 2]], [[third, 0], [0, 0]]], [[1, fifth], [-1, 0]]
FOUR = [np.diag([1, 2, third, 0]).tolist(), np.diag([1, fifth, 0, 2]).tolist()], [[1, 0, 2, fifth], [0, third, 1, 1]]

EXACT_CASES = {
    "period": Case(*ONE, Fixed([0]), 1, sigma=third, eta=fifth, local_steps=2, period=2),
    "coin": Case(*ONE, Fixed([1]), 2, (fifth,), sigma=third, eta=fifth, local_steps=2, q=Fraction(2, 7), rounds=3),
    "with replacement": Case(*THREE, Uniform(2), 2, sigma=third, eta=third, period=2, replacement=True),
    "three clients": Case(*THREE, Uniform(1), 2, sigma=third, eta=third, q=third, rounds=2),
    "plane, no noise": Case(*DIAGONAL, Uniform(1), 2, start=(third, 1), eta=third, local_steps=2, q=third),
    "four dimensions": Case(*FOUR, Fixed([1]), 1, (1, 0, third, 2), third, third, local_steps=2, period=1, rounds=1),
}


@pytest.mark.parametrize("case", EXACT_CASES.values(), ids=EXACT_CASES)
def test_rational_recursion_equals_rational_enumeration(case: Case) -> None:
    same_fractions(in_fractions(case.setting, case.rounds), enumerated(case, exact=True))


rationals = st.fractions(-2, 2, max_denominator=6)


@st.composite
def rational_cases(draw: st.DrawFn) -> Case:
    clients = draw(st.integers(1, 3))
    curvatures = [draw(st.fractions(0, 2, max_denominator=6)) for _ in range(clients)]
    curvatures[draw(st.integers(0, clients - 1))] += Fraction(1, 2)
    replacement = draw(st.booleans())
    members = draw(st.sets(st.integers(0, clients - 1), min_size=1, max_size=2))
    periodic = draw(st.booleans())
    return Case(
        hessians=[[[h]] for h in curvatures],
        centres=[[draw(rationals)] for _ in range(clients)],
        arbitrary=draw(st.sampled_from([Fixed(sorted(members)), Uniform(min(2, clients)), Uniform(1)])),
        cohort=draw(st.integers(1, 2 if replacement else min(2, clients))),
        start=(draw(rationals),),
        sigma=draw(st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(5, 4)])),
        eta=draw(st.fractions(Fraction(1, 10), 2, max_denominator=10)),
        local_steps=draw(st.integers(1, 1 if clients == 3 else 2)),
        period=draw(st.integers(1, 3)) if periodic else None,
        q=None if periodic else draw(st.fractions(0, 1, max_denominator=5)),
        replacement=replacement,
        rounds=2,
    )


@given(rational_cases())
@settings(max_examples=40, deadline=None)
def test_any_small_setting_in_fractions_and_floats(case: Case) -> None:
    expected = enumerated(case, exact=True)
    same_fractions(in_fractions(case.setting, case.rounds), expected)
    exact = case.setting.exact(range(case.rounds + 1))
    for name in ("squared_distance", "squared_gradient"):
        # Numbers of the order of 1 to 10^4 enter; near a common minimiser they may cancel.
        scale = 1 + max(map(float, expected[name]))
        np.testing.assert_allclose(
            getattr(exact, name), np.array(expected[name], float), rtol=1e-12, atol=1e-13 * scale
        )


# What follows without enumeration.


def gaussian(setting: Setting) -> Setting:
    fed = setting.federation
    same = Quadratic(fed.exact_hessians, fed.exact_centres, fed.exact_gradient_noise, noise="gaussian")
    return replace(setting, federation=same)


@pytest.mark.parametrize("name", ["fixed, coin, local steps", "plane, three clients, index"])
def test_gaussian_noise_has_the_moments_of_two_point_noise(name: str) -> None:
    setting = CASES[name].setting
    one, other = setting.exact(range(30)), gaussian(setting).exact(range(30))
    for field in ("squared_distance", "squared_gradient", "gradient_sum"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


# Simulation.

SIMULATED = {name: CASES[name].setting for name in [
    "fixed, coin, local steps", "with replacement, coin", "more draws than clients", "uniform with replacement in both",
    "index", "weighted", "plane, three clients, index", "plane, replacement, weighted",
]}  # fmt: skip
SIMULATED["gaussian"] = gaussian(CASES["plane, coin, local steps"].setting)
HORIZON, REPLICAS = 10, 4000
COMPARISONS = len(SIMULATED) * (HORIZON + 2 * HORIZON)


@pytest.mark.parametrize("setting", SIMULATED.values(), ids=SIMULATED)
def test_simulation_agrees(setting: Setting) -> None:
    """99% for all comparisons together, by Bonferroni; the seed is fixed."""
    run = setting.simulate(replicas=REPLICAS, rounds=HORIZON, seed=5, record_every=1)
    exact = setting.exact(run.rounds)
    confidence = 1 - 0.01 / COMPARISONS
    _, low, high = run.interval(FINAL_SQUARED_DISTANCE, confidence=confidence)
    expected = exact.functional(FINAL_SQUARED_DISTANCE)
    assert ((low <= expected) & (expected <= high))[1:].all()
    assert low[0] == pytest.approx(expected[0], rel=1e-14)  # no randomness before round 0
    later = setting.exact(run.rounds[1:])
    for reading in READINGS:
        _, low, high = run.interval(AVERAGE_SQUARED_GRADIENT, reading, confidence)
        expected = later.functional(AVERAGE_SQUARED_GRADIENT, reading)
        # Before the first random outcome there is no spread: then equality up to rounding.
        slack = 1e-12 * expected
        assert ((low - slack <= expected) & (expected <= high + slack)).all()


# Long horizons.


def plain_loop(case: Case, rounds: int) -> dict[str, np.ndarray]:
    """First and second moments round by round, as the law of total expectation says, for Fixed arbitrary sets."""
    hessians, centres = array(case.hessians, False), array(case.centres, False)
    M, d = centres.shape
    best, eta = optimum(hessians, centres), float(case.eta)
    A, b, C = [], [], []
    for h, c in zip(hessians, centres, strict=True):
        a, shift, noise = np.eye(d), np.zeros(d), np.zeros((d, d))
        for _ in range(case.local_steps):  # y -> y - eta (H (y + x* - c) + noise)
            step = np.eye(d) - eta * h
            a, shift = step @ a, step @ shift - eta * h @ (best - c)
            noise = step @ noise @ step.T + eta**2 * float(case.sigma) ** 2 / d * np.eye(d)
        A.append(a), b.append(shift), C.append(noise)
    A, b, C = np.array(A), np.array(b), np.array(C)

    def moments(law: Law, size: int) -> tuple[np.ndarray, np.ndarray]:
        shares = [(np.bincount(drawn, minlength=M) / size, float(chance)) for drawn, chance in law.items()]
        return sum(p * n for n, p in shares), sum(p * np.outer(n, n) for n, p in shares)

    uniform = moments(uniform_law(M, case.cohort, case.replacement), case.cohort)
    arbitrary = moments(law_of(case.arbitrary, M), case.arbitrary.cohort)
    mean = array(case.start, False) - best
    second = np.outer(mean, mean)
    H = hessians.mean(0)
    found: dict[str, list] = {"squared_distance": [], "squared_gradient": []}
    for r in range(rounds + 1):
        found["squared_distance"].append(np.trace(second))
        found["squared_gradient"].append(np.trace(H @ second @ H))
        if case.period is not None:
            mixture = [(1.0, uniform if r % case.period == 0 else arbitrary)]
        else:
            mixture = [(float(case.q), uniform), (1 - float(case.q), arbitrary)]
        next_mean, next_second = np.zeros(d), np.zeros((d, d))
        models = A @ mean + b
        crossed = A @ mean  # E y_i without the shift
        for coin, (first, pair) in mixture:
            next_mean += coin * (first @ models)
            next_second += coin * (
                np.einsum("ij,iab,bc,jdc->ad", pair, A, second, A, optimize=True)
                + np.einsum("ij,ia,jd->ad", pair, crossed, b)
                + np.einsum("ij,ia,jd->ad", pair, b, crossed)
                + np.einsum("ij,ia,jd->ad", pair, b, b)
                + np.einsum("ii,iad->ad", pair, C)
            )
        mean, second = next_mean, next_second
    return {name: np.array(values) for name, values in found.items()}


LONG = {
    f"{name}, {'q' if period is None else 'period'} {0.2 if period is None else period}": replace(
        case, period=period, q=0.2 if period is None else None, eta=0.02
    )
    for name, case in {"line": CASES["three clients, part"], "plane": CASES["plane"]}.items()
    for period in (1, 2, 7, None)
}


@pytest.mark.parametrize("case", LONG.values(), ids=LONG)
def test_long_horizons_equal_the_plain_loop(case: Case) -> None:
    horizon = 1003  # 1003 = 1 (mod 2), 2 (mod 7)
    found = plain_loop(case, horizon)
    asked = np.array([1003, 0, 1, 2, 6, 7, 8, 13, 14, 15, 500, 501, 999, 1000, 3, 1003])
    exact = case.setting.exact(asked)
    sums = np.concatenate([[0], np.cumsum(found["squared_gradient"])])
    np.testing.assert_array_equal(exact.rounds, asked)
    # 1000 roundings of factors near 1, in either.
    for name, values in found.items():
        np.testing.assert_allclose(getattr(exact, name), values[asked], rtol=1e-10, atol=0)
    np.testing.assert_allclose(exact.gradient_sum, sums[asked], rtol=1e-10, atol=0)
    later = asked[asked > 0]
    exact = case.setting.exact(later)
    for reading, totals in zip(READINGS, (sums[later + 1] - sums[1], sums[later]), strict=True):
        averages = exact.functional(AVERAGE_SQUARED_GRADIENT, reading)
        np.testing.assert_allclose(averages, totals / later, rtol=1e-10)


@pytest.mark.parametrize("case", LONG.values(), ids=LONG)
def test_the_limit_is_stationary(case: Case) -> None:
    """Past 10^6 rounds nothing changes any more but the phase in the period."""
    period = case.period or 1
    one, later = (case.setting.exact(np.arange(period) + base * period).squared_distance for base in (10**6, 10**12))
    # The rounding of some forty squarings of a contraction.
    np.testing.assert_allclose(one, later, rtol=1e-10)


def test_the_limit_is_stationary_with_many_clients() -> None:
    fed = Quadratic.common_hessian(list(range(49)))
    setting = Setting(fed, fast(cohort=5, local_lr=0.1, snapshot_probability=0.3), IndexBeta(5, 1, 3))
    one, later = setting.exact([10**6, 10**12]).squared_distance
    # The rounding of some forty squarings of a contraction.
    assert one == pytest.approx(later, rel=1e-10)


# Closed forms.


@pytest.mark.parametrize("period", [1, 2, 5])
@pytest.mark.parametrize("local_steps", [1, 4])
def test_one_client_contracts_geometrically(period: int, local_steps: int) -> None:
    """x_r - c = (1 - eta h)^{K r} (x_0 - c)."""
    case = Case([[["1/2"]]], [[3]], Fixed([0]), 1, start=(5,), eta=Fraction(1, 50), local_steps=local_steps,
                period=period)  # fmt: skip
    rounds = np.array([0, 1, 2, 3, 10, 99, 100, 1000])
    exact = case.setting.exact(rounds)
    expected = 4 * 0.99 ** (2.0 * local_steps * rounds)
    # 8000 factors of 0.99, itself rounded to 1e-16: below 1e-12 together.
    np.testing.assert_allclose(exact.squared_distance, expected, rtol=2e-12)
    np.testing.assert_allclose(exact.squared_gradient, expected / 4, rtol=2e-12)


def test_a_common_hessian_contracts_geometrically_when_all_take_part() -> None:
    """With one Hessian the average of all clients' models is one model's gradient steps towards x*."""
    fed = Quadratic.common_hessian([[1, 0], [-1, 4], [3, -1]], [1, "1/4"])
    setting = Setting(fed, fast(cohort=3, local_lr="1/10", local_steps=3, snapshot_period=4), Fixed([0, 1, 2]), 2)
    rounds = np.arange(0, 60)
    y = np.array([2 - 1, 2 - 1.0])  # from the mean of the centres, (1, 1)
    factors = (1 - 0.1 * np.array([1, 0.25])) ** (3.0 * rounds[:, None])
    exact = setting.exact(rounds)
    # 360 factors; rounding of the recursion relative to the slower coordinate.
    np.testing.assert_allclose(exact.squared_distance, ((factors * y) ** 2).sum(1), rtol=1e-12)
    expected = ((factors * y * np.array([1, 0.25])) ** 2).sum(1)
    np.testing.assert_allclose(exact.squared_gradient, expected, rtol=1e-12)


def test_one_client_with_noise_is_an_autoregression() -> None:
    """E y_r^2 = a^{2r} y_0^2 + v (1 - a^{2r}) / (1 - a^2), with a = (1 - eta h)^K and v = eta^2 sigma^2 sum_k (1 -
    eta h)^{2k}."""
    case = Case([[[2]]], [[0]], Fixed([0]), 1, start=(3,), sigma=0.5, eta=0.125, local_steps=3, q=0.5)
    rounds = np.arange(40)
    a, v = 0.75**3, 0.125**2 * 0.5**2 * (1 + 0.75**2 + 0.75**4)
    expected = a ** (2.0 * rounds) * 9 + v * (1 - a ** (2.0 * rounds)) / (1 - a**2)
    # Rounding only.
    np.testing.assert_allclose(case.setting.exact(rounds).squared_distance, expected, rtol=1e-12)


# Special cases.


@pytest.mark.parametrize("name", ["plane", "with replacement", "index"])
def test_probability_one_is_period_one(name: str) -> None:
    case = CASES[name]
    always = replace(case, period=1, q=None).setting.exact(range(50))
    surely = replace(case, period=None, q=1).setting.exact(range(50))
    np.testing.assert_array_equal(always.squared_distance, surely.squared_distance)
    np.testing.assert_array_equal(always.gradient_sum, surely.gradient_sum)
    # ... and then nobody asks who would have come in an arbitrary round.
    other = replace(case, period=1, arbitrary=Fixed([1])).setting.exact(range(50))
    np.testing.assert_array_equal(always.squared_distance, other.squared_distance)


@pytest.mark.parametrize("name", ["plane", "with replacement", "index"])
def test_probability_zero_never_asks_the_uniform_cohort(name: str) -> None:
    case = replace(CASES[name], period=None, q=0)
    never, other = (replace(case, cohort=m).setting.exact(range(50)) for m in (1, 2))
    np.testing.assert_array_equal(never.squared_distance, other.squared_distance)


def test_uniform_arbitrary_rounds_make_the_snapshots_redundant() -> None:
    cases = [replace(CASES["uniform in both"], cohort=2, q=q) for q in (0, 0.4, 1)]
    first, *others = (case.setting.exact(range(50)).squared_distance for case in cases)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-12)  # rounding of the mixture


def test_the_default_is_a_thousand_rounds() -> None:
    exact = CASES["plane"].setting.exact()
    np.testing.assert_array_equal(exact.rounds, np.arange(1001))
    np.testing.assert_array_equal(CASES["plane"].setting.exact(7).rounds, [7])


# What is refused.


def test_negative_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rounds contain -2: allowed are whole numbers >= 0"):
        CASES["plane"].setting.exact([3, -2, 5])


def test_a_diverging_setting_has_infinite_errors() -> None:
    exact = replace(CASES["plane"], eta=5, period=1).setting.exact([10**5])
    assert exact.squared_distance.tolist() == [math.inf]


def test_errors_beyond_the_range_of_floats_are_infinite_from_the_start() -> None:
    setting = Setting(
        Quadratic.common_hessian(offsets=[1, -1]),
        fast(cohort=1, local_lr="1/10", snapshot_period=1),
        Uniform(1),
        start=1e160,
    )
    exact = setting.exact([0, 5])
    assert exact.squared_distance.tolist() == [math.inf, math.inf] and exact.initial_squared_gradient == math.inf


def test_averages_need_a_round() -> None:
    exact = CASES["plane"].setting.exact([0, 1])
    for reading in READINGS:
        with pytest.raises(ValueError, match="rounds contain 0: an average needs >= 1"):
            exact.functional(AVERAGE_SQUARED_GRADIENT, reading)


def test_unknown_readings_of_an_average_are_refused() -> None:
    with pytest.raises(ValueError, match=r"r=1\.\.R"):
        CASES["plane"].setting.exact([1]).functional(AVERAGE_SQUARED_GRADIENT, "r=1..R")


def test_fractions_of_a_round_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        CASES["plane"].setting.exact([1.5])


def test_other_federations_are_refused() -> None:
    rng = np.random.default_rng(0)
    fed = Logistic([rng.normal(size=(5, 2)) for _ in range(2)], [rng.integers(0, 2, 5) for _ in range(2)], l2=0.1,
                   classes=2)  # fmt: skip
    setting = Setting(fed, fast(cohort=2, local_lr=0.1, snapshot_period=2), Fixed([0]))
    with pytest.raises(ValueError, match="exact moments need a Quadratic federation, not Logistic"):
        setting.exact([1])
