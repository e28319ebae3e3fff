"""Check that a weight rule's counters are wide enough, by moving its state to rounds that no test could step to."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from numbers import Real
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from . import check_errors
from .weight_rule_inputs import Estimator, tolerance

POWERS = (7, 8, 15, 16, 24, 31, 32)
"""Exponents of 2 at which integers of 8, 16 and 32 bits end and float32 stops holding every integer."""

CHECKPOINTS = (16, 32, 64)
"""Numbers of periods after which states are compared; a counter grows linearly between them."""

NEAR = 8
"""Number of periods before such a power to which the state is moved; twice as many are then stepped through."""

WALKED = 70_000
"""Number of rounds for a rule whose state cannot be moved: more than 16 bits hold."""


class Opaque(Exception):
    """Raised if a state cannot be extrapolated, as something in it neither stays nor grows linearly."""


def combined(states: Sequence[Any], made: Callable[[Sequence[Any]], Any]) -> Any:
    """Combine states of one form into one: each array or number becomes ``made(the ones at its place)``.

    Raises:
        Opaque: the states differ in something that is neither an array nor a number.

    >>> combined([{"n": 1, "w": [2.0]}, {"n": 3, "w": [2.5]}], made=max)
    {'n': 3, 'w': [2.5]}
    """
    first = states[0]

    def parts(get: Callable[[Any], Any]) -> Any:
        return combined([get(state) for state in states], made)

    if isinstance(first, np.ndarray) or (isinstance(first, Real) and not isinstance(first, bool)):
        return made(states)
    if isinstance(first, dict):
        return {key: parts(itemgetter(key)) for key in first}
    if isinstance(first, list | tuple):
        if len({len(state) for state in states}) > 1:
            raise Opaque
        members = [parts(itemgetter(i)) for i in range(len(first))]
        return type(first)(*members) if hasattr(first, "_fields") else type(first)(members)
    names = [f.name for f in fields(first)] if is_dataclass(first) else list(getattr(first, "__dict__", ()))
    if names:
        made_of = copy.copy(first)
        for name in names:
            object.__setattr__(made_of, name, parts(attrgetter(name)))
        return made_of
    if not all(type(state) is type(first) and state == first for state in states):
        raise Opaque
    return first


def carried(rule: Any, states: Sequence[Any], periods: int, typed: bool = True) -> Any:
    """Extrapolate the state to ``periods`` periods from the states after ``CHECKPOINTS``.

    Numbers that grew by a fixed amount each period go on growing; constant numbers and the weights stay. With
    ``typed``, results are cast to the type of the state, so that they overflow as the rule's own would.

    Raises:
        Opaque: a number changed in another way.
    """
    early, middle, late = CHECKPOINTS
    weights = np.asarray(rule.weights(states[-1]), float)

    def made(numbers: Sequence[Any]) -> Any:
        one, two, three = (np.asarray(number) for number in numbers)
        if three.dtype.kind == "b" or (one.shape, two.shape) != (three.shape, three.shape):
            raise Opaque
        wide = [number.astype(np.int64 if three.dtype.kind in "iu" else float) for number in (one, two, three)]
        slope = (wide[2] - wide[1]) / (late - middle)
        if np.array_equal(wide[1] - wide[0], slope * (middle - early)):
            grown = wide[2] + np.round(slope * (periods - late)).astype(wide[2].dtype)
            if not typed:
                return grown
            found = grown.astype(three.dtype)
            return found if isinstance(numbers[-1], np.ndarray) else type(numbers[-1])(found.item())
        if three.shape == weights.shape and np.array_equal(three, weights):
            return copy.deepcopy(numbers[-1])
        raise Opaque

    return combined(states, made)


def check_counters(estimator: Estimator) -> str:
    """Check that weights get no worse after many more rounds of the same participation.

    Returns:
        The range that was checked, in words.

    Raises:
        CounterError: a weight gets worse.
    """
    rule = estimator.rule
    if rule is not None:
        try:
            for spaced in {1, _spacing(estimator)}:
                _carry(rule, spaced)
            if estimator.longest == math.inf:
                _carry_absence(estimator)
        except Opaque:
            pass
        else:
            return f"counters up to 2^{POWERS[-1]}, by carrying the state there"
    _walk(estimator)
    return f"counters of up to {WALKED} rounds"


def _spacing(estimator: Estimator) -> int:
    return int(min(3, estimator.longest))


def _advanced(rule: Any, state: Any, pattern: Sequence[int], times: int) -> Any:
    for _ in range(times):
        for here in pattern:
            state = rule.step(state, np.array([here], np.uint8))
    return state


def _checkpoints(rule: Any, pattern: Sequence[int]) -> list[Any]:
    states, done, state = [], 0, rule.init((1,))
    for periods in CHECKPOINTS:
        state = _advanced(rule, state, pattern, periods - done)
        states.append(copy.deepcopy(state))
        done = periods
    # The method itself is tried where one can walk.
    there, walked = carried(rule, states, done + NEAR), _advanced(rule, state, pattern, NEAR)
    there, walked = (_advanced(rule, each, pattern, NEAR) for each in (there, walked))
    if not np.allclose(rule.weights(there), rule.weights(walked), rtol=0.1, atol=0.0):
        raise Opaque
    return states


def _carry(rule: Any, spaced: int) -> None:
    """Check that the error of a client that takes part every ``spaced`` rounds does not grow."""
    pattern = [0] * (spaced - 1) + [1]
    states = _checkpoints(rule, pattern)
    settled = np.asarray(rule.weights(states[-1]))
    allowed = abs(settled.item() - spaced) + tolerance(settled) * spaced
    for power in POWERS:
        for each in {1, spaced}:
            periods = 2**power // each - NEAR
            if periods <= CHECKPOINTS[-1]:
                continue
            state = carried(rule, states, periods)
            for more in range(1, 2 * NEAR + 1):
                state = _advanced(rule, state, pattern, 1)
                _same_counts(state, carried(rule, states, periods + more, typed=False), rule)
                weight = float(np.asarray(rule.weights(state)).item())
                if not abs(weight - spaced) <= allowed:
                    rounds = (periods + more) * spaced
                    raise check_errors.CounterError(
                        f"{settled.item()} after {rounds} rounds, 1 of every {spaced} attended", weight
                    )


def _same_counts(state: Any, expected: Any, rule: Any) -> None:
    """Check that linear counters in the state still grow linearly; the weights themselves may be rounded."""
    weights = np.asarray(rule.weights(state), float)

    def compare(numbers: Sequence[Any]) -> None:
        found, wanted = (np.asarray(number, float) for number in numbers)
        if not np.array_equal(found, wanted) and not (found.shape == weights.shape and np.array_equal(found, weights)):
            raise check_errors.CounterError(wanted.max(), found.max(), told="a count in the state")

    combined([state, expected], compare)


def _carry_absence(estimator: Estimator) -> None:
    """Check that first participations after s and s + 1 rounds make about the same weight."""
    rule = estimator.rule
    states = _checkpoints(rule, [0])
    for power in POWERS[1:]:
        absent = 2**power - NEAR
        state, found = carried(rule, states, absent), []
        for _ in range(2 * NEAR):
            found.append(float(np.asarray(rule.weights(_advanced(rule, state, [1], 1))).item()))
            state = _advanced(rule, state, [0], 1)
        _alike(estimator, absent, found)


def _alike(estimator: Estimator, absent: int, found: Sequence[float]) -> None:
    for more, weight in enumerate(found):
        expected = found[0] if estimator.cutoff is None else absent + more + 1.0
        wide = 2.0 if estimator.cutoff is None else 1.0 + tolerance(np.asarray(weight))
        if not expected / wide <= weight <= expected * wide:
            raise check_errors.CounterError(
                f"{expected} after {absent + more} rounds of absence and a participation", weight
            )


def _walk(estimator: Estimator) -> None:
    spaced = _spacing(estimator)
    rounds = np.arange(1, WALKED + 1)
    history = np.stack([np.ones(WALKED), rounds % spaced == 0], axis=1).astype(np.uint8)
    weights = np.asarray(estimator.batch(history))
    for column, expected in enumerate((1, spaced)):
        early, late = (
            abs(weights[some, column].astype(float) - expected)
            for some in (slice(WALKED // 70, WALKED // 35), slice(WALKED // 2, None))
        )
        worst = int(late.argmax())
        if not late[worst] <= early.max() + tolerance(weights) * expected:
            raise check_errors.CounterError(
                f"{expected} after {WALKED // 2 + worst} rounds, 1 of every {expected} attended",
                float(weights[WALKED // 2 + worst, column]),
            )
    if estimator.longest == math.inf:
        for power in (15, 16):
            absent = 2**power - 3
            history = np.zeros((absent + 8, 6), np.uint8)
            history[absent + np.arange(6), np.arange(6)] = 1
            weights = np.asarray(estimator.batch(history))
            _alike(estimator, absent, [float(weights[absent + i + 1, i]) for i in range(6)])
