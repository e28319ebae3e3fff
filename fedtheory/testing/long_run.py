"""What weights tend to: their mean against the participation probability, their variance, and whether they go on
learning.

*The statistic of a mean*, fixed before anything is drawn: for each of n clients the average of chance x weight over the
second half of the rounds, over its limit; from it the least-squares share of how often the client came in each eighth
of the rounds, whose mean is known, is taken off (a rule's error is mostly that, and where it is not, little is lost); b
is the mean over the clients minus 1, with its standard error e. A rule is refused where

    |b| > 4 / (p rounds / 2) + 6 e  and  |b| > 0.6 |b'|,

with b' the same over the second quarter: an error of up to four participations, and one that halves while time doubles,
are a beginning's and not a bias.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from . import check_errors
from .presence import KINDS, PresenceChain, bernoulli, draw
from .weight_rule_inputs import Estimator

ROUNDS, EACH = 10_000, 64
"""Of the samples of means: rounds, and clients of each kind of participation."""

TRANSIENT = 4.0
"""Participations that the beginning of a run may be off by: (t + a)/(n + b) is off by about a p + b of n."""

DEVIATIONS = 6.0
"""Standard errors. Of a right rule's mean that is more than 1 in 10^8, of 64 clients too."""

QUANTILE = 2.33
"""Standard errors beyond what is allowed: so large a bias is found with probability 0.99."""

FADING = 0.6
"""An error that falls like 1/t is 1/2 of what it was."""

DEPENDENT_AT = 0.1
"""The probability at which clients with a memory, and those that come by day, are drawn."""

BLOCKS = 8
"""Of a sample's rounds: how often a client came in each of them is taken off its mean."""

VARIANCE_ROUNDS, VARIANCE_CLIENTS = 800, 4000
"""Of the samples of variances, which are known to a few per cent."""

VARIANCE_TOLERANCE = 1.6
"""A factor. Over four times the rounds a consistent rule's variance falls to a quarter; 1.6 / 4 is allowed."""

LEAST_VARIANCE_AT = 0.3
"""With a lower probability few intervals end in the rounds of that sample."""

LEARNING = 6_000
"""Rounds after which a client changes its habits."""

Target = str | Callable[[float], float]
"""What a mean tends to: "1/p", "declared" (by the rule's ``long_run``), or a function of p."""


def check_means(
    rule: Estimator, target: Target, probabilities: Sequence[float], alike: bool, seed: int, each: int
) -> dict[str, str]:
    """Means under every kind of participation for which the limit is known; what was found out, by property.

    Args:
        alike: whether all intervals count alike; of a rule with a cutoff the limit is known otherwise only where they
            are independent.

    Raises:
        LongRunMeanError, DependentMeanError: the mean tends to something else.
    """
    chains, limits = _chains(rule, target, probabilities, alike)
    if not chains:
        return {}
    history, chances = draw(chains, each, ROUNDS, seed)
    counted = np.multiply(chances, rule.batch(history), out=chances)
    told: dict[str, str] = {}
    for i, (chain, limit) in enumerate(zip(chains, limits, strict=True)):
        columns = slice(i * each, (i + 1) * each)
        seen = _Mean(history[:, columns], counted[:, columns] / limit, chain)
        if not seen.fits:
            kind = (
                check_errors.LongRunMeanError if chain.name.startswith("Bernoulli") else check_errors.DependentMeanError
            )
            raise kind(f"{limit:.6g} within {limit * seen.allowed:.2g} under {chain.name}", f"{limit * seen.mean:.6g}")
        told[f"mean under {chain.name}"] = f"a bias of {seen.found:.1%} would be found"
    return told


def _chains(
    rule: Estimator, target: Target, probabilities: Sequence[float], alike: bool
) -> tuple[list[PresenceChain], list[float]]:
    """Kinds of participation, and what weight x participation tends to under each."""
    independent = [bernoulli(p) for p in probabilities]
    if target != "1/p":
        stated = target if callable(target) else lambda p: _declared(rule, p)
        return independent, [p * stated(p) for p in probabilities]
    if rule.known is None and rule.cutoff is None:
        independent.insert(0, bernoulli(1.0))
    longest = rule.longest
    for p, chain in zip((chain.probability for chain in independent), independent, strict=True):
        if rule.long_run is not None and not math.isclose(_declared(rule, p), chain.limit(longest) / p, rel_tol=1e-9):
            raise check_errors.LongRunMeanError(
                f"{chain.limit(longest) / p} as a weight under {chain.name}",
                f"{_declared(rule, p)} by the rule's own `long_run`",
            )
    dependent = [kind(rule.known or DEPENDENT_AT) for kind in KINDS]
    if not probabilities or not (alike or longest == math.inf):
        dependent = []
    if rule.known is not None:  # it knows p, and this p alone
        dependent = [chain for chain in dependent if math.isclose(chain.probability, rule.known, rel_tol=1e-9)]
    chains = [*independent, *dependent]
    return chains, [chain.limit(longest) for chain in chains]


