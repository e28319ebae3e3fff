"""How often a choice that knows the true process is within 5% of the best of hindsight (docs/diagnose.md).

    OMP_NUM_THREADS=1 python -m benchmarks.hindsight found.jsonl [--draws 200] [--chosen]   # goes on where it was

Of each log whose last third a recommendation is judged on (tests/diagnosis/test_recommendation.py) the last third is
drawn anew from the true process, going on from the state of the process after the first two thirds. Four choices are
made on one half of these draws: the one that is most often within 5% of a draw's best, and those with the least mean,
the least median and the least upper quantile of the error; a recommendation scores by the last. Each is judged on the
other half, and on the last third as it really went. No choice without hindsight is more often within 5% in the mean
than the best of the first kind. How often the one that was found is so on fresh draws is less; the share of the draws
on which it was found is more, as it was chosen for these. ``--chosen`` adds what the recommendation chose, which is
slow. Where the first two thirds tell the rest, a choice that knows the process is that of hindsight.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.families import read
from fedtheory.diagnosis.recommendation import MAKERS, NEAR, QUANTILE, candidates
from fedtheory.diagnosis.trace_errors import Trace, Twin, errors_on_trace, twin_of
from fedtheory.participation.base import Axis, Keys
from fedtheory.participation.examples import examples
from tests.diagnosis.test_recommendation import fine_grid, held_out, whole

LOGS = 50
TOLD = ("Cyclic", "Recorded", "RandomPatterns")
"""Processes whose first rounds tell all others."""

BEGUN, FAR = 16, 1.5
"""Draws on which every candidate is tried with every step, and how many times the least error one may have on some of
them to stay."""

REMEMBERED = {"on", "here"}
"""Entries of a chain's state that say where it was."""

CHOICES = ("often", "mean", "median", "upper")
"""What a choice is made by."""

ASKED = 45
"""Logs on which a choice should be near, of which the chance is told."""

Rule = tuple[Any, np.ndarray, np.ndarray]


def going_on(
    name: str, seed: int, clients: int, first: int, rounds: int, draws: int, again: int = 10_000
) -> np.ndarray:
    """Rounds that might follow the first ones of the log with this seed, (draws, rounds, clients), by later draws of
    the seed plus ``again``."""
    process = examples(clients)[name]
    one: Any = process.init(Keys(seed, Axis.ARBITRARY, torch.arange(1), clients))
    for r in range(first):
        _, one = process.step(one, r)
    state: Any = process.init(Keys(seed + again, Axis.ARBITRARY, torch.arange(draws), clients))
    for field in REMEMBERED & {*getattr(one, "_fields", ())}:
        kept = getattr(one, field)
        state = state._replace(**{field: kept.expand(draws, *kept.shape[1:]).clone(), "round": first - 1})
    found = np.empty((draws, rounds, clients), dtype=bool)
    for r in range(rounds):
        counts, state = process.step(state, first + r)
        found[:, r] = counts.numpy() > 0
    return found


def errors(twin: Twin, rules: list[Rule], mask: np.ndarray) -> np.ndarray:
    """Of every rule with each of its steps, one after the other."""
    trace = Trace(np.ascontiguousarray(mask))
    return np.concatenate([errors_on_trace(twin, rule, trace, lr, k).loss for rule, lr, k in rules])


def kept(rules: list[Rule], near: np.ndarray) -> list[Rule]:
    """The rules with those of their steps that are near."""
    parts = np.split(near, np.cumsum([len(lr) for _, lr, _ in rules])[:-1])
    return [(rule, lr[part], k[part]) for (rule, lr, k), part in zip(rules, parts, strict=True) if part.any()]


