"""Where algorithms settle: biased optima, limits of the exact recursion, and simulations of it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.federations import Quadratic
from fedtheory.functionals import FINAL_SQUARED_DISTANCE
from fedtheory.moments.expected_errors import exact_errors, expected_models
from fedtheory.moments.stationary import NotContracting, fixed_point, stationary
from fedtheory.participation import (
    Bernoulli,
    Cyclic,
    Fixed,
    Incomplete,
    Markov,
    PoissonGroups,
    Uniform,
    UniformGroups,
    Weighted,
)
from fedtheory.setting import Setting

CURVATURES, CENTRES, P = [F(1), F(3), F(1, 2)], [F(1), F(-2), F(4)], [F(1, 2), F(1, 5), F(1)]
FED = Quadratic([[h] for h in CURVATURES], [[c] for c in CENTRES], "1/2")
EVERYONE = Fixed([0, 1, 2])
PLANE = Quadratic(
    [[[1, "1/2"], ["1/2", 2]], [[3, 0], [0, "1/4"]], [[1, -1], [-1, 2]]], [[1, 0], [-1, 2], ["1/2", "1/3"]], "3/2"
)
STEPS = {"local_lr": "1/9"}
LOCAL = {"local_lr": "1/9", "local_steps": 3}


def on(algorithm: object, process: object, fed: Quadratic = FED, start: object = 3) -> Setting:
    return Setting(fed, algorithm, process, start)


def minimiser(weights: list[F]) -> F:
    """Of sum_i w_i F_i on the line."""
    pulls = [w * h for w, h in zip(weights, CURVATURES, strict=True)]
    return sum(pull * c for pull, c in zip(pulls, CENTRES, strict=True)) / sum(pulls)


def shares(p: list[F]) -> list[F]:
    """E[1_i / number of participants], over all sets."""
    found = [F(0)] * len(p)
    for here in product((0, 1), repeat=len(p)):
        chance = math.prod((p_i if n else 1 - p_i) for n, p_i in zip(here, p, strict=True))
        found = [f + chance * F(n, max(1, sum(here))) for f, n in zip(found, here, strict=True)]
    return found


# One local step: the biased optimum is the minimiser of the objective that the mean weights stand for.


@pytest.mark.parametrize(
    ("algorithm", "weights"),
    [
        (algorithms.fedavg(**STEPS), shares(P)),
        (algorithms.fedavg(**STEPS, average="all"), P),
        (algorithms.fedprox(**STEPS, proximal=5), shares(P)),
        (algorithms.fedavgm(**STEPS, momentum="1/2", average="all"), P),
        (algorithms.known_statistics(**STEPS), [F(1)] * 3),
        (algorithms.known_statistics(**STEPS, participation_probability=["1/4", "1/5", 1]), [F(2), F(1), F(1)]),
        (algorithms.constant_weights(**STEPS, aggregation_weight=[1, 4, 3]), [F(1, 2), F(4, 5), F(3)]),
        (algorithms.fedvarp(**STEPS), [F(1)] * 3),
        (algorithms.mifa(**STEPS), [F(1)] * 3),
    ],
    ids=["participating", "all", "proximal", "momentum", "known", "believed", "constant", "FedVarp", "MIFA"],
)
def test_the_biased_optimum_of_one_local_step(algorithm: object, weights: list[F]) -> None:
    found = fixed_point(on(algorithm, Bernoulli(P)), exact=True)
    assert found.point.tolist() == [minimiser(weights)]
    assert found.bias.tolist() == [minimiser(weights) - minimiser([F(1)] * 3)]
    assert found.squared_distance == found.bias[0] ** 2
    floats = fixed_point(on(algorithm, Bernoulli(P)))
    assert floats.point[0] == pytest.approx(float(minimiser(weights)), rel=1e-13)
    assert floats.spectral_radius == pytest.approx(found.spectral_radius) and 0 < floats.spectral_radius < 1


CHAINS = Markov(["1/2", "1/4", 1], ["1/4", "1/5", 1])


@pytest.mark.parametrize("make", [algorithms.mifa, algorithms.fedvarp])
@pytest.mark.parametrize(
    "process", [Bernoulli(P), Uniform(1), Uniform(2, replacement=True), CHAINS], ids=["p", "m", "r", "chains"]
)
def test_remembered_updates_are_biased_as_full_participation_is(make: object, process: object) -> None:
    """Where sum_i delta_i(x) = 0 and y_i = delta_i(x), nothing changes, whoever comes and whatever that depends on: the
    clients' own paths leave a bias, who comes does not; and without noise nothing else is left of the error."""
    everyone = fixed_point(on(algorithms.fedavg(**LOCAL), EVERYONE), exact=True)
    remembering = fixed_point(on(make(**LOCAL), process), exact=True)
    assert (remembering.point == everyone.point).all() and remembering.bias[0] != 0
    noiseless = Quadratic([[h] for h in CURVATURES], [[c] for c in CENTRES])
    assert stationary(on(make(**LOCAL), process, noiseless), exact=True).squared_distance == everyone.bias[0] ** 2


