"""The property kit passes right rules, and names each planted bug."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedtheory import testing
from fedtheory.testing import check_errors, check_weight_estimator, counters
from fedtheory.testing.weight_rule_inputs import stream
from fedtheory.weights import ExponentialAverage, FedAU, Intervals, KnownStatistics, LongRun, Shared

RIGHT = {
    "no cutoff": (FedAU(), {}),
    "cutoff 1": (FedAU(1), {}),
    "cutoff 2": (FedAU(2), {}),
    "cutoff 5": (FedAU(5), {}),
    "cutoff 50": (FedAU(50), {}),
    "exponential average": (ExponentialAverage(0.2), {}),
    "exponential average, cutoff": (ExponentialAverage(0.3, 4), {}),
    "last interval": (ExponentialAverage(1.0, 4), {}),
    "known statistics": (KnownStatistics(0.25), {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_pass(name):
    rule, options = RIGHT[name]
    checked = check_weight_estimator(rule, **options)
    assert len(set(checked)) == len(checked)
    assert {"no look-ahead", "replicas alone and together", "variance under Bernoulli participation"} <= {*checked}
    assert ("participation at the cutoff" in checked) == (rule.cutoff is not None and rule.cutoff < math.inf)
    assert ("average of the intervals" in checked) == isinstance(rule, FedAU)
    everywhere = rule.cutoff in (None, math.inf) or isinstance(rule, FedAU)  # where the limits are known
    assert any("Markov" in name for name in checked) == everywhere
    assert "2^32" in checked.how_far["wide counters"]


class LooksAhead(FedAU):
    """The weight of round t counts round t."""

    def batch(self, participation, dtype=np.float64):
        history = np.asarray(participation)
        return super().batch(np.concatenate([history, history[-1:]]), dtype)[1:]

    def init(self, shape):
        return super().init(shape)


class OneRoundLate(FedAU):
    """The weight of round t sees rounds before t-1 only."""

    def init(self, shape):
        return (super().init(shape), None)

    def weights(self, state):
        return super().weights(state[0])

    def step(self, state, participated):
        known, pending = state
        return (known if pending is None else super().step(known, pending), np.asarray(participated))

    def batch(self, participation, dtype=np.float64):
        return stream(self, np.asarray(participation))


class Streamed(FedAU):
    """A rule given by its step alone."""

    def batch(self, participation, dtype=np.float64):
        return stream(self, np.asarray(participation))


class CountsFromZero(Streamed):
    """An interval is one round too short."""

    def step(self, state, participated):
        length = state.running + 1
        done = (np.asarray(participated) == 1) | (length == self.cutoff)
        weight = np.where(done, (state.count * state.weight + length - 1) / (state.count + 1), state.weight)
        return Intervals(state.count + done, np.where(done, 0, length), np.maximum(weight, 0.5))


class CutoffOneLate(Streamed):
    """Intervals are cut off one round after the cutoff."""

    def step(self, state, participated):
        return FedAU(self.cutoff + 1).step(state, participated)


class CutoffIgnored(Streamed):
    """No interval is ever cut off."""

    def step(self, state, participated):
        return FedAU().step(state, participated)


class ResetForgotten(Streamed):
    """An interval goes on after it has ended."""

    def step(self, state, participated):
        length = state.running + 1
        done = (np.asarray(participated) == 1) | (length == self.cutoff)
        weight = np.where(
            done, (state.count * state.weight * (state.count > 0) + length) / (state.count + 1), state.weight
        )
        return Intervals(state.count + done, length, weight)


class ResetForgottenAtTheCutoff(Streamed):
    """Only a participation begins a new interval."""

    def step(self, state, participated):
        length = state.running + 1
        present = np.asarray(participated) == 1
        done = present | (length == self.cutoff)
        weight = np.where(
            done, (state.count * state.weight * (state.count > 0) + length) / (state.count + 1), state.weight
        )
        return Intervals(state.count + done, np.where(present, 0, length), weight)


class TwoAtTheCutoff(Streamed):
    """A participation at the cutoff counts twice: as a cutoff, and as an interval of one round."""

    def step(self, state, participated):
        present, at_cutoff = np.asarray(participated) == 1, state.running + 1 == self.cutoff
        after = super().step(state, participated)
        twice = present & at_cutoff
        weight = np.where(twice, (after.count * after.weight + 1) / (after.count + 1), after.weight)
        return Intervals(after.count + twice, after.running, weight)


class AtALaterCutoff(Streamed):
    """Right, but for a participation at the cutoff when the interval before was cut off."""

    def init(self, shape):
        return super().init(shape), np.zeros(shape, bool)

    def weights(self, state):
        return state[0].weight

    def step(self, state, participated):
        before, was_cut = state
        present, at_cutoff = np.asarray(participated) == 1, before.running + 1 == self.cutoff
        after, wrong = super().step(before, participated), present & at_cutoff & was_cut
        cut = np.where(present | at_cutoff, at_cutoff & ~present, was_cut)
        return Intervals(*(np.where(wrong, *pair) for pair in zip(self.bug(before, after), after, strict=True))), cut


class TwoAtALaterCutoff(AtALaterCutoff):
    """It counts twice."""

    def bug(self, before, after):
        return Intervals(after.count + 1, after.running, (after.count * after.weight + 1) / (after.count + 1))


class GoesOnAtALaterCutoff(AtALaterCutoff):
    """It does not begin a new interval."""

    def bug(self, before, after):
        return after._replace(running=np.ones_like(after.running))


class LostAtALaterCutoff(AtALaterCutoff):
    """It is not counted."""

    def bug(self, before, after):
        return before._replace(running=after.running)


class OverRounds(Streamed):
    """The running mean divides by the round, not by the number of intervals."""

    def init(self, shape):
        return (super().init(shape), 0)

    def weights(self, state):
        return state[0].weight

    def step(self, state, participated):
        intervals, t = state
        length = intervals.running + 1
        done = (np.asarray(participated) == 1) | (length == self.cutoff)
        share = np.where(intervals.count == 0, 1.0, 1.0 / (t + 1))
        weight = np.where(done, intervals.weight + share * (length - intervals.weight), intervals.weight)
        return Intervals(intervals.count + done, np.where(done, 0, length), weight), t + 1


class OfSmallIntegers(Streamed):
    """Lengths or counts in a small type, which starts again below."""

    def __init__(self, cutoff, kind, of):
        super().__init__(cutoff)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "of", of)

    def step(self, state, participated):
        small = {name: getattr(state, name).astype(self.kind) for name in self.of}
        return super().step(state._replace(**small), participated)


class OneStateForAll(Streamed):
    """A participation of any client ends the interval of all."""

    def step(self, state, participated):
        mask = np.asarray(participated)
        return super().step(state, np.broadcast_to(mask.max(axis=-1, keepdims=True), mask.shape))


class OneGroup(Streamed):
    """All clients share one state, as `Shared` has it: right for alike clients, but no rule of a client's own."""

    def init(self, shape):
        group = Shared(FedAU(self.cutoff), [0] * shape[-1])
        return (group, group.init(shape))

    def weights(self, state):
        return state[0].weights(state[1])

    def step(self, state, participated):
        return (state[0], state[0].step(state[1], participated))


