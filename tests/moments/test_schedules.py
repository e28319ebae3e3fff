"""Step sizes that change: the engine, the exact moments, enumeration and plain loops say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from fedtheory.algorithms import Algorithm, fast, fedamplify, fedavg, fedavgm, fedprox, given_weights, mifa, safari
from fedtheory.federations import Quadratic
from fedtheory.functionals import AVERAGE_GAP, GAP_OF_AVERAGE
from fedtheory.moments.averages import of_run
from fedtheory.moments.expected_errors import expected_models
from fedtheory.moments.objective_evaluators import largest_squared_gradient
from fedtheory.moments.timeline import MOST_VARYING
from fedtheory.participation import Cyclic, Fixed, Markov, Participation, Phases, Uniform
from fedtheory.setting import Setting

F = Fraction
SLOPES, CENTRES, START, K = (F(1), F(2), F(1, 2)), (F(0), F(3), F(-2)), F(5), 2
QUIET = Quadratic([[h] for h in SLOPES], [[c] for c in CENTRES])
NOISY = Quadratic([[h] for h in SLOPES], [[c] for c in CENTRES], F(1, 2), server_noise=F(1, 3))
STEP = "2/(5 + step_index)"
X_STAR = QUIET.exact_optimum[0]


def step(t: int) -> Fraction:
    return F(2, 5 + t)


def trained(i: int, x: Fraction, r: int, pull: Fraction | int = 0, noise=(0, 0)) -> Fraction:
    """Client i's model after round r's local steps, written out."""
    y = x
    for k in range(K):
        y -= step(r * K + k) * (SLOPES[i] * (y - CENTRES[i]) + noise[k] + pull * (y - x))
    return y


def plain(update: Callable[[int, Fraction], Fraction], rounds: int) -> list[Fraction]:
    path = [START]
    for r in range(rounds):
        path.append(update(r, path[-1]))
    return path


def mean_of(members) -> Callable[[int, Fraction], Fraction]:
    return lambda r, x: sum(trained(i, x, r) for i in members) / len(members)


def _momentum() -> Callable[[int, Fraction], Fraction]:
    v = [F(0)]

    def update(r: int, x: Fraction) -> Fraction:
        v[0] = v[0] / 2 + mean_of((0, 1))(r, x) - x
        return x + v[0] * F(3, 4 + r)

    return update


def _memory() -> Callable[[int, Fraction], Fraction]:
    latest = [F(0)] * 3

    def update(r: int, x: Fraction) -> Fraction:
        for i in ((0, 1), (1, 2))[r % 2]:
            latest[i] = trained(i, x, r) - x
        return x + sum(latest) / 3

    return update


H = sum(SLOPES) / 3
CASES: dict[str, tuple[Algorithm, Participation, Callable]] = {
    "fedavg": (fedavg(local_lr=STEP, local_steps=K), Fixed([0, 2]), mean_of((0, 2))),
    "fedavg with two rules": (
        fedavg(local_lr=STEP, local_steps=K, global_lr="1 + 1/(1 + round_index)", average="all"), Fixed([0, 2]),
        lambda r, x: x + (1 + F(1, 1 + r)) * sum(trained(i, x, r) - x for i in (0, 2)) / 3,
    ),
    "fedprox": (
        fedprox(local_lr=STEP, local_steps=K, proximal="1/2"), Fixed([1]), lambda r, x: trained(1, x, r, F(1, 2))
    ),
    "fedavgm": (
        fedavgm(local_lr=STEP, local_steps=K, momentum="1/2", global_lr="3/(4 + round_index)"), Fixed([0, 1]), None
    ),
    "mifa": (mifa(local_lr=STEP, local_steps=K), Phases([[0, 1], [1, 2]], [1, 1], cyclic=True), None),
    "fast": (
        fast(local_lr=STEP, local_steps=K, snapshot_period=3, cohort=3), Fixed([1]),
        lambda r, x: mean_of((0, 1, 2) if r % 3 == 0 else (1,))(r, x),
    ),
    "safari": (
        safari(client_round_probability=0, local_lr=STEP, local_steps=K, server_lr="1/(2 + round_index)"), Fixed([1]),
        lambda r, x: x - F(1, 2 + r) * H * (x - X_STAR),
    ),
    "phases": (
        fedavg(local_lr=STEP, local_steps=K), Phases([[0], [2]], [2, 1]),
        lambda r, x: mean_of((0,) if r < 2 else (2,))(r, x),
    ),
    "phases in turn": (
        fedavg(local_lr=STEP, local_steps=K), Phases([[0], [2]], [2, 1], cyclic=True),
        lambda r, x: mean_of((0,) if r % 3 < 2 else (2,))(r, x),
    ),
}  # fmt: skip
OWN = {"fedavgm": _momentum, "mifa": _memory}


@pytest.mark.parametrize("name", CASES)
def test_engine_moments_and_plain_loops_agree_without_noise(name: str) -> None:
    algorithm, process, update = CASES[name]
    setting = Setting(QUIET, algorithm, process, START)
    path = plain(update or OWN[name](), 9)
    distances = [(x - X_STAR) ** 2 for x in path]
    assert setting.exact([*range(10)], exact=True).squared_distance.tolist() == distances
    assert expected_models(setting, [*range(10)], exact=True)[:, 0].tolist() == path
    assert setting.exact([*range(10)]).squared_distance == pytest.approx(np.array(distances, dtype=float), rel=1e-12)
    run = setting.simulate(replicas=2, rounds=9, record_every=1)
    assert run.rows["squared_distance"][1] == pytest.approx(np.array(distances, dtype=float), rel=1e-12, abs=1e-13)


def enumerated(rounds: int, laws: Callable[[int], list[tuple[Fraction, tuple[int, ...] | None]]]) -> Iterator:
    """(probability, path) of every run: who takes part, ``None`` for a round of the server's, and the signs."""

    def go(chance: Fraction, path: tuple[Fraction, ...]) -> Iterator:
        r, x = len(path) - 1, path[-1]
        if r == rounds:
            yield chance, path
            return
        for p, members in laws(r):
            if members is None:
                for sign in (-1, 1):
                    yield from go(chance * p / 2, (*path, x - F(1, 2 + r) * (H * (x - X_STAR) + sign * F(1, 3))))
                continue
            for signs in product((-F(1, 2), F(1, 2)), repeat=K * len(members)):
                ends = [trained(i, x, r, F(0), signs[K * j : K * j + K]) for j, i in enumerate(members)]
                yield from go(chance * p / 2 ** len(signs), (*path, sum(ends) / len(ends)))

    return go(F(1), (START,))


