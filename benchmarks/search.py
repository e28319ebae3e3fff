"""What the searches for counterexamples cost, in units of ``unit.py``, by the kind of what is searched.

    OMP_NUM_THREADS=1 python benchmarks/search.py [--json] [--candidates 300] [--climbs 8] [--steps 30]
    OMP_NUM_THREADS=1 python benchmarks/search.py --claims fast.thm2@main fast.thm2@sharp

Claims of one kind are searched on the same candidates, so that settings, left sides and quantiles are made once for all
of them. Each kind is timed so, and with all of that forgotten before every claim; both in turns in one process, whose
finds have to be equal to the bit. The depth is that of ``fedtheory verify --fresh``. Times are process time over the
unit, which is measured before and after.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from unit import unit

from fedtheory.claims.statement import Claim
from fedtheory.evidence.assess import QUICK, mathematics, recorded_instance
from fedtheory.evidence.search import SearchReport, search
from fedtheory.papers import all_claims
from fedtheory.papers import claim as find_claim
from fedtheory.papers.fedau.examples import weight_search
from fedtheory.papers.flics.exact import branching_runs
from fedtheory.papers.flics.examples import selection_settings as settings
from fedtheory.papers.registry import subject_of
from fedtheory.papers.safari.examples import learning_problems
from fedtheory.papers.safari.examples import server_run_search as run_search
from fedtheory.subjects import quadratic_candidates

KEEPING: tuple[Any, ...] = (
    quadratic_candidates.placed,
    run_search._with_server_noise,
    learning_problems.first_equal,
    weight_search._least_left,
    settings._setting_of,
    branching_runs._followed,
)
"""Where searches of several claims keep what they have in common."""


def forget() -> None:
    """Forget what claims have in common."""
    for kept in KEEPING:
        kept.cache_clear()
    gc.collect()


def searched() -> list[Claim]:
    """The claims that ``fedtheory verify --fresh`` searches: one of each mathematics, not refuted by an instance."""
    first = {mathematics(statement): statement for statement in reversed(all_claims())}
    found = []
    for statement in reversed(first.values()):
        instance = recorded_instance(statement.ref)
        beyond = any(map(statement.beyond_instances, statement.readings()))
        if not beyond and not (instance and instance["refutes"]):
            found.append(statement)
    return found


def timed(statement: Claim, depth: Sequence[int]) -> tuple[float, SearchReport]:
    """The process time of a search, and what it found."""
    began = time.process_time()
    report = search(statement, *depth)
    return time.process_time() - began, report


def measured(statements: Sequence[Claim], depth: Sequence[int]) -> dict[str, dict[str, float]]:
    """The seconds of the searches of each kind, with what claims have in common and without."""
    kinds: dict[str, list[Claim]] = defaultdict(list)
    for statement in statements:
        space = subject_of(statement).space(statement)
        kinds[f"{type(space).__module__.removeprefix('fedtheory.')}.{type(space).__name__}"].append(statement)
    rows = {}
    for kind, claims in kinds.items():
        for statement in claims:
            search(statement, *depth)  # what is compiled and loaded once
        forget()
        together = [timed(statement, depth) for statement in claims]
        alone = []
        for statement in claims:
            forget()
            alone.append(timed(statement, depth))
        for (_, one), (_, other) in zip(together, alone, strict=True):
            if (one.best, one.best_late, one.shares, one.admissible) != (
                other.best,
                other.best_late,
                other.shares,
                other.admissible,
            ):
                sys.exit(f"{one.claim}: the finds differ")
        rows[kind] = {
            "claims": len(claims),
            "candidates": sum(report.candidates for _, report in together),
            "together": sum(seconds for seconds, _ in together),
            "alone": sum(seconds for seconds, _ in alone),
        }
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", nargs="+", help="their names; default: all that are searched")
    for name in ("candidates", "climbs", "steps"):
        parser.add_argument(f"--{name}", type=int, default=getattr(QUICK, name))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    statements = [find_claim(name) for name in given.claims] if given.claims else searched()
    before = unit()
    rows = measured(statements, (given.candidates, given.climbs, given.steps))
    seconds = (before + unit()) / 2
    units = {kind: row | {name: row[name] / seconds for name in ("together", "alone")} for kind, row in rows.items()}
    if given.json:
        print(json.dumps({"unit": seconds, "kinds": units}, indent=1))
        return
    print(f"unit: {seconds:.2f} s\n{'kind':60} claims candidates  units  alone")
    for kind, row in sorted(units.items(), key=lambda item: -item[1]["together"]):
        print(f"{kind:60} {row['claims']:6} {row['candidates']:10} {row['together']:6.2f} {row['alone']:6.2f}")
    total = {name: sum(row[name] for row in units.values()) for name in ("together", "alone")}
    print(f"{'all':78} {total['together']:6.2f} {total['alone']:6.2f}")


if __name__ == "__main__":
    main()
