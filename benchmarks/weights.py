"""How fast FedAU's weights and their exact errors are computed, beside a plain Python Algorithm 2.

python benchmarks/weights.py [--json]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fedtheory.weights import FedAU, weight_moments
from fedtheory.weights import exact_moments as moments

CUTOFF = 50
REPEATS = 5


def algorithm_2(participated: list[int], cutoff: float) -> list[float]:
    """Algorithm 2 of FedAU, one client at a time."""
    count, running, weight = 0, 0, 1.0
    weights = [weight]
    for present in participated[:-1]:
        running += 1
        if present or running == cutoff:
            weight = (count * weight + running) / (count + 1) if count else float(running)
            count, running = count + 1, 0
        weights.append(weight)
    return weights


def plain(history: np.ndarray, cutoff: float) -> np.ndarray:
    return np.array([algorithm_2(column, cutoff) for column in history.T.tolist()]).T


def streaming(history: np.ndarray, cutoff: float) -> np.ndarray:
    rule, weights = FedAU(cutoff), np.empty(history.shape)
    state = rule.init(history.shape[1:])
    for t, participated in enumerate(history):
        weights[t] = rule.weights(state)
        state = rule.step(state, participated)
    return weights


def seconds(
    work: Callable[[], object], repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The least of several runs: what else runs on the machine only adds."""
    times = []
    for _ in range(repeats):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def machine() -> str:
    """The processor, how many of its cores there are, and the versions that matter."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"


def rules() -> list[dict]:
    """Client-rounds a second; every way is first compared with the plain one."""
    history = (np.random.default_rng(0).random((1000, 65_536), dtype=np.float32) < 0.1).view(np.uint8)
    rows = []
    for cutoff in (CUTOFF, math.inf):
        rule = FedAU(cutoff)
        ways = {
            "plain Python": (lambda h, c=cutoff: plain(h, c), 200, 1e-12),
            "step by step": (lambda h, c=cutoff: streaming(h, c), 16_384, 1e-12),
            "batch, float64": (rule.batch, 65_536, 1e-12),
            "batch, float32": (lambda h, r=rule: r.batch(h, np.float32), 65_536, 1e-6),
        }
        reference = plain(history[:, :20], cutoff)
        for name, (way, clients, tolerance) in ways.items():
            np.testing.assert_allclose(way(history[:, :20]), reference, rtol=tolerance)
            part = np.ascontiguousarray(history[:, :clients])
            took = seconds(lambda way=way, part=part: way(part))
            rows.append({
                "what": name, "cutoff": cutoff if cutoff != math.inf else "none", "clients": clients,
                "rounds": len(part), "seconds": took, "client_rounds_per_second": part.size / took,
            })  # fmt: skip
    return rows


def exact_errors() -> list[dict]:
    """Mean and variance of the weights of 250 clients in each of 10,000 rounds; by the transform alone beside them, and
    for clients so rarely there that all of them need it."""
    usual, rare, rows = np.linspace(0.02, 0.9, 250), np.linspace(0.001, 0.05, 250), []
    for name, p, cutoff, most in (
        ("exact moments", usual, CUTOFF, moments.MOST_DAMPED),
        ("by transform", usual, CUTOFF, -1.0),
        ("rare clients", rare, CUTOFF, moments.MOST_DAMPED),
        ("exact moments", usual, math.inf, moments.MOST_DAMPED),
    ):
        kept, moments.MOST_DAMPED = moments.MOST_DAMPED, most
        try:
            took = seconds(
                lambda p=p, cutoff=cutoff: weight_moments(p, cutoff, 10_000), repeats=2, clock=time.process_time
            )
        finally:
            moments.MOST_DAMPED = kept
        rows.append({
            "what": name, "cutoff": cutoff if cutoff != math.inf else "none", "clients": 250,
            "rounds": 10_000, "seconds": took, "client_rounds_per_second": 250 * 10_000 / took,
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    rows = [*rules(), *exact_errors()]
    if arguments.json:
        print(json.dumps({"machine": machine(), "rows": rows}, indent=2))
        return
    print(machine())
    print(f"{'':16}{'cutoff':>8}{'clients':>9}{'rounds':>8}{'seconds':>10}{'client-rounds/s':>17}")
    for row in rows:
        print(
            f"{row['what']:16}{row['cutoff']!s:>8}{row['clients']:>9}{row['rounds']:>8}{row['seconds']:>10.3f}"
            f"{row['client_rounds_per_second']:>17.3g}"
        )


if __name__ == "__main__":
    main()
