"""Plain step of parameters in single precision with a copy in half precision, compiled.

It replaces the torch lines ``x.add_(gradient, alpha=size)`` and ``halves.copy_(x)`` by one pass over memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiler import compiled
from .lanes import LANES, fma, load, store

Array = np.ndarray[Any, Any]


@compiled
def move(x: Array, halves: Array, gradient: Array, size: np.float32) -> None:
    """Do x += size * gradient, all (D,), and round the result to ``halves``.

    ``halves`` and ``gradient`` are bits of half precision, as ``lanes`` has them.
    """
    whole = len(x) // LANES * LANES
    for i in range(0, whole, LANES):
        v = fma(size, load(gradient, i), load(x, i))
        store(x, i, v)
        store(halves, i, v)
    rest = len(x) - whole
    if rest > 0:
        last, slope = np.zeros(LANES, np.float32), np.zeros(LANES, np.int16)
        last[:rest], slope[:rest] = x[whole:], gradient[whole:]
        v = fma(size, load(slope, 0), load(last, 0))
        store(last, 0, v)
        store(slope, 0, v)
        x[whole:], halves[whole:] = last[:rest], slope[:rest]
