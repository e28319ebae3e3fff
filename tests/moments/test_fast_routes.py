"""The routes that save work - packed second moments, coordinates that evolve alone, observables that take small steps -
beside the operator on all entries, followed round by round."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory import algorithms
from fedtheory.federations import Quadratic
from fedtheory.federations.federation import COMMON
from fedtheory.functionals import AVERAGE_ITERATE_DISTANCE, AVERAGE_SQUARED_GRADIENT, BEST_GAP
from fedtheory.moments import averages, expected_errors, factored_runs
from fedtheory.moments.averages import of_run
from fedtheory.moments.centred import by_coordinate, whole
from fedtheory.moments.expected_errors import errors_in_floats, exact_errors
from fedtheory.moments.linear_rounds import functional, packed, second_moment_map, symmetric_moment_map, unpacked
from fedtheory.moments.participation_laws import chain_of
from fedtheory.moments.round_maps import initial_moments, layout_of, observable_weights, rounds_of_kind
from fedtheory.moments.timeline import at_horizons, operators, squared, timeline
from fedtheory.participation import Bernoulli, Fixed, Incomplete, Markov, Phases, Uniform
from fedtheory.setting import Setting

HALF = {"local_lr": "1/9", "local_steps": 2}
DIAGONAL = Quadratic([[1, 2], [3, "1/2"], ["1/2", 1]], [[1, 0], [-2, 3], [4, 1]], "1/2", server_noise="1/3")
TURNED = np.array([[2.0, 0.5, 0.25], [0.5, 1.0, -0.5], [0.25, -0.5, 1.5]])
SHARED = Quadratic.common_hessian([[1, 0, 2], [-2, 3, 0.5], [4, 1, -1]], TURNED, gradient_noise=0.5, noise=COMMON)
TWO = Fixed([0, 1])
CHAINS = Markov(["1/2", "1/4", 1], ["1/4", "1/5", 1])
SETTINGS = {
    "fast": (algorithms.fast(snapshot_period=3, cohort=2, **HALF), TWO),
    "mixed": (algorithms.fast(snapshot_probability="1/3", cohort=2, **HALF), TWO),
    "safari": (algorithms.safari(client_round_probability="1/3", local_lr="1/9", server_lr="1/7"), TWO),
    "fedvarp": (algorithms.fedvarp(**HALF), Uniform(2)),
    "mifa": (algorithms.mifa(**HALF), Incomplete(Uniform(1), [2])),
    "momentum": (algorithms.fedavgm(**HALF, momentum="1/2"), Bernoulli(["1/2", "1/3", 1])),
    "proximal": (algorithms.fedprox(**HALF, proximal="1/2"), Uniform(2, replacement=True)),
    "amplified": (algorithms.fedamplify(**HALF, period=3, global_lr="3/2"), Uniform(2)),
    "chain": (algorithms.fedavg(**HALF), CHAINS),
    "phases": (algorithms.fedavg(**HALF), Phases([[0], [2]], [2, 3], cyclic=True)),
    "by rule": (algorithms.fedavg(local_lr="1/(round_index + 9)", local_steps=2), Uniform(2)),
}


def setting_of(name: str, fed: Quadratic) -> Setting:
    algorithm, process = SETTINGS[name]
    return Setting(fed, algorithm, process, 3)


def on_all_entries(setting: Setting, rounds: int, exact: bool) -> np.ndarray:
    """E|x - x*|^2 and E|grad F(x)|^2 before the rounds 0, 1, ..., by the operator on all s^2 entries, (2, rounds)."""
    weights = observable_weights(setting.federation, exact, layout_of(setting))
    chain = chain_of(setting.participation, setting.federation.clients)
    rows = np.stack([chain.summed(weights[name]) for name in ("squared_distance", "squared_gradient")])
    state, found = initial_moments(setting, exact), []
    for operator in itertools.islice(operators(timeline(setting, second_moment_map, exact)), rounds):
        found.append(rows @ state)
        state = operator @ state
    return np.array(found).T


@pytest.mark.parametrize("name", list(SETTINGS))
def test_by_coordinates_in_fractions(name: str) -> None:
    """Three rounds and more of each kind; equal Fractions."""
    setting = setting_of(name, DIAGONAL)
    assert by_coordinate(setting.federation, exact=True) is not None
    found, wanted = exact_errors(setting, range(5), exact=True), on_all_entries(setting, 5, True)
    assert found.squared_distance.tolist() == wanted[0].tolist()
    assert found.squared_gradient.tolist() == wanted[1].tolist()
    assert found.gradient_sum.tolist() == [sum(wanted[1][:r], F(0)) for r in range(5)]
    assert len(set(wanted[0].tolist())) == 5  # it moves


@pytest.mark.parametrize("name", list(SETTINGS))
def test_in_the_eigenvectors_of_a_shared_hessian(name: str) -> None:
    """Many horizons at once, with noise that all clients share, beside every round on all entries."""
    setting = setting_of(name, SHARED)
    assert by_coordinate(SHARED).basis is not None and by_coordinate(SHARED, exact=True) is None
    found, wanted = errors_in_floats(setting, range(40)), on_all_entries(setting, 40, False)
    np.testing.assert_allclose(found.squared_distance, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(found.squared_gradient, wanted[1], rtol=1e-12)
    np.testing.assert_allclose(found.gradient_sum[1:], wanted[1].cumsum()[:-1], rtol=1e-12)


@pytest.mark.parametrize("functional", [AVERAGE_ITERATE_DISTANCE, BEST_GAP, AVERAGE_SQUARED_GRADIENT])
@pytest.mark.parametrize("name", ["fast", "fedvarp", "chain", "by rule"])
def test_averages_by_coordinates(functional, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = setting_of(name, DIAGONAL)
    found = of_run(setting, functional, [1, 2, 5], exact=True)
    monkeypatch.setattr(averages, "forms_of", lambda setting, exact: whole(setting.federation, exact))
    assert found.tolist() == of_run(setting, functional, [1, 2, 5], exact=True).tolist()


def test_dense_hessians_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((3, 4, 4))
    hessians = roots @ roots.transpose(0, 2, 1)
    fed = Quadratic((hessians + hessians.transpose(0, 2, 1)) / 2, rng.standard_normal((3, 4)), gradient_noise=0.5)
    assert by_coordinate(fed) is None
    for name in ("fast", "fedvarp"):
        algorithm, process = SETTINGS[name]
        setting = Setting(fed, algorithm, process, 3)
        wanted = on_all_entries(setting, 300, False)
        np.testing.assert_allclose(errors_in_floats(setting, range(300)).squared_distance, wanted[0], rtol=1e-12)
        one = errors_in_floats(setting, [299]).squared_gradient
        np.testing.assert_allclose(one, wanted[1, 299:], rtol=1e-12)


@pytest.mark.parametrize("name", ["fast", "mixed", "safari", "fedvarp", "momentum"])
def test_short_runs_are_followed_by_factors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dense Hessians; made to be followed whatever takes less time."""
    dense = Quadratic([np.eye(2), TURNED[:2, :2], TURNED[1:, 1:]], [[1, 0], [-2, 3], [4, 1]], 0.5, server_noise=0.25)
    setting = setting_of(name, dense)
    wanted = on_all_entries(setting, 8, False)
    monkeypatch.setattr(factored_runs, "_by_operator", lambda *work: np.inf)
    monkeypatch.setattr(expected_errors, "timeline", None)
    found = errors_in_floats(setting, [7, 0, 3])
    np.testing.assert_allclose(found.squared_distance, wanted[0, [7, 0, 3]], rtol=1e-13)
    np.testing.assert_allclose(found.squared_gradient, wanted[1, [7, 0, 3]], rtol=1e-13)
    np.testing.assert_allclose(found.gradient_sum, [wanted[1, :7].sum(), 0, wanted[1, :3].sum()], rtol=1e-13)
    assert found.initial_squared_gradient == pytest.approx(wanted[1, 0], rel=1e-13)


