"""Exact errors are within the accuracy that they state, and never below 0: beside Fractions over few rounds, and far
away beside the operator on all entries of E z z^T, in powers of matrices of balls with 1500 binary digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from flint import arb, arb_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory import algorithms
from fedtheory.claims.balls import ball, ball_matrix, working_precision
from fedtheory.federations import Quadratic
from fedtheory.functionals import AVERAGE_GAP, AVERAGE_ITERATE_DISTANCE, AVERAGE_SQUARED_GRADIENT, FINAL_GAP
from fedtheory.moments import enclosed, expected_errors
from fedtheory.moments.enclosed import LEAST
from fedtheory.moments.expected_errors import NUMBERS, ExactErrors, enclosed_functional, errors_in_floats, exact_errors
from fedtheory.moments.linear_rounds import second_moment_map
from fedtheory.moments.round_maps import layout_of, observable_weights, rounds_of_kind
from fedtheory.participation import Bernoulli, Fixed, Markov, Participation, Phases, Uniform
from fedtheory.setting import Setting

from ..contract.table import ALGORITHMS, PROCESSES, refusal, setting

FEW, FAR = [0, 1, 2, 10], [1000, 10**6, 10**18, 2**63 - 1, 2**63, 10**25]
FIRST = ("Bernoulli", "with replacement")


# Beside Fractions -----------------------------------------------------------------------------------------------------


def within(found: ExactErrors, exact: ExactErrors) -> bool:
    """Whether floats are as near to Fractions as they say, and not below 0."""
    pairs = ((getattr(found, n), getattr(exact, n), found.accuracy[n]) for n in NUMBERS)
    return all(
        value >= 0 and abs(F(float(value)) - true) <= F(float(off)) <= max(F(2) ** -48 * true, F(LEAST))
        for row in pairs for value, true, off in zip(*row, strict=True)
    )  # fmt: skip


def compare(algorithm: str, process: str) -> bool:
    """Whether there is something to compare: moments that close, and probabilities that are known exactly."""
    this = setting(algorithm, process)
    try:
        exact = this.exact(FEW, exact=True)
    except ValueError:
        return False
    assert within(this.exact(FEW), exact), f"{algorithm}, {process}"
    return True


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_keeps_its_accuracy(algorithm: str) -> None:
    closing = [compare(algorithm, process) for process in FIRST if refusal(algorithm, process, "quadratic") is None]
    unfollowed = (
        "fedadam",
        "fedau",
        "flics",
        "fast, adaptive",
        "naive",
    )  # naive: groups that these processes do not have
    assert any(closing) != algorithm.startswith(unfollowed)


SLOW = ("Cyclic", "Markov")
"""Many states of the participants, followed jointly."""

NOT_FOLLOWED = dict.fromkeys(("RandomPatterns", "GroupChain", "Resampled"), "in no way that an exact recursion follows")
NOT_FOLLOWED["Mixture"] = "the law of its rounds' size is not known"


@pytest.mark.parametrize("process", [name for name in PROCESSES if name not in (*SLOW, *FIRST)])
def test_every_process_keeps_its_accuracy(process: str) -> None:
    for algorithm in ("fedavg", "safari"):
        exact_numbers = compare(algorithm, process)
        this = setting(algorithm, process)
        if process in NOT_FOLLOWED:
            with pytest.raises(ValueError, match=NOT_FOLLOWED[process]):
                this.exact(FEW)
        elif not exact_numbers:  # probabilities in floats, which are taken as they are
            plain, found = errors_in_floats(this, FEW), this.exact(FEW)
            np.testing.assert_allclose(found.squared_distance, plain.squared_distance, rtol=1e-13)
            assert (found.accuracy["squared_distance"] <= 2.0**-50 * found.squared_distance).all()


@pytest.mark.slow
@pytest.mark.parametrize("process", PROCESSES)
def test_every_algorithm_under_every_process(process: str) -> None:
    for algorithm in ALGORITHMS:
        if refusal(algorithm, process, "quadratic") is None and (process not in SLOW or algorithm == "fedavg"):
            compare(algorithm, process)


# Far away -------------------------------------------------------------------------------------------------------------


def scaffold(x, memory, round, *, local_lr):  # type: ignore[no-untyped-def]
    """Control variates, of which c - mean c_i never changes."""
    own, common = memory["ci"], memory["c"]
    y = x[:, None] + 0 * own
    gradient = round.gradient(y)
    y = y - local_lr * (gradient - own + common[:, None])
    change = round.present * (gradient - own)
    return x + (round.share * (y - x[:, None])).sum(1), {"ci": own + change, "c": common + change.mean(1)}


LINE = Quadratic([[1], ["1/2"], [1]], [[1], [-1], [3]])
PAIR = Quadratic([[1], ["1/2"]], [[1], [-1]])
NOISY = Quadratic([[1], ["1/2"], [1]], [[1], [-1], [3]], "1/3", server_noise="1/5")
HALF = {"local_lr": "1/10", "local_steps": 2}
SCAFFOLD = algorithms.own(scaffold, memory={"ci": "clients", "c": "vector"}, local_lr="1/20")
COINS = Bernoulli(["1/2", "1/3", 1])
SETTINGS: dict[str, Setting] = {
    name: Setting(fed, algorithm, process, start=5)
    for name, (fed, algorithm, process) in {
        "mifa": (LINE, algorithms.mifa(local_lr="1/10"), COINS),
        "fedvarp": (LINE, algorithms.fedvarp(local_lr="1/10"), COINS),
        "scaffold": (PAIR, SCAFFOLD, Uniform(1)),
        "momentum": (NOISY, algorithms.fedavgm(**HALF, momentum="1/2"), COINS),
        "mixed": (NOISY, algorithms.fast(**HALF, cohort=2, snapshot_probability="1/3"), Fixed([0])),
        "by period": (LINE, algorithms.fast(**HALF, cohort=3, snapshot_period=3), Fixed([0, 1, 2])),
        "safari": (NOISY, algorithms.safari(**HALF, client_round_probability="1/3", server_lr="1/20"), Fixed([1])),
        "to nothing": (LINE, algorithms.safari(**HALF, client_round_probability=0, server_lr="1/20"), Fixed([1])),
        "tiny steps": (NOISY, algorithms.fedavg(local_lr="1/1000000"), Uniform(2)),
        "diverging": (LINE, algorithms.fedavg(local_lr=3), Uniform(2)),
        "at the limit": (LINE, algorithms.fedavg(local_lr=2), Uniform(3)),
    }.items()
}  # fmt: skip


def power(matrix: arb_mat, exponent: int) -> arb_mat:
    """Also where the exponent is more than 2^64."""
    if exponent < 2**32:
        return matrix**exponent
    return power(matrix, exponent >> 32) ** 2**32 * matrix ** (exponent % 2**32)


def far(this: Setting, rounds: int) -> dict[str, arb]:
    """The numbers by all entries, about x*, in powers of a period's operator."""
    algorithm, layout = this.algorithm, layout_of(this)
    weights = observable_weights(this.federation, True, layout)
    state = np.array([F(0)] * layout.size, dtype=object)
    for part in layout.of_start:
        state[part] = this.exact_start - this.federation.exact_optimum
    state[-1] = F(1)
    start = np.append(np.outer(state, state).ravel(), F(0))

    def operator(place: int) -> np.ndarray:
        one = second_moment_map(rounds_of_kind(this, algorithm.kinds[place], exact=True)[0])
        column = np.full((len(one), 1), F(0), dtype=object)
        return np.block([[one, column], [weights["squared_gradient"][None], np.array([[F(1)]])]])

    first, second = ball_matrix(operator(0)), ball_matrix(operator(1))
    if algorithm.period is None:
        q = algorithm.share
        first = second = first * ball(q) + second * ball(1 - q)
    cycles, left = divmod(rounds, algorithm.period or 1)
    reached = power(second ** ((algorithm.period or 1) - 1) * first, cycles) * ball_matrix(start)
    reached = second ** (left - 1) * (first * reached) if left else reached
    values = [reached[i, 0] for i in range(len(start))]
    found = {
        name: sum((ball(w) * v for w, v in zip(row, values, strict=False)), arb(0)) for name, row in weights.items()
    }
    found["gradient_sum"] = values[-1]
    if rounds == 0:
        return found | {"later_gradient_sum": arb(0)}
    found["later_gradient_sum"] = (
        values[-1] + found["squared_gradient"] - ball(weights["squared_gradient"] @ start[:-1])
    )
    return found


