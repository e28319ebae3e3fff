"""The batched engine: all replicas of a setting advance round by round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..arguments import check_has, check_kind
from ..federations.devices import same_bits
from ..loops.threads import fixed
from ..process_workers import check_main_guard
from ..provenance import Record, differences
from ..rationals import checked_count
from .checkpoint import Checkpoints, continued, known_label, known_spacing
from .chunked_training import Rounds, T, train
from .drawn_participants import Participants
from .fused_rounds import Several
from .kept_models import Origin, begun
from .memory_limits import chunks, settled
from .observer import Observer
from .progress import ProgressBar
from .rounds import advancing
from .run import Row, Run
from .segment import Segment
from .state import Plan, State

if TYPE_CHECKING:
    from ..setting import Setting
    from .packed_runs import PackedCheckpoints
    from .trackers import Tracker
    from .tracking import Tell, Tracking


class Keep(NamedTuple):
    """The directory of checkpoints, and the rounds between them; or, of a run that goes on from one in memory, what
    made that, and the segments to go on from by their first replica."""

    directory: str | Path | None
    every: int
    history: list[Record] | None = None
    begun: Mapping[int, Segment] | None = None


def simulate(
    setting: Setting,
    *,
    replicas: int | None = None,
    rounds: int = 1000,
    seed: int | None = None,
    record_every: int | None = None,
    observers: Sequence[Observer | str] | None = None,
    chunk: int | None = None,
    pairs_at_once: int | None = None,
    memory_limit: int | None = None,
    threads: int = 1,
    device: str | torch.device = "auto",
    dtype: str | torch.dtype | None = None,
    directory: str | Path | None = None,
    checkpoint_every: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    executor: Executor | None = None,
    mixed: bool = False,
    keep_models: int | None = None,
    memory_on_disk: bool | None = None,
    start: Run | None = None,
    track: str | Tracker | Tracking | None = None,
) -> Run:
    """Simulate ``replicas`` independent runs of ``rounds`` rounds.

    Args:
        replicas: by default 32, or as many as ``start`` has.
        seed: of all draws; by default 0, or that of ``start``.
        record_every: rounds between recorded rows (default: rounds / 100, at least 1); the last round is always
            recorded, and sums, minima and maxima are accumulated in every round.
        observers: what is watched, ``Observer`` objects or names of ``OBSERVERS``. By default ``squared_distance`` and
            ``squared_gradient`` of convex federations (the latter costs a full gradient a round), and of networks
            ``Evaluation`` on test points in the recorded rounds. ``peaks`` are FAST's G_1 to G_3. Adaptive snapshots
            are always watched besides, see ``Run``.
        device: "auto" (CUDA where there is one, else the CPU), "cpu", "cuda", "cuda:1", ...
        dtype: float32 or float64, by name or as torch has it; by default float64, for networks float32. Weights
            are in float64 either way, and so are draws, but for Gaussian noise, of which float32 draws its own.
        chunk: replicas that advance together (default: as many as ``memory_limit`` allows, up to a size at which more
            at once are no faster). Draws do not depend on it. A chunk for which a GPU has no memory is halved.
        pairs_at_once: (replica, client) pairs that train together (default: as many as ``memory_limit`` allows, of
            quadratics as many as stay in a processor's cache).
        memory_limit: bytes that the simulation may hold besides the federation's data, with what is recorded; predicted
            before the run, which is chunked accordingly (default: 4 GiB on every machine, since another split may
            change last bits; it is refused if less is free than that split needs). Of networks a trial step is
            measured.
        threads: of torch and of compiled loops, while the simulation runs: products by several may be rounded
            otherwise than by one.
        directory: where to keep checkpoints; an interrupted run continues from the last one, split as it was begun, and
            a finished one with more ``rounds``, recorded as often. A second process waits for the first, then reads.
        checkpoint_every: rounds between checkpoints (default: a tenth of the run).
        progress: called with (replica-rounds done, replica-rounds in all); ``True``: a bar with the time that is left.
            With an executor, after each chunk.
        executor: of ``concurrent.futures``, threads, processes or machines, over which the chunks are spread, each with
            a ``memory_limit`` of its own. Bits depend on ``chunk`` alone, which says how much there is to spread.
            Processes are sent the setting, so its parts must be such as can be sent.
        mixed: whether a run in ``directory`` that something else has begun (versions, threads, processor, device, path,
            chunk) may be gone on with, and workers may have other versions or processors: ``Run.where`` says it.
        keep_models: rounds between models that are kept in ``Run.models``, from round 0 on; the last one always is. By
            default as it was in a directory that has the run.
        memory_on_disk: whether what an algorithm remembers of every client (FedVarp, MIFA, solvers that keep their
            state) is in files in ``directory``, mapped into memory; by default as it was in a directory that has the
            run. Between two checkpoints the rows that change are held in memory; the bits are the same.
        start: a run of this setting that is gone on with, to the bits of one of all ``rounds``. What is not given is as
            it was in that run. It has to be one that was made in this process.

    Raises:
        ValueError: a count below 1, or another dtype than float32 and float64. A step size by rule that is not > 0 in
            one of the rounds. A directory that holds another run, or one that something else has begun. An observer of
            what the setting does not have: adaptive snapshots need a training accuracy. A device that is not there, too
            low a limit or too little memory. Another number of threads than a run has that goes on beside, or a worker
            with other versions or another processor. A start of another setting, or that does not have its state.
            Memory on disk without a directory, on another device than a CPU, or of an algorithm that remembers nothing
            of each client.
    """
    if start is not None:
        record_every, observers, dtype, keep_models = _as_in(start, rounds, record_every, observers, dtype, keep_models)
    replicas = replicas if replicas is not None else 32 if start is None else start.replicas
    seed = seed if seed is not None else start.origin.seed if start is not None and start.origin else 0
    counts: dict[str, Any] = {
        "replicas": replicas,
        "rounds": rounds,
        "record_every": record_every,
        "chunk": chunk,
        "pairs_at_once": pairs_at_once,
        "memory_limit": memory_limit,
        "threads": threads,
        "checkpoint_every": checkpoint_every,
        "keep_models": keep_models,
    }
    for name, value in counts.items():
        if value is not None or name in ("replicas", "rounds"):
            counts[name] = checked_count(name, value)
    replicas, rounds, record_every, chunk, pairs_at_once, memory_limit, threads, checkpoint_every, keep_models = (
        counts.values()
    )
    if executor is not None:
        check_has("executor", executor, ("submit", "shutdown"), "an executor, such as ProcessPoolExecutor(2)")
    if progress is not None:
        check_has(
            "progress",
            progress,
            ("__bool__",) if isinstance(progress, bool) else ("__call__",),
            "a function of rounds done and rounds in all, or True",
        )
    if directory is not None:
        check_kind("directory", directory, (str, PathLike), "a path")
    tracking = _tracking(track)
    report = ProgressBar() if progress is True else progress or None
    keep = Keep(directory, checkpoint_every or max(1, rounds // 10))
    with fixed(threads):
        label = known_label(directory)
        record_every = record_every or known_spacing(label, rounds) or max(1, rounds // 100)
        plan = Plan.of(setting, rounds, seed, record_every, observers, device, dtype)
        plan = replace(
            plan,
            threads=threads,
            mixed=mixed,
            keep_models=keep_models or label.get("keep_models"),
            memory_on_disk=bool(label.get("memory_on_disk")) if memory_on_disk is None else memory_on_disk,
            checkpoint_every=keep.every,
        )
        if plan.memory_on_disk:
            _check_on_disk(plan, directory)
        known = label.get("made_by", [{}])[-1] if label else None
        begin: list[Segment] = []
        if start is not None:
            begin, known = begun(start), start.origin.made_by if start.origin else None
            _check_start(start, plan, replicas, directory)
        plan = settled(plan, known)
        together, pairs = chunks(plan, replicas, memory_limit, known)
        size = min(chunk or together, replicas)
        plan = replace(plan, chunk=size, pairs_at_once=pairs_at_once or pairs)
        if tracking is not None:
            plan = replace(plan, tracking=tracking.described(setting, plan.where, replicas))
        spans = [(first, min(first + size, replicas)) for first in range(0, replicas, size)]
        if start is not None:
            keep = _from_start(start, plan, spans, begin, keep)
        if executor is not None:
            return _made(Run.join(_spread(executor, plan, spans, keep, _shifted(report, 0, replicas * rounds))), plan)
        parts, left = [], [(plan, span) for span in spans[::-1]]
        with plan.federation.working(), same_bits(plan.device):
            while left:
                plan, span = left.pop()
                try:
                    parts.append(_chunk(plan, span, keep, _shifted(report, span[0] * rounds, replicas * rounds)))
                except torch.OutOfMemoryError as error:
                    halves = _halves(span, directory or ("start" if start is not None else None), error)
                    plan = replace(plan, chunk=halves[0][1] - halves[0][0])
                    left += [(plan, half) for half in halves[::-1]]
        return _made(Run.join(parts), plan)


def _tracking(track: str | Tracker | Tracking | None) -> Tracking | None:
    """What is told, and to whom."""
    if track is None:
        return None
    from .tracking import Tracking  # which a run that is told to nobody does not need

    return track if isinstance(track, Tracking) else Tracking(track)


def _check_on_disk(plan: Plan, directory: str | PathLike | None) -> None:
    """Refuse memory on disk where there is none to keep, or nowhere to keep it."""
    allowed = "memory_on_disk = True: allowed with"
    if directory is None:
        raise ValueError(f"{allowed} directory=, in which it is kept")
    if plan.device.type != "cpu":
        raise ValueError(f"{allowed} device='cpu', not {plan.device}")
    if not plan.tables:
        raise ValueError(
            f"{allowed} algorithms that remember something of each client, such as fedvarp, mifa, or a local solver "
            f"with keep=True, not {plan.setting.algorithm}"
        )


def _made(run: Run, plan: Plan) -> Run:
    """The run with what made it."""
    return replace(run, origin=Origin.of(plan))


def _as_in(start: Run, rounds: int, *given: Any) -> tuple[Any, ...]:
    """What is given of ``record_every``, ``observers``, ``dtype`` and ``keep_models``, else as it was."""
    check_kind("start", start, Run, "a run that simulate has returned, to be gone on with")
    last = int(start.rounds[-1])
    if rounds <= last:
        raise ValueError(f"rounds = {rounds}: allowed is more than the {last} rounds that start has")
    if start.origin is None:
        begun(start)
    was = start.origin
    kept = (was.record_every, was.observers, was.dtype, was.keep_models) if was is not None else given
    return tuple(old if new is None else new for new, old in zip(given, kept, strict=True))


def _check_start(start: Run, plan: Plan, replicas: int, directory: str | PathLike | None) -> None:
    """Refuse a start that is none of this plan."""
    was = start.origin
    assert was is not None
    if directory is not None:
        raise ValueError("start and directory are both given: allowed is one, since a directory has its own start")
    there = {
        "replicas": start.replicas,
        "seed": was.seed,
        "record_every": was.record_every,
        "dtype": was.dtype,
        "observers": was.observers,
        "keep_models": was.keep_models,
    }
    here = {
        "replicas": replicas,
        "seed": plan.seed,
        "record_every": plan.record_every,
        "dtype": plan.dtype,
        "observers": plan.observers,
        "keep_models": plan.keep_models,
    }
    differing = [f"{name} = {there[name]} there, {here[name]} here" for name in there if there[name] != here[name]]
    if was.setting is not plan.setting and was.setting.fingerprint() != plan.setting.fingerprint():
        differing.append("another setting")
    if differing:
        raise ValueError(f"start is another run: {'; '.join(differing)}; allowed is a run of the same")


def _from_start(start: Run, plan: Plan, spans: list[tuple[int, int]], begin: list[Segment], keep: Keep) -> Keep:
    """Where each chunk goes on from."""
    assert start.origin is not None
    history = continued([start.origin.made_by], plan.made_by, plan.mixed, "start is")
    ends = np.cumsum([0, *(chunk.replicas for chunk in start.state)]).tolist()
    was = list(pairwise(ends))
    if spans != was:
        raise ValueError(f"chunk: start has chunks of replicas {was}, here they are {spans}; allowed are the same")
    return keep._replace(history=history, begun=dict(zip(ends, begin, strict=False)))


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
    with _store(plan, ids, keep) as store:
        if plan.tracking is None:
            return _run_chunk(plan, ids, store, progress)
        with plan.tracking.telling(plan.label(ids)) as tell:
            return _run_chunk(plan, ids, store, progress, tell)


def _spread(
    executor: Executor, plan: Plan, spans: list[tuple[int, int]], keep: Keep, progress: Callable[[int], None]
) -> list[Run]:
    """The chunks, in order, run by the executor; where one fails, those that have not begun are called off."""
    if isinstance(executor, ProcessPoolExecutor) and _imports_main(executor):
        check_main_guard("executor")
    futures = [executor.submit(_elsewhere, plan.made_by, plan, span, keep) for span in spans]
    done = 0
    try:
        for future in as_completed(futures):
            done += future.result().replicas
            progress(done * plan.rounds)
    finally:
        for future in futures:
            future.cancel()
    return [future.result() for future in futures]


def _imports_main(executor: ProcessPoolExecutor) -> bool:
    """Whether its processes import the script that made it; those that are forked have it."""
    context = getattr(executor, "_mp_context", None)
    return context is not None and context.get_start_method() != "fork"


def _elsewhere(asker: Record, plan: Plan, span: tuple[int, int], keep: Keep) -> Run:
    """A chunk, in a worker."""
    with fixed(plan.threads):
        plan.__dict__.pop("made_by", None)  # it is that of another machine
        if not plan.mixed and (differing := differences(asker, plan.made_by)):
            raise ValueError(
                f"executor: a worker has others than who asks: {'; '.join(differing)}. Allowed are the "
                "same versions, processor and device, or mixed=True, which is recorded"
            )
        with plan.federation.working(), same_bits(plan.device):
            return _chunk(plan, span, keep, lambda done: None)


def _store(plan: Plan, ids: Tensor, keep: Keep) -> AbstractContextManager[Checkpoints]:
    """Open the checkpoints of a chunk.

    The label that it must agree with takes a look at all data, and is not asked for in memory.
    """
    if keep.directory is None:
        segment = keep.begun[int(ids[0])] if keep.begun else None
        return nullcontext(Checkpoints(None, keep.every, keep.history or [plan.made_by], segment))
    return Checkpoints.open(keep.directory, plan.label(ids), keep.every, plan.made_by, plan.mixed)


def _shifted(progress: Callable[[int, int], None] | None, done: int, total: int) -> Callable[[int], None]:
    return (lambda more: progress(done + more, total)) if progress else (lambda more: None)


def _run_chunk(
    plan: Plan, ids: Tensor, store: Checkpoints, progress: Callable[[int], None], tell: Tell | None = None
) -> Run:
    return store.load(plan, alone(going_to_the_end(plan, ids, store, progress, tell)))


def alone(rounds: Rounds[T]) -> T:
    """Go the whole way, one training after the other, and return its result."""
    trained: Any = None
    while True:
        try:
            asked = rounds.send(trained)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        trained = train(asked)


def going_to_the_end(
    plan: Plan,
    ids: Tensor,
    store: Checkpoints | PackedCheckpoints,
    progress: Callable[[int], None],
    tell: Tell | None = None,
) -> Rounds[State]:
    """Advance replicas from where their checkpoints end to the last round, and return the state there."""
    state = State.initial(plan, ids)
    round = store.restore(plan, state)
    if tell is not None:
        tell(store.rows(state.sums))
    several = Several.of(plan)
    participants = Participants(plan, ids, round, listed=several is None or several.listed)

    def record(rows: list[tuple[int, Row]]) -> None:
        store.record(rows)
        if tell is not None:
            tell(rows)

    while round <= plan.rounds:
        if round == plan.rounds:
            store.remember(state)
        state.observe(plan, round)
        if round % plan.record_every == 0 or round == plan.rounds:
            record([(round, state.row())])
        if round == plan.rounds:
            break
        if plan.keep_models is not None and round % plan.keep_models == 0:
            store.record_models(round, state)
        made, rows = several.advance(state, round, participants, store.spacing) if several else (0, [])
        record(rows)
        if not made:
            yield from advancing(plan, state, round, participants.step(state))
        round += made or 1
        progress(round * len(ids))
        store.maybe_save(round, state)
    store.finish(plan.rounds, state)
    return state
