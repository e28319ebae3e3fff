"""Check a weight rule against what its users rely on."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from numbers import Integral
from typing import Any

import numpy as np

from ..rationals import checked_seed
from . import check_errors
from .weight_rule_inputs import Estimator, accepted, stream

ROUNDS, CLIENTS = 800, 4000
"""Size of a Bernoulli sample: a mean is known to 1/63 of a standard deviation, a variance to a few per cent."""

MEAN_TOLERANCE = 6.0
"""In standard errors: a right rule fails once in 10^9 seeds."""

VARIANCE_TOLERANCE = 1.6
"""A factor. Over four times the rounds a consistent rule's variance falls to a quarter; 1.6 / 4 is allowed."""

SMALLEST_SAMPLE = 20
"""Clients: of fewer neither mean nor variance says much."""

INTERVALS = 4
"""Intervals of a history whose weights may depend on their lengths alone."""

LENGTH = 6
"""All histories of up to so many rounds are tried."""

FAR = 6
"""Without a cutoff, absences of up to so many rounds are tried; with one, absences around it."""

OVERFLOWS = (126, 127, 128, 254, 255, 256)
"""Absences after which an interval no longer fits a small integer type."""

MANY = 300
"""Rounds of a client that always takes part, or never does: counts of intervals do not fit such a type either."""


def check_weight_estimator(
    rule: Any, *, participation_probability: Sequence[float] = (0.3, 0.8), seed: int = 0, sample_size: int = CLIENTS
) -> tuple[str, ...]:
    """Check a weight rule: raise an error that names the first property that fails, with a small example.

    For every rule: weights are positive and finite (`InvalidWeightError`); no look-ahead (`LookAheadError`); streaming
    equals batch (`StreamingBatchError`); a run leaves nothing behind (`MutatedStateError`); clients do not share state
    (`SharedStateError`); clients may be renumbered (`EquivarianceError`); under Bernoulli participation the mean tends
    to ``rule.long_run(p).mean`` (`LongRunMeanError`), and the variance to ``rule.long_run(p).variance`` or, where that
    is 0, to 0 like 1/t (`VarianceScaleError`).

    For a rule with a ``cutoff``, which says that it averages intervals: clients that take part for the first time
    (`FirstParticipationError`), every d rounds (`IntervalResetError`), always (`AlwaysParticipantError`), never
    (`CutoffIgnoredError`, `NeverParticipantError`), or just when the cutoff ends an interval anyway
    (`CutoffParticipationError`); bounds (`WeightBoundsError`); and, if its long-run variance is 0, all intervals count
    alike (`IntervalOrderError`).

    The properties of single histories are checked on all short ones and on absences around the cutoff and beyond 128
    and 256 rounds; mean and variance on a sample over 800 rounds for each p, at fixed ``seed``.

    Args:
        rule: the rule, for any number of clients; alike for all. A `WeightRule`; or an object with `batch` alone, or
            a function of a history: then it is not streamed. One without `long_run` has no limits to be checked.
        participation_probability: for the Bernoulli samples, each in (0, 1]; at least 0.1, or few intervals end. With
            none no sample is drawn.
        seed: of the sample.
        sample_size: clients of the sample, at least 20; fewer for a slow rule. What mean and variance may be off by
            grows accordingly.

    Returns:
        The names of the properties that were checked.

    Raises:
        PropertyError: the subclass named above; it is an AssertionError.
        ValueError: a probability outside [0.1, 1], a sample that is too small, or no such rule.

    >>> from fedtheory.weights import FedAU
    >>> len(check_weight_estimator(FedAU(cutoff=5)))
    16
    >>> check_weight_estimator(lambda history: history.cumsum(axis=0) + 1.0)
    Traceback (most recent call last):
    fedtheory.testing.check_errors.LookAheadError: the weight of round t depends on rounds before t only ...
    """
    probabilities = np.atleast_1d(np.asarray(participation_probability, dtype=float)).tolist()
    for p in probabilities:
        if not 0.1 <= p <= 1.0:
            raise ValueError(f"participation_probability = {p}: allowed is [0.1, 1]")
    if not isinstance(sample_size, Integral) or sample_size < SMALLEST_SAMPLE:
        raise ValueError(f"sample_size = {sample_size!r}: allowed is an integer >= {SMALLEST_SAMPLE}")
    estimator, seed = accepted(rule), checked_seed(seed)
    # A failure of an earlier property would be taken for one of a later property.
    checks = [_valid, _leaves_nothing, _no_look_ahead, _streaming_is_batch, _own_history, _equivariant]
    if estimator.rule is None:
        checks.remove(_streaming_is_batch)
    if estimator.cutoff is not None:
        checks += [_first, _periodic, _always, _never, _bounded]
        checks += [_at_the_cutoff] if estimator.cutoff < math.inf else []
    for check in checks:
        check(estimator)
    sampled = probabilities if estimator.long_run is not None else []
    for p in sampled:
        _bernoulli(estimator, p, seed, int(sample_size))
    if estimator.cutoff is not None and _consistent(estimator):
        _order(estimator)
        checks.append(_order)
    return (*(name for check in checks for name in NAMES[check]), *(SAMPLED if sampled else ()))