def test_participants_with_a_memory_bias_what_forgets() -> None:
    """Known statistics weigh each round's clients rightly, but who was on before has pulled the model already."""
    found = fixed_point(on(algorithms.known_statistics(**STEPS), CHAINS), exact=True)
    assert fixed_point(on(algorithms.known_statistics(**STEPS), Bernoulli(CHAINS.law)), exact=True).bias.tolist() == [0]
    assert abs(found.bias[0]) > F(1, 1000)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_one_hessian_leaves_no_bias(K: int) -> None:
    common = Quadratic.common_hessian([[2, -1], [-1, 1], [-1, 3]], [1, 4], "1/2")
    steps = {"local_lr": "1/6", "local_steps": K}
    for algorithm in (algorithms.known_statistics(**steps), algorithms.mifa(**steps), algorithms.fedvarp(**steps)):
        assert fixed_point(on(algorithm, Bernoulli(P), common), exact=True).bias.tolist() == [0, 0]


def test_the_bias_of_local_steps_is_of_the_order_of_the_step() -> None:
    """sum_i (1 - (1 - eta h_i)^K) (x - c_i) = 0: bias = -eta (K - 1)/2 sum h_i^2 (x* - c_i) / -sum h_i + O(eta^2)."""
    x = minimiser([F(1)] * 3)
    for K in (2, 4):
        slope = F(K - 1, 2) * sum(h**2 * (x - c) for h, c in zip(CURVATURES, CENTRES, strict=True)) / sum(CURVATURES)
        for eta in (F(1, 10**3), F(1, 10**5)):
            algorithm = algorithms.mifa(local_lr=eta, local_steps=K)
            bias = fixed_point(on(algorithm, Bernoulli(P)), exact=True).bias[0]
            # The next order is about 10 K^2 times the step.
            assert abs(bias / (eta * slope) - 1) < 10 * K**2 * eta


# What is left of the error: limits of the exact recursion.


SETTLING = {
    "average participating": on(algorithms.fedavg(**LOCAL), Bernoulli(P)),
    "average all, in the plane": on(algorithms.fedavg(**LOCAL, average="all"), Bernoulli(P), PLANE),
    "momentum": on(algorithms.fedavgm(**STEPS, momentum="2/3"), Bernoulli(P)),
    "momentum and snapshots": on(
        algorithms.fast(**LOCAL, cohort=2, snapshot_probability="1/3", momentum="1/2", proximal="1/2"),
        Bernoulli(P), PLANE,
    ),
    "server rounds, chains": on(
        algorithms.safari(**LOCAL, client_round_probability="1/2", server_lr="1/8"), CHAINS, PLANE
    ),
    "snapshots, chains": on(algorithms.fast(**LOCAL, cohort=1, snapshot_probability="1/4"), CHAINS),
    "FedVarp": on(algorithms.fedvarp(**LOCAL), Bernoulli(P)),
    "MIFA": on(algorithms.mifa(**LOCAL), Bernoulli(P)),
    "MIFA, one never comes": on(algorithms.mifa(**STEPS), Incomplete(Uniform(1), [1])),
    "MIFA, chains": on(algorithms.mifa(**STEPS), CHAINS),
    "known statistics, cycles": on(algorithms.known_statistics(**STEPS), Cyclic(["1/3", "2/3", 1], 3)),
    "NAIVE": on(algorithms.naive(**STEPS, groups=[0, 1, 0], budget="3/2"), UniformGroups([0, 1, 0], [0, 0], [2, 1])),
    "groups": on(algorithms.fedavg(**STEPS), PoissonGroups([0, 1, 0], [1.5, 0.5])),
    "weighted": on(algorithms.fedvarp(**STEPS), Weighted(2, [1, 2, 3])),
}  # fmt: skip
settling = pytest.mark.parametrize("setting", SETTLING.values(), ids=SETTLING)


