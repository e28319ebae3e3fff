"""What settings of FLICS say of themselves: against every path one by one, by hand, and against simulated runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

from fedtheory import algorithms, participation
from fedtheory.claims.balls import ball, working_precision
from fedtheory.federations import Quadratic
from fedtheory.functionals import (
    AGGREGATE_BIAS,
    AGGREGATE_ERROR,
    LEAST_SQUARED_GRADIENT,
    MEAN_SQUARED_GRADIENT,
    POLICY_GAP,
    POLICY_LIMIT,
    RATIO_FAILURE,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
)
from fedtheory.moments.evaluators import BALL, EXACT, Question, Unserved, left, quantity
from fedtheory.papers import claim
from fedtheory.papers.flics.examples.selection_settings import along_a_trace, answers, federation
from fedtheory.selection import Round, genie_gap, online, var
from fedtheory.setting import Setting
from fedtheory.simulation import simulate

from .selection_settings import one_round

HALF = F(1, 2)
GROUPS = [0, 1, 1]
WEIGHT = ["2/5", "3/5"]
PHI = ["2/5", "3/10", "3/10"]
RUN = {"local_lr": "1/5", "global_lr": "3/2", "group_weight": WEIGHT, "groups": GROUPS}
PLANE = Quadratic([[1, 2], [3, 1], [3, 1]], [[1, -1], ["-1/2", 2], ["-1/2", 2]], "1/2", objective_weight=PHI)
LINE = Quadratic.common_hessian([1, -1, -1], 2, objective_weight=PHI)
TRACE = participation.Recorded([[1, 1, 1], [1, 1, 0], [0, 1, 1]])


# Every path of a run: who is there, who answers, every sign of every noise; in floating point.


def there(setting: Setting, round: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Who may be there, with which probability."""
    chances = [float(p) for p in setting.participation.expected(setting.federation.clients, round)]
    for mask in itertools.product((0, 1), repeat=len(chances)):
        chance = math.prod(p if x else 1 - p for p, x in zip(chances, mask, strict=True))
        if chance:
            yield chance, tuple(itertools.compress(range(len(chances)), mask))


