"""Check a weight rule against what its users rely on."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from ..weights import WeightRule
from . import errors

ROUNDS, CLIENTS = 800, 4000
"""Size of a Bernoulli sample: a mean is known to 1/63 of a standard deviation, a variance to a few per cent."""

MEAN_TOLERANCE = 6.0
"""In standard errors: a right rule fails once in 10^9 seeds."""

VARIANCE_TOLERANCE = 1.6
"""A factor. Over four times the rounds a consistent rule's variance falls to a quarter; 1.6 / 4 is allowed."""

LENGTH = 6
"""All histories of up to so many rounds are tried."""

FAR = 6
"""Without a cutoff, absences of up to so many rounds are tried; with one, absences around it."""


def check_weight_estimator(
    rule: WeightRule, *, participation_probability: Sequence[float] = (0.3, 0.8), seed: int = 0
) -> tuple[str, ...]:
    """Check a weight rule: raise an error that names the first property that fails, with a small example.

    For every rule: weights are positive and finite (`InvalidWeightError`); no look-ahead (`LookAheadError`); streaming
    equals batch (`StreamingBatchError`); a run leaves nothing behind (`MutatedStateError`); clients do not share state
    (`SharedStateError`); clients may be renumbered (`EquivarianceError`); under Bernoulli participation the mean tends
    to ``rule.long_run(p).mean`` (`LongRunMeanError`), and the variance to ``rule.long_run(p).variance`` or, where that
    is 0, to 0 like 1/t (`VarianceScaleError`).

    For a rule with a ``cutoff``, which says that it averages intervals: clients that take part for the first time
    (`FirstParticipationError`), every d rounds (`IntervalResetError`), always (`AlwaysParticipantError`), never
    (`CutoffIgnoredError`, `NeverParticipantError`); bounds (`WeightBoundsError`).

    The properties of single histories are checked on all short ones and on absences around the cutoff, shortest first;
    the last two on a sample of 4000 clients over 800 rounds for each p, at fixed ``seed``.

    Args:
        rule: the rule, for any number of clients; alike for all.
        participation_probability: for the Bernoulli samples, each in (0, 1]; at least 0.1, or few intervals end.
        seed: of the sample.

    Returns:
        The names of the properties that were checked.

    Raises:
        PropertyError: the subclass named above; it is an AssertionError.
        ValueError: a probability outside [0.1, 1].

    >>> from fedtheory.weights import FedAU
    >>> len(check_weight_estimator(FedAU(cutoff=5)))
    14
    """
    for p in participation_probability:
        if not 0.1 <= p <= 1.0:
            raise ValueError(f"participation_probability = {p}: allowed is [0.1, 1]")
    # A failure of an earlier property would be taken for one of a later property.
    checks = [_valid, _leaves_nothing, _no_look_ahead, _streaming_is_batch, _own_history, _equivariant]
    if rule.cutoff is not None:
        checks += [_first, _periodic, _always, _never, _bounded]
    for check in checks:
        check(rule)
    for p in participation_probability:
        _bernoulli(rule, p, seed)
    names = [name for check in checks for name in NAMES[check]]
    return (*names, "mean under Bernoulli participation", "variance under Bernoulli participation")


def stream(rule: WeightRule, history: np.ndarray) -> np.ndarray:
    """The weights of every round, one step after the other."""
    state, weights = rule.init(history.shape[1:]), []
    for participated in history:
        weights.append(np.array(rule.weights(state)))
        state = rule.step(state, participated)
    return np.stack(weights)


def _short_histories(clients: int, longest: int) -> Iterator[np.ndarray]:
    for rounds in range(1, longest + 1):
        for entries in product((0, 1), repeat=rounds * clients):
            yield np.array(entries, np.uint8).reshape(rounds, clients)


