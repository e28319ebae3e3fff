"""Long-run checks of weights: their mean against the participation probability, their variance, and their learning.

*The statistic of a mean* is fixed before anything is drawn. For each of n clients, average chance x weight over the
second half of the rounds, and divide by its limit. How often the client took part in each eighth of the rounds has a
known mean, so its least-squares contribution is subtracted. (Most of a rule's error is of this kind; where it is not,
little is lost.) The bias b is the mean over the clients minus 1, with its standard error e. A rule is refused if

    |b| > 4 / (p rounds / 2) + 6 e  and  |b| > 0.6 |b'|,

where b' is the bias over the second quarter of the rounds. An error of up to four participations, or one that halves
while time doubles, belongs to the beginning of a run and is no bias. Where participation is a pattern without chance,
this holds of each client by itself, with e = 0: a rule that looks at some rounds only is right in the mean of all
offsets, and wrong for each of them. A bias that falls, but by less than 0.6, is judged in runs of 4 and 16 times the
rounds: (t + 100)/(n + 100) is right, and far from it in the first 10,000 rounds if p = 0.02.

*What a report says of its power* is computed from the rule's own e and e' (see `detected`), as rules differ. Where a
bias of 2% might be missed at a probability of 0.1 or more, a larger sample is drawn, of up to twelve times the clients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from . import check_errors
from .presence import KINDS, PresenceChain, bernoulli, draw
from .weight_rule_inputs import Estimator

ROUNDS, EACH = 10_000, 64
"""Number of rounds of the samples of means, and of clients for each kind of participation."""

TRANSIENT = 4.0
"""Number of participations by which the beginning of a run may be off: (t + a)/(n + b) is off by about a p + b of n."""

DEVIATIONS = 6.0
"""Number of standard errors allowed. Beside 55 degrees of freedom, of 64 clients, Student's t exceeds it with
probability 2e-7."""

CHANCE, QUANTILE = 0.99, 2.576
"""Probability with which a bias that a report names is found; and the standard normal quantile of 0.995, as two things
may hide a bias, each with half of what is left."""

WANTED, LARGEST = 0.02, 12
"""Bias that is to be found at ``DEPENDENT_AT`` and above, and how many times the clients are drawn for it at most."""

FADING = 0.6
"""Share of an earlier error that may be left when time has doubled; an error that falls like 1/t has 1/2 left."""

DEPENDENT_AT = 0.1
"""Participation probability at which rounds that depend on each other, or differ, are drawn."""

FALLING, LONGER = 0.9, (4, 16)
"""Share of an earlier error up to which a bias still falls, so that it is judged over so many times the rounds."""

BLOCKS = 8
"""Number of blocks of a sample's rounds; how often a client took part in each block is regressed out of its mean."""

VARIANCE_ROUNDS, VARIANCE_CLIENTS = 800, 4000
"""Number of rounds and clients of the samples of variances, which give a variance to a few per cent."""

VARIANCE_TOLERANCE = 1.6
"""Factor allowed for a variance. Over four times the rounds a consistent rule's falls to 1/4; 1.6 / 4 is allowed."""

LEAST_VARIANCE_AT = 0.3
"""Lowest probability at which variances are sampled; below it few intervals end in the rounds of the sample."""

LEARNING = 6_000
"""Number of rounds after which a client changes its habits."""

Target = str | Callable[[float], float]
"""Limit of the mean weight: "1/p", "declared" (by the rule's ``long_run``), or a function of p."""


def check_means(
    rule: Estimator, target: Target, probabilities: Sequence[float], alike: bool, seed: int, clients: int
) -> dict[str, str]:
    """Check the long-run mean under every kind of participation for which its limit is known.

    Args:
        alike: whether all intervals count alike. If not, the limit for a rule with a cutoff is known only for
            independent intervals.
        clients: the number of clients of a sample at most.

    Returns:
        By name of the property, the smallest bias that would be found with probability ``CHANCE``.

    Raises:
        LongRunMeanError, DependentMeanError: the mean tends to something else.
    """
    chains, limits = _chains(rule, target, probabilities, alike)
    if not chains:
        return {}
    told: dict[str, str] = {}
    for chain, limit, seen in zip(chains, limits, samples(rule, chains, limits, seed, clients), strict=True):
        if not seen.fits:
            kind = (
                check_errors.LongRunMeanError if chain.name.startswith("Bernoulli") else check_errors.DependentMeanError
            )
            raise kind(f"{limit:.6g} within {limit * seen.allowed:.2g} under {chain.name}", f"{limit * seen.mean:.6g}")
        told[f"mean under {chain.name}"] = seen.power()
    return told


