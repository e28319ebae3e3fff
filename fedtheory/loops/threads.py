"""Work shared out among threads, for loops that let other threads run; and how many threads torch's own work takes."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
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


MOST = 1024
"""Threads that a run may have."""
_LOCK = threading.Lock()
_HELD: list[int] = []
"""The number of threads of everything that is fixed now, and before it the number that there was before."""


@contextlib.contextmanager
def fixed(threads: int) -> Iterator[None]:
    """Let torch, and what is shared out by its number of threads, have so many: how a product of matrices is split
    among threads decides its last bits. The number belongs to the process, so all that is fixed at a time has the same.

    Raises:
        ValueError: another run of this process has another number now, or more than ``MOST``.

    >>> import torch
    >>> with fixed(1):
    ...     torch.get_num_threads()
    1
    """
    import torch

    if threads > MOST:
        raise ValueError(f"threads = {threads}: allowed is an integer from 1 to {MOST}")
    with _LOCK:
        if len(_HELD) > 1 and _HELD[-1] != threads:
            raise ValueError(f"threads = {threads}: another run of this process has {_HELD[-1]} now: allowed is that")
        if not _HELD:
            _HELD.append(torch.get_num_threads())
        _HELD.append(threads)
        torch.set_num_threads(threads)  # of this thread, too
    try:
        yield
    finally:
        with _LOCK:
            _HELD.pop()
            if len(_HELD) == 1:
                torch.set_num_threads(_HELD.pop())
