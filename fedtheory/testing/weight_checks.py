"""Check a weight rule for the properties that its users rely on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement, permutations, product
from numbers import Integral
from typing import Any

import numpy as np

from ..rationals import checked_seed
from . import check_errors
from .counters import check_counters
from .dependence import (
    LENGTH,
    LONG,
    MANY_CLIENTS,
    any_mask_type,
    counts_of_two,
    equivariant,
    leaves_nothing,
    no_late_look_ahead,
    no_look_ahead,
    own_history,
    own_history_among_many,
    own_replica,
    same,
    short_histories,
    streaming_is_batch,
)
from .long_run import LEAST_VARIANCE_AT, VARIANCE_CLIENTS, Target, check_learning, check_means, check_variance
from .weight_rule_inputs import Estimator, accepted

PROBABILITIES = (0.02, 0.1, 0.3, 0.8)

SMALLEST_SAMPLE = 20
"""Smallest number of clients of a sample; fewer say little about mean and variance."""

INTERVALS = 4
"""Number of intervals in histories whose weights may depend on the lengths of the intervals alone."""

FAR = 6
"""Number of short absences tried for a rule without a cutoff; with a cutoff, absences around it are tried."""

OVERFLOWS = (126, 127, 128, 254, 255, 256)
"""Absences after which an interval no longer fits a small integer type."""

MANY = 300
"""Number of rounds of a client that always or never takes part; a count of them does not fit such a type either."""


class Report(tuple[str, ...]):
    """Names of the properties that were checked, in order.

    Attributes:
        how_far: by name, the range that was checked, where there is one.
    """

    how_far: dict[str, str]

    def __new__(cls, how_far: dict[str, str]) -> Report:
        made = super().__new__(cls, how_far)
        made.how_far = {name: text for name, text in how_far.items() if text}
        return made

    def __str__(self) -> str:
        return "\n".join(f"{name}: {self.how_far[name]}" if name in self.how_far else name for name in self)


def check_weight_estimator(
    rule: Any,
    target: Target = "1/p",
    *,
    participation_probability: Sequence[float] | None = None,
    seed: int = 0,
    sample_size: int = VARIANCE_CLIENTS,
) -> Report:
    """Check a weight rule: raise an error that names the first property that fails, with a small example.

    *For every rule:*

    - Weights are positive and finite (`InvalidWeightError`).
    - Weights do not depend on the present or the future (`LookAheadError`; every round up to 1000).
    - Streaming equals batch (`StreamingBatchError`).
    - A run leaves nothing behind (`MutatedStateError`, `StateOnTheRuleError`, `ChangedInputError`).
    - Nothing leaks between clients (`SharedStateError`; any two of 2000) or replicas (`MixedReplicasError`).
    - Clients may be renumbered (`EquivarianceError`).
    - Participation may come in any type (`MaskTypeError`).
    - Draws with replacement may give counts of 2 (`CountOfTwoError`).
    - Counters are wide enough (`CounterError`). A state that grows linearly is extrapolated to 2^32 rounds; otherwise
      70,000 rounds are run.
    - A rule that learns goes on learning (`StoppedLearningError`; up to round 9,000).

    *In the long run* the mean of weight x participation is 1 (`LongRunMeanError`), so that every client counts as if it
    always took part. With independent rounds the mean weight tends to 1/p. The limit is also 1 under Markov, cyclic,
    day-and-night and recorded participation (`DependentMeanError`). The report states
    for each the bias that would be found with probability 0.99, computed from the errors of the rule at hand. That is
    2% at p = 0.1 for all but very noisy rules: a noisy one is given up to 768 clients in place of 64. A correct rule
    is allowed an error of six standard errors. With a ``cutoff`` K,
    intervals end after K rounds at the latest, and the mean weight tends to their mean, E[min(S, K)]. With a
    ``long_run``, the variance is checked against it; if that is 0, the variance falls like 1/t (`VarianceScaleError`).

    *For a rule with a* ``cutoff``, which thereby states that it averages intervals:

    - The weight is right for clients that take part for the first time (`FirstParticipationError`), every d rounds
      (`IntervalResetError`), always (`AlwaysParticipantError`), or never (`CutoffIgnoredError`,
      `NeverParticipantError`).
    - A participation in the round in which the cutoff ends an interval changes nothing (`CutoffParticipationError`).
    - The weight is bounded by 1 and the cutoff (`WeightBoundsError`).
    - If the long-run variance is 0, all intervals count alike (`IntervalOrderError`).
    - If all intervals count alike, the weight is their mean (`IntervalAverageError`).

    Args:
        rule: the rule, which works for any number of clients and treats all alike. It is a `WeightRule`, an object
            with `batch` alone, or a function of a history; the last two are not streamed.
        target: the limit of the mean weight under Bernoulli participation. "1/p" is the limit above, which a
            ``long_run`` must agree with; "declared" is the mean of ``long_run``; or give a function of p. For targets
            other than "1/p" only Bernoulli participation is drawn.
        participation_probability: the probabilities of the samples, each in [0.01, 1]; dependent rounds are drawn at
            0.1. By default 0.02, 0.1, 0.3 and 0.8, or the one that the rule knows (its attribute of this name). For
            an empty sequence no sample is drawn.
        seed: the seed of the samples.
        sample_size: the number of clients of the samples of variances, at least 20; use fewer for a slow rule. Samples
            of means have 64 to 768 of them, or this number if it is smaller. A smaller sample allows larger errors of
            mean and variance.

    Returns:
        The names of the properties that were checked; the printed form adds the range that was checked.

    Raises:
        PropertyError: the subclass named above; it is an AssertionError.
        ValueError: a probability outside [0.01, 1], a sample that is too small, another target, or no such rule.

    >>> from fedtheory.weights import FedAU
    >>> len(check_weight_estimator(FedAU(cutoff=5)))
    29
    >>> check_weight_estimator(lambda history: 0 * history + 3.0)
    Traceback (most recent call last):
    fedtheory.testing.check_errors.LongRunMeanError: what a client's updates count, ... expected 1 within 0.0008 under
    Bernoulli participation with p = 1, got 3
    """
    estimator, seed = accepted(rule), checked_seed(seed)
    probabilities = _probabilities(estimator, participation_probability)
    if not isinstance(sample_size, Integral) or sample_size < SMALLEST_SAMPLE:
        raise ValueError(f"sample_size = {sample_size!r}: allowed is an integer >= {SMALLEST_SAMPLE}")
    if not callable(target) and target not in ("1/p", "declared"):
        raise ValueError(f"target = {target!r}: allowed is '1/p', 'declared' or a function of p")
    estimator = replace(estimator, absences=tuple(h for _, h in _first_participations(estimator)))
    with np.errstate(all="ignore"):  # what comes of it is looked at
        return Report(_checked(estimator, target, probabilities, seed, int(sample_size)))


def _checked(
    estimator: Estimator, target: Target, probabilities: list[float], seed: int, sample: int
) -> dict[str, str]:
    """Run the checks and return the range that was checked, by property.

    The order matters: the failure of an earlier property would be taken for that of a later one.
    """
    told: dict[str, str] = {}
    for check, names in EVERY.items():
        if check is not streaming_is_batch or estimator.rule is not None:
            check(estimator)
            told |= names
    if own_replica(estimator):
        told["replicas alone and together"] = ""
    if estimator.cutoff is not None:
        for check, names in OF_INTERVALS.items():
            if check is not _at_the_cutoff or estimator.cutoff < math.inf:
                check(estimator)
                told |= names
    alike = _intervals_count_alike(estimator)
    if alike:
        _average(estimator)
        told |= {"order of the intervals": "", "average of the intervals": ""}
    told["learning goes on"] = check_learning(estimator)
    told["wide counters"] = check_counters(estimator)
    told |= check_means(estimator, target, probabilities, alike, seed, sample)
    counts_of_two(estimator)
    told["counts of 2"] = ""
    if estimator.long_run is not None and probabilities:
        for p in [p for p in probabilities if p >= LEAST_VARIANCE_AT] or [LEAST_VARIANCE_AT]:
            check_variance(estimator, p, seed, sample)
        told["variance under Bernoulli participation"] = ""
    return told


def _probabilities(rule: Estimator, given: Sequence[float] | None) -> list[float]:
    if given is None:
        return list(PROBABILITIES) if rule.known is None else [rule.known]
    found: list[float] = np.atleast_1d(np.asarray(given, dtype=float)).tolist()
    for p in found:
        if not 0.01 <= p <= 1.0:
            raise ValueError(f"participation_probability = {p}: allowed is [0.01, 1]")
    return found


def _absences(rule: Estimator) -> list[int]:
    """Return the numbers of rounds of absence before a first participation that are worth a try."""
    if rule.longest == math.inf:
        return [*range(FAR), *OVERFLOWS]
    cutoff = int(rule.longest)
    near = {0, 1, 2, cutoff - 2, cutoff - 1, cutoff, cutoff + 1, 2 * cutoff - 1, 2 * cutoff}
    return sorted({absence for absence in near if absence >= 0} | {far for far in OVERFLOWS if far < cutoff})


def _first_participations(rule: Estimator) -> Iterator[tuple[int, np.ndarray]]:
    """Generate (s, history): absent for s rounds, present once, absent for two more rounds."""
    for absence in _absences(rule):
        history = np.zeros((absence + 3, 1), np.uint8)
        history[absence] = 1
        yield absence, history


def _valid(rule: Estimator) -> None:
    for history in [*short_histories(1, LENGTH), *rule.absences]:
        weights = np.asarray(rule.batch(history))
        if weights.shape != history.shape or not (np.isfinite(weights) & (weights > 0)).all():
            raise check_errors.InvalidWeightError(f"positive numbers of shape {history.shape}", weights, history)


def _always(rule: Estimator) -> None:
    for rounds in (*range(1, LENGTH + 1), MANY):
        history = np.ones((rounds, 1), np.uint8)
        weights = np.asarray(rule.batch(history))
        if not same(weights, np.ones(history.shape)):
            raise check_errors.AlwaysParticipantError(np.ones(history.shape), weights, history)


def _first(rule: Estimator) -> None:
    for absence, history in _first_participations(rule):
        if absence < rule.longest:
            weights = np.asarray(rule.batch(history))[: absence + 2]
            expected = np.ones(weights.shape)
            expected[-1] = absence + 1
            if not same(expected, weights):
                raise check_errors.FirstParticipationError(expected, weights, history[: absence + 2])


def _periodic(rule: Estimator) -> None:
    """Check periodic participation, also with the cutoff as the period: such a round ends one interval."""
    periods = [absence + 1 for absence in _absences(rule) if 0 < absence < rule.longest]
    for period in periods:
        history = (np.arange(1, 3 * period + 2) % period == 0).astype(np.uint8)[:, None]
        expected = np.where(np.arange(len(history)) < period, 1.0, float(period))[:, None]
        weights = np.asarray(rule.batch(history))
        if not same(expected, weights):
            raise check_errors.IntervalResetError(expected, weights, history)


def _never(rule: Estimator) -> None:
    longest = rule.longest
    rounds = MANY if longest == math.inf else max(3 * int(longest) + 1, MANY if longest > LENGTH else 0)
    history = np.zeros((rounds, 1), np.uint8)
    weights = np.asarray(rule.batch(history))
    expected = np.where(np.arange(rounds) < longest, 1.0, min(longest, rounds))[:, None]
    if not same(expected, weights):
        ignored = same(weights, np.ones(weights.shape))
        raise (check_errors.CutoffIgnoredError if ignored else check_errors.NeverParticipantError)(
            expected, weights, history
        )


def _with_intervals(lengths: Sequence[int], ended: Sequence[bool], rounds: int) -> np.ndarray:
    """Return a client's history: intervals of these lengths, each ended by a participation or else by the cutoff."""
    history = np.zeros(rounds, np.uint8)
    history[np.cumsum(lengths) - 1] = ended
    return history


