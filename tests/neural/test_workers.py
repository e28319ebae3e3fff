"""Workers give the function's own numbers, survive being killed, say what failed, and leave nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
import torch

from fedtheory.neural import SGD, Adam, FlatModel, Samples, Visits, local_update, models
from fedtheory.neural.training_workers import WorkerError, Workers
from tests.neural.common import IMAGE, samples_for, visits_for

MODEL = FlatModel(models.multinomial_logistic())


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As workers have, so that the function's numbers have their bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def samples() -> Samples:
    return samples_for(IMAGE)


@pytest.fixture(scope="module")
def workers(samples: Samples) -> Iterator[Workers]:
    with Workers(MODEL, samples, count=2) as made:
        yield made


def start(pairs: int) -> torch.Tensor:
    return torch.stack([MODEL.initial(seed) for seed in range(pairs)])


@pytest.mark.parametrize("solver", [SGD(), SGD(momentum=0.9, keep=True), Adam()])
@pytest.mark.parametrize("pairs", [1, 2, 5, 3])
def test_workers_give_the_functions_numbers(workers: Workers, samples: Samples, pairs: int, solver: SGD | Adam) -> None:
    visits = visits_for(samples, pairs, steps=3, batch=4, seed=pairs)
    mine = local_update(MODEL, start(pairs), samples, visits, 0.1, solver, path="loop")
    theirs = workers.local_update(start(pairs), visits, 0.1, solver, path="loop")
    assert torch.equal(mine.models, theirs.models) and torch.equal(mine.losses, theirs.losses)
    assert mine.state.keys() == theirs.state.keys()
    assert all(torch.equal(mine.state[name], theirs.state[name]) for name in mine.state)
    again = workers.local_update(theirs.models, visits, 0.1, solver, state=theirs.state, path="loop")
    expected = local_update(MODEL, mine.models, samples, visits, 0.1, solver, state=mine.state, path="loop")
    assert torch.equal(again.models, expected.models)


def test_a_worker_that_was_killed_is_replaced(workers: Workers, samples: Samples) -> None:
    visits = visits_for(samples, 4, steps=2, batch=4)
    expected = local_update(MODEL, start(4), samples, visits, 0.1, path="loop").models
    before = workers._workers[0].process.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert torch.equal(workers.local_update(start(4), visits, 0.1, path="loop").models, expected)
    assert workers._workers[0].process.pid != before


def test_what_fails_in_a_worker_is_told_and_the_next_task_runs(workers: Workers, samples: Samples) -> None:
    visits = visits_for(samples, 4, steps=2, batch=4)
    beyond = Visits(visits.index + len(samples))
    with pytest.raises(WorkerError, match="out of"):
        workers.local_update(start(4), beyond, 0.1, path="loop")
    assert workers.local_update(start(4), visits, 0.1, path="loop").losses.shape == (4, 2)


def test_nothing_is_left_behind(samples: Samples) -> None:
    with Workers(MODEL, samples, count=1) as made:
        pid = made._workers[0].process.pid
        assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(ValueError, match="have been closed"):
        made.local_update(start(2), visits_for(samples, 2, 1, 2), 0.1)


def test_no_workers_are_refused(samples: Samples) -> None:
    with pytest.raises(ValueError, match="count = 0"):
        Workers(MODEL, samples, count=0)