class DoublesOnes(Streamed):
    """From the third interval on, a weight of 1 is doubled."""

    def weights(self, state):
        return np.where((state.count > 2) & (state.weight == 1.0), 2.0, state.weight)


class RemembersRuns(FedAU):
    """Each run starts where the last one ended."""

    def __init__(self, cutoff):
        super().__init__(cutoff)
        object.__setattr__(self, "kept", None)

    def batch(self, participation, dtype=np.float64):
        history, weights = np.asarray(participation), []
        state = self.init(history.shape[1:])
        if self.kept is not None and self.kept.weight.shape == state.weight.shape:
            state = self.kept
        for participated in history:
            weights.append(state.weight)
            state = self.step(state, participated)
        object.__setattr__(self, "kept", state)
        return np.stack(weights)


class OverwritesItsState(Streamed):
    """`step` changes the state it is given."""

    def step(self, state, participated):
        after = super().step(state, participated)
        for old, new in zip(state, after, strict=True):
            old[...] = new
        return state


class KeepsStateOnItself(Streamed):
    """`step` goes on from where the rule was last, not from the state it is given."""

    def init(self, shape):
        object.__setattr__(self, "own", super().init(shape))
        return self.own

    def step(self, state, participated):
        object.__setattr__(self, "own", super().step(self.own, participated))
        return self.own


class BatchWithoutTheCutoff(FedAU):
    def batch(self, participation, dtype=np.float64):
        return FedAU().batch(participation, dtype)