def answering(rates: np.ndarray, members: tuple[int, ...], how: str) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Who may answer, with which probability."""
    own = [[i for i in members if GROUPS[i] == j] for j in range(len(rates))]
    if how == "independent":
        for mask in itertools.product((0, 1), repeat=len(members)):
            q = [rates[GROUPS[i]] / len(own[GROUPS[i]]) for i in members]
            chance = math.prod(p if x else 1 - p for p, x in zip(q, mask, strict=True))
            if chance:
                yield chance, tuple(itertools.compress(members, mask))
        return
    options = []
    for rate, group in zip(rates, own, strict=True):
        part = rate - math.floor(rate)
        numbers = [(1 - part, math.floor(rate)), (part, math.floor(rate) + 1)]
        options.append([(p / math.comb(len(group), n), chosen) for p, n in numbers if p
                        for chosen in itertools.combinations(group, n)])  # fmt: skip
    for drawn in itertools.product(*options):
        yield math.prod(p for p, _ in drawn), tuple(itertools.chain(*(chosen for _, chosen in drawn)))


def enumerated(setting: Setting, rounds: int) -> dict[str, list[float]]:
    """E|grad F(w_t)|^2 for t = 0..T and, by rounds, what else the paths tell."""
    fed, kind = setting.federation, setting.algorithm.round
    policy, p = kind.selection, np.array([float(w) for w in kind.selection.group_weight])
    phi, h = np.array([float(x) for x in fed.exact_weight]), np.diagonal(fed.hessians, axis1=1, axis2=2)
    noises = [np.array(s) * fed.gradient_noise / math.sqrt(fed.dimension)
              for s in itertools.product((1, -1), repeat=fed.dimension)] if fed.gradient_noise else [0]  # fmt: skip
    eta, beta = float(kind.local_lr), float(policy.start)

    def updates(w: np.ndarray, i: int) -> list[np.ndarray]:
        ends = [w]
        for _ in range(kind.local_steps):
            ends = [x - eta * (h[i] * (x - fed.centres[i]) + z) for x in ends for z in noises]
        return [x - w for x in ends]

    def estimate(counted: list, t: int) -> np.ndarray:
        if policy.update == "start_counts":
            return (beta + sum(counted)) / (t + 1)
        if policy.update == "printed":
            return sum(counted[1:]) / (t - 1) if t > 1 else np.full(len(p), beta)
        return sum(counted) / t if t else np.zeros(len(p))

    def square(paths: list) -> float:
        return sum(c * np.square((phi[:, None] * h * (w - fed.centres)).sum(0)).sum() for c, w, _ in paths)

    paths = [(1.0, setting.exact_start.astype(float), [])]
    told = {"squares": [square(paths)], "proxy": [], "spread": [], "mismatch": [], "mean": [], "met": [0.0],
            "answers": [], "stray": []}  # fmt: skip
    for t in range(1, rounds + 1):
        after, proxy, spread, mismatch, mean, met = [], 0.0, 0.0, 0.0, 0.0, told["met"][-1]
        answers, stray = 0.0, 0.0
        for chance, w, counted in paths:
            ratio = np.zeros(len(p))
            for present, members in there(setting, t - 1):
                own = np.array([sum(GROUPS[i] == j for i in members) for j in range(len(p))])
                before = estimate(counted, t - 1)
                within = np.zeros(len(p))
                rates = var((t - 1) * before, own, float(policy.exact_budget(t - 1)), p).rates
                for q, who in answering(rates, members, policy.answers):
                    numbers = np.array([sum(GROUPS[i] == j for i in who) for j in range(len(p))])
                    now = [*counted, rates if policy.counts == "planned" else numbers]
                    s, share = estimate(now, t), chance * present * q
                    y = np.divide(p, s, out=np.full(len(p), np.inf), where=s > 0)
                    sent = np.where(numbers > 0, numbers / np.where(numbers > 0, s, 1), 0)
                    within += q * sent
                    answers += share * (np.where(numbers > 0, p / np.where(numbers > 0, s, 1), 0) ** 2 @ numbers)
                    proxy += share * (y**2 @ rates)
                    spread += share * (y @ rates) ** 2
                    mismatch += share * (abs(rates / s - 1).max() ** 2 if (s > 0).all() else np.inf)
                    ratio = ratio + share / chance * (rates / s if (s > 0).all() else np.inf)
                    scale = 1 / max(len(who), 1) if kind.aggregation.divided else 1
                    drawn = [[y[GROUPS[i]] * u for u in updates(w, i)] for i in who]
                    for each in itertools.product(*drawn):
                        moved = w + float(kind.server.global_lr) * scale * sum(each, np.zeros(fed.dimension))
                        after.append((share / math.prod(map(len, drawn)), moved, now))
                stray += chance * present * abs(within - 1).max() ** 2
            if kind.local_steps == 1:  # of every client's path, whether it is there or not
                met = max([met] + [np.linalg.norm(h[i] * (w - fed.centres[i]) + z) for i in range(fed.clients)
                                   for z in noises])  # fmt: skip
            mean += chance * abs(ratio - 1).max() ** 2
        paths = after
        told["squares"].append(square(paths))
        for name, value in (("proxy", proxy), ("spread", spread), ("mismatch", mismatch), ("mean", mean), ("met", met),
                            ("answers", answers), ("stray", stray)):  # fmt: skip
            told[name].append(value)
    return told


SETTINGS = {
    "a trace": (LINE, {"budget": [3, "5/4"]}, TRACE),
    "in the plane, with noise": (PLANE, {"budget": [2, "5/4"], "local_steps": 1}, TRACE),
    "drawn": (LINE, {"budget": [3, "5/4"], "answers": "drawn"}, TRACE),
    "received": (LINE, {"budget": [3, "5/4"], "counts": "received"}, TRACE),
    "drawn and received": (LINE, {"budget": [3, "5/4"], "counts": "received", "answers": "drawn"}, TRACE),
    "divided": (LINE, {"budget": [3, "5/4"], "divided": True, "local_steps": 3}, TRACE),
    "the start counts": (LINE, {"budget": "5/4", "update": "start_counts", "start": "1/3"}, TRACE),
    "as printed": (LINE, {"budget": "5/4", "update": "printed", "start": "1/3"}, TRACE),
    "as printed and received": (
        LINE, {"budget": ["5/4", 3], "update": "printed", "start": "1/3", "counts": "received"}, TRACE,
    ),
    "a group that is never there": (
        LINE, {"budget": [1, "1/2"], "counts": "received", "update": "start_counts", "start": "1/3", "local_steps": 1},
        participation.Fixed([0, 2]),
    ),
    "random availability": (LINE, {"budget": "5/4"}, participation.Bernoulli([1, "1/2", 1])),
    "random availability, the start counts": (
        LINE, {"budget": "5/4", "update": "start_counts", "start": "1/3", "counts": "received"},
        participation.Bernoulli(["1/2", "1/2", 1]),
    ),
}  # fmt: skip


CHAINS = {
    "counts with a memory": (
        LINE, {"budget": 3, "counts": "received"},
        participation.GroupChain(GROUPS, [[1, 2], [1, 1]], ["1/4", "3/4"], [["1/8", "7/8"], ["1/2", "1/2"]]),
    ),
    "counts drawn anew, few of whom are asked": (
        LINE, {"budget": "5/4"}, participation.GroupChain(GROUPS, [[1, 2], [1, 0]], ["2/3", "1/3"]),
    ),
}  # fmt: skip


def named(name: str) -> Setting:
    fed, options, process = (SETTINGS | CHAINS)[name]
    return Setting(fed, algorithms.flics_avg(**RUN, **options), process, start=2)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_path(name: str) -> None:
    setting, rounds = named(name), 2 if name in ("in the plane, with noise",) else 3
    told, question = enumerated(setting, rounds), Question(setting, list(range(1, rounds + 1)))
    squares, numbers = np.array(told["squares"]), np.arange(1, rounds + 1)
    expected = {
        MEAN_SQUARED_GRADIENT: squares[:-1].cumsum() / numbers,
        LEAST_SQUARED_GRADIENT: np.minimum.accumulate(squares[1:]),
    }
    for functional, values in expected.items():
        np.testing.assert_allclose(left(functional, question), values, rtol=1e-12)
    other = Question(setting, list(numbers), {"minimum": "t = 0..T-1"})
    np.testing.assert_allclose(left(LEAST_SQUARED_GRADIENT, other), np.minimum.accumulate(squares[:-1]), rtol=1e-12)
    means = {"selection_proxy": "proxy", "rate_spread": "spread", "answer_proxy": "answers"}
    for quantity_name, own in means.items():
        values = np.cumsum(told[own]) / numbers
        np.testing.assert_allclose(quantity(quantity_name, question).value, values, rtol=1e-12)
    for quantity_name, own in {
        "weight_mismatch": "mismatch",
        "mean_mismatch": "mean",
        "answer_mismatch": "stray",
    }.items():
        mismatch = np.sqrt(np.cumsum(told[own]) / numbers)
        np.testing.assert_allclose(quantity(quantity_name, question).value, mismatch, rtol=1e-12, atol=1e-12)
    bound = quantity("local_gradient_bound", question)
    assert bound.kind == "bound"
    assert (bound.value >= np.array(told["met"][1:]) * (1 - 1e-12)).all()
    if setting.federation.dimension == 1 and setting.algorithm.round.local_steps == 1:
        np.testing.assert_allclose(bound.value, told["met"][1:], rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "in the plane, with noise"])
def test_fractions_and_balls_agree_with_floats(name: str) -> None:
    setting = named(name)
    with working_precision():
        for of in ("local_gradient_bound", "selection_proxy", "rate_spread", "weight_mismatch", "mean_mismatch",
                   "answer_proxy", "answer_mismatch"):  # fmt: skip
            close, exact, enclosed = (quantity(of, Question(setting, 3, {}, n)).value for n in ("float", EXACT, BALL))
            if math.isinf(close):
                assert math.isinf(exact)
                assert not enclosed.is_finite()
            else:
                assert ball(exact).overlaps(enclosed)
                assert close == pytest.approx(float(exact), rel=1e-12, abs=1e-14)
        exact, enclosed = (left(MEAN_SQUARED_GRADIENT, Question(setting, 3, {}, n)) for n in (EXACT, BALL))
        assert isinstance(exact, F)
        assert enclosed.contains(ball(exact).mid())


def test_groups_far_from_home_by_hand() -> None:
    """One client, always asked: w goes to w/2 in a round, from 4; a gradient is at most 4, then 2."""
    fed = Quadratic.common_hessian([0])
    algorithm = algorithms.flics_avg(groups=[0], budget=1, local_lr="1/2")
    setting = Setting(fed, algorithm, participation.Fixed([0]), start=4)
    question = Question(setting, [1, 2, 3], numbers=EXACT)
    assert left(LEAST_SQUARED_GRADIENT, question).tolist() == [4, 1, F(1, 4)]
    assert left(MEAN_SQUARED_GRADIENT, question).tolist() == [16, 10, 7]
    assert quantity("local_gradient_bound", question).value.tolist() == [4, 4, 4]
    assert quantity("selection_variance", question).value.tolist() == [0, 0, 0]
    assert quantity("least_group_participation", question).value == 1
    late = Question(setting, 2, {"start": "counted"}, EXACT)
    assert quantity("largest_estimate_error", late).value == HALF  # s^ = 1/2, 2/3


SIMULATED = ["a trace", "received", "divided", "random availability", "in the plane, with noise", *CHAINS]


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_runs(name: str) -> None:
    """99% for all bands together."""
    setting, rounds, replicas = named(name), 3, 3000
    samples = simulate(setting, rounds=rounds, replicas=replicas, seed=1, record_every=1).rows["squared_gradient"]
    numbers = np.arange(1, rounds + 1)
    squares = np.diff(left(MEAN_SQUARED_GRADIENT, Question(setting, numbers)) * numbers)  # of t = 1, 2, ...
    level = 0.01 / (len(SIMULATED) * rounds)
    half = stats.norm.ppf(1 - level / 2) * samples.std(0, ddof=1)[1:rounds] / math.sqrt(replicas)
    assert (abs(samples.mean(0)[1:rounds] - squares) <= half + 1e-12).all()
    assert (half <= 0.25 * squares).all()  # narrow enough to say something


def test_long_runs_are_followed() -> None:
    setting = along_a_trace((F(1, 3), F(2, 3)), [[2, 1], [1, 3]], [F(3), F(5, 4)], F(2), (F(1), F(-1)), F(3), F(1, 4),
                            F(1, 100))  # fmt: skip
    question = Question(setting, np.arange(1, 1001))
    run = online([[2, 1]] + [[1, 3]] * 999, [3.0] + [1.25] * 999, [1 / 3, 2 / 3])
    y = np.array([1 / 3, 2 / 3]) / run.estimate()
    proxy = (y**2 * run.rates).sum(1).cumsum() / np.arange(1, 1001)
    np.testing.assert_allclose(quantity("selection_proxy", question).value, proxy, rtol=1e-9)
    for edition in ("corrected", "intermittent"):
        bound = claim(f"flics.thm1@{edition}").evaluate(
            smoothness=2, initial_gap=float(2 * (3 + 1 / 3) ** 2 / 2), local_steps=1, local_lr=0.01, global_lr=1,
            rounds=np.arange(1, 1001), **{name: quantity(name, question).value for name in
            ("local_gradient_bound", "weight_mismatch", "mean_mismatch", "selection_proxy", "rate_spread")},
        )  # fmt: skip
        assert bound.hypotheses_hold
        assert (left(MEAN_SQUARED_GRADIENT, question) <= bound.value).all()


# One round.


def test_a_round_with_a_free_law() -> None:
    """Two states; each coordinate of the plane as a round on a line."""
    states = [(F(1, 4), (1, 2), (F(1, 3), F(4, 3))), (F(3, 4), (1, 0), (F(1, 2), F(0)))]
    line = [one_round((F(1, 3), F(2, 3)), (F(3, 4), F(5, 4)), states, h, c, x, F(0), 2, F(1, 6))
            for h, c, x in ((F(3, 2), (F(1), F(-2)), HALF), (F(2), (F(-1), F(3)), F(1)))]  # fmt: skip
    groups = [0, 1, 1]
    fed = Quadratic.common_hessian([[1, -1], [-2, 3], [-2, 3]], ["3/2", 2], objective_weight=["1/3"] * 3)
    plane = replace(line[0], federation=fed, start=["1/2", 1])
    assert list(plane.algorithm.round.aggregation.groups) == groups
    for reading in ({}, {"line 14": "divided"}):
        for functional in (SQUARED_AGGREGATE, SQUARED_SELECTED_VECTOR):
            parts = [left(functional, Question(s, None, reading, EXACT)) for s in line]
            assert left(functional, Question(plane, None, reading, EXACT)) == sum(parts)
        for name in ("squared_mean_update", "squared_state_update", "weighted_pseudogradient", "squared_mean_vector",
                     "mean_squared_vector", "vector_covariance"):  # fmt: skip
            parts = [quantity(name, Question(s, None, reading, EXACT)).value for s in line]
            assert quantity(name, Question(plane, None, reading, EXACT)).value == sum(parts)
        parts = [left(AGGREGATE_BIAS, Question(s, None, reading)) for s in line]
        assert left(AGGREGATE_BIAS, Question(plane, None, reading)) == pytest.approx(math.hypot(*parts))
    # The states' ratios sum_j p_j r_j / s^_j: 4/27 + 32/45, and 2/9.
    ratios = F(4, 27) + F(32, 45), F(2, 9)
    assert (
        quantity("rate_spread", Question(plane, None, {}, EXACT)).value == ratios[0] ** 2 / 4 + 3 * ratios[1] ** 2 / 4
    )


@pytest.mark.parametrize("divided", [False, True])
def test_a_round_agrees_with_the_aggregate_moments(divided: bool) -> None:
    rates, there = (HALF, F(2)), (2, 3)
    setting = one_round((F(1, 3), F(2, 3)), (F(3, 4), F(5, 4)), [(F(1), there, rates)], F(1), (F(1), F(-2)), F(0),
                        F(1, 3), 3, F(1, 5))  # fmt: skip
    moments = Round(rates, there, (F(1, 3), F(2, 3)), (F(3, 4), F(5, 4)), divided=divided).moments()
    v = np.array([(F(4, 5) ** 3 - 1) * -c for c in (1, -2)], dtype=object)
    variance = sum(F(1, 15) ** 2 * F(4, 5) ** (2 * k) for k in range(3))
    question = Question(setting, None, {"line 14": "divided" if divided else "not divided"}, EXACT)
    mean = moments.mean @ v
    assert (
        quantity("squared_mean_update", question).value == quantity("squared_state_update", question).value == mean**2
    )
    assert left(SQUARED_AGGREGATE, question) == mean**2 + v @ moments.covariance @ v + sum(moments.noise) * variance


def test_simulated_rounds() -> None:
    """E|Delta|^2 of one round, in a band of 99%; with local_steps = 1 and global_lr = 1, x_1 - x_0 is Delta."""
    states = [(F(1, 4), (1, 2), (F(1, 3), F(4, 3))), (F(3, 4), (1, 0), (F(1, 2), F(0)))]
    setting = one_round((F(1, 3), F(2, 3)), (F(3, 4), F(5, 4)), states, F(1), (F(1), F(-2)), F(0), F(1, 2), 1, F(1, 4))
    optimum, replicas = float(setting.federation.exact_optimum[0]), 20000
    run = simulate(setting, rounds=1, replicas=replicas, seed=3, record_every=1)
    # grad F(x_1)^2 - grad F(x_0)^2 = Delta^2 + 2 Delta (x_0 - x*).
    change = run.rows["squared_gradient"][:, 1] - run.rows["squared_gradient"][:, 0]
    mean = math.sqrt(quantity("squared_mean_update", Question(setting)).value)
    vbar = 0.25 * (1 / 3 - 4 / 3)
    sign = math.copysign(1, vbar)
    expected = left(SQUARED_AGGREGATE, Question(setting)) + 2 * sign * mean * (0 - optimum)
    half = stats.norm.ppf(0.995) * change.std(ddof=1) / math.sqrt(replicas)
    assert abs(change.mean() - expected) <= half
    assert half < 0.25 * abs(expected)


def test_the_first_round_of_the_policy() -> None:
    """s^(1) are the rates, so the mean aggregate is the mean update, and the mismatch is 0."""
    setting = named("a trace")
    question = Question(setting, None, {}, EXACT, {"estimate_error": HALF, "least_participation": HALF})
    assert left(AGGREGATE_BIAS, question) == 0
    assert quantity("weight_mismatch", question).value == 0
    # w = 2: updates (1 - 2/5 - 1) (2 -+ 1) = -2/5 and -6/5; vbar = -22/25; epsilon^ = 2, factors 3 and 2.
    assert left(AGGREGATE_ERROR, question) == 2 * F(22, 25)
    proved = replace(question, reading={"factor": "epsilon^"})
    assert left(AGGREGATE_ERROR, proved) == F(22, 25)
    counted = replace(question, reading={"start": "counted"})
    assert quantity("largest_estimate_error", counted).value == 1  # s = (1, 2), s^ = s/2


# The policy.


def test_gaps_along_prefixes() -> None:
    rng = np.random.default_rng(0)
    counts, weight = rng.integers(1, 5, (60, 3)).tolist(), (F(1, 2), F(1, 3), F(1, 6))
    budget = [F(int(n), 4) for n in rng.integers(4, 30, 60)]
    setting, rounds = along_a_trace(weight, counts, budget), [1, 7, 60]
    floats = counts, [float(k) for k in budget]
    run = online(*floats, [float(p) for p in weight])
    expected = genie_gap(run, *floats, rounds)
    question = Question(setting, rounds)
    np.testing.assert_allclose(left(POLICY_GAP, question), expected.gap, atol=1e-14)
    exact = Question(setting, [1, 7], numbers=EXACT)
    np.testing.assert_allclose(left(POLICY_GAP, exact).astype(float), expected.gap[:2], atol=1e-14)
    drift = quantity("price_drift", question).value
    np.testing.assert_allclose(drift[:2], quantity("price_drift", exact).value.astype(float), rtol=1e-12)
    assert (left(POLICY_GAP, question) <= drift + 1e-14).all()


def test_two_alike() -> None:
    """Two groups of one client and a budget of 1: s = (1/2, 1/2), so sum p^2/s is 1, sum p/s is 2, and Sigma, 1/4 of
    each group, gives 1/2; the best has 1."""
    setting, stated = along_a_trace((HALF, HALF), [[1, 1]], [F(1)]), {"least_participation": F(1, 4)}
    found = [left(POLICY_LIMIT, Question(setting, 1, reading, EXACT, stated))
             for reading in claim("flics.thm2@main").readings()]  # fmt: skip
    assert found == [HALF, 1, 1, 1, 0, 0]  # two and two with the covariance and the correlation
    assert quantity("selection_variance", Question(setting, 1, {"Sigma": "correlation"}, EXACT)).value == 2
    assert quantity("selection_variance", Question(setting, 1, {}, EXACT)).value == HALF


def test_the_covariance_of_groups_that_exclude_each_other() -> None:
    """Exactly one of two groups answers: Sigma = ((1/4, -1/4), (-1/4, 1/4)); with s^ = (1/2, 1/4), y = (1, 2)."""
    states = [(HALF, (1, 0), (F(1), F(0))), (HALF, (0, 1), (F(0), F(1)))]
    setting = one_round((HALF, HALF), (HALF, F(1, 4)), states, F(1), (F(3), F(-1)), F(0), F(0), 1, F(1, 10))
    question = Question(setting, numbers=EXACT)
    assert quantity("selection_variance", question).value == F(1, 4) * (1 - 2 * 2 + 4)
    correlated = Question(setting, reading={"Sigma": "correlation"}, numbers=EXACT)
    assert quantity("selection_variance", correlated).value == 1 - 2 * 2 + 4  # ((1, -1), (-1, 1))
    # x = (-3, 1): 1/4 (y_1 x_1 - y_2 x_2)^2
    assert quantity("vector_covariance", question).value == F(25, 4)


def test_a_cycle_goes_to_the_best_of_the_cycle() -> None:
    """Group 1 is there in every other round only: the best is 3/2 each, and the policy gets there."""
    process = participation.Recorded.of_counts([[4, 4], [4, 0]], [0] * 4 + [1] * 4, after="repeat")
    fed = federation((HALF, HALF), [0] * 4 + [1] * 4, F(1), (F(0), F(0)), F(0))
    algorithm = algorithms.flics_avg(groups=[0] * 4 + [1] * 4, budget=[4, 2], local_lr="1/10")
    setting = Setting(fed, algorithm, process)
    assert quantity("least_group_participation", Question(setting, numbers=EXACT)).value == F(3, 2)
    assert quantity("largest_estimate_error", Question(setting, 1, numbers=EXACT)).value == HALF
    reading, stated = {"sigma_T": "the policy's objective"}, {"least_participation": F(1, 10)}
    assert left(POLICY_LIMIT, Question(setting, None, reading, EXACT, stated)) == 0
    with pytest.raises(Unserved, match="selection_variance"):
        quantity("selection_variance", Question(setting, 3))
    with pytest.raises(Unserved, match="selection_variance"):
        left(POLICY_LIMIT, Question(setting, None, {}, EXACT, stated))


def test_answers_that_mislead() -> None:
    """Two rounds of one client that answers with probability 1/4: s^ = 0, 1/2, 1 for s = 1/4."""
    question = Question(answers(F(1, 4), 1), [2], numbers=EXACT, stated={"relative_error": HALF})
    assert left(RATIO_FAILURE, question).tolist() == [F(9, 16) + F(1, 16)]
    assert quantity("group_clients", question).value == 1
    assert quantity("response_probability", question).value == F(1, 4)


# What is not served.


def asked(setting: Setting, name: str, rounds: object = None, **options: object) -> object:
    return quantity(name, Question(setting, rounds, **options)).value


@pytest.mark.parametrize(("changes", "name", "rounds", "message"), [
    ({"algorithm": algorithms.fedavg(local_lr="1/10"), "federation": Quadratic.common_hessian([1, -1, -1])}, "groups",
     None, "allowed is one that weighs groups"),
    ({"algorithm": algorithms.flics_adam(groups=GROUPS, budget=1, local_lr="1/5", global_lr=1, group_weight=WEIGHT)},
     "groups", None, "plain server"),
    ({"federation": Quadratic.common_hessian([1, 0, -1], objective_weight=PHI)}, "rate_spread", 1, "share their obj"),
    ({"federation": Quadratic.common_hessian([1, -1, -1])}, "rate_spread", 1, "give the federation"),
    ({"federation": Quadratic.common_hessian([[1, 0], [0, 1], [0, 1]], [[2, 1], [1, 2]], objective_weight=PHI)},
     "rate_spread", 1, "diagonal"),
    ({"participation": participation.Uniform(2)}, "rate_spread", 1, "availability of the algorithm's groups"),
    ({"participation": participation.Bernoulli(["1/2"] * 3)}, "largest_estimate_error", 1, "goes on for ever"),
    ({"participation": participation.Bernoulli(["1/2"] * 3)}, "mean_update_length", None, "known before availability"),
    ({"participation": participation.Recorded([[1, 0, 0]], after="last")}, "largest_estimate_error", 1, "never"),
    ({}, "selection_variance", 2, "for ever"),
    ({}, "price_drift", None, "say of how many rounds"),
    ({}, "response_probability", 1, "one group"),
])  # fmt: skip
def test_what_is_not_served(changes: dict, name: str, rounds: object, message: str) -> None:
    setting = replace(named("a trace"), **changes)
    with pytest.raises(Unserved, match=message):
        asked(setting, name, rounds)


def test_branching_runs_are_followed_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedtheory.papers.flics.exact.selected_runs.LARGEST_WORK", 100)
    for changes in (
        {"participation": participation.Bernoulli(["1/2"] * 3)},
        {"algorithm": named("received").algorithm},
    ):
        with pytest.raises(Unserved, match="fewer rounds"):
            asked(replace(with_everyone(), **changes), "rate_spread", 60)
    assert asked(with_everyone(), "rate_spread", 60) > 0


def with_everyone() -> Setting:
    return replace(named("a trace"), participation=participation.Fixed([0, 1, 2]))


def test_readings_decide_what_the_lemmas_can_be_asked() -> None:
    received = named("received")
    with pytest.raises(Unserved, match="known before the answers"):
        asked(received, "mean_update_length")
    assert asked(received, "mean_update_length", reading={"counts": "planned"}) > 0
    with pytest.raises(Unserved, match="planned"):
        asked(received, "price_drift", 2)
    for functional, name in ((AGGREGATE_ERROR, "estimate_error"), (POLICY_LIMIT, "least_participation"),
                             (RATIO_FAILURE, "relative_error")):  # fmt: skip
        with pytest.raises(Unserved, match=name):
            left(functional, Question(named("a trace"), 1))
    with pytest.raises(ValueError, match="whole numbers"):
        asked(received, "rate_spread", [1, 0])
