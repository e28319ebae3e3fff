"""Runs on piecewise linear gradients: three routes (series, enumeration, plain loops), the engine, and the moments of
quadratics where there are no kinks."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast, fedavg, safari
from fedtheory.claims.balls import Ball, ball, ball_matrix, working_precision
from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.functionals import AVERAGE_GAP, FINAL_SQUARED_DISTANCE
from fedtheory.moments import kinked_runs
from fedtheory.moments.exchangeable import Cohorts, TooMany, affine_map, enumerated_errors, trained
from fedtheory.moments.expected_errors import exact_errors
from fedtheory.moments.kinked_runs import (
    LONGEST,
    Line,
    Motion,
    Passed,
    deterministic_errors,
    follow,
)
from fedtheory.participation import Fixed, Uniform
from fedtheory.setting import Setting

KINDS = [
    [PiecewiseLinear(["1/4", 2, 1], [-1, "1/2"], at_zero=1), PiecewiseLinear([1, "1/2"], [0], at_zero=-2)],
    [PiecewiseLinear([1, "1/4", 1], [0, 2], at_zero=-1), PiecewiseLinear([1, 2], [1], at_zero=1)],
]
FED = Piecewise(KINDS, [2, 1])


def plain_run(fed: Piecewise, x: list, order: list[int], cohorts: list[list[int]], lr: Fraction, steps: int,
              server_lr: Fraction | None = None) -> tuple[list, list[list]]:  # fmt: skip
    """Loops over rounds, clients, steps and coordinates; kind 0 or 1 of each round, and who trains in it (the server
    alone in rounds of kind 1 where it has a step size). (x_0, ..., x_R), and the gradients of F there."""
    rows = [fed.gradients[k] for k in fed.kind_of_client]

    def mean(at: list) -> list:
        return [sum(row[j](v) for row in rows) / Fraction(len(rows)) for j, v in enumerate(at)]

    path = [list(x)]
    for kind in order:
        now = path[-1]
        if kind == 1 and server_lr is not None:
            path.append([v - server_lr * g for v, g in zip(now, mean(now), strict=True)])
            continue
        ends = []
        for i in cohorts[kind]:
            y = list(now)
            for _ in range(steps):
                y = [v - lr * rows[i][j](v) for j, v in enumerate(y)]
            ends.append(y)
        path.append([sum(column) / Fraction(len(ends)) for column in zip(*ends, strict=True)])
    return path, [mean(at) for at in path]


def of_path(fed: Piecewise, path: list, gradients: list, rounds: int) -> tuple[Fraction, Fraction, Fraction]:
    distance = sum((v - b) ** 2 for v, b in zip(path[rounds], fed.exact_optimum, strict=True))
    squares = [sum(g**2 for g in gradient) for gradient in gradients]
    return distance, squares[rounds], sum(squares[:rounds], Fraction(0))


CASES = {
    "everyone": (fast(cohort=3, snapshot_probability=1, local_lr="1/4", local_steps=3), [0], None),
    "some": (fast(cohort=3, snapshot_probability=0, local_lr="1/4", local_steps=2), [1], None),
    "in turn": (fast(cohort=3, snapshot_period=3, local_lr="1/5", local_steps=2), [0, 1, 1], None),
    "server": (safari(client_round_probability=0, local_lr="1/4", server_lr="1/3"), [1], Fraction(1, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_deterministic_runs_are_plain_loops(name: str) -> None:
    algorithm, cycle, server_lr = CASES[name]
    setting = Setting(FED, algorithm, Fixed([1, 2]), start=[3, "-5/2"])
    horizons = [0, 1, 2, 5, 9, 14]
    lr, steps = algorithm.local_lr, algorithm.local_steps
    order = (cycle * 14)[:14]
    found = deterministic_errors(setting, horizons)
    path, gradients = plain_run(FED, setting.exact_start, order, [[0, 1, 2], [1, 2]], lr, steps, server_lr)
    for i, rounds in enumerate(horizons):
        wanted = [float(v) for v in of_path(FED, path, gradients, rounds)]
        got = [found.squared_distance[i], found.squared_gradient[i], found.gradient_sum[i]]
        assert got == pytest.approx(wanted, rel=1e-12, abs=1e-14)
    if 2 * steps * len(set(order)) < 12:
        exact = enumerated_errors(setting, 5)
        assert (exact.squared_distance[0], exact.squared_gradient[0], exact.gradient_sum[0]) == of_path(
            FED, path, gradients, 5
        )
    series = deterministic_errors(setting, [10**4, 10**9])
    late = plain_floats(FED, [float(v) for v in setting.exact_start], order, cycle, lr, steps, server_lr, 10**3)
    assert series.squared_distance[0] == pytest.approx(late, rel=1e-9, abs=1e-14)
    with working_precision():
        balls = deterministic_errors(setting, [*horizons, 10**4], ball)
        for mine, other in zip(balls.gradient_sum, [*found.gradient_sum, series.gradient_sum[0]], strict=True):
            assert float(mine) == pytest.approx(other, rel=1e-11) and mine.rad() < 1e-40 * (1 + mine.mid())
    orders = deterministic_errors(setting, horizons, order=cycle)
    assert orders.squared_distance == found.squared_distance


def plain_floats(fed, x, order, cycle, lr, steps, server_lr, rounds) -> float:
    turns = (cycle * rounds)[: rounds - rounds % len(cycle) + 10**4 % len(cycle)]
    path, _ = plain_run(fed, [Fraction(v) for v in x], turns[:6], [[0, 1, 2], [1, 2]], lr, steps, server_lr)
    lines = [[_float_line(g) for g in row] for row in fed.gradients]
    now = [float(v) for v in path[-1]]
    share = np.array(fed.multiplicities) / fed.clients
    for kind in turns[6:]:
        if kind == 1 and server_lr is not None:
            now = [v - float(server_lr) * sum(s * lines[k][j](v) for k, s in enumerate(share))
                   for j, v in enumerate(now)]  # fmt: skip
            continue
        weights = share if kind == 0 else np.array([0.5, 0.5])
        ends = []
        for row in lines:
            y = list(now)
            for _ in range(steps):
                y = [v - float(lr) * row[j](v) for j, v in enumerate(y)]
            ends.append(y)
        now = list(weights @ np.array(ends))
    return float(sum((v - float(b)) ** 2 for v, b in zip(now, fed.exact_optimum, strict=True)))


def _float_line(g: PiecewiseLinear):
    return lambda v: float(g.base) + float(g.slopes[0]) * v + sum(float(d) * max(v - float(t), 0) for t, d in g.hinges)


def test_the_engine_runs_the_same() -> None:
    for algorithm, _, _ in CASES.values():
        setting = Setting(FED, algorithm, Fixed([1, 2]), start=[3, "-5/2"])
        run = setting.simulate(replicas=1, rounds=12)
        rounds = run.rounds_of(FINAL_SQUARED_DISTANCE)
        exact = deterministic_errors(setting, rounds.tolist())
        assert len(rounds) > 10
        assert run.samples(FINAL_SQUARED_DISTANCE)[0].tolist() == pytest.approx(exact.squared_distance, rel=1e-10)


# Randomness.

LINE = PiecewiseLinear([1, "1/4", 2], [0, 1], at_zero="1/2")
SMALL = Piecewise([[LINE], [PiecewiseLinear([1, 2], ["1/2"], at_zero=-1)]], [2, 2], gradient_noise=1)


def all_outcomes(setting: Setting, rounds: int, kinds: list[tuple[Fraction, int]]) -> tuple[Fraction, Fraction]:
    """(E|x_R - x*|^2, sum of E|grad F|^2) over all sets, signs and kinds of round, one by one, client by client."""
    fed, algorithm = setting.federation, setting.algorithm
    rows = [fed.gradients[k][0] for k in fed.kind_of_client]
    noise, lr, steps = fed.exact_gradient_noise, algorithm.local_lr, algorithm.local_steps
    states, squares = [(setting.exact_start[0], Fraction(1))], Fraction(0)
    for _ in range(rounds):
        squares += sum(p * (sum(g(x) for g in rows) / Fraction(len(rows))) ** 2 for x, p in states)
        after = []
        for (x, p), (q, kind) in itertools.product(states, kinds):
            sets = (list(itertools.combinations(range(len(rows)), algorithm.cohort)) if kind == 0
                    else [setting.participation.members])  # fmt: skip
            for members in sets:
                for signs in itertools.product((-1, 1), repeat=steps * len(members)):
                    total = Fraction(0)
                    for n, i in enumerate(members):
                        y = x
                        for k in range(steps):
                            y = y - lr * (rows[i](y) + signs[n * steps + k] * noise)
                        total += y
                    after.append((total / len(members), p * q / len(sets) / 2 ** (steps * len(members))))
        states = after
    return sum(p * (x - fed.exact_optimum[0]) ** 2 for x, p in states), squares


@pytest.mark.parametrize(("cohort", "steps", "rounds"), [(2, 2, 1), (1, 2, 2), (2, 1, 2)])
def test_enumeration_by_kind_is_enumeration_by_client(cohort: int, steps: int, rounds: int) -> None:
    algorithm = fast(cohort=cohort, snapshot_probability="1/3", local_lr="1/4", local_steps=steps)
    setting = Setting(SMALL, algorithm, Fixed([3]), start=1)
    kinds = [(Fraction(1, 3), 0), (Fraction(2, 3), 1)]
    found = enumerated_errors(setting, rounds)
    wanted = all_outcomes(setting, rounds, kinds)
    assert (found.squared_distance[0], found.gradient_sum[0]) == wanted
    assert enumerated_errors(setting, rounds, last_law=False).squared_distance == found.squared_distance


def plain_law(
    line: PiecewiseLinear, x: Fraction, lr: Fraction, steps: int, noise: Fraction, one_sided: bool
) -> dict[Fraction, Fraction]:
    """The law of x after so many steps, in Fractions, as it is written."""
    law = {x: Fraction(1)}
    for _ in range(steps):
        after: dict[Fraction, Fraction] = {}
        for y, p in law.items():
            felt = noise > 0 and not (one_sided and y <= 0)
            for sign in (-1, 1) if felt else (0,):
                at = y - lr * (line(y) - sign * noise)
                after[at] = after.get(at, Fraction(0)) + p / (2 if felt else 1)
        law = after
    return law


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9), st.integers(0, 5), st.booleans(), st.booleans(), st.booleans())
def test_laws_in_whole_numbers_are_those_in_fractions(
    seed: int, steps: int, one_sided: bool, quiet: bool, dyadic: bool
) -> None:
    rng = np.random.default_rng(seed)

    def number() -> Fraction:
        return Fraction(float(rng.normal())) if dyadic else Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 9)))

    places = sorted({number() for _ in range(int(rng.integers(0, 3)))})
    line = PiecewiseLinear([number() for _ in range(len(places) + 1)], places, number())
    x = places[0] if places and rng.random() < 0.3 else number()  # a kink belongs to the piece before it
    lr, noise = abs(number()), Fraction(0) if quiet else abs(number())
    found, wanted = trained(line, x, lr, steps, noise, one_sided), plain_law(line, x, lr, steps, noise, one_sided)
    assert found.in_fractions() == wanted
    mean = sum(p * v for v, p in wanted.items())
    assert found.mean_and_variance() == (mean, sum(p * (v - mean) ** 2 for v, p in wanted.items()))


def test_enumeration_gives_up_and_refuses() -> None:
    algorithm = fast(cohort=2, snapshot_probability=1, local_lr="1/7", local_steps=20)
    with pytest.raises(TooMany, match="states are"):
        enumerated_errors(Setting(SMALL, algorithm, Fixed([0]), start=1), 1)
    plane = Piecewise([[1, 1]], gradient_noise=1)
    with pytest.raises(ValueError, match="allowed is two-point or one-sided, in 1, 4, 9"):
        enumerated_errors(Setting(plane, fast(cohort=1, snapshot_probability=1, local_lr=1), Fixed([0])), 1)
    with pytest.raises(ValueError, match="the run is random"):
        deterministic_errors(Setting(SMALL, fast(cohort=4, snapshot_probability=1, local_lr=1), Fixed([0])), [1])
    still = Setting(SMALL, fast(cohort=4, snapshot_probability=1, local_lr="1/7"), Fixed(range(4)))
    with pytest.raises(ValueError, match="functional = average_gap: allowed are"):
        deterministic_errors(replace(still, federation=Piecewise([[1]], [4])), [1]).functional(AVERAGE_GAP, "r = 1..R")
    with pytest.raises(ValueError, match="allowed is Piecewise"):
        deterministic_errors(Setting(Quadratic.common_hessian([0]), fedavg(local_lr=1), Fixed([0])), [1])


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.integers(1, 3), st.booleans(), st.integers(1, 6))
def test_moments_of_cohorts_are_those_of_clients(m: int, other: int, draws: bool, rounds: int) -> None:
    """Without kinks: against the moments of quadratics with as many clients."""
    slopes, centres = ["1/2", "3/2"], [1, "-2"]
    rows = [[PiecewiseLinear([h], (), -Fraction(h) * Fraction(c))] for h, c in zip(slopes, centres, strict=True)]
    fed = Piecewise(rows, [other, 4], gradient_noise="1/2")
    algorithm = fast(cohort=m, snapshot_probability="1/3", local_lr="1/5", local_steps=3, replacement=draws)
    setting = Setting(fed, algorithm, Fixed([0, other]), start="5/2")
    hessians = [[slopes[k]] for k in fed.kind_of_client]
    same = Setting(Quadratic(hessians, [[centres[k]] for k in fed.kind_of_client], gradient_noise="1/2"), algorithm,
                   Fixed([0, other]), start="5/2")  # fmt: skip
    first, second = (affine_map(setting, kind, 0) for kind in algorithm.kinds)
    one = first * Fraction(1, 3) + second * Fraction(2, 3)
    shift = Fraction(5, 2) - fed.exact_optimum[0]
    state = np.array([shift**2, shift, Fraction(1), Fraction(0)], dtype=object)
    for _ in range(rounds):
        state = one @ state
    wanted = exact_errors(same, [rounds], exact=True)
    assert (state[0], state[3]) == (wanted.squared_distance[0], wanted.gradient_sum[0])
    if not draws and rounds == 1 and m < 4:
        assert enumerated_errors(setting, 1).squared_distance == [state[0]]


def test_moments_of_large_cohorts() -> None:
    """Ten thousand clients of two kinds: the mean over sets of m, by inclusion probabilities."""
    cohorts = Cohorts(100, (9_000, 1_000))
    assert cohorts.first == [90, 10]
    variance = cohorts.second[0][0] - 90**2
    assert variance == Fraction(100 * 9 * 9_900, 100 * 9_999)  # hypergeometric
    assert sum(sum(row) for row in cohorts.second) == 100**2
    assert Cohorts(100, (9_000, 1_000), draws=True).second[0][0] - 90**2 == 9


def test_maps_in_balls_and_server_rounds() -> None:
    fed = Piecewise([[PiecewiseLinear([1], (), 1)], [PiecewiseLinear([1], (), -1)]], [10**4, 10**4], server_noise=2)
    setting = Setting(fed, safari(client_round_probability="1/2", local_lr="1/9", server_lr="1/3"), Fixed([5]))
    server = affine_map(setting, setting.algorithm.kinds[1], 0)
    assert server[:2, :3].tolist() == [[Fraction(4, 9), 0, Fraction(4, 9)], [0, Fraction(2, 3), 0]]
    with working_precision():
        kind = setting.algorithm.kinds[0]
        exact = affine_map(setting, kind, 0)
        blurred = ball_matrix(affine_map(setting, replace(kind, local_lr=Ball(ball(kind.local_lr))), 0))
        assert all(blurred[i, j].contains(ball(exact[i, j])) for i in range(4) for j in range(4))


def test_with_uniform_participants_of_the_process() -> None:
    with pytest.raises(ValueError, match="participation is Uniform"):
        enumerated_errors(Setting(FED, fast(cohort=1, snapshot_probability=0, local_lr=1), Uniform(1)), 1)


def test_cycles_end_each_in_its_way() -> None:
    """A run that settles; one that is lost; one that is followed as far as any; and a pattern left behind."""
    slow, mean = Motion(((1.0, STEEP, 0.01, 1),)), STEEP
    settled = follow([slow], mean, 5.0, [0, 10, 10**30])
    assert [at.x for at in settled[:1]] == [5.0] and settled[2].x == pytest.approx(0, abs=1e-12)
    lost = follow([Motion(((1.0, STEEP, 5.0, 1),))], mean, 5.0, [1, 10**5])
    assert np.isfinite(lost[0].x) and lost[1] == Passed(np.inf, np.inf)
    around = follow([Motion(((1.0, STEEP, 2.0, 1),))], mean, 1.0, [3, LONGEST - 1, LONGEST])
    assert [at.x for at in around] == [-1.0, -1.0]  # 1, -1, 1, ...: never said beyond where it was followed


STEEP = Line(PiecewiseLinear([1, 2], [1]), float)


def test_a_coordinate_that_is_lost_early_ends_all(monkeypatch) -> None:
    """No error is told of rounds to which one coordinate alone could be followed."""
    algorithm, *_ = CASES[next(iter(CASES))]
    setting, whole, calls = Setting(FED, algorithm, Fixed([1, 2]), start=[3, "-5/2"]), kinked_runs.follow, []

    def shorter(*given):  # type: ignore[no-untyped-def]
        calls.append(given)
        found = whole(*given)
        return found[:-1] if len(calls) == 1 else found

    monkeypatch.setattr(kinked_runs, "follow", shorter)
    found = deterministic_errors(setting, [0, 1, 2])
    assert len(calls) == 2 and len(found.squared_distance) == 2
