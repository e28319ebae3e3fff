"""How often a diagnosis finds the family of a log, says "none" of a log of no family, and covers clients' rates.

    OMP_NUM_THREADS=1 python -m benchmarks.families found.jsonl [--logs 200] [--misfits 50]  # goes on where it was
    OMP_NUM_THREADS=1 python -m benchmarks.families found.jsonl --table                      # what there is so far

Logs have 1,000 rounds and 100 clients, and each its own seed: its number. Every log is a line of the file. Passes of
ten logs take every kind in turn, so that the table grows evenly; ``--kinds`` takes some kinds alone.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom, binomtest

from fedtheory.diagnosis import choose_family, rates
from fedtheory.participation import LargestNoise, Multinomial, RandomPatterns, history
from tests.diagnosis.misfits import MISFITS
from tests.diagnosis.test_families import ALIKE, CLIENTS, PROCESSES, ROUNDS

LEVEL = 0.95
PASS = 10


def truth(name: str, log: np.ndarray) -> np.ndarray:
    """The rates that intervals are to cover: the expected share of the log's rounds in which a client comes.

    A client of RandomPatterns keeps its pattern: its rate is the pattern's.
    """
    process = PROCESSES[name]
    if isinstance(process, RandomPatterns):
        return log[: len(process.mask)].mean(axis=0)
    return expected(name)


@cache
def expected(name: str) -> np.ndarray:
    """Mean over a log's rounds of the probabilities that clients come, not of how often they are drawn."""
    process = PROCESSES[name]
    if isinstance(process, Multinomial):
        return 1 - (1 - np.asarray(process.probabilities, dtype=float)) ** process.cohort
    if isinstance(process, LargestNoise):  # noise alike for all chooses each as often
        return np.full(CLIENTS, process.cohort / CLIENTS)
    try:
        return np.asarray(process.stationary(CLIENTS), dtype=float)
    except ValueError:
        return np.mean([np.asarray(process.expected(CLIENTS, r), dtype=float) for r in range(ROUNDS)], axis=0)


def of_process(name: str, number: int) -> dict[str, Any]:
    """What is found of one log, and whether the interval of each client's rate covers it."""
    log = np.ascontiguousarray(history(PROCESSES[name], CLIENTS, ROUNDS, seed=number)[:, 0].numpy() > 0)
    rate, right = rates(log, LEVEL), truth(name, log)
    covers = (rate.low <= right) & (right <= rate.high)
    return {**family(log), "covered": int(covers.sum()), "one": bool(covers[number % CLIENTS])}


def of_misfit(kind: str, number: int) -> dict[str, Any]:
    """What is found of one log of no family."""
    return family(MISFITS[kind](np.random.default_rng([number, zlib.crc32(kind.encode())]), ROUNDS, CLIENTS))


def family(log: np.ndarray) -> dict[str, Any]:
    """Name of the family, and what the check says."""
    found = choose_family(log)
    check = found.check
    seen = {} if check is None else {"p": check.p, "worst": check.worst}
    return {"family": found.name, "nearest": found.nearest, **seen}


def extended(file: Path, logs: int, misfits: int, kinds: list[str]) -> None:
    """Look at the logs that the file does not have yet."""
    rows = read(file)
    have = {(row["kind"], row["log"]) for row in rows}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with file.open("a", encoding="utf-8") as out:
        for first in range(0, max(logs, misfits), PASS):
            for kind in kinds:
                look, most = (of_process, logs) if kind in PROCESSES else (of_misfit, misfits)
                for number in range(first, min(first + PASS, most)):
                    if (kind, number) not in have:
                        out.write(json.dumps({"kind": kind, "log": number, **look(kind, number)}) + "\n")
                        out.flush()
            print(f"{first + PASS} logs", flush=True)


def read(file: Path) -> list[dict[str, Any]]:
    """The lines of a file; the last may be broken off."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def table(rows: list[dict[str, Any]]) -> str:
    """Rows of Markdown: right of all, exact 95% interval, coverage by all clients, and by one client of each log.

    The last p is the chance of as few covered or fewer, of one client of each log, if intervals cover at their level.
    """
    lines = ["| process | family asked | right | 95% | else | covered of all | of one a log | p |", "|" + " --- |" * 8]
    for kind in [*PROCESSES, *MISFITS]:
        mine = [row for row in rows if row["kind"] == kind]
        if not mine:
            continue
        asked = ALIKE.get(kind, kind) if kind in PROCESSES else "none"
        names = Counter(row["family"] for row in mine)
        low, high = binomtest(names[asked], len(mine)).proportion_ci()
        other = ", ".join(
            f"{name} {count}" + (f" ({reasons(mine)})" if name == "none" else "")
            for name, count in names.most_common()
            if name != asked
        )
        cells = [kind, asked, f"{names[asked]} of {len(mine)}", f"{low:.3f} to {high:.3f}", other]
        if kind in PROCESSES:
            ones = sum(row["one"] for row in mine)
            share = np.mean([row["covered"] for row in mine]) / CLIENTS
            cells += [f"{share:.4f}", f"{ones} of {len(mine)}", f"{binom.cdf(ones, len(mine), LEVEL):.3g}"]
        else:
            cells += ["", "", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def reasons(rows: list[dict[str, Any]]) -> str:
    """What the nearest families of logs that fit none fail by."""
    found = Counter(f"{row['nearest']}: {row['worst']}" for row in rows if row["family"] == "none" and "worst" in row)
    return ", ".join(f"{name} {count}" for name, count in found.most_common(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--misfits", type=int, default=50)
    every = [*PROCESSES, *MISFITS]
    parser.add_argument("--kinds", nargs="+", choices=every, default=every, metavar="KIND")
    parser.add_argument("--table", action="store_true", help="only print what there is")
    given = parser.parse_args()
    if not given.table:
        extended(given.file, given.logs, given.misfits, given.kinds)
    print(table(read(given.file)))


if __name__ == "__main__":
    main()