def _absences(rule: WeightRule) -> list[int]:
    """Rounds of absence before the first participation that are worth a try."""
    if rule.cutoff is None or rule.cutoff == math.inf:
        return list(range(FAR))
    cutoff = int(rule.cutoff)
    near = {0, 1, 2, cutoff - 2, cutoff - 1, cutoff, cutoff + 1, 2 * cutoff - 1, 2 * cutoff}
    return sorted(absence for absence in near if absence >= 0)


def _first_participations(rule: WeightRule) -> Iterator[tuple[int, np.ndarray]]:
    """(s, history): absent for s rounds, there once, absent for two more rounds."""
    for absence in _absences(rule):
        history = np.zeros((absence + 3, 1), np.uint8)
        history[absence] = 1
        yield absence, history


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to rounding: a running average and a quotient of sums differ in the last digits."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-9, atol=0.0))


def _valid(rule: WeightRule) -> None:
    histories = [*_short_histories(1, LENGTH), *(h for _, h in _first_participations(rule))]
    for history in histories:
        weights = np.asarray(rule.batch(history))
        if weights.shape != history.shape or not (np.isfinite(weights) & (weights > 0)).all():
            raise errors.InvalidWeightError(f"positive numbers of shape {history.shape}", weights, history)


def _no_look_ahead(rule: WeightRule) -> None:
    for history in [*_short_histories(1, LENGTH - 1), *_short_histories(2, 2)]:
        before = np.asarray(rule.batch(history))
        for t in range(len(history)):
            changed = history.copy()
            changed[t:] = 1 - changed[t:]
            after = np.asarray(rule.batch(changed))
            if not _same(before[: t + 1], after[: t + 1]):
                raise errors.LookAheadError(before[: t + 1], after[: t + 1], changed)


def _streaming_is_batch(rule: WeightRule) -> None:
    histories = [*_short_histories(1, LENGTH), *_short_histories(2, 3), *(h for _, h in _first_participations(rule))]
    for history in histories:
        streamed, batch = stream(rule, history), np.asarray(rule.batch(history))
        if not _same(streamed, batch):
            raise errors.StreamingBatchError(streamed, batch, history)


def _leaves_nothing(rule: WeightRule) -> None:
    for history in _short_histories(1, 4):
        first, second = np.array(rule.batch(history)), np.array(rule.batch(history))
        if not _same(first, second):
            raise errors.MutatedStateError(first, second, history)
        state = rule.init(history.shape[1:])
        for participated in history:
            kept, weights = copy.deepcopy(state), np.array(rule.weights(state))
            following = rule.step(state, participated)
            again = rule.step(kept, participated)
            if not _same(weights, np.array(rule.weights(state))):
                raise errors.MutatedStateError(weights, np.array(rule.weights(state)), history)
            if not _same(np.array(rule.weights(following)), np.array(rule.weights(again))):
                raise errors.MutatedStateError(rule.weights(following), rule.weights(again), history)
            state = following


def _own_history(rule: WeightRule) -> None:
    for history in _short_histories(2, 4):
        together = np.asarray(rule.batch(history))
        for client in (0, 1):
            alone = np.asarray(rule.batch(history[:, [client]]))
            if not _same(alone, together[:, [client]]):
                raise errors.SharedStateError(alone, together[:, [client]], history)


def _equivariant(rule: WeightRule) -> None:
    order = [2, 0, 1]
    for history in _short_histories(3, 3):
        renumbered = np.asarray(rule.batch(history))[:, order]
        weights = np.asarray(rule.batch(history[:, order]))
        if not _same(renumbered, weights):
            raise errors.EquivarianceError(renumbered, weights, history[:, order])


def _always(rule: WeightRule) -> None:
    for rounds in range(1, LENGTH + 1):
        history = np.ones((rounds, 1), np.uint8)
        weights = np.asarray(rule.batch(history))
        if not _same(weights, np.ones(history.shape)):
            raise errors.AlwaysParticipantError(np.ones(history.shape), weights, history)