def _at_the_cutoff(rule: Estimator) -> None:
    """Check that a participation in the round in which the cutoff ends an interval changes no weight."""
    cutoff = int(rule.longest)
    for lengths in product(sorted({cutoff, 1, max(1, cutoff - 1)}, reverse=True), repeat=INTERVALS):
        rounds, full = sum(lengths) + 1, [length == cutoff for length in lengths]
        ends = list(product(*((False, True) if cut else (True,) for cut in full)))
        table = np.stack([_with_intervals(lengths, ended, rounds) for ended in ends], axis=1)
        weights = np.asarray(rule.batch(table))
        for i in range(1, len(ends)):
            if not same(weights[:, :1], weights[:, [i]]):
                raise check_errors.CutoffParticipationError(weights[:, :1], weights[:, [i]], table[:, [i]])


def _intervals_count_alike(rule: Estimator) -> bool:
    """Whether a rule averages intervals, and their order changes nothing.

    Raises:
        IntervalOrderError: the order matters, though the rule states that its variance tends to 0.
    """
    if rule.cutoff is None:
        return False
    for _, table in _in_every_order(rule):
        last = np.asarray(rule.batch(table))[-1:]
        for i in range(1, table.shape[1]):
            if not same(last[:, :1], last[:, [i]]):
                if rule.long_run is not None and rule.long_run(0.5).variance == 0.0:
                    raise check_errors.IntervalOrderError(float(last[0, 0]), float(last[0, i]), table[:, [i]])
                return False
    return True