def coin(r: int) -> list[tuple[Fraction, tuple[int, ...] | None]]:
    return [(F(1, 4), (0,)), (F(3, 4), None)]


RANDOM = {
    "cohorts": (fedavg(local_lr=STEP, local_steps=K), Uniform(2),
                lambda r: [(F(1, 3), c) for c in combinations(range(3), 2)]),
    "kinds of round": (
        safari(client_round_probability="1/4", local_lr=STEP, local_steps=K, server_lr="1/(2 + round_index)"),
        Fixed([0]), coin),
}  # fmt: skip


@pytest.mark.parametrize("name", RANDOM)
def test_moments_are_what_enumeration_says(name: str) -> None:
    algorithm, process, laws = RANDOM[name]
    setting, rounds = Setting(NOISY, algorithm, process, START), 2
    every = list(enumerated(rounds, laws))
    assert sum(p for p, _ in every) == 1

    def mean(value: Callable) -> Fraction:
        return sum((p * value(path) for p, path in every), F(0))

    errors = setting.exact([0, 1, 2], exact=True)
    assert errors.squared_distance.tolist() == [mean(lambda x, r=r: (x[r] - X_STAR) ** 2) for r in range(3)]
    assert errors.gradient_sum[2] == mean(lambda x: sum((H * (x[r] - X_STAR)) ** 2 for r in range(2)))
    assert of_run(setting, AVERAGE_GAP, 2, True)[0] == mean(
        lambda x: H / 2 * sum((x[r] - X_STAR) ** 2 for r in (1, 2)) / 2
    )
    assert of_run(setting, GAP_OF_AVERAGE, 2, True)[0] == mean(lambda x: H / 2 * ((x[1] + x[2]) / 2 - X_STAR) ** 2)
    run = setting.simulate(replicas=20_000, rounds=2, record_every=1, seed=3)
    rows = run.rows["squared_distance"][:, 2]
    assert abs(rows.mean() - float(errors.squared_distance[2])) < 4 * rows.std() / len(rows) ** 0.5


