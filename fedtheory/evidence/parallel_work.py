"""Independent pieces of work on all cores, with progress."""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, as_completed, wait
from contextlib import ExitStack
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.context import BaseContext
from typing import Any

from ..process_workers import check_main_guard, end_with_parent

Tasks = Mapping[str, Callable[[], Any]]
Finish = Callable[[str, Any], None]


def run_all(
    tasks: Tasks,
    workers: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    done: Callable[[str, Any], None] | None = None,
    executor: Executor | None = None,
    together: Mapping[str, str] | None = None,
    imports: tuple[str, ...] = (),
    work: Mapping[str, float] | None = None,
    spent: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Run independent tasks on all cores, and return the result of every one, by its name.

    Each worker process runs one task at a time on one thread: on small tensors, threads that wait for one another
    cost more than they bring. Tasks must be picklable (``functools.partial`` of module-level functions) and are
    started in the order given, so the longest should come first.

    Args:
        workers: processes (default: one a core; 1 runs everything here).
        progress: called with (the name of the task that ended, tasks done, tasks in all).
        done: called with (name, result) as soon as a task ends, so that nothing is lost if a later one fails.
        executor: runs the tasks in place of processes of this machine.
        together: by task, what it shares with others (data that are loaded, say): a process goes on with the tasks of
            what it has begun, and another one begins with these only when nothing else is left.
        imports: modules that all tasks need, for processes to import once, where they can share it.
        work: by task, how much it is; progress then counts it, in thousandths of all, and not tasks.
        spent: is given the CPU seconds of every task.

    Raises:
        Exception: the first one that a task raises; tasks that have not started are then dropped.

    >>> from functools import partial
    >>> run_all({"a": partial(pow, 2, 3), "b": partial(pow, 3, 2)}, workers=1)
    {'a': 8, 'b': 9}
    """
    results: dict[str, Any] = {}
    total = sum(work[name] for name in tasks) if work else 0.0

    def finish(name: str, timed: tuple[Any, float]) -> None:
        results[name], seconds = timed
        if spent is not None:
            spent[name] = seconds
        if done:
            done(name, results[name])
        if progress and work:
            finished = sum(work[each] for each in results) / total if len(results) < len(tasks) else 1.0
            progress(name, round(1000 * finished), 1000)
        elif progress:
            progress(name, len(results), len(tasks))

    if progress and work:
        progress("", 0, 1000)
    tasks = {name: functools.partial(_timed, task) for name, task in tasks.items()}

    workers = min(workers or os.cpu_count() or 1, len(tasks))
    if executor is not None:
        _drain(executor, tasks, finish)
    elif workers <= 1:
        for name, task in tasks.items():
            finish(name, task())
    else:
        with ExitStack() as stack:
            _share_out([stack.enter_context(_worker(imports)) for _ in range(workers)], tasks, together or {}, finish)
    return {name: results[name] for name in tasks}


def _timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """The result of a task, and the CPU seconds that it took."""
    begun = time.process_time()
    result = task()
    return result, time.process_time() - begun


def _worker(imports: tuple[str, ...]) -> ProcessPoolExecutor:
    """One process, which is told task by task what to do."""
    check_main_guard("workers")
    return ProcessPoolExecutor(1, mp_context=_context(imports), initializer=_prepare)


@functools.cache
def _context(imports: tuple[str, ...]) -> BaseContext:
    """Choose the way in which processes start.

    They are forks of one that has imported what all need and does nothing else, where there is such a thing. They are
    never forks of this one, which may have threads.
    """
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(["torch", *imports])
    return context


class Queue:
    """Queue of tasks that wait, in order.

    >>> queue = Queue(["a1", "a2", "b", "c"], {"a1": "a", "a2": "a"})
    >>> queue.next(0), queue.next(1), queue.next(1), queue.next(0), queue.next(0)
    ('a1', 'b', 'c', 'a2', None)
    """

    def __init__(self, names: list[str], together: Mapping[str, str]) -> None:
        self.waiting, self.together = names, together
        self.begun: dict[str, int] = {}  # what is shared, and the worker that has begun with it
        self.last: dict[int, str] = {}  # by worker, what its last task shares

    def next(self, worker: int) -> str | None:
        """Take the task that a worker starts now; ``None`` where none is left."""
        if not self.waiting:
            return None
        same = (name for name in self.waiting if name in self.together and self._shared(name) == self.last.get(worker))
        free = (name for name in self.waiting if self.begun.get(self._shared(name), worker) == worker)
        name = next(same, None) or next(free, None) or self.waiting[-1]
        self.waiting.remove(name)
        self.last[worker] = self._shared(name)
        if name in self.together:
            self.begun.setdefault(self._shared(name), worker)
        return name

    def _shared(self, name: str) -> str:
        return self.together.get(name, "")


def _share_out(workers: list[ProcessPoolExecutor], tasks: Tasks, together: Mapping[str, str], finish: Finish) -> None:
    queue = Queue(list(tasks), together)
    running: dict[Future[Any], tuple[int, str]] = {}

    def start(worker: int) -> None:
        name = queue.next(worker)
        if name is not None:
            running[workers[worker].submit(tasks[name])] = worker, name

    for worker in range(len(workers)):
        start(worker)
    while running:
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            worker, name = running.pop(future)
            result = future.result()
            start(worker)
            finish(name, result)


def _drain(executor: Executor, tasks: Tasks, finish: Finish) -> None:
    names = {executor.submit(task): name for name, task in tasks.items()}
    try:
        for future in as_completed(names):
            finish(names[future], future.result())
    except BaseException:
        for future in names:
            future.cancel()
        raise


def _prepare() -> None:
    """Prepare a worker."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # its parent says that the work was interrupted
    import torch

    torch.set_num_threads(1)
