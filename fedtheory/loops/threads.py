"""Division of work among threads, for loops that let other threads run.

It replaces the plain call ``work(0, count)``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise


def shared_out(work: Callable[[int, int], object], count: int, threads: int, least: int = 1) -> None:
    """Do ``work(first, last)`` for spans that make up ``range(count)``, in several threads.

    This thread works, and others do if there are to be several ``threads`` and at least ``least`` for each.

    >>> found = [0] * 10
    >>> def squares(first, last):
    ...     found[first:last] = [i * i for i in range(first, last)]
    >>> shared_out(squares, 10, threads=3)
    >>> found
    [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]
    """
    parts = max(1, min(threads, count // max(least, 1)))
    if parts == 1:
        work(0, count)
        return
    bounds = [count * i // parts for i in range(parts + 1)]
    others = [_pool(os.getpid(), parts - 1).submit(work, *span) for span in list(pairwise(bounds))[1:]]
    try:
        work(0, bounds[1])
    finally:
        for each in others:
            each.result()


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """Threads of this process: those of the one that it was copied from are not in it."""
    return ThreadPoolExecutor(threads, thread_name_prefix="fedtheory")