def test_dense_hessians_of_eighty_dimensions() -> None:
    """Their operator would be too large, so few rounds are followed and many are refused."""
    rng = np.random.default_rng(6)
    roots = rng.standard_normal((2, 80, 80)) / 9
    hessians = roots @ roots.transpose(0, 2, 1)
    centres = rng.standard_normal((2, 80))
    fed = Quadratic((hessians + hessians.transpose(0, 2, 1)) / 2, centres)
    setting = Setting(fed, algorithms.fedavg(local_lr=0.1), Fixed([1]), start=1.0)
    x = np.ones(80)
    for _ in range(3):
        x = x - 0.1 * fed.hessians[1] @ (x - centres[1])
    error = x - fed.optimum.numpy()
    assert errors_in_floats(setting, [3]).squared_distance[0] == pytest.approx(error @ error, rel=1e-12)
    with pytest.raises(ValueError, match=r"a state of 81 numbers .* of 3321 numbers; allowed are at most 2500"):
        errors_in_floats(setting, [10**6])


def test_a_hundred_dimensions() -> None:
    """(M, D) = (100, 100), beside a recursion of the matrix E (x - x*)(x - x*)^T written out for uniform cohorts."""
    M, D, cohort, lr = 100, 100, 10, 0.05
    rng = np.random.default_rng(1)
    roots = rng.standard_normal((D, D)) / D**0.5
    hessian = (roots @ roots.T + roots.T @ roots) / 2
    hessian, centres = (hessian + hessian.T) / 2, rng.standard_normal((M, D))
    fed = Quadratic.common_hessian(centres, hessian, gradient_noise=2.0)
    setting = Setting(fed, algorithms.fedavg(local_lr=lr), Uniform(cohort), start=1.0)
    found = exact_errors(setting, range(0, 60))
    step, offsets = np.eye(D) - lr * hessian, centres - centres.mean(0)
    spread = (M - cohort) / (M - 1) / cohort * offsets.T @ offsets / M  # the covariance of a cohort's mean minimiser
    added = lr**2 * (hessian @ spread @ hessian + 4 / D / cohort * np.eye(D))
    start = 1 - centres.mean(0)
    moment = np.outer(start, start)
    for r in range(60):
        assert found.squared_distance[r] == pytest.approx(np.trace(moment), rel=1e-11)
        assert found.squared_gradient[r] == pytest.approx(np.trace(hessian @ moment @ hessian), rel=1e-11)
        moment = step @ moment @ step + added


