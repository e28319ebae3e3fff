"""SAFARI's exact moments against the enumeration of everything that can happen, in Fractions, and against closed forms.

The enumeration is Algorithm 1 written plainly: the coin for the kind of round, every cohort, every sign of the clients'
and of the server's two-point noise, each with its probability. It shares no code with the package.
"""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.algorithms import fast, safari
from fedtheory.federations import Piecewise, PiecewiseLinear, Quadratic
from fedtheory.functionals import FINAL_SQUARED_DISTANCE, SQUARED_MOVEMENT
from fedtheory.moments.exchangeable import enumerated_at
from fedtheory.moments.kinked_runs import deterministic_errors
from fedtheory.moments.linear_rounds import mean_map, second_moment_map
from fedtheory.moments.one_round import one_round
from fedtheory.moments.round_maps import initial_moments, observable_weights
from fedtheory.moments.timeline import schedule
from fedtheory.moments.trajectory import peaks, trajectory
from fedtheory.papers.safari.statements import rounds as one_round_claims
from fedtheory.papers.safari.statements import thm5
from fedtheory.participation import Fixed, IndexBeta, Phases, Uniform
from fedtheory.setting import Setting

F = Fraction
Law = dict[tuple[Fraction, ...], Fraction]
"""The points where a run can be, and with what probability."""


def safari_setting(
    hessians,
    centres,
    who,
    *,
    q,
    start,
    sigma=0,
    server_noise=0,
    eta_c="1/4",
    eta_s="1/3",
    local_steps=1,
    server_steps=1,
):
    fed = Quadratic(hessians, centres, sigma, server_noise=server_noise)
    steps = {"local_steps": local_steps, "server_steps": server_steps}
    algorithm = safari(client_round_probability=q, local_lr=eta_c, server_lr=eta_s, **steps)
    return Setting(fed, algorithm, who, start)


# Algorithm 1, enumerated.


def gradient(fed: Quadratic, client: int, x: tuple) -> list[Fraction]:
    return list(fed.exact_hessians[client] @ (np.array(x, dtype=object) - fed.exact_centres[client]))


def noises(total: Fraction, dimension: int) -> list[tuple[Fraction, ...]]:
    """The equally likely values of two-point noise of this total standard deviation."""
    if total == 0:
        return [(F(0),) * dimension]
    root = math.isqrt(dimension)
    assert root**2 == dimension
    return [tuple(sign * total / root for sign in signs) for signs in product((1, -1), repeat=dimension)]


def step(x: tuple, direction: list, noise: tuple, lr: Fraction) -> tuple:
    return tuple(a - lr * (g + n) for a, g, n in zip(x, direction, noise, strict=True))


def trained(setting: Setting, client: int, x: tuple) -> list[dict]:
    """The equally likely outcomes of a client's training: its model, its sum of exact gradients, its drift."""
    fed, algorithm = setting.federation, setting.algorithm
    outcomes = [{"model": x, "sum": (F(0),) * fed.dimension, "drift": F(0)}]
    for _ in range(algorithm.local_steps):
        after = []
        for outcome in outcomes:
            here = outcome["model"]
            g = gradient(fed, client, here)
            so_far = {
                "sum": tuple(a + b for a, b in zip(outcome["sum"], g, strict=True)),
                "drift": outcome["drift"] + sum((a - b) ** 2 for a, b in zip(here, x, strict=True)),
            }
            for noise in noises(fed.exact_gradient_noise, fed.dimension):
                after.append({"model": step(here, g, noise, algorithm.local_lr), **so_far})
        outcomes = after
    return outcomes


def cohorts(who: Fixed | Uniform, clients: int) -> list[tuple[int, ...]]:
    return [who.members] if isinstance(who, Fixed) else list(combinations(range(clients), who.cohort))


def mean_of(points: list[tuple]) -> tuple:
    return tuple(sum(values) / len(points) for values in zip(*points, strict=True))


def client_round(setting: Setting, x: tuple) -> list[tuple[Fraction, list[dict]]]:
    """The outcomes of a client round, each a list of what its participants did, with its probability."""
    found = []
    draws = cohorts(setting.participation, setting.federation.clients)
    for drawn in draws:
        choices = list(product(*(trained(setting, i, x) for i in drawn)))
        found += [(F(1, len(draws) * len(choices)), list(choice)) for choice in choices]
    return found


