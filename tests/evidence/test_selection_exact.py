"""Exact left sides of claims about selection, against enumeration of every client, and against the fast solvers."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

from fedtheory.functionals import (
    AGGREGATE_BIAS,
    AGGREGATE_ERROR,
    INNER_PRODUCT,
    LEAST_SQUARED_GRADIENT,
    MEAN_SQUARED_GRADIENT,
    POLICY_GAP,
    POLICY_LIMIT,
    RATIO_FAILURE,
    SCALED_INNER_PRODUCT,
    SQUARED_AGGREGATE,
    SQUARED_SELECTED_VECTOR,
)
from fedtheory.moments.evaluators import BALL, EXACT, FLOAT
from fedtheory.papers.flics.exact.policy_trace import ratio_failure
from fedtheory.papers.flics.exact.selection_evaluators import OF_RUNS
from fedtheory.papers.flics.examples.selection_settings import (
    Answers,
    PolicyTrace,
    SelectionRound,
    SelectionRun,
    State,
    Trace,
)
from fedtheory.quantities import QUANTITIES
from fedtheory.selection import offvar, online, var
from fedtheory.selection.rational import best_participation, proxy, reach, var_rates

HALF = F(1, 2)
COIN = (1, -1)


# The two selection problems, by another algorithm than that of fedtheory.selection.


def problem(seed: int) -> tuple[list[tuple[int, ...]], list[F], list[F]]:
    rng = np.random.default_rng(seed)
    groups, rounds = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    counts = [tuple(map(int, row)) for row in rng.integers(0, 4, (rounds, groups))]
    counts[0] = tuple(a + 1 for a in counts[0])
    parts = [F(int(n)) for n in rng.integers(1, 5, groups)]
    return counts, [F(int(n), 2) for n in rng.integers(1, 9, rounds)], [p / sum(parts) for p in parts]


@pytest.mark.parametrize("seed", range(40))
def test_the_slow_solvers_agree_with_the_fast_ones(seed: int) -> None:
    counts, budget, weight = problem(seed)
    floats = [float(k) for k in budget], [float(p) for p in weight]
    best = best_participation(counts, budget, weight, F(0))
    # Both are exact up to rounding of a few numbers of the order of 1.
    np.testing.assert_allclose([float(s) for s in best], offvar(counts, *floats).participation, atol=1e-12)
    history = [F(int(n), 3) for n in np.random.default_rng(seed).integers(0, 9, len(weight))]
    rates = var_rates(history, counts[0], budget[0], weight)
    fast = var(np.array([float(b) for b in history]), counts[0], floats[0][0], floats[1]).rates
    np.testing.assert_allclose([float(r) for r in rates], fast, atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_a_least_participation_that_binds(seed: int) -> None:
    counts, budget, weight = problem(seed)
    floats = [float(k) for k in budget], [float(p) for p in weight]
    least = min(best_participation(counts, budget, weight, F(0))) * F(21, 20)
    try:
        expected = offvar(counts, *floats, r_min=float(least)).participation
    except ValueError:
        with pytest.raises(ValueError, match="least_participation"):
            best_participation(counts, budget, weight, least)
    else:
        best = best_participation(counts, budget, weight, least)
        np.testing.assert_allclose([float(s) for s in best], expected, atol=1e-12)


def test_a_group_that_can_have_nothing() -> None:
    """It is refused where it has a weight, and a share below 1 is something."""
    for weight in ((HALF, HALF), (F(1, 4), F(3, 4))):
        with pytest.raises(ValueError, match="some group can take part in no round"):
            best_participation([(0, 2)], [F(1)], weight, F(0))
    assert best_participation([(0, 2)], [HALF], (F(0), F(1)), F(0)) == (0, HALF)
    assert best_participation([(2, 2)], [HALF], (HALF, HALF), F(0)) == (F(1, 4), F(1, 4))
    assert reach([(2, 2), (0, 1)], [HALF, F(3)], (0, 1)) == F(3, 4)


def test_groups_without_weight() -> None:
    one = F(1)
    assert var_rates((F(0), F(0)), (3, 3), one, (one, F(0))) == (1, 0)
    assert var_rates((F(0), F(0)), (0, 3), 2 * one, (one, F(0))) == (0, 0)
    with pytest.raises(ValueError):
        var_rates((F(0), F(0), F(0)), (3, 3), one, (one, one))
    assert best_participation([(2, 2)], [one], (one, F(0)), F(1, 4)) == (F(3, 4), F(1, 4))
    assert proxy((one, F(0)), (one, F(0))) == 1
    assert proxy((one, F(0)), (HALF, HALF)) == float("inf")


# A round: every client, every sign of every noise.

ROUND = SelectionRound(
    weight=(F(1, 3), F(2, 3)), estimate=(F(3, 4), F(5, 4)),
    states=(State(F(1, 4), (1, 2), (F(1, 3), F(4, 3))), State(F(3, 4), (1, 0), (F(1, 2), F(0)))),
    curvature=F(3, 2), centres=(F(1), F(-2)), start=F(1, 2), gradient_noise=F(1, 5), local_steps=2, local_lr=F(1, 6),
)  # fmt: skip


def trained(point: SelectionRound, group: int, signs: tuple[int, ...]) -> tuple[F, list[F], list[F]]:
    """The update, the exact gradients and the stochastic ones of a client, step by step."""
    w, exact, noisy = point.start, [], []
    for sign in signs:
        exact.append(point.curvature * (w - point.centres[group]))
        noisy.append(exact[-1] + sign * point.gradient_noise)
        w -= point.local_lr * noisy[-1]
    return w - point.start, exact, noisy


def quantities(point: SelectionRound, reading: dict[str, str]) -> dict[str, F]:
    """All that the round fixes."""
    return point.fixed(QUANTITIES) | point.round.values(QUANTITIES, reading)


def enumerated(point: SelectionRound, divided: bool) -> dict[str, F]:
    """Moments of the aggregate over every state, every set of answers and every noise."""
    sums = dict.fromkeys(["first", "second", "given"], F(0))
    all_signs = list(itertools.product(COIN, repeat=point.local_steps))
    for state in point.states:
        clients = [j for j, a in enumerate(state.availability) for _ in range(a)]
        mean = F(0)
        for answers in itertools.product((0, 1), repeat=len(clients)):
            chance = F(1)
            for j, answered in zip(clients, answers, strict=True):
                q = state.rates[j] / state.availability[j]
                chance *= q if answered else 1 - q
            who = list(itertools.compress(clients, answers))
            scale = F(1, len(who)) if divided and who else F(1)
            updates = [[trained(point, j, signs)[0] for signs in all_signs] for j in who]
            for drawn in itertools.product(*updates):
                delta = scale * sum(point.weight[j] / point.estimate[j] * d for j, d in zip(who, drawn, strict=True))
                share = chance / len(all_signs) ** len(who)
                mean += share * delta
                sums["second"] += state.probability * share * delta**2
        sums["first"] += state.probability * mean
        sums["given"] += state.probability * mean**2
    return sums


@pytest.mark.parametrize("divided", [False, True])
def test_a_round_is_what_enumeration_gives(divided: bool) -> None:
    moments = enumerated(ROUND, divided)
    reading = {"line 14": "divided" if divided else "not divided", "local gradients": "k = 0..K-1"}
    constants = {"estimate_error": HALF, "least_participation": F(1, 4)}  # epsilon^ = 3
    mean = F(0)
    for j, p in enumerate(ROUND.weight):
        updates = [trained(ROUND, j, signs)[0] for signs in itertools.product(COIN, repeat=2)]
        mean += p * sum(updates) / len(updates)
    gradient = sum(p * ROUND.curvature * (ROUND.start - c) for p, c in zip(ROUND.weight, ROUND.centres, strict=True))
    step = ROUND.local_lr * 2 * gradient
    expected = {
        AGGREGATE_BIAS: abs(moments["first"] - mean),
        AGGREGATE_ERROR: abs(moments["first"] - 4 * mean),
        INNER_PRODUCT: gradient * (moments["first"] + step),
        SCALED_INNER_PRODUCT: gradient * (moments["first"] + 3 * step),
        SQUARED_AGGREGATE: moments["second"],
    }
    for functional, value in expected.items():
        assert ROUND.round.left(functional, reading, constants) == value, functional.name
    proved = ROUND.round.left(AGGREGATE_ERROR, reading | {"factor": "epsilon^"}, constants)
    assert proved == abs(moments["first"] - 3 * mean)
    values = quantities(ROUND, reading)
    assert values["squared_mean_update"] == moments["first"] ** 2
    assert values["squared_state_update"] == moments["given"]


@pytest.mark.parametrize("first", [0, 1])
def test_local_quantities_of_a_round(first: int) -> None:
    index = "k = 1..K-1" if first else "k = 0..K-1"
    values = quantities(ROUND, {"local gradients": index})
    squares, largest = F(0), F(0)
    pairs = list(itertools.product(itertools.product(COIN, repeat=2), repeat=2))
    for signs in pairs:
        runs = [trained(ROUND, j, each) for j, each in enumerate(signs)]
        squares += sum(p * sum(run[1][first:]) for p, run in zip(ROUND.weight, runs, strict=True)) ** 2
        largest = max(largest, *(abs(g) for run in runs for g in run[2]))
    assert values["weighted_pseudogradient"] == squares / len(pairs)
    if first == 0:  # so it is where no reading says otherwise
        assert quantities(ROUND, {})["weighted_pseudogradient"] == squares / len(pairs)
    assert values["local_gradient_bound"] >= largest


def test_the_law_of_the_answers() -> None:
    values = quantities(ROUND, {})
    assert ROUND.round.participation == [F(1, 4) * F(1, 3) + F(3, 4) * HALF, F(1, 3)]
    # By hand: E S_1 S_2 = 1/4 * 1/3 * 4/3, E S_2^2 = 1/4 (2 * 2/3 * 1/3 + 16/9).
    (one, cross), (other, two) = ROUND.round.covariance
    s = ROUND.round.participation
    assert one == s[0] * (1 - s[0])
    assert cross == other == F(1, 9) - s[0] * s[1]
    assert two == F(1, 4) * (F(4, 9) + F(16, 9)) - s[1] ** 2
    y = [p / e for p, e in zip(ROUND.weight, ROUND.estimate, strict=True)]
    assert values["selection_variance"] == y[0] ** 2 * one + 2 * y[0] * y[1] * cross + y[1] ** 2 * two
    # s = (11/24, 1/3) against (3/4, 5/4), y = (4/9, 8/15), x = (-3/4, 15/4); two steps contract by (3/4)^2 = 9/16.
    by_hand = {
        "least_group_participation": F(1, 3), "largest_estimate_error": F(11, 12), "weight_mismatch": F(11, 15),
        "selection_proxy": F(16, 81) * F(11, 24) + F(64, 225) * F(1, 3),
        "mean_squared_vector": F(1, 3) * F(9, 16) + F(2, 3) * F(225, 16), "squared_mean_vector": F(9, 4) ** 2,
        "gradient_norm": F(9, 4), "dissimilarity": F(3), "weight_concentration": F(5, 9),
        "mean_update_length": F(7, 16) * (F(1, 3) * HALF + F(2, 3) * F(5, 2)), "smoothness": F(3, 2),
    }  # fmt: skip
    assert {name: values[name] for name in by_hand} == by_hand
    (x,) = ROUND.round.gradients
    selected = ROUND.round.left(SQUARED_SELECTED_VECTOR, {}, {})
    mean = sum(a * b * c for a, b, c in zip(y, s, x, strict=True))
    assert selected == mean**2 + values["vector_covariance"]


# A run: every path.


def paths(run: SelectionRun, received: bool, counted: bool, divided: bool) -> tuple[list[float], dict[str, float]]:
    """E|grad F|^2 round by round and what else a run tells, over every set of answers and every noise of one step."""
    p = [float(w) for w in run.availability.weight]
    states = [(1.0, float(run.start), [0.0] * len(p))]
    centre = sum(w * float(c) for w, c in zip(p, run.centres, strict=True))
    h, beta = float(run.curvature), float(run.initial_estimate)

    def square() -> float:
        return sum(chance * (h * (w - centre)) ** 2 for chance, w, _ in states)

    long_term = best_participation(
        run.availability.availability[-1:], run.availability.budget[-1:], run.availability.weight, F(0)
    )
    found, squares, told = states, [square()], {"bound": 0.0, "error": 0.0, "proxy": 0.0, "mismatch": 0.0}
    for t in range(1, run.rounds + 1):
        place = min(t, len(run.availability.budget)) - 1
        a, k = run.availability.availability[place], float(run.availability.budget[place])
        found = []
        for chance, w, sums in states:
            before = [(beta + s) / t for s in sums] if counted else [s / max(t - 1, 1) for s in sums]
            rates = var(np.array([(t - 1) * s for s in before]), a, k, p).rates
            clients = [j for j, n in enumerate(a) for _ in range(n)]
            for answers in itertools.product((0, 1), repeat=len(clients)):
                q = np.prod(
                    [rates[j] / a[j] if x else 1 - rates[j] / a[j] for j, x in zip(clients, answers, strict=True)]
                )
                who = list(itertools.compress(clients, answers))
                if q == 0:
                    continue
                counts = [who.count(j) for j in range(len(p))]
                after = [s + (n if received else r) for s, n, r in zip(sums, counts, rates, strict=True)]
                estimate = [(beta + s) / (t + 1) if counted else s / t for s in after]
                told["error"] = max(
                    told["error"], *(abs(float(s) - e) for s, e in zip(long_term, estimate, strict=True))
                )
                told["proxy"] += chance * q * sum(w_**2 * r / e**2 for w_, r, e in zip(p, rates, estimate, strict=True))
                told["mismatch"] += chance * q * max(abs(r / e - 1) for r, e in zip(rates, estimate, strict=True)) ** 2
                scale = 1 / len(who) if divided and who else 1
                for signs in itertools.product(COIN, repeat=len(who)):
                    delta = 0.0
                    for j, sign in zip(who, signs, strict=True):
                        gradient = h * (w - float(run.centres[j])) + sign * float(run.gradient_noise)
                        told["bound"] = max(told["bound"], abs(gradient))
                        delta -= scale * p[j] / estimate[j] * float(run.local_lr) * gradient
                    found.append((chance * q / 2 ** len(who), w + float(run.global_lr) * delta, after))
        states = found
        squares.append(square())
    return squares, told


TWO_GROUPS = SelectionRun(
    Trace((F(1, 3), F(2, 3)), ((2, 1), (1, 1)), (F(3), F(5, 4))), F(1, 2), F(2), (F(1), F(-1)), F(3, 2), F(1, 4),
    local_steps=1, rounds=3, local_lr=F(1, 10), global_lr=F(2),
)  # fmt: skip


# Starts at the optimum; rates in round 2 depend on the history in between the bounds.
FROM_OPTIMUM = SelectionRun(
    Trace((F(1, 3), F(2, 3)), ((1, 1), (2, 2)), (F(2), F(2))), F(1, 2), F(2), (F(1), F(-1)), F(-1, 3), F(0),
    local_steps=1, rounds=2, local_lr=F(1, 10), global_lr=F(2),
)  # fmt: skip


@pytest.mark.parametrize("run", [TWO_GROUPS, FROM_OPTIMUM])
@pytest.mark.parametrize(("received", "counted", "divided"), list(itertools.product((False, True), repeat=3)))
def test_a_run_is_what_every_path_gives(run: SelectionRun, received: bool, counted: bool, divided: bool) -> None:
    squares, told = paths(run, received, counted, divided)
    reading = {
        "counts": "received" if received else "planned", "start": "counted" if counted else "forgotten",
        "line 14": "divided" if divided else "not divided",
    }  # fmt: skip
    for numbers in (FLOAT, BALL):
        mean, values = run.told(MEAN_SQUARED_GRADIENT, OF_RUNS, reading, {}, numbers)
        least = run.told(LEAST_SQUARED_GRADIENT, (), reading | {"minimum": "t = 1..T"}, {}, numbers)[0]
        earlier = run.told(LEAST_SQUARED_GRADIENT, (), reading | {"minimum": "t = 0..T-1"}, {}, numbers)[0]
        # Sums of some thousand products of doubles.
        assert float(mean) == pytest.approx(sum(squares[:-1]) / run.rounds, rel=1e-11)
        assert float(least) == pytest.approx(min(squares[1:]), rel=1e-11, abs=1e-14)
        assert float(earlier) == pytest.approx(
            min(squares[:-1]), rel=1e-11, abs=1e-14
        )  # numbers of the order of 1 cancel
        assert float(values["selection_proxy"]) == pytest.approx(told["proxy"] / run.rounds, rel=1e-11)
        assert float(values["weight_mismatch"]) ** 2 == pytest.approx(
            told["mismatch"] / run.rounds, rel=1e-11, abs=1e-20
        )
        assert float(values["largest_estimate_error"]) == pytest.approx(told["error"], rel=1e-11)
        assert float(values["local_gradient_bound"]) >= told["bound"] * (1 - 1e-12)


def test_the_gradient_bound_is_attained_without_noise() -> None:
    run = SelectionRun(Trace((F(1),), ((1,),), (HALF,)), F(0), F(1), (F(0),), F(1), F(0), 1, 4, F(1, 10), F(20))
    told = paths(run, received=False, counted=False, divided=False)[1]
    values = run.told(MEAN_SQUARED_GRADIENT, OF_RUNS, {"counts": "planned"}, {}, BALL)[1]
    assert float(values["local_gradient_bound"]) == pytest.approx(told["bound"], rel=1e-12)  # |1 - 2/s|^t = 3^3
    assert told["bound"] == pytest.approx(27)


def test_a_zero_estimate_makes_the_variance_infinite() -> None:
    run = SelectionRun(Trace((F(1),), ((1,),), (HALF,)), F(1), F(1), (F(0),), F(1), F(0), 1, 2, F(1, 10), F(1))
    values = run.told(MEAN_SQUARED_GRADIENT, OF_RUNS, {"counts": "received", "start": "forgotten"}, {}, FLOAT)[1]
    assert values["selection_variance"] == float("inf")
    values = run.told(MEAN_SQUARED_GRADIENT, OF_RUNS, {"counts": "received", "start": "counted"}, {}, FLOAT)[1]
    # By hand, Sigma = 1/4: s^(1) = 1/2 or 1, s^(2) = (1 + N)/3.
    first = HALF * (4 + 1)
    rate = HALF  # Var has no choice
    second = (1 - rate) ** 2 * 9 + 2 * rate * (1 - rate) * F(9, 4) + rate**2
    assert values["selection_variance"] == pytest.approx(float((first + second) / 2 / 4), rel=1e-12)


# The policy and the best in hindsight.


@pytest.mark.parametrize("seed", range(30))
def test_the_gap_of_the_policy(seed: int) -> None:
    counts, budget, weight = problem(seed)
    point = PolicyTrace(Trace(tuple(weight), tuple(counts), tuple(budget)), len(counts))
    gap, values = point.told(POLICY_GAP, (), {}, {}, EXACT)[0], point.fixed(["price_drift"])
    floats = [float(k) for k in budget], [float(p) for p in weight]
    run = online(counts, *floats)
    assert float(gap) == pytest.approx(run.objective()[-1] - offvar(counts, *floats).objective, abs=1e-10)
    prices = (np.array(floats[1]) / run.estimate()) ** 2
    drift = prices[-1] - prices
    used = np.minimum(floats[0], np.sum(counts, axis=1))
    expected = (used * (drift.max(axis=1) - drift.min(axis=1))).mean()
    assert float(values["price_drift"]) == pytest.approx(expected, abs=1e-10)
    assert 0 <= gap <= values["price_drift"]


def limit(point: PolicyTrace, spread: str, least: F) -> F:
    return point.told(POLICY_LIMIT, (), {"sigma_T": spread}, {"least_participation": least}, EXACT)[0]


def test_the_limit_under_each_reading() -> None:
    point = PolicyTrace(Trace((F(9, 10), F(1, 10)), ((1, 1),), (F(1),)), 1)  # s* = (9/10, 1/10)
    limits = {
        spread: limit(point, spread, F(1, 20))
        for spread in ("of Corollary 1.1", "of the proof", "the policy's objective")
    }
    # sum p^2/s = 1, sum p/s = 2, and sum p^2 s (1 - s)/s^2 = 2 * 9/10 * 1/10 with s = p.
    assert limits == {"of Corollary 1.1": 1 - F(18, 100), "of the proof": 1, "the policy's objective": 0}
    held = limit(point, "the policy's objective", HALF)
    assert held == F(81, 100) / HALF + F(1, 100) / HALF - 1  # OffVar is held at (1/2, 1/2)


def test_the_limit_of_independent_clients_is_short_of_the_proxy() -> None:
    """n = 4 clients that answer with probability 1/4: Sigma = 3/4, s = 1, so that sum p^2/n = 1/4 is missing."""
    point = PolicyTrace(Trace((F(1),), ((4,),), (F(1),)), 1)
    assert limit(point, "of Corollary 1.1", HALF) == F(1, 4)


def test_a_group_that_is_late_makes_the_printed_averages_infinite() -> None:
    point = PolicyTrace(Trace((HALF, HALF), ((1, 0), (1, 1)), (F(1), F(1))), 2)
    for spread in ("of Corollary 1.1", "of the proof"):
        assert limit(point, spread, F(1, 4)) == float("inf")
    assert limit(point, "the policy's objective", F(1, 4)) == 0


# Answers.


@pytest.mark.parametrize(("clients", "rounds", "probability", "error"), [
    (1, 5, F(1, 3), F(1, 2)), (2, 3, F(1, 2), F(1, 4)), (3, 2, F(1), F(1, 10)), (1, 4, F(2, 5), F(3, 2)),
    (1, 6, F(1, 2), F(1)), (2, 2, F(0), F(1, 2)),
])  # fmt: skip
def test_how_often_answers_mislead(clients: int, rounds: int, probability: F, error: F) -> None:
    failure = F(0)
    for answers in itertools.product((0, 1), repeat=clients * rounds):
        chance = F(1)
        for answer in answers:
            chance *= probability if answer else 1 - probability
        estimate = F(sum(answers), rounds)
        inside = estimate > 0 and 1 - error <= clients * probability / estimate <= 1 + error
        failure += 0 if inside else chance
    assert ratio_failure(probability, clients * rounds, error, EXACT) == failure
    if probability > 0:  # else there is no budget
        point, known = Answers(probability, clients, rounds), {"relative_error": error}
        assert point.told(RATIO_FAILURE, (), {}, known, EXACT)[0] == failure
        expected = {"response_probability": probability, "group_clients": clients, "rounds": rounds}
        assert point.fixed(expected) == expected
