"""Checks that a weight depends on the client's own participation in earlier rounds, and on nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from . import check_errors
from .weight_rule_inputs import Estimator, stream, tolerance

LENGTH = 6
"""Number of rounds of the longest history of one client that is tried exhaustively."""

LONG = 1000
"""Number of rounds of the history in whose every round a look-ahead is tried."""

KINDS, MANY_CLIENTS, MANY_ROUNDS = 61, 2000, 80
"""Number of distinct histories, of clients that share them, and of rounds. A leak between any two clients shows,
unless their histories agree."""

TRIES = 400
"""Number of histories that are tried in the search for a smaller example."""


def short_histories(clients: int, longest: int) -> Iterator[np.ndarray]:
    """Generate all histories (rounds, clients) of 0 and 1 with 1 to ``longest`` rounds."""
    for rounds in range(1, longest + 1):
        for entries in product((0, 1), repeat=rounds * clients):
            yield np.array(entries, np.uint8).reshape(rounds, clients)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal to rounding, as a running average and a quotient of sums are; no number is equal to
    no number."""
    rounding = max(tolerance(a), tolerance(b))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=rounding, atol=0.0, equal_nan=True))


def shrunk(history: np.ndarray, fails: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Search for a smaller history that also fails: fewer rounds and clients, more zeros.

    >>> shrunk(np.ones((9, 4), int), lambda h: h.sum() >= 2 and len(h) >= 3).tolist()
    [[0], [1], [1]]
    """
    left = TRIES

    def better(smaller: np.ndarray) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and smaller.size > 0 and fails(smaller)

    for axis in (0, 1):
        step = max(1, history.shape[axis] // 2)
        while step:
            start = 0
            while start < history.shape[axis]:
                smaller = np.delete(history, np.s_[start : start + step], axis)
                history, start = (smaller, start) if better(smaller) else (history, start + step)
            step //= 2
    for place in np.argwhere(history):
        smaller = history.copy()
        smaller[tuple(place)] = 0
        history = smaller if better(smaller) else history
    return history


def _random(rounds: int, *shape: int, share: float = 0.3) -> np.ndarray:
    """Return a random history that is the same in every call."""
    return (np.random.default_rng(rounds).random((rounds, *shape)) < share).view(np.uint8)


# Time ---------------------------------------------------------------------------------------------------------------


def no_look_ahead(rule: Estimator) -> None:
    """Check on all short histories that weights up to round t ignore participation from t on."""
    for history in [*short_histories(1, LENGTH - 1), *short_histories(2, 2)]:
        before = np.asarray(rule.batch(history))
        for t in range(len(history)):
            changed = history.copy()
            changed[t:] = 1 - changed[t:]
            after = np.asarray(rule.batch(changed))
            if not same(before[: t + 1], after[: t + 1]):
                raise check_errors.LookAheadError(before[: t + 1], after[: t + 1], changed)


def no_late_look_ahead(rule: Estimator) -> None:
    """Check on one history of ``LONG`` rounds that no weight depends on its own or a later round."""
    long = _random(LONG, 1)
    if _looks_ahead(rule, long) is not None:
        history = shrunk(long, lambda smaller: _looks_ahead(rule, smaller) is not None)
        t = _looks_ahead(rule, history)
        assert t is not None
        changed = history.copy()
        changed[t:] = 1 - changed[t:]
        before, after = (np.asarray(rule.batch(each))[: t + 1] for each in (history, changed))
        raise check_errors.LookAheadError(before, after, changed)


def _looks_ahead(rule: Estimator, history: np.ndarray) -> int | None:
    """Return the first round t such that participation from t on changes weights up to t, or None.

    Client t has the history with its rounds from t on inverted; the last client has the history unchanged.
    """
    rounds = len(history)
    flipped = np.arange(rounds)[:, None] >= np.arange(rounds + 1)  # the last client's is as it was
    weights = np.asarray(rule.batch(history[:, :1] ^ flipped.view(np.uint8)))
    seen = np.tri(rounds, rounds, 0, bool).T  # rounds up to t, for the client t
    wrong = seen & ~np.isclose(weights[:, :-1], weights[:, -1:], rtol=tolerance(weights), atol=0.0)
    found = np.flatnonzero(wrong.any(0))
    return int(found[0]) if len(found) else None


def streaming_is_batch(rule: Estimator) -> None:
    """Check that a rule gives the same weights step by step and for a whole history."""
    histories = [*short_histories(1, LENGTH), *short_histories(2, 3), *rule.absences, _random(LONG, 2)]
    for history in histories:
        streamed, batch = stream(rule.rule, history), np.asarray(rule.batch(history))
        if not same(streamed, batch):
            smaller = shrunk(history, lambda h: not same(stream(rule.rule, h), np.asarray(rule.batch(h))))
            raise check_errors.StreamingBatchError(stream(rule.rule, smaller), np.asarray(rule.batch(smaller)), smaller)


# State --------------------------------------------------------------------------------------------------------------


def leaves_nothing(rule: Estimator) -> None:
    """Check that a run changes neither its input, nor the rule, nor a state, nor another run."""
    for history in short_histories(1, 4):
        given = history.copy()
        first, second = np.array(rule.batch(given)), np.array(rule.batch(given))
        if not np.array_equal(given, history):
            raise check_errors.ChangedInputError(history, given, history)
        if not same(first, second):
            raise check_errors.MutatedStateError(first, second, history)
        if rule.rule is not None:
            _keeps_states(rule.rule, history)
    short, long = _random(9, 2), _random(200, 2, share=0.6)
    first = np.array(rule.batch(short))
    rule.batch(long)
    second = np.array(rule.batch(short))
    if not same(first, second):
        raise check_errors.StateOnTheRuleError(first, second, short)
    if rule.rule is not None:
        _in_turns(rule.rule, short)


def _keeps_states(rule: Any, history: np.ndarray) -> None:
    state = rule.init(history.shape[1:])
    for participated in history:
        kept, weights = copy.deepcopy(state), np.array(rule.weights(state))
        following = rule.step(state, participated)
        again = rule.step(kept, participated)
        if not same(weights, np.array(rule.weights(state))):
            raise check_errors.MutatedStateError(weights, np.array(rule.weights(state)), history)
        if not same(np.array(rule.weights(following)), np.array(rule.weights(again))):
            raise check_errors.MutatedStateError(rule.weights(following), rule.weights(again), history)
        state = following


def _in_turns(rule: Any, history: np.ndarray) -> None:
    """Check two runs that step in turns, the second three rounds behind the first."""
    alone = stream(rule, history)
    states, found = [rule.init(history.shape[1:])], []
    for t in range(len(history)):
        if t == 3:
            states.append(rule.init(history.shape[1:]))
        found.append(np.array(rule.weights(states[0])))
        states = [rule.step(state, history[t - 3 * i]) for i, state in enumerate(states)]
    if not same(alone, np.stack(found)):
        raise check_errors.StateOnTheRuleError(alone, np.stack(found), history)


# Others -------------------------------------------------------------------------------------------------------------


def own_history(rule: Estimator) -> None:
    """Check on all short histories of two clients that weights depend on a client's own history."""
    for history in short_histories(2, 4):
        _check_alone(rule, history)


def own_history_among_many(rule: Estimator) -> None:
    """Check with ``MANY_CLIENTS`` clients that weights depend on a client's own history."""
    _check_alone(rule, _random(MANY_ROUNDS, 40))
    kinds = _random(MANY_ROUNDS, KINDS)
    who = np.random.default_rng(0).integers(0, KINDS, MANY_CLIENTS)
    alone = np.concatenate([np.asarray(rule.batch(kinds[:, [i]])) for i in range(KINDS)], axis=1)
    together = np.asarray(rule.batch(kinds[:, who]))
    if not same(alone[:, who], together):
        client = int(np.argmin(np.isclose(alone[:, who], together, rtol=1e-5, atol=0.0).all(0)))
        raise check_errors.SharedStateError(alone[:, [who[client]]], together[:, [client]], kinds[:, [who[client]]])


def _check_alone(rule: Estimator, history: np.ndarray) -> None:
    def leaks(history: np.ndarray) -> int | None:
        together = np.asarray(rule.batch(history))
        for client in range(history.shape[1]):
            if not same(np.asarray(rule.batch(history[:, [client]])), together[:, [client]]):
                return client
        return None

    if leaks(history) is not None:
        smaller = shrunk(history, lambda h: leaks(h) is not None)
        client = leaks(smaller)
        assert client is not None
        together = np.asarray(rule.batch(smaller))[:, [client]]
        raise check_errors.SharedStateError(np.asarray(rule.batch(smaller[:, [client]])), together, smaller)


def equivariant(rule: Estimator) -> None:
    """Check that renumbering three clients renumbers their weights."""
    order = [2, 0, 1]
    for history in short_histories(3, 3):
        renumbered = np.asarray(rule.batch(history))[:, order]
        weights = np.asarray(rule.batch(history[:, order]))
        if not same(renumbered, weights):
            raise check_errors.EquivarianceError(renumbered, weights, history[:, order])


def own_replica(rule: Estimator) -> bool:
    """Whether the rule accepts histories (rounds, replicas, clients).

    Raises:
        MixedReplicasError: it accepts them, and a replica has other weights than it has alone.
    """
    for shape in ((2, 1), (2, 2), (3, 4)):
        history = _random(30, *shape)
        try:
            together = np.asarray(rule.batch(history))
        except check_errors.InvalidWeightError as error:
            raise check_errors.MixedReplicasError(error.expected, error.got, history[:8, 0]) from None
        except Exception:  # a rule for (rounds, clients) alone
            return False
        for replica in range(shape[0]):
            alone = np.asarray(rule.batch(history[:, replica]))
            if not same(alone, together[:, replica]):
                raise check_errors.MixedReplicasError(alone[:8], together[:8, replica], history[:8, replica])
    return True


def any_mask_type(rule: Estimator) -> None:
    """Check that bool, integer and float histories give the same weights or are refused."""
    history = _random(40, 3)
    expected = np.asarray(rule.batch(history))
    for kind in (bool, np.int8, np.int64, np.float32, np.float64):
        try:
            found = np.asarray(rule.batch(history.astype(kind)))
        except (TypeError, ValueError):  # refused
            continue
        if not same(expected, found):

            def both(h: np.ndarray, kind: Any = kind) -> tuple[np.ndarray, np.ndarray]:
                return np.asarray(rule.batch(h)), np.asarray(rule.batch(h.astype(kind)))

            smaller = shrunk(history, lambda h, both=both: not same(*both(h)))  # type: ignore[misc]
            one, other = both(smaller)
            raise check_errors.MaskTypeError(one, other, smaller)


def counts_of_two(rule: Estimator) -> None:
    """Check that a count of 2 is treated as 1, or as two draws, or is refused.

    As two draws, weight x count has the mean that weight x participation has.
    """
    small = _random(12, 1, share=0.5) * 2
    counts = np.random.default_rng(5).choice(np.arange(3, dtype=np.uint8), (2000, 200), p=(0.7, 0.2, 0.1))
    try:
        found, as_one, of_counts, of_ones = (
            np.asarray(rule.batch(each)) for each in (small, np.minimum(small, 1), counts, np.minimum(counts, 1))
        )
    except (TypeError, ValueError):  # refused
        return
    if same(found, as_one) and same(of_counts, of_ones):
        return
    # 0.4 draws and 0.3 participations a round; over 1000 rounds of 200 clients, means are known to some 10^-4.
    if rule.cutoff is not None or not abs(0.4 * of_counts[1000:].mean() / (0.3 * of_ones[1000:].mean()) - 1.0) < 0.01:
        raise check_errors.CountOfTwoError(as_one, found, small)
