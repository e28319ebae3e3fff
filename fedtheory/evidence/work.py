"""Independent pieces of work on all cores, with progress."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from ..workers import end_with_parent


def run_all(
    tasks: Mapping[str, Callable[[], Any]],
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    done: Callable[[str, Any], None] | None = None,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """The result of every task, by its name.

    Each worker process runs one task at a time on one thread: on small tensors, threads that wait for one another
    cost more than they bring. Tasks must be picklable (``functools.partial`` of module-level functions) and are
    started in the order given, so the longest should come first.

    Args:
        workers: processes (default: one a core; 1 runs everything here).
        progress: called with (the name of the task that ended, tasks done, tasks in all).
        done: called with (name, result) as soon as a task ends, so that nothing is lost if a later one fails.
        executor: runs the tasks in place of processes of this machine.

    Raises:
        Exception: the first one that a task raises; tasks that have not started are then dropped.

    >>> from functools import partial
    >>> run_all({"a": partial(pow, 2, 3), "b": partial(pow, 3, 2)}, workers=1)
    {'a': 8, 'b': 9}
    """
    results: dict[str, Any] = {}

    def finish(name: str, result: Any) -> None:
        results[name] = result
        if done:
            done(name, result)
        if progress:
            progress(name, len(results), len(tasks))

    workers = min(workers or os.cpu_count() or 1, len(tasks))
    if executor is not None:
        _drain(executor, tasks, finish)
    elif workers <= 1:
        for name, task in tasks.items():
            finish(name, task())
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare) as pool:
            _drain(pool, tasks, finish)
    return {name: results[name] for name in tasks}


def _drain(executor: Executor, tasks: Mapping[str, Callable[[], Any]], finish: Callable[[str, Any], None]) -> None:
    names = {executor.submit(task): name for name, task in tasks.items()}
    try:
        for future in as_completed(names):
            finish(names[future], future.result())
    except BaseException:
        for future in names:
            future.cancel()
        raise


def _prepare() -> None:
    """What a worker does first."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # its parent says that the work was interrupted
    import torch

    torch.set_num_threads(1)