def _short_histories(clients: int, longest: int) -> Iterator[np.ndarray]:
    for rounds in range(1, longest + 1):
        for entries in product((0, 1), repeat=rounds * clients):
            yield np.array(entries, np.uint8).reshape(rounds, clients)


def _absences(rule: Estimator) -> list[int]:
    """Rounds of absence before the first participation that are worth a try."""
    if rule.longest == math.inf:
        return [*range(FAR), *OVERFLOWS]
    cutoff = int(rule.longest)
    near = {0, 1, 2, cutoff - 2, cutoff - 1, cutoff, cutoff + 1, 2 * cutoff - 1, 2 * cutoff}
    return sorted({absence for absence in near if absence >= 0} | {far for far in OVERFLOWS if far < cutoff})


def _first_participations(rule: Estimator) -> Iterator[tuple[int, np.ndarray]]:
    """(s, history): absent for s rounds, there once, absent for two more rounds."""
    for absence in _absences(rule):
        history = np.zeros((absence + 3, 1), np.uint8)
        history[absence] = 1
        yield absence, history


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to rounding: a running average and a quotient of sums differ in the last digits."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-9, atol=0.0))


def _valid(rule: Estimator) -> None:
    histories = [*_short_histories(1, LENGTH), *(h for _, h in _first_participations(rule))]
    for history in histories:
        weights = np.asarray(rule.batch(history))
        if weights.shape != history.shape or not (np.isfinite(weights) & (weights > 0)).all():
            raise check_errors.InvalidWeightError(f"positive numbers of shape {history.shape}", weights, history)


def _no_look_ahead(rule: Estimator) -> None:
    for history in [*_short_histories(1, LENGTH - 1), *_short_histories(2, 2)]:
        before = np.asarray(rule.batch(history))
        for t in range(len(history)):
            changed = history.copy()
            changed[t:] = 1 - changed[t:]
            after = np.asarray(rule.batch(changed))
            if not _same(before[: t + 1], after[: t + 1]):
                raise check_errors.LookAheadError(before[: t + 1], after[: t + 1], changed)


def _streaming_is_batch(rule: Estimator) -> None:
    histories = [*_short_histories(1, LENGTH), *_short_histories(2, 3), *(h for _, h in _first_participations(rule))]
    for history in histories:
        streamed, batch = stream(rule.rule, history), np.asarray(rule.batch(history))
        if not _same(streamed, batch):
            raise check_errors.StreamingBatchError(streamed, batch, history)


def _leaves_nothing(rule: Estimator) -> None:
    for history in _short_histories(1, 4):
        first, second = np.array(rule.batch(history)), np.array(rule.batch(history))
        if not _same(first, second):
            raise check_errors.MutatedStateError(first, second, history)
        if rule.rule is not None:
            _keeps_states(rule.rule, history)


def _keeps_states(rule: Any, history: np.ndarray) -> None:
    state = rule.init(history.shape[1:])
    for participated in history:
        kept, weights = copy.deepcopy(state), np.array(rule.weights(state))
        following = rule.step(state, participated)
        again = rule.step(kept, participated)
        if not _same(weights, np.array(rule.weights(state))):
            raise check_errors.MutatedStateError(weights, np.array(rule.weights(state)), history)
        if not _same(np.array(rule.weights(following)), np.array(rule.weights(again))):
            raise check_errors.MutatedStateError(rule.weights(following), rule.weights(again), history)
        state = following


def _own_history(rule: Estimator) -> None:
    for history in _short_histories(2, 4):
        together = np.asarray(rule.batch(history))
        for client in (0, 1):
            alone = np.asarray(rule.batch(history[:, [client]]))
            if not _same(alone, together[:, [client]]):
                raise check_errors.SharedStateError(alone, together[:, [client]], history)


def _equivariant(rule: Estimator) -> None:
    order = [2, 0, 1]
    for history in _short_histories(3, 3):
        renumbered = np.asarray(rule.batch(history))[:, order]
        weights = np.asarray(rule.batch(history[:, order]))
        if not _same(renumbered, weights):
            raise check_errors.EquivarianceError(renumbered, weights, history[:, order])


def _always(rule: Estimator) -> None:
    for rounds in (*range(1, LENGTH + 1), MANY):
        history = np.ones((rounds, 1), np.uint8)
        weights = np.asarray(rule.batch(history))
        if not _same(weights, np.ones(history.shape)):
            raise check_errors.AlwaysParticipantError(np.ones(history.shape), weights, history)


def _first(rule: Estimator) -> None:
    for absence, history in _first_participations(rule):
        if absence < rule.longest:
            weights = np.asarray(rule.batch(history))[: absence + 2]
            expected = np.ones(weights.shape)
            expected[-1] = absence + 1
            if not _same(expected, weights):
                raise check_errors.FirstParticipationError(expected, weights, history[: absence + 2])


