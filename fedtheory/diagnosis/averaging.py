"""Objectives that averages of updates minimise on a log: the weights of the clients in the objective, rule by rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..weights import FedAU

RESAMPLED = 200
"""Number of block resamples for intervals."""

CHUNK = 512
"""Clients whose weights are computed together."""


@dataclass(frozen=True)
class ImpliedObjective:
    r"""The objective sum_i phi_i F_i that a rule's steps minimise in the long run, if the log goes on as it was.

    Attributes:
        rule: what is done with the updates.
        weight: phi_i, (clients,), of sum 1.
        distance: half the sum of |phi_i - fair_i|: the share of the objective that is at the wrong clients.
        by_chance: how large that would be on average by chance alone, were the rule fair: of block resamples.
        low, high: of the distance's interval.
        worst, typical: the gradient of sum_i phi_i F_i at the fair optimum, in units of the heterogeneity there:
            sum_i |phi_i - fair_i|, which no clients of dissimilarity 1 exceed, and the root of
            sum_i (phi_i - fair_i)^2, that of clients whose gradients are unrelated. Over the strong convexity these
            bound the distance of the two optima.
        labels: what share of the implied mixture has each label, if labels are given.
    """

    rule: str
    weight: np.ndarray
    distance: float
    by_chance: float
    low: float
    high: float
    worst: float
    typical: float
    labels: np.ndarray | None = None


def implied_objectives(
    mask: np.ndarray,
    fair: np.ndarray,
    cutoffs: Sequence[float],
    block: int,
    labels: np.ndarray | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[ImpliedObjective]:
    r"""Compute phi_i for rules of averaging, exactly for this log.

    phi_i is proportional to the sum over rounds of (i takes part) x (weight of its update):

    - "mean of those who came": 1/|S|, S the round's clients; rounds without any change nothing.
    - "sum over all clients": 1/N, those away counting as 0.
    - "FedAU, cutoff K": its weights omega, as they are on this log.
    - "a memory of updates": every client's latest update counts 1/N in every round from its first on (MIFA, FedVarp):
      1/N for all that came.

    Args:
        fair: (clients,), what the weights should be; of sum 1.
        block: rounds of the blocks that are resampled.
        labels: (clients, labels), each client's shares.

    Source: FedAU, Theorem 1.
    """
    sizes = mask.sum(axis=1)
    came = mask.any(axis=0)
    inverse = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    starts = np.arange(0, len(mask), max(1, block))
    chosen = np.random.default_rng([seed, 13]).multinomial(
        len(starts), np.full(len(starts), 1 / len(starts)), RESAMPLED
    )
    found = []
    for rule, blocks in (
        ("mean of those who came", _blocks(mask, inverse, starts)),
        ("sum over all clients", _blocks(mask, np.ones(len(mask)), starts)),
        *(
            (f"FedAU, {'no cutoff' if math.isinf(k) else f'cutoff {k:g}'}", _fedau_blocks(mask, k, starts))
            for k in cutoffs
        ),
    ):
        total = blocks.sum(axis=0)
        phi = total / total.sum()
        again = chosen @ blocks
        again = again / np.maximum(again.sum(axis=1, keepdims=True), 1e-300)
        found.append(_judged(rule, phi, fair, again, labels, level))
    phi = came / came.sum()
    found.append(_judged("a memory of updates", phi, fair, phi[None], labels, level))
    return found


def _judged(
    rule: str, phi: np.ndarray, fair: np.ndarray, again: np.ndarray, labels: np.ndarray | None, level: float
) -> ImpliedObjective:
    away = phi - fair
    noise = float(np.abs(again - phi).sum(axis=1).mean() / 2)
    distances = np.abs(again - fair).sum(axis=1) / 2
    distance = float(np.abs(away).sum() / 2)
    # The interval is turned about the estimate, since resampling adds noise to every distance once more.
    low, high = np.quantile(distances, [(1 - level) / 2, (1 + level) / 2])
    return ImpliedObjective(
        rule,
        phi,
        distance,
        noise,
        max(0.0, 2 * distance - float(high)),
        max(distance, 2 * distance - float(low)),
        float(np.abs(away).sum()),
        float(np.sqrt((away**2).sum())),
        None if labels is None else phi @ labels,
    )


def _blocks(mask: np.ndarray, weight: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum each block's rounds, weighted: (blocks, clients)."""
    found = np.empty((len(starts), mask.shape[1]))
    for first in range(0, mask.shape[1], CHUNK):
        part = slice(first, first + CHUNK)
        found[:, part] = np.add.reduceat(mask[:, part] * weight[:, None], starts, axis=0)
    return found