def server_round(setting: Setting, x: tuple) -> list[tuple[Fraction, tuple]]:
    fed, found = setting.federation, [(F(1), x)]
    choices = noises(fed.exact_server_noise, fed.dimension)
    for _ in range(setting.algorithm.server_steps):
        here, found = found, []
        for chance, point in here:
            mean = mean_of([tuple(gradient(fed, i, point)) for i in range(fed.clients)])
            for noise in choices:
                found.append((chance / len(choices), step(point, mean, noise, setting.algorithm.server_lr)))
    return found


def one_more_round(setting: Setting, x: tuple) -> list[tuple[Fraction, tuple]]:
    q = setting.algorithm.client_round_probability
    by_clients = [(q * p, mean_of([done["model"] for done in who])) for p, who in client_round(setting, x)]
    return by_clients + [((1 - q) * p, after) for p, after in server_round(setting, x)]


def laws(setting: Setting, rounds: int) -> list[Law]:
    found: list[Law] = [{tuple(setting.exact_start): F(1)}]
    for _ in range(rounds):
        after: Law = defaultdict(F)
        for x, chance in found[-1].items():
            for p, where in one_more_round(setting, x):
                after[where] += chance * p
        assert sum(after.values()) == 1
        found.append(after)
    return found


def expected(law: Law, setting: Setting) -> dict[str, object]:
    fed = setting.federation
    best = fed.exact_optimum
    pulls = [gradient(fed, i, tuple(best)) for i in range(fed.clients)]
    assert all(sum(parts) == 0 for parts in zip(*pulls, strict=True))
    points = [(p, np.array(x, dtype=object)) for x, p in law.items()]

    def full(x: np.ndarray) -> np.ndarray:
        return sum(np.array(gradient(fed, i, x), dtype=object) for i in range(fed.clients)) / F(fed.clients)

    return {
        "mean": sum(p * (x - best) for p, x in points).tolist(),
        "squared_distance": sum(p * ((x - best) @ (x - best)) for p, x in points),
        "squared_gradient": sum(p * (full(x) @ full(x)) for p, x in points),
    }


def in_fractions(setting: Setting, rounds: int) -> list[dict[str, object]]:
    """The package's recursion, one operator a round."""
    second, first = (schedule(setting, of, exact=True) for of in (second_moment_map, mean_map))
    assert second.period == first.period == 1
    weights = observable_weights(setting.federation, exact=True)
    state = initial_moments(setting, exact=True)
    mean = np.append(setting.exact_start - setting.federation.exact_optimum, F(1))
    found = []
    for _ in range(rounds + 1):
        found.append({"mean": mean[:-1].tolist()} | {name: weight @ state for name, weight in weights.items()})
        state, mean = second.first @ state, first.first @ mean
    return found


ONE = [[1], [3]], [[1], [-2]]
THREE = [["1/2"], [2], [1]], [["3/2"], [-1], [0]]
PLANE = [[[1, "1/2"], ["1/2", 2]], [[3, 0], [0, "1/4"]]], [[1, 0], [-1, 2]]
FOUR = [[1, 2, "1/3", 0], [1, "1/5", 0, 2]], [[1, 0, 2, "1/5"], [0, "1/3", 1, 1]]

CASES = {
    "no noise": (safari_setting(*ONE, Fixed([0]), q="1/3", start=2, local_steps=3), 4),
    "server's noise": (safari_setting(*ONE, Fixed([1]), q="2/5", start=2, server_noise="3/2"), 4),
    "both noises": (safari_setting(*ONE, Fixed([1]), q="2/5", start=2, sigma=2, server_noise="3/2", local_steps=2), 3),
    "cohorts": (safari_setting(*THREE, Uniform(2), q="3/4", start=-1, sigma="1/2", server_noise=1), 3),
    "everybody": (safari_setting(*THREE, Fixed([0, 1, 2]), q="1/2", start=-1, sigma="1/2", server_noise=1), 2),
    "server only": (safari_setting(*ONE, Fixed([0]), q=0, start=2, sigma=1, server_noise=1), 4),
    "clients only": (safari_setting(*ONE, Fixed([0, 1]), q=1, start=2, sigma=1, server_noise=1), 3),
    "plane": (safari_setting(*PLANE, Uniform(1), q="1/3", start=[0, 3], local_steps=2), 3),
    "four dimensions": (safari_setting(*FOUR, Fixed([1]), q="1/3", start=[1, 0, 2, 1], sigma=1, server_noise=3), 1),
    "long steps": (safari_setting(*ONE, Uniform(1), q="1/7", start=1, sigma=1, server_noise=1, eta_c=2, eta_s=3), 3),
    "several server steps": (
        safari_setting(*ONE, Fixed([1]), q="2/5", start=2, sigma=2, server_noise="3/2", server_steps=3), 2,
    ),
    "server only, a plane": (safari_setting(*PLANE, Fixed([0]), q=0, start=[0, 3], server_steps=2), 3),
}  # fmt: skip
each_case = pytest.mark.parametrize(("setting", "rounds"), CASES.values(), ids=CASES)