def _periodic(rule: Estimator) -> None:
    """Also at the cutoff itself: a round that is both a participation and the cutoff ends one interval."""
    periods = [absence + 1 for absence in _absences(rule) if 0 < absence < rule.longest]
    for period in periods:
        history = (np.arange(1, 3 * period + 2) % period == 0).astype(np.uint8)[:, None]
        expected = np.where(np.arange(len(history)) < period, 1.0, float(period))[:, None]
        weights = np.asarray(rule.batch(history))
        if not _same(expected, weights):
            raise check_errors.IntervalResetError(expected, weights, history)


def _never(rule: Estimator) -> None:
    longest = rule.longest
    rounds = MANY if longest == math.inf else max(3 * int(longest) + 1, MANY if longest > LENGTH else 0)
    history = np.zeros((rounds, 1), np.uint8)
    weights = np.asarray(rule.batch(history))
    expected = np.where(np.arange(rounds) < longest, 1.0, min(longest, rounds))[:, None]
    if not _same(expected, weights):
        ignored = _same(weights, np.ones(weights.shape))
        raise (check_errors.CutoffIgnoredError if ignored else check_errors.NeverParticipantError)(
            expected, weights, history
        )


def _with_intervals(lengths: Sequence[int], ended: Sequence[bool], rounds: int) -> np.ndarray:
    """One client's history: intervals of these lengths, each ended by a participation or else by the cutoff."""
    history = np.zeros(rounds, np.uint8)
    history[np.cumsum(lengths) - 1] = ended
    return history


def _at_the_cutoff(rule: Estimator) -> None:
    """Intervals of the same lengths have the same weights, whether the client was there when the cutoff ended one."""
    cutoff = int(rule.longest)
    for lengths in product(sorted({cutoff, 1, max(1, cutoff - 1)}, reverse=True), repeat=INTERVALS):
        rounds, full = sum(lengths) + 1, [length == cutoff for length in lengths]
        ends = list(product(*((False, True) if cut else (True,) for cut in full)))
        table = np.stack([_with_intervals(lengths, ended, rounds) for ended in ends], axis=1)
        weights = np.asarray(rule.batch(table))
        for i in range(1, len(ends)):
            if not _same(weights[:, :1], weights[:, [i]]):
                raise check_errors.CutoffParticipationError(weights[:, :1], weights[:, [i]], table[:, [i]])


def _consistent(rule: Estimator) -> bool:
    return rule.long_run is not None and rule.long_run(0.5).variance == 0.0


def _order(rule: Estimator) -> None:
    longest = 3 if rule.longest == math.inf else min(3, int(rule.longest))
    for lengths in product(range(1, longest + 1), repeat=INTERVALS):
        rounds = sum(lengths) + 1
        table = np.stack(
            [_with_intervals(order, [True] * INTERVALS, rounds) for order in permutations(lengths)], axis=1
        )
        last = np.asarray(rule.batch(table))[-1:]
        for i in range(1, table.shape[1]):
            if not _same(last[:, :1], last[:, [i]]):
                raise check_errors.IntervalOrderError(float(last[0, 0]), float(last[0, i]), table[:, [i]])


def _bounded(rule: Estimator) -> None:
    for history in [*_short_histories(1, LENGTH), *(h for _, h in _first_participations(rule))]:
        weights = np.asarray(rule.batch(history))
        if weights.min() < 1.0 - 1e-12 or weights.max() > rule.longest * (1.0 + 1e-12):
            raise check_errors.WeightBoundsError(f"1 to {rule.cutoff}", weights, history)


def _bernoulli(rule: Estimator, p: float, seed: int, clients: int) -> None:
    assert rule.long_run is not None
    limit = rule.long_run(p)
    history = (np.random.default_rng(seed).random((ROUNDS, clients)) < p).view(np.uint8)
    weights = np.asarray(rule.batch(history))
    early, late = weights[ROUNDS // 4], weights[-1]
    error = MEAN_TOLERANCE * max(float(late.std()), math.sqrt(limit.variance)) / math.sqrt(clients)
    if not abs(late.mean() - limit.mean) <= error + 1e-9 * limit.mean:
        raise check_errors.LongRunMeanError(f"{limit.mean} +- {error} at p = {p}", float(late.mean()))
    variance, tolerance = float(late.var()), _variance_tolerance(clients)
    if limit.variance > 0.0:
        wrong = not limit.variance / tolerance <= variance <= limit.variance * tolerance
        expected = f"{limit.variance} at p = {p}"
    else:
        allowed = float(early.var()) * tolerance / 4.0
        wrong, expected = variance > allowed + 1e-24, f"at most {allowed} after {ROUNDS} rounds at p = {p}"
    if wrong:
        raise check_errors.VarianceScaleError(expected, variance)


def _variance_tolerance(clients: int) -> float:
    """That of 4000 clients, and more for fewer: a variance is known to sqrt(2/clients) of itself."""
    return VARIANCE_TOLERANCE * (1 + MEAN_TOLERANCE * (math.sqrt(2 / clients) - math.sqrt(2 / max(clients, CLIENTS))))


SAMPLED = ("mean under Bernoulli participation", "variance under Bernoulli participation")

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
    _at_the_cutoff: ("participation at the cutoff",),
    _order: ("order of the intervals",),
}
"""What a check is called in the list of what was checked."""
