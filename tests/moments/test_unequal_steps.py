"""Clients that make different numbers of local steps: exact moments against every outcome, plain loops and runs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import fedtheory as ft
from fedtheory.algorithms import fedavg, fedprox, fedvarp
from fedtheory.federations import Quadratic
from fedtheory.moments import implied_objective, round_maps
from fedtheory.participation import Bernoulli, Fixed, Markov, Participation, Uniform
from fedtheory.simulation.iterates import iterates
from fedtheory.testing.settings import logistic

F = Fraction
STEPS, LR, SIGMA = (1, 3, 2), F(1, 5), F(1, 2)
CURVATURES, CENTRES = [F(1), F(2), F(1, 2)], [F(0), F(1), F(-3)]
NOISY = Quadratic([[h] for h in CURVATURES], [[c] for c in CENTRES], gradient_noise=SIGMA)
QUIET = Quadratic([[h] for h in CURVATURES], [[c] for c in CENTRES])
DENSE = Quadratic(
    [[[2, 1], [1, 3]], [[1, 0], [0, 2]], [[3, -1], [-1, 1]]], [[0, 1], [2, -1], [-2, 3]], gradient_noise="1/2"
)


def trained(i: int, x: Fraction, signs: tuple[int, ...]) -> Fraction:
    """Client i's K_i steps from x, with the noise +-SIGMA in each."""
    for sign in signs:
        x = x - LR * (CURVATURES[i] * (x - CENTRES[i]) + sign * SIGMA)
    return x


def outcomes(x: Fraction, samples: tuple[int, ...]) -> list[tuple[Fraction, Fraction]]:
    """Probability and value of x after a round: each pair of clients comes with 1/3, and every noise happens."""
    found = []
    for pair in itertools.combinations(range(3), 2):
        of_each = [list(itertools.product((-1, 1), repeat=STEPS[i])) for i in pair]
        for signs in itertools.product(*of_each):
            p = F(1, 3) * F(1, 2) ** sum(map(len, signs))
            weights = [F(samples[i], sum(samples[j] for j in pair)) for i in pair]
            moved = sum(w * trained(i, x, s) for w, i, s in zip(weights, pair, signs, strict=True))
            found.append((p, F(moved)))
    return found


@pytest.mark.parametrize("samples", [None, (1, 2, 4)])
def test_moments_are_those_of_every_outcome(samples: tuple[int, ...] | None) -> None:
    """Two rounds, in Fractions and in floats."""
    options = {} if samples is None else {"average": "samples", "samples": samples}
    setting = ft.Setting(NOISY, fedavg(local_lr=LR, local_steps=STEPS, **options), Uniform(2), start=2)
    optimum, states = NOISY.exact_optimum[0], [(F(1), F(2))]
    expected = [(F(2) - optimum) ** 2]
    for _ in range(2):
        states = [(p * q, y) for p, x in states for q, y in outcomes(x, samples or (1, 1, 1))]
        expected.append(sum((p * (x - optimum) ** 2 for p, x in states), F(0)))
    assert setting.exact([0, 1, 2], exact=True).squared_distance.tolist() == expected
    found = setting.exact([0, 1, 2])
    assert (
        np.abs(found.squared_distance - np.array(expected, dtype=float)) <= found.accuracy["squared_distance"]
    ).all()


@pytest.mark.parametrize("steps", [(2, 2, 2), (1, 1, 1)])
def test_equal_numbers_are_one_number(steps: tuple[int, ...]) -> None:
    for algorithm, options in ((fedavg, {}), (fedprox, {"proximal": "1/2"}), (fedvarp, {})):
        one, other = (
            ft.Setting(NOISY, algorithm(local_lr=LR, local_steps=k, **options), Uniform(2), start=2)
            for k in (steps[0], steps)
        )
        for name in ("squared_distance", "squared_gradient", "gradient_sum"):
            a, b = (getattr(each.exact(range(4), exact=True), name).tolist() for each in (one, other))
            assert a == b
        rows = [each.simulate(replicas=5, rounds=6, seed=3).rows["squared_distance"] for each in (one, other)]
        np.testing.assert_allclose(*rows, rtol=1e-12)  # other operations round otherwise


PROCESSES: list[Participation] = [
    Uniform(2), Bernoulli(["1/2", "1/3", "3/4"]), Fixed([0, 1, 2]), Markov(["1/4", "1/2", "1/3"], ["1/8", "1/4", "1/2"])
]  # fmt: skip


