"""Local training in processes of one thread each, which live as long as they are needed.

Convolutions on small batches leave a second thread half idle; two processes of one thread, each with its own pairs, do
not wait for one another. Samples and models are in shared memory, so a round sends a few kilobytes.
"""

from __future__ import annotations

import ctypes
import pickle
import traceback
from collections.abc import Sequence
from itertools import pairwise
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

import numpy as np
import torch
import torch.multiprocessing as processes
from torch import Tensor

from ..process_workers import check_main_guard
from ..rationals import checked_count
from .batches import Samples, Visits
from .flat import FlatModel
from .local_solver import SGD, Solver, State
from .local_update import Trained, local_update

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of mallopt(3)
RESTARTS = 1
"""The number of times that a killed worker is replaced while it is on one task."""


class WorkerError(RuntimeError):
    """Error of a worker that failed, or was killed more often than ``RESTARTS``."""


class Workers:
    """``local_update`` of one network on one set of samples, in ``count`` processes of one thread.

    Use it as a context, or call ``close``. A worker that is killed is replaced, and its task done again, which gives
    the same numbers; workers end when this object, or the process that made it, does.

    Raises:
        ValueError: for samples that are not on the CPU, or less than one process.
    """

    def __init__(self, model: FlatModel, samples: Samples, count: int = 2) -> None:
        checked_count("count", count)
        check_main_guard("workers")
        if samples.labels.device.type != "cpu":
            raise ValueError(
                f"samples are on {samples.labels.device}: allowed is the CPU, whose cores workers share out"
            )
        self.model, self.samples = model, samples
        for each in (samples.features, samples.labels):
            each.share_memory_()
        self._shared: dict[str, Tensor] = {}
        self._workers: list[_Worker] = []
        try:
            for _ in range(count):
                self._workers.append(_Worker(model, samples))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.stop()
        self._workers = []
        self._shared = {}

    def local_update(
        self,
        start: Tensor,
        visits: Visits,
        lr: float | Sequence[float],
        solver: Solver | None = None,
        *,
        state: State | None = None,
        **options: Any,
    ) -> Trained:
        """Train locally as the function ``local_update``, in the worker processes.

        The numbers are those of the function where it has one thread (``torch.set_num_threads(1)``). Products by
        several threads may be rounded otherwise.

        Raises:
            ValueError: as there.
            WorkerError: a worker failed or died again and again; it says how.
        """
        if not self._workers:
            raise ValueError("the workers have been closed: allowed is a task before that")
        solver = SGD() if solver is None else solver
        if len(visits) < 2:
            return local_update(self.model, start, self.samples, visits, lr, solver, state=state, **options)
        state = solver.start(start[:, : self.model.trained]) if state is None else state
        self._put({"models": start, "losses": start.new_zeros(len(visits), visits.steps)} | state)
        pieces = _pieces(len(visits), len(self._workers))
        tasks = [(piece, _as_arrays(visits[piece]), lr, solver, tuple(state), options) for piece in pieces]
        self._done([pickle.dumps(("train", each)) for each in tasks])
        moved = {name: self._shared[f"new {name}"][: len(visits)].clone() for name in ("models", "losses", *state)}
        return Trained(moved.pop("models"), moved, moved.pop("losses"))

    def _put(self, values: dict[str, Tensor]) -> None:
        """Copy tensors into shared memory, which grows where it is too small. What comes of them has a place of its own
        there, so that a task can be done again."""
        fresh: dict[str, Tensor] = {}
        for name, value in values.items():
            old = self._shared.get(name)
            if old is None or len(old) < len(value) or old.shape[1:] != value.shape[1:] or old.dtype != value.dtype:
                for each in (name, f"new {name}"):
                    fresh[each] = torch.empty(value.shape, dtype=value.dtype).share_memory_()
        self._shared |= fresh
        for name, value in values.items():
            self._shared[name][: len(value)] = value
        if fresh:
            for worker in self._workers:
                worker.shared = self._shared
                worker.share()

    def _done(self, messages: list[bytes]) -> None:
        """Have messages done, one by each of the first workers."""
        busy = dict(zip(self._workers, messages, strict=False))
        left = {worker: RESTARTS for worker in busy}
        ended: set[_Worker] = set()
        for worker, message in busy.items():
            worker.send(message)
        failed: str | None = None
        while len(ended) < len(busy):
            waiting = [worker for worker in busy if worker not in ended]
            wait([handle for worker in waiting for handle in (worker.connection, worker.process.sentinel)])
            for worker in waiting:
                kind, answer = worker.answer()
                if kind == "died":
                    if left[worker] == 0:
                        self.close()
                        raise WorkerError(f"a worker died again ({answer}): is there memory enough for its pairs?")
                    left[worker] -= 1
                    worker.start()
                    worker.send(busy[worker])
                elif kind is not None:
                    ended.add(worker)
                    failed = answer if kind == "error" else failed
        if failed is not None:
            raise WorkerError(f"a worker failed:\n{failed}")