def _average(rule: Estimator) -> None:
    for lengths, table in _in_every_order(rule):
        weight, mean = float(np.asarray(rule.batch(table[:, :1]))[-1, 0]), sum(lengths) / INTERVALS
        if not same(np.array([weight]), np.array([mean])):
            raise check_errors.IntervalAverageError(mean, weight, table[:, :1])


def _in_every_order(rule: Estimator) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Generate lengths of intervals, with histories (rounds, orders) of them in every order and one more round."""
    for lengths in combinations_with_replacement(range(1, int(min(3, rule.longest)) + 1), INTERVALS):
        orders = sorted(set(permutations(lengths)))
        columns = [_with_intervals(order, [True] * INTERVALS, sum(lengths) + 1) for order in orders]
        yield lengths, np.stack(columns, axis=1)


def _bounded(rule: Estimator) -> None:
    for history in [*short_histories(1, LENGTH), *rule.absences]:
        weights = np.asarray(rule.batch(history))
        if weights.min() < 1.0 - 1e-12 or weights.max() > rule.longest * (1.0 + 1e-12):
            raise check_errors.WeightBoundsError(f"1 to {rule.cutoff}", weights, history)


EVERY: dict[Callable[[Estimator], None], dict[str, str]] = {
    leaves_nothing: {"nothing left behind": ""},
    _valid: {"positive finite weights": ""},
    no_look_ahead: {},
    own_history: {},
    equivariant: {"permutation equivariance": ""},
    own_history_among_many: {"no state shared between clients": f"any two of {MANY_CLIENTS}"},
    no_late_look_ahead: {"no look-ahead": f"in each of {LONG} rounds"},
    streaming_is_batch: {"streaming equals batch": f"over {LONG} rounds"},
    any_mask_type: {"any type of mask": ""},
}

OF_INTERVALS = {
    _first: {"first participation": ""},
    _periodic: {"periodic participation": ""},
    _always: {"always participating": ""},
    _never: {"never participating": "", "cutoff respected": ""},
    _bounded: {"bounded weights": ""},
    _at_the_cutoff: {"participation at the cutoff": ""},
}
"""Checks of rules with a cutoff, with the names of their properties."""
