"""Stationary moments: fixed points of the recursion, its limits, closed forms; the best mixture of two kinds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fedtheory.algorithms import fast, safari
from fedtheory.federations import Logistic, Quadratic
from fedtheory.moments.linear_rounds import second_moment_map
from fedtheory.moments.stationary import NotContracting, best_probability, stationary
from fedtheory.moments.timeline import schedule
from fedtheory.participation import Fixed, IndexBeta, Recorded, Uniform
from fedtheory.setting import Setting

F = Fraction
PLANE = [[[1, "1/2"], ["1/2", 2]], [[3, 0], [0, "1/4"]], [[1, -1], [-1, 2]]], [[1, 0], [-1, 2], ["1/2", "1/3"]]


def of_safari(fed: Quadratic, who: object, start: object = 3, **options: object) -> Setting:
    steps = {"client_round_probability": "1/3", "local_lr": "1/9", "server_lr": "1/6", "local_steps": 2}
    return Setting(fed, safari(**(steps | options)), who, start)


NOISY = Quadratic(*PLANE, "3/2", server_noise="1/2")
SETTINGS = {
    "safari, fixed": of_safari(NOISY, Fixed([0, 2])),
    "safari, uniform": of_safari(NOISY, Uniform(2)),
    "safari, server only": of_safari(NOISY, Uniform(2), client_round_probability=0),
    "safari, clients only": of_safari(NOISY, Fixed([1]), client_round_probability=1),
    "safari, no noise": of_safari(Quadratic(*PLANE), Fixed([1])),
    "fast, probability": Setting(
        NOISY, fast(snapshot_probability="2/5", cohort=2, local_lr="1/9", local_steps=3), Fixed([1]), 3
    ),
    "fast, with replacement": Setting(
        NOISY, fast(snapshot_probability="2/5", cohort=2, local_lr="1/9", replacement=True), Uniform(1), 3
    ),
    "fast, every round": Setting(NOISY, fast(snapshot_period=1, cohort=2, local_lr="1/9"), Fixed([1]), 3),
}
each_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)


def lifted(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """vec(E z z^T), z = (y, 1)."""
    z = np.append(mean, mean[0] * 0 + 1)
    moment = np.outer(z, z)
    moment[:-1, :-1] = moment[:-1, :-1] + covariance
    return moment.ravel()


@each_setting
def test_a_round_leaves_the_stationary_moments_as_they_are(setting: Setting) -> None:
    found = stationary(setting, exact=True)
    before = lifted(found.mean, found.covariance)
    after = schedule(setting, second_moment_map, exact=True).first @ before
    assert (after == before).all() and all(isinstance(number, F) for number in found.covariance.ravel())
    assert found.squared_distance == found.mean @ found.mean + np.trace(found.covariance)
    hessian = setting.federation.exact_hessians.sum(0) / F(setting.federation.clients)
    assert found.squared_gradient == (hessian @ found.mean) @ (hessian @ found.mean) + np.trace(
        hessian @ found.covariance @ hessian
    )


@each_setting
def test_floats_are_the_fractions(setting: Setting) -> None:
    found, exact = stationary(setting), stationary(setting, exact=True)
    # Systems of 2 and 4 unknowns whose condition is some 100.
    for name in ("mean", "covariance", "squared_distance", "squared_gradient"):
        wanted = np.array(getattr(exact, name), dtype=float)
        np.testing.assert_allclose(getattr(found, name), wanted, rtol=1e-12, atol=1e-14)
    assert found.spectral_radius == pytest.approx(exact.spectral_radius, rel=1e-12)
    assert isinstance(found.squared_distance, float) and isinstance(exact.squared_distance, F)


@each_setting
def test_runs_tend_to_it_from_any_start(setting: Setting) -> None:
    found = stationary(setting)
    for start in (3, [-50, 7]):
        exact = replace(setting, start=start).exact([10_000])
        # Radii are below 0.98: 0.98^10^4 is 0; rounding of 10^4 rounds' powers.
        assert exact.squared_distance[0] == pytest.approx(found.squared_distance, rel=1e-11)
        assert exact.squared_gradient[0] == pytest.approx(found.squared_gradient, rel=1e-11)


@each_setting
def test_the_spectral_radius_is_that_of_the_squares(setting: Setting) -> None:
    """The block of vec(y y^T) in the recursion of vec(z z^T)."""
    operator = schedule(setting, second_moment_map).first
    size = setting.federation.dimension + 1
    block = [i * size + j for i in range(size - 1) for j in range(size - 1)]
    radius = np.abs(np.linalg.eigvals(operator[np.ix_(block, block)])).max()
    assert stationary(setting).spectral_radius == pytest.approx(radius, rel=1e-12)
    assert 0 < radius < 1


# The closed form for a common Hessian: coordinate by coordinate, with a_s = eta_s h, a_c = 1 - (1 - eta_c h)^K, c the
# participants' mean minimiser and x* = 0,
#   E x = q a_c E c / ((1 - q) a_s + q a_c),
#   E x^2 = (2 q a_c (1 - a_c) E c E x + q a_c^2 E c^2 + q nu + (1 - q) eta_s^2 sigma_s^2/D)
#           / ((1 - q) a_s (2 - a_s) + q a_c (2 - a_c)),   nu = eta_c^2 sigma^2/(D m) sum_{l<K} (1 - eta_c h)^{2l}.


def closed_form(
    curvatures: list[F], laws: list[list[F]], m: int, q: F, eta_c: F, eta_s: F, K: int, sigma: F, sigma_s: F
) -> tuple[list[F], F]:
    """``laws``: of each coordinate, the equally likely values of c."""
    D, means, square = len(curvatures), [], F(0)
    for h, values in zip(curvatures, laws, strict=True):
        a_s, a_c = eta_s * h, 1 - (1 - eta_c * h) ** K
        c1, c2 = sum(values) / len(values), sum(v**2 for v in values) / len(values)
        mean = q * a_c * c1 / ((1 - q) * a_s + q * a_c)
        nu = eta_c**2 * sigma**2 / D / m * sum((1 - eta_c * h) ** (2 * k) for k in range(K))
        top = 2 * q * a_c * (1 - a_c) * c1 * mean + q * a_c**2 * c2 + q * nu + (1 - q) * eta_s**2 * sigma_s**2 / D
        means.append(mean)
        square += top / ((1 - q) * a_s * (2 - a_s) + q * a_c * (2 - a_c))
    return means, square


COMMON = [[2, -1], [-1, 1], [-1, 0]]  # minimisers around x* = 0


@pytest.mark.parametrize("q", [F(0), F(1, 3), F(9, 10), F(1)])
@pytest.mark.parametrize("K", [1, 4])
@pytest.mark.parametrize("members", [[0], [1, 2], None], ids=["one", "two", "uniform"])
def test_a_common_hessian_has_a_closed_form(q: F, K: int, members: list[int] | None) -> None:
    curvatures, sigma, sigma_s, eta_c, eta_s = [F(1), F(3)], F(5, 4), F(2), F(1, 7), F(1, 4)
    fed = Quadratic.common_hessian(COMMON, curvatures, sigma, server_noise=sigma_s)
    who = Uniform(2) if members is None else Fixed(members)
    setting = of_safari(fed, who, client_round_probability=q, local_lr=eta_c, server_lr=eta_s, local_steps=K)
    cohorts = [[0, 1], [0, 2], [1, 2]] if members is None else [members]
    laws = [[F(sum(COMMON[i][j] for i in cohort), len(cohort)) for cohort in cohorts] for j in range(2)]
    means, square = closed_form(curvatures, laws, len(cohorts[0]), q, eta_c, eta_s, K, sigma, sigma_s)
    found = stationary(setting, exact=True)
    assert found.mean.tolist() == means and found.squared_distance == square


@pytest.mark.parametrize("scale", [F(1, 10**6), F(1, 10**12)])
def test_small_steps_keep_their_digits(scale: F) -> None:
    setting = of_safari(NOISY, Fixed([1]), local_lr=scale, server_lr=scale)
    found, exact = stationary(setting), stationary(setting, exact=True)
    np.testing.assert_allclose(found.mean, exact.mean.astype(float), rtol=1e-12)
    np.testing.assert_allclose(found.covariance, exact.covariance.astype(float), rtol=1e-11)
    assert 1 - 10 * scale < found.spectral_radius <= 1


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (of_safari(NOISY, Uniform(1), server_lr=4), "spectral radius = .*: allowed is less than 1"),
        (of_safari(NOISY, Uniform(1), local_lr=4), "spectral radius = .*: allowed is less than 1"),
        # Client 0 never moves the second coordinate, and the server has no rounds.
        (
            of_safari(Quadratic([[1, 0], [1, 1]], [[0, 0], [1, 1]]), Fixed([0]), client_round_probability=1),
            "spectral radius = 1.0: allowed is less than 1",
        ),
        (of_safari(NOISY, Recorded.of_sets([[0], [1]], 3)), "a record that ends has no limit; allowed is after="),
        (Setting(NOISY, fast(adaptivity=1, cohort=1, local_lr="1/9"), Fixed([0])), "snapshot_probability has no value"),
        (
            Setting(Logistic([[[1.0]]] * 2, [[0], [1]], l2=1.0), SETTINGS["safari, fixed"].algorithm, Fixed([0])),
            "exact moments need a Quadratic federation, not Logistic",
        ),
    ],
)
def test_what_has_no_stationary_moments(setting: Setting, message: str) -> None:
    for exact in (False, True):
        with pytest.raises(ValueError, match=message):
            stationary(setting, exact)


def test_floating_point_processes_have_no_fractions() -> None:
    setting = of_safari(NOISY, IndexBeta(2))
    assert stationary(setting).squared_distance == pytest.approx(setting.exact([5000]).squared_distance[0], rel=1e-11)
    with pytest.raises(ValueError, match="IndexBeta knows its inclusion probabilities in floating point only"):
        stationary(setting, exact=True)


# The best mixture.


def on_the_line(sigma_s: float, eta_s: str = "1/100", start: float = 10) -> Setting:
    """Clients at +1 and -1, only the first one takes part; Theorem 4's tie."""
    fed = Quadratic.common_hessian([1, -1], server_noise=sigma_s)
    algorithm = safari(client_round_probability=0, local_lr=2 * F(eta_s), server_lr=eta_s)
    return Setting(fed, algorithm, Fixed([0]), start)