def samples(
    rule: Estimator, chains: Sequence[PresenceChain], limits: Sequence[float], seed: int, clients: int
) -> Iterator[Mean]:
    """Generate the statistic for each chain: of ``EACH`` clients, or of more where these might miss a bias, and of
    more rounds where a bias falls too slowly to be judged."""
    each = min(EACH, clients)
    history, chances = draw(chains, each, ROUNDS, seed)
    counted = np.multiply(chances, rule.batch(history), out=chances)
    for i, (chain, limit) in enumerate(zip(chains, limits, strict=True)):
        columns = slice(i * each, (i + 1) * each)
        seen = Mean(history[:, columns], counted[:, columns] / limit, chain)
        more = min(seen.clients_for(WANTED), clients)
        if seen.fits and more > each and chain.probability > DEPENDENT_AT - 1e-9:
            again, probable = draw([chain], more, ROUNDS, (seed, more))
            seen = Mean(again, np.multiply(probable, rule.batch(again), out=probable) / limit, chain)
        for times in LONGER:
            if seen.fits or not seen.falls:
                break
            again, probable = draw([chain], each, times * ROUNDS, (seed, times))
            seen = Mean(again, np.multiply(probable, rule.batch(again), out=probable) / limit, chain)
        yield seen


def _chains(
    rule: Estimator, target: Target, probabilities: Sequence[float], alike: bool
) -> tuple[list[PresenceChain], list[float]]:
    """Return the kinds of participation, and the limit of weight x participation under each."""
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


