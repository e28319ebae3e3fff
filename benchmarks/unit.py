"""The unit of time: CPU seconds of a fixed piece of work, in which all times of this project are stated.

    OMP_NUM_THREADS=1 python benchmarks/unit.py

The work is a mix like the package's own, on one thread: plain Python with rational numbers, numpy, sympy, and products
in torch. A server core of 2024 does it in about a second. Times in units (a command's CPU seconds, or its seconds
by the clock on two idle cores, over this) can be compared between machines within some 20%; seconds cannot.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import sympy
import torch
from sympy.core.cache import clear_cache


def plain_python() -> int:
    """Partial sums of 1 / (k^2 + 1) in rational numbers, and a table of words."""
    total, table = Fraction(0), {}
    for k in range(1, 260):
        total += Fraction(1, k * k + 1)
    for k in range(1_100_000):
        table[f"{k % 977}"] = table.get(f"{k % 977}", 0) + (k * k) % 7
    return len(table) + total.numerator % 2


def arrays() -> float:
    """A recursion over small arrays, which numpy's overhead binds, and sorts and exponentials of a large one."""
    rng = np.random.default_rng(0)
    x, step = rng.random((16, 4)), rng.random((16, 4)) / 2
    for _ in range(150_000):
        x = np.minimum(x * step + 0.25, 1.0)
    large = rng.random(2_500_000)
    return float(x.sum() + np.sort(large)[0] + np.exp(-large).sum())


def formulas() -> int:
    """Derivatives and expansions of a rational expression, which no cache holds."""
    clear_cache()
    x, y, z = sympy.symbols("x y z", positive=True)
    expanded = sympy.expand((x + 2 * y + 3 * z + 1) ** 9)
    slope = sympy.diff(expanded, x, y)
    return len(slope.args) + len(sympy.together(sympy.diff(1 / (x + y) + z / (1 + x * y), x)).args)


def product() -> float:
    """Products of square matrices in torch, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    a = torch.linspace(-1, 1, 640 * 640, dtype=torch.float64).reshape(640, 640)
    for _ in range(38):
        a = a @ a / 640
    torch.set_num_threads(threads)
    return float(a[0, 0])


WORK: tuple[Callable[[], object], ...] = (plain_python, arrays, formulas, product)


def unit(repetitions: int = 3) -> float:
    """Measure the CPU seconds of the work: the least of so many repetitions, after one that is not counted."""
    for part in WORK:
        part()
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        for part in WORK:
            part()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--parts", action="store_true", help="also what each part takes")
    asked = parser.parse_args()
    if asked.parts:
        for part in WORK:
            part()
            begun = time.process_time()
            part()
            print(f"{part.__name__:14} {time.process_time() - begun:.3f} s")
    print(f"{unit(asked.repetitions):.3f}")
