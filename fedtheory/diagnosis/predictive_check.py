"""Posterior predictive checks: do new logs of a fitted process look like the log, by statistics fixed beforehand?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .fitted_families import Family

BLOCKS = 8
"""Number of parts of a log whose rates are compared."""

LAGS = (1, 2, 3, 7)
"""Lags at which rounds are compared."""

LEVEL = 0.01
"""Level of the check, how often a log of the process itself is said not to fit, if 99 new logs or more are drawn."""

FEWEST = 39
"""Number of new logs of a large log, and of those that are drawn first of any log."""

ENOUGH = 8
"""Number of the first new logs that deviate as much as the log does, at which no more are drawn: it fits."""


@dataclass(frozen=True)
class Check:
    """A comparison of a log with new ones.

    Attributes:
        p: the share of new logs, the log among them, whose largest deviation is at least the log's.
        level: below or at which the process does not fit.
        replicas: number of new logs.
        deviations: the log's statistics less the new ones' mean, in standard deviations of these, by name.
    """

    p: float
    level: float
    replicas: int
    deviations: dict[str, float]

    @property
    def fits(self) -> bool:
        """Whether no statistic is unlike those of new logs."""
        return self.p > self.level

    @property
    def worst(self) -> str:
        """The name of the statistic that deviates most."""
        return max(self.deviations, key=lambda name: abs(self.deviations[name]))


def number_of_replicas(cells: int) -> int:
    """Return how many new logs are drawn at most: 199, fewer of large logs, at least 39."""
    return int(np.clip(4e8 // max(cells, 1), FEWEST, 199))


def check(family: Family, mask: np.ndarray, seed: int = 0) -> Check:
    """Compare a log (rounds, clients), whose clients all came, with new logs of a family fitted to it.

    If 8 of the first 39 new logs deviate as much, they are all. The level stays: a log that does not fit is unlike all
    but one at most.
    """
    most, rng = number_of_replicas(mask.size), np.random.default_rng([seed, 7])
    seen, names = statistics(mask, family.exchangeable)
    new: list[np.ndarray] = []
    for replicas in sorted({FEWEST, most}):
        while len(new) < replicas:
            new.append(statistics(family.simulate(rng, len(mask)), family.exchangeable)[0])
        z, as_far = _compared(seen, np.stack(new))
        if as_far >= ENOUGH:
            break
    found: dict[str, float] = {}
    for name, value in zip(names, z.tolist(), strict=True):
        if abs(value) >= abs(found.get(name, 0.0)):
            found[name] = value
    return Check((1 + as_far) / (len(new) + 1), max(LEVEL, 1 / (most + 1)), len(new), found)


def _compared(seen: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, int]:
    """The deviations of the log, and how many new logs have a largest one of at least the log's.

    Each new log is compared with the others, as the log is with all.
    """
    replicas = len(new)
    total, squares = new.sum(axis=0), (new**2).sum(axis=0)
    z = _deviations(seen, total / replicas, _spread(total, squares, replicas))
    others = (total - new) / (replicas - 1)
    z_new = _deviations(new, others, _spread(total - new, squares - new**2, replicas - 1))
    return z, int((np.abs(z_new).max(axis=1) >= np.abs(z).max()).sum())


def _spread(total: np.ndarray, squares: np.ndarray, count: int) -> np.ndarray:
    return np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0.0) * count / max(count - 1, 1))


def _deviations(value: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    away = value - mean
    scale = np.maximum(spread, 1e-9 * (1 + np.abs(mean)))
    return np.where(np.abs(away) <= 1e-7 * (1 + np.abs(mean)), 0.0, np.clip(away / scale, -1e6, 1e6))


def statistics(mask: np.ndarray, groups: np.ndarray | None = None) -> tuple[np.ndarray, list[str]]:
    """Return the statistics of a log and the name of each: what is fixed before any log is looked at.

    Clients who never came are left out, as they are of a log before a family is fitted to it: rare ones of a new log.
    """
    rounds, clients = mask.shape
    came = mask.any(axis=0) | (not mask.any())
    mask, who = mask[:, came], int(came.sum())
    here = mask.astype(np.float32)
    sizes = here.sum(axis=1, dtype=np.float64)
    p = here.mean(axis=0, dtype=np.float64)
    variance = np.maximum(p * (1 - p), 0.25 / rounds**2)
    away = ((here - p.astype(np.float32)) / np.sqrt(variance).astype(np.float32)).astype(np.float32)
    found: dict[str, np.ndarray | float] = {}

    centred = sizes - sizes.mean()
    scale = np.sqrt((p * (1 - p)).sum()) or 1.0
    found["variance of a round's size"] = float(np.log((centred**2).mean() / scale**2 + 1e-6))
    found["skewness of a round's size"] = float((centred**3).mean() / scale**3)
    found["tails of a round's size"] = float(np.log((centred**4).mean() / scale**4 + 1e-6))
    found["sizes of rounds that follow each other"] = np.array(
        [(centred[:-k] * centred[k:]).mean() / scale**2 for k in LAGS if k < rounds]
    )
    memory = [(away[:-k] * away[k:]).mean(axis=0, dtype=np.float64) for k in LAGS if k < rounds]
    found["clients' memory"] = np.array([each.mean() for each in memory])
    found["differences between clients' memories"] = np.array([(each**2).mean() for each in memory[:2]])

    edges = np.linspace(0, rounds, min(BLOCKS, rounds) + 1).astype(int)
    lengths = np.diff(edges)
    parts = np.add.reduceat(away, edges[:-1], axis=0) / np.sqrt(lengths)[:, None].astype(np.float32)
    found["rates in parts of the log"] = float((parts**2).mean())
    walk = np.cumsum(away, axis=0)
    found["a client's rate that changes"] = float(np.abs(walk).max() / np.sqrt(rounds))
    found["common change of rates"] = np.add.reduceat(centred, edges[:-1]) / lengths / scale

    gram = away @ away.T if rounds <= clients else away.T @ away
    own = rounds if rounds > clients else 0
    total = float((gram.astype(np.float64) ** 2).sum()) / rounds**2
    total = clients + (total - who) * (clients * (clients - 1) / max(who * (who - 1), 1))  # of as many pairs as before
    found["pairs of clients"] = float(np.log(max(total, 0.0) / clients + 1e-9))
    if rounds > clients:
        pairs = gram / own
        np.fill_diagonal(pairs, 0)
        found["a pair of clients"] = np.array([pairs.max(), pairs.min()], dtype=float)
        vector = _power(gram - np.diag(np.diag(gram)))
        found["clients who come together"] = float(vector / rounds)
    changes = (mask[1:] != mask[:-1]).sum(axis=1)
    found["rounds that repeat the one before"] = float((changes == 0).mean())
    found["changes from a round to the next"] = float(changes.var() / scale**2)

    gap, run = _squared_lengths(mask)
    found["long absences"], found["long presences"] = gap, run

    # Spectra: of sizes, and the mean of the clients'.
    if rounds >= 16:
        power = np.abs(np.fft.rfft(centred)[1:]) ** 2 / rounds / scale**2
        found["a period of sizes"] = np.log(power + 0.05)
        mean_power = np.zeros(rounds // 2 + 1)
        for first in range(0, who, 512):
            mean_power += (np.abs(np.fft.rfft(away[:, first : first + 512], axis=0)) ** 2).sum(axis=1)
        found["a period of clients"] = np.log(mean_power[1:] / rounds / who + 0.01)

    if groups is not None:
        groups = np.unique(groups[came], return_inverse=True)[1]
        mean = np.bincount(groups, p) / np.bincount(groups)
        found["rates within a group"] = float(np.log(((p - mean[groups]) ** 2).mean() * rounds + 1e-6))
    values, names = [], []
    for name, value in found.items():
        each = np.atleast_1d(np.asarray(value, dtype=float))
        values.append(each)
        names += [name] * len(each)
    return np.concatenate(values), names


def _power(matrix: np.ndarray) -> float:
    """The largest eigenvalue, about, by a fixed number of steps from a fixed start."""
    vector = 1 + 0.1 * np.cos(np.arange(len(matrix), dtype=np.float32))
    for _ in range(8):
        vector = matrix @ vector
        vector /= np.sqrt((vector**2).sum()) or 1.0
    return float(vector @ (matrix @ vector))


def _squared_lengths(mask: np.ndarray) -> tuple[float, float]:
    """How unlike absences and presences of geometric lengths are: see ``time_dependence.length_deviation``."""
    from .time_dependence import length_deviation

    return length_deviation(~mask), length_deviation(mask)