@settling
def test_runs_settle_there(setting: Setting) -> None:
    found, point = stationary(setting), fixed_point(setting)
    for start in (3, -50):
        setting = replace(setting, start=start)
        last = exact_errors(setting, [10**5])
        # Radii are below 0.98: 0.98^10^5 is 0; rounding of 10^5 rounds' powers.
        assert last.squared_distance[0] == pytest.approx(found.squared_distance, rel=1e-9)
        assert last.squared_gradient[0] == pytest.approx(found.squared_gradient, rel=1e-9)
        np.testing.assert_allclose(expected_models(setting, [10**5])[0], point.point, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(point.bias, found.mean, rtol=1e-9, atol=1e-12)
    assert found.squared_distance == pytest.approx(found.mean @ found.mean + np.trace(found.covariance), rel=1e-12)
    assert (np.linalg.eigvalsh(found.covariance) >= -1e-12).all() and found.spectral_radius < 1


@pytest.mark.parametrize("name", ["average participating", "momentum", "server rounds, chains", "MIFA", "MIFA, chains"])
def test_fractions_settle_where_floats_do(name: str) -> None:
    setting = SETTLING[name]
    if name != "server rounds, chains":  # in the plane its recursion has 36 numbers, here 16 and more
        found, floats = stationary(setting, exact=True), stationary(setting)
        assert isinstance(found.squared_distance, F)
        assert floats.squared_distance == pytest.approx(float(found.squared_distance), rel=1e-11)
    point = fixed_point(setting, exact=True)
    np.testing.assert_allclose(fixed_point(setting).point, point.point.astype(float), rtol=1e-12)


def test_a_horizon_of_10_to_the_8() -> None:
    for name in ("MIFA", "momentum", "server rounds, chains"):
        found = exact_errors(SETTLING[name], [10**8])
        assert found.squared_distance[0] == pytest.approx(stationary(SETTLING[name]).squared_distance, rel=1e-7)


def test_means_may_settle_where_squares_do_not() -> None:
    """A client that comes once in 50 rounds, and whose step then counts 50-fold."""
    setting = on(algorithms.known_statistics(local_lr="1/4"), Bernoulli([1, "1/50", 1]))
    assert fixed_point(setting, exact=True).bias.tolist() == [0]
    with pytest.raises(NotContracting, match=r"spectral radius = .*the squares do not contract"):
        stationary(setting)
    assert exact_errors(setting, [10**6]).squared_distance[0] == math.inf
    with pytest.raises(NotContracting, match="the means do not contract"):
        fixed_point(on(algorithms.fedavg(local_lr=10), Fixed([0, 1, 2])))


def test_momentum_leaves_the_fixed_point_and_makes_the_floor_higher() -> None:
    """v has the mean 0 in the end; the noise of many rounds adds up to a step that is 1 / (1 - momentum) as large."""
    makes = algorithms.fedavg(**LOCAL), algorithms.fedavgm(**LOCAL, momentum="1/2")
    plain, moved = (on(algorithm, Bernoulli(P)) for algorithm in makes)
    assert (fixed_point(moved, exact=True).point == fixed_point(plain, exact=True).point).all()
    assert stationary(moved).squared_distance > stationary(plain).squared_distance


def test_flics_in_a_stationary_regime_is_constant_weights() -> None:
    """Fixed rates r_j of a_j clients who answer independently, weights p_j / s^_j: x + sum_j p_j/s^_j sum_l delta_l.
    Planned rates (s^ = r) leave no bias for one step."""
    groups, rates, weight = [0, 0, 1], [F(3, 2), F(1, 3)], [F(2, 3), F(1, 3)]
    answering = [rates[g] / groups.count(g) for g in groups]
    omega = [3 * weight[g] / rates[g] for g in groups]
    algorithm = algorithms.constant_weights(**STEPS, aggregation_weight=omega)
    assert fixed_point(on(algorithm, Bernoulli(answering)), exact=True).bias.tolist() == [0]
    off = algorithms.constant_weights(**STEPS, aggregation_weight=[omega[0], omega[1], omega[2] * F(6, 5)])
    assert fixed_point(on(off, Bernoulli(answering)), exact=True).point.tolist() == [
        minimiser([F(1, 3), F(1, 3), F(1, 3) * F(6, 5)])
    ]


def test_markov_participants_cost_more_than_independent_ones() -> None:
    """Long stays away let the model drift to the others' minimisers: seen by the joint law alone, as each round's law
    is the same."""
    algorithm, p = algorithms.known_statistics(**STEPS), ["1/2", "1/2", "1/2"]
    floors = [stationary(on(algorithm, Markov(p, [e] * 3))).squared_distance for e in ("1/2", "1/8", "1/50")]
    assert floors[0] == pytest.approx(stationary(on(algorithm, Bernoulli(p))).squared_distance, rel=1e-12)
    assert floors[0] < floors[1] < floors[2]


# Simulation.


@pytest.mark.parametrize(
    "name", ["average participating", "momentum and snapshots", "server rounds, chains", "FedVarp", "MIFA, chains",
             "known statistics, cycles", "NAIVE"]
)  # fmt: skip
def test_simulations_agree(name: str) -> None:
    setting, rounds = SETTLING[name], 8
    run = setting.simulate(replicas=1500, rounds=rounds, seed=5)
    _, low, high = run.interval(FINAL_SQUARED_DISTANCE, confidence=0.99)  # the seed is fixed
    assert low[-1] <= setting.exact([rounds]).squared_distance[0] <= high[-1]
    # Narrow enough to see a wrong weight.
    assert high[-1] - low[-1] < 0.6 * setting.exact([rounds]).squared_distance[0]
