"""Chunks of replicas spread over threads and processes: the same bits, stores and errors."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtheory.algorithms import fast
from fedtheory.federations import Quadratic
from fedtheory.participation import IndexBeta
from fedtheory.setting import Setting
from fedtheory.simulation import Run, engine, iterates

OPTIONS: dict[str, Any] = {"replicas": 7, "rounds": 12, "seed": 3, "chunk": 2, "record_every": 5}


class Later(Executor):
    """Runs its four tasks in this order, once all have been submitted."""

    def __init__(self, order: tuple[int, ...]) -> None:
        self.order = order
        self.tasks: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append((future, lambda: fn(*args, **kwargs)))
        for place in self.order if len(self.tasks) == 4 else ():
            waiting, task = self.tasks[place]
            try:
                waiting.set_result(task())
            except ValueError as error:
                waiting.set_exception(error)
        return future


def setting() -> Setting:
    fed = Quadratic([[1.0, 0.5], [2.0, 1.0], [0.7, 1.3]], [[1, 0], [0, 1], [-1, 2]], gradient_noise=0.5)
    return Setting(fed, fast(cohort=2, local_lr="1/10", snapshot_probability=0.4), IndexBeta(2), start=2.0)


def assert_same(one: Run, other: Run) -> None:
    assert one.rows.keys() == other.rows.keys() and one.where == other.where
    assert (one.rounds == other.rounds).all() and (one.diverged_at == other.diverged_at).all()
    assert all(np.array_equal(values, other.rows[name]) for name, values in one.rows.items())


def test_threads_and_any_order() -> None:
    alone = setting().simulate(**OPTIONS)
    told: list[tuple[int, int]] = []
    with ThreadPoolExecutor(3) as pool:
        report = lambda *done: told.append(done)  # noqa: E731
        assert_same(setting().simulate(**OPTIONS, executor=pool, progress=report), alone)
    assert told[-1] == (84, 84) and len(told) == 4 and sorted(told) == told
    assert_same(setting().simulate(**OPTIONS, executor=Later((3, 1, 2, 0))), alone)


def test_iterates_are_in_the_order_of_replicas() -> None:
    options = {name: value for name, value in OPTIONS.items() if name != "record_every"}
    assert iterates(setting(), **options, executor=Later((3, 1, 2, 0))).equal(iterates(setting(), **options))


def test_processes_keep_their_chunks_in_one_store(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        spread = setting().simulate(**OPTIONS, directory=tmp_path, executor=pool)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"replica-{first:06d}" for first in (0, 2, 4, 6)]
    assert_same(spread, setting().simulate(**OPTIONS))
    assert_same(setting().simulate(**OPTIONS, directory=tmp_path), spread)  # only read


def test_a_worker_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = engine._elsewhere

    def of_another_version(asker: dict[str, str], *given: object) -> object:
        return elsewhere(asker | {"torch": "0.1"}, *given)

    monkeypatch.setattr(engine, "_elsewhere", of_another_version)
    wrong = r"executor: a worker has others than who asks: torch = 0\.1 there, .* here\. Allowed are the same versions"
    with pytest.raises(ValueError, match=wrong):
        setting().simulate(**OPTIONS, executor=Later((0, 1, 2, 3)))