def _fedau_blocks(mask: np.ndarray, cutoff: float, starts: np.ndarray) -> np.ndarray:
    found = np.empty((len(starts), mask.shape[1]))
    for first in range(0, mask.shape[1], CHUNK):
        part = np.ascontiguousarray(mask[:, first : first + CHUNK])
        weights = FedAU(cutoff).batch(part)
        found[:, first : first + CHUNK] = np.add.reduceat(part * weights, starts, axis=0)
    return found


def weight_errors(mask: np.ndarray, cutoffs: Sequence[float]) -> Mapping[float, float]:
    """Compute FedAU's weight error for each cutoff: the mean over clients and rounds of (p_i omega - 1)^2.

    No law is assumed: omega are the weights on this log, p_i the client's rate in it. Clients who never came are left
    out: they have no right weight.

    Source: FedAU, Theorem 2.

    >>> weight_errors(np.array([[1], [0], [1], [0]], dtype=bool), [math.inf])  # weights 1, 1, 1, 3/2
    {inf: 0.203125}
    """
    return {cutoff: error for cutoff, (error, _, _) in weight_error_bands(mask, cutoffs, len(mask)).items()}


def weight_error_bands(
    mask: np.ndarray, cutoffs: Sequence[float], block: int, level: float = 0.95, seed: int = 0
) -> Mapping[float, tuple[float, float, float]]:
    """Compute `weight_errors`, each with an interval: blocks of rounds are resampled, with their rates and weights.

    The interval is turned about the estimate, as a ratio, since resampling adds noise once more. A log of one block has
    none: its ends are the error.

    Args:
        block: rounds of the blocks.
    """
    p = mask.mean(axis=0)
    came = np.flatnonzero(p > 0)
    starts = np.arange(0, len(mask), max(1, block))
    chosen = np.random.default_rng([seed, 17]).multinomial(
        len(starts), np.full(len(starts), 1 / len(starts)), RESAMPLED
    )
    lengths = np.diff(np.append(starts, len(mask)))
    rounds = (chosen @ lengths)[:, None]
    found = {}
    for cutoff in cutoffs:
        total, again = 0.0, np.zeros(RESAMPLED)
        for first in range(0, len(came), CHUNK):
            here = np.ascontiguousarray(mask[:, came[first : first + CHUNK]])
            omega = FedAU(cutoff).batch(here)
            total += float(((omega * p[came[first : first + CHUNK]] - 1) ** 2).sum())
            if len(starts) > 1:
                rate, mean, square = (
                    chosen @ np.add.reduceat(each, starts, axis=0) / rounds for each in (here * 1.0, omega, omega**2)
                )
                again += (rate**2 * square - 2 * rate * mean + 1).sum(axis=1)
        error = total / max(1, len(came) * len(mask))
        if len(starts) == 1 or error == 0:
            found[cutoff] = (error, error, error)
            continue
        low, high = np.quantile(again / max(1, len(came)), [(1 - level) / 2, (1 + level) / 2])
        found[cutoff] = (error, min(error, error**2 / float(high)), max(error, error**2 / max(float(low), 1e-300)))
    return found


def usual_cutoffs(rounds: int) -> list[float]:
    """Return cutoffs to compare: 1, 2, 5, 10, ... below the number of rounds, and none.

    >>> usual_cutoffs(20)
    [1.0, 2.0, 5.0, 10.0, inf]
    """
    found = [m * 10.0**k for k in range(1 + int(np.log10(rounds))) for m in (1, 2, 5)]
    return [each for each in found if each < rounds] + [math.inf]
