"""How often the test kit refuses right weight estimators, and finds wrong ones, of many seeds (docs/testing.md).

    python benchmarks/estimator_power.py [--seeds 200] [--right] [--biased] [--stated]

``--right`` gives right rules to the whole check; none may be refused. ``--biased`` makes their weights 2% too large or
too small, under each kind of participation at p = 0.1. ``--stated`` makes them too large by the bias that the report of
another seed says would be found with probability 0.99. A line for every ten seeds is printed as it comes.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fedtheory.testing import check_weight_estimator
from fedtheory.testing.long_run import EACH, LARGEST, samples
from fedtheory.testing.presence import KINDS, bernoulli
from fedtheory.testing.weight_rule_inputs import Estimator, accepted
from fedtheory.weights import ExponentialAverage, FedAU

Rule = Callable[[np.ndarray], np.ndarray]


def ratio(a: float, b: float) -> Rule:
    """Rounds over participations, with a and b added."""

    def batch(history: np.ndarray) -> np.ndarray:
        before = np.cumsum(history, axis=0, dtype=float) - history
        return (np.arange(len(history)).reshape(-1, *[1] * (history.ndim - 1)) + a) / (before + b)

    return batch


def age(history: np.ndarray) -> np.ndarray:
    """Rounds since the last participation, this one included."""
    rounds = np.arange(1, len(history) + 1).reshape(-1, *[1] * (history.ndim - 1))
    last = np.maximum.accumulate(np.where(history > 0, rounds, 0), axis=0)
    return (rounds - np.concatenate([np.zeros_like(last[:1]), last[:-1]])).astype(float)


RIGHT: dict[str, Any] = {
    "FedAU, no cutoff": FedAU(),
    "FedAU, cutoff 5": FedAU(5),
    "FedAU, cutoff 50": FedAU(50),
    "(t + 1)/(n + 1)": ratio(1, 1),
    "(t + 2)/(n + 2)": ratio(2, 2),
    "(t + 10)/(n + 1)": ratio(10, 1),
    "age": age,
    "exponential average, 1%": ExponentialAverage(0.01),
    "exponential average, 20%": ExponentialAverage(0.2),
    "exponential average, 30%, cutoff 4": ExponentialAverage(0.3, 4),
}
LATE = ("age", "FedAU, cutoff 5", "exponential average, 30%, cutoff 4")
"""Rules that are not among those whose power is told: the limits of the cutoffs, and the noisiest."""


def right(rule: Any, seeds: range, name: str) -> None:
    refused: Counter[str] = Counter()
    for done, seed in enumerate(seeds, 1):
        try:
            check_weight_estimator(rule, seed=seed)
        except AssertionError as error:
            refused[str(error)[:300]] += 1
        if not done % 10:
            print(f"right: {name}: {sum(refused.values())} of {done} refused {dict(refused) or ''}", flush=True)


def times(estimator: Estimator, factor: float) -> Estimator:
    return replace(estimator, batch=lambda history: factor * np.asarray(estimator.batch(history)))


def biased(rule: Any, seeds: range, name: str, stated: bool) -> None:
    chains, estimator = [kind(0.1) for kind in (bernoulli, *KINDS)], accepted(rule)
    limits, found = [chain.limit(estimator.longest) for chain in chains], Counter[str]()
    said = {chain.name: [] for chain in chains}
    for done, seed in enumerate(seeds, 1):
        for i, chain in enumerate(chains):
            if stated:
                (seen,) = samples(estimator, [chain], limits[i : i + 1], seed, LARGEST * EACH)
                said[chain.name].append(seen.stated())
            factor = 1 + said[chain.name][-1] if stated else 1 + 0.02 * (-1) ** seed
            (seen,) = samples(times(estimator, factor), [chain], limits[i : i + 1], seed + 10_000, LARGEST * EACH)
            found[chain.name] += not seen.fits
        if not done % 10:
            told = {chain.name: (found[chain.name], f"{np.mean(said[chain.name] or 0.02):.2%}") for chain in chains}
            print(f"{'stated' if stated else 'biased'}: {name}: of {done} found {told}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    for option in ("--right", "--biased", "--stated"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--rules", nargs="+", choices=RIGHT, default=[*RIGHT])
    given = parser.parse_args()
    for name in given.rules:
        if given.right:
            right(RIGHT[name], range(given.seeds), name)
        for stated in (False, True):
            if (given.stated if stated else given.biased) and name not in LATE:
                biased(RIGHT[name], range(given.seeds), name, stated)
