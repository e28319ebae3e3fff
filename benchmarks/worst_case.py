"""How fast worst cases are solved, beside PEPit, which knows every client by itself.

python benchmarks/worst_case.py [--clients 2 3 4 8] [--json]

PEPit's programs are solved with Clarabel too, by cvxpy. Each row is E|x_R - x*|^2 after local SGD with full
participation; the value is the same for all numbers of clients, and the run stops if the two differ by more than 1e-6.
Times are of the process, the least of several; those of PEPit include making the program, as ours do.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable

from fedtheory.worstcase import local_sgd, strongly_convex, worst_case

MU, LR, ZETA = 0.1, 0.1, 0.5
SIZES = ((2, 1), (4, 1), (4, 2), (8, 2), (8, 4))
"""(local steps, rounds)."""
BESIDE = 40
"""Gradients of all clients up to which PEPit is asked: beyond, minutes."""


def ours(steps: int, rounds: int) -> float:
    found = worst_case(strongly_convex(smoothness=1, strong_convexity=MU), local_sgd(local_lr=LR, local_steps=steps),
                       rounds=rounds, dissimilarity_at_optimum=ZETA)  # fmt: skip
    if found.value is None:
        raise SystemExit(f"({steps}, {rounds}): {found}")
    return found.value


def pepit(steps: int, rounds: int, clients: int) -> float:
    import cvxpy
    from PEPit import PEP
    from PEPit.functions import SmoothStronglyConvexFunction

    problem = PEP()
    functions = [problem.declare_function(SmoothStronglyConvexFunction, mu=MU, L=1.0) for _ in range(clients)]
    best = (sum(functions[1:], functions[0]) / clients).stationary_point()
    x = problem.set_initial_point()
    problem.set_initial_condition((x - best) ** 2 <= 1)
    for f in functions:
        problem.add_constraint(f.gradient(best) ** 2 <= ZETA**2)
    for _ in range(rounds):
        ends = []
        for f in functions:
            y = x
            for _ in range(steps):
                y = y - LR * f.gradient(y)
            ends.append(y)
        x = sum(ends[1:], ends[0]) / clients
    problem.set_performance_metric((x - best) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return problem.solve(wrapper="cvxpy", solver=cvxpy.CLARABEL, verbose=0)


def seconds(work: Callable[[], float], repeats: int) -> tuple[float, float]:
    """The least process time of several runs, and what they give."""
    times, value = [], 0.0
    for _ in range(repeats):
        began = time.process_time()
        value = work()
        times.append(time.process_time() - began)
    return min(times), value


def rows(clients: list[int]) -> list[dict]:
    found = []
    ours(2, 1)  # what is loaded on first use
    for steps, rounds in SIZES:
        spent, value = seconds(lambda s=steps, r=rounds: ours(s, r), 5 if steps * rounds <= 8 else 2)
        row = {"local_steps": steps, "rounds": rounds, "value": value, "seconds": spent, "pepit": {}}
        for m in (m for m in clients if steps * rounds * m <= BESIDE):
            theirs, other = seconds(lambda s=steps, r=rounds, m=m: pepit(s, r, m), 2 if steps * rounds * m <= 8 else 1)
            if abs(other - value) > 1e-6 * value:
                raise SystemExit(f"({steps}, {rounds}), {m} clients: PEPit says {other}, we say {value}")
            row["pepit"][m] = theirs
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[2, 3, 4, 8])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = rows(options.clients)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    heads = [f"PEPit, M = {m}" for m in options.clients]
    print("".join(f"{head:>15}" for head in ("(K, T)", "value", "ours, any M", *heads)))
    for row in found:
        cells = [f"({row['local_steps']}, {row['rounds']})", f"{row['value']:.9f}", f"{row['seconds']:.4f} s"]
        cells += [f"{row['pepit'][m]:.2f} s" if m in row["pepit"] else "" for m in options.clients]
        print("".join(f"{cell:>15}" for cell in cells))


if __name__ == "__main__":
    main()
