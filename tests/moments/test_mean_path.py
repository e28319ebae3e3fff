"""Proven intervals of errors beside exact moments of quadratics, and beside runs of logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fedtheory import Setting, algorithms, federations, functionals, participation
from fedtheory.functionals import AVERAGE_SQUARED_GRADIENT, AVERAGES, FINAL_SQUARED_DISTANCE
from fedtheory.moments import mean_path as module
from fedtheory.moments.mean_path import Step, mean_path
from fedtheory.weights import FedAU

ROUNDS = np.array([1, 2, 5, 20, 60])
LOCAL = {"local_lr": "1/8"}
SAFARI = {"client_round_probability": "1/2", "server_lr": "1/6", "local_steps": 2, **LOCAL}
INCOMPLETE = participation.Incomplete(participation.Uniform(2), absent=[1])
WAYS = {
    "FAST": (algorithms.fast(cohort=2, snapshot_probability="1/3", local_steps=3, **LOCAL), participation.IndexBeta(2)),
    "SAFARI": (algorithms.safari(**SAFARI), INCOMPLETE),
    "SAFARI, server epochs": (algorithms.safari(server_steps=3, **SAFARI), INCOMPLETE),
    "known statistics": (
        algorithms.known_statistics(local_steps=2, **LOCAL),
        participation.Bernoulli(["1/2", "1/4", "3/4", "1"]),
    ),
    "average of all, a larger global step": (
        algorithms.fedavg(local_steps=2, average="all", global_lr="3/2", **LOCAL),
        participation.Bernoulli(["1/2", "1/4", "3/4", "1"]),
    ),
    "participants, rounds of any size": (algorithms.fedavg(**LOCAL), participation.Bernoulli(["1/2"] * 4)),
    "cohorts with replacement": (algorithms.fedavg(**LOCAL), participation.Uniform(3, replacement=True)),
}


def setting(way: str, noise: float, alike: bool = False, seed: int = 0) -> Setting:
    """Four clients on a plane, with curvatures from 1 to 2, who differ or are ``alike``."""
    algorithm, who = WAYS[way]
    rng = np.random.default_rng(seed)
    shears = rng.integers(-3, 4, size=4) / 8  # eigenvalues 3/2 +- |shear|
    hessians = [np.array([[1.5, shear], [shear, 1.5]]) for shear in shears]
    centres = rng.integers(-8, 9, size=(4, 2)) / 4
    if alike:
        hessians, centres = hessians[:1] * 4, centres[[0] * 4]
    return Setting(federations.Quadratic(hessians, centres, noise, server_noise=noise), algorithm, who, start=2)


def holds(made: Setting) -> bool:
    """Whether exact errors, computed by another route, lie in the intervals; rounding is 1e-12 of them."""
    path, exact = mean_path(made, int(ROUNDS[-1])), made.exact(range(ROUNDS[-1] + 1))
    for functional, average in (
        (FINAL_SQUARED_DISTANCE, AVERAGES[0]),
        (AVERAGE_SQUARED_GRADIENT, AVERAGES[0]),
        (AVERAGE_SQUARED_GRADIENT, AVERAGES[1]),
    ):
        low, high = path.interval(functional, ROUNDS, average)
        values = exact.squared_distance[ROUNDS]
        if functional.average:
            first = int(average == AVERAGES[0])
            values = np.array([exact.squared_gradient[first : R + first].mean() for R in ROUNDS])
        if not ((low <= values * (1 + 1e-12)) & (values <= high * (1 + 1e-12))).all():
            return False
    return True


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_exact_errors_lie_in_the_intervals(way: str, noise: float) -> None:
    for seed in (0, 1):
        assert holds(setting(way, noise, seed=seed))


def without(**zero: float) -> Callable[..., Step]:
    made = Step.of
    return lambda *given, **named: replace(made(*given, **named), **zero)


@pytest.mark.parametrize(("way", "noise"), [("FAST", 0.0), ("FAST", 0.5), ("SAFARI", 0.5), ("known statistics", 0.0)])
def test_an_interval_without_what_is_drawn_is_noticed(way: str, noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the spread of participants, or without noise where clients are alike, exact errors lie outside."""
    made = setting(way, noise, alike=noise > 0)
    assert holds(made)
    if noise:
        monkeypatch.setattr(Step, "of", without(noise=0.0, shift=0.0))
    else:
        moments = module._moments
        monkeypatch.setattr(
            module, "_moments", lambda *of: (moments(*of)[0], np.outer(moments(*of)[0], moments(*of)[0]))
        )
        made = replace(made, algorithm=made.algorithm.with_share(1)) if way == "FAST" else made
    assert not holds(made)


