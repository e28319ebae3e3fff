"""Weight rules: Algorithm 2 of FedAU as printed, worked sequences, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtheory.testing import participation_arrays
from fedtheory.weights import CutoffGeometric, ExponentialAverage, FedAU, KnownStatistics, Shared

CUTOFFS = st.one_of(st.integers(1, 6), st.just(math.inf))


def algorithm_2(participated: list[int], cutoff: float, smoothing: Fraction | None = None) -> list[Fraction]:
    """Lines 1 to 11 as printed, for one client, in exact arithmetic; ``smoothing`` replaces the average of line 7."""
    count, running, weight = 0, 0, Fraction(1)
    weights = [weight]
    for t in range(1, len(participated)):
        running += 1
        if participated[t - 1] == 1 or running == cutoff:
            length = running
            if count == 0:
                weight = Fraction(length)
            elif smoothing is None:
                weight = (count * weight + length) / (count + 1)
            else:
                weight = (1 - smoothing) * weight + smoothing * length
            count += 1
            running = 0
        weights.append(weight)
    return weights


def stepped(rule, history: np.ndarray) -> np.ndarray:
    state, weights = rule.init(history.shape[1:]), []
    for participated in history:
        weights.append(rule.weights(state))
        state = rule.step(state, participated)
    return np.stack(weights)


@settings(max_examples=150, deadline=None)
@given(participation_arrays(max_rounds=20, max_replicas=2), CUTOFFS)
def test_step_and_batch_are_algorithm_2_to_the_last_bit(history, cutoff):
    printed = np.empty(history.shape)
    for column in np.ndindex(history.shape[1:]):
        printed[:, *column] = [float(w) for w in algorithm_2(list(history[:, *column]), cutoff)]
    rule = FedAU(cutoff)
    assert (rule.batch(history) == printed).all()
    assert (stepped(rule, history) == printed).all()
    assert (rule.batch(history, np.float32) == printed.astype(np.float32)).all()


@settings(max_examples=100, deadline=None)
@given(participation_arrays(max_rounds=20, max_clients=2), CUTOFFS, st.sampled_from(["1/4", "1/2", "1"]))
def test_the_exponential_average_is_algorithm_2_with_another_line_7(history, cutoff, smoothing):
    printed = [algorithm_2(list(column), cutoff, Fraction(smoothing)) for column in history.T]
    weights = ExponentialAverage(float(Fraction(smoothing)), cutoff).batch(history)
    # smoothing is a power of 1/2 and there are at most 20 rounds: every operation is exact in float64
    assert (weights == np.array(printed, float).T).all()


WORKED = {
    "round t sees rounds before t only": (math.inf, "0010", [1, 1, 1, 3]),
    "the first weight is 1": (1, "1", [1]),
    "absence counts from round 0": (math.inf, "00001", [1, 1, 1, 1, 1]),
    "absent clients update at the cutoff": (3, "0000000", [1, 1, 1, 3, 3, 3, 3]),
    "a participation at the cutoff is one interval": (3, "00100100", [1, 1, 1, 3, 3, 3, 3, 3]),
    "after a cutoff an interval begins anew": (2, "00010", [1, 1, 2, 2, 2]),
    "one round after the cutoff is an interval of 1": (2, "00100", [1, 1, 2, 1.5, 1.5]),
    "an average of intervals": (math.inf, "10010", [1, 1, 1, 1, 2]),
    "cutoff 1: every interval is one round": (1, "01001", [1, 1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", WORKED)
def test_worked_sequences(name):
    cutoff, history, weights = WORKED[name]
    participated = np.array([int(c) for c in history])
    assert FedAU(cutoff).batch(participated).tolist() == weights
    assert stepped(FedAU(cutoff), participated).tolist() == weights


def test_the_state_is_three_numbers_a_client_and_is_not_changed():
    rule = FedAU(cutoff=3)
    state = rule.init((2,))
    kept = [field.copy() for field in state]
    after = rule.step(state, np.array([0, 1]))
    assert len(state) == 3 and all((a == b).all() for a, b in zip(state, kept, strict=True))
    assert after.count.tolist() == [0, 1] and after.running.tolist() == [1, 0] and after.weight.tolist() == [1, 1]


def test_many_clients_in_blocks_are_the_same_as_one_by_one():
    """More clients than one block, and an uneven last block."""
    history = (np.random.default_rng(1).random((30, 2, 20_001)) < 0.3).astype(np.uint8)
    weights = FedAU(4).batch(history)
    some = np.r_[0:3, 16_380:16_390, 19_998:20_001]
    assert (weights[:, :, some] == FedAU(4).batch(history[:, :, some])).all()
    assert weights.shape == history.shape


def test_long_runs_lose_no_integer():
    """After 2^14 rounds the product count * weight still gives back the covered rounds."""
    history = (np.random.default_rng(2).random((2**14, 3)) < 0.1).astype(np.uint8)
    streamed, batch = stepped(FedAU(50), history), FedAU(50).batch(history)
    assert (streamed == batch).all()


def test_masks_may_be_bool_uint8_int_or_float():
    history = np.array([[0, 1], [1, 0], [0, 0]])
    expected = FedAU(2).batch(history).tolist()
    for dtype in (bool, np.uint8, np.int64, np.float64):
        assert FedAU(2).batch(history.astype(dtype)).tolist() == expected
    assert FedAU(2).batch(history.astype(np.uint8)[:, ::-1]).tolist() == [row[::-1] for row in expected]


@settings(max_examples=60, deadline=None)
@given(participation_arrays(max_rounds=8, max_clients=4), CUTOFFS, st.data())
def test_a_group_runs_algorithm_2_on_its_interleaved_history(history, cutoff, data):
    clients = history.shape[1]
    groups = data.draw(st.lists(st.integers(0, 1), min_size=clients, max_size=clients))
    rule = Shared(FedAU(cutoff), groups)
    weights = rule.batch(history)
    for label in set(groups):
        members = [i for i in range(clients) if groups[i] == label]
        stream = [*history[:, members].ravel(), 0]
        printed = algorithm_2(stream, cutoff)[:: len(members)][: len(history)]
        assert (weights[:, members] == np.array(printed, float)[:, None]).all()


def test_groups_of_one_are_the_rule_itself():
    history = (np.random.default_rng(3).random((40, 2, 3)) < 0.3).astype(np.uint8)
    assert (Shared(FedAU(5), [2, 0, 1]).batch(history) == FedAU(5).batch(history)).all()


def test_a_shared_state_learns_from_clients_that_take_part_once():
    """Twenty alike clients, each seen once in 20 rounds: on its own each would say 1; together they say 20."""
    history = np.eye(20, dtype=np.uint8)
    weights = Shared(FedAU(), [0] * 20).batch(np.vstack([history, history]))
    assert weights[-1, 0] == pytest.approx(20, rel=0.06)  # 20 +- the offset of the last member in its round


def test_the_long_run_of_the_exponential_average():
    """Far from the start omega = sum_j a (1-a)^j S_j over the latest intervals, which are independent."""
    for a in (0.1, 0.5, 1.0):
        limit, interval = ExponentialAverage(a, cutoff=4).long_run(0.3), CutoffGeometric(0.3, 4)
        squares = sum((a * (1 - a) ** j) ** 2 for j in range(2000))
        assert limit.mean == interval.mean()
        assert limit.variance == pytest.approx(interval.var() * squares, rel=1e-12)
    assert FedAU(4).long_run(0.3) == (CutoffGeometric(0.3, 4).mean(), 0.0)


def test_known_statistics():
    weights = KnownStatistics([0.5, 0.25]).batch(np.ones((3, 4, 2)))
    assert weights.shape == (3, 4, 2) and (weights == [2.0, 4.0]).all()
    assert KnownStatistics(0.5).batch(np.ones((2, 3))).tolist() == [[2.0] * 3] * 2


PAIR = Shared(FedAU(), [0, 1])

REFUSED = {
    "cutoff 0": (lambda: FedAU(0), r"cutoff = 0: allowed is an integer >= 1, or math.inf"),
    "negative": (lambda: FedAU(-3), r"cutoff = -3"),
    "fraction": (lambda: FedAU(2.5), r"cutoff = 2.5"),
    "a fraction": (lambda: FedAU(2.5), r"cutoff = 2.5"),
    "a bool": (lambda: FedAU(True), r"cutoff = True"),
    "nan": (lambda: FedAU(math.nan), r"cutoff = nan"),
    "minus infinity": (lambda: FedAU(-math.inf), r"cutoff = -inf"),
    "two": (lambda: FedAU(2).batch(np.array([0, 2, 1])), r"participation has the entry 2: allowed are 0 and 1"),
    "uint8 two": (lambda: FedAU(2).batch(np.array([[0, 2]], np.uint8)), r"participation has the entry 2"),
    "a count below 0": (lambda: FedAU(2).batch(np.array([0, -1])), r"entry -1"),
    "not a number": (lambda: FedAU(2).batch(np.array([0.0, np.nan])), r"entry nan"),
    "a half": (lambda: FedAU(2).step(FedAU(2).init((1,)), np.array([0.5])), r"entry 0.5"),
    "strings": (lambda: FedAU(2).batch(np.array(["0", "1"])), r"dtype <U1"),
    "no round": (lambda: FedAU(2).batch(np.zeros((0, 3))), r"shape \(0, 3\).*at least one round"),
    "no axis": (lambda: FedAU(2).batch(np.array(1)), r"at least one round"),
    "dtype": (lambda: FedAU(2).batch(np.zeros((2, 3)), np.int32), r"dtype = int32: allowed are float64 and float32"),
    "smoothing 0": (lambda: ExponentialAverage(0.0), r"smoothing = 0.0: allowed is \(0, 1\]"),
    "smoothing nan": (lambda: ExponentialAverage(math.nan), r"smoothing = nan"),
    "smoothing 2": (lambda: ExponentialAverage(2.0), r"smoothing = 2.0"),
    "smoothing text": (lambda: ExponentialAverage("a"), r"smoothing = 'a'"),
    "average shape": (lambda: ExponentialAverage(1).step(ExponentialAverage(1).init((2,)), [1]), r"shape \(1,\)"),
    "known shape": (lambda: KnownStatistics(0.5).step(KnownStatistics(0.5).init((2,)), [1]), r"shape \(1,\)"),
    "one round of others": (lambda: FedAU().step(FedAU().init((2,)), [[1, 0]]), r"participated has shape \(1, 2\)"),
    "average cutoff": (lambda: ExponentialAverage(0.5, cutoff=0), r"cutoff = 0"),
    "average mask": (lambda: ExponentialAverage(0.5).batch(np.array([3])[None]), r"entry 3"),
    "p 0": (lambda: KnownStatistics([0.5, 0.0]), r"participation_probability\[1\] = .*0.*never takes part"),
    "p above 1": (lambda: KnownStatistics(1.5), r"participation_probability = .*1.5"),
    "no p": (lambda: KnownStatistics([]), r"participation_probability is empty"),
    "p shape": (lambda: KnownStatistics([0.5, 0.5]).init((3,)), r"shape \(2,\)"),
    "known mask": (lambda: KnownStatistics(0.5).batch(np.array([[7]])[:, 0].repeat(2)), r"entry 7"),
    "no label": (lambda: Shared(FedAU(), []), r"groups = \[\]"),
    "labels": (lambda: Shared(FedAU(), [0.5]), r"groups = \[0.5\]"),
    "group clients": (lambda: PAIR.step(PAIR.init((2,)), np.zeros(3)), r"shape \(3,\): allowed are 2 clients"),
    "group shape": (lambda: Shared(FedAU(), [0, 1]).batch(np.zeros((2, 3))), r"groups has 2 labels"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_input_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_float32_refuses_more_rounds_than_it_can_count():
    history = np.zeros((2**24 + 1, 0), np.uint8)
    with pytest.raises(ValueError, match="16777217 rounds"):
        FedAU(2).batch(history, np.float32)
    assert FedAU(2).batch(history).shape == history.shape