def error_at(setting: Setting, share: float, rounds: float) -> float:
    """On the line, by the recursion E x' = ..., E x'^2 = ... of a mixture, written plainly."""
    a_c, a_s = float(setting.algorithm.local_lr), float(setting.algorithm.server_lr)
    noise = (1 - share) * (a_s * setting.federation.server_noise) ** 2
    if rounds == math.inf:
        mean = share * a_c / ((1 - share) * a_s + share * a_c)
        top = 2 * share * a_c * (1 - a_c) * mean + share * a_c**2 + noise
        return top / ((1 - share) * a_s * (2 - a_s) + share * a_c * (2 - a_c))
    mean, square = float(setting.start), float(setting.start) ** 2
    for _ in range(rounds):
        by_clients = (1 - a_c) ** 2 * square + 2 * a_c * (1 - a_c) * mean + a_c**2
        square = share * by_clients + (1 - share) * (1 - a_s) ** 2 * square + noise
        mean = share * ((1 - a_c) * mean + a_c) + (1 - share) * (1 - a_s) * mean
    return square


@pytest.mark.parametrize(
    ("setting", "rounds", "between"),
    [
        (on_the_line(1), 100, (1, 1)),
        (on_the_line(1), 300, (0, 0)),
        (on_the_line(3), math.inf, (0.005, 0.011)),
        (on_the_line(3), 10**6, (0.005, 0.011)),
        (on_the_line(30, "1/10"), math.inf, (1, 1)),
        (on_the_line(1, start=5), 150, (0.1, 0.3)),
        (on_the_line(3, "1/10", start=3), 30, (0.05, 0.15)),
    ],
)
def test_the_best_probability_beats_a_fine_grid(setting: Setting, rounds: float, between: tuple) -> None:
    found = best_probability(setting, rounds)
    assert between[0] <= found.probability <= between[1]
    horizon = math.inf if rounds > 10**5 else rounds
    grid = [error_at(setting, share, horizon) for share in np.linspace(0, 1, 2001 if horizon == math.inf else 201)]
    # No grid point is better, and the error said is that of the probability said; 10^6 rounds and infinity agree.
    assert found.squared_distance <= min(grid) * (1 + 1e-9)
    assert found.squared_distance == pytest.approx(error_at(setting, found.probability, horizon), rel=1e-9)