def _longest(rule: WeightRule) -> float:
    """The longest interval of a rule that averages intervals."""
    return math.inf if rule.cutoff is None else rule.cutoff


def _first(rule: WeightRule) -> None:
    for absence, history in _first_participations(rule):
        if absence < _longest(rule):
            weights = np.asarray(rule.batch(history))[: absence + 2]
            expected = np.ones(weights.shape)
            expected[-1] = absence + 1
            if not _same(expected, weights):
                raise errors.FirstParticipationError(expected, weights, history[: absence + 2])


def _periodic(rule: WeightRule) -> None:
    """Also at the cutoff itself: a round that is both a participation and the cutoff ends one interval."""
    periods = [absence + 1 for absence in _absences(rule) if 0 < absence < _longest(rule)]
    for period in periods:
        history = (np.arange(1, 3 * period + 2) % period == 0).astype(np.uint8)[:, None]
        expected = np.where(np.arange(len(history)) < period, 1.0, float(period))[:, None]
        weights = np.asarray(rule.batch(history))
        if not _same(expected, weights):
            raise errors.IntervalResetError(expected, weights, history)


def _never(rule: WeightRule) -> None:
    longest = _longest(rule)
    rounds = 4 * FAR if longest == math.inf else 3 * int(longest) + 1
    history = np.zeros((rounds, 1), np.uint8)
    weights = np.asarray(rule.batch(history))
    expected = np.where(np.arange(rounds) < longest, 1.0, min(longest, rounds))[:, None]
    if not _same(expected, weights):
        ignored = _same(weights, np.ones(weights.shape))
        raise (errors.CutoffIgnoredError if ignored else errors.NeverParticipantError)(expected, weights, history)


def _bounded(rule: WeightRule) -> None:
    for history in [*_short_histories(1, LENGTH), *(h for _, h in _first_participations(rule))]:
        weights = np.asarray(rule.batch(history))
        if weights.min() < 1.0 - 1e-12 or weights.max() > _longest(rule) * (1.0 + 1e-12):
            raise errors.WeightBoundsError(f"1 to {rule.cutoff}", weights, history)


def _bernoulli(rule: WeightRule, p: float, seed: int) -> None:
    limit = rule.long_run(p)
    history = (np.random.default_rng(seed).random((ROUNDS, CLIENTS)) < p).view(np.uint8)
    weights = np.asarray(rule.batch(history))
    early, late = weights[ROUNDS // 4], weights[-1]
    error = MEAN_TOLERANCE * max(float(late.std()), math.sqrt(limit.variance)) / math.sqrt(CLIENTS)
    if not abs(late.mean() - limit.mean) <= error + 1e-9 * limit.mean:
        raise errors.LongRunMeanError(f"{limit.mean} +- {error} at p = {p}", float(late.mean()))
    variance = float(late.var())
    if limit.variance > 0.0:
        wrong = not limit.variance / VARIANCE_TOLERANCE <= variance <= limit.variance * VARIANCE_TOLERANCE
        expected = f"{limit.variance} at p = {p}"
    else:
        allowed = float(early.var()) * VARIANCE_TOLERANCE / 4.0
        wrong, expected = variance > allowed + 1e-24, f"at most {allowed} after {ROUNDS} rounds at p = {p}"
    if wrong:
        raise errors.VarianceScaleError(expected, variance)


NAMES = {
    _valid: ("positive finite weights",),
    _no_look_ahead: ("no look-ahead",),
    _streaming_is_batch: ("streaming equals batch",),
    _leaves_nothing: ("nothing left behind",),
    _own_history: ("no state shared between clients",),
    _equivariant: ("permutation equivariance",),
    _always: ("always participating",),
    _first: ("first participation",),
    _periodic: ("periodic participation",),
    _never: ("never participating", "cutoff respected"),
    _bounded: ("bounded weights",),
}
"""What a check is called in the list of what was checked."""
