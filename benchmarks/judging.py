"""Parts of what a search's candidates cost, together and one by one, in CPU microseconds and as a ratio.

    OMP_NUM_THREADS=1 python benchmarks/judging.py [--json]

- ``functions``: terms and hypotheses of a claim at 33 horizons, under one guard of the range of floats, and each under
  its own.
- ``laws``: mean and variance after six noisy steps down a gradient with a kink, in whole numbers, and in Fractions.
- ``horizons``: FedAU's sums at 33 horizons, all at once, and one after the other.

Both roads of a row run in turns in one process, and have to say the same: the run stops otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fedtheory.claims.arithmetic import compiled_slack, compiled_term, seen_in_range
from fedtheory.federations.piecewise import PiecewiseLinear
from fedtheory.moments.exchangeable import trained
from fedtheory.papers import claim
from fedtheory.papers.fedau.exact.weighted_update_rounds import _advanced, advanced_in_floats

TURNS, REPEATS = 7, 20
"""Turns of which the fastest counts, and calls in each."""

HORIZONS = np.unique(np.geomspace(1, 1e8, 33).astype(np.int64))

Road = Callable[[], Any]


def functions() -> tuple[Road, Road]:
    """A claim's functions at the horizons."""
    statement = claim("fast.thm2@sharp")
    made = {f"term {term.name}": compiled_term(term.expression) for term in statement.terms}
    made |= {f"hypothesis {h.name}": compiled_slack(h.slack) for h in statement.hypotheses}
    names = {s.name for term in statement.terms for s in term.expression.free_symbols}
    names |= {s.name for h in statement.hypotheses for s in h.slack.free_symbols}
    values: dict[str, Any] = {name: np.float64(0.5) for name in sorted(names)}
    values["rounds"] = HORIZONS.astype(float)

    def bits(found: dict[str, Any]) -> list[bytes]:
        return [np.asarray(value).tobytes() for value in found.values()]

    def together() -> dict[str, Any]:
        with seen_in_range():
            return {name: function(values) for name, function in made.items()}

    return (
        lambda: bits(together()),
        lambda: bits({name: function(values) for name, function in made.items()}),
    )


def laws() -> tuple[Road, Road]:
    """The law of a trained model."""
    line, x = PiecewiseLinear([0.3712, 1.0], [0.0], 0.1234), Fraction(0.0417)
    lr, steps, noise = Fraction(0.2718), 6, Fraction(1.1)

    def in_fractions() -> tuple[Fraction, Fraction]:
        law = {x: Fraction(1)}
        for _ in range(steps):
            after: dict[Fraction, Fraction] = {}
            for y, p in law.items():
                end = y - lr * line(y)
                for at in (end - lr * noise, end + lr * noise):
                    after[at] = after.get(at, Fraction(0)) + p / 2
            law = after
        mean = sum((p * v for v, p in law.items()), Fraction(0))
        return mean, sum((p * (v - mean) ** 2 for v, p in law.items()), Fraction(0))

    return lambda: trained(line, x, lr, steps, noise).mean_and_variance(), in_fractions


def horizons() -> tuple[Road, Road]:
    """Linear rounds in a cycle of three, to all the horizons."""
    rng = np.random.default_rng(0)
    maps, state = rng.uniform(-0.25, 0.25, (3, 4, 4)), rng.normal(size=4)

    def one_by_one() -> bytes:
        squares: list[np.ndarray] = []
        return np.array([_advanced(list(maps), state, R, squares) for R in HORIZONS.tolist()]).tobytes()

    return lambda: advanced_in_floats(maps, state, HORIZONS).tobytes(), one_by_one


def measured(name: str, together: Road, alone: Road) -> dict[str, float]:
    """The CPU microseconds of a call on each of two roads."""
    if together() != alone():
        sys.exit(f"{name}: the two roads differ")
    best = {"together": np.inf, "alone": np.inf}
    for _ in range(TURNS):
        for which, road in (("together", together), ("alone", alone)):
            began = time.process_time()
            for _ in range(REPEATS):
                road()
            best[which] = min(best[which], (time.process_time() - began) / REPEATS * 1e6)
    return best | {"ratio": best["together"] / best["alone"]}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    rows = {}
    given = parser.parse_args()
    for make in (functions, laws, horizons):
        rows[make.__name__] = measured(make.__name__, *make())
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'us':12} {'together':>9} {'one by one':>11} {'ratio':>6}")
    for name, row in rows.items():
        print(f"{name:12} {row['together']:9.0f} {row['alone']:11.0f} {row['ratio']:6.2f}")


if __name__ == "__main__":
    main()