@pytest.mark.parametrize("process", [Uniform(2), Markov(["1/2"] * 3, [1] * 3), Cyclic(["1/2"] * 3, 2)])
def test_a_rule_that_says_one_number_is_that_number(process: Participation) -> None:
    one = Setting(NOISY, fedavg(local_lr="1/7", local_steps=3), process, START)
    rule = replace(one, algorithm=fedavg(local_lr="1/7 + 0*step_index", local_steps=3, global_lr="1 + 0*round_index"))
    rounds = [0, 1, 5, 17]
    for name in ("squared_distance", "gradient_sum"):
        assert (getattr(one.exact(rounds[:3], True), name) == getattr(rule.exact(rounds[:3], True), name)).all()
        assert getattr(one.exact(rounds), name) == pytest.approx(getattr(rule.exact(rounds), name), rel=1e-12)
    assert largest_squared_gradient(one, 3, True) == largest_squared_gradient(rule, 3, True)
    first, second = (s.simulate(replicas=3, rounds=5).rows["squared_distance"] for s in (one, rule))
    assert first == pytest.approx(second, rel=1e-12)


def test_the_largest_gradient_is_taken_with_each_step_s_size() -> None:
    """One client h = 1, centre 0: steps of 3, then 1/2: 1, -2, -1, then of 3 in round 1: 2, 1."""
    fed = Quadratic([[1]], [[0]])
    setting = Setting(fed, fedavg(local_lr="3 - 5/2*min(1, step_index)", local_steps=2), Fixed([0]), start=1)
    assert largest_squared_gradient(setting, 1, True) == 4
    later = replace(setting, algorithm=fedavg(local_lr="1/2 + 15/2*max(0, min(1, step_index - 1))", local_steps=2))
    assert largest_squared_gradient(later, 2, True) == F(49, 16)  # 1, 1/2, 1/4, then a step of 8: -7/4
    growing = replace(setting, algorithm=fedavg(local_lr="3 + round_index", local_steps=1))  # 1, -2, 6
    assert [largest_squared_gradient(growing, rounds, True) for rounds in (1, 2, 3)] == [1, 4, 36]


def test_many_rounds_are_followed_and_too_many_refused() -> None:
    """x_{r+1} = x_r (1 - 1/(2 + r)): x_r = 1/(1 + r)."""
    setting = Setting(Quadratic([[1]], [[0]]), fedavg(local_lr="1/(2 + round_index)"), Fixed([0]), start=1)
    assert setting.exact([10_000]).squared_distance[0] == pytest.approx(1e-8 * (1 - 1e-4) ** 2, rel=1e-7)
    with pytest.raises(ValueError, match=f"rounds = {MOST_VARYING + 1}: allowed are at most {MOST_VARYING} that"):
        setting.exact([MOST_VARYING + 1])


def test_what_is_not_followed_says_why() -> None:
    irrational = Setting(QUIET, fedavg(local_lr="1/sqrt(2 + round_index)"), Fixed([0]))
    assert np.isfinite(irrational.exact([3]).squared_distance).all()
    with pytest.raises(ValueError, match="irrational: allowed in Fractions are rational steps"):
        irrational.exact([3], exact=True)


@pytest.mark.parametrize("algorithm", [
    fedamplify(local_lr=STEP, period=2, global_lr=2),
    given_weights(local_lr=STEP, aggregation_weight=[[1, 1, 1], [1, 2, 1]]),
], ids=["FedAmplify", "given weights"])  # fmt: skip
def test_rules_where_rounds_differ_otherwise_too(algorithm: Algorithm) -> None:
    """The engine's run; 1e-12 is the rounding of eight rounds."""
    setting = Setting(QUIET, algorithm, Fixed([0]), START)
    run = setting.simulate(replicas=1, rounds=8).rows["squared_distance"][0]
    np.testing.assert_allclose(setting.exact(range(9)).squared_distance, run, rtol=1e-12)


def test_runs_resume_with_the_right_steps(tmp_path) -> None:
    setting = Setting(NOISY, fedavg(local_lr=STEP, local_steps=K), Uniform(2), START)

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done >= 2 * 6:
            raise Stop

    whole = setting.simulate(replicas=2, rounds=12, seed=1)
    with pytest.raises(Stop):
        setting.simulate(replicas=2, rounds=12, seed=1, directory=tmp_path, checkpoint_every=3, progress=stop)
    again = setting.simulate(replicas=2, rounds=12, seed=1, directory=tmp_path, checkpoint_every=3)
    assert (whole.rows["squared_distance"] == again.rows["squared_distance"]).all()
