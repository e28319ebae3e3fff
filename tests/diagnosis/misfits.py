"""Logs that no family of the package has made, a function a kind: (rng, rounds, clients) to (rounds, clients) bool."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Kind = Callable[[np.random.Generator, int, int], np.ndarray]


def _rates(rng: np.random.Generator, clients: int) -> np.ndarray:
    return rng.uniform(0.1, 0.6, clients)


def rates_that_drift(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    return rng.random((rounds, clients)) < _rates(rng, clients) * np.linspace(0.6, 1.4, rounds)[:, None]


def clients_who_join_late(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    first = np.where(rng.random(clients) < 0.2, rng.integers(rounds // 4, 3 * rounds // 4, clients), 0)
    return (rng.random((rounds, clients)) < _rates(rng, clients)) & (np.arange(rounds)[:, None] >= first)


def day_and_night(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    wave = 1 + 0.5 * np.sin(2 * np.pi * np.arange(rounds) / 24)
    return rng.random((rounds, clients)) < _rates(rng, clients) * wave[:, None]


def long_absences(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """Absences of a Pareto law."""
    found = np.zeros((rounds, clients), dtype=bool)
    for i in range(clients):
        at = -int(rng.integers(0, 50))
        while at < rounds:
            stay = int(rng.geometric(0.4))
            found[max(at, 0) : max(at + stay, 0), i] = True
            at += stay + int(np.ceil(rng.pareto(1.5) + 1))
    return found


def contagion(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """More come after a round with many."""
    p, found = _rates(rng, clients), np.zeros((rounds, clients), dtype=bool)
    share = p.mean()
    for r in range(rounds):
        found[r] = rng.random(clients) < np.clip(p * (1 + 0.8 * (share / p.mean() - 1)), 0, 1)
        share = found[r].mean()
    return found


def common_shocks(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """All rates rise and fall together, afresh every round."""
    return rng.random((rounds, clients)) < _rates(rng, clients) * rng.uniform(0.6, 1.4, (rounds, 1))


def exclusive_pairs(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """A tenth of the clients share a device with another one: the two never come together."""
    found = rng.random((rounds, clients)) < _rates(rng, clients)
    for k in range(0, max(2, clients // 10), 2):
        found[:, k + 1] &= ~found[:, k]
    return found


def memory_of_two_rounds(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """Who came the round before last comes again more often."""
    p, found = _rates(rng, clients), np.zeros((rounds, clients), dtype=bool)
    for r in range(rounds):
        before = found[r - 2] if r > 1 else rng.random(clients) < p
        found[r] = rng.random(clients) < 0.7 * p + 0.3 * before
    return found


def outages(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """The server is down three times, for a while."""
    found = rng.random((rounds, clients)) < _rates(rng, clients)
    for start in rng.choice(rounds - 20, 3, replace=False):
        found[start : start + 10] = False
    return found


def turns(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """Cohorts of those who have waited longest, with some luck."""
    found, waited = np.zeros((rounds, clients), dtype=bool), rng.random(clients)
    for r in range(rounds):
        chosen = np.argsort(-(waited + rng.exponential(3.0, clients)))[: max(1, clients // 10)]
        found[r, chosen] = True
        waited += 1
        waited[chosen] = 0
    return found


def days_of_their_own(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """Each comes every seventh round from one of its own on, nearly always."""
    on = (np.arange(rounds)[:, None] + rng.integers(0, 7, clients)) % 7 == 0
    return on & (rng.random((rounds, clients)) < 0.9)


def cohorts_that_grow(rng: np.random.Generator, rounds: int, clients: int) -> np.ndarray:
    """Uniform cohorts, larger and larger."""
    size = clients // 10 + clients * np.arange(rounds) // (4 * rounds)
    return rng.random((rounds, clients)).argsort(axis=1).argsort(axis=1) < size[:, None]


MISFITS: dict[str, Kind] = {
    each.__name__: each
    for each in (
        rates_that_drift, clients_who_join_late, day_and_night, long_absences, contagion, common_shocks,
        exclusive_pairs, memory_of_two_rounds, outages, turns, days_of_their_own, cohorts_that_grow,
    )
}  # fmt: skip