def test_too_many_coordinates_are_refused() -> None:
    fed = Quadratic([[1] * 30] * 40, [[i] * 30 for i in range(40)])
    setting = Setting(fed, algorithms.mifa(**HALF), Uniform(2))
    with pytest.raises(ValueError, match=r"30 recursions of 903 numbers have 24462270 entries; allowed .* 1048576"):
        setting.exact([1])


def test_packed_maps_are_the_maps_of_symmetric_matrices() -> None:
    setting = setting_of("fedvarp", DIAGONAL)
    (round,) = rounds_of_kind(setting, setting.algorithm.kinds[0], exact=True)
    rng = np.random.default_rng(2)
    half = rng.integers(-5, 6, (round.size, round.size)).astype(object)
    matrix = half + half.T
    matrix[-1, -1] = F(1)
    after = (second_moment_map(round) @ matrix.ravel()).reshape(matrix.shape)
    assert (unpacked(symmetric_moment_map(round) @ packed(matrix)) == after).all()
    assert functional(half) @ packed(matrix) == (half * matrix).sum()


@pytest.mark.parametrize("period", [1, 3])
@pytest.mark.parametrize("rounds", [range(200), [0, 1, 5, 10**4], range(0, 1000, 7), [17], [5, 5, 3]])
def test_horizons(period: int, rounds) -> None:
    """Two blocks, two observables, beside one operator after another; 10^4 rounds forget all but what stays."""
    rng = np.random.default_rng(3)
    first, rest = (rng.random((2, 3, 3)) + np.eye(3) for _ in range(2))
    first, rest = (each / each.sum(-1, keepdims=True) for each in (first, rest))  # rows of probabilities
    start, observables = rng.random((2, 3)), rng.random((2, 2, 3))
    found = at_horizons(first, rest, period, start, observables, np.array(list(rounds)))
    state, wanted = start, []
    for r in range(1000):
        wanted.append((observables * state).sum((1, 2)))
        state = ((rest if r % period else first) @ state[..., None])[..., 0]
    wanted = [wanted[min(horizon, 999)] for horizon in rounds]
    np.testing.assert_allclose(found, np.array(wanted).T, rtol=1e-11)


def test_forgotten_columns_cost_nothing_and_change_nothing() -> None:
    rng = np.random.default_rng(4)
    operator = rng.random((2, 4, 4))
    operator[:, :, [0, 2]] = 0
    np.testing.assert_allclose(squared(operator), operator @ operator, rtol=1e-14)
    small = np.diag([1.0, 1e-160])
    assert squared(small).tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_far_horizons_settle() -> None:
    """10^8 rounds are where the run settles, and the sum of squares grows by that much a round."""
    setting = setting_of("mixed", SHARED)
    late = exact_errors(setting, [10**8, 10**8 + 1])
    assert late.squared_distance[0] == pytest.approx(setting.stationary().squared_distance, rel=1e-11)
    growth = np.diff(late.gradient_sum)[0]
    assert growth == pytest.approx(late.squared_gradient[0], rel=1e-5)


def test_diverging_runs_are_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting(DIAGONAL, algorithms.fedavg(local_lr=3), TWO, 3)
    found = expected_errors.exact_errors(setting, [0, 1, 5, 10**4])
    assert np.isfinite(found.squared_distance[:3]).all() and found.squared_distance[3] == np.inf
    assert found.gradient_sum[3] == found.squared_gradient[3] == np.inf


def test_differences_from_the_optimum_are_the_nearest_floats() -> None:
    rng = np.random.default_rng(5)
    roots = rng.standard_normal((3, 4, 4))
    hessians = roots @ roots.transpose(0, 2, 1)
    hessians = (hessians + hessians.transpose(0, 2, 1)) / 2
    centres = rng.standard_normal((3, 4))
    one, other = Quadratic(hessians, centres), Quadratic(hessians, centres)
    found = one.from_optimum(one.exact_centres)
    assert "exact_optimum" not in one.__dict__
    assert found.tolist() == (other.exact_centres - other.exact_optimum).astype(float).tolist()