def test_the_rule_of_thumb_for_the_best_probability() -> None:
    """Small steps, K = m = 1, sigma = 0: to first order in q and eta_s the error is

        4 c^2 q^2 + 2 eta_s h c^2 q + eta_s sigma_s^2 (1 - 2 q)/(2 h),

    the bias, what the coin adds, and the server's noise; so q = eta_s (sigma_s^2 - 2 h^2 c^2)/(8 h c^2).
    """
    for eta, share in (("1/1000", 7 / 8e3), ("1/10000", 7 / 8e4)):
        # The next order is some eta_s of it.
        found = best_probability(on_the_line(3, eta), math.inf).probability
        assert found == pytest.approx(share, rel=10 * float(F(eta)))
    assert best_probability(on_the_line(0), math.inf).probability == 0


def test_a_diverging_kind_is_left_out() -> None:
    """The clients' step grows squares nine times, so a quarter of their rounds would already diverge."""
    fed = Quadratic.common_hessian([1, -1], server_noise=9)
    setting = Setting(fed, safari(client_round_probability=1, local_lr=4, server_lr="1/2"), Fixed([0]), 3)
    for rounds in (50, math.inf):
        assert best_probability(setting, rounds).probability < 0.1
    with pytest.raises(ValueError, match="rounds = inf: the errors are infinite whatever the share"):
        best_probability(replace(setting, algorithm=replace(setting.algorithm, server_lr=F(3))), math.inf)


def test_snapshots_of_fast() -> None:
    """Snapshots of all clients are exact here; of one of two, they are noisier than they are biased."""
    fed = Quadratic.common_hessian([1, -1])
    setting = Setting(fed, fast(snapshot_period=7, cohort=2, local_lr="1/10"), Fixed([0]), 3)
    assert best_probability(setting, math.inf).probability == 1
    assert setting.algorithm.with_share(F(1, 2)).snapshot_period is None
    for rounds in (5, 200):
        found = best_probability(setting, rounds)
        fixed = replace(setting, algorithm=setting.algorithm.with_share(F(found.probability)))
        assert found.squared_distance == fixed.exact([rounds]).squared_distance[0]


@pytest.mark.parametrize("rounds", [0, -1, 2.5, math.nan])
def test_wrong_rounds(rounds: float) -> None:
    with pytest.raises(ValueError, match=r"^rounds = .*: allowed is an integer >= 1, or inf$"):
        best_probability(on_the_line(1), rounds)


def test_not_contracting_is_a_value_error() -> None:
    assert issubclass(NotContracting, ValueError)