def of_log(number: int, draws: int) -> dict[str, Any]:
    """How near the choices are, as it went and on what share of fresh draws."""
    name, mask, constants = whole(number)
    rounds, clients = mask.shape
    first = rounds - rounds // 3
    fair = np.full(clients, 1 / clients)
    twin = twin_of(constants, fair)
    lr, k = fine_grid(twin.smoothness)
    every: list[Rule] = [
        (MAKERS[kind](local_lr=1, **given), lr, k) for _, (kind, given) in candidates(mask[:first], fair)
    ]
    really = errors(twin, every, mask[first:])
    if name in TOLD:
        return {"log": name, **{each: {"as_it_went": 1.0, "near": 1.0, "seen": 1.0} for each in CHOICES}}
    drawn = going_on(name, 100 + number, clients, first, rounds - first, 2 * draws)
    begun = np.array([errors(twin, every, each) for each in drawn[:BEGUN]])
    stays = (begun <= FAR * begun.min(axis=1, keepdims=True)).any(axis=0)
    rules = kept(every, stays)
    found = np.array([errors(twin, rules, each) for each in drawn])
    ratio = found / found.min(axis=1, keepdims=True)
    seen, fresh = slice(0, draws), slice(draws, 2 * draws)
    often = (ratio[seen] <= NEAR).mean(axis=0) - 1e-6 * np.median(ratio[seen], axis=0)
    choices = {
        "often": int(np.argmax(often)),
        "mean": int(np.argmin(found[seen].mean(axis=0))),
        "median": int(np.argmin(np.median(found[seen], axis=0))),
        "upper": int(np.argmin(np.quantile(found[seen], QUANTILE, axis=0, method="inverted_cdf"))),
    }
    went = really[stays] / really.min()
    return {
        "log": name,
        **{
            each: {
                "as_it_went": float(went[at]),
                "near": float((ratio[fresh, at] <= NEAR).mean()),
                "seen": float((ratio[seen, at] <= NEAR).mean()),
            }
            for each, at in choices.items()
        },
    }


def at_least(number: int, share: np.ndarray) -> float:
    """The chance of as many or more, of independent ones with these chances.

    >>> at_least(2, np.array([1.0, 0.5, 0.5]))
    0.75
    """
    law = np.ones(1)
    for p in share:
        law = np.convolve(law, [1 - p, p])
    return float(law[number:].sum())


def told(rows: list[dict[str, Any]]) -> None:
    """Print how many logs each choice is near on, as it went and in expectation, and what it misses by."""
    for each in CHOICES:
        share, seen = (np.array([row[each][where] for row in rows]) for where in ("near", "seen"))
        went = np.array([row[each]["as_it_went"] for row in rows])
        missed = sorted(float(x) for x in went[went > NEAR])
        spread = np.sqrt((share * (1 - share)).sum())
        print(f"{each}: {(went <= NEAR).sum()} of {len(rows)} as it went, {share.sum():.2f} +- {spread:.1f} expected, "
              f"{seen.sum():.2f} where it was found; {ASKED} or more with a chance of {at_least(ASKED, share):.2f}, "
              f"{at_least(ASKED, seen):.2f} there; misses {[round(x, 2) for x in missed]}")  # fmt: skip
    if any("chosen" in row for row in rows):
        mine = [row for row in rows if "chosen" in row]
        missed = [row for row in mine if row["chosen"]["as_it_went"] > NEAR]
        print(f"chosen: {len(mine) - len(missed)} of {len(mine)}; of each miss the choice, and the one often near:")
        for row in missed:
            own, often = row["chosen"], row["often"]
            print(f"  {row['number']} {row['log']}: {own['as_it_went']:.3f}, {often['as_it_went']:.3f}, "
                  f"of draws {often['near']:.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--chosen", action="store_true")
    given = parser.parse_args()
    rows = {row["number"]: row for row in read(given.file)}
    for number in range(LOGS):
        row = rows.get(number) or {"number": number, **of_log(number, given.draws)}
        if given.chosen and "chosen" not in row:
            row["chosen"] = held_out(number)
        rows[number] = row
        given.file.write_text("".join(json.dumps(each, default=str) + "\n" for each in rows.values()), encoding="utf-8")
    told(list(rows.values()))


if __name__ == "__main__":
    main()