def estimated(noise: float = 0.0, cutoff: float = 3) -> Setting:
    """Two clients in two rounds' reach of each other, with estimated weights."""
    fed = federations.Quadratic([[[1, 0.25], [0.25, 2]], [[1.5, 0], [0, 1]]], [[1, -1], [-2, 0.5]], noise)
    how = algorithms.fedau(local_lr="1/8", local_steps=2, cutoff=cutoff)
    return Setting(fed, how, participation.Bernoulli(["1/2", "3/4"]), start=2)


def enumerated(made: Setting, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """E|x_r - x*|^2 and E|grad F(x_r)|^2 without noise, over all ways in which two clients may take part."""
    fed, odds = made.federation, np.array([0.5, 0.75])
    came = np.array(list(np.ndindex(*(2,) * (2 * rounds)))).reshape(-1, rounds, 2).astype(bool)
    chance = np.where(came, odds, 1 - odds).prod((1, 2))
    rule = FedAU(cutoff=made.algorithm.round.aggregation.cutoff)
    weights = np.stack([rule.batch(each) for each in came])
    hessians, centres = (np.asarray(each) for each in (fed.hessians, fed.centres))
    x, found = np.full((len(came), 2), 2.0), []
    for r in range(rounds + 1):
        gradient = np.mean([(x - c) @ h for h, c in zip(hessians, centres, strict=True)], axis=0)
        found.append([(chance * (each**2).sum(1)).sum() for each in (x - fed.optimum.numpy(), gradient)])
        if r < rounds:
            moved = []
            for h, c in zip(hessians, centres, strict=True):
                y = x
                for _ in range(2):
                    y = y - (y - c) @ h / 8
                moved.append(y - x)
            x = x + sum((came[:, r, i] * weights[:, r, i])[:, None] * moved[i] for i in range(2)) / 2
    return np.array(found).T


@pytest.mark.parametrize("cutoff", [2, 3, np.inf])
def test_exact_errors_with_estimated_weights_lie_in_the_intervals(cutoff: float) -> None:
    made, places = estimated(cutoff=cutoff), np.arange(7)
    path, (distance, gradient) = mean_path(made, 6), enumerated(made, 6)
    for functional, exact in ((FINAL_SQUARED_DISTANCE, distance), (functionals.FINAL_SQUARED_GRADIENT, gradient)):
        low, high = path.interval(functional, places)
        assert (low <= exact * (1 + 1e-12)).all() and (exact <= high * (1 + 1e-12)).all()
    assert (high[1:] > low[1:]).all()


def test_an_interval_without_what_estimated_weights_draw_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, distance = estimated(), enumerated(estimated(), 6)[0]
    real = module._estimated
    flat = {"covariance": np.zeros((2, 2)), "drift": np.zeros(2), "tau": 0.0}
    monkeypatch.setattr(module, "_estimated", lambda *given: (replace(law, **flat) for law in real(*given)))
    low, high = mean_path(made, 6).interval(FINAL_SQUARED_DISTANCE, np.arange(7))
    assert not ((low <= distance * (1 + 1e-12)) & (distance <= high * (1 + 1e-12))).all()


def test_noisy_runs_with_estimated_weights_lie_in_the_interval() -> None:
    """The mean of 2000 runs has an error of some hundredths of itself."""
    made = estimated(noise=0.5)
    run = made.simulate(replicas=2000, rounds=60, seed=0, record_every=1, observers=["squared_distance"])
    low, high = mean_path(made, 60).interval(FINAL_SQUARED_DISTANCE, ROUNDS)
    values = run.rows["squared_distance"][:, ROUNDS]
    error = 5 * values.std(0) / np.sqrt(len(values))
    assert (low < values.mean(0) + error).all() and (values.mean(0) - error < high).all()


def test_without_anything_drawn_it_is_the_error() -> None:
    made = Setting(
        setting("FAST", 0.0).federation, algorithms.fedavg(local_steps=2, **LOCAL), participation.Fixed([0, 1])
    )
    low, high = mean_path(made, 60).interval(FINAL_SQUARED_DISTANCE, ROUNDS)
    np.testing.assert_allclose(low, high, rtol=1e-12)
    np.testing.assert_allclose(low, made.exact(ROUNDS).squared_distance, rtol=1e-10)


def test_runs_of_logistic_regression_lie_in_the_interval() -> None:
    """The mean of 200 runs has an error of some hundredths of itself; the interval is far wider."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(6, 3)) / 2 + k / 4 for k in range(4)]
    fed = federations.Logistic(rows, [np.arange(6) % (2 + k % 2) for k in range(4)], 0.5, gradient_noise=0.1)
    made = Setting(
        fed, algorithms.fast(cohort=2, snapshot_probability="1/3", local_lr="1/40"), participation.IndexBeta(1)
    )
    run = made.simulate(replicas=200, rounds=60, seed=0, record_every=1, observers=["squared_distance"])
    low, high = mean_path(made, 60).interval(FINAL_SQUARED_DISTANCE, ROUNDS)
    mean = run.rows["squared_distance"].mean(0)[ROUNDS]
    assert (low < mean).all() and (mean < high).all() and (high < 10 * mean).all()


REFUSED = {
    "a memory": (algorithms.fedvarp(**LOCAL), participation.Uniform(2), "remembers nothing"),
    "estimated weights of a cohort": (algorithms.fedau(**LOCAL), participation.Uniform(2), "is Bernoulli"),
    "periodic snapshots": (
        algorithms.fast(cohort=2, snapshot_period=2, **LOCAL),
        participation.Uniform(2),
        "probability",
    ),
    "a chain": (algorithms.fedavg(**LOCAL), participation.Markov(["1/2"] * 4, ["1/8"] * 4), "independent"),
    "steps by rule": (algorithms.fedavg(local_lr="1/(8 + round_index)"), participation.Uniform(2), "numbers"),
    "momentum": (algorithms.fedavgm(momentum="1/2", **LOCAL), participation.Uniform(2), "memory"),
    "a proximal term": (algorithms.fedprox(proximal=1, **LOCAL), participation.Uniform(2), "plain SGD"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_proved_is_refused(name: str) -> None:
    algorithm, who, said = REFUSED[name]
    made = Setting(setting("FAST", 0.0).federation, algorithm, who)
    with pytest.raises(ValueError, match=said):
        mean_path(made, 3)


def test_noise_that_clients_share_is_refused() -> None:
    fed = federations.Quadratic.common_hessian(offsets=[1, -1], gradient_noise=1, noise="common two-point")
    made = Setting(fed, algorithms.fedavg(**LOCAL), participation.Uniform(1))
    with pytest.raises(ValueError, match="noise = 'common two-point': allowed is two-point or gaussian"):
        mean_path(made, 3)
    made = Setting(
        setting("FAST", 0.5).federation, algorithms.fedavg(**LOCAL), participation.noise_chosen.LargestNoise(1)
    )
    with pytest.raises(ValueError, match="LargestNoise"):
        mean_path(made, 3)


def test_other_functionals_are_refused() -> None:
    path = mean_path(setting("FAST", 0.0), 3)
    for functional in (functionals.FINAL_GAP, functionals.AVERAGE_ITERATE_DISTANCE):
        with pytest.raises(ValueError, match="allowed are final values and averages"):
            path.interval(functional, np.array([3]))