class Mean:
    """Statistic of a mean, as the module defines it, for one kind of participation.

    Attributes:
        clients: the number of clients of the sample.
        beginning: the error that is allowed to the beginning of a run.
        mean, error, earlier_error: the mean, 1 without bias; its standard error, and that over the second quarter.
        allowed: the largest bias that is no bias; ``fits`` says whether it is kept, or the bias fades, and ``falls``
            whether it might fade in a longer run.
    """

    def __init__(self, history: np.ndarray, counted: np.ndarray, chain: PresenceChain) -> None:
        p, half = chain.probability, len(history) // 2
        came = [block.mean(0) - p for block in np.array_split(history, BLOCKS)]
        self.clients, self.beginning = history.shape[1], TRANSIENT / (p * half)
        self.mean, self.error = _adjusted(counted[half:].mean(0), *came)
        before, self.earlier_error = _adjusted(counted[half // 2 : half].mean(0), *came[: BLOCKS // 2])
        self.allowed = self.beginning + DEVIATIONS * self.error
        bias = abs(self.mean - 1.0)
        self.fits = bias <= self.allowed or bias <= FADING * abs(before - 1.0)
        self.falls = bias <= FALLING * abs(before - 1.0)
        if np.isin(chain.chance, (0.0, 1.0)).all():
            own, earlier = (
                np.abs(counted[rounds].mean(0) - 1.0) for rounds in (slice(half, None), slice(half // 2, half))
            )
            wrong = own - np.maximum(self.beginning, FADING * earlier)
            if wrong.max() > 0.0:
                worst = int(wrong.argmax())
                self.fits, self.allowed, self.falls = (
                    False,
                    self.beginning,
                    bool(own[worst] <= FALLING * earlier[worst]),
                )
                self.mean = float(counted[half:, worst].mean())

    def detected(self, times: float = 1.0) -> float:
        """Return the least bias that is found in such a sample, or in one of so many times the clients."""
        root = math.sqrt(times)
        return detected(self.beginning, self.error / root, self.earlier_error / root, int(times * self.clients))

    def clients_for(self, bias: float) -> int:
        """Return the number of clients with which a bias is found, a multiple of those here; ``LARGEST`` at most."""
        times = next((times for times in range(1, LARGEST) if self.detected(times) <= bias), LARGEST)
        return times * self.clients

    def stated(self) -> float:
        """Return the bias that a report states: of a larger sample that for which its size was chosen, at the least, as
        another seed may choose fewer clients."""
        return self.detected() if self.clients <= EACH else max(self.detected(), WANTED)

    def power(self) -> str:
        """Say which bias would be found."""
        found = self.stated()
        if found == math.inf:
            return "the weights vary so much that a bias of any size might be missed"
        return f"a bias of {math.ceil(1000 * found) / 1000:.1%} would be found with probability {CHANCE}"


def detected(beginning: float, error: float, earlier_error: float, clients: int) -> float:
    r"""Return the least bias b that a sample finds with probability 0.99, where all weights are 1 + b times right ones.

    Their errors are then 1 + b times those of right ones, in both halves of the run. Two things hide the bias. It is
    allowed: b + (1 + b) e N <= 4 / (p rounds / 2) + 6 (1 + b) \hat e, with N standard normal. Or it seems to fade:
    0.4 b + (1 + b) N \sqrt{e^2 + 0.36 e'^2} <= 0. (The two errors are not negatively correlated.) The standard errors
    are estimates themselves, here and in the run that is to find the bias, with a relative error s, where
    s^2 = 1/(2 (clients - 9)). So each has probability 0.005 where b = (4 / (p rounds / 2) + c e)/(1 - c e), with

        (c - 6)^2 = 2.576^2 (1 + (36 + c^2) s^2),

    and b = d/(0.4 - d), with d^2 (1 - 2.576^2 s^2) = 2.576^2 (e^2 + 0.36 e'^2). The larger of both is returned.

    Args:
        error, earlier_error: the standard errors e and e', over the second half and the second quarter of the rounds.

    >>> detected(0.008, 0.001, 0.002, 64) < 0.02 < detected(0.008, 0.002, 0.002, 64)
    True
    >>> detected(0.008, 0.2, 0.2, 64)
    inf
    """
    unsure = QUANTILE**2 / (2 * (clients - BLOCKS - 1))
    root = math.sqrt(DEVIATIONS**2 - (1 - unsure) * (DEVIATIONS**2 * (1 - unsure) - QUANTILE**2))
    allowed = error * (DEVIATIONS + root) / (1 - unsure)
    faded = QUANTILE * math.hypot(error, FADING * earlier_error) / math.sqrt(1 - unsure)
    if allowed >= 1 or faded >= 1 - FADING:
        return math.inf
    return max((beginning + allowed) / (1 - allowed), faded / (1 - FADING - faded))


def _adjusted(values: np.ndarray, *known: np.ndarray) -> tuple[float, float]:
    """Return the mean of ``values`` and its standard error after regressing out the ``known``, which have mean 0."""
    design = np.column_stack([np.ones(len(values)), *known])
    fitted = np.linalg.lstsq(design, values, rcond=1e-9)[0]
    left = values - design @ fitted
    return float(fitted[0]), math.sqrt(float(left @ left) / (len(values) - design.shape[1]) / len(values))


def check_variance(rule: Estimator, probability: float, seed: int, clients: int) -> None:
    """Check the variance under Bernoulli participation against ``rule.long_run``.

    Raises:
        VarianceScaleError: it is another one, or does not fall like 1/t although ``long_run`` states 0.
    """
    assert rule.long_run is not None
    limit, p = rule.long_run(probability), probability
    history = (np.random.default_rng(seed).random((VARIANCE_ROUNDS, clients)) < p).view(np.uint8)
    weights = np.asarray(rule.batch(history))
    early, variance = float(weights[VARIANCE_ROUNDS // 4].var()), float(weights[-1].var())
    tolerance = _variance_tolerance(clients)
    if limit.variance > 0.0:
        begins = variance - limit.variance <= FADING * (early - limit.variance)  # it still falls to its limit
        wrong = variance < limit.variance / tolerance or (variance > limit.variance * tolerance and not begins)
        expected = f"{limit.variance} at p = {p}"
    else:
        allowed = early * tolerance / 4.0
        wrong, expected = variance > allowed + 1e-24, f"at most {allowed} after {VARIANCE_ROUNDS} rounds at p = {p}"
    if wrong:
        raise check_errors.VarianceScaleError(expected, variance)


def _variance_tolerance(clients: int) -> float:
    """Return ``VARIANCE_TOLERANCE``, raised for fewer than 4000 clients: the relative error is sqrt(2/clients)."""
    fewer = math.sqrt(2 / clients) - math.sqrt(2 / max(clients, VARIANCE_CLIENTS))
    return VARIANCE_TOLERANCE * (1 + DEVIATIONS * fewer)


def check_learning(rule: Estimator) -> str:
    """Check that a rule adapts to a client that takes part every 2nd round, then every 5th.

    Its weight goes on changing, or has become that of a client that always took part every 5th round.

    Returns:
        The range that was checked, in words.

    Raises:
        StoppedLearningError: the weight stands still at something else.
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