class PlaceMatters(Streamed):
    """The first of three clients counts double."""

    def weights(self, state):
        shape = state.weight.shape
        return state.weight * np.where(np.arange(shape[-1]) == 2, 2.0, 1.0) if shape else state.weight


class SaysTheWrongMean(FedAU):
    def long_run(self, participation_probability):
        return LongRun(1.0 / participation_probability, 0.0)


class SaysTheWrongVariance(ExponentialAverage):
    def long_run(self, participation_probability):
        return LongRun(super().long_run(participation_probability).mean, 0.0)


class LessSteadyThanItSays(ExponentialAverage):
    """Half the smoothing would be needed."""

    def long_run(self, participation_probability):
        return ExponentialAverage(self.smoothing / 2, self.cutoff).long_run(participation_probability)


class SteadierThanItSays(ExponentialAverage):
    """Twice the declared smoothing would be needed."""

    def long_run(self, participation_probability):
        return ExponentialAverage(2 * self.smoothing, self.cutoff).long_run(participation_probability)


class Negative(Streamed):
    def weights(self, state):
        return state.weight - 1.0


def ratio(history):
    """Rounds over participations, with one of each added: right, with no cutoff and no limits said."""
    before = np.cumsum(history, axis=0, dtype=float) - history
    return (np.arange(len(history)).reshape(-1, *[1] * (history.ndim - 1)) + 1) / (before + 1)


class Ratio:
    """The same by its steps."""

    def init(self, shape):
        return {"rounds": 0, "seen": np.zeros(shape, np.int64)}

    def weights(self, state):
        return (state["rounds"] + 1) / (state["seen"] + 1)

    def step(self, state, participated):
        return {"rounds": state["rounds"] + 1, "seen": state["seen"] + (np.asarray(participated) > 0)}


class RatioOf(Ratio):
    """Counts in another type."""

    def __init__(self, kind):
        self.kind = kind

    def step(self, state, participated):
        after = super().step(state, participated)
        return after | {"seen": after["seen"].astype(self.kind)}


class RoundsOnTheRule(Ratio):
    """Each step of any run is a round of all."""

    rounds = 0

    def init(self, shape):
        self.rounds = 0
        return np.zeros(shape)

    def weights(self, state):
        return (self.rounds + 1) / (state + 1)

    def step(self, state, participated):
        self.rounds += 1
        return state + (np.asarray(participated) > 0)


class RemembersTheLongest(Ratio):
    """What the longest run so far has seen is kept."""

    longest = 0

    def weights(self, state):
        self.longest = max(self.longest, state["rounds"])
        return super().weights(state) * (1 + (self.longest > 100))


class Leaks(Ratio):
    """The client 37 gets a bit of the client 11."""

    def weights(self, state):
        weights = np.array(super().weights(state))
        if weights.ndim and weights.shape[-1] > 37:
            weights[..., 37] = weights[..., 11]
        return weights


class Hashed(Ratio):
    """Only so many clients have a state of their own."""

    def step(self, state, participated):
        mask = np.array(participated) > 0
        beyond = mask.shape[-1] - 1000 if mask.ndim else 0
        if beyond > 0:
            mask[..., 1000:] |= mask[..., :beyond]
        return super().step(state, mask)


def looks_ahead_late(history):
    """In the rounds 700 to 703 alone, by one round."""
    weights = ratio(history)
    weights[700:703] = weights[701:704]
    return weights


class Stops(Ratio):
    """Learns nothing more after 5000 rounds."""

    def step(self, state, participated):
        return super().step(state, participated) if state["rounds"] < 5000 else state


def changes_its_input(history):
    weights = ratio(history)
    history[...] = 0
    return weights


def mixes_replicas(history):
    weights = ratio(history)
    return np.broadcast_to(weights.mean(1, keepdims=True), weights.shape) if history.ndim == 3 else weights


def negates(history):
    """~ of a bool is another thing than of an integer."""
    absent = (~np.asarray(history)).astype(np.uint8) & 1
    return ratio(1 - absent) if history.dtype.kind in "bu" else ratio(history * 0)


def ones_alone(history):
    """Who is drawn twice was not there."""
    return ratio((history == 1).astype(np.uint8))


class WholeNumbers(Streamed):
    def weights(self, state):
        return np.floor(state.weight)


