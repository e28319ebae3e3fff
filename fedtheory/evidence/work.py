"""Independent pieces of work on all cores, with progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any


def run_all(
    tasks: Mapping[str, Callable[[], Any]],
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """The result of every task, by its name.

    Each worker process runs one task at a time on one thread: on small tensors, threads that wait for one another
    cost more than they bring. Tasks must be picklable (``functools.partial`` of module-level functions) and are
    started in the order given, so the longest should come first.

    Args:
        workers: processes (default: one a core; 1 runs everything here).
        progress: called with (the name of the task that ended, tasks done, tasks in all).

    Raises:
        Exception: the first one that a task raises; tasks that have not started are then dropped.

    >>> from functools import partial
    >>> run_all({"a": partial(pow, 2, 3), "b": partial(pow, 3, 2)}, workers=1)
    {'a': 8, 'b': 9}
    """
    tell = progress or (lambda name, done, total: None)
    workers = min(workers or os.cpu_count() or 1, len(tasks))
    results: dict[str, Any] = {}
    if workers <= 1:
        for name, task in tasks.items():
            results[name] = task()
            tell(name, len(results), len(tasks))
        return results
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_single_thread) as pool:
        names = {pool.submit(task): name for name, task in tasks.items()}
        try:
            for future in as_completed(names):
                results[names[future]] = future.result()
                tell(names[future], len(results), len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {name: results[name] for name in tasks}


def _single_thread() -> None:
    import torch

    torch.set_num_threads(1)