def agrees(this: Setting, found: ExactErrors, bits: int = 1500) -> bool:
    """Whether every number is >= 0 and as near as it says to what ``far`` encloses."""
    for place, rounds in enumerate(found.rounds.tolist()):
        with working_precision(bits):
            for name, true in far(this, rounds).items():
                value, off = (float(row[name][place]) for row in (vars(found), found.accuracy))
                if math.isinf(value):
                    assert true > 1.7e308
                elif not (value >= 0 and abs(true - arb(value)) <= arb(off) and off <= max(2.0**-48 * value, LEAST)):
                    return False
    return True


@pytest.mark.parametrize("name", SETTINGS)
def test_far_horizons_keep_their_accuracy(name: str) -> None:
    assert agrees(SETTINGS[name], exact_errors(SETTINGS[name], FAR))


def as_said(found: ExactErrors, least: float = -math.inf) -> ExactErrors:
    """Floats that claim to be known to their last digits, and are at least so much."""
    values = {name: np.maximum(getattr(found, name), least) for name in NUMBERS}
    return replace(found, **values, accuracy={name: np.maximum(np.spacing(v), LEAST) for name, v in values.items()})


@pytest.mark.parametrize("least", [-math.inf, 0.0], ids=["about 0", "and clipped"])
@pytest.mark.parametrize("name", ["mifa", "fedvarp", "scaffold"])
def test_moments_about_zero_in_floats_are_noticed(name: str, least: float) -> None:
    """What exact errors once were: they cancel where the error vanishes; cutting off what is below 0 is no remedy."""
    assert not agrees(SETTINGS[name], as_said(errors_in_floats(SETTINGS[name], [1000, 10**6]), least))