@pytest.mark.parametrize("process", PROCESSES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("fed", [NOISY, DENSE], ids=["diagonal", "dense"])
def test_runs_are_those_of_the_moments(fed: Quadratic, process: Participation) -> None:
    """Within five standard errors at each of five rounds: one in a million by chance."""
    setting = ft.Setting(fed, fedavg(local_lr="1/10", local_steps=[1, 4, 2], average="all"), process, start=2)
    exact = setting.exact(range(6))
    run = setting.simulate(replicas=4000, rounds=5, record_every=1, seed=1)
    for name in ("squared_distance", "squared_gradient"):
        values = run.rows[name]
        error = values.std(0, ddof=1) / np.sqrt(len(values))
        assert (np.abs(values.mean(0) - getattr(exact, name)) <= 5 * error + 1e-12).all()


def test_quiet_runs_are_the_plain_loop() -> None:
    setting = ft.Setting(QUIET, fedprox(local_lr=LR, local_steps=STEPS, proximal="1/3"), Fixed([0, 1, 2]), start=2)
    x, points = F(2), [F(2)]
    for _ in range(4):
        x = sum((_quiet(i, x) for i in range(3)), F(0)) / 3
        points.append(x)
    found = iterates(setting, rounds=4, replicas=1)[:, 0, 0].tolist()
    assert found == pytest.approx([float(each) for each in points], rel=1e-14)
    distances = setting.exact(range(5), exact=True).squared_distance.tolist()
    assert distances == [(each - QUIET.exact_optimum[0]) ** 2 for each in points]


def _quiet(i: int, x: Fraction) -> Fraction:
    start = x
    for _ in range(STEPS[i]):
        x = x - LR * (CURVATURES[i] * (x - CENTRES[i]) + F(1, 3) * (x - start))
    return x


# What is really minimised -------------------------------------------------------------------------------------------


def minimiser(weights: tuple[Fraction, ...]) -> Fraction:
    pulls = [w * h for w, h in zip(weights, CURVATURES, strict=True)]
    return sum((p * c for p, c in zip(pulls, CENTRES, strict=True)), F(0)) / sum(pulls)


@pytest.mark.parametrize(
    ("options", "process", "means"),
    [
        ({}, Uniform(2), (1, 1, 1)),
        ({"average": "all"}, Bernoulli(["1/2", "1/3", "3/4"]), (F(1, 2), F(1, 3), F(3, 4))),
        ({"average": "samples", "samples": (1, 1, 2)}, Uniform(2), (F(5, 18), F(5, 18), F(4, 9))),
    ],
)
def test_steps_weigh_in_the_objective_that_is_minimised(
    options: dict, process: Participation, means: tuple[Fraction, ...]
) -> None:
    """phi_i is E[w_i] K_i over its sum, and the point where the mean settles tends to its minimiser: ten times less
    step, ten times less far."""
    total = sum(F(m) * k for m, k in zip(means, STEPS, strict=True))
    expected = tuple(F(m) * k / total for m, k in zip(means, STEPS, strict=True))
    away = []
    for lr in (F(1, 100), F(1, 1000), F(1, 10000)):
        setting = ft.Setting(QUIET, fedavg(local_lr=lr, local_steps=STEPS, **options), process)
        assert implied_objective(setting) == expected
        away.append(abs(setting.fixed_point(exact=True).point[0] - minimiser(expected)))
    assert away[0] < F(1, 10) and all(9 < far / near < 11 for far, near in itertools.pairwise(away))
    equal = (F(1, 3),) * 3
    assert abs(minimiser(equal) - minimiser(expected)) > 10 * away[-1]  # it is not F's


def test_with_one_curvature_the_point_is_known_at_any_step() -> None:
    h, lr = F(3, 2), F(1, 4)
    fed = Quadratic([[h]] * 3, [[c] for c in CENTRES])
    setting = ft.Setting(fed, fedavg(local_lr=lr, local_steps=STEPS), Uniform(1))
    weights = [1 - (1 - lr * h) ** k for k in STEPS]
    point = sum((w * c for w, c in zip(weights, CENTRES, strict=True)), F(0)) / sum(weights)
    assert setting.fixed_point(exact=True).point.tolist() == [point]


# Refusals and relapses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "fed", "said"),
    [
        ({"local_steps": [1, 2]}, NOISY, "local_steps: 2 numbers, allowed are 3, one for each client"),
        ({"local_steps": [1, 0, 2]}, NOISY, r"local_steps\[1\] = 0: allowed is an integer >= 1"),
        ({"local_steps": []}, NOISY, r"local_steps = \[\]: allowed is an integer >= 1, or one for each client"),
        ({"local_steps": [1, 2, 3], "local_lr": "1/(1 + step_index)"}, NOISY, "allowed is a number where clients make"),
        (
            {"local_steps": [1, 2, 3]},
            Quadratic.common_hessian([0, 1, 2], gradient_noise=1, noise="common two-point"),
            "allowed with noise = 'common two-point' is one number for all clients",
        ),
    ],
)
def test_steps_that_cannot_be_made_are_refused(options: dict, fed: Quadratic, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ft.Setting(fed, fedavg(**{"local_lr": "1/10"} | options), Uniform(2))


def test_other_solvers_and_networks_are_refused() -> None:
    algorithm = fedavg(local_lr="1/10", local_steps=STEPS)
    with pytest.raises(ValueError, match=r"local_steps = \[1, 3, 2\]: allowed with local_solver = SGD"):
        ft.Setting(NOISY, algorithm.trained_by(ft.neural.SGD(momentum=0.9)), Uniform(2))
    with pytest.raises(ValueError, match="clients of a network make different numbers of steps with its local_epochs"):
        ft.Setting(logistic(), algorithm, Uniform(2))


def test_no_claim_speaks_of_them() -> None:
    setting = ft.Setting(NOISY, fedavg(local_lr=LR, local_steps=STEPS), Uniform(2), start=2)
    assert setting.algorithm.quantities() == {} and not setting.algorithm.plain
    with pytest.raises(ValueError, match="local_"):
        ft.claim("fedau.thm1").at(setting, rounds=[10])


def test_maps_of_the_longest_visit_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: every client makes as many steps as the one that makes the most."""
    kept = round_maps._unequal_maps
    monkeypatch.setattr(
        round_maps, "_unequal_maps", lambda forms, lr, steps, rho: kept(forms, lr, (max(steps),) * len(steps), rho)
    )
    with pytest.raises(AssertionError):
        test_moments_are_those_of_every_outcome(None)
