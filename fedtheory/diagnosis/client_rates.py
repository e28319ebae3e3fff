"""Rates of clients, with intervals that hold where rounds depend on each other; and who joined or left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from scipy.stats import beta, kstwobign

CHUNK = 256
"""Clients that are looked at together."""


@dataclass(frozen=True)
class Rates:
    """Rates of clients, (clients,) each.

    Attributes:
        rate: the share of rounds.
        low, high: of intervals at the level.
        inflation: how many times the variance of the rate is that of independent rounds, at least 1.
        block: rounds of the block bootstrap's blocks.
    """

    rate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    inflation: np.ndarray
    block: int


def rates(mask: np.ndarray, level: float = 0.95) -> Rates:
    r"""Estimate the rate of every client.

    The variance of a rate is that of the moving-block bootstrap, which needs no draws: with blocks of b rounds it is
    the autocovariances' sum \sum_k (1 - |k|/b) c_k / R. To take away its bias of the order of 1/b, it is extrapolated:
    2 V(2b) - V(b). b is the lag from which on the clients' mean autocorrelation is nothing but noise (Politis and
    White 2004). The interval is Clopper and Pearson's, for as many independent rounds as have this variance. It is
    no shorter than for independent ones, nor than for clients' mean autocorrelation: so it errs to the safe side.

    >>> found = rates(np.zeros((100, 1), dtype=bool))
    >>> found.rate.tolist(), found.high.round(3).tolist()
    ([0.0], [0.036])
    """
    rounds, clients = mask.shape
    p = mask.mean(axis=0)
    covariance, total, varies = np.zeros((0, clients)), np.zeros(rounds), p * (1 - p) > 0
    lags = min(rounds - 1, max(5, int(8 * np.sqrt(rounds))))
    kept = []
    for first in range(0, clients, CHUNK):
        part = slice(first, first + CHUNK)
        c = _autocovariances(mask[:, part] - p[part], lags)
        kept.append(c)
        correlation = c[:, varies[part]] / np.maximum(c[0, varies[part]], 1e-300)
        total[: lags + 1] += correlation.sum(axis=1)
    covariance = np.concatenate(kept, axis=1)
    mean = total[: lags + 1] / max(1, int(varies.sum()))
    block = _block(mean, rounds, int(varies.sum()))
    k = np.arange(1, min(2 * block, lags + 1))
    window = np.minimum(1.0, 2 - k / block)
    pooled = max(1.0, 1 + 2 * float((window * mean[k]).sum()))
    own = 1 + 2 * (window @ covariance[k]) / np.maximum(covariance[0], 1e-300)
    inflation = np.where(varies, np.maximum(pooled, own), pooled)
    effective = np.maximum(rounds / inflation, 1.0)
    return Rates(p, *_clopper_pearson(p, effective, level), inflation, block)


def _autocovariances(away: np.ndarray, lags: int) -> np.ndarray:
    """(lags + 1, clients): sums over rounds of products, divided by the number of rounds."""
    rounds = len(away)
    size = 1 << int(np.ceil(np.log2(rounds + lags + 1)))
    spectrum = np.fft.rfft(away, n=size, axis=0)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, n=size, axis=0)[: lags + 1] / rounds)


def _block(correlation: np.ndarray, rounds: int, clients: int) -> int:
    """The lag from which on correlations stay below twice their noise; at least 1, at most a sixth of the log."""
    noise = 2 * np.sqrt(np.log10(max(rounds, 10)) / rounds / max(1, min(clients, 16)))
    run, large = 5, np.abs(correlation[1:]) > noise
    most = max(1, rounds // 6)
    for lag in range(1, most + 1):
        if not large[lag - 1 : lag - 1 + run].any():
            return lag
    return most


def _clopper_pearson(p: np.ndarray, n: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    count, tail = p * n, (1 - level) / 2
    low = np.where(count > 0, beta.ppf(tail, np.maximum(count, 1e-9), n - count + 1), 0.0)
    high = np.where(count < n, beta.ppf(1 - tail, count + 1, np.maximum(n - count, 1e-9)), 1.0)
    return low, high


@dataclass(frozen=True)
class Change:
    """A client whose rate changes.

    Attributes:
        client: its column.
        kind: "joined", "left" or "changed".
        round: the first of the new rate.
        before, after: the rates.
        p: of the client's test alone; all of a log's together have the family-wise level.
    """

    client: int
    kind: str
    round: int
    before: float
    after: float
    p: float


def changes(mask: np.ndarray, inflation: np.ndarray, level: float = 0.05) -> list[Change]:
    r"""Find clients who joined late, left, or changed their rate, with a family-wise level for all (Bonferroni).

    Joined: the first absence is too long for the client's other absences. Given how many rounds it is away, in how many
    absences, a chain's are equally likely in all ways; so P(first >= a) = C(Z - a + g, g) / C(Z + g, g), with Z rounds
    away beyond one an absence and g absences beside the first. Left: the same from the log's end. Changed: the largest
    excursion of the partial sums, in the bootstrap's standard deviations, against Kolmogorov's law.
    """
    rounds, clients = mask.shape
    tests = 3 * clients
    came = np.asarray(mask.any(axis=0))
    first, last = mask.argmax(axis=0), mask[::-1].argmax(axis=0)
    spells = (mask & ~np.concatenate([np.zeros((1, clients), bool), mask[:-1]])).sum(axis=0)
    away = (~mask).sum(axis=0)
    found: dict[int, Change] = {}
    p = np.asarray(mask.mean(axis=0))
    for kind, lengths in (("joined", first), ("left", last)):
        # All slots: before, between (each at least one round) and after the presences.
        free = away - np.maximum(spells - 1, 0)
        log_p = _log_tail(free, lengths, spells)
        for i in np.flatnonzero(came & (lengths > 0) & (log_p < np.log(level / tests))).tolist():
            rest = rounds - int(lengths[i])
            rate = float(mask[:, i].sum() / rest)
            at = int(lengths[i]) if kind == "joined" else rest
            rates_of = (0.0, rate) if kind == "joined" else (rate, 0.0)
            change = Change(i, kind, at, *rates_of, float(np.exp(log_p[i])))
            if i not in found or change.p < found[i].p:
                found[i] = change
    for start in range(0, clients, CHUNK):
        part = slice(start, start + CHUNK)
        walk = np.cumsum(mask[:, part] - p[part], axis=0)
        scale = np.sqrt(np.maximum(p[part] * (1 - p[part]) * inflation[part] * rounds, 1e-300))
        place = np.abs(walk).argmax(axis=0)
        largest = np.abs(walk).max(axis=0) / scale
        tail = kstwobign.sf(largest)
        for k in np.flatnonzero(np.asarray(tail < level / tests) & np.asarray(came)[part]).tolist():
            i, at = start + k, int(place[k]) + 1
            if at < rounds and (i not in found or float(np.asarray(tail)[k]) < found[i].p):
                before, after = float(mask[:at, i].mean()), float(mask[at:, i].mean())
                found[i] = Change(i, "changed", at, before, after, float(np.asarray(tail)[k]))
    return [found[i] for i in sorted(found)]


def _log_tail(free: np.ndarray, length: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """log P(the first of slots + 1 numbers >= 0 of sum ``free`` is >= ``length``), all ways being equally likely."""

    def log_choose(n: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))

    left = np.maximum(free - length, 0)
    return np.where(length > free, -np.inf, log_choose(left + slots, slots) - log_choose(free + slots, slots))