def clipped(history):
    return np.minimum(ratio(history), 20.0)


def memoryless(history):
    """1 over the share of the rounds after an absence in which the client is there: right for independent rounds."""
    away = np.vstack([np.ones_like(history[:1]), 1 - history[:-1]]).astype(float)
    came, chances = (np.cumsum(each, axis=0) - each for each in (away * history, away))
    return (chances + 1) / (came + 1)


def of_even_rounds(history):
    """Rounds over participations, of every second round: wrong for whoever comes in the others."""
    return (
        ratio(np.asarray(history) * (np.arange(len(history)) % 2 == 0).reshape(-1, *[1] * (np.ndim(history) - 1))) / 2
    )


class SaysNothing(Streamed):
    def long_run(self, participation_probability):
        return None


PLANTED = {
    "some rounds only": (of_even_rounds, "DependentMeanError"),
    "half precision": (lambda history: ratio(history).astype(np.float16), "InvalidWeightError"),
    "no weights": (lambda history: None, "InvalidWeightError"),
    "one weight for all": (lambda history: np.ones((len(history), 1)), "InvalidWeightError"),
    "no number before a participation": (
        lambda history: np.where(ratio(history) == np.arange(1, len(history) + 1)[:, None], np.nan, ratio(history)),
        "InvalidWeightError",
    ),
    "look-ahead": (LooksAhead(4), "LookAheadError"),
    "off by one: late": (OneRoundLate(4), "FirstParticipationError"),
    "off by one: length": (CountsFromZero(4), "FirstParticipationError"),
    "off by one: cutoff": (CutoffOneLate(4), "NeverParticipantError"),
    "cutoff ignored": (CutoffIgnored(4), "CutoffIgnoredError"),
    "cutoff 50 ignored": (CutoffIgnored(50), "CutoffIgnoredError"),
    "reset forgotten": (ResetForgotten(4), "IntervalResetError"),
    "reset forgotten at the cutoff": (ResetForgottenAtTheCutoff(4), "WeightBoundsError"),
    "a participation at the cutoff counts twice": (TwoAtTheCutoff(4), "FirstParticipationError"),
    "twice at a later cutoff, 20": (TwoAtALaterCutoff(20), "CutoffParticipationError"),
    "twice at a later cutoff, 50": (TwoAtALaterCutoff(50), "CutoffParticipationError"),
    "goes on at a later cutoff, 20": (GoesOnAtALaterCutoff(20), "CutoffParticipationError"),
    "goes on at a later cutoff, 50": (GoesOnAtALaterCutoff(50), "CutoffParticipationError"),
    "lost at a later cutoff, 20": (LostAtALaterCutoff(20), "CutoffParticipationError"),
    "lost at a later cutoff, 50": (LostAtALaterCutoff(50), "CutoffParticipationError"),
    "a mean over rounds, 2": (OverRounds(2), "IntervalOrderError"),
    "a mean over rounds, 3": (OverRounds(3), "IntervalOrderError"),
    "a mean over rounds, 5": (OverRounds(5), "IntervalOrderError"),
    "lengths of 8 bits": (OfSmallIntegers(math.inf, np.int8, ["running"]), "InvalidWeightError"),
    "lengths of 8 bits, no sign": (OfSmallIntegers(math.inf, np.uint8, ["running"]), "InvalidWeightError"),
    "lengths of 8 bits, cutoff": (OfSmallIntegers(200, np.int8, ["running"]), "InvalidWeightError"),
    "counts of 8 bits": (OfSmallIntegers(5, np.int8, ["count"]), "AlwaysParticipantError"),
    "leaked state: clients": (OneStateForAll(4), "SharedStateError"),
    "leaked state: a group": (OneGroup(4), "SharedStateError"),
    "leaked state: runs": (RemembersRuns(4), "MutatedStateError"),
    "leaked state: overwritten": (OverwritesItsState(4), "MutatedStateError"),
    "leaked state: kept on the rule": (KeepsStateOnItself(4), "MutatedStateError"),
    "always": (DoublesOnes(4), "AlwaysParticipantError"),
    "another batch": (BatchWithoutTheCutoff(4), "StreamingBatchError"),
    "place matters": (PlaceMatters(4), "EquivarianceError"),
    "wrong mean": (SaysTheWrongMean(4), "LongRunMeanError"),
    "consistency claimed": (SaysTheWrongVariance(0.3, 4), "IntervalOrderError"),
    "wrong variance": (LessSteadyThanItSays(0.5, 4), "VarianceScaleError"),
    "wrong variance, less": (SteadierThanItSays(0.5, 4), "VarianceScaleError"),
    "not positive": (Negative(4), "InvalidWeightError"),
    "twice": (lambda history: 2 * ratio(history), "LongRunMeanError"),
    "three": (lambda history: 0 * history + 3.0, "LongRunMeanError"),
    "2% too much": (lambda history: 1.02 * ratio(history), "LongRunMeanError"),
    "clipped, without a cutoff": (clipped, "LongRunMeanError"),
    "right for independent rounds": (memoryless, "DependentMeanError"),
    "counts of 16 bits": (RatioOf(np.int16), "CounterError"),
    "counts of 16 bits, no sign": (RatioOf(np.uint16), "CounterError"),
    "counts of 32 bits": (RatioOf(np.int32), "CounterError"),
    "counts of float32": (RatioOf(np.float32), "CounterError"),
    "lengths of 16 bits": (OfSmallIntegers(math.inf, np.int16, ["running"]), "CounterError"),
    "counts of 16 bits, cutoff": (OfSmallIntegers(5, np.int16, ["count"]), "CounterError"),
    "state on the rule": (RoundsOnTheRule(), "MutatedStateError"),
    "state on the rule, of long runs": (RemembersTheLongest(), "StateOnTheRuleError"),
    "a leak between two of many": (Leaks(), "SharedStateError"),
    "clients beyond the thousandth": (Hashed(), "SharedStateError"),
    "look-ahead in round 700": (looks_ahead_late, "LookAheadError"),
    "stops late": (Stops(), "StoppedLearningError"),
    "changes its input": (changes_its_input, "ChangedInputError"),
    "mixes replicas": (mixes_replicas, "MixedReplicasError"),
    "bool is another type": (negates, "MaskTypeError"),
    "counts of 2 are absences": (ones_alone, "CountOfTwoError"),
    "whole numbers": (WholeNumbers(4), "IntervalAverageError"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_each_planted_bug_is_named(name):
    rule, expected = PLANTED[name]
    with pytest.raises(testing.PropertyError) as caught:
        check_weight_estimator(rule)
    assert type(caught.value).__name__ == expected, caught.value
    assert caught.value.what in str(caught.value)
    if caught.value.history is not None:
        assert caught.value.history.ndim == 2 and str(caught.value).count("expected") == 1
        assert caught.value.history.size <= 500 or "LookAhead" in expected, caught.value.history.shape


def test_an_error_shows_a_small_example():
    with pytest.raises(testing.CutoffIgnoredError) as caught:
        check_weight_estimator(CutoffIgnored(2))
    assert str(caught.value) == (
        "after `cutoff` rounds of absence the weight of a client that never took part is `cutoff`, not 1 for the "
        "participation [0, 0, 0, 0, 0, 0, 0]: expected [1., 1., 2., 2., 2., 2., 2.], got [1., 1., 1., 1., 1., 1., 1.]"
    )
    assert caught.value.history.tolist() == [[0]] * 7


class OfNoType:
    """A rule by its three steps, of no class of ours."""

    cutoff = 4

    def __init__(self):
        self.rule = FedAU(4)

    def init(self, shape):
        return self.rule.init(shape)

    def weights(self, state):
        return self.rule.weights(state)

    def step(self, state, participated):
        return self.rule.step(state, participated)


class OfBatch:
    """A rule of whole histories alone."""

    cutoff = 4

    def batch(self, history):
        return FedAU(4).batch(history)


SINGLE = {"first participation", "periodic participation", "always participating", "participation at the cutoff"}


def test_a_rule_may_be_steps_a_batch_or_a_function():
    by_steps, by_batch = check_weight_estimator(OfNoType()), check_weight_estimator(OfBatch())
    by_function = check_weight_estimator(ratio)
    assert "streaming equals batch" in by_steps and "streaming equals batch" not in by_batch + by_function
    for checked in (by_steps, by_batch, by_function):  # limits are asked for where none are said
        assert "no look-ahead" in checked and sum("mean under" in name for name in checked) >= 8
    assert {*by_steps} & {*by_batch} >= SINGLE and not SINGLE & {*by_function}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda history: LooksAhead(4).batch(history), "LookAheadError"),
        (lambda history: -np.ones(history.shape), "InvalidWeightError"),
        (lambda history: np.ones(3), "InvalidWeightError"),
    ],
)
def test_bugs_of_functions_are_named(rule, expected):
    with pytest.raises(testing.PropertyError) as caught:
        check_weight_estimator(rule)
    assert type(caught.value).__name__ == expected


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (FedAU, r"rule = FedAU is a class: allowed is an instance of it, such as FedAU\(\)"),
        (OfBatch, "rule = OfBatch is a class"),
        (3.0, "rule = 3.0: allowed is a WeightRule, an object with `batch` or"),
        (None, "rule = None: allowed is a WeightRule"),
        (SaysNothing(4), r"long_run\(p\) is None: allowed is what has mean and variance"),
        (type("Half", (), {"init": None, "step": len})(), "rule = .*Half.*: allowed is a WeightRule"),
    ],
)
def test_what_is_no_rule_is_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        check_weight_estimator(rule)