def test_horizons_in_int64_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they once were: 2^63 is -2^63 there, and a run that does not begin stays at its start."""
    this = SETTINGS["mixed"]

    def wrapped(setting: Setting, rounds: list[int], most: int = 0) -> np.ndarray:
        return np.maximum([(r + 2**63) % 2**64 - 2**63 for r in rounds], 0)

    monkeypatch.setattr(expected_errors, "whole_rounds", wrapped)
    assert agrees(this, exact_errors(this, [2**63 - 1]))
    assert not agrees(this, replace(exact_errors(this, [2**63]), rounds=np.array([2**63], dtype=object)))


def test_a_functional_has_its_accuracy() -> None:
    """The gap, and means over either range of rounds: 1, 1/4, 1/16, ... of |grad F|^2 where x halves."""
    halving = Setting(Quadratic.common_hessian([0, 0]), algorithms.fedavg(local_lr="1/2"), Fixed([0, 1]), start=1)
    values, off = enclosed_functional(halving, FINAL_GAP, [1, 30, 10**6])
    assert values.tolist() == [1 / 8, 2.0**-61, 0.0] and off[2] == LEAST
    assert (off[:2] <= 2.0**-50 * values[:2]).all()
    found = halving.exact([1, 2, 10**18])
    for average, sums in (("r = 1..R", (F(1, 4), F(5, 16), F(1, 3))), ("r = 0..R-1", (F(1), F(5, 4), F(4, 3)))):
        values = found.functional(AVERAGE_SQUARED_GRADIENT, average)
        off = found.accuracy_of(AVERAGE_SQUARED_GRADIENT, average)
        for value, bound, total, rounds in zip(values, off, sums, (1, 2, 10**18), strict=True):
            assert abs(F(float(value)) - total / rounds) <= F(float(bound)) <= total / rounds / 2**48
    exact = halving.exact([3], exact=True)
    assert exact.accuracy_of(AVERAGE_SQUARED_GRADIENT).tolist() == [0]
    for other in (FINAL_GAP, AVERAGE_GAP, AVERAGE_ITERATE_DISTANCE):  # these are not kept
        for asked in (found.functional, found.accuracy_of):
            with pytest.raises(ValueError, match=f"functional = {other.name}: allowed are"):
                asked(other)


def test_a_mean_of_later_rounds_does_not_cancel() -> None:
    """|grad F(x_0)|^2 = 1, and 2^-80 after one round that nearly ends at x*."""
    step = 1 - F(1, 2**40)
    this = Setting(Quadratic.common_hessian([0]), algorithms.fedavg(local_lr=step), Fixed([0]), start=1)
    assert this.exact([1]).functional(AVERAGE_SQUARED_GRADIENT).tolist() == [2.0**-80]


def test_many_horizons_are_those_of_few() -> None:
    """More than are reached one after another; also of participants with a memory, and in phases."""
    rounds = [*range(300), 10**4, 10**9]
    chains = Markov(["1/2", "1/4", 1], ["1/4", "1/5", 1])
    processes: list[Participation] = [COINS, chains, Phases([[0], [2]], [2, 3], cyclic=True)]
    for this in (replace(SETTINGS["momentum"], participation=process) for process in processes):
        many, few = exact_errors(this, rounds), exact_errors(this, [7, 299, 10**9])
        for name in NUMBERS:
            at = [rounds.index(r) for r in few.rounds.tolist()]
            assert (
                abs(getattr(many, name)[at] - getattr(few, name)) <= many.accuracy[name][at] + few.accuracy[name]
            ).all()
    assert within(
        exact_errors(SETTINGS["momentum"], range(7)), exact_errors(SETTINGS["momentum"], range(7), exact=True)
    )


def test_a_dense_hessian_that_clients_share() -> None:
    """In its eigenvectors, which are irrational: enclosed. Beside its whole recursion."""
    rng = np.random.default_rng(4)
    roots = rng.integers(-3, 4, (6, 6))
    hessian = (roots @ roots.T + np.eye(6, dtype=int)).astype(int)
    hessian = [[F(int(h), 64) for h in row] for row in hessian]
    fed = Quadratic.common_hessian(rng.integers(-4, 5, (3, 6)).tolist(), hessian, gradient_noise="1/2")
    this = Setting(fed, algorithms.fedavg(local_lr="1/4", local_steps=2), Uniform(2), start=2)
    assert within(this.exact([0, 1, 4]), this.exact([0, 1, 4], exact=True))
    assert agrees(this, this.exact([10**18]), bits=600)


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_random_settings_keep_their_accuracy(data: st.DataObject) -> None:
    number = st.fractions(F(-3), F(3), max_denominator=4)
    clients = data.draw(st.integers(1, 3))
    curvatures = data.draw(st.lists(st.fractions(F(1, 4), F(2), max_denominator=4), min_size=clients, max_size=clients))
    centres = data.draw(st.lists(number, min_size=clients, max_size=clients))
    noise = data.draw(st.sampled_from([0, F(1, 2)]))
    fed = Quadratic([[h] for h in curvatures], [[c] for c in centres], noise)
    make: Callable[..., algorithms.Algorithm] = data.draw(st.sampled_from(
        [algorithms.fedavg, algorithms.mifa, algorithms.fedvarp, algorithms.afl]))  # fmt: skip
    algorithm = make(local_lr=data.draw(st.fractions(F(1, 100), F(1, 2), max_denominator=100)),
                     **({"variant": "cross_device"} if make is algorithms.afl else {}))  # fmt: skip
    chances = data.draw(st.lists(st.sampled_from([F(1, 4), F(1, 2), F(1)]), min_size=clients, max_size=clients))
    this = Setting(fed, algorithm, Bernoulli(chances), start=data.draw(number))
    assert within(this.exact([0, 1, 3, 8]), this.exact([0, 1, 3, 8], exact=True))
    horizons = data.draw(st.lists(st.integers(0, 10**18), min_size=1, max_size=2))
    assert agrees(this, this.exact(horizons))


# What is asked for ----------------------------------------------------------------------------------------------------


NONE_OF_THEM = [math.nan, math.inf, -math.inf, "10", b"10", "x", True, [1, False], -1, [3, -2], 0.5, [], [None],
                2**1024, 1j, [[1.5]], F(1, 2), np.array([np.nan]), np.array([True]), np.array(["1"])]  # fmt: skip


@pytest.mark.parametrize("rounds", NONE_OF_THEM, ids=range(len(NONE_OF_THEM)))
@pytest.mark.parametrize("how", [exact_errors, errors_in_floats])
def test_rounds_that_are_none_are_refused_by_name(how: Callable, rounds: object) -> None:
    with pytest.raises(ValueError, match="rounds"):
        how(SETTINGS["mixed"], rounds)


def test_the_most_rounds_are_no_float() -> None:
    halving = Setting(Quadratic.common_hessian([1, -1]), algorithms.fedavg(local_lr="1/2"), Fixed([0]))
    assert halving.exact([2**1024 - 1]).squared_distance.tolist() == [1.0]


def test_rounds_as_people_write_them() -> None:
    this = SETTINGS["mixed"]
    value = this.exact(10**19).squared_distance.tolist()
    for rounds in (1e19, [1e19], np.float64(1e19), np.array([1e19]), np.uint64(10**19), F(10**19), [[10**19]]):
        assert this.exact(rounds).squared_distance.tolist() == value
    with pytest.raises(
        ValueError, match=r"rounds = 9223372036854775808: allowed are whole numbers from 0 to 2\^63 - 1"
    ):
        errors_in_floats(this, 2**63)


def test_what_is_too_large_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    this = setting("fedvarp", "Fixed")  # two clients of whom something is remembered, in two dimensions
    assert this.exact([10**6]).squared_distance[0] > 0
    monkeypatch.setattr(enclosed, "MOST_WORK", 10**4)
    with pytest.raises(
        ValueError, match=r"rounds = 1000000 of a recursion of 29 numbers: enclosed are at most 29 such"
    ):
        this.exact([10**6])
    assert this.exact([29]).squared_distance[0] > 0
