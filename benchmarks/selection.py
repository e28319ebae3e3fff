"""How fast the selection problems are solved, beside a general convex solver (cvxpy with Clarabel), on one core.

    OMP_NUM_THREADS=1 python benchmarks/selection.py [--json]
    OMP_NUM_THREADS=1 python benchmarks/selection.py --full     # Clarabel on 10^5 rounds too: minutes, and some GB
    OMP_NUM_THREADS=1 python benchmarks/selection.py --keep benchmarks/kept/selection.json    # for a figure

Times are process time, so that other work on the machine counts little. Both sides are warm: every call is made once
before it is timed, except Clarabel's on 10^5 rounds. Times of cvxpy include its compilation where the model changes
with the data (OffVar) and not where it is compiled once (Var).
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

from fedtheory.files import json_text, write_beside
from fedtheory.selection import offvar, online, var
from fedtheory.selection.readers import write_plan

policy = import_module("fedtheory.selection.online")  # the package has a function of that name

VAR_BATCH = 100_000
VAR_ORACLE = 200


def seconds(call: Callable[[], object], repeats: int, warm: bool = True) -> float:
    """The median process time of a call."""
    if warm:
        call()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return statistics.median(times)


def trace(rounds: int, groups: int, budget: float) -> tuple[np.ndarray, float, np.ndarray]:
    """Poisson availability with means from 5 to 30, so that some groups are short and others are not."""
    rng = np.random.default_rng(0)
    availability = rng.poisson(rng.uniform(5, 30, groups), (rounds, groups))
    return availability, budget, rng.dirichlet(np.full(groups, 2.0))


def megabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def offvar_at_scale() -> dict[str, float]:
    problem = trace(1_000_000, 20, 100.0)
    solution = offvar(*problem)
    solution.plan()
    return {
        "offvar 10^6 x 20 (s)": seconds(lambda: offvar(*problem).plan(), repeats=1, warm=False),
        "offvar 10^6 x 20, peak memory (MB)": megabytes(),
        "offvar 10^6 x 20, relative gap": solution.gap,
    }


def online_at_scale() -> dict[str, float]:
    """The policy, compiled, and its plain loop on the first tenth of the trace.

    Raises:
        ValueError: the two have other rates, in any bit.
    """
    availability, budget, weight = trace(1_000_000, 20, 100.0)
    online(availability, budget, weight)  # the first call compiles
    ours = seconds(lambda: online(availability, budget, weight), repeats=3, warm=False)
    first, compiled = availability[:100_000], policy._LONG
    found = online(first, budget, weight).rates
    policy._LONG = math.inf
    try:
        theirs = 10 * seconds(lambda: online(first, budget, weight), repeats=1, warm=False)
        if found.tobytes() != online(first, budget, weight).rates.tobytes():
            raise ValueError("the compiled loop has other rates than the plain one")
    finally:
        policy._LONG = compiled
    return {
        "online policy 10^6 x 20 (s)": ours,
        "its plain loop (s, ten times that of 10^5 x 20)": theirs,
        "online policy, times faster": theirs / ours,
    }


def plan_written() -> dict[str, float]:
    """A plan of 10^7 numbers, and of a tenth of it by the standard library's ``csv``."""
    rates, groups = np.random.default_rng(0).uniform(0, 10, (500_000, 20)), [f"group {j}" for j in range(20)]

    def by_csv() -> None:
        text = io.StringIO()
        csv.writer(text).writerows([number, *row] for number, row in enumerate(rates[:50_000].tolist(), 1))
        write_beside(path, text.getvalue().encode())

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.csv")
        ours = seconds(lambda: write_plan(path, rates, groups), repeats=3)
        if not (np.loadtxt(path, delimiter=",", skiprows=1)[:, 1:] == rates).all():
            raise ValueError("other numbers are read than were written")
        theirs = 10 * seconds(by_csv, repeats=3)
    return {
        "plan of 10^7 numbers written (s)": ours,
        "by csv (s, ten times that of 10^6)": theirs,
        "plan written, times faster": theirs / ours,
    }


def offvar_beside_clarabel(rounds: int, label: str, warm: bool) -> dict[str, float]:
    from fedtheory.selection.oracle import solve_offvar

    problem = trace(rounds, 10, 40.0)
    ours = seconds(lambda: offvar(*problem).plan(), repeats=11)
    theirs, objective = 0.0, 0.0

    def solve() -> None:
        nonlocal objective
        objective = solve_offvar(*problem)[1]

    theirs = seconds(solve, repeats=1, warm=warm)
    return {
        f"offvar {label} x 10 (s)": ours,
        f"Clarabel {label} x 10 (s)": theirs,
        f"offvar {label} x 10, times faster": theirs / ours,
        f"offvar {label} x 10, objective beyond Clarabel's": offvar(*problem).objective / objective - 1,
    }