def test_what_was_not_checked_is_not_listed():
    checked = check_weight_estimator(FedAU(4), participation_probability=())
    assert not any("under" in name for name in checked)
    few = check_weight_estimator(FedAU(4), participation_probability=0.5)
    named = [name for name in few if "under" in name]
    assert named[0] == "mean under Bernoulli participation with p = 0.5" and len(named) == 6
    assert named[-1] == "variance under Bernoulli participation"
    check_weight_estimator(SaysTheWrongMean(4), participation_probability=())


class Counted(FedAU):
    """How many weights it was asked for."""

    asked = 0

    def batch(self, participation, dtype=np.float64):
        Counted.asked += np.size(participation)
        return super().batch(participation, dtype)


def test_a_slow_rule_is_checked_on_a_smaller_sample():
    asked = {}
    for size in (50, 4000):
        Counted.asked = 0
        check_weight_estimator(Counted(4), sample_size=size, participation_probability=(0.3, 0.8))
        asked[size] = Counted.asked
    means, variances = (2 + 4) * 10_000 * (64 - 50), 2 * 800 * (4000 - 50)
    assert asked[4000] - asked[50] == means + variances
    for size in (200, 4000):
        with pytest.raises(testing.LongRunMeanError):
            check_weight_estimator(SaysTheWrongMean(4), sample_size=size)
    for size in (19, 0, 50.5, "many"):
        with pytest.raises(ValueError, match=r"sample_size = .*: allowed is an integer >= 20"):
            check_weight_estimator(FedAU(4), sample_size=size)


