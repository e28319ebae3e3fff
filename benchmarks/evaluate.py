"""How fast claims are evaluated: ``Claim.evaluate`` beside one sympy.lambdify a term with the checks written out.

Both sides check every input and compute every term and every hypothesis, in one thread and one process, in turns; the
best and the median of the repetitions are given. Results are compared before they are timed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from fedtheory.claims.statement import Claim
from fedtheory.papers import claim
from fedtheory.quantities import QUANTITIES, check_values


class Straightforward:
    """What one would write first: a function a term and a hypothesis, over whole arrays."""

    def __init__(self, each: Claim) -> None:
        expressions = {t.name: t.expression for t in each.terms} | {h.name: h.slack for h in each.hypotheses}
        arguments = [sympy.Symbol(name) for name in each.quantities]
        plain = {s: sympy.Symbol(s.name) for e in expressions.values() for s in e.free_symbols}
        extremes = {"amin": lambda entries, axis: np.minimum(*entries)}
        self.names = each.quantities
        self.functions = {
            name: sympy.lambdify(arguments, e.xreplace(plain), [extremes, "numpy"]) for name, e in expressions.items()
        }
        self.terms = [t.name for t in each.terms]

    def __call__(self, **values: Any) -> dict[str, np.ndarray]:
        check_values(values)
        arrays = [np.asarray(values[name], dtype=float) for name in self.names]
        with np.errstate(all="ignore"):
            found = {name: function(*arrays) for name, function in self.functions.items()}
        return found | {"value": sum(found[name] for name in self.terms)}


def inputs(each: Claim, size: int | tuple, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Allowed values of every quantity, all of one size."""
    values = {
        name: rng.integers(1, 9, size).astype(float) if QUANTITIES[name].integer else rng.uniform(0.05, 0.95, size)
        for name in each.quantities
    }
    if "strong_convexity" in values:
        values["smoothness"] = values["smoothness"] + 1
    return values


def seconds(functions: list[Callable[[], object]], repetitions: int) -> list[tuple[float, float]]:
    """The least and the median process time of each, run in turns."""
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    for _ in range(repetitions):
        for function, taken in zip(functions, times, strict=True):
            start = time.process_time()
            function()
            taken.append(time.process_time() - start)
    return [(min(taken), statistics.median(taken)) for taken in times]


def same(each: Claim, baseline: Straightforward, values: Mapping[str, Any]) -> float:
    """The largest relative difference of the terms between both."""
    bound, direct = each.evaluate(**values), baseline(**values)
    return max(float(np.max(np.abs(bound.terms[n] / direct[n] - 1))) for n in bound.terms)


def measure(ref: str, points: int, repetitions: int) -> dict[str, Any]:
    """Points a second over arrays, and microseconds a call with plain numbers, of both."""
    each, rng = claim(ref), np.random.default_rng(0)
    baseline = Straightforward(each)
    arrays = inputs(each, points, rng)
    numbers = {name: float(value[0]) for name, value in arrays.items()}
    calls = 200

    def repeated(function: Callable[..., object]) -> Callable[[], object]:
        return lambda: [function(**numbers) for _ in range(calls)]

    difference = max(same(each, baseline, arrays), same(each, baseline, numbers))
    if difference > 1e-14:
        raise SystemExit(f"{ref}: the two differ by {difference:.1e}")
    (array, array_median), (base, _) = seconds(
        [lambda: each.evaluate(**arrays), lambda: baseline(**arrays)], repetitions
    )  # fmt: skip
    (call, call_median), (base_call, _) = seconds([repeated(each.evaluate), repeated(baseline)], repetitions)
    return {
        "claim": ref, "points": points, "largest_difference": difference,
        "points_per_second": points / array, "median_points_per_second": points / array_median,
        "baseline_points_per_second": points / base, "array_ratio": base / array,
        "call_microseconds": call / calls * 1e6, "median_call_microseconds": call_median / calls * 1e6,
        "baseline_call_microseconds": base_call / calls * 1e6, "call_ratio": base_call / call,
    }  # fmt: skip


def machine() -> dict[str, Any]:
    """What the timings were taken on."""
    info = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")] \
        if info.exists() else []  # fmt: skip
    return {"cpu": models[0] if models else platform.processor(), "cores": os.cpu_count(),
            "python": platform.python_version(), "numpy": np.__version__, "sympy": sympy.__version__}  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("claims", nargs="*", default=["fast.thm1@main", "fast.thm2@main"])
    parser.add_argument("--points", type=int, default=10**6)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    results = [measure(ref, options.points, options.repetitions) for ref in options.claims]
    if options.json:
        print(json.dumps({"machine": machine(), "results": results}, indent=2))
        return
    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    heads = ("points/s", "median", "baseline", "ratio", "us/call", "median", "baseline", "ratio")
    print("claim".ljust(22) + "".join(head.rjust(11) for head in heads))
    for r in results:
        rates = ("points_per_second", "median_points_per_second", "baseline_points_per_second")
        calls = ("call_microseconds", "median_call_microseconds", "baseline_call_microseconds")
        cells = [*(f"{r[k]:.3g}" for k in rates), f"{r['array_ratio']:.2f}"]
        cells += [*(f"{r[k]:.0f}" for k in calls), f"{r['call_ratio']:.2f}"]
        print(r["claim"].ljust(22) + "".join(cell.rjust(11) for cell in cells))


if __name__ == "__main__":
    main(sys.argv[1:])