def cost_of_offvar(sizes: list[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Seconds for OffVar with its plan, by (rounds, groups)."""
    problems = {size: trace(*size, 4.0 * size[1]) for size in sizes}
    return {size: seconds(lambda p=problem: offvar(*p).plan(), repeats=5 if size[0] * size[1] < 1e6 else 1)
            for size, problem in problems.items()}  # fmt: skip


def cost_of_clarabel(sizes: list[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """The same for the general solver; its objective has to be ours.

    Raises:
        ValueError: the two objectives differ by more than the solver's tolerance.
    """
    from fedtheory.selection.oracle import solve_offvar

    solve_offvar(*trace(10, 2, 8.0))  # the first call imports
    costs, objectives = {}, []
    for size in sizes:
        problem = trace(*size, 4.0 * size[1])
        costs[size] = seconds(lambda p=problem: objectives.append(solve_offvar(*p)[1]), repeats=1, warm=False)
        if not math.isclose(objectives[-1], offvar(*problem).objective, rel_tol=1e-5):
            raise ValueError(f"rounds, groups = {size}: Clarabel's objective {objectives[-1]} is not OffVar's")
    return costs


def keep_cost(path: Path) -> None:
    """Write the cost of OffVar, beside the general solver's, over rounds for 10 groups, and over groups for 1000
    rounds: process seconds on one core, as ``experiments/flics/figures/cost.toml`` draws them."""
    sizes = {
        "rounds T, 10 groups": (0, [(rounds, 10) for rounds in (10**2, 10**3, 10**4, 10**5, 10**6)],
                                [(rounds, 10) for rounds in (100, 300, 1000, 3000, 10_000)]),
        "groups M, 1000 rounds": (1, [(1000, groups) for groups in (2, 5, 10, 20, 50, 100, 200)],
                                  [(1000, groups) for groups in (2, 5, 10, 20, 50)]),
    }  # fmt: skip
    panels = []
    for across, (axis, ours, theirs) in sizes.items():
        found = {"OffVar with its plan": cost_of_offvar(ours), "cvxpy with Clarabel": cost_of_clarabel(theirs)}
        panels.append({"across": across, "curves": {
            name: [[size[axis], float(f"{cost:.3g}")] for size, cost in costs.items()] for name, costs in found.items()
        }})  # fmt: skip
    content = {"up": "process seconds on one core", "machine": f"{processor()}, Python {platform.python_version()}",
               "panels": panels}  # fmt: skip
    write_beside(path, (json_text(content, indent=1) + "\n").encode())


def var_beside_clarabel() -> dict[str, float]:
    from fedtheory.selection.oracle import solve_var

    rng = np.random.default_rng(0)
    history, availability = rng.uniform(0, 100, (VAR_BATCH, 10)), rng.poisson(5, (VAR_BATCH, 10))
    budget, weight = rng.uniform(0, 60, VAR_BATCH), rng.dirichlet(np.ones(10))

    def solve_some() -> None:
        for row in range(VAR_ORACLE):
            solve_var(history[row], availability[row], budget[row], weight)

    ours = seconds(lambda: var(history, availability, budget, weight), repeats=5) / VAR_BATCH
    theirs = seconds(solve_some, repeats=1) / VAR_ORACLE
    residual = float(var(history, availability, budget, weight).residual.max())
    return {
        "var in batches of 10^5, M = 10 (microseconds each)": 1e6 * ours,
        "cvxpy, compiled once (microseconds each)": 1e6 * theirs,
        "var, times faster": theirs / ours,
        "var, largest residual": residual,
    }


def processor() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0].split(":", 1)[1].strip() if names else platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--full", action="store_true", help="Clarabel on 10^5 rounds too")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the cost over rounds and groups instead")
    options = parser.parse_args()
    if options.keep:
        keep_cost(options.keep)
        return
    # The largest problem comes first: peak memory is the process's, and the general solver needs more.
    results = offvar_at_scale() | online_at_scale() | plan_written() | var_beside_clarabel()
    results |= offvar_beside_clarabel(10_000, "10^4", warm=True)
    if options.full:
        results |= offvar_beside_clarabel(100_000, "10^5", warm=False)
    machine = {"processor": processor(), "python": platform.python_version(), "numpy": np.__version__, "cores used": 1}
    if options.json:
        print(json.dumps({"machine": machine, "results": results}, indent=1))
        return
    print(", ".join(f"{name}: {value}" for name, value in machine.items()))
    for name, value in results.items():
        print(f"{name:55} {value:.6g}")


if __name__ == "__main__":
    main()