@each_case
def test_moments_equal_the_enumeration(setting: Setting, rounds: int) -> None:
    wanted = [expected(law, setting) for law in laws(setting, rounds)]
    assert in_fractions(setting, rounds) == wanted
    exact = setting.exact(range(rounds + 1))
    for name in ("squared_distance", "squared_gradient"):
        # The recursion in floats adds and multiplies some hundred numbers of like size.
        np.testing.assert_allclose(getattr(exact, name), [float(w[name]) for w in wanted], rtol=1e-12)


rationals = st.fractions(-2, 2, max_denominator=6)
steps = st.fractions(F(1, 10), 2, max_denominator=10)


@st.composite
def small_settings(draw: st.DrawFn) -> Setting:
    clients = draw(st.integers(1, 3))
    curvatures = [draw(st.fractions(0, 2, max_denominator=6)) for _ in range(clients)]
    curvatures[-1] += F(1, 2)
    members = draw(st.sets(st.integers(0, clients - 1), min_size=1, max_size=2))
    return safari_setting(
        [[h] for h in curvatures],
        [[draw(rationals)] for _ in range(clients)],
        draw(st.sampled_from([Fixed(sorted(members)), Uniform(min(2, clients)), Uniform(1)])),
        q=draw(st.fractions(0, 1, max_denominator=5)), start=draw(rationals),
        sigma=draw(st.sampled_from([F(0), F(5, 4)])), server_noise=draw(st.sampled_from([F(0), F(1, 3)])),
        eta_c=draw(steps), eta_s=draw(steps), local_steps=draw(st.integers(1, 2)),
        server_steps=draw(st.integers(1, 2)),
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(small_settings())
def test_any_small_setting(setting: Setting) -> None:
    assert in_fractions(setting, 2) == [expected(law, setting) for law in laws(setting, 2)]


# One round.


@each_case
def test_one_round_equals_the_enumeration(setting: Setting, rounds: int) -> None:
    fed, x = setting.federation, tuple(setting.exact_start)
    best, K = fed.exact_optimum, setting.algorithm.local_steps

    def objective(client: int, at: object) -> Fraction:
        off = np.array(at, dtype=object) - fed.exact_centres[client]
        return off @ fed.exact_hessians[client] @ off / 2

    def of_all(at: object) -> Fraction:
        return sum(objective(i, at) for i in range(fed.clients)) / fed.clients

    if setting.algorithm.server_steps > 1:
        with pytest.raises(ValueError, match=r"server_steps = \d: one round's moments are known for 1"):
            one_round(setting, exact=True)
        return
    found = one_round(setting, exact=True)
    after = one_more_round(setting, x)
    moved = [(p, np.array(y, dtype=object) - np.array(x, dtype=object)) for p, y in after]
    assert found.left(FINAL_SQUARED_DISTANCE) == expected(laws(setting, 1)[1], setting)["squared_distance"]
    assert found.left(SQUARED_MOVEMENT) == sum(p * (d @ d) for p, d in moved)
    known, outcomes = found.quantities(), client_round(setting, x)
    sums = [(p, np.array(mean_of([done["sum"] for done in who]), dtype=object)) for p, who in outcomes]
    draws = cohorts(setting.participation, fed.clients)
    excess = [sum(objective(i, x) - objective(i, best) for i in drawn) / F(len(drawn)) for drawn in draws]
    expected_known = {
        "objective_decrease": of_all(x) - sum(p * of_all(y) for p, y in after),
        "arbitrary_pseudogradient": sum(p * (g @ g) for p, g in sums),
        "arbitrary_excess": sum(excess) / len(draws),
        "arbitrary_drift": sum(p * sum(done["drift"] for done in who) / F(len(who)) for p, who in outcomes),
    }
    assert {name: known[name] for name in expected_known} == expected_known
    assert "cohort_pseudogradient" not in known and K >= 1
    floats = one_round(setting).quantities()
    for name, value in expected_known.items():
        # Numbers of order 1 to 1000; a decrease is a difference of two of them.
        assert floats[name] == pytest.approx(float(value), rel=1e-12, abs=1e-12)


# Special cases.


def test_without_client_rounds_it_is_sgd() -> None:
    """x_{r+1} = (1 - a) x_r - eta_s noise: an autoregression. Who takes part does not matter."""
    eta, s, start = F(1, 7), F(3, 2), F(5)
    wanted = [(1 - eta * 2) ** r * start for r in range(30)]
    rest = 1 - (1 - 2 * eta) ** 2
    for who in (Fixed([0]), Uniform(2)):
        setting = safari_setting([[1], [3]], [[3], [-1]], who, q=0, start=start, server_noise=s, eta_s=eta, sigma=9)
        found = in_fractions(setting, 29)
        assert setting.federation.exact_optimum[0] == 0
        assert [row["mean"] for row in found] == [[m] for m in wanted]
        variance = [(eta * s) ** 2 * (1 - (1 - 2 * eta) ** (2 * r)) / rest for r in range(30)]
        assert [row["squared_distance"] for row in found] == [m**2 + v for m, v in zip(wanted, variance, strict=True)]


@pytest.mark.parametrize("who", [Fixed([0]), Uniform(2), IndexBeta(2)], ids=["fixed", "uniform", "index"])
def test_without_server_rounds_it_is_fast_without_snapshots(who: object) -> None:
    fed = Quadratic(*PLANE, 1, server_noise=5) if who.cohort == 1 else Quadratic(*THREE, 1, server_noise=5)
    options = {"local_lr": "1/9", "local_steps": 3}
    mine = Setting(fed, safari(client_round_probability=1, server_lr=1, **options), who, 2)
    fasts = Setting(fed, fast(snapshot_probability=0, cohort=1, **options), who, 2)
    rounds = [0, 1, 2, 10, 1000]
    for name in ("squared_distance", "squared_gradient", "gradient_sum"):
        np.testing.assert_array_equal(getattr(mine.exact(rounds), name), getattr(fasts.exact(rounds), name))
    if not isinstance(who, IndexBeta):
        one, other = (schedule(s, second_moment_map, exact=True).first for s in (mine, fasts))
        assert (one == other).all()


@pytest.mark.parametrize("q", [0, F(2, 7), 1])
def test_alike_clients_with_one_step_are_the_server(q: Fraction) -> None:
    """Dissimilarity 0, K = 1, the same step and the same noise of one participant: the kind of round is no matter."""
    setting = safari_setting(
        [[2], [2]], [[1], [1]], Fixed([1]), q=q, start=4, sigma=3, server_noise=3, eta_c="1/5", eta_s="1/5"
    )
    sgd = safari_setting([[2]], [[1]], Fixed([0]), q=0, start=4, server_noise=3, eta_s="1/5")
    assert in_fractions(setting, 5) == in_fractions(sgd, 5)


def test_alike_clients_contract_together() -> None:
    """Dissimilarity 0, no noise: E|x_r - x*|^2 = (q (1 - eta_c h)^{2K} + (1 - q) (1 - eta_s h)^2)^r |x_0 - x*|^2."""
    setting = safari_setting(
        [[2]] * 3, [[1]] * 3, Uniform(2), q="1/3", start=4, eta_c="1/5", eta_s="1/8", local_steps=3
    )
    factor = F(1, 3) * F(3, 5) ** 6 + F(2, 3) * F(3, 4) ** 2
    assert [row["squared_distance"] for row in in_fractions(setting, 6)] == [9 * factor**r for r in range(7)]


def test_equal_curvatures_make_the_two_ties_one() -> None:
    """L = mu = h under either tie, K = 1: a client round moves a = eta_c h of the way to the participant, a server
    round a/2 of the way to x*."""
    a, q = F(1, 10), F(1, 4)
    setting = safari_setting([[2]] * 2, [[1], [-1]], Fixed([0]), q=q, start=3, eta_c=a / 2, eta_s=a / 4)
    means = [row["mean"][0] for row in in_fractions(setting, 40)]
    shrink = 1 - q * a - (1 - q) * a / 2
    limit = 2 * q / (1 + q)
    assert means == [limit + (3 - limit) * shrink**r for r in range(41)]


# Claims at a setting.


def test_claims_take_their_quantities_from_the_setting() -> None:
    fed = Quadratic.common_hessian([[1, 0], [-1, 0], [0, 0]], [1, 2], "1/2", server_noise="1/3")
    algorithm = safari(client_round_probability="1/4", local_lr="1/400", server_lr="1/50", local_steps=2)
    setting = Setting(fed, algorithm, Fixed([0, 2]), start=2)
    rounds = [1, 10, 1000]
    bound = thm5.SHARP.at(setting, rounds=rounds)
    assert bound.hypotheses_hold and (setting.exact(rounds).squared_distance <= bound.value).all()
    assert bound.quantities["server_noise"] == 1 / 3 and bound.quantities["arbitrary_cohort"] == 2
    client = Setting(fed, algorithm.with_share(F(1)), Fixed([0, 2]), start=2)
    one = one_round_claims.EQ_65.at(client, rounds=1)
    assert one.quantities["arbitrary_drift"] == one_round(client).quantities()["arbitrary_drift"]
    assert one_round(client).left(FINAL_SQUARED_DISTANCE) <= one.value
    assert one.slack["server_lr_choice"] != 0  # the steps are not Theorem 5's


# What else there is.


def test_phases_change_the_participants() -> None:
    setting = safari_setting(*ONE, Phases([[0], [1]], [2, 1], cyclic=True), q="1/3", start=2, sigma=1, server_noise=1)
    parts = [safari_setting(*ONE, Fixed([i]), q="1/3", start=2, sigma=1, server_noise=1) for i in (0, 0, 1, 0, 0, 1)]
    state = initial_moments(setting, exact=True)
    weight = observable_weights(setting.federation, exact=True)["squared_distance"]
    wanted = [weight @ state]
    for part in parts:
        state = schedule(part, second_moment_map, exact=True).first @ state
        wanted.append(weight @ state)
    np.testing.assert_allclose(setting.exact(range(7)).squared_distance, np.array(wanted, float), rtol=1e-12)


def test_a_deterministic_run_has_a_trajectory_but_no_quantities_of_fast() -> None:
    setting = safari_setting(*ONE, Fixed([0]), q=0, start=2)
    best = F(-5, 4)
    wanted = [[float((2 - best) * F(1, 3) ** r)] for r in range(5)]  # 1 - eta_s (1 + 3)/2
    np.testing.assert_allclose(trajectory(setting, 4), wanted, rtol=1e-14)
    with pytest.raises(ValueError, match="run quantities are known for Fast only"):
        peaks(setting, 4)
    assert setting.quantities(rounds=4, needed=["peak_arbitrary_pseudogradient"]) == {}
    with pytest.raises(ValueError, match="the setting is random"):
        trajectory(safari_setting(*ONE, Fixed([0]), q="1/2", start=2), 4)


def test_several_server_steps_are_as_many_rounds_of_one() -> None:
    """With q = 0: R rounds of three steps are 3 R rounds of one, whichever way follows them."""
    line = PiecewiseLinear([2, 1], [0], at_zero=1)
    kinks = Piecewise([[line], [PiecewiseLinear([1], (), -1)]], [2, 1])
    noisy = Piecewise([[line], [PiecewiseLinear([1], (), -1)]], [2, 1], server_noise="1/2")
    smooth = Quadratic(*ONE, server_noise="1/2")

    def errors(fed: Piecewise | Quadratic, steps: int, rounds: list[int]) -> list[object]:
        algorithm = safari(client_round_probability=0, local_lr="1/4", server_lr="1/3", server_steps=steps)
        setting = Setting(fed, algorithm, Fixed([0]), 2)
        if fed is smooth:
            return list(setting.exact(rounds, exact=True).squared_distance)
        if fed is kinks:
            return list(deterministic_errors(setting, rounds).squared_distance)
        return list(enumerated_at(setting, rounds).squared_distance)

    for fed in (kinks, noisy, smooth):
        assert errors(fed, 3, [0, 1, 2]) == errors(fed, 1, [0, 3, 6])


def test_claims_do_not_speak_of_several_server_steps() -> None:
    setting = safari_setting(*ONE, Fixed([0]), q="1/3", start=2, server_steps=2)
    assert setting.algorithm.quantities() == {}
    with pytest.raises(ValueError, match="server_steps = 0: allowed"):
        safari(client_round_probability=0, local_lr=1, server_lr=1, server_steps=0)