def test_a_cutoff_may_be_a_whole_float():
    assert FedAU(cutoff=5.0) == FedAU(5) and isinstance(FedAU(cutoff=5.0).cutoff, int)
    assert check_weight_estimator(FedAU(cutoff=np.float64(5.0))) == check_weight_estimator(FedAU(5))
    for cutoff in (5.5, 0.0, -3.0, math.nan, -math.inf):
        with pytest.raises(ValueError, match=r"cutoff = .*: allowed is an integer >= 1"):
            FedAU(cutoff=cutoff)


@pytest.mark.parametrize("p", [0.0, 0.005, 1.5, math.nan])
def test_samples_need_participants(p):
    with pytest.raises(ValueError, match=r"participation_probability = .*: allowed is \[0.01, 1\]"):
        check_weight_estimator(FedAU(), participation_probability=[p])


def test_what_there_is():
    for name in testing.__all__:
        assert getattr(testing, name).__name__ == name
    named = {name for name, kind in vars(check_errors).items() if isinstance(kind, type) and name.endswith("Error")}
    assert named <= {*testing.__all__}
    with pytest.raises(AttributeError, match="nothing"):
        _ = testing.nothing


def test_what_a_state_counts_is_compared_and_weights_in_it_are_not():
    class Rule:
        def weights(self, state):
            return state["weights"]

    grown = {"count": np.array([4.0, 5.0, 6.0]), "weights": np.array([0.3, 0.2, 0.1])}
    counters._same_counts(grown, grown | {"weights": grown["weights"] * (1 + 1e-12)}, Rule())
    for changed in (np.array([4.0, 5.0, 7.0]), np.array([4.0])):
        expected = grown | {"count": 2 * changed}
        with pytest.raises(check_errors.CounterError):
            counters._same_counts(grown | {"count": changed}, expected, Rule())