def _declared(rule: Estimator, p: float) -> float:
    if rule.long_run is None:
        raise ValueError("target = 'declared': the rule has no long_run; allowed is '1/p' or a function of p")
    return float(rule.long_run(p).mean)


class _Mean:
    """The statistic of one kind of participation, see above."""

    def __init__(self, history: np.ndarray, counted: np.ndarray, chain: PresenceChain) -> None:
        p, half = chain.probability, len(history) // 2
        came = [block.mean(0) - p for block in np.array_split(history, BLOCKS)]
        self.mean, error = _adjusted(counted[half:].mean(0), *came)
        before, _ = _adjusted(counted[half // 2 : half].mean(0), *came[: BLOCKS // 2])
        self.allowed = TRANSIENT / (p * half) + DEVIATIONS * error
        self.found = self.allowed + QUANTILE * error
        bias = abs(self.mean - 1.0)
        self.fits = bias <= self.allowed or bias <= FADING * abs(before - 1.0)


def _adjusted(values: np.ndarray, *known: np.ndarray) -> tuple[float, float]:
    """The mean of ``values`` and its standard error, once their least-squares share of what has mean 0 is taken off."""
    design = np.column_stack([np.ones(len(values)), *known])
    fitted = np.linalg.lstsq(design, values, rcond=1e-9)[0]
    left = values - design @ fitted
    return float(fitted[0]), math.sqrt(float(left @ left) / (len(values) - design.shape[1]) / len(values))


def check_variance(rule: Estimator, probability: float, seed: int, clients: int) -> None:
    """The variance under Bernoulli participation against ``rule.long_run``.

    Raises:
        VarianceScaleError: it is another, or does not fall like 1/t where it is said to tend to 0.
    """
    assert rule.long_run is not None
    limit, p = rule.long_run(probability), probability
    history = (np.random.default_rng(seed).random((VARIANCE_ROUNDS, clients)) < p).view(np.uint8)
    weights = np.asarray(rule.batch(history))
    early, variance = float(weights[VARIANCE_ROUNDS // 4].var()), float(weights[-1].var())
    tolerance = _variance_tolerance(clients)
    if limit.variance > 0.0:
        wrong = not limit.variance / tolerance <= variance <= limit.variance * tolerance
        expected = f"{limit.variance} at p = {p}"
    else:
        allowed = early * tolerance / 4.0
        wrong, expected = variance > allowed + 1e-24, f"at most {allowed} after {VARIANCE_ROUNDS} rounds at p = {p}"
    if wrong:
        raise check_errors.VarianceScaleError(expected, variance)


def _variance_tolerance(clients: int) -> float:
    """That of 4000 clients, and more for fewer: a variance is known to sqrt(2/clients) of itself."""
    fewer = math.sqrt(2 / clients) - math.sqrt(2 / max(clients, VARIANCE_CLIENTS))
    return VARIANCE_TOLERANCE * (1 + DEVIATIONS * fewer)


def check_learning(rule: Estimator) -> str:
    """Whether the weight of a client that comes every 2nd round, then every 5th, goes on changing, or is that of one
    that always came every 5th; how far it was looked.

    Raises:
        StoppedLearningError: its weight stands still at something else.
    """
    rounds = np.arange(1, 2 * LEARNING + 1)
    often, seldom = rounds % 2 == 0, rounds % 5 == 0
    history = np.stack([np.where(rounds > LEARNING, seldom, often), seldom], axis=1).astype(np.uint8)
    changing, settled = np.asarray(rule.batch(history)).T
    last = changing[LEARNING + LEARNING // 2 :]
    if (last == last[0]).all() and not math.isclose(last[0], settled[-1], rel_tol=1e-5):
        raise check_errors.StoppedLearningError(
            f"weights that change, or {settled[-1]}, for one that took part in every 2nd of {LEARNING} rounds, and "
            f"from then on in every 5th",
            f"{last[0]} in the rounds {LEARNING + LEARNING // 2} to {2 * LEARNING}",
        )
    return f"up to round {LEARNING + LEARNING // 2}"
