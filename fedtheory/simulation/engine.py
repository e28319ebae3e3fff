"""The batched engine: all replicas of a setting advance round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .. import __version__
from ..federations.devices import same_bits
from .checkpoint import Checkpoints, known_choices
from .drawn_participants import Participants
from .fused_rounds import Several
from .memory_limits import chunks, settled
from .observer import Observer
from .progress import ProgressBar
from .rounds import advance
from .run import Run
from .state import Plan, State

if TYPE_CHECKING:
    from ..setting import Setting


Keep = tuple[str | Path | None, int]
"""The directory of checkpoints, and the rounds between them."""


def simulate(
    setting: Setting,
    *,
    replicas: int = 32,
    rounds: int = 1000,
    seed: int = 0,
    record_every: int | None = None,
    observers: Sequence[Observer | str] | None = None,
    chunk: int | None = None,
    pairs_at_once: int | None = None,
    memory_limit: int | None = None,
    device: str | torch.device = "auto",
    dtype: str | torch.dtype | None = None,
    directory: str | Path | None = None,
    checkpoint_every: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    executor: Executor | None = None,
) -> Run:
    """Simulate ``replicas`` independent runs of ``rounds`` rounds.

    Args:
        record_every: rounds between recorded rows (default: rounds / 100, at least 1). The last round is always
            recorded, and sums, minima and maxima are accumulated in every round.
        observers: what is watched, ``Observer`` objects or names of ``OBSERVERS``. By default, for convex federations
            ``squared_distance`` and ``squared_gradient``, which costs a full gradient a round. For networks,
            ``Evaluation`` on test points in the recorded rounds. ``peaks`` are FAST's G_1 to G_3. Adaptive snapshots
            are always watched besides, see ``Run``.
        device: "auto" (CUDA where there is one, else the CPU), "cpu", "cuda", "cuda:1", ...
        dtype: float32 or float64, by name or as torch has it; by default float64, for networks float32. Weights are in
            float64 either way. So are draws, but for Gaussian noise, of which float32 draws its own.
        chunk: replicas that advance together (default: as many as ``memory_limit`` allows, up to a size at which more
            at once are no faster). Draws do not depend on it. A chunk for which a GPU has no memory is halved.
        pairs_at_once: (replica, client) pairs that train together (default: as many as ``memory_limit`` allows, of
            quadratics as many as stay in a processor's cache).
        memory_limit: bytes that the simulation may hold besides the federation's data, with what is recorded. They are
            predicted before the run, which is chunked accordingly; for networks, a trial step is measured. The default
            is a quarter of what is free, rounded down to a power of two, at most 4 GiB.
        directory: where to keep checkpoints; an interrupted run continues from the last one. A second process waits for
            the first, and then reads.
        checkpoint_every: rounds between checkpoints (default: a tenth of the run).
        progress: called with (replica-rounds done, replica-rounds in all); ``True``: a bar with the time that is left.
            With an executor, after each chunk.
        executor: of ``concurrent.futures``, threads, processes or machines. The chunks are spread over it, each with a
            ``memory_limit`` of its own. Bits depend on ``chunk`` alone, which says how much there is to spread.
            Processes are sent the setting, so its parts must be such as can be sent.

    Raises:
        ValueError: a count below 1; a directory that holds another run; an observer of what the setting does not have
            (adaptive snapshots need a training accuracy); a device that is not there; too low a limit; another dtype
            than float32 and float64; or a worker whose versions are others than here.
    """
    counts = {
        "replicas": replicas,
        "rounds": rounds,
        "record_every": record_every,
        "chunk": chunk,
        "pairs_at_once": pairs_at_once,
        "memory_limit": memory_limit,
        "checkpoint_every": checkpoint_every,
    }
    for name, value in counts.items():
        if value is not None and (value < 1 or value != int(value)):
            raise ValueError(f"{name} = {value}: allowed is an integer >= 1")
    plan = Plan.of(setting, rounds, seed, record_every or max(1, rounds // 100), observers, device, dtype)
    plan = settled(plan, known_choices(directory))
    together, pairs = chunks(plan, replicas, memory_limit)
    size, plan = chunk or together, replace(plan, pairs_at_once=pairs_at_once or pairs)
    report = ProgressBar() if progress is True else progress or None
    spans = [(start, min(start + size, replicas)) for start in range(0, replicas, size)]
    keep = directory, checkpoint_every or max(1, rounds // 10)
    if executor is not None:
        return Run.join(_spread(executor, plan, spans, keep, _shifted(report, 0, replicas * rounds)))
    parts, left = [], spans[::-1]
    with plan.federation.working(), same_bits(plan.device):
        while left:
            span = left.pop()
            try:
                parts.append(_chunk(plan, span, keep, _shifted(report, span[0] * rounds, replicas * rounds)))
            except torch.OutOfMemoryError as error:
                left += _halves(span, directory, error)[::-1]
    return Run.join(parts)


def _halves(
    span: tuple[int, int], directory: str | Path | None, error: torch.OutOfMemoryError
) -> list[tuple[int, int]]:
    """A span of replicas that a device has no memory for, in two. Checkpoints know the replicas that they are of, so
    where they are kept it is said what to ask for instead."""
    start, stop = span
    if stop - start == 1 or directory is not None:
        raise ValueError(
            f"the device has no memory for {stop - start} replicas at a time ({str(error).splitlines()[0][:120]}): "
            "allowed is a lower chunk, pairs_at_once or memory_limit"
            + ", in another directory"
            * (directory is not None)
        ) from None
    middle = (start + stop) // 2
    return [(start, middle), (middle, stop)]


def _chunk(plan: Plan, span: tuple[int, int], keep: Keep, progress: Callable[[int], None]) -> Run:
    """The replicas of ``span``."""
    ids = torch.arange(*span, device=plan.device)
    with _store(plan, ids, *keep) as store:
        return _run_chunk(plan, ids, store, progress)


def _spread(
    executor: Executor, plan: Plan, spans: list[tuple[int, int]], keep: Keep, progress: Callable[[int], None]
) -> list[Run]:
    """The chunks, in order, run by the executor; where one fails, those that have not begun are called off."""
    futures = [executor.submit(_elsewhere, _versions(), plan, span, keep) for span in spans]
    done = 0
    try:
        for future in as_completed(futures):
            done += future.result().replicas
            progress(done * plan.rounds)
    finally:
        for future in futures:
            future.cancel()
    return [future.result() for future in futures]


def _elsewhere(versions: dict[str, str], plan: Plan, span: tuple[int, int], keep: Keep) -> Run:
    """A chunk, in a worker."""
    own = _versions()
    differing = [f"{name} {own[name]}, not {version}" for name, version in versions.items() if own[name] != version]
    if differing:
        raise ValueError(f"executor: a worker has {'; '.join(differing)}: allowed are the versions of who asks")
    with plan.federation.working(), same_bits(plan.device):
        return _chunk(plan, span, keep, lambda done: None)


def _versions() -> dict[str, str]:
    """Return the versions on which draws and iterates may depend besides the plan."""
    return {"torch": torch.__version__, "numpy": np.__version__, "fedtheory": __version__}


def _store(plan: Plan, ids: Tensor, directory: str | Path | None, every: int) -> AbstractContextManager[Checkpoints]:
    """Open the checkpoints of a chunk.

    The label that it must agree with takes a look at all data, and is not asked for in memory.
    """
    return Checkpoints.open(directory, {} if directory is None else plan.label(ids), every)


def _shifted(progress: Callable[[int, int], None] | None, done: int, total: int) -> Callable[[int], None]:
    return (lambda more: progress(done + more, total)) if progress else (lambda more: None)


def _run_chunk(plan: Plan, ids: Tensor, store: Checkpoints, progress: Callable[[int], None]) -> Run:
    state = State.initial(plan, ids)
    round = store.restore(plan, state)
    several = Several.of(plan)
    participants = Participants(plan, ids, round, listed=several is None or several.listed)
    while round <= plan.rounds:
        state.observe(plan, round)
        if round % plan.record_every == 0 or round == plan.rounds:
            store.record([(round, state.row())])
        if round == plan.rounds:
            break
        made, rows = several.advance(state, round, participants, store.spacing) if several else (0, [])
        store.record(rows)
        if not made:
            advance(plan, state, round, participants.step(state))
        round += made or 1
        progress(round * len(ids))
        store.maybe_save(round, state)
    store.finish(plan.rounds, state)
    return store.load(plan, state)