class _Worker:
    """One process, seen from its maker."""

    def __init__(self, model: FlatModel, samples: Samples) -> None:
        self.given = (model, samples)
        self.shared: dict[str, Tensor] = {}
        self.start()

    def start(self) -> None:
        context = processes.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other, *self.given), daemon=True)
        self.process.start()
        other.close()
        if self.shared:
            self.share()

    def share(self) -> None:
        self._try_to_send(lambda: self.connection.send(("share", self.shared)))

    def send(self, message: bytes) -> None:
        self._try_to_send(lambda: self.connection.send_bytes(message))

    def answer(self) -> tuple[str | None, Any]:
        """("done", None), ("error", text), ("died", how), or (None, None) while it is at work."""
        try:
            if self.connection.poll():
                return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
        if self.process.is_alive():
            return None, None
        return "died", f"exit code {self.process.exitcode}"

    def stop(self) -> None:
        self.connection.close()  # upon which it ends by itself
        self.process.join(timeout=2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()

    def _try_to_send(self, sending: Any) -> None:
        try:
            sending()
        except OSError:  # it is dead, which its next answer says
            self.process.join()


def _work(connection: Connection, model: FlatModel, samples: Samples) -> None:
    """The life of a worker: tasks until its maker goes away."""
    torch.set_num_threads(1)
    _keep_memory()
    shared: dict[str, Tensor] = {}
    while True:
        try:
            kind, given = connection.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        if kind == "share":
            shared = given
            continue
        try:
            _task(model, samples, shared, *given)
            connection.send(("done", None))
        except BaseException:
            connection.send(("error", traceback.format_exc()))


def _keep_memory() -> None:
    """Have the C library (glibc; elsewhere nothing happens) keep freed memory for the next step.

    By default blocks of 32 MiB and more, such as an LSTM's results over all times, come from the system anew each time,
    which fills them with zeros: a fourth of that step's time.
    """
    try:
        adjust = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    adjust(_TRIM_THRESHOLD, 2**31 - 1)
    adjust(_MMAP_MAX, 0)


def _task(
    model: FlatModel,
    samples: Samples,
    shared: dict[str, Tensor],
    piece: slice,
    visits: list[np.ndarray | None],
    lr: float | Sequence[float],
    solver: Solver,
    remembered: Sequence[str],
    options: dict[str, Any],
) -> None:
    """Train some of the pairs."""
    index, weights, dropout, augmented = (None if each is None else torch.from_numpy(each) for each in visits)
    assert index is not None
    state = {name: shared[name][piece] for name in remembered}
    start = shared["models"][piece]
    found = local_update(
        model, start, samples, Visits(index, weights, dropout, augmented), lr, solver, state=state, **options
    )
    for name, value in {"models": found.models, "losses": found.losses, **found.state}.items():
        shared[f"new {name}"][piece] = value


def _as_arrays(visits: Visits) -> list[np.ndarray | None]:
    """Visits as numbers, which go through a pipe at less cost than tensors."""
    parts = (visits.index, visits.weights, visits.dropout_keys, visits.augmentation_keys)
    return [None if each is None else each.numpy() for each in parts]


def _pieces(pairs: int, workers: int) -> list[slice]:
    """Pairs in as many parts of nearly the same size, none empty."""
    count = min(pairs, workers)
    bounds = [pairs * i // count for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(bounds)]
