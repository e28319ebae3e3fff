"""Worst functions attain their value in a plain simulation, and are of their class."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedtheory as ft
from fedtheory.algorithms import fast, fedavg, safari
from fedtheory.participation import Fixed, Uniform
from fedtheory.worstcase import (
    Arbitrary,
    Cohort,
    Problem,
    ServerStep,
    best_steps,
    convex,
    local_sgd,
    mixture,
    plan_of,
    quadratic,
    solved,
    strongly_convex,
    worst_case,
)
from fedtheory.worstcase.interpolation import Interpolant, _weights, symmetric_operator

STRONG = strongly_convex(smoothness=2, strong_convexity="1/5")
QUADRATIC = quadratic(smoothness=2, strong_convexity="1/5")
TWO = local_sgd(local_lr="1/4", local_steps=2)
CHOSEN = local_sgd(local_lr="1/4", local_steps=2, participants=Arbitrary(2))
DRAWN = local_sgd(local_lr="1/4", local_steps=2, participants=Cohort(3))
CASES = {
    "one client": (STRONG, TWO, {"clients": 1, "dissimilarity_at_optimum": 0}),
    "two clients": (STRONG, TWO, {}),
    "convex": (convex(smoothness=2), TWO, {"rounds": 2, "metric": "average_gap"}),
    "gap": (STRONG, TWO, {"rounds": 2, "metric": "final_gap", "distance": 7}),
    "gradients": (STRONG, TWO, {"rounds": 2, "metric": "average_squared_gradient", "average": "r = 0..R-1"}),
    "small steps": (STRONG, local_sgd(local_lr="1/400", local_steps=3), {"rounds": 2}),
    "from the optimum": (STRONG, TWO, {"distance": 0}),
    "cohort": (STRONG, DRAWN, {"clients": 5}),
    "cohort with replacement": (STRONG, local_sgd(local_lr="1/4", local_steps=2, participants=Cohort(2, True)),
                                {"clients": 3}),
    "snapshots": (STRONG, mixture(("1/4", DRAWN), ("3/4", CHOSEN)), {"clients": 5}),
    "server": (STRONG, mixture(("1/4", CHOSEN), ("3/4", ServerStep(Fraction(1, 4)))), {"clients": 3}),
    "quadratics": (QUADRATIC, TWO, {"rounds": 2, "metric": "final_gap"}),
    "quadratics from nearby": (QUADRATIC, local_sgd(local_lr="1/4", local_steps=3), {"distance": "1/8"}),
    "quadratics in snapshots": (QUADRATIC, mixture(("1/4", DRAWN), ("3/4", CHOSEN)), {"clients": 5}),
    "one Hessian": (strongly_convex(smoothness=2, strong_convexity=2), TWO, {"metric": "final_squared_gradient"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_plain_simulation_attains_the_value(name):
    functions, algorithm, options = CASES[name]
    found = worst_case(functions, algorithm, **{"dissimilarity_at_optimum": 1, **options})
    worst = found.instance()
    assert worst.replay() == pytest.approx(found.value, rel=1e-6, abs=1e-7)
    assert np.linalg.norm(worst.start) == pytest.approx(float(found.problem.distance), abs=1e-6)
    zeta = float(found.problem.dissimilarity_at_optimum)
    gradients = np.array([worst.at(i, np.zeros(len(worst.start)))[1] for i in range(worst.clients)])
    assert np.abs(gradients.mean(0)).max() < 1e-7
    assert (np.linalg.norm(gradients, axis=1) <= zeta + 1e-6).all()


@pytest.mark.parametrize("name", ["two clients", "convex", "server", "quadratics"])
def test_worst_functions_are_of_their_class(name):
    """Interpolation conditions between any two points; and gradients are those of the values."""
    functions, algorithm, options = CASES[name]
    worst = worst_case(functions, algorithm, **{"dissimilarity_at_optimum": 1, **options}).instance()
    L, mu = float(functions.smoothness), float(functions.strong_convexity)
    rng = np.random.default_rng(0)
    for i in range(worst.clients):
        for _ in range(20):
            x, y = rng.normal(size=(2, len(worst.start))) * rng.choice([0.1, 1.0])
            (fx, gx), (fy, gy) = worst.at(i, x), worst.at(i, y)
            h = gx - gy - mu * (x - y)
            assert fx - fy - gy @ (x - y) >= mu / 2 * (x - y) @ (x - y) + h @ h / (2 * (L - mu)) - 1e-9
            ahead = worst.at(i, x + 1e-6 * y)[0] - worst.at(i, x - 1e-6 * y)[0]
            assert ahead / 2e-6 == pytest.approx(gx @ y, abs=1e-4)


def test_the_engine_replays_worst_functions():
    training = fedavg(local_lr="1/4", local_steps=2)
    found = worst_case(STRONG, training, rounds=2, dissimilarity_at_optimum=1)
    worst = found.instance(clients=3)
    setting = ft.Setting(worst.federation(), training, Fixed([0, 1, 2]), start=worst.start)
    run = setting.simulate(replicas=1, rounds=2, observers=["squared_distance", "squared_gradient"])
    assert float(run.rows["squared_distance"][0, -1]) == pytest.approx(found.value, rel=1e-6)
    assert worst.federation().constants()["dissimilarity_at_optimum"].value == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(("algorithm", "who", "options"), [
    (fedavg(local_lr="1/4", local_steps=3), Uniform(2), {"cohort": 2}),
    (fast(local_lr="1/4", local_steps=3, cohort=2, snapshot_probability="1/3"), Fixed([0, 1]), {"arbitrary_cohort": 2}),
    (safari(local_lr="1/4", local_steps=3, server_lr="1/8", client_round_probability="1/3"), Fixed([0]),
     {"arbitrary_cohort": 1}),
], ids=["fedavg", "fast", "safari"])  # fmt: skip
def test_exact_moments_of_worst_quadratics_are_the_value(algorithm, who, options):
    """From below and from above: the exact error of the instance is the worst case."""
    found = worst_case(QUADRATIC, algorithm, clients=4, dissimilarity_at_optimum=1, **options)
    worst = found.instance()
    setting = ft.Setting(worst.federation(), algorithm, who, start=worst.start)
    assert float(setting.exact([1]).squared_distance[0]) == pytest.approx(found.value, rel=1e-6)


def test_what_has_no_instance():
    noisy = worst_case(STRONG, TWO, clients=2, gradient_noise=1)
    with pytest.raises(ValueError, match="upper bound"):
        noisy.instance()
    with pytest.raises(ValueError, match="gradient_noise = 1: allowed for an instance is 0"):
        worst_case(QUADRATIC, TWO, clients=2, gradient_noise=1).instance()
    gradients = solved(Problem(STRONG, plan_of(TWO), "one_round", combination={"squared_gradient": 1}))
    with pytest.raises(ValueError, match="metric = 'one_round': allowed for a replay"):
        gradients.instance().replay()
    drawn = worst_case(STRONG, DRAWN, clients=5, dissimilarity_at_optimum=1)
    with pytest.raises(ValueError, match="clients = 4: allowed is 5"):
        drawn.instance(clients=4)
    with pytest.raises(ValueError, match="clients = 1"):
        worst_case(STRONG, TWO, dissimilarity_at_optimum=1).instance(clients=1)
    many = worst_case(STRONG, local_sgd(local_lr="1/4", participants=Cohort(20)), clients=40)
    with pytest.raises(ValueError, match="137846528820 cohorts"):
        many.instance().replay()


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6))
def test_operators_through_points(dimension, count, seed):
    """Points of a symmetric operator between 0 and 2: what is found goes through them, with such eigenvalues."""
    rng = np.random.default_rng(seed)
    frame, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    true = frame @ np.diag(rng.choice([0.0, 2.0, 1.3, 0.4], size=dimension)) @ frame.T
    x = rng.normal(size=(count, dimension))
    found = symmetric_operator(x, x @ true, 2.0)
    assert np.abs(x @ found - x @ true).max() < 1e-6
    eigen = np.linalg.eigvalsh(found)
    assert eigen[0] > -1e-9 and eigen[-1] < 2 + 1e-9


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 10**6))
def test_interpolants_go_through_their_points(dimension, count, seed):
    """Points of a quadratic between mu and L, which is one function through them."""
    rng = np.random.default_rng(seed)
    curvature = rng.uniform(0.5, 2.0, dimension)
    x = rng.normal(size=(count, dimension))
    centre = rng.normal(size=dimension)
    gradients, values = x * curvature, (x**2 * curvature).sum(1) / 2
    h, f = gradients - 0.5 * (x - centre), values - 0.25 * ((x - centre) ** 2).sum(1)
    function = Interpolant(x, h, f, 1.5, 0.5, centre)
    for p in range(count):
        value, gradient = function.at(x[p])
        assert value == pytest.approx(values[p], abs=1e-9)
        assert np.abs(gradient - gradients[p]).max() < 1e-6


# Better steps --------------------------------------------------------------------------------------------------------


def test_the_best_step_of_gradient_descent_is_known():
    found = best_steps(STRONG, local_sgd, clients=1)
    assert float(found.local_lr) == pytest.approx(2 / 2.2, rel=1e-3)
    assert found.worst.value == pytest.approx((1.8 / 2.2) ** 2, rel=1e-5) and found.failed == 0


def test_best_steps_are_better_than_others():
    """With drift the best local step is smaller, and a server step of its own does not make things worse."""
    make = partial(local_sgd, local_steps=3)
    apart = {"dissimilarity_at_optimum": 1}
    local = best_steps(STRONG, make, **apart)
    for lr in ("1/100", "1/20", "1/5", "1/2"):
        assert local.worst.value <= worst_case(STRONG, make(local_lr=lr), **apart).value + 1e-7
    both = best_steps(STRONG, make, global_lr=("1/4", 4), **apart)
    assert both.score <= local.score + 1e-7 and both.global_lr != 1
    late = best_steps(STRONG, make, horizon=50, **apart)
    assert late.local_lr < local.local_lr
    assert late.score == late.worst.recursion.after(50, dissimilarity_at_optimum=1)


def test_ranges_of_steps_are_checked():
    with pytest.raises(ValueError, match="local_lr from 1 to 1"):
        best_steps(STRONG, local_sgd, local_lr=(1, 1))
    with pytest.raises(ValueError, match="horizon = 0"):
        best_steps(STRONG, local_sgd, horizon=0)


@pytest.mark.parametrize("apart", [1e-6, 1e-7, 3e-8])
def test_corners_that_are_close_to_each_other(apart):
    """No weight of one corner alone would be better than the ones that are found; rounding is 1e-14 of sizes of 10."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        corners = np.concatenate([(known := rng.normal(size=(3, 5))), known + apart * rng.normal(size=(3, 5))])
        heights, x = apart * rng.normal(size=6), corners.mean(0) + rng.normal(size=5)
        weights = _weights(x, corners, heights)
        slope = heights + (corners - x) @ (weights @ corners - x)
        assert (weights >= 0).all() and weights.sum() == pytest.approx(1, abs=1e-12)
        assert weights @ slope - slope.min() < 1e-12
